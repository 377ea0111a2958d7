// SPDX-License-Identifier: MIT
#include "lib/abi_conv.h"

#include <stddef.h>
#include <string.h>

static const uint32_t error_flags =
	PFM_IOC_RETFL_NOTAVAIL | PFM_IOC_RETFL_EINVAL | PFM_IOC_RETFL_NOSET;

uint32_t abi_clear_errors(uint32_t user)
{
	return user & ~error_flags;
}

uint32_t abi_check_flags(uint32_t user, uint32_t allowed)
{
	uint32_t flags = abi_clear_errors(user);

	return flags & ~allowed ? ABI_FLAG_INVALID : flags;
}

uint32_t abi_merge_errors(uint32_t user, uint32_t ioc)
{
	return (user & ~error_flags) | (ioc & error_flags);
}

void abi_copy_errors(const void *ioc, void *user)
{
	struct abi_head *to = user;

	to->flags = abi_merge_errors(to->flags, ((const struct abi_head *)ioc)->flags);
}

bool abi_has_error(const void *ioc)
{
	return (((const struct abi_head *)ioc)->flags & error_flags) != 0;
}

void abi_setdesc_head_in(const void *user, struct pfm_ioc_setdesc *to)
{
	const struct abi_head *from = user;

	to->id = from->id;
	to->flags = abi_check_flags(
		from->flags, PFM_IOC_SETFL_OVFL_SWITCH | PFM_IOC_SETFL_TIME_SWITCH |
				     PFM_IOC_SETFL_EXPL_NEXT | PFM_IOC_SETFL_EXCL_IDLE);
	if (to->flags & PFM_IOC_SETFL_EXPL_NEXT)
		to->id_next = from->id_next;
}

void abi_setdesc_in(const void *user, void *ioc)
{
	struct pfm_ioc_setdesc *to = ioc;

	memcpy(to, user, offsetof(struct pfm_ioc_setdesc, reserved));
	to->flags =
		abi_check_flags(to->flags, PFM_IOC_SETFL_OVFL_SWITCH | PFM_IOC_SETFL_TIME_SWITCH);
	if (!(to->flags & PFM_IOC_SETFL_TIME_SWITCH))
		to->timeout = 0;
}

void abi_setdesc_out(const void *ioc, void *user)
{
	const struct pfm_ioc_setdesc *from = ioc;

	abi_copy_errors(ioc, user);
	if (from->flags & PFM_IOC_SETFL_TIME_SWITCH)
		((struct pfm_ioc_setdesc *)user)->timeout = from->timeout;
}

void abi_set_id_in(const void *user, void *ioc)
{
	((struct abi_head *)ioc)->id = ((const struct abi_head *)user)->id;
}

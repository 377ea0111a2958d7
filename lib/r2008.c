// SPDX-License-Identifier: MIT
/*
 * The revision of July 2008: different flags, sizes instead of counts, arguments instead of
 * structures.
 */
#include "lib/lib_i.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "lib/abi_conv.h"
#include "lib/debug.h"
#include "perfmon/perfmon_r2008.h"

static const struct {
	uint32_t user, ioc;
} context_flags[] = {
	{PFM_FL_NOTIFY_BLOCK, PFM_IOC_FL_NOTIFY_BLOCK},
	{PFM_FL_SYSTEM_WIDE, PFM_IOC_FL_SYSTEM_WIDE},
	{PFM_FL_OVFL_NO_MSG, PFM_IOC_FL_OVFL_NO_MSG},
};

static int r2008_context_flags(uint32_t user, uint32_t *ioc)
{
	for (size_t i = 0; i < sizeof(context_flags) / sizeof(context_flags[0]); i++)
		if (user & context_flags[i].user) {
			user &= ~context_flags[i].user;
			*ioc |= context_flags[i].ioc;
		}
	return user & ~(uint32_t)PFM_FL_SMPL_FMT ? lib_fail(EINVAL) : 0;
}

static int r2008_copy_format(struct creation *c, char *name, unsigned char *arg, va_list ap)
{
	const char *their_name = va_arg(ap, const char *);
	const void *their_arg = va_arg(ap, const void *);

	c->arg_size = va_arg(ap, size_t);
	if (c->arg_size > CREATE_ARG_MAX)
		return lib_fail(E2BIG);
	if (copy_string(name, their_name, PFM_IOC_FORMAT_MAX) < 0)
		return -1;
	c->format = name;
	return c->arg_size ? copy_in(arg, their_arg, c->arg_size) : 0;
}

static int r2008_create_context(int flags, va_list ap)
{
	char name[PFM_IOC_FORMAT_MAX];
	unsigned char arg[CREATE_ARG_MAX];
	struct creation c = {.arg = arg};

	if (r2008_context_flags((uint32_t)flags, &c.flags) < 0)
		return -1;
	if ((flags & PFM_FL_SMPL_FMT) && r2008_copy_format(&c, name, arg, ap) < 0)
		return -1;
	return create_context(&c);
}

API int pfm_create_context(int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	int rc = r2008_create_context(flags, ap);
	va_end(ap);
	return debug_result("pfm_create_context", -1, rc);
}

/* The number of elements in @size bytes. -1 with errno: EINVAL if it is not a whole number, E2BIG
 * if it is too large. */
static int r2008_count(size_t size, size_t element)
{
	if (size % element)
		return lib_fail(EINVAL);
	return size / element > PFM_IOC_SIZE_MAX ? lib_fail(E2BIG) : (int)(size / element);
}

static int r2008_vector(int fd, const struct abi_conv *conv, void *user, size_t size)
{
	struct ctx_fd t;
	int n;

	if (conv->get(&t, fd) < 0)
		return -1;
	n = r2008_count(size, conv->user_size);
	return n < 0 ? -1 : vector_convert(&t, conv, user, n);
}

static int r2008_pass(
	int fd, int (*get)(struct ctx_fd *t, int fd), unsigned long cmd, void *user, size_t size)
{
	struct ctx_fd t;
	int n;

	if (get(&t, fd) < 0)
		return -1;
	n = r2008_count(size, _IOC_SIZE(cmd));
	return n < 0 ? -1 : vector_pass(&t, cmd, user, n);
}

static void r2008_pmc_to(const void *user, void *ioc)
{
	struct pfm_ioc_pmc *to = ioc;

	memcpy(to, user, offsetof(struct pfm_ioc_pmc, reserved));
	to->flags = abi_clear_errors(to->flags);
	if (to->flags & ~(uint32_t)PFM_PMCFL_NO_EMUL64)
		to->flags = ABI_FLAG_INVALID;
	else if (to->flags)
		to->flags = PFM_IOC_REGFL_NO_EMUL64;
}

static const struct abi_conv r2008_write_pmcs = {
	cpu_get_ctx, PFM_IOC_WRITE_PMCS, sizeof(struct pfarg_pmc), r2008_pmc_to, abi_copy_errors};

API int pfm_write_pmcs(int fd, struct pfarg_pmc *pmcs, size_t size)
{
	return debug_result("pfm_write_pmcs", fd, r2008_vector(fd, &r2008_write_pmcs, pmcs, size));
}

/* Converts a PMD. Fields that belong to PFM_PMDFL_SMPL and PFM_PMDFL_SWITCH are used only if their
 * flag is set. */
static void r2008_pmd_to(const void *user, void *ioc)
{
	const pfarg_pmd_t *from = user;
	struct pfm_ioc_pmd *to = ioc;
	uint32_t flags = abi_clear_errors(from->reg_flags);

	if (flags & ~(uint32_t)(PFM_PMDFL_SMPL | PFM_PMDFL_SWITCH | PFM_PMDFL_OVFL_NOTIFY |
				PFM_PMDFL_RANDOM))
		to->flags = ABI_FLAG_INVALID;
	to->num = from->reg_num;
	to->set = from->reg_set;
	to->value = from->reg_value;
	to->long_reset = from->reg_long_reset;
	to->short_reset = from->reg_short_reset;
	memcpy(to->reset_pmds, from->reg_reset_pmds, sizeof(to->reset_pmds));
	if (flags & PFM_PMDFL_OVFL_NOTIFY)
		to->flags |= PFM_IOC_REGFL_OVFL_NOTIFY;
	if (flags & PFM_PMDFL_SWITCH)
		to->ovfl_switch_cnt = from->reg_ovfl_switch_cnt;
	if (flags & PFM_PMDFL_RANDOM) {
		to->flags |= PFM_IOC_REGFL_RANDOM;
		to->random_mask = from->reg_random_mask;
	}
	if (flags & PFM_PMDFL_SMPL) {
		memcpy(to->smpl_pmds, from->reg_smpl_pmds, sizeof(to->smpl_pmds));
		to->smpl_eventid = from->reg_smpl_eventid;
	}
}

static const struct abi_conv r2008_write_pmds = {
	cpu_get_ctx, PFM_IOC_WRITE_PMDS, sizeof(struct pfarg_pmd), r2008_pmd_to, abi_copy_errors};

API int pfm_write_pmds(int fd, struct pfarg_pmd *pmds, size_t size)
{
	return debug_result("pfm_write_pmds", fd, r2008_vector(fd, &r2008_write_pmds, pmds, size));
}

/* The layout is the same as the command's. */
_Static_assert(sizeof(pfarg_pmd_t) == sizeof(struct pfm_ioc_pmd), "");

API int pfm_read_pmds(int fd, struct pfarg_pmd *pmds, size_t size)
{
	return debug_result("pfm_read_pmds", fd,
		r2008_pass(fd, cpu_get_ctx_to_read, PFM_IOC_READ_PMDS, pmds, size));
}

static int r2008_load_context(int fd, int flags, uint32_t target)
{
	struct ctx_fd t;

	if (ctx_fd_get(&t, fd) < 0)
		return -1;
	return flags ? lib_fail(EINVAL) : load_context(&t, target, 0, EEXIST);
}

API int pfm_load_context(int fd, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	uint32_t target = (uint32_t)va_arg(ap, int);
	va_end(ap);
	return debug_result("pfm_load_context", fd, r2008_load_context(fd, flags, target));
}

static int r2008_unload_context(int fd, int flags)
{
	struct ctx_fd t;

	if (cpu_get_ctx(&t, fd) < 0)
		return -1;
	return flags ? lib_fail(EINVAL) : unload_context(&t);
}

API int pfm_unload_context(int fd, int flags, ...)
{
	return debug_result("pfm_unload_context", fd, r2008_unload_context(fd, flags));
}

static int r2008_start(int fd, int flags, uint16_t set)
{
	struct pfm_ioc_start start = {.set = set};
	struct ctx_fd t;

	if (cpu_get_ctx(&t, fd) < 0)
		return -1;
	switch (flags) {
	case 0:
		return ctx_fd_command(&t, PFM_IOC_START, NULL);
	case PFM_STARTFL_SET:
		return ctx_fd_command(&t, PFM_IOC_START_SET, &start);
	case PFM_STARTFL_RESTART:
		return ctx_fd_restart(&t);
	default:
		return lib_fail(EINVAL);
	}
}

API int pfm_start(int fd, int flags, ...)
{
	uint16_t set = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & PFM_STARTFL_SET)
		set = (uint16_t)va_arg(ap, int);
	va_end(ap);
	return debug_result("pfm_start", fd, r2008_start(fd, flags, set));
}

static int r2008_stop(int fd, int flags)
{
	struct ctx_fd t;

	if (cpu_get_ctx(&t, fd) < 0)
		return -1;
	return flags ? lib_fail(EINVAL) : ctx_fd_command(&t, PFM_IOC_STOP, NULL);
}

API int pfm_stop(int fd, int flags, ...)
{
	return debug_result("pfm_stop", fd, r2008_stop(fd, flags));
}

_Static_assert(sizeof(pfarg_setdesc_t) == sizeof(struct pfm_ioc_setdesc), "");
_Static_assert(sizeof(pfarg_setinfo_t) == sizeof(struct pfm_ioc_setinfo), "");

/* Converts a set. An existing set keeps its registers (section 10h). */
static void r2008_setdesc_in(const void *user, void *ioc)
{
	abi_setdesc_in(user, ioc);
	((struct pfm_ioc_setdesc *)ioc)->flags |= PFM_IOC_SETFL_KEEP;
}

static const struct abi_conv r2008_create_evtsets = {ctx_fd_get, PFM_IOC_CREATE_EVTSETS,
	sizeof(struct pfarg_setdesc), r2008_setdesc_in, abi_setdesc_out};

API int pfm_create_evtsets(int fd, struct pfarg_setdesc *setd, size_t size)
{
	return debug_result(
		"pfm_create_evtsets", fd, r2008_vector(fd, &r2008_create_evtsets, setd, size));
}

API int pfm_delete_evtsets(int fd, struct pfarg_setdesc *setd, size_t size)
{
	return debug_result("pfm_delete_evtsets", fd,
		r2008_pass(fd, ctx_fd_get, PFM_IOC_DELETE_EVTSETS, setd, size));
}

API int pfm_getinfo_evtsets(int fd, struct pfarg_setinfo *info, size_t size)
{
	return debug_result("pfm_getinfo_evtsets", fd,
		r2008_pass(fd, ctx_fd_get, PFM_IOC_GETINFO_EVTSETS, info, size));
}

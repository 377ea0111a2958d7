// SPDX-License-Identifier: MIT
#include "lib/sets.h"

#include <string.h>

static const uint32_t told = PFM_IOC_RETFL_NOTAVAIL | PFM_IOC_RETFL_EINVAL | PFM_IOC_RETFL_NOSET;

enum { SETFL_EXCL_IDLE = 0x8 };

uint32_t flags_to(uint32_t theirs)
{
	return theirs & ~told;
}

uint32_t flags_of(uint32_t theirs, uint32_t known)
{
	uint32_t flags = flags_to(theirs);

	return flags & ~known ? FLAG_INVALID : flags;
}

uint32_t flags_back(uint32_t theirs, uint32_t ours)
{
	return (theirs & ~told) | (ours & told);
}

/* There is no idle thread in the counts of a thread, so that the flag is ignored there (3.1.10). */
void set_head_to(const struct target *t, const void *theirs, struct pfm_ioc_setdesc *to)
{
	const struct head *from = theirs;
	uint32_t ignored = load_is_system_wide(t) ? 0 : SETFL_EXCL_IDLE;

	to->id = from->id;
	to->flags = flags_of(from->flags & ~ignored,
		PFM_IOC_SETFL_OVFL_SWITCH | PFM_IOC_SETFL_TIME_SWITCH | PFM_IOC_SETFL_EXPL_NEXT);
	if (to->flags & PFM_IOC_SETFL_EXPL_NEXT)
		to->id_next = from->id_next;
}

void setdesc_plain_to(const struct target *t, const void *theirs, void *ours)
{
	struct pfm_ioc_setdesc *to = ours;

	(void)t;
	memcpy(to, theirs, sizeof(*to));
	to->flags = flags_of(to->flags, PFM_IOC_SETFL_OVFL_SWITCH | PFM_IOC_SETFL_TIME_SWITCH);
	if (!(to->flags & PFM_IOC_SETFL_TIME_SWITCH))
		to->timeout = 0;
}

void setdesc_plain_from(const void *ours, void *theirs)
{
	const struct pfm_ioc_setdesc *from = ours;

	errors_from(ours, theirs);
	if (from->flags & PFM_IOC_SETFL_TIME_SWITCH)
		((struct pfm_ioc_setdesc *)theirs)->timeout = from->timeout;
}

bool has_error(const void *ours)
{
	return (((const struct head *)ours)->flags & told) != 0;
}

void set_id_to(const struct target *t, const void *theirs, void *ours)
{
	(void)t;
	((struct head *)ours)->id = ((const struct head *)theirs)->id;
}

void errors_from(const void *ours, void *theirs)
{
	struct head *to = theirs;

	to->flags = flags_back(to->flags, ((const struct head *)ours)->flags);
}

/* Information is for any time, the rest for an unloaded context: no CPU is demanded. */
int set_vector(int fd, const struct shape *s, void *theirs, int n)
{
	struct target t;

	return target_get(&t, fd) < 0 ? -1 : vector_shaped(&t, s, theirs, n);
}

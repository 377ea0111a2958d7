// SPDX-License-Identifier: MIT
/* The revision of July 2008: other flags, sizes for counts, arguments for structures. */
#include "lib/lib_i.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "lib/sets.h"
#include "perfmon/perfmon_r2008.h"

static const struct {
	uint32_t theirs, ours;
} context_flags[] = {
	{PFM_FL_NOTIFY_BLOCK, PFM_IOC_FL_NOTIFY_BLOCK},
	{PFM_FL_SYSTEM_WIDE, PFM_IOC_FL_SYSTEM_WIDE},
	{PFM_FL_OVFL_NO_MSG, PFM_IOC_FL_OVFL_NO_MSG},
};

static int context_flags_to(uint32_t theirs, uint32_t *ours)
{
	for (size_t i = 0; i < sizeof(context_flags) / sizeof(context_flags[0]); i++)
		if (theirs & context_flags[i].theirs) {
			theirs &= ~context_flags[i].theirs;
			*ours |= context_flags[i].ours;
		}
	return theirs & ~(uint32_t)PFM_FL_SMPL_FMT ? fail(EINVAL) : 0;
}

static int format_in(struct creation *c, char *name, unsigned char *arg, va_list ap)
{
	const char *their_name = va_arg(ap, const char *);
	const void *their_arg = va_arg(ap, const void *);

	c->arg_size = va_arg(ap, size_t);
	if (c->arg_size > CREATE_ARG_MAX)
		return fail(E2BIG);
	if (copy_string(name, their_name, PFM_IOC_FORMAT_MAX) < 0)
		return -1;
	c->format = name;
	return c->arg_size ? copy_in(arg, their_arg, c->arg_size) : 0;
}

API int pfm_create_context(int flags, ...)
{
	char name[PFM_IOC_FORMAT_MAX];
	unsigned char arg[CREATE_ARG_MAX];
	struct creation c = {.arg = arg};
	va_list ap;
	int rc = 0;

	if (context_flags_to((uint32_t)flags, &c.flags) < 0)
		return -1;
	va_start(ap, flags);
	if (flags & PFM_FL_SMPL_FMT)
		rc = format_in(&c, name, arg, ap);
	va_end(ap);
	return rc < 0 ? -1 : create_context(&c);
}

/* How many elements; -1: it is not a number of them. */
static int elements(size_t size, size_t element)
{
	if (size % element)
		return fail(EINVAL);
	return size / element > PFM_IOC_SIZE_MAX ? fail(E2BIG) : (int)(size / element);
}

static int shaped(const struct target *t, const struct shape *s, void *theirs, size_t size)
{
	int n = elements(size, s->theirs);

	return n < 0 ? -1 : vector_shaped(t, s, theirs, n);
}

static void pmc_to(const struct target *t, const void *theirs, void *ours)
{
	struct pfm_ioc_pmc *to = ours;

	(void)t;
	memcpy(to, theirs, sizeof(*to));
	to->flags = flags_to(to->flags);
	if (to->flags & ~(uint32_t)PFM_PMCFL_NO_EMUL64)
		to->flags = FLAG_INVALID;
	else if (to->flags)
		to->flags = PFM_IOC_REGFL_NO_EMUL64;
}

API int pfm_write_pmcs(int fd, struct pfarg_pmc *pmcs, size_t size)
{
	static const struct shape shape = {
		PFM_IOC_WRITE_PMCS, sizeof(*pmcs), sizeof(struct pfm_ioc_pmc), pmc_to, errors_from};
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : shaped(&t, &shape, pmcs, size);
}

/* What the two new flags do not say is in use is not looked at. */
static void pmd_to(const struct target *t, const void *theirs, void *ours)
{
	const pfarg_pmd_t *from = theirs;
	struct pfm_ioc_pmd *to = ours;
	uint32_t flags = flags_to(from->reg_flags);

	(void)t;
	if (flags & ~(uint32_t)(PFM_PMDFL_SMPL | PFM_PMDFL_SWITCH | PFM_PMDFL_OVFL_NOTIFY |
				PFM_PMDFL_RANDOM))
		to->flags = FLAG_INVALID;
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

API int pfm_write_pmds(int fd, struct pfarg_pmd *pmds, size_t size)
{
	static const struct shape shape = {
		PFM_IOC_WRITE_PMDS, sizeof(*pmds), sizeof(struct pfm_ioc_pmd), pmd_to, errors_from};
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : shaped(&t, &shape, pmds, size);
}

/* What it takes and gives is where the command has it. */
_Static_assert(sizeof(pfarg_pmd_t) == sizeof(struct pfm_ioc_pmd), "");

API int pfm_read_pmds(int fd, struct pfarg_pmd *pmds, size_t size)
{
	struct target t;
	int n;

	if (target_to_read(&t, fd) < 0)
		return -1;
	n = elements(size, sizeof(*pmds));
	return n < 0 ? -1 : vector_direct(&t, PFM_IOC_READ_PMDS, pmds, n);
}

API int pfm_load_context(int fd, int flags, ...)
{
	struct target t;
	va_list ap;

	va_start(ap, flags);
	uint32_t target = (uint32_t)va_arg(ap, int);
	va_end(ap);
	if (target_get(&t, fd) < 0)
		return -1;
	return flags ? fail(EINVAL) : load_context(&t, target, 0, EEXIST);
}

API int pfm_unload_context(int fd, int flags, ...)
{
	struct target t;

	if (target_here(&t, fd) < 0)
		return -1;
	return flags ? fail(EINVAL) : unload_context(&t);
}

API int pfm_start(int fd, int flags, ...)
{
	struct pfm_ioc_start start = {0};
	struct target t;
	va_list ap;

	va_start(ap, flags);
	if (flags & PFM_STARTFL_SET)
		start.set = (uint16_t)va_arg(ap, int);
	va_end(ap);
	if (target_here(&t, fd) < 0)
		return -1;
	switch (flags) {
	case 0:
		return target_command(&t, PFM_IOC_START, NULL);
	case PFM_STARTFL_SET:
		return target_command(&t, PFM_IOC_START_SET, &start);
	case PFM_STARTFL_RESTART:
		return target_restart(&t);
	default:
		return fail(EINVAL);
	}
}

API int pfm_stop(int fd, int flags, ...)
{
	struct target t;

	if (target_here(&t, fd) < 0)
		return -1;
	return flags ? fail(EINVAL) : target_command(&t, PFM_IOC_STOP, NULL);
}

_Static_assert(sizeof(pfarg_setdesc_t) == sizeof(struct pfm_ioc_setdesc), "");
_Static_assert(sizeof(pfarg_setinfo_t) == sizeof(struct pfm_ioc_setinfo), "");

static int sets(int fd, unsigned long cmd, void *theirs, size_t size)
{
	struct target t;
	int n;

	if (target_get(&t, fd) < 0)
		return -1;
	n = elements(size, _IOC_SIZE(cmd));
	return n < 0 ? -1 : vector_direct(&t, cmd, theirs, n);
}

/* A set that there is keeps its registers (section 10h). */
static void setdesc_keeping(const struct target *t, const void *theirs, void *ours)
{
	setdesc_plain_to(t, theirs, ours);
	((struct pfm_ioc_setdesc *)ours)->flags |= PFM_IOC_SETFL_KEEP;
}

API int pfm_create_evtsets(int fd, struct pfarg_setdesc *setd, size_t size)
{
	static const struct shape shape = {PFM_IOC_CREATE_EVTSETS, sizeof(*setd),
		sizeof(struct pfm_ioc_setdesc), setdesc_keeping, setdesc_plain_from};
	struct target t;

	return target_get(&t, fd) < 0 ? -1 : shaped(&t, &shape, setd, size);
}

API int pfm_delete_evtsets(int fd, struct pfarg_setdesc *setd, size_t size)
{
	return sets(fd, PFM_IOC_DELETE_EVTSETS, setd, size);
}

API int pfm_getinfo_evtsets(int fd, struct pfarg_setinfo *info, size_t size)
{
	return sets(fd, PFM_IOC_GETINFO_EVTSETS, info, size);
}

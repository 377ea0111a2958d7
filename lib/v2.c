// SPDX-License-Identifier: MIT
/* The calls of perfmon2 2.6 to 2.81, whose structures are the commands'. */
#include "lib/lib_i.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "lib/sets.h"
#include "perfmon/perfmon_v2.h"

static int reserved_is_used(const pfarg_ctx_t *ctx)
{
	static const uint64_t zero[sizeof(ctx->ctx_reserved2) / sizeof(uint64_t)];

	return ctx->ctx_reserved1 ||
	       memcmp(ctx->ctx_reserved2, zero, sizeof(ctx->ctx_reserved2)) != 0;
}

API int pfm_create_context(pfarg_ctx_t *ctx, char *smpl_name, void *smpl_arg, size_t smpl_size)
{
	char name[PFM_IOC_FORMAT_MAX];
	unsigned char arg[CREATE_ARG_MAX];
	struct creation c = {.arg = arg, .arg_size = smpl_size};
	pfarg_ctx_t copy;

	if (copy_in(&copy, ctx, sizeof(copy)) < 0)
		return -1;
	if (reserved_is_used(&copy) || (!smpl_name && (smpl_arg || smpl_size)) ||
		(!smpl_arg && smpl_size))
		return fail(EINVAL);
	if (smpl_size > sizeof(arg))
		return fail(E2BIG);
	if (smpl_name) {
		if (copy_string(name, smpl_name, sizeof(name)) < 0)
			return -1;
		c.format = name;
	}
	if (smpl_size && copy_in(arg, smpl_arg, smpl_size) < 0)
		return -1;
	c.flags = copy.ctx_flags;
	return create_context(&c);
}

/* What the commands below rely on. */
_Static_assert(sizeof(pfarg_pmc_t) == sizeof(struct pfm_ioc_pmc), "");
_Static_assert(sizeof(pfarg_pmd_t) == sizeof(struct pfm_ioc_pmd), "");
_Static_assert(sizeof(pfarg_start_t) == sizeof(struct pfm_ioc_start), "");
_Static_assert(sizeof(pfarg_setdesc_t) == sizeof(struct pfm_ioc_setdesc), "");
_Static_assert(sizeof(pfarg_setinfo_t) == sizeof(struct pfm_ioc_setinfo), "");

/* Bytes of so many elements must be a number. */
static int check_count(int n, size_t element)
{
	return n < 0 || (size_t)n >= INT_MAX / element ? fail(EINVAL) : 0;
}

static int direct(const struct target *t, unsigned long cmd, void *elements, int n)
{
	return check_count(n, _IOC_SIZE(cmd)) < 0 ? -1 : vector_direct(t, cmd, elements, n);
}

static int sets(int fd, unsigned long cmd, void *elements, int n)
{
	struct target t;

	return target_get(&t, fd) < 0 ? -1 : direct(&t, cmd, elements, n);
}

API int pfm_write_pmcs(int fd, pfarg_pmc_t *pmcs, int count)
{
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : direct(&t, PFM_IOC_WRITE_PMCS, pmcs, count);
}

/* The command has flags that these versions do not have. */
static void pmd_to(const struct target *t, const void *theirs, void *ours)
{
	struct pfm_ioc_pmd *to = ours;

	(void)t;
	memcpy(to, theirs, sizeof(*to));
	to->flags = flags_of(to->flags, PFM_IOC_REGFL_OVFL_NOTIFY | PFM_IOC_REGFL_RANDOM);
}

API int pfm_write_pmds(int fd, pfarg_pmd_t *pmds, int count)
{
	static const struct shape shape = {
		PFM_IOC_WRITE_PMDS, sizeof(*pmds), sizeof(struct pfm_ioc_pmd), pmd_to, errors_from};
	struct target t;

	if (target_here(&t, fd) < 0 || check_count(count, sizeof(*pmds)) < 0)
		return -1;
	return vector_shaped(&t, &shape, pmds, count);
}

API int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int count)
{
	struct target t;

	return target_to_read(&t, fd) < 0 ? -1 : direct(&t, PFM_IOC_READ_PMDS, pmds, count);
}

API int pfm_create_evtsets(int fd, pfarg_setdesc_t *setd, int count)
{
	static const struct shape shape = {PFM_IOC_CREATE_EVTSETS, sizeof(*setd),
		sizeof(struct pfm_ioc_setdesc), setdesc_plain_to, setdesc_plain_from};

	return check_count(count, sizeof(*setd)) < 0 ? -1 : set_vector(fd, &shape, setd, count);
}

API int pfm_delete_evtsets(int fd, pfarg_setdesc_t *setd, int count)
{
	return sets(fd, PFM_IOC_DELETE_EVTSETS, setd, count);
}

API int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *info, int count)
{
	return sets(fd, PFM_IOC_GETINFO_EVTSETS, info, count);
}

/* What is reserved has a meaning in the command. */
API int pfm_load_context(int fd, pfarg_load_t *load)
{
	static const uint64_t zero[sizeof(load->load_reserved2) / sizeof(uint64_t)];
	struct target t;
	pfarg_load_t copy;

	if (target_get(&t, fd) < 0 || copy_in(&copy, load, sizeof(copy)) < 0)
		return -1;
	if (copy.load_reserved1 || memcmp(copy.load_reserved2, zero, sizeof(zero)) != 0)
		return fail(EINVAL);
	return load_context(&t, copy.load_pid, copy.load_set, EEXIST);
}

API int pfm_unload_context(int fd)
{
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : unload_context(&t);
}

API int pfm_start(int fd, pfarg_start_t *start)
{
	struct target t;

	if (target_here(&t, fd) < 0)
		return -1;
	return target_command(&t, start ? PFM_IOC_START_SET : PFM_IOC_START, start);
}

API int pfm_stop(int fd)
{
	return target_plain(fd, PFM_IOC_STOP);
}

API int pfm_restart(int fd)
{
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : target_restart(&t);
}

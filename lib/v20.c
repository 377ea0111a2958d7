// SPDX-License-Identifier: MIT
/* perfmonctl() of 2.0. The number of elements must be exactly what a command takes. */
#define PERFMON_NO_READ
#include "lib/lib_i.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/ctl.h"
#include "lib/registers.h"
#include "lib/sets.h"
#include "perfmonfs/msg.h"
#include "perfmon/perfmon_compat.h"

/* The buffer is mapped for the caller. */
static int map(pfarg_context_t *ctx, size_t size)
{
	ctx->ctx_smpl_vaddr = NULL;
	if (!size)
		return 0;
	void *buffer = mmap(NULL, size, PROT_READ, MAP_PRIVATE, ctx->ctx_fd, 0);
	if (buffer == MAP_FAILED)
		return -1;
	ctx->ctx_smpl_vaddr = buffer;
	return 0;
}

static int create(int fd, void *arg, int n)
{
	pfarg_context_t ctx;
	uint64_t size;

	(void)fd;
	(void)n;
	if (copy_in(&ctx, arg, sizeof(ctx)) < 0)
		return -1;
	/* Others than those that every version has were Itanium's. */
	if (ctx.ctx_flags > UINT32_MAX || ctx.ctx_nextra_sets)
		return fail(EINVAL);
	ctx.ctx_fd = ctl_create(
		(uint32_t)ctx.ctx_flags, ctx.ctx_smpl_buf_id, (pfarg_context_t *)arg + 1, &size);
	if (ctx.ctx_fd < 0)
		return -1;
	if (map(&ctx, (size_t)size) < 0) {
		file_close(ctx.ctx_fd);
		return -1;
	}
	int rc = create_hand_out(ctx.ctx_fd, arg, &ctx, sizeof(ctx));
	if (rc < 0 && ctx.ctx_smpl_vaddr)
		munmap(ctx.ctx_smpl_vaddr, (size_t)size);
	return rc;
}

/* What PMCs and PMDs have in common; a number or a flag that does not fit is none. */
static void reg_to(const pfarg_reg_t *from, struct pfm_ioc_pmd *to)
{
	to->num = from->reg_num > UINT16_MAX ? UINT16_MAX : (uint16_t)from->reg_num;
	to->set = from->reg_set;
	to->flags = flags_to((uint32_t)from->reg_flags);
	if (from->reg_flags > UINT32_MAX)
		to->flags |= FLAG_INVALID;
	to->value = from->reg_value;
}

static void reg_from(const void *ours, void *theirs)
{
	pfarg_reg_t *to = theirs;

	to->reg_flags =
		flags_back((uint32_t)to->reg_flags, ((const struct pfm_ioc_pmd *)ours)->flags);
}

static void pmc_to(const struct target *t, const void *theirs, void *ours)
{
	const pfarg_reg_t *from = theirs;
	struct pfm_ioc_pmd *to = ours;

	(void)t;
	reg_to(from, to);
	memcpy(to->reset_pmds, from->reg_reset_pmds, sizeof(from->reg_reset_pmds));
	memcpy(to->smpl_pmds, from->reg_smpl_pmds, sizeof(from->reg_smpl_pmds));
	to->smpl_eventid = from->reg_smpl_eventid;
}

static void pmd_to(const struct target *t, const void *theirs, void *ours)
{
	const pfarg_reg_t *from = theirs;
	struct pfm_ioc_pmd *to = ours;

	(void)t;
	reg_to(from, to);
	to->flags = flags_of(to->flags, PFM_IOC_REGFL_OVFL_NOTIFY | PFM_IOC_REGFL_RANDOM) |
		    PFM_IOC_REGFL_KEEP_NOTICE;
	to->long_reset = from->reg_long_reset;
	to->short_reset = from->reg_short_reset;
	to->ovfl_switch_cnt = from->reg_ovfl_switch_cnt;
	to->random_mask = from->reg_random_mask;
	to->random_seed = (uint32_t)from->reg_random_seed;
}

static void pmd_wanted(const struct target *t, const void *theirs, void *ours)
{
	(void)t;
	reg_to(theirs, ours);
	((struct pfm_ioc_pmd *)ours)->flags = 0;
}

static void pmd_read(const void *ours, void *theirs)
{
	const struct pfm_ioc_pmd *from = ours;
	pfarg_reg_t *to = theirs;

	reg_from(ours, theirs);
	if (has_error(ours))
		return;
	to->reg_value = from->value;
	to->reg_last_reset_val = from->last_reset_val;
	to->reg_ovfl_switch_cnt = from->ovfl_switch_cnt;
}

#define REG_SHAPE(cmd, to, from)                                                                   \
	{                                                                                          \
		cmd, sizeof(pfarg_reg_t), sizeof(struct pfm_ioc_pmd), to, from                     \
	}

static int write_pmcs(int fd, void *arg, int n)
{
	static const struct shape shape = REG_SHAPE(PFM_IOC_WRITE_PMCS_V06, pmc_to, reg_from);
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : vector_shaped(&t, &shape, arg, n);
}

static int write_pmds(int fd, void *arg, int n)
{
	static const struct shape shape = REG_SHAPE(PFM_IOC_WRITE_PMDS, pmd_to, reg_from);
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : vector_shaped(&t, &shape, arg, n);
}

static int read_pmds(int fd, void *arg, int n)
{
	static const struct shape shape = REG_SHAPE(PFM_IOC_READ_PMDS, pmd_wanted, pmd_read);
	struct target t;

	return target_to_read(&t, fd) < 0 ? -1 : vector_shaped(&t, &shape, arg, n);
}

static int start(int fd, void *arg, int n)
{
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : ctl_start(&t, arg, n);
}

static int stop(int fd, void *arg, int n)
{
	(void)arg;
	(void)n;
	return target_plain(fd, PFM_IOC_STOP);
}

static int restart(int fd, void *arg, int n)
{
	struct target t;

	(void)arg;
	(void)n;
	return target_here(&t, fd) < 0 ? -1 : target_restart(&t);
}

static int load(int fd, void *arg, int n)
{
	struct target t;

	(void)n;
	return target_get(&t, fd) < 0 ? -1 : ctl_load(&t, arg);
}

static int unload(int fd, void *arg, int n)
{
	struct target t;

	(void)arg;
	(void)n;
	return target_here(&t, fd) < 0 ? -1 : unload_context(&t);
}

static int features(int fd, void *arg, int n)
{
	static const pfarg_features_t ft = {.ft_version = PFM_VERSION};

	(void)fd;
	(void)n;
	return copy_out(arg, &ft, sizeof(ft));
}

static int reset_values(int fd, void *arg, int n)
{
	pfarg_reg_t *theirs = arg;

	(void)fd;
	for (int i = 0; i < n; i++) {
		struct reg_info info;
		pfarg_reg_t reg;
		if (copy_in(&reg, theirs + i, sizeof(reg)) < 0)
			return -1;
		int rc = registers_find("pmu/pmcs", reg.reg_num, &info);
		int err = errno;
		if (rc == 0)
			reg.reg_value = info.def;
		reg_from(&(struct pfm_ioc_pmd){.flags = rc ? PFM_IOC_RETFL_NOTAVAIL : 0}, &reg);
		if (copy_out(theirs + i, &reg, sizeof(reg)) < 0)
			return -1;
		if (rc < 0)
			return fail(err);
	}
	return 0;
}

static const struct {
	int (*run)(int fd, void *arg, int n);
	int min, max; /* how many elements */
} commands[] = {
	[PFM_WRITE_PMCS] = {write_pmcs, 1, INT_MAX},
	[PFM_WRITE_PMDS] = {write_pmds, 1, INT_MAX},
	[PFM_READ_PMDS] = {read_pmds, 1, INT_MAX},
	[PFM_STOP] = {stop, 0, 0},
	[PFM_START] = {start, 0, 1},
	[PFM_CREATE_CONTEXT] = {create, 1, 1},
	[PFM_RESTART] = {restart, 0, 0},
	[PFM_GET_FEATURES] = {features, 1, 1},
	[PFM_GET_PMC_RESET_VAL] = {reset_values, 1, INT_MAX},
	[PFM_LOAD_CONTEXT] = {load, 1, 1},
	[PFM_UNLOAD_CONTEXT] = {unload, 0, 0},
};

API int perfmonctl(int fd, int cmd, void *arg, int narg)
{
	if (cmd < 0 || (size_t)cmd >= sizeof(commands) / sizeof(commands[0]) ||
		!commands[cmd].run || narg < commands[cmd].min || narg > commands[cmd].max)
		return fail(EINVAL);
	return commands[cmd].run(fd, arg, narg);
}

static void message_from(int fd, const struct pfm_msg *m, void *theirs)
{
	pfm_ovfl_msg_t *to = theirs;

	to->msg_type = (int)m->type;
	to->msg_ctx_fd = fd;
	if (m->type == PFM_MSG_END)
		return;
	memcpy(to->msg_ovfl_pmds, m->pmds, sizeof(to->msg_ovfl_pmds));
	to->msg_active_set = m->set;
}

API ssize_t pfm_v20_read(int fd, void *buf, size_t size)
{
	return message_read(fd, buf, size, sizeof(pfm_msg_t), message_from);
}

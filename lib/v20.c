// SPDX-License-Identifier: MIT
/* perfmonctl() of 2.0. Each command limits the number of its elements. */
#define PERFMON_NO_READ
#include "lib/lib_i.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/abi_conv.h"
#include "lib/debug.h"
#include "lib/perfmonctl.h"
#include "lib/registers.h"
#include "perfmonfs/msg.h"
#include "perfmon/perfmon_compat.h"

/* Maps the sampling buffer, as the kernel did in 2.0. */
static int v20_map_buffer(pfarg_context_t *ctx, size_t size)
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

static int v20_create(int fd, int cmd, void *arg, int n)
{
	pfarg_context_t ctx;
	uint64_t size;

	(void)fd, (void)cmd, (void)n;
	if (copy_in(&ctx, arg, sizeof(ctx)) < 0)
		return -1;
	/* The other flags of 2.0, and extra sets, exist only on Itanium. */
	if (ctx.ctx_flags > UINT32_MAX || ctx.ctx_nextra_sets)
		return lib_fail(EINVAL);
	ctx.ctx_fd = perfmonctl_create((uint32_t)ctx.ctx_flags, ctx.ctx_smpl_buf_id,
		(pfarg_context_t *)arg + 1, false, &size);
	if (ctx.ctx_fd < 0)
		return -1;
	if (v20_map_buffer(&ctx, (size_t)size) < 0) {
		nocancel_close(ctx.ctx_fd);
		return -1;
	}
	int rc = create_hand_out(ctx.ctx_fd, arg, &ctx, sizeof(ctx));
	if (rc < 0 && ctx.ctx_smpl_vaddr)
		munmap(ctx.ctx_smpl_vaddr, (size_t)size);
	return rc;
}

/* Converts the common fields. The daemon refuses a number or a flag that does not fit. */
static void v20_reg_to(const pfarg_reg_t *from, struct pfm_ioc_pmd *to)
{
	to->num = from->reg_num > UINT16_MAX ? UINT16_MAX : (uint16_t)from->reg_num;
	to->set = from->reg_set;
	to->flags = abi_clear_errors((uint32_t)from->reg_flags);
	if (from->reg_flags > UINT32_MAX)
		to->flags |= ABI_FLAG_INVALID;
	to->value = from->reg_value;
}

static void v20_reg_from(const void *ioc, void *user)
{
	pfarg_reg_t *to = user;

	to->reg_flags =
		abi_merge_errors((uint32_t)to->reg_flags, ((const struct pfm_ioc_pmd *)ioc)->flags);
}

static void v20_pmc_to(const void *user, void *ioc)
{
	const pfarg_reg_t *from = user;
	struct pfm_ioc_pmd *to = ioc;

	v20_reg_to(from, to);
	memcpy(to->reset_pmds, from->reg_reset_pmds, sizeof(from->reg_reset_pmds));
	memcpy(to->smpl_pmds, from->reg_smpl_pmds, sizeof(from->reg_smpl_pmds));
	to->smpl_eventid = from->reg_smpl_eventid;
}

static void v20_pmd_to(const void *user, void *ioc)
{
	const pfarg_reg_t *from = user;
	struct pfm_ioc_pmd *to = ioc;

	v20_reg_to(from, to);
	to->flags = abi_check_flags(to->flags, PFM_IOC_REGFL_OVFL_NOTIFY | PFM_IOC_REGFL_RANDOM) |
		    PFM_IOC_REGFL_KEEP_NOTICE;
	to->long_reset = from->reg_long_reset;
	to->short_reset = from->reg_short_reset;
	to->ovfl_switch_cnt = from->reg_ovfl_switch_cnt;
	to->random_mask = from->reg_random_mask;
	to->random_seed = (uint32_t)from->reg_random_seed;
}

static void v20_pmd_to_read(const void *user, void *ioc)
{
	v20_reg_to(user, ioc);
	((struct pfm_ioc_pmd *)ioc)->flags = 0;
}

static void v20_pmd_from_read(const void *ioc, void *user)
{
	const struct pfm_ioc_pmd *from = ioc;
	pfarg_reg_t *to = user;

	v20_reg_from(ioc, user);
	if (abi_has_error(ioc))
		return;
	to->reg_value = from->value;
	to->reg_last_reset_val = from->last_reset_val;
	to->reg_ovfl_switch_cnt = from->ovfl_switch_cnt;
}

static int v20_vector(int fd, int cmd, void *arg, int n)
{
	enum { size = sizeof(pfarg_reg_t) };
	static const struct abi_conv vectors[] = {
		[PFM_WRITE_PMCS] = {cpu_get_ctx, PFM_IOC_WRITE_PMCS_V06, size, v20_pmc_to,
			v20_reg_from},
		[PFM_WRITE_PMDS] = {cpu_get_ctx, PFM_IOC_WRITE_PMDS, size, v20_pmd_to,
			v20_reg_from},
		[PFM_READ_PMDS] = {cpu_get_ctx_to_read, PFM_IOC_READ_PMDS, size, v20_pmd_to_read,
			v20_pmd_from_read},
	};

	return vector_convert_fd(fd, &vectors[cmd], arg, n);
}

/* Executes start, stop, restart or unload. */
static int v20_control(int fd, int cmd, void *arg, int n)
{
	struct ctx_fd t;

	if (cpu_get_ctx(&t, fd) < 0)
		return -1;
	switch (cmd) {
	case PFM_START:
		return perfmonctl_start(&t, arg, n);
	case PFM_STOP:
		return ctx_fd_command(&t, PFM_IOC_STOP, NULL);
	case PFM_RESTART:
		return ctx_fd_restart(&t);
	default:
		return unload_context(&t);
	}
}

static int v20_load(int fd, int cmd, void *arg, int n)
{
	struct ctx_fd t;

	(void)cmd, (void)n;
	return ctx_fd_get(&t, fd) < 0 ? -1 : perfmonctl_load(&t, arg);
}

static int v20_get_features(int fd, int cmd, void *arg, int n)
{
	static const pfarg_features_t ft = {.ft_version = PFM_VERSION};

	(void)fd, (void)cmd, (void)n;
	return copy_out(arg, &ft, sizeof(ft));
}

static int v20_get_reset_values(int fd, int cmd, void *arg, int n)
{
	pfarg_reg_t *user = arg;

	(void)fd, (void)cmd;
	if (vector_check(NULL, n, sizeof(*user)) < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		struct reg_info info;
		pfarg_reg_t reg;
		if (copy_in(&reg, user + i, sizeof(reg)) < 0)
			return -1;
		int rc = registers_find("pmu/pmcs", reg.reg_num, &info);
		int err = errno;
		if (rc == 0)
			reg.reg_value = info.def;
		v20_reg_from(&(struct pfm_ioc_pmd){.flags = rc ? PFM_IOC_RETFL_NOTAVAIL : 0}, &reg);
		if (copy_out(user + i, &reg, sizeof(reg)) < 0)
			return -1;
		if (rc < 0)
			return lib_fail(err);
	}
	return 0;
}

static const struct {
	int (*run)(int fd, int cmd, void *arg, int n);
	int min, max; /* limits of the number of elements */
} commands[] = {
	[PFM_WRITE_PMCS] = {v20_vector, 1, INT_MAX},
	[PFM_WRITE_PMDS] = {v20_vector, 1, INT_MAX},
	[PFM_READ_PMDS] = {v20_vector, 1, INT_MAX},
	[PFM_STOP] = {v20_control, 0, 0},
	[PFM_START] = {v20_control, 0, 1},
	[PFM_CREATE_CONTEXT] = {v20_create, 1, 1},
	[PFM_RESTART] = {v20_control, 0, 0},
	[PFM_GET_FEATURES] = {v20_get_features, 1, 1},
	[PFM_GET_PMC_RESET_VAL] = {v20_get_reset_values, 1, INT_MAX},
	[PFM_LOAD_CONTEXT] = {v20_load, 1, 1},
	[PFM_UNLOAD_CONTEXT] = {v20_control, 0, 0},
};

static int v20_perfmonctl(int fd, int cmd, void *arg, int narg)
{
	if (cmd < 0 || (size_t)cmd >= sizeof(commands) / sizeof(commands[0]) ||
		!commands[cmd].run || narg < commands[cmd].min || narg > commands[cmd].max)
		return lib_fail(EINVAL);
	return commands[cmd].run(fd, cmd, arg, narg);
}

API int perfmonctl(int fd, int cmd, void *arg, int narg)
{
	return debug_result("perfmonctl", fd, v20_perfmonctl(fd, cmd, arg, narg));
}

static void v20_message_from(int fd, const struct pfm_msg *m, void *user)
{
	pfm_ovfl_msg_t *to = user;

	to->msg_type = (int)m->type;
	to->msg_ctx_fd = fd;
	if (m->type == PFM_MSG_END)
		return;
	memcpy(to->msg_ovfl_pmds, m->pmds, sizeof(to->msg_ovfl_pmds));
	to->msg_active_set = m->set;
}

API ssize_t pfm_v20_read(int fd, void *buf, size_t size)
{
	return message_read(fd, buf, size, sizeof(pfm_msg_t), v20_message_from);
}

// SPDX-License-Identifier: MIT
/* perfmonctl() of the specification, section 3.1, and its messages, 3.3.2 and 3.4.3. */
#define PERFMON_NO_READ
#include "lib/v06.h"

#include <string.h>

#include "lib/debug.h"
#include "lib/perfmonctl.h"
#include "perfmonfs/msg.h"
#include "perfmon/perfmon_v06.h"

static int v06_create(int fd, int cmd, void *arg, int n)
{
	pfarg_ctx_t ctx;
	uint64_t size;

	(void)fd, (void)cmd;
	if (n != 1)
		return lib_fail(EINVAL);
	if (copy_in(&ctx, arg, sizeof(ctx)) < 0)
		return -1;
	ctx.ctx_fd = perfmonctl_create(
		ctx.ctx_flags, ctx.ctx_smpl_buf_id, (pfarg_ctx_t *)arg + 1, true, &size);
	if (ctx.ctx_fd < 0)
		return -1;
	ctx.ctx_smpl_buf_size = (size_t)size;
	return create_hand_out(ctx.ctx_fd, arg, &ctx, sizeof(ctx));
}

/* Executes PFM_START. An unloaded context fails with EBUSY, the error for "cannot be executed at
 * this time". */
static int v06_start(int fd, int cmd, void *arg, int n)
{
	struct ctx_fd t;

	(void)cmd;
	if (cpu_get_ctx(&t, fd) < 0)
		return -1;
	return ctx_fd_busy_if_unloaded(&t, perfmonctl_start(&t, arg, n));
}

static int v06_stop_or_restart(int fd, int cmd, void *arg, int n)
{
	unsigned long ioc = cmd == PFM_STOP ? PFM_IOC_STOP : PFM_IOC_RESTART;
	struct ctx_fd t;

	if (cpu_get_ctx(&t, fd) < 0)
		return -1;
	if (arg || n)
		return lib_fail(EINVAL);
	return ctx_fd_busy_if_unloaded(&t, ctx_fd_command(&t, ioc, NULL));
}

static int v06_load(int fd, int cmd, void *arg, int n)
{
	struct ctx_fd t;

	(void)cmd;
	if (ctx_fd_get(&t, fd) < 0)
		return -1;
	return n == 1 ? perfmonctl_load(&t, arg) : lib_fail(EFAULT);
}

static int v06_unload(int fd, int cmd, void *arg, int n)
{
	struct ctx_fd t;

	(void)cmd;
	if (cpu_get_ctx(&t, fd) < 0)
		return -1;
	if (arg || n)
		return lib_fail(EINVAL);
	return ctx_fd_is_unloaded(&t) ? lib_fail(EBUSY) : unload_context(&t);
}

static int (*const commands[])(int fd, int cmd, void *arg, int n) = {
	[PFM_CREATE_CONTEXT] = v06_create,
	[PFM_WRITE_PMCS] = v06_vector,
	[PFM_WRITE_PMDS] = v06_vector,
	[PFM_READ_PMDS] = v06_vector,
	[PFM_START] = v06_start,
	[PFM_STOP] = v06_stop_or_restart,
	[PFM_LOAD_CONTEXT] = v06_load,
	[PFM_UNLOAD_CONTEXT] = v06_unload,
	[PFM_RESTART] = v06_stop_or_restart,
	[PFM_CREATE_EVTSETS] = v06_vector,
	[PFM_DELETE_EVTSETS] = v06_vector,
	[PFM_GETINFO_EVTSETS] = v06_vector,
	[PFM_GETINFO_PMCS] = v06_getinfo_registers,
	[PFM_GETINFO_PMDS] = v06_getinfo_registers,
	[PFM_SET_CONFIG] = v06_set_config,
	[PFM_GET_CONFIG] = v06_get_config,
};

static int v06_perfmonctl(int fd, int cmd, void *arg, int narg)
{
	if (cmd < 0 || (size_t)cmd >= sizeof(commands) / sizeof(commands[0]) || !commands[cmd])
		return lib_fail(EINVAL);
	return commands[cmd](fd, cmd, arg, narg);
}

API int perfmonctl(int fd, int cmd, void *arg, int narg)
{
	return debug_result("perfmonctl", fd, v06_perfmonctl(fd, cmd, arg, narg));
}

static void v06_message_from(int fd, const struct pfm_msg *m, void *user)
{
	pfm_ovfl_msg_t *to = user;

	(void)fd;
	to->msg_type = m->type;
	to->msg_active_set = m->set;
	memcpy(to->msg_ovfl_pmds, m->pmds, sizeof(to->msg_ovfl_pmds));
}

API ssize_t pfm_v06_read(int fd, void *buf, size_t size)
{
	return message_read(fd, buf, size, sizeof(pfm_msg_t), v06_message_from);
}

// SPDX-License-Identifier: MIT
/* perfmonctl() of the specification, its section 3.1; messages, 3.3.2 and 3.4.3. */
#define PERFMON_NO_READ
#include "lib/v06.h"

#include <errno.h>
#include <string.h>

#include "lib/ctl.h"
#include "perfmonfs/msg.h"
#include "perfmon/perfmon_v06.h"

static int create(int fd, void *arg, int n)
{
	pfarg_ctx_t ctx;
	uint64_t size;

	(void)fd;
	if (n != 1)
		return fail(EINVAL);
	if (copy_in(&ctx, arg, sizeof(ctx)) < 0)
		return -1;
	ctx.ctx_fd = ctl_create(ctx.ctx_flags, ctx.ctx_smpl_buf_id, (pfarg_ctx_t *)arg + 1, &size);
	if (ctx.ctx_fd < 0)
		return -1;
	ctx.ctx_smpl_buf_size = (size_t)size;
	return create_hand_out(ctx.ctx_fd, arg, &ctx, sizeof(ctx));
}

/* These are for a loaded context; if it is not, "the command cannot be executed at this time". */
static int plain(int fd, unsigned long cmd, const void *arg, int n)
{
	struct target t;

	if (target_here(&t, fd) < 0)
		return -1;
	if (arg || n)
		return fail(EINVAL);
	return target_busy_if_unloaded(&t, target_command(&t, cmd, NULL));
}

static int start(int fd, void *arg, int n)
{
	struct target t;

	if (target_here(&t, fd) < 0)
		return -1;
	return target_busy_if_unloaded(&t, ctl_start(&t, arg, n));
}

static int stop(int fd, void *arg, int n)
{
	return plain(fd, PFM_IOC_STOP, arg, n);
}

static int restart(int fd, void *arg, int n)
{
	return plain(fd, PFM_IOC_RESTART, arg, n);
}

static int load(int fd, void *arg, int n)
{
	struct target t;

	if (target_get(&t, fd) < 0)
		return -1;
	return n == 1 ? ctl_load(&t, arg) : fail(EFAULT);
}

static int unload(int fd, void *arg, int n)
{
	struct target t;

	if (target_here(&t, fd) < 0)
		return -1;
	if (arg || n)
		return fail(EINVAL);
	return target_is_unloaded(&t) ? fail(EBUSY) : unload_context(&t);
}

static int (*const commands[])(int fd, void *arg, int n) = {
	[PFM_CREATE_CONTEXT] = create,
	[PFM_WRITE_PMCS] = v06_write_pmcs,
	[PFM_WRITE_PMDS] = v06_write_pmds,
	[PFM_READ_PMDS] = v06_read_pmds,
	[PFM_START] = start,
	[PFM_STOP] = stop,
	[PFM_LOAD_CONTEXT] = load,
	[PFM_UNLOAD_CONTEXT] = unload,
	[PFM_RESTART] = restart,
	[PFM_CREATE_EVTSETS] = v06_create_evtsets,
	[PFM_DELETE_EVTSETS] = v06_delete_evtsets,
	[PFM_GETINFO_EVTSETS] = v06_getinfo_evtsets,
	[PFM_GETINFO_PMCS] = v06_getinfo_pmcs,
	[PFM_GETINFO_PMDS] = v06_getinfo_pmds,
	[PFM_SET_CONFIG] = v06_set_config,
	[PFM_GET_CONFIG] = v06_get_config,
};

API int perfmonctl(int fd, int cmd, void *arg, int narg)
{
	if (cmd < 0 || (size_t)cmd >= sizeof(commands) / sizeof(commands[0]) || !commands[cmd])
		return fail(EINVAL);
	return commands[cmd](fd, arg, narg);
}

static void message_from(int fd, const struct pfm_msg *m, void *theirs)
{
	pfm_ovfl_msg_t *to = theirs;

	(void)fd;
	to->msg_type = m->type;
	to->msg_active_set = m->set;
	memcpy(to->msg_ovfl_pmds, m->pmds, sizeof(to->msg_ovfl_pmds));
}

API ssize_t pfm_v06_read(int fd, void *buf, size_t size)
{
	return message_read(fd, buf, size, sizeof(pfm_msg_t), message_from);
}

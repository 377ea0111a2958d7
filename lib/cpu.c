// SPDX-License-Identifier: MIT
/*
 * Checks that callers run on the CPU that a system-wide context monitors (specification 3.1.7),
 * although the daemon does not require it.
 */
#include "lib/lib_i.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "lib/debug.h"

int cpu_current(void)
{
	return sched_getcpu();
}

bool cpu_check_disabled(void)
{
	const char *s = getenv("PERFMONFS_ANYCPU");

	return s && strcmp(s, "1") == 0;
}

/*
 * Whether the context is loaded on another CPU. The cached CPU is out of date if another process
 * has unloaded the context and loaded it elsewhere, so this asks the daemon before it refuses. If
 * the daemon's answer is unknown, the command itself fails.
 */
static bool cpu_is_other(const struct ctx_fd *t, bool reads)
{
	struct pfm_ioc_info info;
	struct ctx_cache c;

	ctx_cache_get(t, &c);
	if (c.cpu == CTX_CACHE_NO_CPU || c.cpu == cpu_current() || cpu_check_disabled())
		return false;
	if (!ctx_fd_info(t, &info) || info.state == PFM_IOC_STATE_UNLOADED)
		return false;
	ctx_cache_set_cpu(t, (int)info.cpu);
	return (int)info.cpu != cpu_current() && !(reads && info.state == PFM_IOC_STATE_MASKED);
}

static int cpu_get_checked(struct ctx_fd *t, int fd, bool reads)
{
	if (ctx_fd_get(t, fd) < 0)
		return -1;
	if (!cpu_is_other(t, reads))
		return 0;
	return debug_fail(EBUSY, "the context is loaded on another CPU than the caller runs on: "
				 "run there, or set PERFMONFS_ANYCPU=1");
}

int cpu_get_ctx(struct ctx_fd *t, int fd)
{
	return cpu_get_checked(t, fd, false);
}

int cpu_get_ctx_to_read(struct ctx_fd *t, int fd)
{
	return cpu_get_checked(t, fd, true);
}

int cpu_command(int fd, unsigned long cmd)
{
	struct ctx_fd t;

	return cpu_get_ctx(&t, fd) < 0 ? -1 : ctx_fd_command(&t, cmd, NULL);
}

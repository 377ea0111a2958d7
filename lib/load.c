// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <string.h>

#include "lib/debug.h"
#include "lib/lines.h"

static void load_cache_cpu(const struct ctx_fd *t, int cpu)
{
	struct ctx_cache c;

	if (ctx_cache_get(t, &c) && c.system_wide)
		ctx_cache_set_cpu(t, cpu);
}

/* True if /proc shows a tracer of the thread. Preserves errno. */
static bool load_is_traced(uint32_t tid)
{
	char path[64] = "/proc/";
	struct lines l;
	bool traced = false;
	int err = errno;
	char *line;

	strcpy(lines_number(path + strlen(path), tid), "/status");
	if (lines_open(&l, path) < 0) {
		errno = err;
		return false;
	}
	while ((line = lines_next(&l)) != NULL)
		if (strncmp(line, "TracerPid:", 10) == 0)
			traced = strcmp(line, "TracerPid:\t0") != 0;
	lines_close(&l);
	errno = err;
	return traced;
}

static bool load_is_busy(int rc)
{
	return rc < 0 && errno == EBUSY;
}

/*
 * Loads on a thread. perfmon2's clients trace the thread and stop it before they load, so the
 * daemon cannot use ptrace and loads without it.
 */
static int load_on_thread(const struct ctx_fd *t, struct pfm_ioc_load *load, int taken)
{
	int rc = ctx_fd_command(t, PFM_IOC_LOAD, load);

	if (load_is_busy(rc) && !load->flags && load_is_traced(load->target)) {
		load->flags = PFM_IOC_LOADFL_UNTRACED;
		rc = ctx_fd_command(t, PFM_IOC_LOAD, load);
		if (rc < 0 && errno == EINVAL) /* EINVAL: the context needs ptrace */
			return lib_fail(EBUSY);
	}
	return load_is_busy(rc) && (load->flags & PFM_IOC_LOADFL_TAKEN) ? lib_fail(taken) : rc;
}

/* Whether the context is for threads. False also if its type is unknown; the daemon then checks the
 * target. */
static bool load_is_for_threads(const struct ctx_fd *t)
{
	struct ctx_cache c;

	return ctx_cache_get(t, &c) && c.number != CTX_CACHE_NO_NUMBER && !c.system_wide;
}

int load_context(const struct ctx_fd *t, uint32_t target, uint16_t set, int taken)
{
	struct pfm_ioc_load load = {.target = target, .set = set};

	if (!ctx_cache_is_system_wide(t))
		return !target && load_is_for_threads(t) ? lib_fail(ESRCH)
							 : load_on_thread(t, &load, taken);
	if ((int)target != cpu_current() && !cpu_check_disabled())
		return debug_fail(
			EINVAL, "a system-wide context can be loaded only on the CPU that the "
				"caller runs on: run there, or set PERFMONFS_ANYCPU=1");
	if (ctx_fd_command(t, PFM_IOC_LOAD, &load) < 0)
		return -1;
	load_cache_cpu(t, (int)target);
	return 0;
}

int unload_context(const struct ctx_fd *t)
{
	if (ctx_fd_command(t, PFM_IOC_UNLOAD, NULL) < 0)
		return -1;
	load_cache_cpu(t, CTX_CACHE_NO_CPU);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Loading, and where callers must run: on the CPU that a system-wide context monitors
 * (specification 3.1.7), though the daemon would not need it.
 */
#include "lib/lib_i.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "lib/lines.h"

bool load_from_anywhere(void)
{
	const char *s = getenv("PERFMONFS_ANYCPU");

	return s && strcmp(s, "1") == 0;
}

int load_this_cpu(void)
{
	return sched_getcpu();
}

bool load_is_system_wide(const struct target *t)
{
	struct known k;

	known_get(t, &k);
	return k.system_wide;
}

static void note_cpu(const struct target *t, int cpu)
{
	struct known k;

	if (known_get(t, &k) && k.system_wide)
		known_set_cpu(t, cpu);
}

/* Whether somebody traces that thread, as far as that can be told. Keeps errno. */
static bool is_traced(uint32_t tid)
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

static bool is_busy(int rc)
{
	return rc < 0 && errno == EBUSY;
}

/* Clients trace the thread that they load on, and have it stopped: then the daemon does not. */
static int load_thread(const struct target *t, struct pfm_ioc_load *load, int taken)
{
	int rc = target_command(t, PFM_IOC_LOAD, load);

	if (is_busy(rc) && !load->flags && is_traced(load->target)) {
		load->flags = PFM_IOC_LOADFL_UNTRACED;
		rc = target_command(t, PFM_IOC_LOAD, load);
		if (rc < 0 && errno == EINVAL) /* not this context: the tracer is in its way */
			return fail(EBUSY);
	}
	return is_busy(rc) && (load->flags & PFM_IOC_LOADFL_TAKEN) ? fail(taken) : rc;
}

/* What is not known to be system-wide, the daemon tells apart. */
static bool is_for_threads(const struct target *t)
{
	struct known k;

	return known_get(t, &k) && k.number != KNOWN_NO_NUMBER && !k.system_wide;
}

int load_context(const struct target *t, uint32_t target, uint16_t set, int taken)
{
	struct pfm_ioc_load load = {.target = target, .set = set};

	if (!load_is_system_wide(t))
		return !target && is_for_threads(t) ? fail(ESRCH) : load_thread(t, &load, taken);
	if ((int)target != load_this_cpu() && !load_from_anywhere())
		return fail(EINVAL);
	if (target_command(t, PFM_IOC_LOAD, &load) < 0)
		return -1;
	note_cpu(t, (int)target);
	return 0;
}

int unload_context(const struct target *t)
{
	if (target_command(t, PFM_IOC_UNLOAD, NULL) < 0)
		return -1;
	note_cpu(t, KNOWN_NO_CPU);
	return 0;
}

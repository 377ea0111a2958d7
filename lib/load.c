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

	known_get(t->inode, &k);
	return k.system_wide;
}

static void note_cpu(const struct target *t, int cpu)
{
	struct known k;

	if (!known_get(t->inode, &k) || !k.system_wide)
		return;
	k.cpu = cpu;
	known_set(t->inode, &k);
}

int load_context(const struct target *t, struct pfm_ioc_load *load)
{
	if (load_is_system_wide(t) && (int)load->target != load_this_cpu() && !load_from_anywhere())
		return fail(EINVAL);
	if (target_command(t, PFM_IOC_LOAD, load) < 0)
		return -1;
	note_cpu(t, (int)load->target);
	return 0;
}

int unload_context(const struct target *t)
{
	if (target_command(t, PFM_IOC_UNLOAD, NULL) < 0)
		return -1;
	note_cpu(t, KNOWN_NO_CPU);
	return 0;
}

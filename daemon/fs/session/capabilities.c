// SPDX-License-Identifier: MIT
#include "daemon/fs/session/capabilities.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "base/cleanup.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#endif
#ifndef CAP_BPF
#define CAP_BPF 39 /* Linux 5.8 */
#endif

static int capabilities_set(cap_t caps, const cap_value_t *keep, int n)
{
	/* Capabilities that the daemon lacks, for example in a container, are left out. */
	cap_t have = cap_get_proc();
	cap_flag_value_t value;
	int rc = have ? 0 : -1;

	for (int i = 0; rc == 0 && i < n; i++) {
		if (cap_get_flag(have, keep[i], CAP_PERMITTED, &value) < 0 || value != CAP_SET)
			continue;
		rc = cap_set_flag(caps, CAP_PERMITTED, 1, &keep[i], CAP_SET);
		if (rc == 0)
			rc = cap_set_flag(caps, CAP_EFFECTIVE, 1, &keep[i], CAP_SET);
	}
	cap_free(have);
	return rc < 0 ? rc : cap_set_proc(caps);
}

static int capabilities_paranoid_level(void)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level;

	return f && fscanf(f, "%d", &level) == 1 ? level : 0;
}

/* Lists the capabilities that monitoring a CPU or a thread requires; returns their number. */
static int capabilities_for_monitoring(cap_value_t keep[4])
{
	bool known = cap_get_bound(CAP_PERFMON) >= 0;
	int n = 0;

	keep[n++] = CAP_SYS_PTRACE;
	if (known) {
		keep[n++] = CAP_PERFMON;
		keep[n++] = CAP_BPF;
	}
	if (!known || capabilities_paranoid_level() > 2)
		keep[n++] = CAP_SYS_ADMIN;
	return n;
}

static bool capabilities_list_has(const cap_value_t *keep, int n, cap_value_t c)
{
	for (int i = 0; i < n; i++)
		if (keep[i] == c)
			return true;
	return false;
}

int capabilities_drop(const struct backend_ops *ops, struct err *e)
{
	cap_value_t keep[6] = {CAP_SYS_NICE};
	int n = 1, rc;
	cap_t caps;

	if (ops->needs_rawio)
		keep[n++] = CAP_SYS_RAWIO;
	/* On real CPUs, every backend samples with perf events and follows threads. */
	if (!ops->simulated)
		n += capabilities_for_monitoring(&keep[n]);
	for (cap_value_t c = 0; cap_get_bound(c) >= 0; c++)
		if (!capabilities_list_has(keep, n, c))
			prctl(PR_CAPBSET_DROP, c);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	caps = cap_init();
	rc = caps ? capabilities_set(caps, keep, n) : -1;
	cap_free(caps);
	return rc < 0 ? err_set(e, errno, "cannot give up capabilities: %s", err_name(errno)) : 0;
}

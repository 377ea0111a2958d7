// SPDX-License-Identifier: MIT
#include "daemon/fs/capabilities.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "base/cleanup.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#endif
#ifndef CAP_BPF
#define CAP_BPF 39 /* the same */
#endif

static int set_caps(cap_t caps, const cap_value_t *keep, int n)
{
	/* Only what there is: a container may have been given less. */
	cap_t have = cap_get_proc();
	cap_flag_value_t held;
	int rc = have ? 0 : -1;

	for (int i = 0; rc == 0 && i < n; i++) {
		if (cap_get_flag(have, keep[i], CAP_PERMITTED, &held) < 0 || held != CAP_SET)
			continue;
		rc = cap_set_flag(caps, CAP_PERMITTED, 1, &keep[i], CAP_SET);
		if (rc == 0)
			rc = cap_set_flag(caps, CAP_EFFECTIVE, 1, &keep[i], CAP_SET);
	}
	cap_free(have);
	return rc < 0 ? rc : cap_set_proc(caps);
}

static int perf_event_paranoid(void)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level;

	return f && fscanf(f, "%d", &level) == 1 ? level : 0;
}

/* What the kernel asks of those who watch a whole CPU, or threads; returns how many. */
static int watching(cap_value_t keep[4])
{
	bool known = cap_get_bound(CAP_PERFMON) >= 0;
	int n = 0;

	keep[n++] = CAP_SYS_PTRACE;
	if (known) {
		keep[n++] = CAP_PERFMON;
		keep[n++] = CAP_BPF;
	}
	if (!known || perf_event_paranoid() > 2)
		keep[n++] = CAP_SYS_ADMIN;
	return n;
}

static bool listed(const cap_value_t *keep, int n, cap_value_t c)
{
	for (int i = 0; i < n; i++)
		if (keep[i] == c)
			return true;
	return false;
}

int capabilities_drop(const char *backend, struct err *e)
{
	cap_value_t keep[6] = {CAP_SYS_NICE};
	int n = 1, rc;
	cap_t caps;

	if (strcmp(backend, "perf") != 0)
		keep[n++] = CAP_SYS_RAWIO;
	/* Sampling learns from perf events who is running, with any backend of real CPUs; and only
	 * on these are there threads. */
	if (strcmp(backend, "sim") != 0)
		n += watching(&keep[n]);
	for (cap_value_t c = 0; cap_get_bound(c) >= 0; c++)
		if (!listed(keep, n, c))
			prctl(PR_CAPBSET_DROP, c);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	caps = cap_init();
	rc = caps ? set_caps(caps, keep, n) : -1;
	cap_free(caps);
	return rc < 0 ? err_set(e, errno, "cannot give up capabilities: %s", err_name(errno)) : 0;
}

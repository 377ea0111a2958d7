// SPDX-License-Identifier: MIT
/*
 * What the kernel does not report: a thread that vanishes in the exec of another thread of its
 * process, or is killed in its own; the first thread of a process, when it ends before others; a
 * child whose parent was killed before it could tell of it.
 */
#include "daemon/track/tracer_i.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

enum {
	PERIOD_NS = 250000000,
	BUCKETS = 1024, /* at a time, not to keep others waiting */
	DOUBTS = 4,
};

void tracer_suspect(struct tracer *tr)
{
	tr->to_audit = tr->all.nbuckets;
	if (!tr->audit_at)
		tr->audit_at = tracer_now() + PERIOD_NS;
}

bool tracer_is_zombie(pid_t tid)
{
	CLEANUP_FCLOSE FILE *f = NULL;
	char path[32], line[256], *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f))
		return false;
	/* The name before it may contain anything. */
	end = strrchr(line, ')');
	return end && strncmp(end, ") Z", 3) == 0;
}

void tracer_check_end(struct tracer *tr, pid_t tid)
{
	struct tracee *t = tracees_find(&tr->all, tid);

	if (!t)
		return;
	if (tracer_is_zombie(tid))
		tracer_forget(tr, t);
	else
		tracer_suspect(tr);
}

/*
 * In the exec of a thread, its number is nobody's for a moment; and a parent may be about to tell
 * of its child. So time must tell. Returns whether it still has to.
 */
static bool doubtful(struct tracer *tr, struct tracee *t)
{
	bool traced = tracer_traces(t->tid);

	if (traced && t->known) {
		t->doubt = 0;
		if (!t->interrupted)
			return false;
		if (!tracer_is_zombie(t->tid))
			return true;
		tracer_forget(tr, t);
		return false;
	}
	if (++t->doubt < DOUBTS)
		return true;
	if (traced && t->stopped)
		tracer_let_go(tr, t);
	else
		tracer_forget(tr, t);
	return false;
}

void tracer_audit(struct tracer *tr)
{
	bool again = false;

	if (!tr->audit_at || tracer_now() < tr->audit_at)
		return;
	tr->audit_at = 0;
	for (int n = 0; n < BUCKETS && tr->to_audit; n++, tr->to_audit--) {
		struct tracee *next;

		tr->audited = (tr->audited + 1) & (tr->all.nbuckets - 1);
		for (struct tracee *t = tr->all.bucket[tr->audited]; t; t = next) {
			next = t->next;
			again |= doubtful(tr, t);
		}
	}
	if (again)
		tracer_suspect(tr);
	else if (tr->to_audit)
		tr->audit_at = tracer_now() + PERIOD_NS;
}

// SPDX-License-Identifier: MIT
/*
 * Finds ends that the kernel does not report: those of a thread that vanishes in the exec of
 * another thread of its process, or is killed in its own; of a thread group leader that exits
 * before other threads; and of a child whose parent was killed before its clone event.
 */
#include "daemon/ptrace/tracer_i.h"

#include <time.h>

#include "base/nsec.h"
#include "daemon/authz/proc.h"

enum {
	LIVENESS_BUCKETS = 1024, /* per check, as other tracees wait meanwhile */
	LIVENESS_MISSING = 4,    /* checks */
	LIVENESS_LATE = 2,       /* checks */
};

void tracer_check_end(struct tracer *tr, pid_t tid)
{
	struct tracee *t = tracer_find(tr, tid);

	if (!t)
		return;
	if (proc_is_zombie(tid))
		tracer_forget(tr, t);
	else
		tracer_suspect_exit(tr);
}

/* Reports a detach that has taken so long that it may never end. */
static void liveness_report_late(struct tracer *tr, struct tracee *t)
{
	if (tracer_wants(tr, t) & WANT_DETACH && t->late < LIVENESS_LATE &&
		++t->late == LIVENESS_LATE)
		tr->ops->detach_late(tr->arg, t->tid);
}

/*
 * True: @t must be checked again. During an exec, no thread has the id for a moment, and a parent's
 * clone event may be on its way; so one miss proves nothing.
 */
static bool liveness_check(struct tracer *tr, struct tracee *t)
{
	bool traced = tracer_traces(t->tid);

	if (traced && t->known) {
		t->missing = 0;
		if (!t->interrupted)
			return false;
		if (!proc_is_zombie(t->tid)) {
			liveness_report_late(tr, t);
			return true;
		}
		tracer_forget(tr, t);
		return false;
	}
	if (++t->missing < LIVENESS_MISSING)
		return true;
	if (traced && t->stopped)
		tracer_detach_now(tr, t);
	else
		tracer_forget(tr, t);
	return false;
}

static bool liveness_check_bucket(struct tracer *tr, struct hash_node *node)
{
	struct hash_node *next;
	bool again = false;

	for (; node; node = next) {
		next = node->next;
		again |= liveness_check(tr, container_of(node, struct tracee, node));
	}
	return again;
}

void tracer_check_liveness(struct tracer *tr)
{
	bool again = false;

	if (!tr->liveness_at || nsec_now(CLOCK_MONOTONIC) < tr->liveness_at)
		return;
	tr->liveness_at = 0;
	for (int n = 0; n < LIVENESS_BUCKETS && tr->liveness_left; n++, tr->liveness_left--) {
		tr->liveness_bucket = (tr->liveness_bucket + 1) & (tr->tracees.nbuckets - 1);
		again |= liveness_check_bucket(tr, tr->tracees.bucket[tr->liveness_bucket]);
	}
	if (again)
		tracer_suspect_exit(tr);
	else if (tr->liveness_left)
		tr->liveness_at = nsec_now(CLOCK_MONOTONIC) + TRACER_LIVENESS_NS;
}

/* SPDX-License-Identifier: MIT */
/*
 * Supplementary groups of callers, read by a thread of its own: with 65536 groups that takes 16 ms.
 * Users alternate, so that a user's questions wait for one question of each other user at most.
 * Nothing is remembered: setgroups() in the caller takes effect with its next request.
 */
#ifndef FS_GROUP_LOOKUP_H
#define FS_GROUP_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "daemon/authz/group_access.h"

struct group_lookup;

struct group_question {
	/* In group_lookup.waiting or .answered. */
	struct list_head link;
	/* In group_lookup.waiting; guarded by its lock. */
	bool waiting;
	pid_t tid;
	uid_t uid;
	gid_t gid;
	struct group_answers groups;
	/* CPU time that the answer took. */
	uint64_t took_ns;
	/* The daemon is ending: there is no answer. */
	bool ended;
	/* The lowest round is answered next. */
	uint64_t round;
	/* The session thread calls it, once, unless the question is withdrawn. */
	void (*answered)(struct group_question *q);
};

/* EMFILE, ENFILE, ENOMEM. */
int group_lookup_new(struct group_lookup **out, struct err *e);
/* Ends the thread, and the questions that are left. No more may follow. NULL is fine to free. */
void group_lookup_stop(struct group_lookup *g);
void group_lookup_free(struct group_lookup *g);

/* EAGAIN: no thread could be started. */
int group_lookup_submit(struct group_lookup *g, struct group_question *q, struct err *e);
/* False: it is too late, answered() follows. */
bool group_lookup_withdraw(struct group_lookup *g, struct group_question *q);
/* Readable when there may be answers, which are expected if the second is true. */
int group_lookup_fd(const struct group_lookup *g);
bool group_lookup_expects(const struct group_lookup *g);
/* Calls answered() for what has been answered. */
void group_lookup_complete(struct group_lookup *g);

#endif

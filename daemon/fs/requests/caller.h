/* SPDX-License-Identifier: MIT */
/*
 * The rights of the process that sent a request. The rules are in daemon/authz: group_access.h and
 * grants.h.
 *
 * For a request on an open file, the process that opened it must have the right as well: otherwise
 * a program that prints into a file which it was passed would lend its own. An opener with the uid
 * and gid of the writer is taken to have the same supplementary groups.
 */
#ifndef FS_CALLER_H
#define FS_CALLER_H

#include "daemon/authz/grants.h"
#include "daemon/core/request.h"
#include "daemon/fs/tree/node.h"

enum { CALLER_CTX_CPU = -3 /* the one that the call's context is loaded on; any if unloaded */ };

struct caller_need {
	/* Bits NEED_*. */
	unsigned rights;
	/* For which CPU: its number, a GRANT_* or CALLER_CTX_CPU. */
	int cpu;
};

/* The rights that a command takes, and those that making a context takes. */
struct caller_need caller_needs_to_make(const struct call *call);
struct caller_need caller_needs(const struct call *call, const struct command *cmd);

/* Sets @out, of which the rights in @need are valid. False: caller_lookup() must find them out. */
bool caller_rights(const struct call *call, struct caller_need need, struct rights *out);

/* EPERM: the rights do not include making contexts. */
int caller_check_make(const struct rights *r, struct err *e);

/* EPERM: the caller, or the opener of the call's file, is not root. */
int caller_check_root(const struct call *call, struct err *e);

/* What a request does when its caller's groups are known. */
struct caller_kind {
	/* Goes on, and answers the request. */
	void (*go)(struct call *call, const struct rights *rights, void *arg);
	/* Instead, if the answer was EINTR. */
	void (*drop)(struct call *call, void *arg);
};

/* Reads the caller's groups in another thread; go() or drop() follows. @arg takes @bytes. An error:
 * neither follows. */
int caller_lookup(struct call *call, struct caller_need need, size_t bytes,
	const struct caller_kind *kind, void *arg, struct err *e);

/* Notes the opener of @f, and its capabilities, if the row wants them. */
void caller_note_opener(const struct call *call, struct file *f);

/* While memory or contexts are short, finds out whether the caller may use the reserve, unless its
 * supplementary groups decide: those are asked for when it makes a context. */
void caller_note_reserve(const struct call *call);

/* RLIMIT_MEMLOCK of the calling process, bytes; root has no limit. */
uint64_t caller_memlock(const struct call *call);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The rights of the process that sent a request. The rules are in daemon/authz: group_access.h and
 * grants.h.
 *
 * For a request on an open file, the process that opened it must have the right as well: otherwise
 * a program that prints into a file that was passed to it would lend its own right. An opener with
 * the writer's uid and gid is assumed to have the same supplementary groups.
 */
#ifndef FS_CALLER_H
#define FS_CALLER_H

#include "daemon/authz/grants.h"
#include "daemon/core/request.h"
#include "daemon/fs/tree/node.h"

enum { CALLER_CTX_CPU = -3 /* the CPU of the call's context; any CPU if it is unloaded */ };

struct caller_need {
	/* Bits NEED_*. */
	unsigned rights;
	/* The CPU for which they are needed: its number, a GRANT_* or CALLER_CTX_CPU. */
	int cpu;
};

/* The rights required to make a context, and those required by a command. */
struct caller_need caller_needs_to_make(const struct call *call);
struct caller_need caller_needs(const struct call *call, const struct command *cmd);

/* Sets @out, in which the rights in @need are valid. Returns false if caller_await_rights()
 * must determine them. */
bool caller_rights(const struct call *call, struct caller_need need, struct rights *out);

/* EPERM: the rights do not include making contexts. */
int caller_check_make(const struct rights *r, struct err *e);

/* EPERM: the caller, or the opener of the call's file, is not root. */
int caller_check_root(const struct call *call, struct err *e);

/* For a request on a fiber (await.h): the caller's rights, for which it may wait while another
 * thread reads the caller's groups. EAGAIN; EINTR. */
int caller_await_rights(
	struct call *call, struct caller_need need, struct rights *out, struct err *e);

/* Notes the opener of @f, and its capabilities, if the row wants them. */
void caller_note_opener(const struct call *call, struct file *f);

/* While memory or contexts are short, notes whether the caller may use the reserve, unless that
 * depends on its supplementary groups, which are read when it makes a context. */
void caller_note_reserve(const struct call *call);

/* RLIMIT_MEMLOCK of the calling process, bytes; root has no limit. */
uint64_t caller_memlock(const struct call *call);

#endif

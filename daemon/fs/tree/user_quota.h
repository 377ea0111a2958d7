/* SPDX-License-Identifier: MIT */
/*
 * What each user has the daemon keep. Whatever a user can have many of (contexts, event sets, open
 * files with their texts, requests that wait) is charged to that user in bytes, at its real size.
 * Memory that clients map has an account of its own (quota.h).
 *
 * A struct charge is embedded in what is charged, or kept beside it. Root is charged, but never
 * refused.
 */
#ifndef FS_USER_QUOTA_H
#define FS_USER_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/list.h"
#include "daemon/config/config.h"
#include "daemon/mem/shared.h"

enum {
	/* Limits for each user but root. */
	SIGNALS_PER_USER = 64,    /* contexts that notify by signal */
	BUFFERS_PER_USER = 256,   /* each takes a descriptor of the daemon */
	REQUESTS_PER_USER = 1024, /* that wait: each may be interrupted, which comes first */
	/* Each user gets this much, whatever others have: for a context and open files. */
	QUOTA_ALWAYS = 16384,
	/* Contexts and event sets leave this much of config/user_memory_max: their owner can still
	 * read why there are no more, and remove some. */
	QUOTA_SPARE = 32768,
	/* This part of config/memory_max is for root and members of sys_group. */
	QUOTA_RESERVED_PART = 16,
	/* What malloc() adds to a piece of memory, at most, and a pointer to that. */
	CHARGE_PIECE = 32,
};

struct user_quotas;

/* How many lines of the audit record there may be (audit_log.c). */
struct audit_rate {
	/* When the next line is due, unless it is within the burst (CLOCK_MONOTONIC, ns). */
	uint64_t due;
	/* Lines since the last one that was sent. */
	unsigned suppressed;
};

/* Why the user's last request without a context failed (uid_error.c). */
struct user_error {
	/* Empty: it succeeded. */
	char text[sizeof(((struct err *)0)->text)];
	/* The quota is not freed before (CLOCK_MONOTONIC, ns). */
	uint64_t keep_until;
};

struct user_quota {
	uid_t uid;
	struct user_quotas *all;
	/* Without any bytes, buffers and a recent error, it is freed sooner or later. */
	atomic_ullong bytes;
	/* Including contexts that are removed but still open: they take as much memory. */
	atomic_uint contexts;
	/* Requests that wait. */
	atomic_uint requests;
	struct shared_account buffers;
	unsigned notifiers;
	/* Counts that its contexts export. */
	unsigned metrics;
	/* Of contexts on threads: see task_load.c. */
	unsigned workers;
	/* The user was a member of sys_group when memory or contexts were last short. */
	atomic_bool reserve;
	struct audit_rate audit;
	struct user_error error;
	/* Long work under way, oldest first; if there is any, @deferred_link is in fs.deferred. */
	struct list_head deferred, deferred_link;
	/* In user_quotas.by_uid and .list. */
	struct hash_node hash;
	struct list_head link;
};

/* The table belongs to the session thread. */
struct user_quotas {
	struct hash by_uid;
	struct list_head list;
	/* Quotas at which those that are not used any more are freed. */
	size_t sweep_at;
	/* Bytes of all users but root, each beyond QUOTA_ALWAYS. */
	atomic_ullong bytes;
	/* config/user_memory_max and config/memory_max, for all threads. */
	atomic_ullong user_max, max;
	/* config/user_contexts_max. */
	uint64_t contexts_max;
	/* Contexts that notify by signal, of all users but root. */
	unsigned notifiers;
};

/* -ENOMEM. */
int user_quotas_init(struct user_quotas *all);
void user_quotas_free(struct user_quotas *all);
/* Adopts the limits in @config. */
void user_quotas_configure(struct user_quotas *all, const struct config *config);
/* True: what is left of memory_max may soon be for root and members of sys_group alone. */
bool user_quotas_are_short(const struct user_quotas *all);

/* The quota of @uid, which must be charged before the next call; NULL: no memory. */
struct user_quota *user_quota_get(struct user_quotas *all, uid_t uid);
/* NULL: the user has none. */
struct user_quota *user_quota_find(const struct user_quotas *all, uid_t uid);

struct charge {
	struct user_quota *quota;
	size_t bytes;
	/* Bytes of user_memory_max that it must not take. */
	size_t leaves;
};

/* Charges @bytes instead of what @c charges now. ENOMEM: @c is as before. Any thread; but one at a
 * time for one @c. */
int charge_set(struct charge *c, size_t bytes, struct err *e);
/* Charges nothing any more; the quota may be gone after this. */
void charge_clear(struct charge *c);

#endif

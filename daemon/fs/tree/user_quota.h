/* SPDX-License-Identifier: MIT */
/*
 * Memory that the daemon keeps for each user. Everything that a user can have many of (contexts,
 * event sets, open files with their texts, waiting requests) is charged to that user in bytes, at
 * its real size. Memory that clients map has its own account (quota.h).
 *
 * A struct charge is embedded in the charged struct, or kept next to it. Root is charged but never
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
	/* Limits for each user except root. */
	SIGNALS_PER_USER = 64,    /* contexts that notify by signal */
	BUFFERS_PER_USER = 256,   /* each takes one of the daemon's descriptors */
	REQUESTS_PER_USER = 1024, /* waiting; their interrupts are handled first */
	/* Bytes that each user gets regardless of others, for a context and open files. */
	QUOTA_ALWAYS = 16384,
	/* Bytes of config/user_memory_max that contexts and event sets leave unused, so that their
	 * owner can still read why no more can be made, and remove some. */
	QUOTA_SPARE = 32768,
	/* One in this many bytes of config/memory_max is reserved for root and members of
	 * sys_group. */
	QUOTA_RESERVED_PART = 16,
	/* The most that malloc() adds to an allocation, plus a pointer to it, in bytes. */
	CHARGE_PIECE = 32,
};

struct user_quotas;

/* Rate limit for lines of the audit record (audit_log.c). */
struct audit_rate {
	/* When the next line is due, unless it is within the burst (CLOCK_MONOTONIC, ns). */
	uint64_t due;
	/* Lines suppressed since the last one that was sent. */
	unsigned suppressed;
};

/* Why the user's last request without a context failed (uid_error.c). */
struct user_error {
	/* Empty if the request succeeded. */
	char text[sizeof(((struct err *)0)->text)];
	/* The quota is not freed before this time (CLOCK_MONOTONIC, ns). */
	uint64_t keep_until;
};

struct user_quota {
	uid_t uid;
	struct user_quotas *all;
	/* Bytes charged. A quota without bytes, buffers or a recent error is freed eventually. */
	atomic_ullong bytes;
	/* Contexts, including removed ones that are still open: they take as much memory. */
	atomic_uint contexts;
	/* Waiting requests. */
	atomic_uint requests;
	struct shared_account buffers;
	unsigned notifiers;
	/* Counts that the user's contexts export. */
	unsigned metrics;
	/* Workers of the user's contexts on threads: see task_load.c. */
	unsigned workers;
	/* The user was a member of sys_group when memory or contexts were last short. */
	atomic_bool reserve;
	struct audit_rate audit;
	struct user_error error;
	/* Long work under way, oldest first; if there is any, @deferred_link is in fs.deferred. */
	struct list_head deferred, deferred_link;
	/* Links in user_quotas.by_uid and .list. */
	struct hash_node hash;
	struct list_head link;
};

/* The table belongs to the session thread. */
struct user_quotas {
	struct hash by_uid;
	struct list_head list;
	/* The number of quotas at which unused ones are freed. */
	size_t sweep_at;
	/* Bytes of all users except root, counting for each only those above QUOTA_ALWAYS. */
	atomic_ullong bytes;
	/* config/user_memory_max and config/memory_max, for all threads. */
	atomic_ullong user_max, max;
	/* config/user_contexts_max. */
	uint64_t contexts_max;
	/* Contexts of all users except root that notify by signal. */
	unsigned notifiers;
};

/* -ENOMEM. */
int user_quotas_init(struct user_quotas *all);
void user_quotas_free(struct user_quotas *all);
/* Adopts the limits in @config. */
void user_quotas_configure(struct user_quotas *all, const struct config *config);
/* Whether the rest of memory_max may soon be reserved for root and members of sys_group. */
bool user_quotas_are_short(const struct user_quotas *all);

/* The quota of @uid, to which something must be charged before the next call; NULL if there is no
 * memory. */
struct user_quota *user_quota_get(struct user_quotas *all, uid_t uid);
/* The quota of @uid; NULL if that user has none. */
struct user_quota *user_quota_find(const struct user_quotas *all, uid_t uid);

struct charge {
	struct user_quota *quota;
	size_t bytes;
	/* Bytes of user_memory_max that this charge must leave unused. */
	size_t leaves;
};

/* Charges @bytes instead of the current charge of @c. ENOMEM: @c is unchanged. Any thread, but one
 * at a time for one @c. */
int charge_set(struct charge *c, size_t bytes, struct err *e);
/* Releases the whole charge; the quota may be freed after this. */
void charge_clear(struct charge *c);

#endif

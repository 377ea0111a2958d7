// SPDX-License-Identifier: MIT
#include "daemon/fs/tree/user_quota.h"

#include <errno.h>
#include <stdlib.h>

#include "base/nsec.h"

enum { QUOTA_SWEEP_MIN = 64 };

int user_quotas_init(struct user_quotas *all)
{
	list_init(&all->list);
	all->sweep_at = QUOTA_SWEEP_MIN;
	return hash_init(&all->by_uid);
}

static void quota_free(struct user_quotas *all, struct user_quota *q)
{
	hash_remove(&all->by_uid, &q->hash);
	list_del(&q->link);
	free(q);
}

void user_quotas_free(struct user_quotas *all)
{
	struct user_quota *q, *next;

	list_for_each_entry_safe (q, next, &all->list, link)
		quota_free(all, q);
	hash_free(&all->by_uid);
}

void user_quotas_configure(struct user_quotas *all, const struct config *config)
{
	atomic_store(&all->user_max, config->user_memory_max);
	atomic_store(&all->max, config->memory_max);
	all->contexts_max = config->user_contexts_max;
}

static unsigned long long quota_reserved(const struct user_quotas *all)
{
	return atomic_load(&all->max) / QUOTA_RESERVED_PART;
}

bool user_quotas_are_short(const struct user_quotas *all)
{
	return atomic_load(&all->bytes) + 2 * quota_reserved(all) > atomic_load(&all->max);
}

static bool quota_is_used(const struct user_quota *q, uint64_t now)
{
	return atomic_load(&q->bytes) || atomic_load(&q->buffers.bytes) ||
	       atomic_load(&q->buffers.pieces) || now < q->error.keep_until;
}

/* Frees unused quotas, because a range of subordinate uids may have come and gone. The next sweep
 * is due when there are twice as many quotas as this one leaves, so the cost per quota is small. */
static void quota_sweep(struct user_quotas *all)
{
	struct user_quota *q, *next;
	uint64_t now;

	if (all->by_uid.n < all->sweep_at)
		return;
	now = nsec_now(CLOCK_MONOTONIC);
	list_for_each_entry_safe (q, next, &all->list, link)
		if (!quota_is_used(q, now))
			quota_free(all, q);
	all->sweep_at = QUOTA_SWEEP_MIN + 2 * all->by_uid.n;
}

struct user_quota *user_quota_find(const struct user_quotas *all, uid_t uid)
{
	struct hash_node *node = hash_find(&all->by_uid, uid);

	return node ? container_of(node, struct user_quota, hash) : NULL;
}

struct user_quota *user_quota_get(struct user_quotas *all, uid_t uid)
{
	struct user_quota *q = user_quota_find(all, uid);

	if (q)
		return q;
	quota_sweep(all);
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->uid = uid;
	q->all = all;
	list_init(&q->deferred);
	hash_add(&all->by_uid, &q->hash, uid);
	list_add(&q->link, &all->list);
	return q;
}

/* The part of memory_max that @uid uses when @bytes are charged to it. */
static unsigned long long quota_beyond_always(uid_t uid, unsigned long long bytes)
{
	return uid && bytes > QUOTA_ALWAYS ? bytes - QUOTA_ALWAYS : 0;
}

static void quota_release(struct user_quota *q, size_t n)
{
	struct user_quotas *all = q->all;
	uid_t uid = q->uid;
	unsigned long long had = atomic_fetch_sub(&q->bytes, n); /* @q may be freed after this */

	atomic_fetch_sub(
		&all->bytes, quota_beyond_always(uid, had) - quota_beyond_always(uid, had - n));
}

static int quota_refuse_user(struct user_quota *q, unsigned long long has, struct err *e)
{
	return err_set(e, ENOMEM,
		"uid %u has %llu of %llu bytes of the daemon's memory: close files, rmdir event "
		"sets or contexts, or have root raise config/user_memory_max",
		(unsigned)q->uid, has, atomic_load(&q->all->user_max));
}

static int quota_refuse_all(const struct user_quotas *all, unsigned long long have, struct err *e)
{
	return err_set(e, ENOMEM,
		"all users together have %llu of %llu bytes of the daemon's memory, and the rest "
		"is for sys_group: have root see stats, and raise config/memory_max",
		have, atomic_load(&all->max));
}

/* Takes the bytes before it checks, so that two threads cannot both get the last ones. */
static int quota_take(struct user_quota *q, size_t n, size_t leaves, struct err *e)
{
	struct user_quotas *all = q->all;
	unsigned long long had = atomic_fetch_add(&q->bytes, n);
	unsigned long long more =
		quota_beyond_always(q->uid, had + n) - quota_beyond_always(q->uid, had);
	unsigned long long others = atomic_fetch_add(&all->bytes, more);
	unsigned long long spared = atomic_load(&q->reserve) ? 0 : quota_reserved(all);
	int rc = 0;

	if (q->uid && had + n + leaves > atomic_load(&all->user_max))
		rc = quota_refuse_user(q, had, e);
	else if (more && others + more + spared > atomic_load(&all->max))
		rc = quota_refuse_all(all, others, e);
	if (rc < 0)
		quota_release(q, n);
	return rc;
}

int charge_set(struct charge *c, size_t bytes, struct err *e)
{
	if (bytes > c->bytes && quota_take(c->quota, bytes - c->bytes, c->leaves, e) < 0)
		return -e->no;
	if (bytes < c->bytes)
		quota_release(c->quota, c->bytes - bytes);
	c->bytes = bytes;
	return 0;
}

void charge_clear(struct charge *c)
{
	if (c->bytes)
		quota_release(c->quota, c->bytes);
	c->bytes = 0;
}

// SPDX-License-Identifier: MIT
#include "daemon/mem/shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

void shared_pool_free(struct shared_pool *pool)
{
	shared_free_deferred(pool);
	shared_free_lingering(pool);
	cache_sync_free(pool->sync);
	pool->sync = NULL;
}

static int shared_prepare_sync(struct shared *s, struct err *e)
{
	size_t pages = s->room / (size_t)sysconf(_SC_PAGESIZE);
	struct shared_pool *pool = s->pool;
	int rc = 0;

	s->shadow = calloc(1, s->room);
	s->stale = calloc(pages, sizeof(*s->stale));
	if (!s->shadow || !s->stale)
		rc = err_set(e, ENOMEM, "no memory to show a buffer of %zu bytes", s->size);
	if (rc == 0 && !pool->sync)
		rc = cache_sync_new(pool->ops, &pool->sync, e);
	if (rc < 0) {
		free(take_ptr(&s->shadow));
		free(take_ptr(&s->stale));
	} else {
		/* Storing the last page tells the kernel the length of the file. */
		s->stale[pages - 1] = true;
	}
	return rc;
}

bool shared_pass(struct shared *s)
{
	if (s->way == SHARED_UNDECIDED)
		s->id = s->pool->ops->back(s->pool->ops->arg, s->fd);
	if (s->way == SHARED_UNDECIDED && s->id > 0)
		s->way = SHARED_PASSED;
	return s->way == SHARED_PASSED;
}

int shared_use_sync(struct shared *s, struct err *e)
{
	int rc = shared_prepare_sync(s, e);

	if (rc == 0)
		s->way = SHARED_SYNCED;
	return rc;
}

int shared_attach_region(struct shared *s, struct shared *region, struct err *e)
{
	int rc = shared_use_sync(s, e);

	return rc < 0 ? rc : shared_place_in_region(s, region, e);
}

int shared_open(struct shared *s, uint64_t ino, struct err *e)
{
	if (s->way == SHARED_UNDECIDED && !shared_pass(s) && shared_use_sync(s, e) < 0)
		return -e->no;
	s->ino = ino;
	shared_ref(s);
	if (s->opens++ == 0 && s->way == SHARED_SYNCED)
		cache_sync_add(s->pool->sync, s);
	return 0;
}

void shared_close(struct shared *s)
{
	struct shared_pool *pool = s->pool;

	if (--s->opens == 0 && s->way == SHARED_SYNCED)
		cache_sync_remove(pool->sync, s);
	shared_unref(s);
	shared_free_deferred(pool);
}

void shared_read(struct shared *s, size_t off, void *buf, size_t n)
{
	pthread_mutex_lock(&s->lock);
	memcpy(buf, s->shadow + off, n);
	pthread_mutex_unlock(&s->lock);
}

bool shared_is_synced(const struct shared *s)
{
	return s && s->opens && s->way == SHARED_SYNCED && !s->pool->sync->closing;
}

void shared_fence_expect(struct shared *s, struct sync_fence *p)
{
	p->s = shared_ref(s);
	s->pool->sync->expected++;
}

void shared_fence_order(struct sync_fence *p)
{
	cache_sync_order(p->s->pool->sync, p);
}

void shared_fence(struct shared *s, struct sync_fence *p)
{
	if (!shared_is_synced(s)) {
		p->after(p->arg);
		return;
	}
	shared_fence_expect(s, p);
	shared_fence_order(p);
}

int shared_event_fd(const struct shared_pool *pool)
{
	return pool->sync ? pool->sync->event_fd : -1;
}

void shared_complete_fences(struct shared_pool *pool)
{
	if (pool->sync)
		cache_sync_complete(pool->sync);
}

bool shared_expects_events(const struct shared_pool *pool)
{
	return pool->sync && pool->sync->expected;
}

bool shared_ended(struct shared_pool *pool)
{
	return !pool->sync || cache_sync_ended(pool->sync);
}

// SPDX-License-Identifier: MIT
#include "daemon/mem/cache_sync.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/cond.h"
#include "base/nsec.h"
#include "daemon/percpu/thread.h"

/* Bytes per store, and bytes compared while a READ may have to wait. */
enum { CACHE_BATCH = 65536 };
/* Bytes at the beginning in which formats keep the number of samples; no sample begins there. */
enum { CACHE_HEAD = 64 };

/*
 * Copies a page to the shadow; returns true if that changed anything. A worker may be writing to
 * the page; a half-written page is then copied, just as a mapping of the memory itself would show
 * it. So this race is intended.
 */
__attribute__((no_sanitize("thread"))) static bool cache_copy_page(
	uint64_t *shadow, const volatile uint64_t *mem, size_t words)
{
	bool changed = false;

	for (size_t i = 0; i < words; i++) {
		uint64_t word = mem[i];

		if (shadow[i] == word)
			continue;
		shadow[i] = word;
		changed = true;
	}
	return changed;
}

/* Copies from the beginning, where formats keep the number of samples: these samples are complete
 * by the time the pages after it are copied. */
static void cache_update_shadow(const struct cache_sync *cs, struct shared *s)
{
	for (size_t from = 0; from < s->room; from += CACHE_BATCH) {
		size_t to = from + CACHE_BATCH < s->room ? from + CACHE_BATCH : s->room;

		pthread_mutex_lock(&s->lock);
		for (size_t at = from; at < to; at += cs->page)
			if (cache_copy_page((uint64_t *)(void *)(s->shadow + at),
				    (const uint64_t *)(const void *)((const char *)s->mem + at),
				    cs->page / sizeof(uint64_t)))
				s->stale[at / cs->page] = true;
		pthread_mutex_unlock(&s->lock);
	}
}

/* Copies from the end, as cache_store_stale() does, because clients see each word as it is
 * written. */
__attribute__((no_sanitize("thread"))) static int cache_copy_run(
	struct shared *s, size_t off, size_t n)
{
	uint64_t *to = (uint64_t *)(void *)((char *)s->region->mem + off);
	const uint64_t *from = (const uint64_t *)(const void *)(s->shadow + off);

	for (size_t i = (n + sizeof(*to) - 1) / sizeof(*to); i--;)
		if (__atomic_load_n(&to[i], __ATOMIC_RELAXED) != from[i])
			__atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
	return 0;
}

/* Stores a range. ENOENT means that the kernel has no page of the file, which is fine. */
static bool cache_store(const struct cache_sync *cs, struct shared *s, size_t off, size_t end)
{
	int rc = s->region ? cache_copy_run(s, off, end - off)
			   : cs->ops->store(cs->ops->arg, s->ino, off, s->shadow + off, end - off);

	return rc == 0 || rc == -ENOENT;
}

/*
 * Stores the pages [@first, @end); if that fails, they stay stale. The kernel copies the bytes of
 * one store in any order, and clients may read meanwhile, so the number of samples has its own
 * store.
 */
static void cache_store_run(const struct cache_sync *cs, struct shared *s, size_t first, size_t end)
{
	size_t off = first ? first * cs->page : CACHE_HEAD;
	size_t to = end * cs->page < s->size ? end * cs->page : s->size;

	if ((off >= to || cache_store(cs, s, off, to)) &&
		(first || cache_store(cs, s, 0, to < CACHE_HEAD ? to : CACHE_HEAD)))
		memset(s->stale + first, 0, end - first);
}

/* Stores from the end, because the samples must be visible before their number at the beginning. */
static void cache_store_stale(const struct cache_sync *cs, struct shared *s)
{
	size_t end = s->room / cs->page;

	while (end) {
		size_t first = end;

		while (first && s->stale[first - 1] && end - first < CACHE_BATCH / cs->page)
			first--;
		if (first < end)
			cache_store_run(cs, s, first, end);
		else
			first--;
		end = first;
	}
}

static void cache_sync_one(const struct cache_sync *cs, struct shared *s)
{
	cache_update_shadow(cs, s);
	cache_store_stale(cs, s);
}

static struct sync_fence *cache_first_fence(struct list_head *list)
{
	struct sync_fence *p = list_first_entry_or_null(list, struct sync_fence, link);

	if (p)
		list_del(&p->link);
	return p;
}

static void cache_serve_order(struct cache_sync *cs)
{
	struct sync_fence *p = cache_first_fence(&cs->ordered);

	pthread_mutex_unlock(&cs->lock);
	cache_sync_one(cs, p->s);
	pthread_mutex_lock(&cs->lock);
	list_add_tail(&p->link, &cs->done);
	eventfd_write(cs->event_fd, 1);
}

/* Syncs all open memory. Orders that arrive meanwhile are served first. Memory that is closed
 * meanwhile leaves the list, and may be freed here. */
static void cache_sync_all(struct cache_sync *cs)
{
	struct list_head todo;
	struct shared *s;

	/* Moves all of @open to @todo. */
	list_add(&todo, &cs->open);
	list_del(&cs->open);
	while ((s = list_first_entry_or_null(&todo, struct shared, sync_link))) {
		list_del(&s->sync_link);
		list_add(&s->sync_link, &cs->open);
		shared_ref(s);
		pthread_mutex_unlock(&cs->lock);
		cache_sync_one(cs, s);
		shared_unref(s);
		pthread_mutex_lock(&cs->lock);
		while (!list_empty(&cs->ordered))
			cache_serve_order(cs);
	}
}

static struct timespec cache_next_period(void)
{
	return nsec_timespec(nsec_now(CLOCK_MONOTONIC) + CACHE_SYNC_PERIOD_MS * 1000000ULL);
}

static void *cache_sync_main(void *arg)
{
	struct cache_sync *cs = arg;
	struct timespec next = cache_next_period();

	pthread_mutex_lock(&cs->lock);
	while (!cs->ending || !list_empty(&cs->ordered)) {
		if (!list_empty(&cs->ordered)) {
			cache_serve_order(cs);
		} else if (list_empty(&cs->open)) {
			pthread_cond_wait(&cs->changed, &cs->lock);
			next = cache_next_period();
		} else if (pthread_cond_timedwait(&cs->changed, &cs->lock, &next) == ETIMEDOUT) {
			cache_sync_all(cs);
			next = cache_next_period();
		}
	}
	cs->ended = true;
	eventfd_write(cs->event_fd, 1);
	pthread_mutex_unlock(&cs->lock);
	return NULL;
}

static int cache_start_thread(struct cache_sync *cs, struct err *e)
{
	int rc;

	cs->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cs->event_fd < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	pthread_mutex_init(&cs->lock, NULL);
	cond_init_monotonic(&cs->changed);
	rc = thread_start(&cs->thread, cache_sync_main, cs);
	if (!rc)
		return 0;
	close(cs->event_fd);
	return err_set(
		e, rc, "cannot start a thread that shows buffers to clients: %s", err_name(rc));
}

int cache_sync_new(const struct shared_ops *ops, struct cache_sync **out, struct err *e)
{
	CLEANUP_FREE struct cache_sync *cs = calloc(1, sizeof(*cs));
	int rc;

	if (!cs)
		return err_set(e, ENOMEM, "no memory");
	cs->ops = ops;
	cs->page = (size_t)sysconf(_SC_PAGESIZE);
	list_init(&cs->ordered);
	list_init(&cs->done);
	list_init(&cs->open);
	rc = cache_start_thread(cs, e);
	if (rc == 0)
		*out = take_ptr(&cs);
	return rc;
}

void cache_sync_free(struct cache_sync *cs)
{
	if (!cs)
		return;
	cache_sync_ended(cs);
	pthread_join(cs->thread, NULL);
	pthread_cond_destroy(&cs->changed);
	pthread_mutex_destroy(&cs->lock);
	close(cs->event_fd);
	free(cs);
}

bool cache_sync_ended(struct cache_sync *cs)
{
	bool ended;

	cs->closing = true;
	if (cs->expected)
		return false;
	pthread_mutex_lock(&cs->lock);
	cs->ending = true;
	pthread_cond_signal(&cs->changed);
	ended = cs->ended;
	pthread_mutex_unlock(&cs->lock);
	return ended;
}

void cache_sync_add(struct cache_sync *cs, struct shared *s)
{
	pthread_mutex_lock(&cs->lock);
	list_add(&s->sync_link, &cs->open);
	pthread_cond_signal(&cs->changed);
	pthread_mutex_unlock(&cs->lock);
}

void cache_sync_remove(struct cache_sync *cs, struct shared *s)
{
	pthread_mutex_lock(&cs->lock);
	list_del(&s->sync_link);
	pthread_mutex_unlock(&cs->lock);
}

void cache_sync_order(struct cache_sync *cs, struct sync_fence *p)
{
	pthread_mutex_lock(&cs->lock);
	list_add_tail(&p->link, &cs->ordered);
	pthread_cond_signal(&cs->changed);
	pthread_mutex_unlock(&cs->lock);
}

static struct sync_fence *cache_next_done(struct cache_sync *cs)
{
	struct sync_fence *p;

	pthread_mutex_lock(&cs->lock);
	p = cache_first_fence(&cs->done);
	pthread_mutex_unlock(&cs->lock);
	return p;
}

void cache_sync_complete(struct cache_sync *cs)
{
	struct sync_fence *p;
	uint64_t n;

	if (read(cs->event_fd, &n, sizeof(n)) < 0)
		return;
	while ((p = cache_next_done(cs))) {
		struct shared *s = p->s;

		cs->expected--;
		p->after(p->arg);
		shared_unref(s);
	}
}

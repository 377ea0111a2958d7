// SPDX-License-Identifier: MIT
#include "daemon/fs/feed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "daemon/cpu/thread.h"

enum { BATCH = 65536 }; /* bytes of one store, and compared while a READ may have to wait */

struct feed {
	const struct shared_ops *ops;
	size_t page;
	unsigned expected; /* publications to come; the session thread's, as is: */
	bool closing;      /* nothing is published any more but what is expected */
	int news_fd;
	pthread_t thread;

	pthread_mutex_t lock; /* a leaf: guards what is below */
	pthread_cond_t changed;
	bool ending, ended;
	struct publication *orders, **orders_end;
	struct publication *done, **done_end;
	struct shared *open;
};

/*
 * Brings a page of the shadow up to date: was there anything to do? A worker may be writing to the
 * page, which is then caught half way, as it would be in a mapping of the memory itself; so this
 * is no data race to be told of.
 */
__attribute__((no_sanitize("thread"))) static bool take_page(
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

/* From the beginning, where formats keep how many samples there are: they are there, then, when
 * the pages after it are looked at. */
static void take(const struct feed *f, struct shared *s)
{
	for (size_t from = 0; from < s->room; from += BATCH) {
		size_t to = from + BATCH < s->room ? from + BATCH : s->room;

		pthread_mutex_lock(&s->lock);
		for (size_t at = from; at < to; at += f->page)
			if (take_page((uint64_t *)(void *)(s->shadow + at),
				    (const uint64_t *)(const void *)((const char *)s->mem + at),
				    f->page / sizeof(uint64_t)))
				s->stale[at / f->page] = true;
		pthread_mutex_unlock(&s->lock);
	}
}

/* From the end, for the same reason as give(): others see each word when it is written. */
__attribute__((no_sanitize("thread"))) static int copy_run(struct shared *s, size_t off, size_t n)
{
	uint64_t *to = (uint64_t *)(void *)((char *)s->area->mem + off);
	const uint64_t *from = (const uint64_t *)(const void *)(s->shadow + off);

	for (size_t i = (n + sizeof(*to) - 1) / sizeof(*to); i--;)
		if (__atomic_load_n(&to[i], __ATOMIC_RELAXED) != from[i])
			__atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
	return 0;
}

/* The pages [@first, @end). ENOENT: the kernel has no page of that file. Otherwise, if it fails,
 * they are stored next time. */
static void store_run(const struct feed *f, struct shared *s, size_t first, size_t end)
{
	size_t off = first * f->page;
	size_t n = (end * f->page < s->size ? end * f->page : s->size) - off;
	int rc = s->area ? copy_run(s, off, n)
			 : f->ops->store(f->ops->arg, s->ino, off, s->shadow + off, n);

	if (rc == 0 || rc == -ENOENT)
		memset(s->stale + first, 0, end - first);
}

/* From the end: what the beginning says is there must be there before it. */
static void give(const struct feed *f, struct shared *s)
{
	size_t end = s->room / f->page;

	while (end) {
		size_t first = end;

		while (first && s->stale[first - 1] && end - first < BATCH / f->page)
			first--;
		if (first < end)
			store_run(f, s, first, end);
		else
			first--;
		end = first;
	}
}

static void bring(const struct feed *f, struct shared *s)
{
	take(f, s);
	give(f, s);
}

static void append(struct publication ***end, struct publication *p)
{
	p->next = NULL;
	**end = p;
	*end = &p->next;
}

static struct publication *take_first(struct publication **list, struct publication ***end)
{
	struct publication *p = *list;

	*list = p->next;
	if (!*list)
		*end = list;
	return p;
}

static void tell(struct feed *f)
{
	static const uint64_t one = 1;

	if (write(f->news_fd, &one, sizeof(one)) < 0)
		return; /* readable as it is */
}

static void carry_out(struct feed *f)
{
	struct publication *p = take_first(&f->orders, &f->orders_end);

	pthread_mutex_unlock(&f->lock);
	bring(f, p->s);
	pthread_mutex_lock(&f->lock);
	append(&f->done_end, p);
	tell(f);
}

static void enlist(struct feed *f, struct shared *s)
{
	s->feed_next = f->open;
	s->feed_at = &f->open;
	if (s->feed_next)
		s->feed_next->feed_at = &s->feed_next;
	f->open = s;
}

static void delist(struct shared *s)
{
	*s->feed_at = s->feed_next;
	if (s->feed_next)
		s->feed_next->feed_at = s->feed_at;
	s->feed_at = NULL;
}

/* All that are open, but what is ordered meanwhile comes first. What is closed while it is looked
 * at is freed here. */
static void round_of_all(struct feed *f)
{
	struct shared *todo = f->open;

	f->open = NULL;
	if (todo)
		todo->feed_at = &todo;
	while (todo) {
		struct shared *s = todo;

		delist(s);
		enlist(f, s);
		shared_ref(s);
		pthread_mutex_unlock(&f->lock);
		bring(f, s);
		shared_unref(s);
		pthread_mutex_lock(&f->lock);
		while (f->orders)
			carry_out(f);
	}
}

static struct timespec after_period(void)
{
	return nsec_timespec(nsec_now(CLOCK_MONOTONIC) + FEED_PERIOD_MS * 1000000ULL);
}

static void *feed_main(void *arg)
{
	struct feed *f = arg;
	struct timespec next = after_period();

	pthread_mutex_lock(&f->lock);
	while (!f->ending || f->orders) {
		if (f->orders) {
			carry_out(f);
		} else if (!f->open) {
			pthread_cond_wait(&f->changed, &f->lock);
			next = after_period();
		} else if (pthread_cond_timedwait(&f->changed, &f->lock, &next) == ETIMEDOUT) {
			round_of_all(f);
			next = after_period();
		}
	}
	f->ended = true;
	tell(f);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static int start(struct feed *f, struct err *e)
{
	pthread_condattr_t attr;
	int rc;

	f->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->news_fd < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->changed, &attr);
	pthread_condattr_destroy(&attr);
	rc = thread_start(&f->thread, feed_main, f);
	if (!rc)
		return 0;
	close(f->news_fd);
	return err_set(e, rc, "no thread to show buffers: %s", err_name(rc));
}

int feed_new(const struct shared_ops *ops, struct feed **out, struct err *e)
{
	CLEANUP_FREE struct feed *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return err_set(e, ENOMEM, "no memory");
	f->ops = ops;
	f->page = (size_t)sysconf(_SC_PAGESIZE);
	f->orders_end = &f->orders;
	f->done_end = &f->done;
	rc = start(f, e);
	if (rc == 0)
		*out = take_ptr(&f);
	return rc;
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	feed_ended(f);
	pthread_join(f->thread, NULL);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	close(f->news_fd);
	free(f);
}

bool feed_closing(const struct feed *f)
{
	return f->closing;
}

bool feed_ended(struct feed *f)
{
	bool ended;

	f->closing = true;
	if (f->expected)
		return false;
	pthread_mutex_lock(&f->lock);
	f->ending = true;
	pthread_cond_signal(&f->changed);
	ended = f->ended;
	pthread_mutex_unlock(&f->lock);
	return ended;
}

void feed_add(struct feed *f, struct shared *s)
{
	pthread_mutex_lock(&f->lock);
	enlist(f, s);
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

void feed_remove(struct feed *f, struct shared *s)
{
	pthread_mutex_lock(&f->lock);
	delist(s);
	pthread_mutex_unlock(&f->lock);
}

void feed_expect(struct feed *f)
{
	f->expected++;
}

void feed_order(struct feed *f, struct publication *p)
{
	pthread_mutex_lock(&f->lock);
	append(&f->orders_end, p);
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

bool feed_expects_news(const struct feed *f)
{
	return f->expected;
}

int feed_news_fd(const struct feed *f)
{
	return f->news_fd;
}

static struct publication *next_done(struct feed *f)
{
	struct publication *p = NULL;

	pthread_mutex_lock(&f->lock);
	if (f->done)
		p = take_first(&f->done, &f->done_end);
	pthread_mutex_unlock(&f->lock);
	return p;
}

void feed_news(struct feed *f)
{
	struct publication *p;
	uint64_t n;

	if (read(f->news_fd, &n, sizeof(n)) < 0)
		return;
	while ((p = next_done(f))) {
		struct shared *s = p->s;

		f->expected--;
		p->after(p->arg);
		shared_unref(s);
	}
}

// SPDX-License-Identifier: MIT
#include "daemon/fs/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "daemon/fs/feed.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8 /* Linux 6.3 */
#endif

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

size_t shared_room(size_t size)
{
	size_t page = page_size();

	return size > SIZE_MAX - page ? SIZE_MAX : (size + page - 1) / page * page;
}

static int memory_file(void)
{
	int fd = memfd_create("perfmonfs", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	return fd < 0 && errno == EINVAL
		       ? memfd_create("perfmonfs", MFD_CLOEXEC | MFD_ALLOW_SEALING)
		       : fd;
}

/* The same file again, read-only. Without a descriptor that could write, whether there is another
 * open file of it (a client's mapping, for one) can be asked; see still_mapped(). */
static int reopen(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/*
 * All of it is there from the beginning: a worker must not find out, in the midst of a
 * measurement, that there is no memory. Then nobody can change its size or map it writable any
 * more; the mapping that exists stays as it is.
 */
static int allocate(struct shared *s, struct err *e)
{
	const int seals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	CLEANUP_CLOSE int fd = memory_file();

	if (fd < 0)
		return err_set(e, errno,
			"no memory file for a buffer: %s: rmdir contexts with buffers",
			err_name(errno));
	if (posix_fallocate(fd, 0, (off_t)s->size))
		return err_set(
			e, ENOMEM, "no memory for a buffer of %zu bytes: ask for less", s->size);
	s->mem = mmap(NULL, s->room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (s->mem == MAP_FAILED)
		return err_set(
			e, ENOMEM, "no memory to map a buffer of %zu bytes: ask for less", s->size);
	if (fcntl(fd, F_ADD_SEALS, seals) < 0)
		return err_set(e, errno, "the kernel cannot seal memory: %s", err_name(errno));
	s->fd = reopen(fd);
	return s->fd < 0 ? err_set(e, errno, "/proc: %s: it must be mounted", err_name(errno)) : 0;
}

static void charge(struct shared_account *a, size_t room, int pieces)
{
	atomic_fetch_add(&a->pieces, pieces);
	if (pieces > 0)
		atomic_fetch_add(&a->bytes, room);
	else
		atomic_fetch_sub(&a->bytes, room);
}

static void destroy(struct shared *s)
{
	if (s->mem && s->mem != MAP_FAILED)
		munmap(s->mem, s->room);
	if (s->fd >= 0)
		close(s->fd);
	charge(&s->pool->all, s->room, -1);
	charge(s->account, s->room, -1);
	pthread_mutex_destroy(&s->lock);
	free(s->shadow);
	free(s->stale);
	free(s);
}

int shared_new(struct shared_pool *pool, size_t size, struct shared_account *account,
	struct shared **out, struct err *e)
{
	struct shared *s;
	int rc;

	/* The kernel would try, and kill others to make room. */
	if (shared_room(size) / page_size() > (size_t)sysconf(_SC_PHYS_PAGES) / 2)
		return err_set(e, ENOMEM,
			"a buffer of %zu bytes is more than half of the machine's memory: ask for "
			"less",
			size);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(e, ENOMEM, "no memory");
	*s = (struct shared){.pool = pool,
		.size = size,
		.room = shared_room(size),
		.account = account,
		.fd = -1};
	atomic_init(&s->refs, 1);
	pthread_mutex_init(&s->lock, NULL);
	charge(&pool->all, s->room, 1);
	charge(account, s->room, 1);
	rc = allocate(s, e);
	if (rc < 0)
		destroy(s);
	else
		*out = s;
	return rc;
}

struct shared *shared_ref(struct shared *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

/*
 * A mapping of a passed file outlives its last close, and FUSE does not tell of its end. But it
 * holds the memory open, and the kernel grants a lease for writing only to whoever is alone.
 */
static bool still_mapped(const struct shared *s)
{
	if (fcntl(s->fd, F_SETLEASE, F_WRLCK) < 0)
		return errno == EAGAIN;
	fcntl(s->fd, F_SETLEASE, F_UNLCK);
	return false;
}

void shared_sweep(struct shared_pool *pool)
{
	struct shared **at = &pool->limbo;

	while (*at) {
		struct shared *s = *at;

		if (still_mapped(s)) {
			at = &s->limbo_next;
		} else {
			*at = s->limbo_next;
			destroy(s);
		}
	}
}

/* Otherwise who maps and closes, again and again, would have more memory than he is charged for. */
static void give_up_passed(struct shared *s)
{
	s->pool->ops->unback(s->pool->ops->arg, s->id);
	munmap(s->mem, s->room);
	s->mem = NULL;
	s->limbo_next = s->pool->limbo;
	s->pool->limbo = s;
	shared_sweep(s->pool);
}

void shared_unref(struct shared *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (s->way == SHARED_PASSED)
		give_up_passed(s);
	else
		destroy(s);
}

void shared_pool_free(struct shared_pool *pool)
{
	while (pool->limbo) {
		struct shared *s = pool->limbo;

		pool->limbo = s->limbo_next;
		destroy(s);
	}
	feed_free(pool->feed);
	pool->feed = NULL;
}

static int prepare_feeding(struct shared *s, struct err *e)
{
	struct shared_pool *pool = s->pool;
	int rc = 0;

	s->shadow = calloc(1, s->room);
	s->stale = calloc(s->room / page_size(), sizeof(*s->stale));
	if (!s->shadow || !s->stale)
		rc = err_set(e, ENOMEM, "no memory to show a buffer of %zu bytes", s->size);
	if (rc == 0 && !pool->feed)
		rc = feed_new(pool->ops, &pool->feed, e);
	if (rc < 0) {
		free(take_ptr(&s->shadow));
		free(take_ptr(&s->stale));
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

static int decide(struct shared *s, struct err *e)
{
	int rc;

	if (shared_pass(s))
		return 0;
	rc = prepare_feeding(s, e);
	if (rc == 0)
		s->way = SHARED_FED;
	return rc;
}

int shared_open(struct shared *s, uint64_t ino, struct err *e)
{
	int rc = s->way == SHARED_UNDECIDED ? decide(s, e) : 0;

	if (rc < 0)
		return rc;
	s->ino = ino;
	shared_ref(s);
	if (s->opens++ == 0 && s->way == SHARED_FED)
		feed_add(s->pool->feed, s);
	return 0;
}

void shared_close(struct shared *s)
{
	if (--s->opens == 0 && s->way == SHARED_FED)
		feed_remove(s->pool->feed, s);
	shared_unref(s);
}

void shared_read(struct shared *s, size_t off, void *buf, size_t n)
{
	pthread_mutex_lock(&s->lock);
	memcpy(buf, s->shadow + off, n);
	pthread_mutex_unlock(&s->lock);
}

bool shared_is_fed(const struct shared *s)
{
	return s && s->opens && s->way == SHARED_FED && !feed_closing(s->pool->feed);
}

void shared_expect(struct shared *s, struct publication *p)
{
	p->s = shared_ref(s);
	feed_expect(s->pool->feed);
}

void shared_order(struct publication *p)
{
	feed_order(p->s->pool->feed, p);
}

void shared_publish(struct shared *s, struct publication *p)
{
	if (!shared_is_fed(s)) {
		p->after(p->arg);
		return;
	}
	shared_expect(s, p);
	shared_order(p);
}

int shared_news_fd(const struct shared_pool *pool)
{
	return pool->feed ? feed_news_fd(pool->feed) : -1;
}

void shared_news(struct shared_pool *pool)
{
	if (pool->feed)
		feed_news(pool->feed);
}

bool shared_expects_news(const struct shared_pool *pool)
{
	return pool->feed && feed_expects_news(pool->feed);
}

bool shared_ended(struct shared_pool *pool)
{
	return !pool->feed || feed_ended(pool->feed);
}

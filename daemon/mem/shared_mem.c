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
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
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

static int memory_file(struct err *e)
{
	int fd = memfd_create("perfmonfs", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("perfmonfs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? err_set(e, errno,
				"no memory file for a buffer: %s: rmdir contexts with buffers",
				err_name(errno))
		      : fd;
}

/* The same file again. */
static int reopen(int fd, int flags, struct err *e)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	return again < 0 ? err_set(e, errno, "/proc: %s: it must be mounted", err_name(errno))
			 : again;
}

/*
 * Nobody can map it writable any more; the mapping that exists stays as it is. Without a descriptor
 * that could write, whether there is another open file of it (a client's mapping, for one) can be
 * asked; see still_mapped().
 */
static int seal(struct shared *s, int fd, int seals, struct err *e)
{
	if (fcntl(fd, F_ADD_SEALS, seals | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0)
		return err_set(e, errno, "the kernel cannot seal memory: %s", err_name(errno));
	s->fd = reopen(fd, O_RDONLY, e);
	return s->fd < 0 ? s->fd : 0;
}

static int no_room(size_t size, struct err *e)
{
	return err_set(e, ENOMEM, "no memory for a buffer of %zu bytes: ask for less", size);
}

/*
 * All of it is there from the beginning: a worker must not find out, in the midst of a
 * measurement, that there is no memory. Then nobody can change its size.
 */
static int allocate(struct shared *s, struct err *e)
{
	CLEANUP_CLOSE int fd = memory_file(e);

	if (fd < 0)
		return fd;
	if (posix_fallocate(fd, 0, (off_t)s->size))
		return no_room(s->size, e);
	s->mem = mmap(NULL, s->room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (s->mem == MAP_FAILED)
		return no_room(s->size, e);
	return seal(s, fd, F_SEAL_GROW | F_SEAL_SHRINK, e);
}

/* Mapped as far as it can grow, for once it is sealed it cannot be mapped any more. */
static int allocate_area(struct shared *s, struct err *e)
{
	CLEANUP_CLOSE int fd = memory_file(e);

	if (fd < 0)
		return fd;
	s->mem = mmap(NULL, s->most, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s->mem == MAP_FAILED)
		return err_set(e, ENOMEM,
			"no addresses for more memory to map: rmdir contexts with buffers");
	return seal(s, fd, 0, e);
}

/* @room more of it, as a piece. */
static void charge(struct shared *s, size_t room)
{
	s->charged += room;
	s->pieces++;
	atomic_fetch_add(&s->pool->all.bytes, room);
	atomic_fetch_add(&s->pool->all.pieces, 1);
	atomic_fetch_add(&s->account->bytes, room);
	atomic_fetch_add(&s->account->pieces, 1);
}

static void discharge(struct shared *s)
{
	atomic_fetch_sub(&s->pool->all.bytes, s->charged);
	atomic_fetch_sub(&s->pool->all.pieces, s->pieces);
	atomic_fetch_sub(&s->account->bytes, s->charged);
	atomic_fetch_sub(&s->account->pieces, s->pieces);
	s->charged = 0;
	s->pieces = 0;
}

static void unmap(struct shared *s)
{
	if (s->mem && s->mem != MAP_FAILED)
		munmap(s->mem, s->most ? s->most : s->room);
	s->mem = NULL;
}

static void destroy(struct shared *s)
{
	unmap(s);
	if (s->fd >= 0)
		close(s->fd);
	discharge(s);
	pthread_mutex_destroy(&s->lock);
	free(s->shadow);
	free(s->stale);
	free(s);
}

static size_t half_of_all(void)
{
	return (size_t)sysconf(_SC_PHYS_PAGES) / 2 * page_size();
}

/* The kernel would try, and kill others to make room. */
static int check_size(size_t size, struct err *e)
{
	if (shared_room(size) > half_of_all())
		return err_set(e, ENOMEM,
			"a buffer of %zu bytes is more than half of the machine's memory: ask for "
			"less",
			size);
	return 0;
}

static struct shared *blank(struct shared_pool *pool, struct shared_account *account)
{
	struct shared *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->pool = pool;
	s->account = account;
	s->fd = -1;
	atomic_init(&s->refs, 1);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static int made(struct shared *s, int rc, struct shared **out)
{
	if (rc < 0)
		destroy(s);
	else
		*out = s;
	return rc;
}

int shared_new(struct shared_pool *pool, size_t size, struct shared_account *account,
	struct shared **out, struct err *e)
{
	struct shared *s;

	if (check_size(size, e) < 0)
		return -e->no;
	s = blank(pool, account);
	if (!s)
		return err_set(e, ENOMEM, "no memory");
	s->size = size;
	s->room = shared_room(size);
	charge(s, s->room);
	return made(s, allocate(s, e), out);
}

int shared_new_area(struct shared_pool *pool, size_t most, struct shared_account *account,
	struct shared **out, struct err *e)
{
	struct shared *s = blank(pool, account);

	if (!s)
		return err_set(e, ENOMEM, "no memory");
	s->most = shared_room(most < half_of_all() ? most : half_of_all());
	charge(s, 0); /* it takes a descriptor */
	return made(s, allocate_area(s, e), out);
}

static int extend(struct shared *area, size_t room, struct err *e)
{
	CLEANUP_CLOSE int fd = -1;

	if (room > area->most - area->length)
		return err_set(e, ENOSPC,
			"no more than %zu bytes can be mapped of this clone: open another",
			area->most);
	fd = reopen(area->fd, O_RDWR, e);
	if (fd < 0)
		return fd;
	if (posix_fallocate(fd, (off_t)area->length, (off_t)room)) {
		no_room(room, e);
		if (ftruncate(fd, (off_t)area->length) < 0)
			return -e->no; /* it is longer than it need be */
		return -e->no;
	}
	/* Otherwise, when it is used. */
	madvise((char *)area->mem + area->length, room, MADV_POPULATE_WRITE);
	area->length += room;
	return 0;
}

int shared_grow(struct shared *area, size_t size, size_t *at, struct err *e)
{
	size_t from = area->length;

	if (extend(area, shared_room(size), e) < 0)
		return -e->no;
	charge(area, shared_room(size));
	*at = from;
	return 0;
}

void shared_clear(struct shared *area)
{
	struct err ignored;
	CLEANUP_CLOSE int fd = -1;

	if (area->length != shared_room(area->size))
		return;
	fd = reopen(area->fd, O_RDWR, &ignored);
	if (fd < 0 || ftruncate(fd, 0) < 0)
		return; /* then it stays as it is */
	discharge(area);
	charge(area, 0);
	area->size = area->length = 0;
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

static void bury(struct shared_pool *pool)
{
	struct shared *next;

	for (struct shared *s = atomic_exchange(&pool->orphans, NULL); s; s = next) {
		struct shared *area = s->area;

		next = s->limbo_next;
		destroy(s);
		shared_unref(area);
	}
}

void shared_sweep(struct shared_pool *pool)
{
	struct shared **at = &pool->limbo;

	bury(pool);
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
	unmap(s);
	s->limbo_next = s->pool->limbo;
	s->pool->limbo = s;
	shared_sweep(s->pool);
}

/* Areas are the session thread's, but not who refers to them last. */
static void orphan(struct shared *s)
{
	s->limbo_next = atomic_load(&s->pool->orphans);
	while (!atomic_compare_exchange_weak(&s->pool->orphans, &s->limbo_next, s))
		;
}

void shared_unref(struct shared *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (s->way == SHARED_PASSED)
		give_up_passed(s);
	else if (s->area)
		orphan(s);
	else
		destroy(s);
}

void shared_pool_free(struct shared_pool *pool)
{
	bury(pool);
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
	} else {
		/* So that who is given this knows how long the file is. */
		s->stale[s->room / page_size() - 1] = true;
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

int shared_feed(struct shared *s, struct err *e)
{
	int rc = prepare_feeding(s, e);

	if (rc == 0)
		s->way = SHARED_FED;
	return rc;
}

int shared_show(struct shared *s, struct shared *area, struct err *e)
{
	if (shared_feed(s, e) < 0 || extend(area, s->room, e) < 0)
		return -e->no;
	/* Clients may map the area for longer than there is what is fed to it. */
	discharge(s);
	charge(area, s->room);
	area->size = s->size;
	s->area = shared_ref(area);
	return 0;
}

static int decide(struct shared *s, struct err *e)
{
	return shared_pass(s) ? 0 : shared_feed(s, e);
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
	struct shared_pool *pool = s->pool;

	if (--s->opens == 0 && s->way == SHARED_FED)
		feed_remove(pool->feed, s);
	shared_unref(s);
	bury(pool);
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

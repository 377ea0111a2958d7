// SPDX-License-Identifier: MIT
/* Memory that clients map, and the thread that syncs it to the kernel's cache. The kernel is a
 * model: a cache of one file, which may drop pages at any time and read them again. */
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>

#include "daemon/mem/shared.h"
#include "tests/unit/unit.h"

enum { PAGE = 4096, PAGES = 40, SIZE = PAGES * PAGE - 100, INO = 77 };

struct world {
	struct shared_pool pool;
	struct shared_ops ops;
	struct shared_account account;
	int id; /* the result of back() */
	int backed;

	pthread_mutex_t lock;
	unsigned char cache[PAGES * PAGE];
	unsigned stores;
	size_t last; /* offset of the last store */
	size_t last_bytes;
	int fails; /* errno of stores */
};

static int back(void *arg, int fd)
{
	struct world *w = arg;

	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	w->backed += w->id > 0;
	return w->id;
}

static void unback(void *arg, int id)
{
	struct world *w = arg;

	assert_int_equal(id, w->id);
	w->backed--;
}

static int store(void *arg, uint64_t ino, size_t off, const void *p, size_t n)
{
	struct world *w = arg;
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = ino == INO && off + n <= SIZE ? -w->fails : -EINVAL;
	if (rc == 0)
		memcpy(w->cache + off, p, n);
	w->stores++;
	w->last = off;
	w->last_bytes = n;
	pthread_mutex_unlock(&w->lock);
	return rc;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	w->id = -ENOSYS;
	w->ops = (struct shared_ops){back, unback, store, w};
	w->pool.ops = &w->ops;
	pthread_mutex_init(&w->lock, NULL);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	while (!shared_ended(&w->pool)) {
		struct pollfd p = {.fd = shared_event_fd(&w->pool), .events = POLLIN};

		poll(&p, 1, -1);
		shared_complete_fences(&w->pool);
	}
	shared_pool_free(&w->pool);
	assert_int_equal(atomic_load(&w->pool.all.bytes), 0);
	assert_int_equal(atomic_load(&w->account.bytes), 0);
	assert_int_equal(atomic_load(&w->account.pieces), 0);
	assert_int_equal(w->backed, 0);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return 0;
}

static struct shared *make(struct world *w, size_t size)
{
	struct shared *s = NULL;
	struct err e;

	assert_int_equal(shared_new(&w->pool, size, &w->account, &s, &e), 0);
	return s;
}

static void opened(struct shared *s)
{
	struct err e;

	assert_int_equal(shared_open(s, INO, &e), 0);
}

static void note(void *arg)
{
	++*(int *)arg;
}

/* Returns when clients see what the memory holds. */
static void fence(struct world *w, struct shared *s)
{
	int done = 0;
	struct sync_fence p = {.after = note, .arg = &done};

	shared_fence(s, &p);
	while (!done) {
		struct pollfd event = {.fd = shared_event_fd(&w->pool), .events = POLLIN};

		assert_true(shared_expects_events(&w->pool));
		assert_int_equal(poll(&event, 1, 10000), 1);
		shared_complete_fences(&w->pool);
	}
	assert_int_equal(done, 1);
}

static bool seen(struct world *w, const struct shared *s)
{
	bool same;

	pthread_mutex_lock(&w->lock);
	same = memcmp(w->cache, s->mem, SIZE) == 0;
	pthread_mutex_unlock(&w->lock);
	return same;
}

static unsigned stores(struct world *w)
{
	unsigned n;

	pthread_mutex_lock(&w->lock);
	n = w->stores;
	pthread_mutex_unlock(&w->lock);
	return n;
}

TEST_OF(setup, teardown, sizes, struct world *w)
{
	static const size_t sizes[] = {1, 100, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE};

	for (unsigned i = 0; i < COUNT(sizes); i++) {
		struct shared *s = make(w, sizes[i]);
		static const char zero[3 * PAGE];

		assert_int_equal(s->size, sizes[i]);
		assert_int_equal(lseek(s->fd, 0, SEEK_END), sizes[i]);
		assert_int_equal(s->room, (sizes[i] + PAGE - 1) / PAGE * PAGE);
		assert_int_equal(atomic_load(&w->account.bytes), s->room);
		assert_memory_equal(s->mem, zero, s->room);
		shared_unref(s);
	}
}

TEST_OF(setup, teardown, too_much, struct world *w)
{
	struct shared *s;
	struct err e;

	assert_int_equal(shared_new(&w->pool, SIZE_MAX, &w->account, &s, &e), -ENOMEM);
	assert_int_equal(shared_new(&w->pool, 1ULL << 62, &w->account, &s, &e), -ENOMEM);
	assert_true(shared_room(SIZE_MAX) >= SIZE_MAX - PAGE);
}

/* Nor can the test write, except through the existing mapping. */
TEST_OF(setup, teardown, sealed, struct world *w)
{
	struct shared *s = make(w, SIZE);
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 2 * SIZE), -1);
	assert_ptr_equal(mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	close(fd);
	memset(s->mem, 1, SIZE);
	shared_unref(s);
}

TEST_OF(setup, teardown, passed, struct world *w)
{
	struct shared *s = make(w, SIZE);

	w->id = 5;
	opened(s);
	opened(s);
	assert_int_equal(w->backed, 1);
	assert_false(shared_is_synced(s));
	fence(w, s);
	assert_int_equal(shared_event_fd(&w->pool), -1);
	shared_close(s);
	shared_unref(s);
	assert_int_equal(w->backed, 1);
	shared_close(s);
	assert_int_equal(w->backed, 0);
	assert_int_equal(atomic_load(&w->account.bytes), 0);
}

/* Memory is charged as long as a client maps it. */
TEST_OF(setup, teardown, still_mapped, struct world *w)
{
	struct shared *s = make(w, SIZE);
	char path[64];
	void *map;
	int fd;

	w->id = 5;
	opened(s);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	close(fd);
	shared_close(s);
	shared_unref(s);
	assert_true(atomic_load(&w->account.bytes) > 0);
	shared_sweep(&w->pool);
	assert_int_equal(atomic_load(&w->account.pieces), 1);
	munmap(map, SIZE);
	shared_sweep(&w->pool);
	assert_int_equal(atomic_load(&w->account.bytes), 0);
}

TEST_OF(setup, teardown, synced, struct world *w)
{
	struct shared *s = make(w, SIZE);
	unsigned n;

	assert_false(shared_is_synced(s));
	fence(w, s); /* no open file: done at once */
	opened(s);
	assert_true(shared_is_synced(s));
	memset(s->mem, 1, SIZE);
	fence(w, s);
	assert_true(seen(w, s));
	n = stores(w);
	fence(w, s);
	assert_int_equal(stores(w), n);

	/* In this order, as the sync thread may run in between. */
	((char *)s->mem)[30 * PAGE] = 2;
	((char *)s->mem)[3 * PAGE + 5] = 2;
	fence(w, s);
	assert_true(seen(w, s));
	assert_int_equal(stores(w), n + 2);
	assert_int_equal(w->last, 3 * PAGE);
	shared_close(s);
	assert_false(shared_is_synced(s));
	shared_unref(s);
}

/* What is at the beginning, as the number of samples, is stored after all else, which a client may
 * see in any order. */
TEST_OF(setup, teardown, count_is_last, struct world *w)
{
	struct shared *s = make(w, SIZE);

	opened(s);
	fence(w, s);
	/* In this order, as the sync thread may run at any time. */
	((char *)s->mem)[PAGE] = 1;
	((char *)s->mem)[200] = 1;
	((char *)s->mem)[0] = 1;
	fence(w, s);
	assert_true(seen(w, s));
	assert_int_equal(w->last, 0);
	assert_true(w->last_bytes < 128);
	shared_close(s);
	shared_unref(s);
}

/* READ must not show a change that is undone before the next sync. */
TEST_OF(setup, teardown, there_and_back, struct world *w)
{
	struct shared *s = make(w, SIZE);
	char byte = 9;

	opened(s);
	fence(w, s);
	((char *)s->mem)[0] = 1;
	shared_read(s, 0, &byte, 1);
	/* The sync thread may have run: then the page has been stored. */
	pthread_mutex_lock(&w->lock);
	w->cache[0] = (unsigned char)byte;
	pthread_mutex_unlock(&w->lock);
	((char *)s->mem)[0] = 0;
	fence(w, s);
	assert_true(seen(w, s));
	shared_close(s);
	shared_unref(s);
}

TEST_OF(setup, teardown, now_and_then, struct world *w)
{
	struct shared *s = make(w, SIZE), *other = make(w, PAGE);
	int rounds = 100;

	opened(s);
	fence(w, s);
	((char *)s->mem)[SIZE - 1] = 1;
	while (!seen(w, s) && rounds--)
		usleep(50000);
	assert_true(seen(w, s));
	shared_close(s);
	shared_unref(s);
	shared_unref(other);
}

TEST_OF(setup, teardown, store_fails, struct world *w)
{
	struct shared *s = make(w, SIZE);

	opened(s);
	fence(w, s);
	memset(s->mem, 1, SIZE);
	pthread_mutex_lock(&w->lock);
	w->fails = ENOMEM;
	pthread_mutex_unlock(&w->lock);
	fence(w, s);
	assert_false(seen(w, s));
	pthread_mutex_lock(&w->lock);
	w->fails = 0;
	pthread_mutex_unlock(&w->lock);
	fence(w, s);
	assert_true(seen(w, s));
	shared_close(s);
	shared_unref(s);
}

/* At the end, fences that are expected are still done by the thread, new ones at once. */
TEST_OF(setup, teardown, ending, struct world *w)
{
	struct shared *s = make(w, SIZE);
	int late = 0, done = 0;
	struct sync_fence expected = {.after = note, .arg = &late},
			  at_once = {.after = note, .arg = &done};

	opened(s);
	shared_fence_expect(s, &expected);
	assert_false(shared_ended(&w->pool));
	shared_fence(s, &at_once);
	assert_int_equal(done, 1);
	assert_false(shared_ended(&w->pool));
	shared_fence_order(&expected);
	while (!shared_ended(&w->pool)) {
		struct pollfd p = {.fd = shared_event_fd(&w->pool), .events = POLLIN};

		assert_int_equal(poll(&p, 1, 10000), 1);
		shared_complete_fences(&w->pool);
	}
	assert_int_equal(late, 1);
	shared_close(s);
	shared_unref(s);
}

static struct shared *make_region(struct world *w, size_t most)
{
	struct shared *region = NULL;
	struct err e;

	w->id = 5;
	assert_int_equal(shared_new_region(&w->pool, most, &w->account, &region, &e), 0);
	assert_true(shared_pass(region));
	opened(region);
	return region;
}

/* A region is empty at first, is charged for its growth, and has a limit. */
TEST_OF(setup, teardown, region_grows, struct world *w)
{
	struct shared *region = make_region(w, 3 * PAGE);
	size_t at = 1;
	struct err e;

	assert_int_equal(atomic_load(&w->account.bytes), 0);
	assert_int_equal(atomic_load(&w->account.pieces), 1); /* for its descriptor */
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(shared_grow(region, 100, &at, &e), 0);
		assert_int_equal(at, i * PAGE);
		memset((char *)region->mem + at, 7, PAGE);
	}
	assert_int_equal(shared_grow(region, 100, &at, &e), -ENOSPC);
	assert_int_equal(atomic_load(&w->account.bytes), 3 * PAGE);
	assert_int_equal(atomic_load(&w->account.pieces), 4);
	shared_clear(region); /* it has more than a buffer, so this does nothing */
	assert_int_equal(region->length, 3 * PAGE);
	assert_int_equal(((char *)region->mem)[3 * PAGE - 1], 7);
	shared_close(region);
	shared_unref(region);
}

/* Clearing a region that has only a buffer gives its charge back. */
TEST_OF(setup, teardown, region_cleared, struct world *w)
{
	struct shared *region = make_region(w, 2 * (size_t)SIZE), *s = make(w, SIZE);
	struct err e;

	assert_int_equal(shared_attach_region(s, region, &e), 0);
	shared_unref(s);
	shared_sweep(&w->pool);
	assert_int_equal(atomic_load(&w->account.bytes), PAGES * PAGE);
	shared_clear(region);
	assert_int_equal(region->length, 0);
	assert_int_equal(atomic_load(&w->account.bytes), 0);
	assert_int_equal(atomic_load(&w->account.pieces), 1);
	shared_close(region);
	shared_unref(region);
}

/* Clients map the region. The daemon writes it, and never reads it. */
TEST_OF(setup, teardown, synced_to_a_region, struct world *w)
{
	struct shared *region = make_region(w, 2 * (size_t)SIZE), *s = make(w, SIZE);
	const unsigned char *seen;
	struct err e;

	assert_int_equal(shared_attach_region(s, region, &e), 0);
	assert_int_equal(atomic_load(&w->account.bytes), PAGES * PAGE);
	assert_int_equal(region->size, SIZE);
	seen = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, region->fd, 0);
	assert_true(seen != MAP_FAILED);
	opened(s);
	memset(s->mem, 3, SIZE);
	fence(w, s);
	assert_memory_equal(seen, s->mem, SIZE);
	memset(region->mem, 9, PAGE); /* as a client might */
	((char *)s->mem)[5] = 4;
	fence(w, s);
	assert_int_equal(seen[5], 4);
	assert_int_equal(((char *)s->mem)[6], 3);
	assert_int_equal(w->stores, 0);
	shared_close(s);
	shared_unref(s);
	shared_close(region);
	shared_unref(region);
	assert_int_equal(seen[5], 4);
	munmap((void *)(uintptr_t)seen, SIZE);
	shared_sweep(&w->pool);
}

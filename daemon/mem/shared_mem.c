// SPDX-License-Identifier: MIT
#include "daemon/mem/shared_mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8 /* Linux 6.3 */
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static size_t shared_page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

size_t shared_room(size_t size)
{
	size_t page = shared_page_size();

	return size > SIZE_MAX - page ? SIZE_MAX : (size + page - 1) / page * page;
}

static int shared_open_memfd(struct err *e)
{
	int fd = memfd_create("perfmonfs", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("perfmonfs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? err_set(e, errno,
				"cannot make a memory file for a buffer: %s: rmdir contexts with "
				"buffers",
				err_name(errno))
		      : fd;
}

/* Opens the file of @fd again. Returns a descriptor, or -errno. */
static int shared_reopen(int fd, int flags, struct err *e)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	return again < 0 ? err_set(e, errno, "/proc: %s: is it mounted?", err_name(errno)) : again;
}

/*
 * Seals the memory: no new mapping can be writable, while the existing one stays as it is. s->fd
 * becomes read-only, because a lease shows other open files only if no descriptor can write; see
 * shared_still_mapped().
 */
static int shared_seal(struct shared *s, int fd, int seals, struct err *e)
{
	if (fcntl(fd, F_ADD_SEALS, seals | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0)
		return err_set(e, errno, "the kernel cannot seal memory: %s", err_name(errno));
	s->fd = shared_reopen(fd, O_RDONLY, e);
	return s->fd < 0 ? s->fd : 0;
}

static int shared_no_room(size_t size, struct err *e)
{
	return err_set(
		e, ENOMEM, "there is no memory for a buffer of %zu bytes: ask for less", size);
}

/*
 * Allocates all pages at once, so that no worker runs out of memory during a measurement. The seals
 * fix the size.
 */
static int shared_allocate(struct shared *s, struct err *e)
{
	CLEANUP_CLOSE int fd = shared_open_memfd(e);

	if (fd < 0)
		return fd;
	if (posix_fallocate(fd, 0, (off_t)s->size))
		return shared_no_room(s->size, e);
	s->mem = mmap(NULL, s->room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (s->mem == MAP_FAILED)
		return shared_no_room(s->size, e);
	return shared_seal(s, fd, F_SEAL_GROW | F_SEAL_SHRINK, e);
}

/* Maps everything that the region can grow to, because a sealed file cannot be mapped writable
 * later. */
static int shared_allocate_region(struct shared *s, struct err *e)
{
	CLEANUP_CLOSE int fd = shared_open_memfd(e);

	if (fd < 0)
		return fd;
	s->mem = mmap(NULL, s->most, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s->mem == MAP_FAILED)
		return err_set(e, ENOMEM,
			"there are no addresses left for more mapped memory: rmdir contexts with "
			"buffers");
	return shared_seal(s, fd, 0, e);
}

/* Adds @room bytes, as one piece, to the accounts. */
static void shared_charge(struct shared *s, size_t room)
{
	s->charged += room;
	s->pieces++;
	atomic_fetch_add(&s->pool->all.bytes, room);
	atomic_fetch_add(&s->pool->all.pieces, 1);
	atomic_fetch_add(&s->account->bytes, room);
	atomic_fetch_add(&s->account->pieces, 1);
}

static void shared_discharge(struct shared *s)
{
	atomic_fetch_sub(&s->pool->all.bytes, s->charged);
	atomic_fetch_sub(&s->pool->all.pieces, s->pieces);
	atomic_fetch_sub(&s->account->bytes, s->charged);
	atomic_fetch_sub(&s->account->pieces, s->pieces);
	s->charged = 0;
	s->pieces = 0;
}

static void shared_unmap(struct shared *s)
{
	if (s->mem && s->mem != MAP_FAILED)
		munmap(s->mem, s->most ? s->most : s->room);
	s->mem = NULL;
}

static void shared_destroy(struct shared *s)
{
	shared_unmap(s);
	if (s->fd >= 0)
		close(s->fd);
	shared_discharge(s);
	pthread_mutex_destroy(&s->lock);
	free(s->shadow);
	free(s->stale);
	free(s);
}

static size_t shared_half_of_ram(void)
{
	return (size_t)sysconf(_SC_PHYS_PAGES) / 2 * shared_page_size();
}

/* Limits buffers to half of the RAM. Without this limit, the kernel would kill other processes to
 * make room. */
static int shared_check_size(size_t size, struct err *e)
{
	if (shared_room(size) > shared_half_of_ram())
		return err_set(e, ENOMEM,
			"a buffer of %zu bytes is more than half of the machine's memory: ask for "
			"less",
			size);
	return 0;
}

static struct shared *shared_blank(struct shared_pool *pool, struct shared_account *account)
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

static int shared_made(struct shared *s, int rc, struct shared **out)
{
	if (rc < 0)
		shared_destroy(s);
	else
		*out = s;
	return rc;
}

int shared_new(struct shared_pool *pool, size_t size, struct shared_account *account,
	struct shared **out, struct err *e)
{
	struct shared *s;

	if (shared_check_size(size, e) < 0)
		return -e->no;
	s = shared_blank(pool, account);
	if (!s)
		return err_set(e, ENOMEM, "no memory");
	s->size = size;
	s->room = shared_room(size);
	shared_charge(s, s->room);
	return shared_made(s, shared_allocate(s, e), out);
}

int shared_new_region(struct shared_pool *pool, size_t most, struct shared_account *account,
	struct shared **out, struct err *e)
{
	struct shared *s = shared_blank(pool, account);

	if (!s)
		return err_set(e, ENOMEM, "no memory");
	s->most = shared_room(most < shared_half_of_ram() ? most : shared_half_of_ram());
	shared_charge(s, 0); /* for the descriptor */
	return shared_made(s, shared_allocate_region(s, e), out);
}

static int shared_extend(struct shared *region, size_t room, struct err *e)
{
	CLEANUP_CLOSE int fd = -1;

	if (room > region->most - region->length)
		return err_set(e, ENOSPC,
			"at most %zu bytes of this clone can be mapped: open another",
			region->most);
	fd = shared_reopen(region->fd, O_RDWR, e);
	if (fd < 0)
		return fd;
	if (posix_fallocate(fd, (off_t)region->length, (off_t)room)) {
		shared_no_room(room, e);
		if (ftruncate(fd, (off_t)region->length) < 0)
			return -e->no; /* the file stays longer than needed */
		return -e->no;
	}
	/* Without this call, pages are allocated at first use. */
	madvise((char *)region->mem + region->length, room, MADV_POPULATE_WRITE);
	region->length += room;
	return 0;
}

int shared_grow(struct shared *region, size_t size, size_t *at, struct err *e)
{
	size_t from = region->length;

	if (shared_extend(region, shared_room(size), e) < 0)
		return -e->no;
	shared_charge(region, shared_room(size));
	*at = from;
	return 0;
}

int shared_place_in_region(struct shared *s, struct shared *region, struct err *e)
{
	if (shared_extend(region, s->room, e) < 0)
		return -e->no;
	/* Clients may map the region for longer than the buffer exists. */
	shared_discharge(s);
	shared_charge(region, s->room);
	region->size = s->size;
	s->region = shared_ref(region);
	return 0;
}

void shared_clear(struct shared *region)
{
	struct err ignored;
	CLEANUP_CLOSE int fd = -1;

	if (region->length != shared_room(region->size))
		return;
	fd = shared_reopen(region->fd, O_RDWR, &ignored);
	if (fd < 0 || ftruncate(fd, 0) < 0)
		return; /* the region stays as it is */
	shared_discharge(region);
	shared_charge(region, 0);
	region->size = region->length = 0;
}

struct shared *shared_ref(struct shared *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

/*
 * A mapping of a passed file outlives the file's last close, and FUSE does not report its end. But
 * the mapping keeps the memory open, and the kernel grants a write lease only if there is no other
 * open file.
 */
static bool shared_still_mapped(const struct shared *s)
{
	if (fcntl(s->fd, F_SETLEASE, F_WRLCK) < 0)
		return errno == EAGAIN;
	fcntl(s->fd, F_SETLEASE, F_UNLCK);
	return false;
}

void shared_free_deferred(struct shared_pool *pool)
{
	struct shared *next;

	for (struct shared *s = atomic_exchange(&pool->deferred_free, NULL); s; s = next) {
		struct shared *region = s->region;

		next = s->lingering_next;
		shared_destroy(s);
		shared_unref(region);
	}
}

void shared_sweep(struct shared_pool *pool)
{
	struct shared **at = &pool->lingering;

	shared_free_deferred(pool);
	while (*at) {
		struct shared *s = *at;

		if (shared_still_mapped(s)) {
			at = &s->lingering_next;
		} else {
			*at = s->lingering_next;
			shared_destroy(s);
		}
	}
}

/* The memory lingers, and stays charged, while clients map it, so that repeated map and close
 * cannot evade the limits. */
static void shared_end_passed(struct shared *s)
{
	s->pool->ops->unback(s->pool->ops->arg, s->id);
	shared_unmap(s);
	s->lingering_next = s->pool->lingering;
	s->pool->lingering = s;
	shared_sweep(s->pool);
}

/* Defers freeing @s to the session thread, which owns regions: any thread may drop the last
 * reference to @s. */
static void shared_defer_free(struct shared *s)
{
	s->lingering_next = atomic_load(&s->pool->deferred_free);
	while (!atomic_compare_exchange_weak(&s->pool->deferred_free, &s->lingering_next, s))
		;
}

void shared_unref(struct shared *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (s->way == SHARED_PASSED)
		shared_end_passed(s);
	else if (s->region)
		shared_defer_free(s);
	else
		shared_destroy(s);
}

void shared_free_lingering(struct shared_pool *pool)
{
	while (pool->lingering) {
		struct shared *s = pool->lingering;

		pool->lingering = s->lingering_next;
		shared_destroy(s);
	}
}

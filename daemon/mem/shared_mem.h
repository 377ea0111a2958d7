/* SPDX-License-Identifier: MIT */
/*
 * Allocation, accounting and references of memory that the daemon writes and clients map read-only.
 * shared.h opens it and makes its contents visible to clients.
 *
 * A region is passed through before it has any memory, and grows at its end. Clients that can write
 * to it may map it: the kernel does not prevent that if the file is open for writing. So the daemon
 * writes to a region but trusts nothing that it reads there; data that it must trust is kept in a
 * buffer of its own and copied to the region.
 *
 * All functions are for the session thread, unless stated otherwise. Nothing here knows libfuse.
 */
#ifndef MEM_SHARED_MEM_H
#define MEM_SHARED_MEM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"

struct cache_sync;

/* Callbacks by which the filesystem serves memory. */
struct shared_ops {
	/* Registers @fd for passthrough. Returns an id from 1 up, or -errno. */
	int (*back)(void *arg, int fd);
	void (*unback)(void *arg, int id);
	/* Stores @n bytes at @off into the cache of the file @ino. Returns 0 or -errno. Any
	 * thread. */
	int (*store)(void *arg, uint64_t ino, size_t off, const void *p, size_t n);
	void *arg;
};

/* Memory in use, including memory that was given up but is still mapped by a client. */
struct shared_account {
	atomic_ullong bytes;
	atomic_int pieces;
};

/* All memory of a daemon. */
struct shared_pool {
	const struct shared_ops *ops;
	/* NULL until the first memory is synced. */
	struct cache_sync *sync;
	/* Passed memory without references that clients still map. */
	struct shared *lingering;
	/* Memory without references that still refers to its region. Any thread adds to it. */
	_Atomic(struct shared *) deferred_free;
	struct shared_account all;
};

struct shared {
	/* The daemon's mapping of the memory; initially all zero. */
	void *mem;
	/* Bytes asked for, and the size of the file. */
	size_t size;
	/* Bytes in whole pages; 0 for a region. */
	size_t room;

	/* Bytes and pieces charged to the account. */
	size_t charged;
	int pieces;

	/* Region: bytes that it can grow to; 0 if this is no region. */
	size_t most;
	/* Region: its current length, bytes. The first @size bytes are a copy of a buffer. */
	size_t length;

	/* The serial number in the inode number (node.c). */
	uint64_t serial;
	/* The inode number, from the first open on. */
	uint64_t ino;

	struct shared_pool *pool;
	struct shared_account *account;
	atomic_uint refs;
	/* The only descriptor of the memory; read-only. */
	int fd;
	enum { SHARED_UNDECIDED, SHARED_PASSED, SHARED_SYNCED } way;
	/* Passed: the kernel's id of the memory. */
	int id;
	/* Open files. */
	unsigned opens;

	/* Synced: the region to which the memory is copied, with a reference; NULL: the page
	 * cache. */
	struct shared *region;
	/* Synced: the bytes that clients see. The sync thread writes them under @lock. */
	unsigned char *shadow;
	/* Synced: pages of the shadow that are yet to be stored. Sync thread. */
	bool *stale;
	/* A leaf: guards the shadow. */
	pthread_mutex_t lock;
	/* Link in cache_sync.open, under its lock. */
	struct list_head sync_link;

	/* Link in @lingering or @deferred_free of the pool. */
	struct shared *lingering_next;
};

/* The bytes that @size bytes cost, rounded up to whole pages. */
size_t shared_room(size_t size);
/* Allocates @size bytes, not 0, charged to @account, with one reference. ENOMEM, EMFILE. */
int shared_new(struct shared_pool *pool, size_t size, struct shared_account *account,
	struct shared **out, struct err *e);

/* Makes a region that can grow to @most bytes. ENOMEM, EMFILE. */
int shared_new_region(struct shared_pool *pool, size_t most, struct shared_account *account,
	struct shared **out, struct err *e);
/* Adds @size zero bytes to @region; sets *@at to their offset, the next page. ENOMEM, ENOSPC. */
int shared_grow(struct shared *region, size_t size, size_t *at, struct err *e);
/* Adds the room of the new buffer @s to @region, which is empty and is charged for it. ENOMEM,
 * ENOSPC. */
int shared_place_in_region(struct shared *s, struct shared *region, struct err *e);
/* Truncates @region to length 0 if it holds only the buffer. Clients that have it mapped get
 * SIGBUS. */
void shared_clear(struct shared *region);

struct shared *shared_ref(struct shared *s);
/* Any thread, unless @s is passed. @s may be NULL. */
void shared_unref(struct shared *s);

/* Frees memory that no client maps any more, and @deferred_free. */
void shared_sweep(struct shared_pool *pool);
/* Frees only @deferred_free, without asking the kernel about mappings. */
void shared_free_deferred(struct shared_pool *pool);
/* Frees all lingering memory, mapped or not, when the daemon ends. */
void shared_free_lingering(struct shared_pool *pool);

#endif

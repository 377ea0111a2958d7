/* SPDX-License-Identifier: MIT */
/*
 * Opens memory that clients map, and makes its contents visible to them. There are two ways, and
 * the first open chooses between them by trying:
 *
 *   passed  The kernel serves reads and mappings from the memory itself (FUSE passthrough).
 *           Nothing remains to be done.
 *   synced  The kernel serves them from its cache of the file. A thread (cache_sync.c) stores
 *           the pages that have changed.
 *
 * All functions are for the session thread, unless stated otherwise. Nothing here knows libfuse.
 */
#ifndef MEM_SHARED_H
#define MEM_SHARED_H

#include "daemon/mem/cache_sync.h"
#include "daemon/mem/shared_mem.h"

/* Call when no reference to any memory is left. */
void shared_pool_free(struct shared_pool *pool);

/* Chooses passthrough before the first open. Returns false if the kernel refused, in which case the
 * choice is still open. */
bool shared_pass(struct shared *s);
/* Chooses syncing before the first open. ENOMEM. */
int shared_use_sync(struct shared *s, struct err *e);
/* Makes the new memory @s sync to the beginning of @region, which is empty. ENOMEM, ENOSPC. */
int shared_attach_region(struct shared *s, struct shared *region, struct err *e);

/* Opening a file of @s takes a reference; closing it drops the reference. ENOMEM. */
int shared_open(struct shared *s, uint64_t ino, struct err *e);
void shared_close(struct shared *s);

/* Copies @n bytes of a synced file as clients see it. @off + @n is at most its size. */
void shared_read(struct shared *s, size_t off, void *buf, size_t n);

/* Whether a fence takes time: @s is synced, and a file of it is open. @s may be NULL. */
bool shared_is_synced(const struct shared *s);

/* Makes the memory's current contents visible to all clients that map or read it, then calls
 * p->after(), at once unless shared_is_synced(). @p must stay valid until then. */
void shared_fence(struct shared *s, struct sync_fence *p);

/* shared_fence() in two parts. The session thread announces the fence, if shared_is_synced(); then
 * any thread may order it. */
void shared_fence_expect(struct shared *s, struct sync_fence *p);
void shared_fence_order(struct sync_fence *p);

/* Readable when shared_complete_fences() has something to do; -1 if it never is. */
int shared_event_fd(const struct shared_pool *pool);
/* Calls after() of the fences that are done. */
void shared_complete_fences(struct shared_pool *pool);
/* Whether fences are under way. */
bool shared_expects_events(const struct shared_pool *pool);
/* Syncs nothing new from now on. Returns true when all expected fences are done and the thread has
 * ended; otherwise ask again at each event. */
bool shared_ended(struct shared_pool *pool);

#endif

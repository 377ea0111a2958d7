/* SPDX-License-Identifier: MIT */
/*
 * The thread that brings memory into the kernel's page cache. It is not the session thread: the
 * kernel locks a page while it waits for the answer to a READ of it, and a store waits for the
 * page. No lock is held over a store.
 *
 * The kernel's pages are never older than the last store, nor newer than the shadow: READ is
 * answered from the shadow, and each page that changes there is stored afterwards. So a page that
 * the kernel drops and reads again is right, and comparing the memory with the shadow finds
 * everything that has to be stored. (If READ were answered from the memory itself, it could leave
 * a page in the cache after the memory has changed back to what the shadow holds, and that page
 * would never be stored.)
 */
#ifndef MEM_CACHE_SYNC_H
#define MEM_CACHE_SYNC_H

#include "daemon/mem/shared_mem.h"

/* A client that maps a file sees changes within this time without any fence. */
enum { CACHE_SYNC_PERIOD_MS = 100 };

/* A call that is due when clients see what the memory held when the fence was ordered. */
struct sync_fence {
	/* Called by the session thread. */
	void (*after)(void *arg);
	void *arg;
	/* Referenced from expect to after(); NULL: not expected. */
	struct shared *s;
	struct list_head link;
};

/* ENOMEM. */
int cache_sync_new(const struct shared_ops *ops, struct cache_sync **out, struct err *e);
/* Has the thread end when no fence is expected any more. True: it has ended; otherwise ask again at
 * each event. */
bool cache_sync_ended(struct cache_sync *cs);
bool cache_sync_closing(const struct cache_sync *cs);
/* No fence may be expected any more. NULL is fine. */
void cache_sync_free(struct cache_sync *cs);

/* Begins and ends the periodic check of @s. */
void cache_sync_add(struct cache_sync *cs, struct shared *s);
void cache_sync_remove(struct cache_sync *cs, struct shared *s);

void cache_sync_expect(struct cache_sync *cs);
/* Any thread. */
void cache_sync_order(struct cache_sync *cs, struct sync_fence *p);
bool cache_sync_expects_events(const struct cache_sync *cs);
int cache_sync_event_fd(const struct cache_sync *cs);
void cache_sync_complete(struct cache_sync *cs);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The thread that stores memory into the kernel's page cache. It is not the session thread: the
 * kernel locks a page while it waits for the answer to a READ of it, and a store waits for the
 * page. No lock is held across a store.
 *
 * The kernel's pages are never older than the last store, nor newer than the shadow: READ is
 * answered from the shadow, and each page that changes there is stored afterwards. So a page that
 * the kernel drops and reads again is right, and comparing the memory with the shadow finds
 * everything that must be stored. (If READ were answered from the memory itself, it could leave a
 * page in the cache after the memory has changed back to what the shadow holds, and that page would
 * never be stored.)
 */
#ifndef MEM_CACHE_SYNC_H
#define MEM_CACHE_SYNC_H

#include "daemon/mem/shared_mem.h"

/* A client that maps a file sees changes within this time, even without a fence. */
enum { CACHE_SYNC_PERIOD_MS = 100 };

/* A callback that is due once clients see what the memory held when the fence was ordered. */
struct sync_fence {
	/* Called by the session thread. */
	void (*after)(void *arg);
	void *arg;
	/* Referenced from shared_fence_expect() until after(); NULL if the fence is not
	 * expected. */
	struct shared *s;
	struct list_head link;
};

struct cache_sync {
	const struct shared_ops *ops;
	size_t page;
	/* Expected fences, including those under way. Session thread. */
	unsigned expected;
	/* No fence is accepted any more unless it is already expected. Session thread. */
	bool closing;
	/* Readable when cache_sync_complete() has something to do. */
	int event_fd;
	pthread_t thread;

	/* A leaf: guards all below. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool ending, ended;
	/* Fences, in order of arrival. */
	struct list_head ordered, done;
	/* Memory with open files, by sync_link. */
	struct list_head open;
};

/* ENOMEM. */
int cache_sync_new(const struct shared_ops *ops, struct cache_sync **out, struct err *e);
/* Makes the thread end once no fence is expected any more. Returns true if it has ended; otherwise
 * ask again at each event. */
bool cache_sync_ended(struct cache_sync *cs);
/* No fence may be expected any more. @cs may be NULL. */
void cache_sync_free(struct cache_sync *cs);

/* Begins and ends the periodic check of @s. */
void cache_sync_add(struct cache_sync *cs, struct shared *s);
void cache_sync_remove(struct cache_sync *cs, struct shared *s);

/* Any thread. */
void cache_sync_order(struct cache_sync *cs, struct sync_fence *p);
void cache_sync_complete(struct cache_sync *cs);

#endif

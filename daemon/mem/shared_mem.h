/* SPDX-License-Identifier: MIT */
/*
 * Memory that the daemon writes and clients map, read-only. There are two ways to serve it:
 *
 *   passed  the kernel serves reads and mappings from the memory itself (FUSE passthrough); it is
 *           the same memory, so nothing remains to be done
 *   fed     the kernel serves them from its cache of the file, into which a thread (feed.c)
 *           stores the pages that have changed
 *
 * Which it is, the first open decides: by trying. A piece of memory lives as long as somebody holds
 * a reference: its context, and each open file of it.
 *
 * An area is passed before it has any memory, and grows at its end. It may be mapped by clients who
 * can write to it: the kernel does not keep them from it where the file is open for writing. So the
 * daemon writes to it but believes nothing that it reads there, and what it has to believe is kept
 * elsewhere and fed to the area.
 *
 * All functions are for the session thread, unless said otherwise. Nothing here knows libfuse.
 */
#ifndef FS_SHARED_H
#define FS_SHARED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct feed;

/* What it takes of the filesystem to serve memory. */
struct shared_ops {
	/* Registers @fd for passthrough: an id from 1 on, or -errno. */
	int (*back)(void *arg, int fd);
	void (*unback)(void *arg, int id);
	/* Stores @n bytes at @off into the cache of the file @ino: 0 or -errno. Any thread. */
	int (*store)(void *arg, uint64_t ino, size_t off, const void *p, size_t n);
	void *arg;
};

/* How much somebody has, that included which is given up but still mapped somewhere. */
struct shared_account {
	atomic_ullong bytes;
	atomic_int pieces;
};

/* All there is of it. */
struct shared_pool {
	const struct shared_ops *ops;
	struct feed *feed;    /* NULL: until something is fed */
	struct shared *limbo; /* passed ones that nobody refers to, but clients still map */
	_Atomic(struct shared *) orphans; /* nobody refers to, but they still to an area */
	struct shared_account all;
};

struct shared {
	void *mem;   /* all zero at first */
	size_t size; /* what was asked for, and the size of the file */
	size_t room; /* whole pages: of an area, none */

	/* What it costs: so many bytes, as so many pieces. */
	size_t charged;
	int pieces;

	/* An area: */
	size_t most;   /* what it can grow to; 0: it is none */
	size_t length; /* what it has grown to; @size bytes of it are a buffer that is fed to it */

	uint64_t serial; /* which inode number it goes by; see node.c */
	uint64_t ino;    /* that number, since it was first opened */

	struct shared_pool *pool;
	struct shared_account *account; /* of whoever it belongs to */
	atomic_uint refs;
	int fd; /* of the memory, read-only, and the only one there is */
	enum { SHARED_UNDECIDED, SHARED_PASSED, SHARED_FED } way;
	int id;         /* passed: for the kernel */
	unsigned opens; /* open files */

	/* Fed: */
	struct shared *area;   /* held: where it is fed to; NULL: the kernel's cache */
	unsigned char *shadow; /* what clients see: the thread writes it, under the lock */
	bool *stale;           /* pages of the shadow that the kernel has not got; the thread's */
	pthread_mutex_t lock;  /* a leaf: guards the shadow */
	struct shared *feed_next, **feed_at; /* those to be fed now and then; feed.c's lock */

	struct shared *limbo_next; /* or of orphans */
};

/* When nobody refers to any of it. */
void shared_pool_free(struct shared_pool *pool);

/*
 * @size bytes, not 0, on @account. ENOMEM, EMFILE. Its first reference is the caller's.
 */
int shared_new(struct shared_pool *pool, size_t size, struct shared_account *account,
	struct shared **out, struct err *e);
/* What that will cost. */
size_t shared_room(size_t size);

/* An area that can grow to @most bytes. The same errors. */
int shared_new_area(struct shared_pool *pool, size_t most, struct shared_account *account,
	struct shared **out, struct err *e);
/* Has @s, which is new, fed to @area, which has nothing yet, from its beginning on. The same
 * errors, ENOSPC. */
int shared_show(struct shared *s, struct shared *area, struct err *e);
/* @size bytes more of it, all zero, from *@at on; that is on the next page. ENOMEM, ENOSPC. */
int shared_grow(struct shared *area, size_t size, size_t *at, struct err *e);
/* All of it is given back: who has it mapped gets SIGBUS. */
void shared_clear(struct shared *area);
struct shared *shared_ref(struct shared *s);
void shared_unref(struct shared *s); /* any thread, unless it is passed; NULL is fine */

/* Frees what no client maps any more, and orphans. */
void shared_sweep(struct shared_pool *pool);

/* Decides it before the first open: true if it is passed; otherwise that is still open. */
bool shared_pass(struct shared *s);
/* The same for feeding it. ENOMEM. */
int shared_feed(struct shared *s, struct err *e);

/* A file of it is opened, and closed: opening takes a reference, closing drops it. ENOMEM. */
int shared_open(struct shared *s, uint64_t ino, struct err *e);
void shared_close(struct shared *s);

/* The bytes a fed file has now; @n of them are there. */
void shared_read(struct shared *s, size_t off, void *buf, size_t n);

/* Something to be done when clients see what the memory held when it was asked for. */
struct publication {
	void (*after)(void *arg); /* the session thread calls it */
	void *arg;
	struct shared *s;
	struct publication *next;
};

/* Whether publishing takes its time: it is fed, and a file of it is open. NULL is fine. */
bool shared_is_fed(const struct shared *s);

/*
 * Makes what the memory holds now visible to all who map or read it, then calls p->after: at once,
 * from here, unless shared_is_fed(). @p is the caller's until then.
 */
void shared_publish(struct shared *s, struct publication *p);

/* The same in two parts. The session thread says that there will be a publication; then any thread
 * may order it. For what shared_is_fed() at the time of the first. */
void shared_expect(struct shared *s, struct publication *p);
void shared_order(struct publication *p);

/* Readable when shared_news() has something to do; -1: never. */
int shared_news_fd(const struct shared_pool *pool);
/* Calls after() of what has been published. */
void shared_news(struct shared_pool *pool);
/* There will be news. */
bool shared_expects_news(const struct shared_pool *pool);
/* Nothing is fed any more. True when what was expected is done, and the thread has ended;
 * otherwise ask again at each news. */
bool shared_ended(struct shared_pool *pool);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The thread that brings memory into the kernel's cache. It is not the session's: the kernel holds
 * a page while it waits for our answer to a READ of it, and a store waits for the page. No lock is
 * held over a store.
 *
 * The kernel's pages are never older than what was last stored, nor newer than the shadow: READ is
 * answered from the shadow, and each page that is changed there is stored afterwards. So a page
 * that the kernel drops and reads again is right, and comparing the memory with the shadow finds
 * all there is to store. (Answered from the memory itself, READ could leave a page in the cache
 * that has meanwhile become again what the shadow has, and would never be stored.)
 */
#ifndef FS_FEED_H
#define FS_FEED_H

#include "daemon/fs/shared.h"

/* Whoever maps a file that nothing happens to sees it change at least so often. */
enum { FEED_PERIOD_MS = 100 };

/* ENOMEM. */
int feed_new(const struct shared_ops *ops, struct feed **out, struct err *e);
/* Has the thread end when nothing is expected any more: has it? Ask again at each news. */
bool feed_ended(struct feed *f);
bool feed_closing(const struct feed *f);
/* Nothing may be expected any more. NULL is fine. */
void feed_free(struct feed *f);

/* From now on, @s is looked at now and then; no longer. */
void feed_add(struct feed *f, struct shared *s);
void feed_remove(struct feed *f, struct shared *s);

void feed_expect(struct feed *f);
void feed_order(struct feed *f, struct publication *p); /* any thread */
bool feed_expects_news(const struct feed *f);
int feed_news_fd(const struct feed *f);
void feed_news(struct feed *f);

#endif

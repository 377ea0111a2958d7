/* SPDX-License-Identifier: MIT */
/*
 * How far a context's events are visible. A client that learns of an event must find the data that
 * led to it in the buffer. If the buffer is synced to the kernel's cache, that takes a while, so an
 * event does not become visible as soon as it has happened.
 */
#ifndef FS_WATERMARKS_H
#define FS_WATERMARKS_H

#include "daemon/fs/tree/fs_state.h"

/* The counts of events that have happened. */
struct watermark watermark_now(const struct fs_context *ctx);
/* Whether events have happened that are not visible yet. */
bool watermark_is_behind(struct fs_context *ctx);
/* Makes the engine report the context's events from now on. */
void watermark_watch(struct fs_context *ctx);

#endif

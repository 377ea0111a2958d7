/* SPDX-License-Identifier: MIT */
/*
 * poll(), select() and epoll. The kernel asks for the state of an open file, and passes a handle by
 * which to report that the state may have changed. One handle per open file is enough: it wakes
 * every process that waits for the file, and each of them asks again and passes a new one.
 */
#ifndef FS_POLLER_H
#define FS_POLLER_H

#include "daemon/fs/requests/file.h"

/* Takes the handle @ph of the file's newest poll. */
void poller_add(struct fs *fs, struct file *f, struct fuse_pollhandle *ph);
/* The poll events that are due. Ask after poller_add(), or an event between the two is lost. */
unsigned poller_state(const struct file *f);
/* Wakes the files for which events have become visible. */
void pollers_wake(struct fs_context *ctx);
/* Wakes the files of the object @serial, or all files of the context if that is the context
 * itself. */
void pollers_close(struct fs_context *ctx, uint64_t serial);

#endif

/* SPDX-License-Identifier: MIT */
/* Beginning and answering requests. */
#ifndef FS_CALL_H
#define FS_CALL_H

#include "daemon/fs/tree/node.h"

/* Begins a request by filling @call. Returns false if it failed and has been answered. */
bool call_begin(fuse_req_t req, fuse_ino_t ino, struct call *call);
/* Begins a request on an open file, like call_begin(). ENODEV: a clone whose context has been
 * removed. */
bool call_begin_open(
	fuse_req_t req, fuse_ino_t ino, const struct fuse_file_info *fi, struct call *call);

/* Begins a request on an open file that may have outlived its context. */
void call_begin_outlived(fuse_req_t req, const struct fuse_file_info *fi, struct call *call);

/* Notes the sentence in the nearest last_error, and in the open file if the call leaves it there,
 * and answers with the errno. */
void call_fail(struct call *call, const struct err *e);
/* Answers a read with a part of @out, which becomes the file's snapshot, or with the error if @rc
 * is negative. Any thread. */
void call_read_done(struct call *call, int rc, struct text *out, const struct err *e);
/* Answers a read with what the open file has left for it (file.left). Returns false, with no
 * answer, if that is nothing. */
bool call_read_left(struct call *call);
/* Answers a read at an offset from the snapshot. Returns false, with no answer, if there is
 * none. */
bool call_read_snapshot(struct call *call);
/* Answers a write, with the error if @rc is negative. Otherwise @e is NULL or a note of a context.
 * Any thread, if the call has a context. */
void call_write_done(struct call *call, int rc, const struct err *e);

#endif

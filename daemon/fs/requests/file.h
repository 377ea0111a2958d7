/* SPDX-License-Identifier: MIT */
/* Open files. */
#ifndef FS_FILE_H
#define FS_FILE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "daemon/core/request.h"
#include "daemon/fs/tree/node.h"
#include "daemon/fs/tree/user_quota.h"

struct file {
	struct node node;
	/* Referenced; NULL outside of contexts. */
	struct fs_context *ctx;
	/* The process that opened the file; the file may have been passed on since. */
	uid_t uid;
	gid_t gid;
	/* Capabilities of the opener, with ROW_CAPABILITIES. */
	struct capabilities capabilities;
	uint64_t memlock;
	/* O_RDONLY, O_WRONLY or O_RDWR. */
	int access;
	/* The memory of an open memory file: the file itself, or what can be mapped of it. */
	struct shared *shared;
	/* Link in fs.memory_files, if @linked: an open memory file, or a clone. */
	struct hash_node memory_link;
	bool linked;
	/* The open buffer of a clone that is synced to the clone's mappings. */
	struct shared *shown;
	/* Link in fs.files. */
	struct list_head link;

	/* The newest poll handle; NULL if no process waits. */
	struct fuse_pollhandle *poll;
	/* Link in notify_state.pollers while there is a handle. */
	struct list_head poll_link;
	/* The number of state changes when state was last read or, before the first read, when it
	 * was opened. */
	atomic_ullong changes;
	/* State has been read. */
	atomic_bool read;

	/* The clone has had an ioctl: reading it returns messages, no longer text. */
	bool ioctls;
	/* Bytes of the clone's line that reads have returned. */
	size_t numbered;

	/* Charged to the opener: this file, with @left. */
	struct charge charge;

	/* A leaf: guards all below. */
	pthread_mutex_t lock;
	/* What the next reads return, starting at byte @given: lines of events that were taken,
	 * which belong to the session thread, or the sentence of a write or of a read at offset 0
	 * that failed. */
	struct text left;
	size_t given;
	/* @snap is valid. */
	bool seen;
	/* The text as of the last read at offset 0. */
	struct text snap;
	/* Charged to the opener: @snap. */
	struct charge snap_charge;
};

/* Returns NULL if there is no memory. */
struct file *file_new(struct call *call, struct err *e);
void file_destroy(struct file *f);
/* Frees the files that the kernel has not released because the mount went away first. */
void files_free(struct fs *fs);

/* Lets file_find_memory() find the open file. */
void file_link_memory(struct file *f, struct fs *fs, fuse_ino_t ino);
/* Takes a reference to @s, which is the open file @f. ENOMEM. */
int file_open_memory(
	struct file *f, struct fs *fs, struct shared *s, fuse_ino_t ino, struct err *e);
/* An open file that is memory, or a clone; NULL if there is none. */
struct file *file_find_memory(const struct fs *fs, fuse_ino_t ino);

/* Swaps the snapshot with @text, for which the file is charged. ENOMEM: neither has changed. Any
 * thread. */
int file_keep(struct file *f, struct text *text, struct err *e);

/* Leaves @line for the next reads, which then find the end of the file; NULL: leaves nothing. Any
 * thread. */
void file_leave(struct file *f, const char *line);

/* Drops the poll handle, if there is one. */
void file_forget_poll(struct file *f);

/* Answers an open with direct I/O. The file is freed if the caller is gone. */
void file_reply_direct(fuse_req_t req, struct file *f);
/*
 * Answers an open of a stream. A stream has no position, so that two read() calls on one open file
 * do not wait for each other in the kernel, where no signal would end the wait. A passed file
 * cannot be a stream.
 */
void file_reply_stream(fuse_req_t req, struct file *f);
/* Answers an open of passed memory. @text: reads are still sent to the daemon. */
void file_reply_passed(fuse_req_t req, struct file *f, bool text);
/* Answers an open of memory in the kernel's cache. */
void file_reply_cached(fuse_req_t req, struct file *f);

#endif

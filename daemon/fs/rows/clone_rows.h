/* SPDX-License-Identifier: MIT */
/* Operations that only clone has. */
#ifndef FS_CLONE_ROWS_H
#define FS_CLONE_ROWS_H

#include "daemon/fs/tree/node.h"

/* Answers a read of a clone that has had no ioctl. */
void clone_read_text(struct call *call);
/* Answers the kernel's read of a page for a page fault of a client. */
void clone_read_page(fuse_req_t req, const struct file *f, size_t size, size_t off);
void clone_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned nr, void *arg, struct fuse_file_info *fi,
	unsigned flags, const void *in, size_t in_size, size_t out_size);

#endif

/* SPDX-License-Identifier: MIT */
/* Files that are memory. */
#ifndef FS_MEMORY_H
#define FS_MEMORY_H

#include "daemon/fs/tree/node.h"
#include "daemon/mem/shared.h"

/* Opens the memory of a file, and answers unless it fails. */
int memory_open(struct call *call, struct file *f, struct err *e);
/* Answers the kernel's read of a page of synced memory. */
void memory_read(fuse_req_t req, struct shared *s, size_t size, size_t off);
/* row.size: an open file keeps the size of the memory that it was opened with. */
size_t memory_size(const struct call *call);

#endif

/* SPDX-License-Identifier: MIT */
/* Nodes: files of the tree by inode number and by name. */
#ifndef FS_NODE_H
#define FS_NODE_H

#include <stdint.h>

#include "daemon/fs/tree/fuse_api.h"
#include "daemon/fs/tree/row.h"

struct file;
struct fs;
struct fs_context;
struct packet;

/* The contents of an inode number. */
struct node {
	const struct row *row;
	/* Of its context or set; 0: it belongs to none. Of a member of DIR_SYS_FORMATS and its
	 * files, the number of the registration. */
	uint64_t serial;
	/*
	 * In DIR_PMCS and DIR_PMDS, a row of that table in the PMU description. In and below
	 * DIR_SYS_DESC, the same with PMCs, PMDs and virtual PMDs as one table. Below DIR_PMU, the
	 * number of a type.
	 */
	unsigned reg;
};

/* A request being handled, and the file that it names. */
struct call {
	struct fs *fs;
	fuse_req_t req;
	/* The kernel's number of @req. */
	uint64_t unique;
	struct node node;
	/* The node's; NULL outside of contexts. */
	struct fs_context *ctx;
	/* The node's; -1: it belongs to no event set. */
	int set;
	/* Open, read, write, ioctl. */
	struct file *file;
	/* Read, write: bytes. */
	size_t size;
	/* Read: offset. */
	size_t off;
	/* Ioctl: freed with the answer. */
	struct packet *packet;
};

/* The inode number of the call's file. */
fuse_ino_t node_ino(const struct call *call);
/* Fills @call from @ino. -ENOENT: there was never such a number; -ENODEV: its object is gone. */
int node_call(struct fs *fs, fuse_req_t req, fuse_ino_t ino, struct call *call);
void node_attr(const struct call *call, struct stat *st);
/* The child @name of a directory: 0 or -ENOENT. */
int node_lookup(const struct call *dir, const char *name, struct call *child);
/* The first child of a directory after *@cookie; sets @name and *@cookie. False: there is none. */
bool node_next(const struct call *dir, uint64_t *cookie, struct call *child, char name[256]);
/* Seconds that the kernel may keep the name and attributes. */
double node_timeout(const struct call *call);
struct fuse_entry_param node_entry(const struct call *child);

#endif

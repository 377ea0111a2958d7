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

enum { NODE_TEXT_SIZE = 4096 /* bytes, the size of a text of few lines */ };

/* The fields of an inode number. */
struct node {
	const struct row *row;
	/* Serial number of the node's context or set; 0 if it belongs to none. For a member of
	 * DIR_SYS_FORMATS and its files: the number of the registration. */
	uint64_t serial;
	/*
	 * In DIR_PMCS and DIR_PMDS: a row of that table in the PMU description. In and below
	 * DIR_SYS_DESC: a row, with PMCs, PMDs and virtual PMDs counted as one table. Below
	 * DIR_PMU: the number of a type.
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
	/* The node's context; NULL outside of contexts. */
	struct fs_context *ctx;
	/* The node's event set; -1 if it belongs to none. */
	int set;
	/* The open file of an open, read, write or ioctl. */
	struct file *file;
	/* Bytes of a read or write. */
	size_t size;
	/* Offset of a read. */
	size_t off;
	/* A write, or a read that begins a text: an error leaves its sentence in the open file. */
	bool leaves;
	/* The packet of an ioctl, freed with the answer. */
	struct packet *packet;
};

/* The inode number of the call's file. */
fuse_ino_t node_ino(const struct call *call);
/* Fills @call from @ino. -ENOENT: the number never existed; -ENODEV: its object is gone. */
int node_call(struct fs *fs, fuse_req_t req, fuse_ino_t ino, struct call *call);
void node_attr(const struct call *call, struct stat *st);
/* Finds the child @name of a directory. Returns 0 or -ENOENT. */
int node_lookup(const struct call *dir, const char *name, struct call *child);
/* Finds the first child of a directory after *@cookie; sets @name and *@cookie. Returns false at
 * the end. */
bool node_next(const struct call *dir, uint64_t *cookie, struct call *child, char name[256]);
/* Seconds for which the kernel may cache the name and attributes. */
double node_timeout(const struct call *call);
/* The same for its attributes. */
double node_attr_timeout(const struct call *call);
struct fuse_entry_param node_entry(const struct call *child);

#endif

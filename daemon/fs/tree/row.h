/* SPDX-License-Identifier: MIT */
/*
 * A row describes a kind of file: its name, its mode, and what reading and writing do. Lookup,
 * getattr, readdir, open, read and write are generic walks over a table of rows.
 */
#ifndef FS_ROW_H
#define FS_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"

struct call;
struct command;
struct file;
struct fs;
struct fs_context;
struct group_rule;
struct pfm_msg;
struct shared;

/* The kinds of directory. */
enum dir {
	DIR_NONE, /* the parent of the root */
	DIR_ROOT,
	DIR_PMU, /* its members are types of CPUs, if there are several; it has files, too */
	DIR_PMU_TYPE,
	DIR_PM,
	DIR_CONFIG,
	DIR_METRICS,
	DIR_SIM,
	DIR_CTXS, /* its members are contexts */
	DIR_CTX,
	DIR_CHILDREN, /* its members are contexts, too */
	DIR_SETS,     /* its members are event sets */
	DIR_SET,
	DIR_PMCS, /* its members are registers */
	DIR_PMDS,
	DIR_SYS,
	DIR_SYS_FORMATS, /* its members are formats */
	DIR_SYS_FORMAT,
	DIR_SYS_DESC, /* its members are registers; it has files, too */
	DIR_SYS_REG,
	DIR_KINDS, /* the number of kinds */
};

enum row_flag {
	/* One write may have several lines. */
	ROW_LINES = 1 << 0,
	/* In DIR_PMDS: the row is for the virtual members. */
	ROW_VIRTUAL = 1 << 1,
	/* After a write has failed, a read at offset 0 returns the sentence, too. Otherwise it
	 * returns the text, for programs that read values. */
	ROW_SENTENCES = 1 << 2,
	/* The text is made when it is read, so the file's times are the current time. */
	ROW_FRESH = 1 << 3,
	/* Each open makes a context, which is removed with the open file; see clone_rows.c. */
	ROW_CLONE = 1 << 4,
	/* An open notes the opener's capabilities in struct file. */
	ROW_CAPABILITIES = 1 << 5,
	/* An open for writing notes the opener's RLIMIT_MEMLOCK in struct file. */
	ROW_MEMLOCK = 1 << 6,
	/* read() and store() run on fibers, and may wait by the functions of await.h. The text to
	 * store is valid until the first wait. */
	ROW_WAITS = 1 << 7,
};

struct row {
	/* The directory that contains the file. */
	enum dir in;
	/* NULL: one file for each member of that directory. */
	const char *name;
	/* Permissions and file type. */
	mode_t mode;
	/* The kind of a directory. */
	enum dir is;
	/* The target of a symbolic link. */
	const char *target;
	/* enum row_flag */
	unsigned flags;
	/* What the length of the file's text, beyond a page, grows with. */
	enum row_lines { LINES_FEW, LINES_OF_REGISTERS, LINES_OF_MACHINE } length;
	/* The group of the configuration that may also read the file; NULL if there is none. */
	const struct group_rule *(*readers)(const struct fs *fs);
	/* NULL: the file always exists. */
	bool (*exists)(const struct fs *fs);

	/* Read by the session thread; cannot fail. */
	void (*show)(const struct call *call, struct text *out);
	/* Read or write by the session thread. Returns 0, perhaps with a note about the context, or
	 * -errno with a sentence. */
	int (*read)(struct call *call, struct text *out, struct err *e);
	int (*store)(struct call *call, struct slice text, struct err *e);

	/* Read by the context's owner: makes the command, and prints the answer. */
	int (*query)(const struct call *call, struct command *cmd, struct err *e);
	void (*print)(const struct command *cmd, struct text *out);
	/* Write by the context's owner: makes the command, and notes that it took effect (any
	 * thread). */
	int (*parse)(
		const struct call *call, struct slice text, struct command *cmd, struct err *e);
	void (*commit)(struct fs_context *ctx, const struct command *cmd);

	/* Read of the context's messages (msg_reader.c). room() returns how many messages the read
	 * has room for, or -errno; reply() answers with those that were taken. */
	int (*room)(const struct call *call, struct err *e);
	void (*reply)(struct call *call, const struct pfm_msg *msgs, unsigned n);

	/* The poll events that are due, without those of writing. NULL: the file can always be
	 * read. */
	unsigned (*poll)(const struct file *f);

	/* The memory that can be mapped; returns NULL with a sentence if there is none now. */
	struct shared *(*memory)(const struct call *call, struct err *e);
	/* The size of the file. NULL: the size of a text (node.c), or the length of a link's
	 * target. */
	size_t (*size)(const struct call *call);

	/* Completes an open, and answers it unless it fails. NULL: nothing more to do. */
	int (*open)(struct call *call, struct file *f, struct err *e);
	/* Called when the open file is being freed. NULL: nothing more to do. */
	void (*release)(struct file *f);
};

static inline bool row_has(const struct row *row, enum row_flag flag)
{
	return row->flags & flag;
}

/* The file has messages alone, and so an end when its context is gone. */
static inline bool row_is_messages(const struct row *row)
{
	return row->reply && !row_has(row, ROW_CLONE);
}

/* The most rows that fit in an inode number. */
enum { ROWS_MAX = 255 };

/* All rows; the root's is the first. */
struct row_table {
	struct row row[ROWS_MAX];
	unsigned n;
};

/* Macros for lists of rows, which end with ROW_END. */
#define DIR_ROW(where, what, nm, md) .in = where, .name = nm, .mode = S_IFDIR | (md), .is = what
#define FILE_ROW(where, nm, md)      .in = where, .name = nm, .mode = S_IFREG | (md)
#define LINK_ROW(where, nm, to)      .in = where, .name = nm, .mode = S_IFLNK | 0777, .target = to
#define ROW_END                                                                                    \
	{                                                                                          \
		.mode = 0                                                                          \
	}

#endif

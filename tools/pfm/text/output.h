/* SPDX-License-Identifier: MIT */
/* Files that pfm writes. pfm may run as root in a directory that another user can write: it neither
 * follows, nor writes, nor waits for files that this user has put there. */
#ifndef TOOLS_PFM_TEXT_OUTPUT_H
#define TOOLS_PFM_TEXT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum { OUTPUT_MAGIC = 8 };

/* How output_open() opens a file. */
struct output_how {
	mode_t mode; /* of a new file */
	bool append;
	/* OUTPUT_MAGIC bytes: a file that begins with them is not replaced; NULL: no such files */
	const char *spare;
};

/*
 * Opens @path for writing. A new file replaces a regular one; where that cannot be, the caller's
 * own file is written instead. Any other kind of file is opened if it belongs to the caller or root
 * and no other user could have put it there, like /dev/stdout; otherwise the new file replaces it,
 * too. Returns the descriptor, or -errno with a sentence.
 */
int output_open(const char *path, const struct output_how *how, struct err *e);
/* A file that was created. A later one may get its inode's number, at another time. */
struct output_id {
	uint64_t device, inode;
	uint64_t born; /* ns since 1970; 0: the file system does not tell */
};

/* Gets the identity of the open file; all 0: not known. */
void output_identify(int fd, struct output_id *id);
/* Removes the file @id at @path. -ESTALE: another one is there. It removes one that comes to be
 * there in that moment, by a process that may write the directory. */
int output_remove(const char *path, const struct output_id *id);

#endif

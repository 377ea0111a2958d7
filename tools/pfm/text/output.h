/* SPDX-License-Identifier: MIT */
/*
 * Files that pfm writes. pfm may run as root in a directory that another user can write: what that
 * user has put there is neither followed, nor written, nor waited for.
 */
#ifndef TOOLS_PFM_TEXT_OUTPUT_H
#define TOOLS_PFM_TEXT_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

enum { OUTPUT_MAGIC = 8 };

/* How output_open() opens a file. */
struct output_how {
	mode_t mode; /* of a new file */
	bool append;
	const char *
		spare; /* OUTPUT_MAGIC bytes: files that begin so are not replaced; NULL: all are */
};

/*
 * Opens @path for writing. A new file replaces a regular one. What else is there is opened if it is
 * the caller's or root's, and no other user could have put it there, as /dev/stdout; otherwise the
 * new file replaces that, too. Returns the descriptor, or -errno with a sentence.
 */
int output_open(const char *path, const struct output_how *how, struct err *e);

#endif

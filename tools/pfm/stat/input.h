/* SPDX-License-Identifier: MIT */
/* The standard input of a command that runs several times: each run reads it from its start. */
#ifndef TOOLS_PFM_STAT_INPUT_H
#define TOOLS_PFM_STAT_INPUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct input {
	bool again;  /* it can be read again, from @start on */
	off_t start; /* in the file that standard input is */
};

/* Makes @path the standard input of this process, unless it is NULL. If @again and standard input
 * is a pipe, keeps a copy of its contents. -EFBIG: they are too large. */
int input_open(struct input *in, const char *path, bool again, struct err *e);

/* Call it before each run. */
int input_rewind(const struct input *in, struct err *e);

#endif

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

/*
 * Makes @path the standard input of this process, unless it is NULL. Of a pipe, if @again, all that
 * comes is kept. EFBIG: that is too much.
 */
int input_open(struct input *in, const char *path, bool again, struct err *e);

/* Before each run. */
int input_rewind(const struct input *in, struct err *e);

#endif

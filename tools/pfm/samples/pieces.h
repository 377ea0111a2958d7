/* SPDX-License-Identifier: MIT */
/* The files FILE.1, FILE.2 and so on of a recording in pieces, of which the newest are kept. */
#ifndef TOOLS_PFM_SAMPLES_PIECES_H
#define TOOLS_PFM_SAMPLES_PIECES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "tools/pfm/text/output.h"

enum { PIECES_KEEP = 10, PIECES_KEEP_MIN = 2, PIECES_KEEP_MAX = 10000 };

struct pieces {
	uint64_t bytes; /* a piece ends at this size; 0: size does not matter */
	uint64_t ns;    /* it ends after this time; 0: time does not matter */
	unsigned keep;  /* pieces that are kept, with the present one */
	const char *file;
	uint64_t first;  /* number of the first piece; 0: not begun */
	uint64_t number; /* of the present piece */
	char path[PATH_MAX];
	struct output_id *all; /* those that are kept, piece N at N % keep */
	pid_t finisher;        /* the process that completes the previous piece; 0: none */
};

/* Chooses the path of the first piece of @file, whose number follows that of the last file there
 * with such a name. */
int pieces_begin(struct pieces *p, const char *file, struct err *e);
/* Notes that the present piece was created as @fd. */
void pieces_created(struct pieces *p, int fd);
/* Chooses the path of the next piece, and removes the oldest one if too many are kept. A file that
 * is not the one that was written stays. */
int pieces_next(struct pieces *p, struct err *e);
/* Whether the previous piece is complete. @wait: waits for that. Fails if it cannot be completed.
 */
int pieces_completed(struct pieces *p, bool wait, struct err *e);
/* The number of the oldest piece that is kept. */
uint64_t pieces_oldest(const struct pieces *p);
void pieces_free(struct pieces *p);

#endif

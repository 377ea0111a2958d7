/* SPDX-License-Identifier: MIT */
/* Samples of pfm record whose call chains are being unwound: they go to the file in their order,
 * before the next change of mappings. */
#ifndef TOOLS_PFM_SAMPLES_CHAINS_H
#define TOOLS_PFM_SAMPLES_CHAINS_H

#include "base/err.h"
#include "tools/pfm/samples/data.h"
#include "tools/pfm/samples/unwinder.h"

enum {
	/* Frames of the kernel at most, and of both. */
	CHAIN_KERNEL_FRAMES = PFM_STACK_MAX_FRAMES - 1 + PFM_STACK_MAX_MARKERS,
	CHAIN_FRAMES = 3 + CHAIN_KERNEL_FRAMES + 1 + UNWIND_FRAMES,
};

/* A sample with its frames. */
struct chain {
	struct data_stack s;
	uint64_t frames[CHAIN_FRAMES];
};

struct chains;

int chains_new(struct chains **out, struct data_writer *to, struct err *e);
void chains_free(struct chains *c); /* NULL is allowed */

/* A copy of @n bytes, which stays until the next call. NULL: no memory. */
const void *chains_copy(struct chains *c, const void *from, size_t n);
/* Writes @chain with the user's frames, which are found from @user. */
int chains_add(struct chains *c, const struct chain *chain, const struct image *im,
	const pfm_stack_smpl_user_t *user, struct err *e);
/* Writes all samples that were added. */
int chains_flush(struct chains *c, struct err *e);
/* Writes how many chains were cut. All samples must have been written. */
int chains_end(struct chains *c, struct err *e);
/* Begins another file. The objects of the image have other numbers from now on. */
void chains_renew(struct chains *c);

#endif

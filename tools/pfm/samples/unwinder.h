/* SPDX-License-Identifier: MIT */
/*
 * A process of its own that unwinds stacks: a damaged or hostile program can end that process or
 * make it slow, but not the recording. pfm sends it the mapped files of processes, and stacks.
 */
#ifndef TOOLS_PFM_SAMPLES_UNWINDER_H
#define TOOLS_PFM_SAMPLES_UNWINDER_H

#include "base/err.h"
#include "tools/pfm/samples/image.h"
#include "tools/pfm/samples/unwind.h"

enum { UNWINDER_PENDING = 32 };

struct unwinder;

int unwinder_new(struct unwinder **out, struct err *e);
void unwinder_free(struct unwinder *u); /* NULL is allowed */

/* A file of the recording begins: mapped files have other numbers from now on. No stack may be
 * pending. */
void unwinder_renew(struct unwinder *u);

/* Begins to unwind @user in process @pid. Up to UNWINDER_PENDING stacks may be pending. */
void unwinder_submit(struct unwinder *u, const struct image *im, uint32_t pid,
	const pfm_stack_smpl_user_t *user);
/* Waits for the chain of the oldest pending stack. */
void unwinder_wait(struct unwinder *u, struct unwound *out);
/* The process that was refused last in this file, as unwinding its stack ended the other process or
 * took too long: its chains are broken from then on. 0: none was. */
uint32_t unwinder_refused(const struct unwinder *u);
/* The files whose debug files were left out in this file, as the checksums of others had taken the
 * time for them. */
unsigned unwinder_unchecked(const struct unwinder *u);

#endif

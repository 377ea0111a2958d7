/* SPDX-License-Identifier: MIT */
/* Shared by the formats whose samples have call chains in the form of "stack". */
#ifndef FORMATS_FRAMES_H
#define FORMATS_FRAMES_H

#include <stdbool.h>

#include "formats/sample.h"
#include "perfmonfs/smpl_stack.h"

/* The parameters by which users set the members of pfm_stack_smpl_arg_t. The first is for "profile"
 * only. */
extern const pfm_fmt_param_t frames_params[];

/* Whether all members except the size are valid. */
bool frames_are_valid(const pfm_stack_smpl_arg_t *arg);

/* Bytes of the largest sample. */
size_t frames_largest(const pfm_stack_smpl_arg_t *arg);

/* A fmt_user_stack. */
uint32_t frames_user_stack(const void *arg);

/* Which parts of a call chain samples have: members of pfm_stack_smpl_arg_t. */
struct frames_conf {
	uint32_t buf_flags;
	uint32_t max_frames;
	uint32_t user_stack;
};

/* Writes a sample for as many of the remaining overflows as possible, and returns its size. */
size_t frames_put(struct sample *s, const struct frames_conf *conf, void *at);

#endif

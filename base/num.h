/* SPDX-License-Identifier: MIT */
/*
 * Numbers as users write them: decimal or 0x hex, nothing else. No blanks, no plus sign, no
 * octal: a leading zero before another digit is refused, so that 010 is never silently 8.
 * Each returns 0, or -EINVAL (syntax) or -ERANGE with a sentence that quotes the input.
 */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

int num_u64(struct slice s, uint64_t *v, struct err *e);

/* 0..@max. */
int num_max(struct slice s, uint64_t max, uint64_t *v, struct err *e);

/* A 64-bit value that may be negative: -100000 is its two's complement. */
int num_value(struct slice s, uint64_t *v, struct err *e);

/*
 * Cuts the first range off a list like 0-3,16: numbers 0..@max, a single one being @first and
 * @last. An empty list has none to cut, which is an error.
 */
int num_range(struct slice *list, uint64_t max, uint64_t *first, uint64_t *last, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Numbers in decimal, or in hexadecimal with 0x. Blanks, a plus sign and leading zeros are refused;
 * 010 might be taken for octal. Functions return 0, or -EINVAL (syntax) or -ERANGE with a sentence
 * that quotes the input.
 */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

/* The value of the digit @c in @base, 10 or 16; -1: @c is not a digit. */
int num_digit(char c, unsigned base);

int num_u64(struct slice s, uint64_t *v, struct err *e);

/* Parses a number that is at most @max. */
int num_max(struct slice s, uint64_t max, uint64_t *v, struct err *e);

/* Parses a number from @min to @max. */
int num_within(struct slice s, uint64_t min, uint64_t max, uint64_t *v, struct err *e);

/* Parses a 64-bit value. A negative number gives its two's complement. */
int num_value(struct slice s, uint64_t *v, struct err *e);

/*
 * Cuts the first range off a list like 0-3,16, whose numbers are at most @max. A single number is
 * both @first and @last. An empty list fails with -EINVAL.
 */
int num_range(struct slice *list, uint64_t max, uint64_t *first, uint64_t *last, struct err *e);

__extension__ typedef unsigned __int128 num_u128;

/* @n * @mul / 2^@shift, rounded down; UINT64_MAX if that is greater. */
static inline uint64_t num_scale(uint64_t n, uint64_t mul, unsigned shift)
{
	num_u128 v = (num_u128)n * mul >> shift;

	return v < UINT64_MAX ? (uint64_t)v : UINT64_MAX;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Lists of numbers below a limit, such as "0-3,16", as one bit per number. */
#ifndef BASE_NUMBER_LIST_H
#define BASE_NUMBER_LIST_H

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"

/* Adds the numbers of @list to @bits. EINVAL, ERANGE. An empty list fails with EINVAL. */
int number_list_parse(struct slice list, uint64_t *bits, unsigned limit, struct err *e);

/* Prints the numbers in @bits. An empty list is printed as "none", which cannot be parsed. */
void number_list_print(const uint64_t *bits, unsigned limit, struct text *out);

#endif

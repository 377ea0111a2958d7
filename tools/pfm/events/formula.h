/* SPDX-License-Identifier: MIT */
/* Formulas of metrics, see pfm-events(5): numbers, names, + - * / and parentheses. */
#ifndef TOOLS_PFM_EVENTS_FORMULA_H
#define TOOLS_PFM_EVENTS_FORMULA_H

#include "base/err.h"
#include "base/slice.h"

enum { FORMULA_STEPS = 48, FORMULA_DEPTH = 16 };

enum formula_kind {
	FORMULA_NUMBER,
	FORMULA_VALUE,   /* values[index] */
	FORMULA_SECONDS, /* the measured time */
	FORMULA_ADD,
	FORMULA_SUBTRACT,
	FORMULA_MULTIPLY,
	FORMULA_DIVIDE,
};

struct formula_step {
	enum formula_kind kind;
	unsigned index;
	double number;
};

/* A formula in postfix order: an operator takes the results of the two steps before it. */
struct formula {
	struct formula_step steps[FORMULA_STEPS];
	unsigned n;
};

/* The index of the value called @name, or -1. */
typedef int formula_index_fn(const void *arg, struct slice name);

/* Parses a formula. -EINVAL: it is malformed, or has a name that @index does not know. */
int formula_parse(struct slice text, formula_index_fn *index, const void *arg, struct formula *f,
	struct err *e);

/* Evaluates a formula. NAN: a division by zero, or a value that it needs is NAN. @seconds may be
 * NAN as well. */
double formula_eval(const struct formula *f, const double *values, double seconds);

#endif

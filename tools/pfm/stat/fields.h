/* SPDX-License-Identifier: MIT */
/* The fields of a line of output for programs, as JSON or CSV. */
#ifndef TOOLS_PFM_STAT_FIELDS_H
#define TOOLS_PFM_STAT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

enum fields_form {
	FIELDS_JSON,
	FIELDS_CSV,
	FIELDS_CSV_NAMES, /* the header line: no values */
};

struct fields {
	enum fields_form form;
	char separator; /* of CSV */
	unsigned n;     /* fields so far */
	struct text line;
};

/* Each call appends a field, in the order of the line. A missing value is null in JSON and empty in
 * CSV. */
void fields_none(struct fields *f, const char *name);
void fields_string(struct fields *f, const char *name, const char *s); /* NULL: none */
void fields_u64(struct fields *f, const char *name, uint64_t v);
void fields_id(struct fields *f, const char *name, int id); /* below 0: no value */
void fields_bool(struct fields *f, const char *name, bool v);
/* Prints @v with @digits significant digits, or no value if it is not finite. */
void fields_number(struct fields *f, const char *name, int digits, double v);
/* Prints @v, which is from 0 to 1, with four decimals. */
void fields_share(struct fields *f, const char *name, double v);

/* Prints the line and frees it. Prints nothing if memory ran out. */
void fields_print(struct fields *f, FILE *out);

#endif

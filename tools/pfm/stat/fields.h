/* SPDX-License-Identifier: MIT */
/* The fields of a line of output for programs, in the form that it is to have. */
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

/* In the order of the line. What there is not, is null in JSON and empty in CSV. */
void fields_none(struct fields *f, const char *name);
void fields_string(struct fields *f, const char *name, const char *s); /* NULL: none */
void fields_u64(struct fields *f, const char *name, uint64_t v);
void fields_id(struct fields *f, const char *name, int id); /* below 0: none */
void fields_bool(struct fields *f, const char *name, bool v);
/* With so many significant digits; none if it is not finite. */
void fields_number(struct fields *f, const char *name, int digits, double v);
/* From 0 to 1, with four decimals. */
void fields_share(struct fields *f, const char *name, double v);

/* Prints the line, unless there was no memory for it, and frees it. */
void fields_print(struct fields *f, FILE *out);

#endif

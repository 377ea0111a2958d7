/* SPDX-License-Identifier: MIT */
/*
 * The two text forms of metrics: Prometheus' exposition format, version 0.0.4, and Influx's line
 * protocol. A family is all samples with one name; they are adjacent and follow the family's HELP
 * and TYPE.
 */
#ifndef METRICS_EXPOSITION_H
#define METRICS_EXPOSITION_H

#include <stdint.h>

#include "base/text.h"

enum exposition_form { EXPOSITION_PROM, EXPOSITION_LP, EXPOSITION_FORMS };

enum exposition_type { EXPOSITION_COUNTER, EXPOSITION_GAUGE };

/* A label in Prometheus, a tag in Influx. */
struct exposition_label {
	const char *name;
	/* Any text; NULL leaves the label out. Influx has no empty tags, so "" leaves it out there,
	 * too. */
	const char *value;
};

struct exposition {
	enum exposition_form form;
	struct text *out;
	/* The time of all samples: CLOCK_REALTIME, ns. Only Influx shows it. */
	uint64_t time;
	/* The family, and the rest of its name: "perfmonfs_" NAME SUFFIX. */
	const char *name;
	const char *suffix;
};

/* Begins a family: perfmonfs_NAME, with _total if it is a counter. @name must consist of letters,
 * digits and underscores, and live until the next family begins. @help is any text. */
void exposition_family(
	struct exposition *x, const char *name, enum exposition_type type, const char *help);

/* Adds a sample with @n labels, whose value is @value divided by 10 to the power of @digits,
 * exactly. */
void exposition_sample(struct exposition *x, const struct exposition_label *labels, unsigned n,
	uint64_t value, unsigned digits);

#endif

// SPDX-License-Identifier: MIT
#include "daemon/metrics/exposition.h"

#include <inttypes.h>
#include <string.h>

#define EXPOSITION_PREFIX "perfmonfs_"

/* @text, with a backslash before each character in @special. A newline is a blank in the line
 * protocol, which has no escape for it. */
static void exposition_escape(struct exposition *x, const char *text, const char *special)
{
	while (*text) {
		size_t plain = strcspn(text, special);

		if (plain)
			text_printf(x->out, "%.*s", (int)plain, text);
		text += plain;
		if (*text == '\n')
			text_printf(x->out, x->form == EXPOSITION_PROM ? "\\n" : "\\ ");
		else if (*text)
			text_printf(x->out, "\\%c", *text);
		text += *text != '\0';
	}
}

void exposition_family(
	struct exposition *x, const char *name, enum exposition_type type, const char *help)
{
	x->name = name;
	x->suffix = type == EXPOSITION_COUNTER ? "_total" : "";
	if (x->form != EXPOSITION_PROM)
		return;
	text_printf(x->out, "# HELP " EXPOSITION_PREFIX "%s%s ", name, x->suffix);
	exposition_escape(x, help, "\\\n");
	text_printf(x->out, "\n# TYPE " EXPOSITION_PREFIX "%s%s %s\n", name, x->suffix,
		type == EXPOSITION_COUNTER ? "counter" : "gauge");
}

static void exposition_prom_labels(
	struct exposition *x, const struct exposition_label *labels, unsigned n)
{
	const char *before = "{";

	for (unsigned i = 0; i < n; i++) {
		if (!labels[i].value)
			continue;
		text_printf(x->out, "%s%s=\"", before, labels[i].name);
		exposition_escape(x, labels[i].value, "\\\"\n");
		text_printf(x->out, "\"");
		before = ",";
	}
	text_printf(x->out, *before == ',' ? "} " : " ");
}

static void exposition_lp_tags(
	struct exposition *x, const struct exposition_label *labels, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!labels[i].value || !labels[i].value[0])
			continue;
		text_printf(x->out, ",%s=", labels[i].name);
		exposition_escape(x, labels[i].value, "\\,= \n");
	}
	text_printf(x->out, " value=");
}

static void exposition_value(struct exposition *x, uint64_t value, unsigned digits)
{
	uint64_t power = 1;

	for (unsigned i = 0; i < digits; i++)
		power *= 10;
	text_printf(x->out, "%" PRIu64, value / power);
	if (digits)
		text_printf(x->out, ".%0*" PRIu64, (int)digits, value % power);
}

void exposition_sample(struct exposition *x, const struct exposition_label *labels, unsigned n,
	uint64_t value, unsigned digits)
{
	text_printf(x->out, EXPOSITION_PREFIX "%s%s", x->name, x->suffix);
	if (x->form == EXPOSITION_PROM)
		exposition_prom_labels(x, labels, n);
	else
		exposition_lp_tags(x, labels, n);
	exposition_value(x, value, digits);
	if (x->form == EXPOSITION_LP)
		text_printf(x->out, "%s %" PRIu64, digits ? "" : "u", x->time);
	text_printf(x->out, "\n");
}

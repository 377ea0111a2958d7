// SPDX-License-Identifier: MIT
#include "daemon/metrics/exposition.h"

#include <inttypes.h>
#include <string.h>

#define EXPOSITION_PREFIX "perfmonfs_"

/* Appends a part of a sample. A scrape has thousands of samples, and this is several times faster
 * than printf(). */
static void exposition_put(struct exposition *x, const char *text)
{
	text_append(x->out, text, strlen(text));
}

static void exposition_put_number(struct exposition *x, uint64_t n)
{
	char digits[20], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	text_append(x->out, p, (size_t)(digits + sizeof(digits) - p));
}

/* Appends @text with a backslash before each character in @special. A newline becomes a blank in
 * the line protocol, which has no escape for it. */
static void exposition_escape(struct exposition *x, const char *text, const char *special)
{
	while (*text) {
		size_t plain = strcspn(text, special);

		if (plain)
			text_append(x->out, text, plain);
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
		exposition_put(x, before);
		exposition_put(x, labels[i].name);
		exposition_put(x, "=\"");
		exposition_escape(x, labels[i].value, "\\\"\n");
		exposition_put(x, "\"");
		before = ",";
	}
	exposition_put(x, *before == ',' ? "} " : " ");
}

static void exposition_lp_tags(
	struct exposition *x, const struct exposition_label *labels, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!labels[i].value || !labels[i].value[0])
			continue;
		exposition_put(x, ",");
		exposition_put(x, labels[i].name);
		exposition_put(x, "=");
		exposition_escape(x, labels[i].value, "\\,= \n");
	}
	exposition_put(x, " value=");
}

static void exposition_value(struct exposition *x, uint64_t value, unsigned digits)
{
	uint64_t power = 1;

	for (unsigned i = 0; i < digits; i++)
		power *= 10;
	exposition_put_number(x, value / power);
	if (digits)
		text_printf(x->out, ".%0*" PRIu64, (int)digits, value % power);
}

void exposition_sample(struct exposition *x, const struct exposition_label *labels, unsigned n,
	uint64_t value, unsigned digits)
{
	exposition_put(x, EXPOSITION_PREFIX);
	exposition_put(x, x->name);
	exposition_put(x, x->suffix);
	if (x->form == EXPOSITION_PROM)
		exposition_prom_labels(x, labels, n);
	else
		exposition_lp_tags(x, labels, n);
	exposition_value(x, value, digits);
	if (x->form == EXPOSITION_LP) {
		exposition_put(x, digits ? " " : "u ");
		exposition_put_number(x, x->time);
	}
	exposition_put(x, "\n");
}

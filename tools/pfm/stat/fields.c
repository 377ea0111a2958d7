// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/fields.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/pfm/text/json.h"

/* Prints the name and separator before a value. False: this line has names only. */
static bool fields_begin(struct fields *f, const char *name)
{
	if (f->form == FIELDS_JSON)
		text_printf(&f->line, "%c\"%s\":", f->n ? ',' : '{', name);
	else if (f->n)
		text_printf(&f->line, "%c", f->separator);
	if (f->form == FIELDS_CSV_NAMES)
		text_printf(&f->line, "%s", name);
	f->n++;
	return f->form != FIELDS_CSV_NAMES;
}

void fields_none(struct fields *f, const char *name)
{
	if (fields_begin(f, name) && f->form == FIELDS_JSON)
		text_printf(&f->line, "null");
}

/* Quotes the string if CSV requires it. */
static void fields_csv_string(struct fields *f, const char *s)
{
	if (!strchr(s, f->separator) && !strpbrk(s, "\"\r\n")) {
		text_printf(&f->line, "%s", s);
		return;
	}
	text_printf(&f->line, "\"");
	for (; *s; s++)
		text_printf(&f->line, *s == '"' ? "\"\"" : "%c", *s);
	text_printf(&f->line, "\"");
}

void fields_string(struct fields *f, const char *name, const char *s)
{
	if (!s)
		fields_none(f, name);
	else if (fields_begin(f, name) && f->form == FIELDS_JSON)
		json_string(&f->line, s);
	else if (f->form == FIELDS_CSV)
		fields_csv_string(f, s);
}

void fields_u64(struct fields *f, const char *name, uint64_t v)
{
	if (fields_begin(f, name))
		text_printf(&f->line, "%" PRIu64, v);
}

void fields_id(struct fields *f, const char *name, int id)
{
	if (id < 0)
		fields_none(f, name);
	else
		fields_u64(f, name, (uint64_t)id);
}

void fields_bool(struct fields *f, const char *name, bool v)
{
	if (fields_begin(f, name))
		text_printf(&f->line, "%s", v ? "true" : "false");
}

void fields_number(struct fields *f, const char *name, int digits, double v)
{
	if (!isfinite(v))
		fields_none(f, name);
	else if (fields_begin(f, name))
		text_printf(&f->line, "%.*g", digits, v);
}

void fields_share(struct fields *f, const char *name, double v)
{
	if (fields_begin(f, name))
		text_printf(&f->line, "%.4f", v);
}

void fields_print(struct fields *f, FILE *out)
{
	text_printf(&f->line, f->form == FIELDS_JSON ? "}\n" : "\n");
	if (text_ok(&f->line))
		fputs(f->line.p, out);
	text_free(&f->line);
}

// SPDX-License-Identifier: MIT
/* "NAME key=value flagword ..." into a format's argument structure and back. */
#include "daemon/format/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"

/* Members have 4 or 8 bytes; that they are aligned is nowhere said. */
static uint64_t get(const void *arg, const pfm_fmt_param_t *p)
{
	const char *at = (const char *)arg + p->offset;
	uint64_t v64;
	uint32_t v32;

	if (p->size == 4) {
		memcpy(&v32, at, 4);
		return v32;
	}
	memcpy(&v64, at, 8);
	return v64;
}

static void set(void *arg, const pfm_fmt_param_t *p, uint64_t value)
{
	char *at = (char *)arg + p->offset;
	uint32_t v32 = (uint32_t)value;

	if (p->size == 4)
		memcpy(at, &v32, 4);
	else
		memcpy(at, &value, 8);
}

/* The first of several flags in one member has its default. */
static bool has_default(const pfm_buffer_fmt_t *fmt, const pfm_fmt_param_t *p)
{
	for (const pfm_fmt_param_t *q = fmt->fmt_params; q != p; q++)
		if (q->offset == p->offset)
			return false;
	return true;
}

static void set_defaults(const pfm_buffer_fmt_t *fmt, void *arg)
{
	for (const pfm_fmt_param_t *p = fmt->fmt_params; p && p->name; p++)
		if (has_default(fmt, p))
			set(arg, p, p->def);
}

static void list_names(void *arg, const pfm_buffer_fmt_t *fmt)
{
	text_printf(arg, "%s ", fmt->fmt_name);
}

static int refuse_name(struct slice name, struct err *e)
{
	TEXT_CLEANUP struct text known = {0};

	formats_each(list_names, &known);
	text_printf(&known, "none");
	if (!text_ok(&known))
		return err_set(e, ENOMEM, "no memory");
	return err_set(e, EINVAL, "no format '%.*s': write one of '%s', and its parameters",
		SLICE_ARG(name), known.p);
}

static int refuse_param(const pfm_buffer_fmt_t *fmt, struct slice key, struct err *e)
{
	TEXT_CLEANUP struct text known = {0};

	for (const pfm_fmt_param_t *p = fmt->fmt_params; p && p->name; p++)
		text_printf(&known, " %s%s", p->name, p->flag ? "" : "=");
	if (!text_ok(&known))
		return err_set(e, ENOMEM, "no memory");
	if (!known.n)
		return err_set(e, EINVAL, "no parameter '%.*s': %s has none", SLICE_ARG(key),
			fmt->fmt_name);
	return err_set(e, EINVAL, "no parameter '%.*s': those of %s are%s", SLICE_ARG(key),
		fmt->fmt_name, known.p);
}

static const pfm_fmt_param_t *find_param(const pfm_buffer_fmt_t *fmt, struct slice key)
{
	for (const pfm_fmt_param_t *p = fmt->fmt_params; p && p->name; p++)
		if (slice_is(key, p->name))
			return p;
	return NULL;
}

/* Is @key the first word of one of the parameters in @seen? */
static bool is_given(struct slice seen, struct slice key)
{
	while (seen.n) {
		struct slice word = slice_word(&seen), given = slice_cut(&word, '=');

		if (given.n && given.n == key.n && memcmp(given.p, key.p, key.n) == 0)
			return true;
	}
	return false;
}

static int parse_param(
	const pfm_buffer_fmt_t *fmt, struct slice word, struct slice seen, void *arg, struct err *e)
{
	struct slice value = word, key = slice_cut(&value, '=');
	const pfm_fmt_param_t *p = find_param(fmt, key);
	uint64_t v;

	if (!p)
		return refuse_param(fmt, key, e);
	if (is_given(seen, key))
		return err_set(e, EINVAL, "'%s' is given twice: give it once", p->name);
	if (p->flag) {
		if (key.n != word.n)
			return err_set(
				e, EINVAL, "'%s' takes no value: write the word alone", p->name);
		set(arg, p, get(arg, p) | p->flag);
		return 0;
	}
	if (key.n == word.n)
		return err_set(e, EINVAL, "'%s' needs a value: write %s=NUMBER", p->name, p->name);
	if (num_max(value, p->size == 4 ? UINT32_MAX : UINT64_MAX, &v, e) < 0)
		return err_prefix(e, "%s", p->name);
	set(arg, p, v);
	return 0;
}

static int parse_params(const pfm_buffer_fmt_t *fmt, struct slice text, void *arg, struct err *e)
{
	struct slice rest = text, word;

	while ((word = slice_word(&rest)).n) {
		struct slice seen = {text.p, (size_t)(word.p - text.p)};

		if (parse_param(fmt, word, seen, arg, e) < 0)
			return -e->no;
	}
	return 0;
}

int format_parse(struct slice text, const pfm_buffer_fmt_t **fmt, void **arg, struct err *e)
{
	struct slice name = slice_word(&text);
	const pfm_buffer_fmt_t *found = format_find(name);
	CLEANUP_FREE void *filled = NULL;

	*fmt = NULL;
	*arg = NULL;
	if (slice_is(name, "none")) {
		if (slice_trim(text).n)
			return err_set(e, EINVAL, "'none' has no parameters: write it alone");
		return 0;
	}
	if (!found)
		return refuse_name(name, e);
	if (found->fmt_arg_size) {
		filled = calloc(1, found->fmt_arg_size);
		if (!filled)
			return err_set(e, ENOMEM, "no memory");
		set_defaults(found, filled);
	}
	if (parse_params(found, text, filled, e) < 0)
		return -e->no;
	*fmt = found;
	*arg = take_ptr(&filled);
	return 0;
}

void format_print(const pfm_buffer_fmt_t *fmt, const void *arg, struct text *out)
{
	text_printf(out, "%s", fmt ? fmt->fmt_name : "none");
	for (const pfm_fmt_param_t *p = fmt ? fmt->fmt_params : NULL; p && p->name; p++) {
		if (!p->flag)
			text_printf(out, " %s=%" PRIu64, p->name, get(arg, p));
		else if ((get(arg, p) & p->flag) == p->flag)
			text_printf(out, " %s", p->name);
	}
	text_printf(out, "\n");
}

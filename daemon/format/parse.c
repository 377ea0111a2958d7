// SPDX-License-Identifier: MIT
/* Converts "NAME key=value flagword ..." to the argument structure of a format, and back. */
#include "daemon/format/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"

/* Members have 4 or 8 bytes, and may be unaligned. */
static uint64_t format_get_param(const void *arg, const pfm_fmt_param_t *p)
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

static void format_set_param(void *arg, const pfm_fmt_param_t *p, uint64_t value)
{
	char *at = (char *)arg + p->offset;
	uint32_t v32 = (uint32_t)value;

	if (p->size == 4)
		memcpy(at, &v32, 4);
	else
		memcpy(at, &value, 8);
}

/* False for a flag whose member belongs to an earlier flag, too, which sets the default. */
static bool format_has_default(const pfm_buffer_fmt_t *fmt, const pfm_fmt_param_t *p)
{
	for (const pfm_fmt_param_t *q = fmt->fmt_params; q != p; q++)
		if (q->offset == p->offset)
			return false;
	return true;
}

static void format_set_defaults(const pfm_buffer_fmt_t *fmt, void *arg)
{
	for (const pfm_fmt_param_t *p = fmt->fmt_params; p && p->name; p++)
		if (format_has_default(fmt, p))
			format_set_param(arg, p, p->def);
}

static void format_list_names(void *arg, const pfm_buffer_fmt_t *fmt)
{
	text_printf(arg, "%s ", fmt->fmt_name);
}

static int format_refuse_name(struct slice name, struct err *e)
{
	TEXT_CLEANUP struct text names = {0};

	formats_each(format_list_names, &names);
	text_printf(&names, "none");
	if (!text_ok(&names))
		return err_set(e, ENOMEM, "no memory");
	return err_set(e, EINVAL,
		"there is no format '%.*s': write one of '%s', and its parameters", SLICE_ARG(name),
		names.p);
}

static int format_refuse_param(const pfm_buffer_fmt_t *fmt, struct slice key, struct err *e)
{
	TEXT_CLEANUP struct text names = {0};

	for (const pfm_fmt_param_t *p = fmt->fmt_params; p && p->name; p++)
		text_printf(&names, " %s%s", p->name, p->flag ? "" : "=");
	if (!text_ok(&names))
		return err_set(e, ENOMEM, "no memory");
	if (!names.n)
		return err_set(e, EINVAL, "there is no parameter '%.*s': %s has none",
			SLICE_ARG(key), fmt->fmt_name);
	return err_set(e, EINVAL, "there is no parameter '%.*s': those of %s are%s", SLICE_ARG(key),
		fmt->fmt_name, names.p);
}

static const pfm_fmt_param_t *format_find_param(const pfm_buffer_fmt_t *fmt, struct slice key)
{
	for (const pfm_fmt_param_t *p = fmt->fmt_params; p && p->name; p++)
		if (slice_is(key, p->name))
			return p;
	return NULL;
}

/* True if a parameter in @seen has the name @key. */
static bool format_is_given(struct slice seen, struct slice key)
{
	while (seen.n) {
		struct slice word = slice_word(&seen), given = slice_cut(&word, '=');

		if (given.n && given.n == key.n && memcmp(given.p, key.p, key.n) == 0)
			return true;
	}
	return false;
}

static int format_parse_param(
	const pfm_buffer_fmt_t *fmt, struct slice word, struct slice seen, void *arg, struct err *e)
{
	struct slice value = word, key = slice_cut(&value, '=');
	const pfm_fmt_param_t *p = format_find_param(fmt, key);
	uint64_t v;

	if (!p)
		return format_refuse_param(fmt, key, e);
	if (format_is_given(seen, key))
		return err_set(e, EINVAL, "'%s' is given twice: give it once", p->name);
	if (p->flag) {
		if (key.n != word.n)
			return err_set(
				e, EINVAL, "'%s' takes no value: write the word alone", p->name);
		format_set_param(arg, p, format_get_param(arg, p) | p->flag);
		return 0;
	}
	if (key.n == word.n)
		return err_set(e, EINVAL, "'%s' needs a value: write %s=NUMBER", p->name, p->name);
	if (num_max(value, p->size == 4 ? UINT32_MAX : UINT64_MAX, &v, e) < 0)
		return err_prefix(e, "%s", p->name);
	format_set_param(arg, p, v);
	return 0;
}

static int format_parse_params(
	const pfm_buffer_fmt_t *fmt, struct slice text, void *arg, struct err *e)
{
	struct slice rest = text, word;

	while ((word = slice_word(&rest)).n) {
		struct slice seen = {text.p, (size_t)(word.p - text.p)};

		if (format_parse_param(fmt, word, seen, arg, e) < 0)
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
			return err_set(e, EINVAL, "'none' takes no parameters: write it alone");
		return 0;
	}
	if (!found)
		return format_refuse_name(name, e);
	if (found->fmt_arg_size) {
		filled = calloc(1, found->fmt_arg_size);
		if (!filled)
			return err_set(e, ENOMEM, "no memory");
		format_set_defaults(found, filled);
	}
	if (format_parse_params(found, text, filled, e) < 0)
		return -e->no;
	*fmt = found;
	*arg = take_ptr(&filled);
	return 0;
}

uint64_t format_least_size(
	const pfm_buffer_fmt_t *fmt, void *arg, uint32_t ctx_flags, uint16_t num_pmds)
{
	const uint64_t limit = 1ULL << 30; /* Bytes; no format needs as much. */
	const pfm_fmt_param_t *size = format_find_param(fmt, slice_of("size"));
	uint64_t refused = size ? format_get_param(arg, size) : limit, enough = limit;

	if (refused >= limit)
		return 0;
	format_set_param(arg, size, enough);
	if (fmt->fmt_validate(ctx_flags, num_pmds, arg))
		return 0;
	while (enough - refused > 1) {
		uint64_t middle = refused + (enough - refused) / 2;

		format_set_param(arg, size, middle);
		if (fmt->fmt_validate(ctx_flags, num_pmds, arg))
			refused = middle;
		else
			enough = middle;
	}
	return enough;
}

void format_print(const pfm_buffer_fmt_t *fmt, const void *arg, struct text *out)
{
	text_printf(out, "%s", fmt ? fmt->fmt_name : "none");
	for (const pfm_fmt_param_t *p = fmt ? fmt->fmt_params : NULL; p && p->name; p++) {
		if (!p->flag)
			text_printf(out, " %s=%" PRIu64, p->name, format_get_param(arg, p));
		else if ((format_get_param(arg, p) & p->flag) == p->flag)
			text_printf(out, " %s", p->name);
	}
	text_printf(out, "\n");
}

// SPDX-License-Identifier: MIT
#include "daemon/format/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	NAME_MAX_BYTES = 64,
	ARG_SIZE_MAX = 65536,
	MSGQ_DEPTH_MAX = 1024,
	KNOWN_FLAGS = PFM_FMTFL_NOSET,
};

static const pfm_buffer_fmt_t **formats;
static size_t nformats;

void format_uuid_text(const pfm_uuid_t uuid, char text[FORMAT_UUID_TEXT])
{
	static const char hex[] = "0123456789abcdef";
	char *p = text;

	for (unsigned i = 0; i < sizeof(pfm_uuid_t); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = hex[uuid[i] >> 4];
		*p++ = hex[uuid[i] & 15];
	}
	*p = '\0';
}

/* Upper and lower case are equal, since programs print UUIDs in either. */
static bool format_matches_uuid(struct slice s, const pfm_uuid_t uuid)
{
	char text[FORMAT_UUID_TEXT];

	format_uuid_text(uuid, text);
	return s.n == FORMAT_UUID_TEXT - 1 && strncasecmp(s.p, text, s.n) == 0;
}

const pfm_buffer_fmt_t *format_find(struct slice name_or_uuid)
{
	for (size_t i = 0; i < nformats; i++)
		if (slice_is(name_or_uuid, formats[i]->fmt_name) ||
			format_matches_uuid(name_or_uuid, formats[i]->fmt_uuid))
			return formats[i];
	return NULL;
}

const pfm_buffer_fmt_t *format_at(size_t i)
{
	return i < nformats ? formats[i] : NULL;
}

void formats_each(void (*each)(void *arg, const pfm_buffer_fmt_t *fmt), void *arg)
{
	for (size_t i = 0; i < nformats; i++)
		each(arg, formats[i]);
}

/* Only these characters are allowed: other ones may mean something to format_parse(). */
static bool format_is_word(const char *s)
{
	size_t n = strnlen(s, NAME_MAX_BYTES);

	if (n == 0 || n == NAME_MAX_BYTES)
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == n;
}

/* Such a name could hide another format, which the user names by its UUID. */
static bool format_resembles_uuid(const char *s)
{
	return strlen(s) == FORMAT_UUID_TEXT - 1 && s[8] == '-' && s[13] == '-' && s[18] == '-' &&
	       s[23] == '-';
}

static bool format_uuid_is_nil(const pfm_uuid_t uuid)
{
	static const pfm_uuid_t nil;

	return memcmp(uuid, nil, sizeof(nil)) == 0;
}

static int format_check_identity(const pfm_buffer_fmt_t *fmt, struct err *e)
{
	/* Before any other field, whose meaning depends on the API. */
	if (fmt->fmt_api != PFM_FMT_API)
		return err_set(e, EINVAL,
			"it is made for API %u of formats, this daemon has %d: compile it with "
			"this version's perfmonfs/format.h",
			fmt->fmt_api, PFM_FMT_API);
	if (!fmt->fmt_name)
		return err_set(e, EINVAL, "it has no name: set fmt_name");
	/* The name is that of a directory in sys/formats, too. */
	if (!format_is_word(fmt->fmt_name) || fmt->fmt_name[0] == '.' ||
		format_resembles_uuid(fmt->fmt_name) || strcmp(fmt->fmt_name, "none") == 0)
		return err_set(e, EINVAL,
			"a format's name is one word of letters, digits, '_', '.' and '-', at most "
			"%d, not beginning with '.', not 'none' and not like a UUID: change "
			"fmt_name",
			NAME_MAX_BYTES - 1);
	if (format_uuid_is_nil(fmt->fmt_uuid))
		return err_set(e, EINVAL, "'%s' has no UUID: set fmt_uuid to what uuidgen prints",
			fmt->fmt_name);
	return 0;
}

static int format_check_param(const pfm_buffer_fmt_t *fmt, const pfm_fmt_param_t *p, struct err *e)
{
	if (!format_is_word(p->name))
		return err_set(e, EINVAL, "'%s' has a parameter whose name is not one word",
			fmt->fmt_name);
	for (const pfm_fmt_param_t *q = fmt->fmt_params; q != p; q++)
		if (strcmp(q->name, p->name) == 0)
			return err_set(
				e, EINVAL, "'%s' has two parameters '%s'", fmt->fmt_name, p->name);
	if ((p->size != 4 && p->size != 8) || p->offset > fmt->fmt_arg_size ||
		fmt->fmt_arg_size - p->offset < p->size)
		return err_set(e, EINVAL,
			"'%s': parameter '%s' is not 4 or 8 bytes inside of fmt_arg_size",
			fmt->fmt_name, p->name);
	if (p->size == 4 && p->def > UINT32_MAX)
		return err_set(e, EINVAL, "'%s': the default of parameter '%s' does not fit",
			fmt->fmt_name, p->name);
	return 0;
}

static int format_check_abilities(const pfm_buffer_fmt_t *fmt, struct err *e)
{
	if (!fmt->fmt_handler)
		return err_set(
			e, EINVAL, "'%s' handles no overflow: set fmt_handler", fmt->fmt_name);
	if (fmt->fmt_flags & ~(uint32_t)KNOWN_FLAGS)
		return err_set(
			e, EINVAL, "'%s' has unknown bits in fmt_flags: clear them", fmt->fmt_name);
	if (fmt->fmt_arg_size > ARG_SIZE_MAX)
		return err_set(e, EINVAL, "'%s': fmt_arg_size is over the limit of %d",
			fmt->fmt_name, ARG_SIZE_MAX);
	if (fmt->fmt_msgq_depth > MSGQ_DEPTH_MAX)
		return err_set(e, EINVAL, "'%s': fmt_msgq_depth is over the limit of %d",
			fmt->fmt_name, MSGQ_DEPTH_MAX);
	for (const pfm_fmt_param_t *p = fmt->fmt_params; p && p->name; p++)
		if (format_check_param(fmt, p, e) < 0)
			return -e->no;
	return 0;
}

static int format_check_unique(const pfm_buffer_fmt_t *fmt, struct err *e)
{
	char uuid[FORMAT_UUID_TEXT];

	format_uuid_text(fmt->fmt_uuid, uuid);
	if (format_find(slice_of(fmt->fmt_name)))
		return err_set(
			e, EBUSY, "there is a format '%s' already: rename one", fmt->fmt_name);
	if (format_find(slice_of(uuid)))
		return err_set(e, EBUSY, "'%s' has the UUID of '%s', %s: give it one of its own",
			fmt->fmt_name, format_find(slice_of(uuid))->fmt_name, uuid);
	return 0;
}

int format_register(const pfm_buffer_fmt_t *fmt, struct err *e)
{
	const pfm_buffer_fmt_t **more;

	if (format_check_identity(fmt, e) < 0 || format_check_abilities(fmt, e) < 0 ||
		format_check_unique(fmt, e) < 0)
		return -e->no;
	more = reallocarray(formats, nformats + 1, sizeof(*more));
	if (!more)
		return err_set(e, ENOMEM, "no memory");
	formats = more;
	formats[nformats++] = fmt;
	return 0;
}

int formats_register(const pfm_buffer_fmt_t *const *list, struct err *e)
{
	for (; *list; list++)
		if (format_register(*list, e) < 0)
			return -e->no;
	return 0;
}

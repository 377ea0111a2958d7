// SPDX-License-Identifier: MIT
#include "daemon/format/format.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	NAME_MAX_BYTES = 64,
	ARG_SIZE_MAX = 65536,
	MSGQ_DEPTH_MAX = 1024,
	KNOWN_FLAGS = PFM_FMTFL_NOSET | PFM_FMTFL_STACKS,
};

struct format_use {
	struct plugin plugin;
	uint64_t id;
	/* Only the registry's thread increments this, so that 0 stays 0 while that thread looks at
	 * it. */
	atomic_uint users;
};

static struct format_use **formats;
static size_t nformats;
static uint64_t last_id;

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

/* The index of a format, or nformats. */
static size_t format_index(struct slice name_or_uuid)
{
	size_t i;

	for (i = 0; i < nformats; i++) {
		const pfm_buffer_fmt_t *fmt = formats[i]->plugin.fmt;

		if (slice_is(name_or_uuid, fmt->fmt_name) ||
			format_matches_uuid(name_or_uuid, fmt->fmt_uuid))
			break;
	}
	return i;
}

const pfm_buffer_fmt_t *format_find(struct slice name_or_uuid)
{
	size_t i = format_index(name_or_uuid);

	return i < nformats ? formats[i]->plugin.fmt : NULL;
}

struct format_use *format_get(const pfm_buffer_fmt_t *fmt)
{
	for (size_t i = 0; i < nformats; i++) {
		if (formats[i]->plugin.fmt != fmt)
			continue;
		atomic_fetch_add(&formats[i]->users, 1);
		return formats[i];
	}
	return NULL;
}

void format_put(struct format_use *use)
{
	if (use)
		atomic_fetch_sub(&use->users, 1);
}

const pfm_buffer_fmt_t *format_after(uint64_t *id)
{
	for (size_t i = 0; i < nformats; i++) {
		if (formats[i]->id <= *id)
			continue;
		*id = formats[i]->id;
		return formats[i]->plugin.fmt;
	}
	return NULL;
}

const pfm_buffer_fmt_t *format_by_id(uint64_t id)
{
	uint64_t found = id - 1;
	const pfm_buffer_fmt_t *fmt = format_after(&found);

	return found == id ? fmt : NULL;
}

void formats_each(void (*each)(void *arg, const pfm_buffer_fmt_t *fmt), void *arg)
{
	for (size_t i = 0; i < nformats; i++)
		each(arg, formats[i]->plugin.fmt);
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
	/* Checked before any other field, as their meaning depends on the API. */
	if (fmt->fmt_api != PFM_FMT_API)
		return err_set(e, EINVAL,
			"it is made for version %u of the format interface, and this daemon has "
			"%d: compile it with this version's perfmonfs/format.h",
			fmt->fmt_api, PFM_FMT_API);
	if (!fmt->fmt_name)
		return err_set(e, EINVAL, "it has no name: set fmt_name");
	/* The name is also that of a directory in sys/formats. */
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
		return err_set(e, EINVAL,
			"'%s' has a parameter whose name is not one word: rename it",
			fmt->fmt_name);
	for (const pfm_fmt_param_t *q = fmt->fmt_params; q != p; q++)
		if (strcmp(q->name, p->name) == 0)
			return err_set(e, EINVAL, "'%s' has two parameters '%s': rename one",
				fmt->fmt_name, p->name);
	if ((p->size != 4 && p->size != 8) || p->offset > fmt->fmt_arg_size ||
		fmt->fmt_arg_size - p->offset < p->size)
		return err_set(e, EINVAL,
			"'%s': parameter '%s' is not 4 or 8 bytes within fmt_arg_size: correct its "
			"offset or size",
			fmt->fmt_name, p->name);
	if (p->size == 4 && p->def > UINT32_MAX)
		return err_set(e, EINVAL,
			"'%s': the default of parameter '%s' does not fit in its size: correct one "
			"of them",
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
		return err_set(e, EINVAL,
			"'%s': fmt_arg_size is over the limit of %d: use fewer parameters",
			fmt->fmt_name, ARG_SIZE_MAX);
	if (fmt->fmt_msgq_depth > MSGQ_DEPTH_MAX)
		return err_set(e, EINVAL, "'%s': fmt_msgq_depth is over the limit of %d: lower it",
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
		return err_set(e, EBUSY, "another format is named '%s': remove or rename one",
			fmt->fmt_name);
	if (format_find(slice_of(uuid)))
		return err_set(e, EBUSY, "'%s' has the UUID of '%s', %s: give it one of its own",
			fmt->fmt_name, format_find(slice_of(uuid))->fmt_name, uuid);
	return 0;
}

int format_register(const struct plugin *p, struct err *e)
{
	struct format_use **more, *use;

	if (format_check_identity(p->fmt, e) < 0 || format_check_abilities(p->fmt, e) < 0 ||
		format_check_unique(p->fmt, e) < 0)
		return -e->no;
	more = reallocarray(formats, nformats + 1, sizeof(struct format_use *));
	if (more)
		formats = more;
	use = more ? calloc(1, sizeof(*use)) : NULL;
	if (!use)
		return err_set(e, ENOMEM, "no memory");
	use->plugin = *p;
	use->id = ++last_id;
	formats[nformats++] = use;
	return 0;
}

int format_unregister(struct slice name_or_uuid, struct plugin *out, struct err *e)
{
	size_t i = format_index(name_or_uuid);
	struct format_use *use = i < nformats ? formats[i] : NULL;
	unsigned users;

	if (!use)
		return err_set(e, EINVAL, "no format '%.*s' is registered: see MNT/formats",
			SLICE_ARG(name_or_uuid));
	if (!use->plugin.so)
		return err_set(e, EPERM,
			"format '%s' is built in and cannot be removed: only formats from files "
			"can",
			use->plugin.fmt->fmt_name);
	users = atomic_load(&use->users);
	if (users)
		return err_set(e, EBUSY,
			"%u contexts use format '%s': remove them, or write none to their format",
			users, use->plugin.fmt->fmt_name);
	*out = use->plugin;
	free(use);
	nformats--;
	memmove(&formats[i], &formats[i + 1], (nformats - i) * sizeof(struct format_use *));
	return 0;
}

int formats_register(const pfm_buffer_fmt_t *const *list, struct err *e)
{
	for (; *list; list++)
		if (format_register(&(struct plugin){.fmt = *list}, e) < 0)
			return -e->no;
	return 0;
}

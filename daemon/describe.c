// SPDX-License-Identifier: MIT
/* Writes perfmonfs.json from the tables that the daemon serves the tree with. Runs when perfmonfs
 * is built, and is not installed. */
#include "daemon/describe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/version.h"
#include "daemon/command/command.h"
#include "daemon/command/ioctl.h"
#include "daemon/fs/rows/rows.h"
#include "formats/formats.h"
#include "perfmonfs/msg.h"

static void describe_file(const struct row_table *table, const struct row *r, struct text *out)
{
	text_printf(out, "\n{\"path\":\"");
	rows_print_path(table, r, out);
	text_printf(out, "\",\"type\":\"%s\",\"mode\":\"%04o\"",
		S_ISDIR(r->mode)   ? "directory"
		: S_ISLNK(r->mode) ? "link"
				   : "file",
		(unsigned)(r->mode & 07777));
	if (r->target)
		text_printf(out, ",\"target\":\"%s\"", r->target);
	text_printf(out, "%s%s%s%s}", r->exists ? ",\"optional\":true" : "",
		row_has(r, ROW_LINES) ? ",\"lines\":true" : "", r->poll ? ",\"poll\":true" : "",
		r->memory ? ",\"mmap\":true" : "");
}

static void describe_files(struct text *out)
{
	static struct row_table table;

	rows_collect(&table);
	text_printf(out, "\"files\":[");
	for (unsigned i = 0; i < table.n; i++) {
		text_printf(out, "%s", i ? "," : "");
		describe_file(&table, &table.row[i], out);
	}
	text_printf(out, "\n]");
}

/* The errors of fs-layout.md, "Errors". */
static void describe_errors(struct text *out)
{
	static const int errors[] = {EINVAL, ERANGE, ENOENT, EEXIST, EBADF, ESTALE, ENOTTY, EBUSY,
		EACCES, EPERM, ESRCH, EAGAIN, EINTR, ENXIO, EIO, ENODATA, ENOEXEC, E2BIG, EFBIG,
		EOPNOTSUPP, ENOSPC, ENODEV, ENOMEM};

	text_printf(out, "\"errors\":{");
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		text_printf(out, "%s\"%s\":%d", i ? "," : "", err_name(errors[i]), errors[i]);
	text_printf(out, "}");
}

/* Each type that `events` prints with a word, which begins its line. */
static void describe_messages(struct text *out)
{
	const char *comma = "";

	text_printf(out, "\"messages\":{");
	for (uint32_t type = 0; type <= UINT16_MAX; type++) {
		struct pfm_msg msg = {.type = type};
		TEXT_CLEANUP struct text line = {0};
		struct slice rest, word;

		command_print_events(&msg, 1, &line);
		rest = (struct slice){line.p, line.n};
		rest = slice_cut(&rest, '\n');
		word = slice_word(&rest);
		if (memchr(word.p, '=', word.n))
			continue;
		text_printf(out, "%s\"%.*s\":%u", comma, SLICE_ARG(word), type);
		comma = ",";
	}
	text_printf(out, "}");
}

static void describe_params(const pfm_fmt_param_t *p, struct text *out)
{
	text_printf(out, ",\"options\":[");
	for (bool first = true; p && p->name; p++, first = false)
		text_printf(out, "%s{\"name\":\"%s\",\"%s\":%llu}", first ? "" : ",", p->name,
			p->flag ? "flag" : "default",
			p->flag ? (unsigned long long)p->flag : (unsigned long long)p->def);
	text_printf(out, "]}");
}

/* The tag in the header of the format's buffer, by the rule of perfmonfs/smpl_source.h. */
static uint32_t describe_tag(const char *name)
{
	uint32_t tag = 0;

	for (unsigned i = 0; i < 4; i++)
		tag |= (uint32_t)(unsigned char)name[i] << 8 * i;
	return tag;
}

static void describe_formats(struct text *out)
{
	text_printf(out, "\"formats\":[");
	for (unsigned i = 0; builtin_formats[i]; i++) {
		const pfm_buffer_fmt_t *f = builtin_formats[i];

		text_printf(out, "%s\n{\"name\":\"%s\",\"tag\":%u,\"version\":%u,\"uuid\":\"",
			i ? "," : "", f->fmt_name, describe_tag(f->fmt_name), f->fmt_version);
		for (unsigned b = 0; b < sizeof(f->fmt_uuid); b++)
			text_printf(out, "%s%02x", b == 4 || b == 6 || b == 8 || b == 10 ? "-" : "",
				f->fmt_uuid[b]);
		text_printf(out, "\"");
		describe_params(f->fmt_params, out);
	}
	text_printf(out, "\n]");
}

int main(void)
{
	static void (*const parts[])(struct text *) = {describe_files, command_describe_ctl,
		describe_errors, packet_describe_kinds, describe_structs, describe_messages,
		describe_formats};
	TEXT_CLEANUP struct text out = {0};

	text_printf(
		&out, "{\"version\":\"%s\",\"interface\":%d", PERFMONFS_VERSION, ROWS_INTERFACE);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		text_printf(&out, ",\n");
		parts[i](&out);
	}
	text_printf(&out, "}\n");
	return text_ok(&out) && fputs(out.p, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;
}

// SPDX-License-Identifier: MIT
/* formats, and the format and buffer of a context. */
#include "daemon/fs/requests/smpl.h"

#include <errno.h>

#include "daemon/command/command.h"
#include "daemon/format/format.h"
#include "daemon/fs/requests/caller.h"
#include "daemon/fs/requests/format_loader.h"
#include "daemon/fs/requests/memory.h"
#include "daemon/fs/rows/rows.h"

static void smpl_print_format(void *arg, const pfm_buffer_fmt_t *fmt)
{
	char uuid[FORMAT_UUID_TEXT];

	format_uuid_text(fmt->fmt_uuid, uuid);
	text_printf(arg, "%s %s\n", uuid, fmt->fmt_name);
}

static void smpl_show_formats(const struct call *call, struct text *out)
{
	(void)call;
	formats_each(smpl_print_format, out);
}

static int smpl_store_formats(struct call *call, struct slice text, struct err *e)
{
	struct slice verb = slice_word(&text), name = slice_trim(text);

	if (slice_is(verb, "register") && name.n)
		return format_loader_register(call, name, e);
	if (slice_is(verb, "unregister") && name.n)
		return format_loader_unregister(call, name, e);
	return err_set(e, EINVAL,
		"'%.*s' is not a command: write 'register PATH' or 'unregister NAME'",
		SLICE_ARG(verb));
}

static void smpl_show_format(const struct call *call, struct text *out)
{
	const struct smpl *s = call->ctx->smpl;

	format_print(s ? s->fmt : NULL, s ? s->arg : NULL, out);
}

static int smpl_store_format(struct call *call, struct slice text, struct err *e)
{
	struct smpl *s;

	if (smpl_new(call, slice_trim(text), &s, e) < 0)
		return -e->no;
	return smpl_await(call, s, e);
}

static struct shared *smpl_buffer(const struct call *call, struct err *e)
{
	struct shared *s = smpl_memory(call->ctx);

	if (!s) {
		err_set(e, ENODEV, "there is no buffer: write a format that has one to 'format'");
	} else if (smpl_is_in_clone(call->ctx)) {
		err_set(e, ENODEV,
			"PFM_IOC_SETUP has made this buffer: map it from the open clone");
		s = NULL;
	}
	return s;
}

const struct row rows_smpl[] = {
	{FILE_ROW(DIR_ROOT, "formats", 0644), .flags = ROW_WAITS, .length = LINES_OF_MACHINE,
		.show = smpl_show_formats, .store = smpl_store_formats},
	{FILE_ROW(DIR_CTX, "format", 0600), .flags = ROW_MEMLOCK | ROW_WAITS,
		.show = smpl_show_format, .store = smpl_store_format},
	{FILE_ROW(DIR_CTX, "buffer", 0400), .memory = smpl_buffer, .size = memory_size},
	ROW_END,
};

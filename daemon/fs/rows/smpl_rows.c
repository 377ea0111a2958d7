// SPDX-License-Identifier: MIT
/* formats, and the format and buffer of a context. */
#include "daemon/fs/fs_i.h"

#include <errno.h>

#include "daemon/format/format.h"

static void print_format(void *arg, const pfm_buffer_fmt_t *fmt)
{
	char uuid[FORMAT_UUID_TEXT];

	format_uuid_text(fmt->fmt_uuid, uuid);
	text_printf(arg, "%s %s\n", uuid, fmt->fmt_name);
}

int formats_show(struct call *call, struct text *out, struct err *e)
{
	(void)call, (void)e;
	formats_each(print_format, out);
	return 0;
}

int format_show(struct call *call, struct text *out, struct err *e)
{
	const struct smpl *s = call->ctx->smpl;

	(void)e;
	format_print(s ? s->fmt : NULL, s ? s->arg : NULL, out);
	return 0;
}

int format_store(struct call *call, struct slice text, struct err *e)
{
	struct command cmd = {.verb = CMD_FORMAT};
	struct smpl *s;
	int rc;

	if (call->ctx->number)
		return err_set(e, EBUSY, "the format of a clone is chosen by PFM_IOC_SETUP alone");
	rc = smpl_new(call, slice_trim(text), &s, e);
	if (rc < 0)
		return rc;
	call_set_up(call, &cmd, s);
	return CALL_LATER;
}

struct shared *buffer_memory(const struct call *call, struct err *e)
{
	struct shared *s = context_memory(call->ctx);

	if (!s) {
		err_set(e, ENODEV, "there is no buffer: write a format that has one to 'format'");
	} else if (call->ctx->number) {
		err_set(e, ENODEV, "the buffer of a clone is mapped of that alone");
		s = NULL;
	}
	return s;
}

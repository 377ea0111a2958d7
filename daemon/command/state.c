// SPDX-License-Identifier: MIT
#include "daemon/command/command.h"

#include <errno.h>

static const struct {
	const char *name;
	enum ctx_flag flag;
} flag_names[] = {
	{"system_wide", CTX_SYSTEM_WIDE},
	{"notify_block", CTX_NOTIFY_BLOCK},
	{"ovfl_no_msg", CTX_OVFL_NO_MSG},
};

enum { NFLAGS = sizeof(flag_names) / sizeof(flag_names[0]) };

static int parse_flag(struct slice word, unsigned *flags, struct err *e)
{
	for (unsigned i = 0; i < NFLAGS; i++) {
		if (slice_is(word, flag_names[i].name)) {
			*flags |= flag_names[i].flag;
			return 0;
		}
	}
	return err_set(e, EINVAL,
		"no flag '%.*s': system_wide, notify_block and ovfl_no_msg are, or 'none'",
		SLICE_ARG(word));
}

int command_parse_flags(struct slice text, unsigned *flags, struct err *e)
{
	struct slice word = slice_word(&text);

	*flags = 0;
	if (slice_is(word, "none"))
		word = slice_word(&text);
	else if (!word.n)
		return err_set(e, EINVAL, "no flags given: write 'none' to clear them");
	else
		for (; word.n; word = slice_word(&text))
			if (parse_flag(word, flags, e) < 0)
				return -e->no;
	return word.n ? err_set(e, EINVAL, "'none' stands alone") : 0;
}

void command_print_flags(unsigned flags, struct text *out)
{
	const char *sep = "";

	for (unsigned i = 0; i < NFLAGS; i++) {
		if (!(flags & flag_names[i].flag))
			continue;
		text_printf(out, "%s%s", sep, flag_names[i].name);
		sep = " ";
	}
	text_printf(out, "%s\n", flags ? "" : "none");
}

void command_print_state(const struct ctx_info *info, struct text *out)
{
	static const char *const names[] = {
		[CTX_UNLOADED] = "unloaded", [CTX_LOADED] = "loaded", [CTX_RUNNING] = "running"};

	text_printf(out, "%s", names[info->state]);
	if (info->state != CTX_UNLOADED)
		text_printf(out, " cpu=%u set=%u", info->cpu, info->set);
	text_printf(out, "\n");
}

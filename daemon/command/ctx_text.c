// SPDX-License-Identifier: MIT
/* The flags and the state of a context. */
#include "daemon/command/command_i.h"

#include <inttypes.h>

static const struct flag_word ctx_flag_words[] = {
	{"system_wide", CTX_SYSTEM_WIDE},
	{"notify_block", CTX_NOTIFY_BLOCK},
	{"ovfl_no_msg", CTX_OVFL_NO_MSG},
	{"raw", CTX_RAW},
	{"gaps", CTX_GAPS},
	{"background", CTX_BACKGROUND},
	{0},
};

int command_parse_flags(struct slice text, unsigned *flags, struct err *e)
{
	return flag_words_parse(text, ctx_flag_words, flags, e);
}

void command_print_flags(unsigned flags, struct text *out)
{
	flag_words_print_line(ctx_flag_words, flags, out);
}

void command_print_state(const struct ctx_info *info, struct text *out)
{
	static const char *const names[] = {[CTX_UNLOADED] = "unloaded",
		[CTX_LOADED] = "loaded",
		[CTX_RUNNING] = "running",
		[CTX_MASKED] = "masked"};

	text_printf(out, "%s",
		info->ended     ? "zombie"
		: info->yielded ? "yielded"
				: names[info->state]);
	if (info->ended || (info->state != CTX_UNLOADED && info->tid))
		text_printf(out, " tid=%d", info->tid);
	else if (info->state != CTX_UNLOADED)
		text_printf(out, " cpu=%u", info->cpu);
	if (info->state != CTX_UNLOADED)
		text_printf(out, " set=%u", info->set);
	if (info->yielded && info->state != CTX_RUNNING)
		text_printf(out, " %s", info->state == CTX_MASKED ? "masked" : "stopped");
	if (info->state == CTX_MASKED && info->throttled)
		text_printf(out, " throttled");
	if (info->gaps)
		text_printf(out, " gaps=%" PRIu64, info->gaps);
	if (info->lost)
		text_printf(out, " lost");
	text_printf(out, "\n");
}

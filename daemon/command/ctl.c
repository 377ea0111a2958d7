// SPDX-License-Identifier: MIT
#include "daemon/command/command.h"

#include <errno.h>

#include "base/num.h"

enum {
	ARG_CPU = 1 << 0,
	ARG_SET = 1 << 1,
	MAX_CPU = 1 << 20,
	MAX_SET = 65535, /* specification 3.7.5 */
};

static const struct verb {
	const char *name;
	enum cmd_verb verb;
	unsigned takes, needs;
	const char *usage;
} verbs[] = {
	{"load", CMD_LOAD, ARG_CPU | ARG_SET, ARG_CPU, "load cpu=N [set=ID]"},
	{"start", CMD_START, ARG_SET, 0, "start [set=ID]"},
	{"stop", CMD_STOP, 0, 0, "stop"},
	{"unload", CMD_UNLOAD, 0, 0, "unload"},
};

enum { NVERBS = sizeof(verbs) / sizeof(verbs[0]) };

static int parse_arg(struct slice word, const struct verb *v, struct command *cmd, unsigned *given,
	struct err *e)
{
	struct slice key = slice_cut(&word, '=');
	uint64_t n;
	unsigned arg = 0;
	int rc;

	if (slice_is(key, "cpu"))
		arg = ARG_CPU;
	else if (slice_is(key, "set"))
		arg = ARG_SET;
	if (!(arg & v->takes))
		return err_set(e, EINVAL, "'%.*s' is no argument of '%s': write '%s'",
			SLICE_ARG(key), v->name, v->usage);
	if (*given & arg)
		return err_set(e, EINVAL, "'%.*s' is given twice", SLICE_ARG(key));
	*given |= arg;
	rc = num_max(word, arg == ARG_CPU ? MAX_CPU : MAX_SET, &n, e);
	if (rc < 0)
		return err_prefix(e, "%.*s", SLICE_ARG(key));
	if (arg == ARG_CPU) {
		cmd->cpu = (unsigned)n;
	} else {
		cmd->set = (uint16_t)n;
		cmd->has_set = true;
	}
	return 0;
}

static const struct verb *find_verb(struct slice name)
{
	for (unsigned i = 0; i < NVERBS; i++)
		if (slice_is(name, verbs[i].name))
			return &verbs[i];
	return NULL;
}

int command_parse_ctl(struct slice text, struct command *cmd, struct err *e)
{
	struct slice word = slice_word(&text);
	const struct verb *v = find_verb(word);
	unsigned given = 0;
	int rc;

	if (!v)
		return err_set(e, EINVAL, "no command '%.*s': load, start, stop and unload are",
			SLICE_ARG(word));
	cmd->verb = v->verb;
	while ((word = slice_word(&text)).n) {
		rc = parse_arg(word, v, cmd, &given, e);
		if (rc < 0)
			return rc;
	}
	if (v->needs & ~given)
		return err_set(e, EINVAL, "'%s' lacks an argument: write '%s'", v->name, v->usage);
	return 0;
}

void command_print_ctl(const struct command *cmd, struct text *out)
{
	for (unsigned i = 0; i < NVERBS; i++)
		if (verbs[i].verb == cmd->verb)
			text_printf(out, "%s", verbs[i].name);
	if (cmd->verb == CMD_LOAD)
		text_printf(out, " cpu=%u", cmd->cpu);
	if (cmd->has_set)
		text_printf(out, " set=%u", cmd->set);
	text_printf(out, "\n");
}

// SPDX-License-Identifier: MIT
#include "daemon/command/command_i.h"

#include <errno.h>

#include "base/num.h"

enum {
	ARG_CPU = 1 << 0,
	ARG_SET = 1 << 1,
	ARG_SIG = 1 << 2,
	ARG_TID = 1 << 3,
};

/* Linux has neither more CPUs, nor higher signals or thread numbers. */
static const struct arg {
	const char *name;
	unsigned bit;
	uint64_t max;
} args[] = {
	{"cpu", ARG_CPU, 1 << 20},
	{"set", ARG_SET, MAX_SET},
	{"sig", ARG_SIG, 64},
	{"tid", ARG_TID, 1 << 22},
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
	{"restart", CMD_RESTART, 0, 0, "restart"},
	{"unload", CMD_UNLOAD, 0, 0, "unload"},
	{"signal", CMD_SIGNAL, ARG_SIG | ARG_TID, ARG_SIG, "signal sig=N [tid=N]"},
};

enum {
	NARGS = sizeof(args) / sizeof(args[0]),
	NVERBS = sizeof(verbs) / sizeof(verbs[0]),
};

static const struct arg *find_arg(struct slice name, const struct verb *v)
{
	for (const struct arg *a = args; a < args + NARGS; a++)
		if ((v->takes & a->bit) && slice_is(name, a->name))
			return a;
	return NULL;
}

static void set_arg(const struct arg *a, uint64_t n, struct command *cmd)
{
	switch (a->bit) {
	case ARG_CPU:
		cmd->cpu = (unsigned)n;
		break;
	case ARG_SET:
		cmd->set = (uint16_t)n;
		cmd->has_set = true;
		break;
	case ARG_SIG:
		cmd->sig = (int)n;
		break;
	case ARG_TID:
		cmd->tid = (int)n;
		break;
	}
}

static int parse_arg(struct slice word, const struct verb *v, struct command *cmd, unsigned *given,
	struct err *e)
{
	struct slice key = slice_cut(&word, '=');
	const struct arg *a = find_arg(key, v);
	uint64_t n;

	if (!a)
		return err_set(e, EINVAL, "'%.*s' is no argument of '%s': write '%s'",
			SLICE_ARG(key), v->name, v->usage);
	if (*given & a->bit)
		return err_set(e, EINVAL, "'%s' is given twice: leave one out", a->name);
	*given |= a->bit;
	if (num_max(word, a->max, &n, e) < 0)
		return err_prefix(e, "%s", a->name);
	if (a->bit == ARG_TID && !n)
		return err_set(e, EINVAL, "no thread has number 0: leave tid out for your own");
	set_arg(a, n, cmd);
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
		return err_set(e, EINVAL,
			"no command '%.*s': load, start, stop, restart, unload and signal are",
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
	if (cmd->verb == CMD_SIGNAL)
		text_printf(out, " sig=%d", cmd->sig);
	if (cmd->tid)
		text_printf(out, " tid=%d", cmd->tid);
	if (cmd->has_set)
		text_printf(out, " set=%u", cmd->set);
	text_printf(out, "\n");
}

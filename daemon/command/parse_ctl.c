// SPDX-License-Identifier: MIT
#include "daemon/command/command_i.h"

#include <errno.h>
#include <stdlib.h>

#include "base/num.h"

enum {
	ARG_CPU = 1 << 0,
	ARG_SET = 1 << 1,
	ARG_SIG = 1 << 2,
	ARG_TID = 1 << 3,
	ARG_FOLLOW = 1 << 4,
	ARG_CPUS = 1 << 5,
	ARG_PTRACE = 1 << 6,
	ARGS_OF_THREAD = ARG_TID | ARG_FOLLOW | ARG_CPUS | ARG_PTRACE,
};

/* Linux has neither more CPUs, nor higher signals or thread numbers. */
static const struct arg {
	const char *name;
	unsigned bit;
	enum { NUMBER, WORD, LIST, CHOICE } kind;
	uint64_t max;
} args[] = {
	{"cpu", ARG_CPU, NUMBER, 1 << 20},
	{"set", ARG_SET, NUMBER, MAX_SET},
	{"sig", ARG_SIG, NUMBER, 64},
	{"tid", ARG_TID, NUMBER, 1 << 22},
	{"follow", ARG_FOLLOW, WORD, 0},
	{"cpus", ARG_CPUS, LIST, 0},
	{"ptrace", ARG_PTRACE, CHOICE, 0},
};

#define LOAD_USAGE "load cpu=N [set=ID]' or 'load tid=N [set=ID] [follow] [cpus=LIST] [ptrace=no]"

static const struct verb {
	const char *name;
	enum cmd_verb verb;
	unsigned takes, needs;
	const char *usage;
} verbs[] = {
	{"load", CMD_LOAD, ARG_CPU | ARG_SET | ARGS_OF_THREAD, 0, LOAD_USAGE},
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

static void set_number(const struct arg *a, uint64_t n, struct command *cmd)
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

static int parse_number(const struct arg *a, struct slice value, struct command *cmd, struct err *e)
{
	uint64_t n;

	if (num_max(value, a->max, &n, e) < 0)
		return err_prefix(e, "%s", a->name);
	if (a->bit == ARG_TID && !n)
		return err_set(e, EINVAL, "tid: no thread has number 0: %s",
			cmd->verb == CMD_LOAD ? "write one that ps -eL shows"
					      : "leave tid out for your own");
	set_number(a, n, cmd);
	return 0;
}

static int parse_cpus(struct slice value, struct command *cmd, struct err *e)
{
	cmd->cpus = calloc(1, sizeof(*cmd->cpus));
	if (!cmd->cpus)
		return err_set(e, ENOMEM, "no memory for the list of CPUs");
	if (list_parse(value, cmd->cpus->bits, CPUS_MAX, e) < 0)
		return err_prefix(e, "cpus");
	return 0;
}

static int parse_ptrace(struct slice value, struct command *cmd, struct err *e)
{
	cmd->untraced = slice_is(value, "no");
	if (!cmd->untraced && !slice_is(value, "yes"))
		return err_set(e, EINVAL, "ptrace: write 'ptrace=no', or leave it out");
	return 0;
}

static int parse_arg(struct slice word, const struct verb *v, struct command *cmd, unsigned *given,
	struct err *e)
{
	struct slice value = word, key = slice_cut(&value, '=');
	const struct arg *a = find_arg(key, v);

	if (!a)
		return err_set(e, EINVAL, "'%.*s' is no argument of '%s': write '%s'",
			SLICE_ARG(key), v->name, v->usage);
	if (*given & a->bit)
		return err_set(e, EINVAL, "'%s' is given twice: leave one out", a->name);
	*given |= a->bit;
	switch (a->kind) {
	case NUMBER:
		return parse_number(a, value, cmd, e);
	case LIST:
		return parse_cpus(value, cmd, e);
	case CHOICE:
		return parse_ptrace(value, cmd, e);
	case WORD:
		cmd->follow = true;
		break;
	}
	if (key.n != word.n)
		return err_set(e, EINVAL, "'%s' has no value: write the word alone", a->name);
	return 0;
}

int load_check(const struct command *cmd, struct err *e)
{
	if (cmd->follow && cmd->untraced)
		return err_set(e, EINVAL,
			"following what a thread makes needs ptrace: leave out follow or "
			"ptrace=no");
	return 0;
}

/* It is on one CPU or on one thread, and the rest of its arguments is about following that. */
static int check_args(const struct command *cmd, unsigned given, struct err *e)
{
	if (!(given & (ARG_CPU | ARG_TID)))
		return err_set(e, EINVAL, "'load' lacks an argument: write '%s'", LOAD_USAGE);
	if ((given & ARG_CPU) && (given & ARG_TID))
		return err_set(e, EINVAL,
			"a context is loaded on a CPU or on a thread: leave out cpu or tid");
	if ((given & ARG_CPU) && (given & ARGS_OF_THREAD))
		return err_set(e, EINVAL, "follow, cpus and ptrace go with tid=N: leave them out");
	return load_check(cmd, e);
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
			"no command '%.*s': write load, start, stop, restart, unload or signal",
			SLICE_ARG(word));
	cmd->verb = v->verb;
	while ((word = slice_word(&text)).n) {
		rc = parse_arg(word, v, cmd, &given, e);
		if (rc < 0)
			return rc;
	}
	if (v->needs & ~given)
		return err_set(e, EINVAL, "'%s' lacks an argument: write '%s'", v->name, v->usage);
	return v->verb == CMD_LOAD ? check_args(cmd, given, e) : 0;
}

static void print_following(const struct command *cmd, struct text *out)
{
	if (cmd->follow)
		text_printf(out, " follow");
	if (cmd->cpus) {
		text_printf(out, " cpus=");
		list_print(cmd->cpus->bits, CPUS_MAX, out);
	}
	if (cmd->untraced)
		text_printf(out, " ptrace=no");
}

void command_print_ctl(const struct command *cmd, struct text *out)
{
	for (unsigned i = 0; i < NVERBS; i++)
		if (verbs[i].verb == cmd->verb)
			text_printf(out, "%s", verbs[i].name);
	if (cmd->verb == CMD_LOAD && !cmd->tid)
		text_printf(out, " cpu=%u", cmd->cpu);
	if (cmd->verb == CMD_SIGNAL)
		text_printf(out, " sig=%d", cmd->sig);
	if (cmd->tid)
		text_printf(out, " tid=%d", cmd->tid);
	if (cmd->has_set)
		text_printf(out, " set=%u", cmd->set);
	print_following(cmd, out);
	text_printf(out, "\n");
}

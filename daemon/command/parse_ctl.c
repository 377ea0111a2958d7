// SPDX-License-Identifier: MIT
#include "daemon/command/command_i.h"

#include <errno.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/number_list.h"

enum {
	ARG_CPU = 1 << 0,
	ARG_SET = 1 << 1,
	ARG_SIG = 1 << 2,
	ARG_TID = 1 << 3,
	ARG_FOLLOW = 1 << 4,
	ARG_CPUS = 1 << 5,
	ARG_PTRACE = 1 << 6,
	ARG_PID = 1 << 7,
	ARG_INHERIT = 1 << 8,
	ARG_ON_EXEC = 1 << 9,
	THREAD_ARGS =
		ARG_TID | ARG_PID | ARG_FOLLOW | ARG_CPUS | ARG_PTRACE | ARG_INHERIT | ARG_ON_EXEC,
};

static const struct ctl_arg {
	const char *name;
	unsigned bit;
	enum { NUMBER, WORD, LIST, CHOICE } kind;
	uint64_t max;
} ctl_args[] = {
	{"cpu", ARG_CPU, NUMBER, MAX_CPU},
	{"set", ARG_SET, NUMBER, MAX_SET},
	{"sig", ARG_SIG, NUMBER, MAX_SIG},
	{"tid", ARG_TID, NUMBER, MAX_TID},
	{"pid", ARG_PID, NUMBER, MAX_TID},
	{"follow", ARG_FOLLOW, WORD, 0},
	{"cpus", ARG_CPUS, LIST, 0},
	{"ptrace", ARG_PTRACE, CHOICE, 0},
	{"inherit", ARG_INHERIT, WORD, 0},
	{"on_exec", ARG_ON_EXEC, WORD, 0},
};

#define LOAD_USAGE                                                                                 \
	"load cpu=N [set=ID]', 'load tid=N [set=ID] [follow] [cpus=LIST] [ptrace=no]', 'load "     \
	"tid=N [set=ID] inherit [on_exec]', 'load pid=N [set=ID] [follow] [cpus=LIST]' or "        \
	"'load pid=N [set=ID] inherit"

static const struct ctl_verb {
	const char *name;
	enum cmd_verb verb;
	unsigned takes, needs;
	const char *usage;
} ctl_verbs[] = {
	{"load", CMD_LOAD, ARG_CPU | ARG_SET | THREAD_ARGS, 0, LOAD_USAGE},
	{"start", CMD_START, ARG_SET, 0, "start [set=ID]"},
	{"stop", CMD_STOP, 0, 0, "stop"},
	{"restart", CMD_RESTART, 0, 0, "restart"},
	{"unload", CMD_UNLOAD, 0, 0, "unload"},
	{"signal", CMD_SIGNAL, ARG_SIG | ARG_TID, ARG_SIG, "signal sig=N [tid=N]"},
};

enum {
	NARGS = sizeof(ctl_args) / sizeof(ctl_args[0]),
	NVERBS = sizeof(ctl_verbs) / sizeof(ctl_verbs[0]),
};

static const struct ctl_arg *ctl_find_arg(struct slice name, const struct ctl_verb *v)
{
	for (const struct ctl_arg *a = ctl_args; a < ctl_args + NARGS; a++)
		if ((v->takes & a->bit) && slice_is(name, a->name))
			return a;
	return NULL;
}

static void ctl_set_number(const struct ctl_arg *a, uint64_t n, struct command *cmd)
{
	switch (a->bit) {
	case ARG_CPU:
		cmd->load.cpu = (unsigned)n;
		break;
	case ARG_SET:
		cmd->set = (uint16_t)n;
		cmd->has_set = true;
		break;
	case ARG_SIG:
		cmd->signal.sig = (int)n;
		break;
	case ARG_PID:
	case ARG_TID:
		cmd->load.process = a->bit == ARG_PID;
		cmd->tid = (int)n;
		break;
	}
}

/* The likely mistakes: a list of CPUs, the name of a signal, too many digits. */
static int ctl_refuse_number(const struct ctl_arg *a, struct slice value, struct err *e)
{
	if (e->no == EINVAL && !slice_is_digits(value) && a->bit == ARG_CPU)
		return err_set(e, EINVAL,
			"cpu: '%.*s' is not a CPU number: a context counts on one CPU, so make one "
			"for each, and write load cpu=N",
			SLICE_ARG(value));
	if (e->no == EINVAL && !slice_is_digits(value) && a->bit == ARG_SIG)
		return err_set(e, EINVAL,
			"sig: '%.*s' is not a signal number: write the one that kill -l NAME "
			"prints, as in sig=10",
			SLICE_ARG(value));
	if (e->no == ERANGE && a->bit == ARG_CPU)
		return err_set(e, ERANGE, "there is no CPU %.*s: see cpus", SLICE_ARG(value));
	if (e->no == ERANGE && a->bit & (ARG_TID | ARG_PID))
		return err_set(e, ERANGE, "%s: no %s has number %.*s: write one that ps -eL shows",
			a->name, a->bit == ARG_PID ? "process" : "thread", SLICE_ARG(value));
	return err_prefix(e, "%s", a->name);
}

static int ctl_parse_number(
	const struct ctl_arg *a, struct slice value, struct command *cmd, struct err *e)
{
	uint64_t n;

	if (num_max(value, a->max, &n, e) < 0)
		return ctl_refuse_number(a, value, e);
	if (a->bit & (ARG_TID | ARG_PID) && !n)
		return err_set(e, EINVAL, "%s: no %s has number 0: %s", a->name,
			a->bit == ARG_PID ? "process" : "thread",
			cmd->verb == CMD_LOAD ? "write one that ps -eL shows"
					      : "leave tid out to name the caller");
	ctl_set_number(a, n, cmd);
	return 0;
}

static int ctl_parse_cpus(struct slice value, struct command *cmd, struct err *e)
{
	cmd->load.cpus = calloc(1, sizeof(*cmd->load.cpus));
	if (!cmd->load.cpus)
		return err_set(e, ENOMEM, "no memory for the list of CPUs");
	if (number_list_parse(value, cmd->load.cpus->bits, CPUS_MAX, e) < 0)
		return err_prefix(e, "cpus");
	return 0;
}

static int ctl_parse_ptrace(struct slice value, struct command *cmd, struct err *e)
{
	cmd->load.untraced = slice_is(value, "no");
	if (!cmd->load.untraced && !slice_is(value, "yes"))
		return err_set(e, EINVAL, "ptrace: write 'ptrace=no', or leave it out");
	return 0;
}

static void ctl_set_word(const struct ctl_arg *a, struct command *cmd)
{
	switch (a->bit) {
	case ARG_FOLLOW:
		cmd->load.follow = true;
		break;
	case ARG_INHERIT:
		cmd->load.inherit = true;
		break;
	case ARG_ON_EXEC:
		cmd->load.on_exec = true;
		break;
	}
}

static int ctl_parse_arg(struct slice word, const struct ctl_verb *v, struct command *cmd,
	unsigned *given, struct err *e)
{
	struct slice value = word, key = slice_cut(&value, '=');
	const struct ctl_arg *a = ctl_find_arg(key, v);

	if (!a)
		return err_set(e, EINVAL, "'%.*s' is not an argument of '%s': write '%s'",
			SLICE_ARG(key), v->name, v->usage);
	if (*given & a->bit)
		return err_set(e, EINVAL, "'%s' is given twice: leave one out", a->name);
	*given |= a->bit;
	switch (a->kind) {
	case NUMBER:
		return ctl_parse_number(a, value, cmd, e);
	case LIST:
		return ctl_parse_cpus(value, cmd, e);
	case CHOICE:
		return ctl_parse_ptrace(value, cmd, e);
	case WORD:
		ctl_set_word(a, cmd);
		break;
	}
	if (key.n != word.n)
		return err_set(e, EINVAL, "'%s' takes no value: write the word alone", a->name);
	return 0;
}

/* A load names one CPU, or one thread and how to follow it. */
static int ctl_check_load(const struct command *cmd, unsigned given, struct err *e)
{
	if (!(given & (ARG_CPU | ARG_TID | ARG_PID)))
		return err_set(e, EINVAL, "'load' lacks an argument: write '%s'", LOAD_USAGE);
	if ((given & ARG_CPU) && (given & (ARG_TID | ARG_PID)))
		return err_set(e, EINVAL,
			"a context is loaded on a CPU or on a thread: leave out cpu, or tid and "
			"pid");
	if ((given & ARG_TID) && (given & ARG_PID))
		return err_set(e, EINVAL,
			"tid is for one thread, pid for all threads of a process: leave one out");
	if ((given & ARG_CPU) && (given & THREAD_ARGS))
		return err_set(e, EINVAL,
			"follow, inherit, on_exec, cpus and ptrace are for threads: leave them out "
			"with cpu");
	return command_check_load(cmd, e);
}

static const struct ctl_verb *ctl_find_verb(struct slice name)
{
	for (unsigned i = 0; i < NVERBS; i++)
		if (slice_is(name, ctl_verbs[i].name))
			return &ctl_verbs[i];
	return NULL;
}

int command_parse_ctl(struct slice text, struct command *cmd, struct err *e)
{
	struct slice word = slice_word(&text);
	const struct ctl_verb *v = ctl_find_verb(word);
	unsigned given = 0;
	int rc;

	if (!v)
		return err_set(e, EINVAL,
			"'%.*s' is not a command: write load, start, stop, restart, unload or "
			"signal",
			SLICE_ARG(word));
	cmd->verb = v->verb;
	while ((word = slice_word(&text)).n) {
		rc = ctl_parse_arg(word, v, cmd, &given, e);
		if (rc < 0)
			return rc;
	}
	if (v->needs & ~given)
		return err_set(e, EINVAL, "'%s' lacks an argument: write '%s'", v->name, v->usage);
	return v->verb == CMD_LOAD ? ctl_check_load(cmd, given, e) : 0;
}

static void ctl_describe_args(const struct ctl_verb *v, struct text *out)
{
	static const char *const kinds[] = {
		[NUMBER] = "number", [WORD] = "word", [LIST] = "list", [CHOICE] = "choice"};
	const char *comma = "";

	for (const struct ctl_arg *a = ctl_args; a < ctl_args + NARGS; a++) {
		if (!(v->takes & a->bit))
			continue;
		text_printf(out, "%s{\"name\":\"%s\",\"kind\":\"%s\"%s", comma, a->name,
			kinds[a->kind], v->needs & a->bit ? ",\"required\":true" : "");
		if (a->kind == NUMBER)
			text_printf(out, ",\"max\":%llu", (unsigned long long)a->max);
		text_printf(out, "}");
		comma = ",";
	}
}

void command_describe_ctl(struct text *out)
{
	text_printf(out, "\"commands\":[");
	for (unsigned i = 0; i < NVERBS; i++) {
		text_printf(
			out, "%s\n{\"name\":\"%s\",\"args\":[", i ? "," : "", ctl_verbs[i].name);
		ctl_describe_args(&ctl_verbs[i], out);
		text_printf(out, "]}");
	}
	text_printf(out, "\n]");
}

static void ctl_print_task_args(const struct command *cmd, struct text *out)
{
	if (cmd->load.follow)
		text_printf(out, " follow");
	if (cmd->load.cpus) {
		text_printf(out, " cpus=");
		number_list_print(cmd->load.cpus->bits, CPUS_MAX, out);
	}
	if (cmd->load.untraced)
		text_printf(out, " ptrace=no");
	if (cmd->load.inherit)
		text_printf(out, " inherit");
	if (cmd->load.on_exec)
		text_printf(out, " on_exec");
}

void command_print_ctl(const struct command *cmd, struct text *out)
{
	for (unsigned i = 0; i < NVERBS; i++)
		if (ctl_verbs[i].verb == cmd->verb)
			text_printf(out, "%s", ctl_verbs[i].name);
	if (cmd->verb == CMD_LOAD && !cmd->tid)
		text_printf(out, " cpu=%u", cmd->load.cpu);
	if (cmd->verb == CMD_SIGNAL)
		text_printf(out, " sig=%d", cmd->signal.sig);
	if (cmd->tid)
		text_printf(out, " %s=%d", cmd->load.process ? "pid" : "tid", cmd->tid);
	if (cmd->has_set)
		text_printf(out, " set=%u", cmd->set);
	ctl_print_task_args(cmd, out);
	text_printf(out, "\n");
}

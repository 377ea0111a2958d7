/* SPDX-License-Identifier: MIT */
/*
 * Converts text to struct command and back. Knows no file and no context: the core decides what a
 * register number or a state allows. Parsers take the output of slice_text(). They fail with EINVAL
 * (syntax) or ERANGE (number); the command is unspecified then.
 */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "base/slice.h"
#include "base/text.h"
#include "daemon/core/request.h"

/*
 * ctl: "load cpu=N [set=ID]", "load tid=N [set=ID] [follow] [cpus=LIST] [ptrace=no]",
 * "load tid=N [set=ID] inherit [on_exec]", "load pid=N [set=ID] [follow] [cpus=LIST]",
 * "load pid=N [set=ID] inherit",
 * "start [set=ID]", "stop", "restart", "unload", "signal sig=N [tid=N]". Allocates cmd->cpus, which
 * command_free() frees, also after a failure.
 */
int command_parse_ctl(struct slice text, struct command *cmd, struct err *e);
void command_print_ctl(const struct command *cmd, struct text *out);
/* Prints the commands as a member of an object in JSON. */
void command_describe_ctl(struct text *out);

/* pmc/N of PMC @num: the value, or the name of an event that @pmu lists, perhaps with its levels:
 * "page-faults:u". */
int command_parse_pmc(
	struct slice text, const struct pmu *pmu, unsigned num, uint64_t *value, struct err *e);

/* pmd/N: "VALUE [OPTION...]" to r->value and r->conf; absent options are 0 or off. */
int command_parse_pmd(struct slice text, struct cmd_reg *r, struct err *e);

/*
 * regs: a line per register, "pmc0 0x5300c0" or "pmd0 -100000 short=-100000 notify", to cmd->regs
 * for event set @set. Allocates cmd->regs, which command_free() frees. An invalid line ends the
 * vector and its error becomes cmd->cut, so that the lines before it take effect; only empty text
 * fails here.
 */
int command_parse_regs(
	struct slice text, const struct pmu *pmu, uint16_t set, struct command *cmd, struct err *e);

/* Print the text that reading returns, which can be written. pmd/N shows only the value, regs all
 * options as well. */
void command_print_pmc(uint64_t value, struct text *out);
void command_print_pmd(uint64_t value, struct text *out);
void command_print_regs(const struct command *cmd, struct text *out);

/* Fails with ENOENT: the PMU has no PMD, or PMC, called @name. The sentence lists those that it
 * has. */
int command_no_register(const struct pmu *pmu, bool pmd, struct slice name, struct err *e);

/* flags: words of system_wide notify_block ovfl_no_msg raw gaps, or "none". */
int command_parse_flags(struct slice text, unsigned *flags, struct err *e);
void command_print_flags(unsigned flags, struct text *out);

/*
 * The properties of an event set, each of which is a file. Parsers also set set->change; printers
 * print the result of CMD_EVTSET_READ.
 */

/* The name of a set's directory: its id, written as the directory shows it. */
int command_parse_evtset_id(const char *name, uint16_t *id, struct err *e);

/* flags: words of ovfl_switch time_switch expl_next, or "none". */
int command_parse_evtset_flags(struct slice text, struct cmd_evtset *set, struct err *e);
void command_print_evtset_flags(const struct command *cmd, struct text *out);

int command_parse_evtset_timeout(struct slice text, struct cmd_evtset *set, struct err *e);
void command_print_evtset_timeout(const struct command *cmd, struct text *out);

/* next: an id, or "default" for the next higher one. */
int command_parse_evtset_next(struct slice text, struct cmd_evtset *set, struct err *e);
void command_print_evtset_next(const struct command *cmd, struct text *out);

void command_print_evtset_runs(const struct command *cmd, struct text *out);
void command_print_evtset_active_ns(const struct command *cmd, struct text *out);
void command_print_evtset_remaining_ns(const struct command *cmd, struct text *out);
void command_print_evtset_switch_pmds(const struct command *cmd, struct text *out);

/* available: "pmcs 0-3,16" and "pmds 0-3,16-18". */
void command_print_evtset_available(const struct command *cmd, struct text *out);

/* " gaps=N uncertain=NS" after a count that has gaps. */
void command_print_gaps(const struct gaps *g, struct text *out);

/* overflows: after a CMD_READ, a line "pmd0 overflows=3 last_reset=0 thresh_left=2" per PMD. */
void command_print_overflows(const struct command *cmd, struct text *out);

/* events: a line per message, "overflow cpu=1 set=0 pmds=0,4", followed by the thread and its
 * instruction pointer, if known: " pid=7 tid=8 ip=0x401000". */
void command_print_events(const struct pfm_msg *msgs, unsigned n, struct text *out);

/* state: "unloaded", "zombie tid=7", "loaded cpu=1 set=0", "loaded tid=7 set=0"; running and masked
 * as loaded, and " throttled" may follow masked. " lost" comes last if a count is lost. */
void command_print_state(const struct ctx_info *info, struct text *out);

void command_free(struct command *cmd);

#endif

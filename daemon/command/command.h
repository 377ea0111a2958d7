/* SPDX-License-Identifier: MIT */
/*
 * Text into struct command and back. Knows no file and no context: what a register number or a
 * state allows is for the core to say. Parsers take what slice_text() has cleaned, refuse with
 * EINVAL (syntax) or ERANGE (number) and a sentence, and then leave the command unspecified.
 */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "base/slice.h"
#include "base/text.h"
#include "daemon/core/request.h"

/*
 * ctl: "load cpu=N [set=ID]", "load tid=N [set=ID] [follow] [cpus=LIST] [ptrace=no]",
 * "start [set=ID]", "stop", "restart", "unload", "signal sig=N [tid=N]". cmd->cpus is allocated
 * here and freed by command_free(), after a failure too.
 */
int command_parse_ctl(struct slice text, struct command *cmd, struct err *e);
void command_print_ctl(const struct command *cmd, struct text *out);

/* pmc/N: the value for the register already named. */
int command_parse_pmc(struct slice text, uint64_t *value, struct err *e);

/* pmd/N: "VALUE OPTION..." into r->value and r->conf; an option that is not given is 0 or off. */
int command_parse_pmd(struct slice text, struct cmd_reg *r, struct err *e);

/*
 * regs: a line per register, "pmc0 0x5300c0" or "pmd0 -100000 short=-100000 notify", into
 * cmd->regs (allocated here, freed by command_free()) for event set @set. A line that cannot be
 * parsed ends the vector and becomes cmd->cut, so that those before it still take effect; only no
 * line at all fails here.
 */
int command_parse_regs(struct slice text, uint16_t set, struct command *cmd, struct err *e);

/* What reading gives: can be written back. pmd/N has the value alone, regs all options too. */
void command_print_pmc(uint64_t value, struct text *out);
void command_print_pmd(uint64_t value, struct text *out);
void command_print_regs(const struct command *cmd, struct text *out);

/* flags: words of system_wide notify_block ovfl_no_msg raw, or "none". */
int command_parse_flags(struct slice text, unsigned *flags, struct err *e);
void command_print_flags(unsigned flags, struct text *out);

/*
 * The properties of an event set, a file each. Parsers set what they parse and say so in
 * set->change; printers are for rows, of the answer to CMD_EVTSET_READ.
 */

/* The name of a set's directory: its id, in the one way that reading the directory shows it. */
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

/* overflows: of a CMD_READ, a line "pmd0 overflows=3 last_reset=0 thresh_left=2" per PMD. */
void command_print_overflows(const struct command *cmd, struct text *out);

/* events: a line per message, "overflow cpu=1 set=0 pmds=0,4"; at last, where it is known, who ran
 * where: " pid=7 tid=8 ip=0x401000". */
void command_print_events(const struct pfm_msg *msgs, unsigned n, struct text *out);

/* state: "unloaded", "zombie tid=7", "loaded cpu=1 set=0", "loaded tid=7 set=0"; likewise running,
 * masked; at last " throttled". */
void command_print_state(const struct ctx_info *info, struct text *out);

void command_free(struct command *cmd);

#endif

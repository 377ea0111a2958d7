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

/* ctl: "load cpu=N [set=ID]", "unload", "start [set=ID]", "stop". */
int command_parse_ctl(struct slice text, struct command *cmd, struct err *e);
void command_print_ctl(const struct command *cmd, struct text *out);

/* pmc/N and pmd/N: one value for the register already named in cmd->regs[0]. */
int command_parse_pmc(struct slice text, uint64_t *value, struct err *e);
int command_parse_pmd(struct slice text, uint64_t *value, struct err *e);

/*
 * regs: a line per register, "pmc0 0x5300c0" or "pmd0 -100000", into cmd->regs (allocated here,
 * freed by command_free()) for event set @set. A line that cannot be parsed ends the vector and
 * becomes cmd->cut, so that those before it still take effect; only no line at all fails here.
 */
int command_parse_regs(struct slice text, uint16_t set, struct command *cmd, struct err *e);

/* What reading gives: can be written back. */
void command_print_pmc(uint64_t value, struct text *out);
void command_print_pmd(uint64_t value, struct text *out);
void command_print_regs(const struct command *cmd, struct text *out);

/* flags: words of system_wide notify_block ovfl_no_msg, or "none". */
int command_parse_flags(struct slice text, unsigned *flags, struct err *e);
void command_print_flags(unsigned flags, struct text *out);

/* state: "unloaded", "loaded cpu=1 set=0", "running cpu=1 set=0". */
void command_print_state(const struct ctx_info *info, struct text *out);

void command_free(struct command *cmd);

#endif

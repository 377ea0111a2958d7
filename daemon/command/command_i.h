/* SPDX-License-Identifier: MIT */
/* Functions that the parsers and printers of commands share. */
#ifndef COMMAND_COMMAND_I_H
#define COMMAND_COMMAND_I_H

#include "daemon/command/command.h"

/* The limits of Linux, and of specification 3.7.5. */
enum { MAX_CPU = 1 << 20, MAX_TID = 1 << 22, MAX_SIG = 64, MAX_SET = 65535 };

/* A word for a flag. A table of them ends with a NULL name. */
struct flag_word {
	const char *name;
	unsigned flag;
};

/* "none" is the empty set. Printing adds a newline. */
int flag_words_parse(
	struct slice text, const struct flag_word *words, unsigned *flags, struct err *e);
void flag_words_print_line(const struct flag_word *words, unsigned flags, struct text *out);

/* Lists of register numbers, such as "5,7". Parsing replaces *@set. An empty set prints as
 * "none". */
int regset_parse(struct slice list, struct regset *set, struct err *e);
void regset_print(const struct regset *set, struct text *out);
bool regset_empty(const struct regset *set);

/* Prints the options of PMD @r that are not 0 or off, and those without which the value would read
 * back as a period; a blank before each. */
void pmd_options_print(const struct cmd_reg *r, struct text *out);

/* True if @text is not a number but may be the name of an event. */
bool event_is_name(struct slice text);
/* The value of PMC @num that selects the event in @text. */
int event_parse(
	struct slice text, const struct pmu *pmu, unsigned num, uint64_t *value, struct err *e);

/* Fails with EINVAL if the arguments of a load on a thread contradict each other. */
int command_check_load(const struct command *cmd, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* What the parsers and printers of commands share. */
#ifndef COMMAND_COMMAND_I_H
#define COMMAND_COMMAND_I_H

#include "daemon/command/command.h"

enum { MAX_SET = 65535 }; /* specification 3.7.5 */

/* Words that stand for flags: a table that ends with a NULL name. */
struct flag_word {
	const char *name;
	unsigned flag;
	const char *refusal; /* why this one is not for us, and what to do instead */
};

/* "none" is the empty set of them; it and its like are printed with a newline. */
int flags_parse(struct slice text, const struct flag_word *words, unsigned *flags, struct err *e);
void flags_print(const struct flag_word *words, unsigned flags, struct text *out);

/*
 * Lists of numbers below @limit, a bit each: "0-3,16". They are added to @bits. The empty set has
 * no list; it prints as "none".
 */
int list_parse(struct slice list, uint64_t *bits, unsigned limit, struct err *e);
void list_print(const uint64_t *bits, unsigned limit, struct text *out);

/* The same of register numbers. */
int regset_parse(struct slice list, struct regset *set, struct err *e);
void regset_print(const struct regset *set, struct text *out);
bool regset_empty(const struct regset *set);

/* The options that are not 0 or off, each after a blank. */
void pmd_conf_print(const struct pmd_conf *conf, struct text *out);

/* Of a load on a thread: whether its arguments go together. */
int load_check(const struct command *cmd, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A command of pfm. main.c has the table of them. To add one: cmd_NAME.c defines cmd_NAME, with a
 * row in `pfm_commands` of main.c, a declaration here, and the file in meson.build.
 */
#ifndef TOOLS_PFM_COMMAND_H
#define TOOLS_PFM_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/* Exit statuses, in addition to 0 and those of the monitored command. */
enum {
	PFM_EXIT_LOST = 3,        /* a count was lost */
	PFM_EXIT_FAILED = 125,    /* pfm itself failed, or its usage was wrong */
	PFM_EXIT_CANNOT = 126,    /* the monitored command cannot be executed */
	PFM_EXIT_NOT_FOUND = 127, /* there is no such command */
	PFM_EXIT_SIGNAL = 128,    /* plus the number of the signal that ended the command */
};

/* How an option is handled. */
enum option_kind {
	OPTION_OWN,     /* pfm's own: listed in `pfm help` */
	OPTION_DEFAULT, /* another tool's, for what pfm does anyway: accepted without effect */
	OPTION_FOREIGN, /* another tool's: refused, with what to type instead */
};

/* Keys of options without a letter: this one, or a command's own keys above it. */
enum { OPTION_LONG = 256 };

/* An option of a command. One table serves parsing, help, completion and the sentences about
 * mistakes. */
struct option_row {
	int key;              /* its letter, or OPTION_LONG or more; 0 ends the table */
	const char *name;     /* after "--"; NULL: it has only a letter */
	const char *argument; /* as in help; "[...]": optional; NULL: none */
	const char *help;     /* OPTION_FOREIGN: what to type instead */
	enum option_kind kind;
};

/* clang-format off */
/* The option that chooses the mount, for all commands that use one. */
#define MOUNT_OPTION                                                                               \
	{'m', "mount", "DIR", "the mount (default: $PERFMONFS, or the first one)", 0}

/* The option that chooses a type of CPUs, if CPUs have different PMUs. */
#define TYPE_OPTION(key)                                                                           \
	{key, "type", "TYPE", "for CPUs of that type, like core or cpu_core", 0}
/* clang-format on */

struct pfm_command {
	const char *name;
	const char *summary; /* one line for `pfm help` */
	/* The texts of `pfm help NAME` before and after the options; NULL: none. */
	const char *usage, *notes;
	const struct option_row *options;
	bool runs_command; /* the first word that is not an option begins a command */
	/*
	 * Returns the exit status, or -errno for PFM_EXIT_FAILED. A sentence in @e is printed to
	 * stderr, whatever the status. argv[0] is the name of the command.
	 */
	int (*run)(int argc, char **argv, struct err *e);
};

/* Parses the next option of @c, with its argument in optarg. Returns its key, or 0 after the last
 * option, when optind is the index of the first operand. -EINVAL. */
int options_next(const struct pfm_command *c, int argc, char **argv, struct err *e);

/* Sets @value, which is NULL at first, to the argument of @option. -EINVAL: it was given before. */
int options_set_once(const char **value, const char *option, const char *arg, struct err *e);

/* Prints `pfm help NAME`. */
void options_print_help(const struct pfm_command *c, FILE *out);

/* All commands in the order of `pfm help`; NULL ends them. */
extern const struct pfm_command *const pfm_commands[];

extern const struct pfm_command cmd_annotate, cmd_check, cmd_decode, cmd_diff, cmd_encode, cmd_list,
	cmd_record, cmd_report, cmd_stat, cmd_top, cmd_who;

#endif

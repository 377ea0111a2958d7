/* SPDX-License-Identifier: MIT */
/*
 * A command of pfm. main.c has the table of them. To add one: cmd_NAME.c defines cmd_NAME, with a
 * row in `commands` of main.c, a declaration here, and the file in meson.build.
 */
#ifndef TOOLS_PFM_COMMAND_H
#define TOOLS_PFM_COMMAND_H

#include "base/err.h"

/* Exit statuses besides those of the monitored command and 0. */
enum {
	PFM_EXIT_LOST = 3,        /* a count was lost */
	PFM_EXIT_FAILED = 125,    /* pfm itself failed, or its usage was wrong */
	PFM_EXIT_CANNOT = 126,    /* the monitored command cannot be executed */
	PFM_EXIT_NOT_FOUND = 127, /* there is no such command */
	PFM_EXIT_SIGNAL = 128,    /* plus the number of the signal that ended the command */
};

/* Which mount, an option of all commands that use one: for getopt_long(), and for `pfm help`. */
#define MOUNT_OPTION_LETTER "m:"
/* clang-format off */
#define MOUNT_OPTION_LONG {"mount", required_argument, NULL, 'm'}
/* clang-format on */
#define MOUNT_OPTION_USAGE                                                                         \
	"  -m, --mount=DIR          the mount (default: $PERFMONFS, or the first one)\n"

/* Where CPUs have different PMUs. */
#define TYPE_OPTION_USAGE                                                                          \
	"      --type=TYPE          for CPUs of that type, like core or cpu_core\n"

struct pfm_command {
	const char *name;
	const char *summary; /* what it does, in a line for `pfm help` */
	const char *usage;   /* the text of `pfm help NAME`, with its newlines */
	/*
	 * Returns the exit status, or -errno for PFM_EXIT_FAILED. A sentence in @e is printed to
	 * stderr, whatever the status. argv[0] is the name of the command.
	 */
	int (*run)(int argc, char **argv, struct err *e);
};

extern const struct pfm_command cmd_check, cmd_decode, cmd_encode, cmd_list, cmd_record, cmd_report,
	cmd_stat, cmd_top, cmd_who;

#endif

// SPDX-License-Identifier: MIT
/* pfm annotate: shows the source of a sampled function with the shares of lines and instructions.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "tools/pfm/command.h"
#include "tools/pfm/samples/reports.h"

enum { ANNOTATE_NO_DEMANGLE = OPTION_LONG + 1, ANNOTATE_NO_ASM };

static const struct option_row annotate_options_rows[] = {
	{'i', "input", "FILE", "the recording (default: pfm.data)", 0},
	{ANNOTATE_NO_ASM, "no-asm", NULL, "the source alone, without instructions", 0},
	{ANNOTATE_NO_DEMANGLE, "no-demangle", NULL, "names of C++ and Rust as the linker has them",
		0},

	/* perf annotate */
	{'f', "force", NULL, NULL, OPTION_DEFAULT},
	{'l', "print-line", NULL, NULL, OPTION_DEFAULT},
	{OPTION_LONG, "source", NULL, NULL, OPTION_DEFAULT},
	{OPTION_LONG, "stdio", NULL, NULL, OPTION_DEFAULT},
	{'s', "symbol", "FUNCTION", "give the function as an operand: pfm annotate FUNCTION",
		OPTION_FOREIGN},
	{0},
};

static int annotate_run(int argc, char **argv, struct err *e)
{
	unsigned names = RECORDING_DEFAULT;
	bool instructions = true;
	const char *file = NULL, *function = NULL;
	struct recording r;
	int opt, rc;

	while ((opt = options_next(&cmd_annotate, argc, argv, e)) != 0) {
		if (opt < 0)
			return -e->no;
		if (opt == ANNOTATE_NO_ASM)
			instructions = false;
		else if (opt == ANNOTATE_NO_DEMANGLE)
			names &= ~(unsigned)RECORDING_DEMANGLE;
		else if (options_set_once(&file, "-i", optarg, e) < 0)
			return -e->no;
	}
	if (optind < argc)
		function = argv[optind++];
	if (optind < argc)
		return err_set(
			e, EINVAL, "%s: give one function; see `pfm help annotate`", argv[optind]);
	rc = recording_open(&r, file ? file : "pfm.data", names, e);
	if (rc < 0)
		return rc;
	rc = annotate_write(&r, function, instructions, stdout, e);
	recording_close(&r);
	return rc;
}

const struct pfm_command cmd_annotate = {
	.name = "annotate",
	.summary = "show which lines and instructions of a function took the time",
	.usage = "Usage: pfm annotate [FUNCTION] [-i FILE] [--no-asm]\n"
		 "Show the source of FUNCTION with the share of each line, as pfm record has\n"
		 "sampled it, and below each line its instructions; without FUNCTION, of the\n"
		 "one with the largest share. Lines need a program that was compiled with -g.\n",
	.options = annotate_options_rows,
	.run = annotate_run,
};

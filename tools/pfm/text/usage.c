// SPDX-License-Identifier: MIT
#include "tools/pfm/text/usage.h"

#include <errno.h>
#include <getopt.h>

#include <stdbool.h>
#include <string.h>

/* A word of several short options, of which the last that getopt has read is not the last one. */
static bool usage_is_amid(const char *word)
{
	return word && optopt && word[0] == '-' && word[1] != '-' && strchr(word, optopt);
}

/* Of long options getopt tells in optopt whether it knows them; of short ones it does not. */
static const char *usage_mistake(const char *word)
{
	if (strncmp(word, "--", 2) != 0)
		return "unknown, or lacks its argument";
	if (!optopt)
		return "unknown, or short for several";
	return strchr(word, '=') ? "takes no argument" : "needs an argument";
}

static int usage_refuse(const char *option, int n, const char *command, struct err *e)
{
	return err_set(e, EINVAL, "%.*s: %s; see `pfm help %s`", n, option, usage_mistake(option),
		command);
}

int usage_refuse_option(char *const *argv, struct err *e)
{
	const char short_option[] = {'-', (char)optopt, '\0'};
	const char *word = argv[optind - 1];

	if (usage_is_amid(argv[optind]) || usage_is_amid(word))
		return usage_refuse(short_option, 2, argv[0], e);
	return usage_refuse(word, (int)strcspn(word, "="), argv[0], e);
}

int usage_set_once(const char **value, const char *option, const char *arg, struct err *e)
{
	if (*value)
		return err_set(e, EINVAL,
			"%s is given twice: give one; commas separate events, as in -e A,B",
			option);
	*value = arg;
	return 0;
}

// SPDX-License-Identifier: MIT
#include "tools/pfm/text/usage.h"

#include <errno.h>
#include <getopt.h>

int usage_refuse_option(char *const *argv, struct err *e)
{
	return err_set(e, EINVAL,
		"%s: unknown, or wrong with or without an argument; see `pfm help %s`",
		argv[optind - 1], argv[0]);
}

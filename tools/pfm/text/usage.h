/* SPDX-License-Identifier: MIT */
/* Mistakes in the options of a command, all told alike. */
#ifndef TOOLS_PFM_TEXT_USAGE_H
#define TOOLS_PFM_TEXT_USAGE_H

#include "base/err.h"

/* For the option that getopt_long() has just refused. argv[0] is the name of the command. -EINVAL
 */
int usage_refuse_option(char *const *argv, struct err *e);

/* Sets @value, NULL by default, to the argument of @option. -EINVAL: the option is given twice. */
int usage_set_once(const char **value, const char *option, const char *arg, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* What the terminal can do. */
#ifndef TOOLS_PFM_TEXT_TERMINAL_H
#define TOOLS_PFM_TEXT_TERMINAL_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* It knows control sequences, as a window of an editor does not. */
static inline bool terminal_has_control(void)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0;
}

#endif

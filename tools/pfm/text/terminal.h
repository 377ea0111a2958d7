/* SPDX-License-Identifier: MIT */
/* Abilities of the terminal. */
#ifndef TOOLS_PFM_TEXT_TERMINAL_H
#define TOOLS_PFM_TEXT_TERMINAL_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether it knows control sequences. An editor's window does not. */
static inline bool terminal_has_control(void)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0;
}

#endif

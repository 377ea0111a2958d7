// SPDX-License-Identifier: MIT
#include "tools/pfm/text/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "tools/pfm/text/terminal.h"

#define PROGRESS_CLEAR "\r\033[K"

static bool progress_shown;

/* Whether progress can be shown. tcgetpgrp() fails if stderr is not a terminal. */
static bool progress_possible(void)
{
	return tcgetpgrp(STDERR_FILENO) == getpgrp() && terminal_has_control();
}

/* The cursor stays at the beginning of the line, where a command's output replaces the line. */
void progress_show(const char *fmt, ...)
{
	va_list args;

	if (!progress_possible())
		return;
	fputs(PROGRESS_CLEAR, stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\r', stderr);
	progress_shown = true;
}

void progress_clear(void)
{
	if (progress_shown && progress_possible())
		fputs(PROGRESS_CLEAR, stderr);
	progress_shown = false;
}

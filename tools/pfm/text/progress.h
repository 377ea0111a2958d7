/* SPDX-License-Identifier: MIT */
/* A line on the terminal that shows the progress of a long task. The next one replaces it. */
#ifndef TOOLS_PFM_TEXT_PROGRESS_H
#define TOOLS_PFM_TEXT_PROGRESS_H

/* Does nothing if stderr is not a terminal, or while pfm is in the background. */
void progress_show(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Removes the line. Call it before printing other lines. */
void progress_clear(void);

#endif

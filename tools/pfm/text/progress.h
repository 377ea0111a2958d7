/* SPDX-License-Identifier: MIT */
/* A line on the terminal that tells how far something long is, and that the next one replaces. */
#ifndef TOOLS_PFM_TEXT_PROGRESS_H
#define TOOLS_PFM_TEXT_PROGRESS_H

/* Nothing if stderr is no terminal, or one that pfm does not have while it is in the background. */
void progress_show(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Before other lines: it is gone. */
void progress_clear(void);

#endif

/* SPDX-License-Identifier: MIT */
/* The signals that end a measurement: SIGINT, SIGTERM, SIGHUP and SIGQUIT. */
#ifndef TOOLS_PFM_STAT_SIGNALS_H
#define TOOLS_PFM_STAT_SIGNALS_H

#include <signal.h>

#include "base/err.h"
#include "tools/pfm/stat/launch.h"

struct signals {
	int fd;        /* readable when one has come; -1 */
	sigset_t mask; /* before signals_open(): for the command */
};

#define SIGNALS_NONE                                                                               \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/*
 * Blocks them, so that they are there to take. One that this process has inherited as ignored, as
 * from nohup(1), stays ignored. SIGPIPE is blocked, too: output that is not taken is an error of
 * the write.
 */
int signals_open(struct signals *s, struct err *e);
void signals_close(struct signals *s);

/*
 * Takes those that have come. Passes them on to the command @l, if there is one, unless they are
 * the terminal's, which sends its own to both. Returns the number of the last; 0: none.
 */
int signals_take(const struct signals *s, const struct launch *l);

/* Waits for the end of the command, which gets the signals that come meanwhile. Returns the number
 * of the last; 0: none. */
int signals_wait(const struct signals *s, struct launch *l);

#endif

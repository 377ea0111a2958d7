/* SPDX-License-Identifier: MIT */
/* The signals that end a measurement: SIGINT, SIGTERM, SIGHUP and SIGQUIT. */
#ifndef TOOLS_PFM_STAT_SIGNALS_H
#define TOOLS_PFM_STAT_SIGNALS_H

#include <signal.h>

#include "base/err.h"
#include "tools/pfm/stat/launch.h"

struct signals {
	int fd;        /* readable when a signal is pending; -1: none */
	sigset_t mask; /* of this process before signals_open(), for the command */
};

#define SIGNALS_NONE                                                                               \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/*
 * Blocks these signals, so that signals_take() can read them. A signal that this process inherited
 * as ignored, as from nohup(1), stays ignored. SIGPIPE is blocked, too: a write without a reader
 * then fails with an error.
 */
int signals_open(struct signals *s, struct err *e);
void signals_close(struct signals *s);

/* Takes the pending signals. Passes them on to the command @l, if there is one, unless they come
 * from the terminal, which sends them to both. Returns the number of the last one; 0: none. */
int signals_take(const struct signals *s, const struct launch *l);

/* Waits for the end of the command, and passes on the signals that arrive meanwhile. Returns the
 * number of the last one; 0: none. */
int signals_wait(const struct signals *s, struct launch *l);

#endif

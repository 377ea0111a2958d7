/* SPDX-License-Identifier: MIT */
/* A terminal that shows pages of text and reads single keys. */
#ifndef TOOLS_PFM_TOP_SCREEN_H
#define TOOLS_PFM_TOP_SCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "base/err.h"
#include "base/text.h"
#include "tools/pfm/stat/signals.h"

struct screen {
	struct termios before;
	bool open;
	unsigned columns, lines; /* of the terminal, when screen_size() was called last */
};

/* Whether standard input and output are a terminal that supports this. */
bool screen_possible(void);

int screen_open(struct screen *s, struct err *e);
/* Restores the terminal's state. */
void screen_close(struct screen *s);

void screen_size(struct screen *s);

/* Shows the text, which has at most as many lines as the terminal. */
int screen_show(const struct screen *s, const struct text *page, struct err *e);

enum screen_event { SCREEN_TIME, SCREEN_KEY, SCREEN_RESIZED, SCREEN_END };

/* Waits until @until_ns, CLOCK_MONOTONIC, for a key, which is stored in @key, a new size, or a
 * signal that ends the program. If @s is NULL, there are neither keys nor sizes. */
enum screen_event screen_wait(
	const struct screen *s, const struct signals *signals, uint64_t until_ns, char *key);

#endif

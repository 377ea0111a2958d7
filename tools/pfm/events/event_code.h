/* SPDX-License-Identifier: MIT */
/* Codes of events, and modifiers: the parts of an event's text that need no table. */
#ifndef TOOLS_PFM_EVENTS_EVENT_CODE_H
#define TOOLS_PFM_EVENTS_EVENT_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

/* Fields of an event select that modifiers set: edge, invert, and the lowest bit of the counter
 * mask. */
#define EVENT_SEL_EDGE   (1ULL << 18)
#define EVENT_SEL_INVERT (1ULL << 23)
enum { EVENT_SEL_CMASK = 24 };

/* Bits that trees keep reserved: pin control, and counting the core's other thread. */
#define EVENT_SEL_PIN (1ULL << 19)
#define EVENT_SEL_ANY (1ULL << 21)

/* Modifiers: what they set, and the level of EVENT_USER and EVENT_KERNEL; 0: not given. */
struct event_modifiers {
	uint64_t bits; /* edge, invert and counter mask of an event select */
	unsigned level;
	unsigned precise; /* number of letters p */
};

enum { EVENT_PRECISE_MAX = 3 };

/*
 * Cuts modifiers off the end of @text: ":u" and ":k" in one word or two, ":p" to ":ppp", ":e",
 * ":i", ":c=N". Other words stay: they are unit masks. -EINVAL: one is given twice; -ERANGE: N is
 * over 255.
 */
int event_code_modifiers(struct slice *text, struct event_modifiers *m, struct err *e);

/* Parses CODE or CODE+EXTRA, where CODE is a number or r and hexadecimal digits. Returns 0, -EINVAL
 * or -ERANGE; 1 if @text begins like neither, or has "_" in its first part, like 64bit_MMX_uop. */
struct event_code {
	uint64_t code, extra;
	bool has_extra;
};
int event_code_parse(struct slice text, struct event_code *c, struct err *e);

/* The address of the extra register that belongs to an Intel event; 0: the event has none. */
uint32_t event_code_extra_addr(uint64_t code);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A command on one context: what text, ioctl structures and internal needs are all turned into
 * before the core sees them. It names no file and no user; who asks is reduced to his rights.
 */
#ifndef CORE_REQUEST_H
#define CORE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum cmd_verb {
	CMD_LOAD,      /* attach to @cpu (specification 3.1.7) */
	CMD_START,     /* 3.1.5 */
	CMD_WRITE,     /* write the registers of the vector (3.1.2, 3.1.3) */
	CMD_READ,      /* read the registers of the vector (3.1.4) */
	CMD_SET_FLAGS, /* context flags, until the first load (3.1.1) */
	CMD_INFO,      /* state and flags */
	CMD_POLL,      /* look at the counters before one can wrap; nobody asked */
	/* Those from here on stop the counters: command_stops(). */
	CMD_STOP,    /* 3.1.6 */
	CMD_UNLOAD,  /* 3.1.8 */
	CMD_DESTROY, /* unload if need be; nothing may follow (3.1.15) */
};

static inline bool command_stops(enum cmd_verb verb)
{
	return verb >= CMD_STOP;
}

/* What the caller may do, decided from his credentials when he asks. */
struct rights {
	bool system; /* load on a CPU */
	bool kernel; /* count at kernel level */
};

/* One element of a vector. */
struct cmd_reg {
	bool pmd; /* a PMD, else a PMC */
	uint16_t num;
	uint16_t set;
	uint64_t value;
};

enum ctx_state { CTX_UNLOADED, CTX_LOADED, CTX_RUNNING };

enum ctx_flag {
	CTX_SYSTEM_WIDE = 1 << 0,
	CTX_NOTIFY_BLOCK = 1 << 1,
	CTX_OVFL_NO_MSG = 1 << 2,
};

/* The answer to CMD_INFO. */
struct ctx_info {
	enum ctx_state state;
	unsigned flags; /* enum ctx_flag */
	unsigned cpu;   /* valid unless unloaded */
	uint16_t set;   /* the active set, valid unless unloaded */
};

struct command {
	enum cmd_verb verb;
	struct rights rights;
	unsigned cpu;   /* CMD_LOAD */
	uint16_t set;   /* CMD_LOAD, CMD_START: the set to activate first */
	bool has_set;   /* ... if one was given */
	unsigned flags; /* CMD_SET_FLAGS */

	/*
	 * CMD_WRITE, CMD_READ. Elements take effect in order up to the first error. Each stands
	 * on line @first_line + its index of what the user wrote; 0: there is only one, no line
	 * is named. @cut, if set, is the error of the line after the last element: it is
	 * reported when those before it have been applied.
	 */
	struct cmd_reg *regs;
	unsigned nregs;
	unsigned first_line;
	struct err cut;

	struct ctx_info info; /* out: CMD_INFO */
};

#endif

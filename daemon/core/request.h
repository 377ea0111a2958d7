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
#include "perfmonfs/format.h"
#include "perfmonfs/live.h"
#include "perfmonfs/msg.h"
#include "perfmonfs/pmu.h"

enum cmd_verb {
	CMD_LOAD,          /* attach to @cpu, or to thread @tid (specification 3.1.7) */
	CMD_START,         /* 3.1.5 */
	CMD_RESTART,       /* 3.1.9 */
	CMD_WRITE,         /* write the registers of the vector (3.1.2, 3.1.3) */
	CMD_READ,          /* read the registers of the vector (3.1.4) */
	CMD_FLAGS,         /* context flags, until the first load (3.1.1) */
	CMD_FORMAT,        /* sampling format and buffer, until the first load (3.5) */
	CMD_SETUP,         /* both, or neither */
	CMD_INFO,          /* state and flags */
	CMD_EVTSET_NEW,    /* 3.1.10 */
	CMD_EVTSET_DELETE, /* 3.1.11 */
	CMD_EVTSET_WRITE,  /* modify an event set's properties (3.1.10) */
	CMD_EVTSET_READ,   /* 3.1.12 */
	CMD_LIVE,          /* keep a page of live counts (4.3.3) */
	CMD_LIVE_READ,     /* what such a page would show, as of now */
	CMD_MESSAGES,      /* take messages from the queue (3.3.3) */
	CMD_CLONE,         /* configure @into like this one; info: what it is, or was at its end */
	CMD_SIGNAL,        /* notify by signal (3.3.7); not for the core, which knows no process */
	CMD_POLL,          /* look at the counters; nobody asked */
	CMD_IN,            /* the thread is coming to the CPU whose hold the context was given */
	/* Those from here on stop the counters: command_stops(). */
	CMD_SWITCH,  /* the active set's time is over; nobody asked */
	CMD_OUT,     /* the thread has left the CPU: the context is parked */
	CMD_STOP,    /* 3.1.6 */
	CMD_UNLOAD,  /* 3.1.8 */
	CMD_END,     /* the thread has ended: unload, and say so (3.3.6) */
	CMD_DESTROY, /* unload if need be; nothing may follow (3.1.15) */
};

static inline bool command_stops(enum cmd_verb verb)
{
	return verb >= CMD_SWITCH;
}

/* What the caller may do, decided from his credentials when he asks. */
struct rights {
	bool system; /* load on a CPU */
	bool thread; /* load on a thread, if he may trace it */
	bool kernel; /* count at kernel level */
};

/* A sampling format and the buffer it fills, which belongs to who has made it. */
struct context;
struct sampling {
	const pfm_buffer_fmt_t *fmt; /* NULL: none */
	void *buf;
	size_t size;
};

/* What the administrator and the machine set (config/). */
struct limits {
	uint64_t tick_ns;           /* the shortest time between two looks or two switches */
	uint64_t timer_ns;          /* what the timer can tell apart: timeouts are multiples */
	uint64_t overflow_rate_max; /* overflows a second before the context is masked */
};

/* A set of logical register numbers: a bit each. */
enum { CMD_BV = PMU_MAX_NUM / 64 };
struct regset {
	uint64_t bits[CMD_BV];
};

static inline void regset_add(struct regset *s, unsigned num)
{
	s->bits[num / 64] |= 1ULL << num % 64;
}

static inline bool regset_has(const struct regset *s, unsigned num)
{
	return s->bits[num / 64] >> num % 64 & 1;
}

enum pmd_flag {
	PMD_NOTIFY = 1 << 0, /* its overflow is notified (PFM_REGFL_OVFL_NOTIFY) */
	PMD_RANDOM = 1 << 1, /* its reset values are randomized (PFM_REGFL_RANDOM) */
	PMD_NO64 = 1 << 2,   /* no 64-bit emulation: the actual counter's width, no overflow */
};

/* What happens when a PMD overflows (3.1.2, 3.1.3). All zero: it wraps around. */
struct pmd_conf {
	uint64_t long_reset;  /* value after an overflow that was notified */
	uint64_t short_reset; /* value after one that was not */
	uint64_t thresh;      /* overflows until the set is switched from; 0: it is no trigger */
	uint64_t mask;        /* PMD_RANDOM: reset value + (random & mask) */
	uint64_t eventid;     /* for sampling formats, never looked at */
	uint32_t seed;        /* determines the series of random numbers */
	unsigned flags;       /* enum pmd_flag */
	struct regset smpl;   /* PMDs for sampling formats to record */
	struct regset reset;  /* PMDs to be reset with it */
};

/*
 * Parts of that. Versions of the interface differ in whether they are said on the PMD or on the
 * PMC that controls it, and what one says must not undo the other.
 */
enum pmd_part {
	PMD_RESETS = 1 << 0,    /* both reset values, thresh, mask, seed */
	PMD_NOTICE = 1 << 1,    /* PMD_NOTIFY, PMD_RANDOM, smpl, reset, eventid */
	PMD_EMULATION = 1 << 2, /* PMD_NO64 */
};

/* What was wrong with an element of a vector. */
enum cmd_fault {
	FAULT_NONE,
	FAULT_NOSET,    /* no such event set */
	FAULT_NOTAVAIL, /* no such register */
	FAULT_REFUSED,  /* anything else */
};

/* One element of a vector. */
struct cmd_reg {
	bool pmd; /* a PMD, else a PMC */
	uint16_t num;
	uint16_t set;
	uint64_t value;
	struct pmd_conf conf;
	unsigned keep;        /* of a PMD: what of its configuration a write leaves as it is, */
	unsigned confer;      /* of a PMC: what of conf its PMDs get with it (enum pmd_part) */
	enum cmd_fault fault; /* out */

	/* Out: CMD_READ of a PMD. */
	uint64_t last_reset;  /* the value last loaded into it */
	uint64_t thresh_left; /* overflows left before switching; 0 if it is no trigger, or its
				 set does not switch on overflow */
	uint64_t overflows;   /* how many there were since it was last written */
};

enum evtset_flag { /* the bits of perfmon2's PFM_SETFL_* */
	SET_OVFL_SWITCH = 1 << 0,
	SET_TIME_SWITCH = 1 << 1,
	SET_EXPL_NEXT = 1 << 2,
};

/* What CMD_EVTSET_NEW does if there is such a set. */
enum evtset_there {
	EVTSET_REFUSE, /* EEXIST */
	EVTSET_RENEW,  /* make it anew */
	EVTSET_KEEP,   /* its properties become these; its registers and times stay */
};

/* Properties of event set @id; CMD_EVTSET_WRITE and _NEW set those named in @change. */
struct cmd_evtset {
	uint16_t id;
	enum { EVTSET_FLAGS = 1 << 0, EVTSET_TIMEOUT = 1 << 1, EVTSET_NEXT = 1 << 2 } change;
	unsigned flags;          /* enum evtset_flag */
	uint64_t timeout_ns;     /* requested when written, effective when read; 0: none was set */
	uint16_t next;           /* explicit next. Writing it sets or clears SET_EXPL_NEXT: */
	bool has_next;           /* if written: there is one */
	enum evtset_there there; /* CMD_EVTSET_NEW */
	bool fresh;              /* out: there was none */

	/* Out: CMD_EVTSET_READ. */
	uint64_t runs;             /* times it was made the active set */
	uint64_t active_ns;        /* how long it was, while counters counted */
	uint64_t remaining_ns;     /* of its timeout; 0 unless it switches by time */
	struct regset switch_pmds; /* triggers of the last switch from it; none since load */
	struct regset pmcs, pmds;  /* available registers */

	enum cmd_fault fault; /* out: of CMD_EVTSET_NEW, _DELETE and _READ */
};

enum ctx_state { CTX_UNLOADED, CTX_LOADED, CTX_RUNNING, CTX_MASKED };

enum ctx_flag {
	CTX_SYSTEM_WIDE = 1 << 0,
	CTX_NOTIFY_BLOCK = 1 << 1,
	CTX_OVFL_NO_MSG = 1 << 2,
	CTX_RAW = 1 << 3, /* what carrying a thread's context adds to its counts stays in them */
};

/* A set of CPUs. */
enum { CPUS_MAX = 4096 };
struct cpus {
	uint64_t bits[CPUS_MAX / 64];
};

static inline void cpus_add(struct cpus *c, unsigned cpu)
{
	c->bits[cpu / 64] |= 1ULL << cpu % 64;
}

static inline bool cpus_has(const struct cpus *c, unsigned cpu)
{
	return cpu < CPUS_MAX && (c->bits[cpu / 64] >> cpu % 64 & 1);
}

/* The answer to CMD_INFO. */
struct ctx_info {
	enum ctx_state state;
	bool throttled;   /* masked because of too many overflows */
	unsigned flags;   /* enum ctx_flag */
	unsigned cpu;     /* valid unless unloaded; of a thread, where it was last */
	int tid;          /* the thread it is loaded on; 0: it is on a CPU */
	bool ended;       /* unloaded, because that thread has ended */
	uint16_t set;     /* the active set, valid unless unloaded */
	uint64_t changes; /* how many times the state has changed */
};

struct command {
	enum cmd_verb verb;
	struct rights rights;
	struct limits limits;
	unsigned cpu;      /* CMD_LOAD */
	uint16_t set;      /* CMD_LOAD, CMD_START: the set to activate first */
	bool has_set;      /* ... if one was given */
	unsigned flags;    /* CMD_FLAGS, CMD_SETUP */
	bool map_sets;     /* CMD_SETUP: sets are to have live pages; not for the core */
	int sig;           /* CMD_SIGNAL; 0: none any more */
	bool process;      /* CMD_SIGNAL: @tid, or the caller, is a process */
	bool has_fd;       /* CMD_SIGNAL: si_fd is to be */
	int fd;            /* this */
	int tid;           /* CMD_SIGNAL; 0: the caller. CMD_LOAD: the thread, as the caller numbers
			      it; 0: on @cpu. And then: */
	bool follow;       /* threads and processes that it makes get contexts of their own */
	bool untraced;     /* without ptrace (ptrace=no) */
	bool taken;        /* out: it is refused because the thread has a context already */
	struct cpus *cpus; /* where it is followed, the command's own; NULL: wherever it may run */
	uint64_t left_at;  /* CMD_OUT: when its thread stopped running (ns); 0: only now */

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

	/*
	 * CMD_MESSAGES: room for @nmsgs, which becomes how many were taken; EAGAIN if there is
	 * none.
	 */
	struct pfm_msg *msgs;
	unsigned nmsgs;

	struct context *into;     /* CMD_CLONE: unloaded, and known to nobody else yet */
	struct cmd_evtset evtset; /* CMD_EVTSET_* */
	struct sampling smpl;     /* CMD_FORMAT, CMD_SETUP */

	/* CMD_LIVE: the page for set @evtset.id, and whether its readers may use RDPMC. */
	struct pfm_live *live;
	bool rdpmc;
	struct pfm_live *shown; /* out: CMD_LIVE_READ, of set @evtset.id; the command's own */
	struct ctx_info info;   /* out: CMD_INFO */
};

#endif

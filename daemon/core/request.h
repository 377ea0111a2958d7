/* SPDX-License-Identifier: MIT */
/*
 * A command on one context. Text, ioctl structures and the daemon's own needs all become commands
 * before the core sees them. A command names no file. Of its requester, it has only the rights and
 * the user whose grant they need.
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
#include "perfmonfs/thread_table.h"

struct context;

enum cmd_verb {
	CMD_LOAD,          /* attach to a CPU or a thread (specification 3.1.7) */
	CMD_START,         /* 3.1.5 */
	CMD_RESTART,       /* 3.1.9 */
	CMD_WRITE,         /* write the registers of the vector (3.1.2, 3.1.3) */
	CMD_READ,          /* read the registers of the vector (3.1.4) */
	CMD_FLAGS,         /* context flags, until the first load (3.1.1) */
	CMD_FORMAT,        /* sampling format and buffer, until the first load (3.5) */
	CMD_SETUP,         /* CMD_FLAGS and CMD_FORMAT, or neither */
	CMD_INFO,          /* state and flags */
	CMD_EVTSET_NEW,    /* 3.1.10 */
	CMD_EVTSET_DELETE, /* 3.1.11 */
	CMD_EVTSET_WRITE,  /* modify an event set's properties (3.1.10) */
	CMD_EVTSET_READ,   /* 3.1.12 */
	CMD_LIVE,          /* keep a page of live counts (4.3.3) */
	CMD_LIVE_READ,     /* read what such a page would show now */
	CMD_COUNTS,        /* read counts of any event sets; lost ones fail no other */
	CMD_THREADS,       /* read the counts of each thread */
	CMD_CLONE,         /* configure @into like this context */
	CMD_SIGNAL,        /* notify by signal (3.3.7); not for the core, which knows no process */
	CMD_POLL,          /* internal: read the counters for overflow */
	CMD_RESUME,        /* internal: a context that has yielded its CPU gets it again */
	CMD_SCHED_IN,      /* internal: the thread comes to the CPU of the context's reservation */
	/* The verbs from here on stop the counters: command_freezes(). */
	CMD_SWITCH,    /* internal: the active set's time is over */
	CMD_SCHED_OUT, /* internal: the thread has left the CPU, and the context is saved */
	CMD_YIELD,     /* internal: a background context gives its CPU to another one */
	CMD_STOP,      /* 3.1.6 */
	CMD_UNLOAD,    /* 3.1.8 */
	CMD_END,       /* internal: the thread has ended: unload and send a message (3.3.6) */
	CMD_DESTROY,   /* unload if need be; nothing may follow (3.1.15) */
};

static inline bool command_freezes(enum cmd_verb verb)
{
	return verb >= CMD_SWITCH;
}

/* Rights that come from a grant alone (config/grants) and are revoked with it. */
struct rights_by_grant {
	bool system, kernel;
	unsigned uid; /* user of the grant, if any */
};

/* The rights of the requester, decided from its credentials when it makes the request. */
struct rights {
	bool system; /* monitor a CPU */
	bool thread; /* monitor a thread, if it may trace that thread */
	bool kernel; /* count at kernel level */
	struct rights_by_grant by_grant;
};

/* Rights to be decided, as bits. */
enum {
	NEED_SYSTEM = 1 << 0, /* rights.system */
	NEED_THREAD = 1 << 1, /* rights.thread */
	NEED_KERNEL = 1 << 2, /* rights.kernel */
	NEED_MAKE = 1 << 3,   /* making contexts: one of the first two */
};

/* Capabilities of a process in its user namespace. */
struct capabilities {
	uint64_t permitted, effective;
	uint64_t user_ns; /* inode number; 0: not known */
};

/* A sampling format and the buffer that it fills. The code that allocates the buffer frees it. */
struct sampling {
	const pfm_buffer_fmt_t *fmt; /* NULL: none */
	void *buf;
	size_t size;
	bool in_clone; /* chosen by CMD_SETUP, which alone may replace it */
	/* Bytes of the user's stack that samples have, with the user's registers; 0: none. */
	uint32_t user_stack;
	bool waits; /* the format records waits of the thread */
};

/* Limits set by the administrator and the machine (config/). */
struct limits {
	uint64_t tick_ns;           /* the shortest time between two polls or two switches */
	uint64_t timer_ns;          /* the timer's resolution: timeouts are multiples of it */
	uint64_t overflow_rate_max; /* overflows a second before the context is masked */
	uint64_t ctxsw_budget; /* percent of a CPU for the switches of a user's threads; 100: all */
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
	PMD_NO64 = 1 << 2,   /* no 64-bit emulation: the hardware's width, no overflow */
	/* Reset values were not written: with a sampling format, both are the PMD's own value. */
	PMD_BARE = 1 << 3,
};

/* What happens when a PMD overflows (3.1.2, 3.1.3). All zero: it wraps around. */
struct pmd_conf {
	uint64_t long_reset;  /* value after an overflow that was notified */
	uint64_t short_reset; /* value after an overflow that was not notified */
	uint64_t thresh;      /* overflows until the set is switched from; 0: any number */
	uint64_t mask;        /* PMD_RANDOM: reset value + (random & mask) */
	uint64_t eventid;     /* passed to sampling formats unchanged */
	uint32_t seed;        /* determines the series of random numbers */
	unsigned flags;       /* enum pmd_flag */
	struct regset smpl;   /* PMDs for sampling formats to record */
	struct regset reset;  /* PMDs to be reset with it */
};

/*
 * Parts of struct pmd_conf. In some versions of the interface the PMD sets a part, in others the
 * PMC that controls it: neither may reset the other's parts.
 */
enum pmd_part {
	PMD_RESETS = 1 << 0,    /* both reset values, thresh, mask, seed */
	PMD_NOTICE = 1 << 1,    /* PMD_NOTIFY, PMD_RANDOM, smpl, reset, eventid */
	PMD_EMULATION = 1 << 2, /* PMD_NO64 */
};

/* Why an element of a vector failed. */
enum cmd_fault {
	FAULT_NONE,
	FAULT_NOSET,    /* no such event set */
	FAULT_NOTAVAIL, /* no such register */
	FAULT_REFUSED,  /* anything else */
};

/* Holes in a count, with CTX_GAPS or CTX_BACKGROUND. */
struct gaps {
	uint64_t n;
	uint64_t ns; /* CPU time of the thread, or time of the CPU, in them */
};

/* One element of a vector. */
struct cmd_reg {
	bool pmd; /* a PMD, else a PMC */
	uint16_t num;
	uint16_t set;
	uint64_t value;
	struct pmd_conf conf;
	unsigned keep;   /* writing a PMD: parts of its configuration that stay (enum pmd_part) */
	bool keep_reset; /* writing a PMD while masked: its pending reset stays */
	bool resets;     /* reading a PMD: it and those in its reset list get their long values */
	unsigned confer; /* writing a PMC: parts of @conf that its PMDs get (enum pmd_part) */
	enum cmd_fault fault; /* out */

	/* Out: CMD_READ of a PMD. */
	uint64_t last_reset;  /* the value last loaded into it */
	uint64_t thresh_left; /* overflows left before switching; 0 if they never switch */
	uint64_t overflows;   /* since it was last written */
	bool counts;          /* the set's PMCs select an event for it */
	struct gaps gaps;     /* since it was last written */
};

enum evtset_flag { /* the bits of perfmon2's PFM_SETFL_* */
	SET_OVFL_SWITCH = 1 << 0,
	SET_TIME_SWITCH = 1 << 1,
	SET_EXPL_NEXT = 1 << 2,
	SET_EXCL_IDLE = 1 << 3, /* for contexts on threads; no effect */
};

/* The effect of CMD_EVTSET_NEW on a set that exists. */
enum evtset_there {
	EVTSET_REFUSE, /* EEXIST */
	EVTSET_RENEW,  /* it is reset to its state when made */
	EVTSET_KEEP,   /* its properties change; its registers and times stay */
};

/* Properties of event set @id. CMD_EVTSET_WRITE and CMD_EVTSET_NEW set those in @change. */
struct cmd_evtset {
	uint16_t id;
	enum { EVTSET_FLAGS = 1 << 0, EVTSET_TIMEOUT = 1 << 1, EVTSET_NEXT = 1 << 2 } change;
	unsigned flags;          /* enum evtset_flag */
	uint64_t timeout_ns;     /* requested when written, effective when read; 0: none was set */
	uint16_t next;           /* the explicit next set */
	bool has_next;           /* there is one; writing this sets or clears SET_EXPL_NEXT */
	enum evtset_there there; /* CMD_EVTSET_NEW */
	bool fresh;              /* out: the set did not exist before */

	/* Out: CMD_EVTSET_READ. */
	uint64_t runs;             /* times it was made the active set */
	uint64_t active_ns;        /* how long it was active while its counters counted */
	uint64_t remaining_ns;     /* rest of its timeout; 0 unless it switches by time */
	struct regset switch_pmds; /* triggers of the last switch from it since load */
	struct regset pmcs, pmds;  /* available registers */

	enum cmd_fault fault; /* out: CMD_EVTSET_NEW, CMD_EVTSET_DELETE, CMD_EVTSET_READ */
};

enum ctx_state { CTX_UNLOADED, CTX_LOADED, CTX_RUNNING, CTX_MASKED };

enum ctx_flag {
	CTX_SYSTEM_WIDE = 1 << 0,
	CTX_NOTIFY_BLOCK = 1 << 1,
	CTX_OVFL_NO_MSG = 1 << 2,
	CTX_RAW = 1 << 3,        /* switch_overhead is not subtracted from a thread's counts */
	CTX_GAPS = 1 << 4,       /* a thread's counts go on after a switch that was missed */
	CTX_BACKGROUND = 1 << 5, /* it yields its CPU to contexts without this flag */
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
	bool lost;        /* a count of any set is lost */
	bool yielded;     /* loaded, but another context has its CPU */
	uint64_t gaps;    /* since the last load */
	unsigned flags;   /* enum ctx_flag */
	unsigned cpu;     /* valid while loaded; for a thread, the CPU on which it ran last */
	int tid;          /* the thread it is loaded on; 0: a CPU */
	bool ended;       /* unloaded because the thread has ended */
	uint16_t set;     /* the active set, valid while loaded */
	uint64_t changes; /* how many times the state has changed */
};

/* The PMCs of a context that are not at their default value. */
enum { LOADED_PMCS = 8 };
struct loaded_pmcs {
	unsigned n; /* of all sets; @pmc has the first of them */
	struct loaded_pmc {
		uint16_t set, row;
		uint64_t value;
	} pmc[LOADED_PMCS];
};

/* CMD_LOAD: its arguments except the set and the thread. */
struct cmd_load {
	unsigned cpu;       /* unless a thread is given */
	bool follow;        /* threads and processes that the thread creates get contexts, too */
	bool process;       /* all threads of its process get contexts, or one (pid=N) */
	bool untraced;      /* without ptrace (ptrace=no) */
	bool inherit;       /* one context counts the thread and all that it creates */
	bool on_exec;       /* counting waits until the thread executes a program */
	bool always_active; /* the thread has registers of its own: see ctx_target */
	/* With @process: the number of its threads. Not for the core. */
	unsigned threads;
	/* With @inherit and @process: descriptors that the counters may take. Not for the core. */
	unsigned max_files;
	/* For a thread whose end will be reported: it can be loaded even if it has already ended,
	 * and then has no registers. Not for the core. */
	enum load_end { LOAD_LIVES, LOAD_MAY_HAVE_ENDED, LOAD_HAS_ENDED } end;
	/* On a thread: capabilities of the process that opened the file. A capability of the writer
	 * counts only if it is among these. Not for the core. */
	struct capabilities opener;
	/* On a thread: the writer must have @fsuid as its real user id, too. Not for the core. */
	bool checks_fsuid;
	unsigned fsuid;
	bool taken;               /* out: refused, because the thread already has a context */
	struct loaded_pmcs *pmcs; /* out, on success; owned by the caller; NULL: not wanted */
	/* The PMU of the CPUs on which it is loaded; NULL: the context's PMU. */
	const struct pmu *pmu;
	struct cpus
		*cpus; /* where the thread is followed, owned by the command; NULL: everywhere */
};

/* CMD_FLAGS: @flags. CMD_FORMAT: @smpl. CMD_SETUP: all. */
struct cmd_setup {
	unsigned flags; /* enum ctx_flag */
	bool map_sets;  /* event sets have live pages; not for the core */
	struct sampling smpl;
};

/* CMD_SIGNAL: its arguments except the thread; not for the core. */
struct cmd_signal {
	int sig;      /* 0: no signals */
	bool process; /* the target is a process, not a thread */
	bool has_fd;  /* siginfo has @fd as si_fd */
	int fd;
};

/* How long a context had counted (ns) when its registers were read. */
struct ctx_times {
	uint64_t active; /* time of the set, as active_ns */
	uint64_t began;  /* the last start (clock of PMD 256); 0: there was none */
	uint64_t until;  /* now, or the stop after @began */
};

/*
 * CMD_WRITE, CMD_READ. Elements take effect in order up to the first error. Element i was line
 * @first_line + i of what the user wrote; 0: there is one line, and errors do not name it. @cut,
 * if set, is the error of the line after the last element: the command fails with it after all
 * elements have been applied.
 */
struct cmd_vector {
	struct cmd_reg *regs;
	unsigned nregs;
	unsigned first_line;
	struct err cut;
	struct ctx_times times; /* out: CMD_READ, of the set of the first element */
};

/* CMD_READ: the numbers in files that it needs, read before it is executed. */
struct cmd_files {
	unsigned n;
	struct {
		unsigned num; /* of the virtual PMD */
		bool known;
		uint64_t value;
	} pmd[PMU_MAX_VIRTUALS];
};

/* CMD_LIVE, CMD_LIVE_READ: of set @evtset.id. */
struct cmd_live_page {
	struct pfm_live *page;  /* CMD_LIVE: the page to keep; NULL: none */
	uint8_t rdpmc;          /* CMD_LIVE: PFM_LIVE_RDPMC, PFM_LIVE_MAPPED or 0 */
	bool ticks;             /* CMD_LIVE: read the counters each tick for it */
	struct pfm_live *shown; /* out: CMD_LIVE_READ; owned by the command */
};

/* CMD_COUNTS: a PMD of a set. */
struct cmd_count {
	uint16_t set, num;
	/* Out: there is no such set or PMD, the count is lost, or @value is it. */
	enum { COUNT_ABSENT, COUNT_LOST, COUNT_KNOWN } state;
	uint64_t value;
};

struct cmd_counts {
	struct cmd_count *count; /* owned by the caller */
	unsigned n;
	uint64_t gaps; /* out: gaps of the context since the last load */
};

struct command {
	enum cmd_verb verb;
	struct rights rights;
	struct limits limits;
	uint16_t set;     /* CMD_LOAD, CMD_START: the set to activate first */
	bool has_set;     /* @set was given */
	int tid;          /* CMD_LOAD: the thread, as the caller numbers it; 0: a CPU.
			     CMD_SIGNAL: the target; 0: the caller */
	uint64_t left_at; /* CMD_SCHED_OUT: when the thread stopped running (ns); 0: just now */
	struct cmd_load load;
	struct cmd_setup setup;
	struct cmd_signal signal;
	struct cmd_vector vector;
	struct cmd_files *files;  /* owned by the command; NULL: the core has them read */
	struct context *into;     /* CMD_CLONE: an unloaded context that only the caller knows */
	struct cmd_evtset evtset; /* CMD_EVTSET_*; its id: CMD_LIVE, CMD_LIVE_READ */
	struct cmd_live_page live_page;
	struct cmd_counts counts;
	struct thread_table *threads; /* CMD_THREADS: the caller's, to be filled */
	struct ctx_info info;         /* out: CMD_INFO, CMD_CLONE */
	struct err note; /* out, on success: what makes the result doubtful; or empty */
};

#endif

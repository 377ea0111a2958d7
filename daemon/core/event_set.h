/* SPDX-License-Identifier: MIT */
/* An event set (specification 3.7): a full set of PMU registers. */
#ifndef CORE_EVENT_SET_H
#define CORE_EVENT_SET_H

#include "daemon/core/request.h"
#include "perfmonfs/live.h"

/* Why a count is lost. It stays lost until the PMD is written. */
enum lost {
	LOST_NOT = 0,
	LOST_STOLEN,    /* its selector holds what another program has written */
	LOST_PAUSED,    /* its bit in the global control was cleared while it ran */
	LOST_OFFLINE,   /* its CPU went offline */
	LOST_LATE,      /* it was read so late that it may have wrapped unseen */
	LOST_FAULT,     /* its register could not be read or written */
	LOST_OVERTAKEN, /* another thread ran before the counter was stopped */
	LOST_TYPE,      /* its thread ran on a CPU of a type that it was not loaded for */
	LOST_STALLED,   /* the thread that switches it had to wait meanwhile */
	LOST_UNCOVERED, /* its thread ran on a CPU where it is not followed */
	LOST_MISSED,    /* the kernel did not report a switch of its thread */
	LOST_BUDGET,    /* switching its user's threads took more than the user's part of a CPU */
	LOST_THROTTLED, /* the kernel stopped it for a while, as it overflowed too often */
	LOST_EVICTED,   /* the kernel gave its hardware counter to other users of the PMU */
	LOST_LEAPT,     /* its count has advanced by more than it can have counted */
	LOST_WRITTEN,   /* as LOST_LEAPT, in a register that another program can write */
	LOST_UNSAMPLED, /* its event counts only by interrupts, of which it has none */
	LOST_TAKEN,     /* its thread ran on a CPU where a context was loaded on the CPU itself */
	LOST_DROPPED,   /* see pmd_state.dropped */
};

/* The part of a PMD's state that a reset changes. */
struct pmd_count {
	uint64_t value;       /* 64 bits wide, as of the last reading of the hardware */
	uint64_t last_reset;  /* the value last loaded */
	uint64_t thresh_left; /* overflows left before switching */
	uint32_t random;      /* state of its generator */
};

struct pmd_state {
	struct pmd_count n;
	enum lost lost;
	/* Interrupts that alone advance the count were not recorded: it is too low to be read, but
	 * still overflows. */
	bool dropped;
	unsigned taken_cpu, taken_uid; /* with LOST_TAKEN: the CPU and its context's user */
	uint64_t hw;                   /* value of the hardware counter at the last reading */
	uint64_t read_at; /* time just before that reading (ns); valid while it counts */
	uint64_t overflows;
	struct gaps gaps;         /* since it was written */
	uint32_t switch_overhead; /* events that one sched-in and sched-out add to the count */

	/* As written: struct pmd_conf, with a bit per row for each logical number. */
	uint64_t long_reset, short_reset, thresh, mask, eventid;
	uint32_t seed;
	uint32_t flags; /* enum pmd_flag */
	pmu_rows smpl, reset;
	pmu_rows virtuals; /* virtual PMDs in smpl=, by row */
};

static inline enum lost pmd_lost(const struct pmd_state *s)
{
	return s->dropped && !s->lost ? LOST_DROPPED : s->lost;
}

struct evtset {
	uint16_t id;
	uint16_t next_id; /* the explicit next set, with SET_EXPL_NEXT */
	uint16_t npmds;
	uint8_t flags;       /* enum evtset_flag */
	bool calibrated;     /* the switch_overhead of its PMDs is known for its PMCs as they are */
	pmu_rows due;        /* PMDs whose thresholds are used up: the set must be left */
	pmu_rows triggers;   /* @due at the last switch by overflow since load */
	pmu_rows virtuals;   /* virtual PMDs that any of its PMDs has sampled */
	pmu_rows pending;    /* PMDs that have overflowed and wait for their reset */
	uint64_t timeout_ns; /* effective; 0: none was set */
	uint64_t remaining_ns; /* rest of @timeout_ns, as of ctx->since */
	uint64_t runs;         /* times it became the active set */
	uint64_t active_ns;    /* time for which it was active, up to ctx->since */
	struct evtset *next;   /* the set to switch to; valid while loaded */
	uint64_t *pmc;         /* logical values, by row; stored behind the PMDs */
	struct pfm_live *live; /* its page, or NULL; freed by the code that made it */
	struct pmd_state pmd[];
};

/* Size of an event set in bytes. */
size_t evtset_size(const struct pmu *pmu);
/* Returns NULL if there is no memory. The caller frees it with free(). */
struct evtset *evtset_new(uint16_t id, const struct pmu *pmu);
/* Resets @set to its state when made, except for its page. */
void evtset_renew(struct evtset *set, const struct pmu *pmu);

/* Makes @set the active set: one more run, a full timeout, full thresholds. */
void evtset_activate(struct evtset *set);

enum reset { RESET_SHORT, RESET_LONG };

/* Ends @set's time as the active set: @due becomes @triggers. */
void evtset_leave(struct evtset *set);

/* Loads a reset value, randomized with PMD_RANDOM. */
void pmd_reset(struct pmd_state *s, enum reset kind);

/* Resets the pending PMDs, and those to be reset with them. */
void evtset_reset_pending(struct evtset *set, enum reset kind);

/* The state that activating and resetting change, saved in case the command fails later. */
struct evtset_undo {
	struct evtset *set;   /* the set that is activated */
	struct evtset *from;  /* the set that was active before */
	enum ctx_state state; /* the context's state before; the caller saves it and the next two */
	bool throttled;
	uint64_t began;
	pmu_rows due; /* of @from */
	pmu_rows pending;
	uint64_t remaining_ns, runs;
	struct pmd_count n[PMU_MAX_PMDS];
};
void evtset_save(struct evtset *set, struct evtset *from, struct evtset_undo *undo);
void evtset_restore(const struct evtset_undo *undo);

#endif

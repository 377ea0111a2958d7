/* SPDX-License-Identifier: MIT */
/* An event set (specification 3.7): everything a PMU is programmed with. */
#ifndef CORE_EVTSET_H
#define CORE_EVTSET_H

#include "daemon/core/request.h"
#include "perfmonfs/live.h"

/* Why a count can no longer be told. It stays so until the PMD is written anew. */
enum lost {
	LOST_NOT = 0,
	LOST_STOLEN,  /* its selector holds what somebody else wrote */
	LOST_PAUSED,  /* its bit in the global control was cleared while it ran */
	LOST_OFFLINE, /* its CPU went offline */
	LOST_LATE,    /* nobody looked for so long that it may have wrapped unseen */
	LOST_FAULT,   /* its register could not be read or written */
	LOST_BEHIND,  /* another thread ran before the carrier did, */
	LOST_AWAY,    /* or its own did where nobody followed it, */
	LOST_UNTOLD,  /* or the kernel did not tell that it came or went */
};

/* What a reset of a PMD changes. */
struct pmd_count {
	uint64_t value;       /* 64 bits wide, as of the last look at the hardware */
	uint64_t last_reset;  /* the value last loaded */
	uint64_t thresh_left; /* overflows left before switching */
	uint32_t random;      /* state of its generator */
};

struct pmd_state {
	struct pmd_count n;
	enum lost lost;
	uint64_t hw;     /* what the actual counter held at the last look */
	uint64_t looked; /* when that was (ns), while it counts */
	uint64_t overflows;
	uint32_t carry; /* what coming to a CPU and leaving it again adds to the count */

	/* As written: struct pmd_conf, with rows for logical numbers. */
	uint64_t long_reset, short_reset, thresh, mask, eventid;
	uint32_t seed;
	uint32_t flags; /* enum pmd_flag */
	uint32_t smpl, reset;
	uint32_t virtuals; /* virtual PMDs in smpl=, a bit for each row of theirs */
};

struct evtset {
	uint16_t id;
	uint16_t next_id; /* the explicit next, with SET_EXPL_NEXT */
	uint16_t npmds;
	uint8_t flags;         /* enum evtset_flag */
	bool gauged;           /* carry is known of what the PMCs hold now */
	uint32_t due;          /* PMDs whose thresholds have been reached: it is to be left */
	uint32_t triggers;     /* what @due was at the last switch by overflow, since load */
	uint32_t virtuals;     /* virtual PMDs that any of its PMDs has sampled */
	uint32_t pending;      /* PMDs that have overflowed and wait for their reset */
	uint64_t timeout_ns;   /* effective; 0: none was set */
	uint64_t remaining_ns; /* of it, up to ctx->since */
	uint64_t runs;
	uint64_t active_ns;    /* up to ctx->since */
	struct evtset *next;   /* while loaded: the one to switch to */
	uint64_t *pmc;         /* logical values, by row; behind the PMDs */
	struct pfm_live *live; /* its page, if anybody has asked for it: who made it frees it */
	struct pmd_state pmd[];
};

/* NULL: no memory. Freed by free(). */
struct evtset *evtset_new(uint16_t id, const struct pmu *pmu);
/* As if it had just been made, but for its page. */
void evtset_renew(struct evtset *set, const struct pmu *pmu);

/* Makes it the set that runs: one more run, a full timeout, all thresholds. */
void evtset_activate(struct evtset *set);

enum reset { RESET_SHORT, RESET_LONG };

/* It is switched from, by what is due. */
void evtset_leave(struct evtset *set);

/* Loads a reset value into PMD row @d, randomized if it is to be. */
void pmd_reset(struct pmd_state *s, enum reset kind);

/* Resets what has overflowed and has waited for it, and what is to be reset with that. */
void evtset_reset_pending(struct evtset *set, enum reset kind);

/* What activating and resetting change, in case it comes to nothing. */
struct evtset_undo {
	struct evtset *set, *from; /* the set, and the one that was active before */
	enum ctx_state state;
	uint32_t due; /* of @from */
	uint32_t pending;
	uint64_t remaining_ns, runs;
	struct pmd_count n[PMU_MAX_PMDS];
};
void evtset_save(struct evtset *set, struct evtset *from, struct evtset_undo *undo);
void evtset_restore(const struct evtset_undo *undo);

#endif

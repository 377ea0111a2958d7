/* SPDX-License-Identifier: MIT */
/*
 * What a context has to do, in the slow and obvious way and independent of the core: while it runs,
 * a PMD of the active set grows by the events of its PMC's value that happen on its CPU. A command
 * that reads the counters finds those that have wrapped and resets, masks or switches as the
 * specification says.
 */
#ifndef TESTS_UNIT_REFERENCE_H
#define TESTS_UNIT_REFERENCE_H

#include "tests/unit/world_sets.h"

enum { REF_SETS = 6, REF_QUEUE = 32 };

struct ref_pmd {
	struct pmd_conf conf;
	uint64_t value; /* at the last reading */
	uint64_t more;  /* events since that reading */
	uint64_t last_reset, left, overflows;
	uint64_t random; /* the generator's state */
};

struct ref_set {
	uint16_t id, next;
	unsigned flags; /* enum evtset_flag */
	uint64_t timeout, runs, active_ns, remaining;
	uint32_t triggered; /* rows: what caused the last switch from it */
	uint32_t pending;   /* rows that wait to be reset */
	uint64_t pmc[PMU_MAX_PMCS];
	struct ref_pmd pmd[PMU_MAX_PMDS]; /* by row */
};

struct reference {
	struct world *w;
	enum ctx_state state;
	bool throttled, offline;
	bool no_messages;
	bool blind;   /* counts are not compared; what has become of it, the core says */
	bool excused; /* another program has interfered: commands may fail, counts may be lost */
	struct ref_set sets[REF_SETS]; /* by rising id */
	unsigned nsets;
	uint16_t active; /* id */

	/* Found by a reading; handled by the next command that is not CMD_READ. */
	enum { REF_MASK = 1, REF_THROTTLE = 2 } mask;
	uint32_t due; /* rows: triggers of a switch */

	uint64_t window, in_window; /* of the throttle: since when, how many overflows */
	struct pfm_msg queue[REF_QUEUE + 1];
	unsigned nmsgs;
	uint64_t lost;
	uint64_t changes;
	uint64_t read_at;     /* when all counters were last read */
	char seen[160];       /* what test, for messages */
	bool tell;            /* print each step */
	struct text accesses; /* register accesses since the last step printed */
};

void reference_init(struct reference *r, struct world *w);

struct ref_set *reference_set(struct reference *r, unsigned id);
struct ref_set *reference_active(struct reference *r);

/* Whether counter row @d has wrapped since it was last read. */
bool reference_unseen(struct reference *r, unsigned d);

/* Whether the active set's time is over. */
bool reference_time_over(struct reference *r);

/* Lets time pass, for the world and for the reference, without a reading. */
void reference_advance(struct reference *r, uint64_t ns);

/* Lets time pass as the worker does: it polls when that is due, at most @polls times. */
void reference_pass(struct reference *r, uint64_t ns, unsigned polls);

/* Lets the worker do what is due at once, as it does after every read. */
void reference_work(struct reference *r);

/*
 * Has the world execute @verb, for set @set unless that is below 0, and holds outcome and state
 * against what they have to be. Excused, it may fail, but only all or nothing.
 */
void reference_do(struct reference *r, enum cmd_verb verb, int set);

/* As much for registers, and for event sets. */
void reference_write(struct reference *r, const struct cmd_reg *reg);
void reference_set_new(struct reference *r, unsigned id);
void reference_set_delete(struct reference *r, unsigned id);
void reference_set_write(struct reference *r, const struct cmd_evtset *set);

/* Takes up to @n messages, and compares them. */
void reference_messages(struct reference *r, unsigned n);

/* Reads every register of every set at once, beginning with element @from; then the worker polls.
 */
void reference_check(struct reference *r, unsigned from);

/* The same one by one; excused, a PMD may have no value, but never a wrong one. */
void reference_check_each(struct reference *r);

/* Reads what there is to know about each set. */
void reference_check_sets(struct reference *r);

#endif

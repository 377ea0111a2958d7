/* SPDX-License-Identifier: MIT */
/*
 * What the files of the core share. A file calls only files that come before it here: commands
 * (cmd_*.c) are at the end, and below them moving from image to image, counters, and memory.
 */
#ifndef CORE_CORE_I_H
#define CORE_CORE_I_H

#include <errno.h>

#include "daemon/core/core.h"

#define SECOND_NS 1000000000
#define YEARS_NS  (1ULL << 60) /* 36 of them */

/* context.c */

/* The position of set @id in ctx->sets, or of the first set after it. */
unsigned ctx_set_position(const struct context *ctx, unsigned id);
/* Sets state and throttled; counted if they change. */
void ctx_set_state(struct context *ctx, enum ctx_state state);
/* Monitoring has ended, by stop or unload. */
void ctx_stopped(struct context *ctx, enum ctx_state state, uint64_t now);
/* Time passes for the active set. */
bool ctx_time_passes(const struct context *ctx);
/* Saves a context whose counters are frozen, or, if that has @failed, may still count. */
void ctx_leave_registers(struct context *ctx, bool failed);
/* EPERM: no right to monitor a CPU, or a thread. */
int rights_check(const struct rights *r, bool system_wide, struct err *e);
/* EACCES: a PMC of any set counts at kernel level, without the right to that. */
int rights_check_kernel(const struct context *ctx, const struct rights *r, struct err *e);
/* The error of a @verb that needs a loaded context: -EINVAL. */
int ctx_not_loaded(const struct context *ctx, const char *verb, struct err *e);

/* virtual_value.c */

/* What @cmd has of virtual PMDs. */
void virtuals_begin(struct core_run *run, const struct command *cmd);
/* The virtual PMDs that a sample of the active set may need now: none of a saved context. */
pmu_rows virtuals_sampled(const struct context *ctx);
/* The virtual PMDs that @cmd needs from the beginning. */
pmu_rows virtuals_needed(const struct context *ctx, const struct command *cmd);
/* EIO, ENODATA. */
int virtual_read(const struct core_run *run, unsigned row, uint64_t *value, struct err *e);
/* Updates set->virtuals after a PMD of @set was configured. */
void virtuals_note(struct evtset *set);

/* reservation.c */

/* The bits of selector row @p that are saved and restored with its @bits. */
uint64_t reservation_bits(const struct pmu *pmu, unsigned p, uint64_t bits);

/* Reserved bits of selector row @p that the read @op found changed; 0 if @op is NULL. */
uint64_t reservation_differs(const struct context *ctx, unsigned p, const struct reg_op *op);
/* Gives up the bits of selector row @p that belong to the counters whose bits @differ. */
void reservation_lose(struct context *ctx, unsigned p, uint64_t differ);

/* time.c */

/* When counter @d may overflow at the earliest, by its last reading (ns); 0: not in years. */
uint64_t soonest_overflow(const struct context *ctx, unsigned d);
/* Adds the time since the last call to the active set's. */
void time_account(struct context *ctx, uint64_t now);
/* What time_account() would add to @set's time. */
uint64_t evtset_running_ns(const struct context *ctx, const struct evtset *set, uint64_t now);
/* The active set switches by time, and its time is over. */
bool time_is_over(const struct context *ctx, uint64_t now);
/* All counters have been read, or begin to count: for pages, their counts are those of now. */
static inline void time_stamp_live(struct core_run *run)
{
	run->ctx->live.time = run->clock;
}
/* When all counters are to be read for the active set's page (CLOCK_MONOTONIC, ns); 0: never. */
uint64_t time_next_live(const struct context *ctx);

/* plan_run.c */

/* Runs @plan and notes when its results were there. True: all of it succeeded. */
bool plan_run(struct core_run *run, struct plan *plan);
/* The same for a plan that reads counters: their overflow may need virtual PMDs. */
bool plan_run_sampling(struct core_run *run, struct plan *plan);
/* Runs run->plan, leaving out what fails. @e becomes the last error, if there is one. */
void plan_run_all(struct core_run *run, struct err *e);
/* Fetches virtual PMDs @rows unless that was tried before, and updates run->now. */
void plan_fetch(struct core_run *run, pmu_rows rows);

/* counter.c. Sets of counters have a bit per row. */

uint64_t pmd_width_mask(const struct pmu_pmd *pmd);
/* The count of row @d as users see it. */
uint64_t pmd_value(const struct pmu *pmu, const struct evtset *set, unsigned d);
/* The selector rows that the counters @pmds depend on, as programmed, and those in use that
 * restrict all. */
pmu_rows selectors_of(const struct context *ctx, pmu_rows pmds);
/* The counters in use that depend on @bits of selector row @p. */
pmu_rows counters_behind(const struct context *ctx, unsigned p, uint64_t bits);
/* Takes in the values of @pmds that @plan has read. */
void counters_fold(struct core_run *run, pmu_rows pmds, const struct plan *plan);
/* Loses those of @pmds whose bit is clear in the value @global of the global control. */
void counters_paused(struct context *ctx, pmu_rows pmds, uint64_t global);
/* Loses those of @pmds that depend on the operation that failed; all if the CPU is offline. */
void counters_fault(struct context *ctx, pmu_rows pmds, const struct plan *plan);
/* Loses counter @d if it cannot have counted @n events since its last reading. */
void counter_check_leap(struct core_run *run, unsigned d, uint64_t n);
/* Loses @pmds; a count already lost keeps its first reason. */
void counters_lose(struct context *ctx, pmu_rows pmds, enum lost why);
/* The error of reading counter @d, whose count is lost by its state @s: -EIO or -ENXIO. */
int counter_lost(const struct context *ctx, unsigned d, const struct pmd_state *s, struct err *e);
/* Those of @rows of the active set that count, and whose counts are not lost. */
pmu_rows counters_live(const struct context *ctx, pmu_rows rows);
/* Writes the buffers that were reset since their last reading. */
void buffers_write(struct core_run *run);
/* Reads those of @rows that counters_live(), and verifies that they are still reserved. */
void read_counters(struct core_run *run, pmu_rows rows);

/* pmu_type.c */

/* EINVAL: @value of PMC row @p is not possible on CPUs with @pmu. */
int type_check_pmc(const struct context *ctx, const struct pmu *pmu, unsigned p, uint64_t value,
	struct err *e);
/* EINVAL: CPUs with @pmu lack PMD row @d. */
int type_check_pmd(const struct pmu *pmu, unsigned d, struct err *e);
/* EINVAL: what the event sets ask for is not possible on CPUs with @pmu. */
int type_check(const struct context *ctx, const struct pmu *pmu, struct err *e);
/* It is being loaded on CPUs with @pmu; or it is unloaded. */
void type_set(struct context *ctx, const struct pmu *pmu);
void type_reset(struct context *ctx);

/* pmd_conf.c */

/* EINVAL: @conf names a PMD that this PMU lacks, or a virtual one to be reset. */
int conf_check(const struct pmu *pmu, const struct pmd_conf *conf, struct err *e);
/* Writes PMD row @d: all of @s, except what @r keeps. */
void conf_write(const struct pmu *pmu, const struct cmd_reg *r, uint64_t now, unsigned d,
	struct pmd_state *s);
/* Sets the @parts of the configuration (enum pmd_part). */
void conf_store(
	const struct pmu *pmu, const struct pmd_conf *c, unsigned parts, struct pmd_state *s);
void conf_fetch(const struct pmu *pmu, const struct evtset *set, unsigned d, struct cmd_reg *r);

/* note.c */

/* What keeps counters of @set from counting or sampling once it is started. @note is empty. */
void note_start(const struct context *ctx, const struct evtset *set, struct err *note);
/* A PMD just written whose overflow is to be notified and not to be expected. An earlier note
 * stays. */
void note_period(const struct pmu_pmd *pmd, const struct pmd_state *s, struct err *note);

/* message_send.c */

/* Sends a message about PMDs @rows of the active set; without room, it is counted as lost. @where:
 * what ran, if that is known. */
void message_send(struct context *ctx, uint32_t type, pmu_rows rows, const pfm_smpl_where_t *where);
/* Adds the bits of PMDs @rows, by logical number. */
void message_pmds(const struct pmu *pmu, pmu_rows rows, uint64_t pmds[PFM_MSG_BV]);

/* loss.c */

/* Counts of PMDs @rows of the active set have just been lost: tells the client and the format. */
void loss_report(struct context *ctx, pmu_rows rows);
/* @s is written: its count is not lost any more. */
void loss_end(struct context *ctx, struct pmd_state *s);
/* The same for all PMDs of @set. */
void loss_end_set(struct context *ctx, struct evtset *set);

/* source.c: tells the format ctx->source. */
void source_tell(struct context *ctx);

/* gap.c */

/* Opens a gap in the counts of PMDs @rows of the active set, unless one is open. */
void gap_open(struct context *ctx, pmu_rows rows);
/* What a context that has yielded has not counted up to @now, while it was started. */
void gap_end_yield(struct context *ctx, uint64_t now);

/* throttle.c: one overflow of @s. True: that has used up its threshold. */
bool overflow_count(struct context *ctx, struct pmd_state *s, uint64_t now);

/*
 * sample.c: account_overflows() with a sampling format. @triggers: PMDs whose thresholds are used
 * up. Returns the PMDs to be reset together with those that were.
 */
pmu_rows sample_overflows(struct core_run *run, pmu_rows rows, pmu_rows *triggers);

/* overflow.c */

/*
 * Counts, samples and resets the PMDs that have wrapped. What remains is noted in ovfl.mask_due,
 * ovfl.notify and the set's due.
 */
void account_overflows(struct core_run *run);
/* Sends the notification that is due, and forgets why the context was to be masked. */
void notify_pending(struct context *ctx);

/* overflow_status.c */

/* Whether the overflow status register tells at @now all that reading the counters would. */
bool status_suffices(const struct context *ctx, uint64_t now);
/* True: by that register no counter has overflowed. Clears it otherwise. */
bool status_clear(struct core_run *run);

/* live_page.c */

/* Updates the page of @set, if there is one. */
void live_refresh(const struct context *ctx, const struct evtset *set);
/* Around each command: readers of the active set's page wait in between. @was: the set that was
 * active at the beginning. */
void live_begin(struct context *ctx);
void live_end(struct context *ctx, struct evtset *was);
/* What such a page of @set shows after this command. */
void live_show(const struct context *ctx, const struct evtset *set, struct pfm_live *page);
int cmd_live(struct context *ctx, const struct command *cmd, struct err *e);

/* element.c: of CMD_READ and CMD_WRITE. */

/* Finds the set and the row. ENOENT. */
int element_find(const struct context *ctx, const struct cmd_reg *r, struct evtset **set,
	unsigned *row, struct err *e);
/* The row of a virtual PMD, or -1. */
int element_virtual(const struct context *ctx, const struct cmd_reg *r);
/* What was wrong with an element that has failed. */
enum cmd_fault element_fault(const struct context *ctx, const struct cmd_reg *r);

/* cmd_evtset.c */
int set_new(struct context *ctx, struct cmd_evtset *c, const struct limits *limits, struct err *e);
/* Copies all sets of @from, as they were written, to @to, which has only set 0. */
int sets_copy(struct context *to, const struct context *from, struct err *e);
int set_delete(struct context *ctx, struct cmd_evtset *c, struct err *e);
int set_write(struct context *ctx, const struct cmd_evtset *c, const struct limits *limits,
	struct err *e);
int set_read(const struct context *ctx, struct cmd_evtset *c, uint64_t now, struct err *e);
/* Checks what has to be true of all sets together once they are loaded, on a CPU or a @thread. */
int sets_check(const struct context *ctx, bool thread, struct err *e);
/* Sets the successor of each set, and clears the triggers of the last switch. */
void sets_link(struct context *ctx);

/* program.c: from the image in ctx->res->hw to another. */
struct program {
	struct image to;
	bool one_way; /* never turned back: what cannot be written is lost (switchover.c);
			 otherwise all or nothing (transition.c) */
	bool unseen;  /* selectors were not read lately: they are replaced only if unchanged */
};

/* Bits of selector row @p that are not reserved yet. */
uint64_t program_new_bits(const struct context *ctx, const struct program *pg, unsigned p);
/* Selector row @p has to be written, or bits of it reserved. */
bool program_changes(const struct context *ctx, const struct program *pg, unsigned p);
/* Adds the writes of counters @rows. Those in @known hold current[row] already. */
void program_counters(struct context *ctx, pmu_rows rows, pmu_rows known,
	const uint64_t current[PMU_MAX_PMDS], struct plan *plan);
/* Adds the writes of all selectors that do not enable counters. */
void program_selectors(const struct context *ctx, const struct program *pg, struct plan *plan);
/* Makes run->plan the one that enables the counters, and ctx->res->hw what it leads to; before,
 * that goes to run->undo.image. */
void program_commit(struct core_run *run, const struct program *pg);

/*
 * transition.c: moves the registers to @to, or leaves everything as it was. Of a saved context,
 * does nothing. @leave_last: CORE_LAST may be returned.
 */
int transition(struct core_run *run, const struct image *to, bool leave_last, struct err *e);
/* The last plan of a transition has failed: undoes it. */
int transition_last_failed(struct core_run *run, struct err *e);

/* freeze.c: the counters of a CPU stop. */

/* Makes the plan that stops the counters of a running context. */
void freeze_plan(const struct context *ctx, struct plan *plan);
/*
 * Stops the counters by run->freeze, unless that was run before the command, and takes in what it
 * has found. The active set's time ends at @at; 0: now. @failed: a counter may still count.
 */
void freeze_counters(struct core_run *run, uint64_t at, struct err *failed);
/* Selector row @p lets its counter count. */
bool selector_enabled(const struct context *ctx, unsigned p);
/* Adds what stops the selectors one by one. */
void freeze_plan_selectors(const struct context *ctx, struct plan *plan);
/*
 * Takes in what @plan, which was run, has found: counts, selectors stopped or taken over. If an
 * operation has failed, the rest is run, too, unless the CPU is offline, so that one fault does not
 * keep other counters from being stopped. @failed is set if a counter may still count.
 */
void freeze_take_all(struct core_run *run, struct plan *plan, struct err *failed);
/* Adds the reads of all counters in use that are not lost. */
void freeze_plan_counters(const struct context *ctx, struct plan *plan);
/* Reads frozen counters, and verifies their selectors and those that @pg changes. */
void freeze_read(struct core_run *run, const struct program *pg);
/* Sets run->foreign_global in the global control again, and ends its reservation. */
void freeze_restore_foreign(struct core_run *run);

/* switchover.c: sets and threads take turns in registers that are reserved. */

/* What the registers hold for @set: those that it does not use stay as they are. */
void switchover_aim(const struct context *ctx, const struct evtset *set, struct program *pg);
/* The frozen registers get the active set. @known, @current: see program_counters(). */
int switchover(struct core_run *run, struct program *pg, pmu_rows known,
	const uint64_t current[PMU_MAX_PMDS], struct err *e);
/* It cannot go on: @why. The counters are stopped, or that is not known. */
int switchover_give_up(struct context *ctx, const struct err *why, struct err *e);
int switchover_last_failed(struct core_run *run, struct err *e);

/* cmd_stop.c */

/* Stops the counters. An error means that they may still count. */
int stop_counters(struct core_run *run, struct err *e);
/* The part after freezing and reading; run->plan begins it. @failed: the error so far. */
int stop_selectors(struct core_run *run, struct err *failed, struct err *e);
int cmd_stop(struct core_run *run, struct err *e);

/* registers.c */

/* Registers for @set, stopped, and all registers of the other sets. */
void registers_image(const struct context *ctx, const struct evtset *set, struct image *im);
/* Stops running counters, which leaves the context in state @then, and restores all registers that
 * are still reserved. It always gets to its end; @failed: the first error. */
void registers_release(struct core_run *run, enum ctx_state then, struct err *failed);

/* mask.c: monitoring is masked, and those to be notified are. */
int mask_counters(struct core_run *run, struct err *e);
/* The same when the counters are frozen and have been read. */
int mask_frozen(struct core_run *run, struct err *e);

/* cmd_switch.c */

/* The part of a switch that needs no register. */
void switch_activate(struct context *ctx, struct evtset *to);
/* Switches a running context to @to, or masks it if its last overflows say so. */
int switch_sets(struct core_run *run, struct evtset *to, struct err *e);
int cmd_switch(struct core_run *run, struct err *e);

/* overflow_act.c: masks, notifies and switches as account_overflows() has found. */
int overflow_act(struct core_run *run, struct err *e);
/* The same for a saved context. */
void overflow_act_saved(struct context *ctx);

/* cmd_start.c: the rest of start and restart, when the active set is what it is to be. */
int start_counters(struct core_run *run, const struct limits *limits, struct err *e);
int start_last_failed(struct core_run *run, struct err *e);
int cmd_start(struct core_run *run, struct command *cmd, struct err *e);

/* A file each. */
int cmd_load(struct core_run *run, const struct command *cmd, struct err *e);
int cmd_unload(struct core_run *run, struct err *e);
int cmd_end(struct core_run *run, struct err *e);
int cmd_restart(struct core_run *run, const struct command *cmd, struct err *e);
int cmd_read(struct core_run *run, struct command *cmd, struct err *e);
int cmd_live_read(struct core_run *run, struct command *cmd, struct err *e);
int cmd_counts(struct core_run *run, struct command *cmd);
int cmd_write(struct core_run *run, struct command *cmd, struct err *e);
int cmd_poll(struct core_run *run, struct err *e);
int cmd_yield(struct core_run *run);
int cmd_resume(struct core_run *run, struct err *e);
int resume_last_failed(struct core_run *run, struct err *e);
int cmd_sched_in(struct core_run *run, struct err *e);
int sched_in_last_failed(struct core_run *run, struct err *e);
int cmd_sched_out(struct core_run *run, const struct command *cmd);

#endif

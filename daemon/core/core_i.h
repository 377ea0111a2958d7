/* SPDX-License-Identifier: MIT */
/*
 * Functions shared by the core's files, lowest layer first: memory, counters, moving from image to
 * image, and at the end the commands (cmd_*.c). A file calls only files that come before it here.
 */
#ifndef CORE_CORE_I_H
#define CORE_CORE_I_H

#include <errno.h>

#include "daemon/core/core.h"

#define SECOND_NS 1000000000
#define YEARS_NS  (1ULL << 60) /* 36 years */

/* context.c */

/* The position of set @id in ctx->sets, or of the first set after it. */
unsigned ctx_set_position(const struct context *ctx, unsigned id);
/* Sets ctx->state and ctx->throttled, and counts a change of either. */
void ctx_set_state(struct context *ctx, enum ctx_state state);
/* Sets @state after a stop or an unload, and notes that monitoring ended at @now. */
void ctx_stopped(struct context *ctx, enum ctx_state state, uint64_t now);
/* True while time passes for the active set. */
bool ctx_time_passes(const struct context *ctx);
/* Saves a context whose counters are frozen or, if freezing has @failed, may still count. */
void ctx_leave_registers(struct context *ctx, bool failed);
/* Fails with EPERM without the right to monitor a CPU (@system_wide) or a thread. */
int rights_check(const struct rights *r, bool system_wide, struct err *e);
/* Fails with EACCES if a PMC of any set counts at kernel level and @r lacks that right. */
int rights_check_kernel(const struct context *ctx, const struct rights *r, struct err *e);
/* The error of a @verb that needs a loaded context: -EINVAL. */
int ctx_not_loaded(const struct context *ctx, const char *verb, struct err *e);

/* virtual_value.c */

/* Takes in the values of virtual PMDs that come with @cmd. */
void virtuals_begin(struct core_run *run, const struct command *cmd);
/* The virtual PMDs that a sample of the active set may need now; none if the context is saved. */
pmu_rows virtuals_sampled(const struct context *ctx);
/* The virtual PMDs that @cmd needs from the beginning. */
pmu_rows virtuals_needed(const struct context *ctx, const struct command *cmd);
/* Reads virtual PMD @row. Fails with EIO, ENODATA or EACCES. */
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

/* When counter @d may overflow at the earliest, by its last reading (ns); 0: not for years. */
uint64_t soonest_overflow(const struct context *ctx, unsigned d);
/* Adds the time since the last call to the active set's time. */
void time_account(struct context *ctx, uint64_t now);
/* The time (ns) that time_account() would add to @set. */
uint64_t evtset_running_ns(const struct context *ctx, const struct evtset *set, uint64_t now);
/* True if the active set switches by time and its time is over. */
bool time_is_over(const struct context *ctx, uint64_t now);
/* Notes that all counters have just been read, or begin to count: pages show counts as of now. */
static inline void time_stamp_live(struct core_run *run)
{
	run->ctx->live.time = run->clock;
}
/* When to read all counters next for the active set's page (CLOCK_MONOTONIC, ns); 0: never. */
uint64_t time_next_live(const struct context *ctx);

/* plan_run.c */

/* Runs @plan and notes the time of its results. True if all of it succeeded. */
bool plan_run(struct core_run *run, struct plan *plan);
/* plan_run() for a plan that reads counters: fetches the virtual PMDs that overflows may need. */
bool plan_run_sampling(struct core_run *run, struct plan *plan);
/* Runs run->plan and skips what fails. @e: the last error; unchanged if there was none. */
void plan_run_all(struct core_run *run, struct err *e);
/* Fetches virtual PMDs @rows unless that was tried before, and updates run->now. */
void plan_fetch(struct core_run *run, pmu_rows rows);

/* counter.c. Sets of counters have a bit per row. */

uint64_t pmd_width_mask(const struct pmu_pmd *pmd);
/* The count of row @d as users see it. */
uint64_t pmd_value(const struct pmu *pmu, const struct evtset *set, unsigned d);
/* The selector rows on which counters @pmds depend as programmed, and the rows in use that restrict
 * all counters. */
pmu_rows selectors_of(const struct context *ctx, pmu_rows pmds);
/* The counters in use that depend on @bits of selector row @p. */
pmu_rows counters_behind(const struct context *ctx, unsigned p, uint64_t bits);
/* Takes in the values of @pmds that @plan has read. */
void counters_fold(struct core_run *run, pmu_rows pmds, const struct plan *plan);
/* Loses each of @pmds whose bit is clear in @global, a value of the global control. */
void counters_paused(struct context *ctx, pmu_rows pmds, uint64_t global);
/* Loses each of @pmds that depends on the operation that failed; all if the CPU is offline. */
void counters_fault(struct context *ctx, pmu_rows pmds, const struct plan *plan);
/* Loses counter @d if it cannot have counted @n events since its last reading. */
void counter_check_leap(struct core_run *run, unsigned d, uint64_t n);
/* Loses @pmds; a count already lost keeps its first reason. */
void counters_lose(struct context *ctx, pmu_rows pmds, enum lost why);
/* The error for reading counter @d, whose count is lost according to @s: -EIO or -ENXIO. */
int counter_lost(const struct context *ctx, unsigned d, const struct pmd_state *s, struct err *e);
/* The @rows of the active set that are counting and whose counts are not lost. */
pmu_rows counters_live(const struct context *ctx, pmu_rows rows);
/* Writes the buffers that were reset since their last reading. */
void buffers_write(struct core_run *run);
/* Reads counters_live(@rows), and verifies that they are still reserved. */
void read_counters(struct core_run *run, pmu_rows rows);

/* pmu_type.c */

/* Fails with EINVAL if CPUs with @pmu cannot have @value in PMC row @p. */
int type_check_pmc(const struct context *ctx, const struct pmu *pmu, unsigned p, uint64_t value,
	struct err *e);
/* Fails with EINVAL if CPUs with @pmu lack PMD row @d. */
int type_check_pmd(const struct pmu *pmu, unsigned d, struct err *e);
/* Fails with EINVAL if CPUs with @pmu lack registers or bits that the event sets use. */
int type_check(const struct context *ctx, const struct pmu *pmu, struct err *e);
/* Makes @pmu the context's PMU, at load; type_reset() makes it all_pmu again. */
void type_set(struct context *ctx, const struct pmu *pmu);
void type_reset(struct context *ctx);

/* pmd_conf.c */

/* Fails with EINVAL if @conf names a PMD that this PMU lacks, or a virtual PMD to be reset. */
int conf_check(const struct pmu *pmu, const struct pmd_conf *conf, struct err *e);
/* Writes PMD row @d: all of @s, except what @r keeps. */
void conf_write(const struct pmu *pmu, const struct cmd_reg *r, uint64_t now, unsigned d,
	struct pmd_state *s);
/* Sets the @parts of the configuration (enum pmd_part). */
void conf_store(
	const struct pmu *pmu, const struct pmd_conf *c, unsigned parts, struct pmd_state *s);
/* Sets the reset values of a PMD that was written without any, by the context's sampling format. */
void conf_default_resets(const struct context *ctx, struct pmd_state *s);
void conf_fetch(const struct pmu *pmu, const struct evtset *set, unsigned d, struct cmd_reg *r);

/* note.c */

/* Sets @note, which is empty, to what will keep counters of @set from counting or sampling. */
void note_start(const struct context *ctx, const struct evtset *set, struct err *note);
/* Notes that a PMD just written notifies overflows, but that none is to be expected. An earlier
 * note stays. */
void note_period(const struct pmu_pmd *pmd, const struct pmd_state *s, struct err *note);

/* message_send.c */

/* Sends a message about PMDs @rows of the active set, or counts it as lost if there is no room.
 * @where: what was running, if known. */
void message_send(struct context *ctx, uint32_t type, pmu_rows rows, const pfm_smpl_where_t *where);
/* Adds to @pmds the bits of PMDs @rows, by logical number. */
void message_pmds(const struct pmu *pmu, pmu_rows rows, uint64_t pmds[PFM_MSG_BV]);

/* loss.c */

/* Tells the client and the format that the counts of PMDs @rows of the active set are lost. */
void loss_report(struct context *ctx, pmu_rows rows);
/* Ends the loss of the count of @s, as the PMD is being written. */
void loss_end(struct context *ctx, struct pmd_state *s);
/* Ends the losses of all PMDs of @set. */
void loss_end_set(struct context *ctx, struct evtset *set);

/* source.c: tells the format ctx->source. */
void source_tell(struct context *ctx);

/* gap.c */

/* Opens a gap in the counts of PMDs @rows of the active set, unless one is open. */
void gap_open(struct context *ctx, pmu_rows rows);
/* Adds the time up to @now in which a context that has yielded was started and did not count. */
void gap_end_yield(struct context *ctx, uint64_t now);

/* throttle.c: counts one overflow of @s. True if its threshold is now used up. */
bool overflow_count(struct context *ctx, struct pmd_state *s, uint64_t now);

/*
 * sample.c: account_overflows() with a sampling format. @triggers: PMDs whose thresholds are used
 * up. Returns the PMDs to be reset together with those that were reset.
 */
pmu_rows sample_overflows(struct core_run *run, pmu_rows rows, pmu_rows *triggers);

/* overflow.c */

/*
 * Counts, samples and resets the PMDs that have wrapped. What remains to be done is noted in
 * ovfl.mask_due, ovfl.notify and the set's @due.
 */
void account_overflows(struct core_run *run);
/* Sends the notification that is due, and clears the reasons for masking. */
void notify_pending(struct context *ctx);

/* overflow_status.c */

/* True if, at @now, the overflow status register tells as much as reading the counters would. */
bool status_suffices(const struct context *ctx, uint64_t now);
/* True if that register shows no counter in use as overflowed. Otherwise clears it. */
bool status_clear(struct core_run *run);

/* live_page.c */

/* Updates the page of @set, if there is one. */
void live_refresh(const struct context *ctx, const struct evtset *set);
/* Called before and after each command: in between, readers of the active set's page wait. @was:
 * the set that was active at the beginning. */
void live_begin(struct context *ctx);
void live_end(struct context *ctx, struct evtset *was);
/* Fills @page with what the page of @set shows after this command. */
void live_show(const struct context *ctx, const struct evtset *set, struct pfm_live *page);
int cmd_live(struct context *ctx, const struct command *cmd, struct err *e);

/* element.c: elements of CMD_READ and CMD_WRITE. */

/* Finds the set and the row of @r. Fails with ENOENT. */
int element_find(const struct context *ctx, const struct cmd_reg *r, struct evtset **set,
	unsigned *row, struct err *e);
/* The row of a virtual PMD, or -1. */
int element_virtual(const struct context *ctx, const struct cmd_reg *r);
/* The reason why element @r has failed. */
enum cmd_fault element_fault(const struct context *ctx, const struct cmd_reg *r);

/* cmd_evtset.c */
int set_new(struct context *ctx, struct cmd_evtset *c, const struct limits *limits, struct err *e);
/* Copies all sets of @from, as they were written, to @to, which has only set 0. */
int sets_copy(struct context *to, const struct context *from, struct err *e);
int set_delete(struct context *ctx, struct cmd_evtset *c, struct err *e);
int set_write(struct context *ctx, const struct cmd_evtset *c, const struct limits *limits,
	struct err *e);
int set_read(const struct context *ctx, struct cmd_evtset *c, uint64_t now, struct err *e);
/* Checks that the sets, taken together, can be loaded on a CPU or a @thread. */
int sets_check(const struct context *ctx, bool thread, struct err *e);
/* Sets the successor of each set, and clears the triggers of the last switch. */
void sets_link(struct context *ctx);

/* program.c: moving from the image in ctx->res->hw to another. */
struct program {
	struct image to;
	bool one_way; /* not undone on failure: what cannot be written is lost (switchover.c).
			 Otherwise all or nothing (transition.c) */
	bool unseen;  /* selectors were not read recently: they are replaced only if unchanged */
};

/* Bits of selector row @p that are not reserved yet. */
uint64_t program_new_bits(const struct context *ctx, const struct program *pg, unsigned p);
/* True if selector row @p must be written or bits of it reserved. */
bool program_changes(const struct context *ctx, const struct program *pg, unsigned p);
/* Adds the writes of counters @rows. Counters in @known already hold current[row]. */
void program_counters(struct context *ctx, pmu_rows rows, pmu_rows known,
	const uint64_t current[PMU_MAX_PMDS], struct plan *plan);
/* Adds the writes of all selectors that do not enable counters. */
void program_selectors(const struct context *ctx, const struct program *pg, struct plan *plan);
/* Makes run->plan the plan that enables the counters, moves ctx->res->hw to run->undo.image, and
 * sets ctx->res->hw to the image that the plan leads to. */
void program_commit(struct core_run *run, const struct program *pg);

/*
 * transition.c: moves the registers to @to or, if that fails, leaves everything as it was. Does
 * nothing if the context is saved. @leave_last: may return CORE_LAST.
 */
int transition(struct core_run *run, const struct image *to, bool leave_last, struct err *e);
/* Undoes a transition whose last plan has failed. */
int transition_last_failed(struct core_run *run, struct err *e);

/* freeze.c: stopping the counters of a CPU. */

/* Makes the plan that stops the counters of a running context. */
void freeze_plan(const struct context *ctx, struct plan *plan);
/*
 * Stops the counters by run->freeze, unless that was run before the command, and takes in its
 * results. The active set's time ends at @at; 0: now. @failed is set if a counter may still count.
 */
void freeze_counters(struct core_run *run, uint64_t at, struct err *failed);
/* True if selector row @p lets its counter count. */
bool selector_enabled(const struct context *ctx, unsigned p);
/* Adds the operations that stop the selectors one by one. */
void freeze_plan_selectors(const struct context *ctx, struct plan *plan);
/*
 * Takes in the results of @plan, which was run: counts, and selectors stopped or taken over. If an
 * operation has failed, the rest is run all the same, unless the CPU is offline, so that one fault
 * does not keep other counters from being stopped. @failed is set if a counter may still count.
 */
void freeze_take_all(struct core_run *run, struct plan *plan, struct err *failed);
/* Adds the reads of all counters in use that are not lost. */
void freeze_plan_counters(const struct context *ctx, struct plan *plan);
/* Reads frozen counters, and verifies their selectors and those that @pg changes. */
void freeze_read(struct core_run *run, const struct program *pg);
/* Sets run->foreign_global in the global control again, and ends its reservation. */
void freeze_restore_foreign(struct core_run *run);

/* switchover.c: giving reserved registers to another set or another thread's context. */

/* Sets pg->to to the image of @set: registers that it does not use stay as they are. */
void switchover_aim(const struct context *ctx, const struct evtset *set, struct program *pg);
/* Programs the active set into the frozen registers. @known, @current: see program_counters(). */
int switchover(struct core_run *run, struct program *pg, pmu_rows known,
	const uint64_t current[PMU_MAX_PMDS], struct err *e);
/* Gives up a switch because of @why: the counts are lost, and counters may still count. */
int switchover_give_up(struct context *ctx, const struct err *why, struct err *e);
int switchover_last_failed(struct core_run *run, struct err *e);

/* cmd_stop.c */

/* Stops the counters. An error means that they may still count. */
int stop_counters(struct core_run *run, struct err *e);
/* The rest of a stop after freezing: runs run->plan first. @failed: the error so far. */
int stop_selectors(struct core_run *run, struct err *failed, struct err *e);
int cmd_stop(struct core_run *run, struct err *e);

/* registers.c */

/* Makes the image of @set, stopped, with all registers of the other sets. */
void registers_image(const struct context *ctx, const struct evtset *set, struct image *im);
/* Stops running counters, which leaves the context in state @then, and restores all registers that
 * are still reserved. It always runs to its end; @failed is set if anything fails. */
void registers_release(struct core_run *run, enum ctx_state then, struct err *failed);

/* mask.c: masks monitoring and sends the notifications that are due. */
int mask_counters(struct core_run *run, struct err *e);
/* mask_counters() for counters that are frozen and have been read. */
int mask_frozen(struct core_run *run, struct err *e);

/* cmd_switch.c */

/* The part of a set switch that accesses no register. */
void switch_activate(struct context *ctx, struct evtset *to);
/* Switches a running context to @to, or masks it if the last overflows require that. */
int switch_sets(struct core_run *run, struct evtset *to, struct err *e);
int cmd_switch(struct core_run *run, struct err *e);

/* overflow_act.c: masks, notifies and switches as account_overflows() has noted. */
int overflow_act(struct core_run *run, struct err *e);
/* overflow_act() for a saved context. */
void overflow_act_saved(struct context *ctx);

/* cmd_start.c: the rest of start and restart, after the active set has been chosen. */
int start_counters(struct core_run *run, const struct limits *limits, struct err *e);
int start_last_failed(struct core_run *run, struct err *e);
int cmd_start(struct core_run *run, struct command *cmd, struct err *e);

/* The other commands, one file each. */
int cmd_load(struct core_run *run, const struct command *cmd, struct err *e);
/* @keeps_threads: the counts of each thread can still be read. */
int cmd_unload(struct core_run *run, bool keeps_threads, struct err *e);
int cmd_end(struct core_run *run, struct err *e);
int cmd_restart(struct core_run *run, const struct command *cmd, struct err *e);
int cmd_read(struct core_run *run, struct command *cmd, struct err *e);
int cmd_live_read(struct core_run *run, struct command *cmd, struct err *e);
int cmd_counts(struct core_run *run, struct command *cmd);
int cmd_threads(struct core_run *run, struct command *cmd, struct err *e);
int cmd_write(struct core_run *run, struct command *cmd, struct err *e);
int cmd_poll(struct core_run *run, struct err *e);
int cmd_yield(struct core_run *run);
int cmd_resume(struct core_run *run, struct err *e);
int resume_last_failed(struct core_run *run, struct err *e);
int cmd_sched_in(struct core_run *run, struct err *e);
int sched_in_last_failed(struct core_run *run, struct err *e);
int cmd_sched_out(struct core_run *run, const struct command *cmd);

#endif

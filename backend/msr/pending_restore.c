// SPDX-License-Identifier: MIT
/*
 * Reservations that could not be restored: their CPU is offline, a register faults, or the present
 * description lacks it. They are in the journal, so that the next daemon tries again, too.
 *
 * A thread waits for CPUs to come online. It sleeps while there are none to wait for.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/msr/msr_i.h"
#include "base/cleanup.h"
#include "base/cond.h"

enum { RETRY_S = 1 };

struct pending_restore {
	struct pending_restore *next;
	unsigned cpu;
	const struct msr_type *type;
	bool offline; /* The CPU was offline: registers can be restored once it is online. */
	/* Reservations by row, as in struct backend_cpu. */
	struct reservation reservations[MSR_MAX_REGS];
};

static bool pending_any(const struct reservation *reservations)
{
	for (unsigned i = 0; i < MSR_MAX_REGS; i++)
		if (reservations[i].mask)
			return true;
	return false;
}

static bool pending_any_offline(const struct msr_backend *mb)
{
	for (const struct pending_restore *p = mb->pending; p; p = p->next)
		if (p->offline)
			return true;
	return false;
}

/* Frees entries that have nothing left to restore. */
static void pending_sweep(struct msr_backend *mb)
{
	struct pending_restore **at = &mb->pending;

	while (*at) {
		struct pending_restore *p = *at;

		if (pending_any(p->reservations)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		free(p);
	}
}

/* Bits of the overflow status that belong to reserved counters. */
static uint64_t pending_status_bits(const struct backend_cpu *c)
{
	const struct pmu *pmu = &c->type->pmu;
	uint64_t bits = 0;

	for (unsigned d = 0; d < pmu->npmds; d++) {
		const struct msr_reg *reg = msr_regs_find(c->regs, pmu->pmds[d].addr);

		if (pmu->pmds[d].global >= 0 && c->reservations[reg - c->regs->reg].mask)
			bits |= 1ULL << pmu->pmds[d].global;
	}
	return bits;
}

static void pending_clear_status(struct backend_cpu *c, uint64_t bits)
{
	const struct msr_regs *regs = c->regs;
	const struct pmu *pmu = &c->type->pmu;
	uint64_t value;
	struct err e;
	int rc;

	if (!pmu->status || !bits)
		return;
	rc = msr_read(c, msr_regs_find(regs, pmu->status), &value);
	if (rc == 0 && (value & bits))
		rc = msr_write(c, msr_regs_find(regs, pmu->clear), value & bits);
	if (rc < 0) {
		msr_access_failed(c, msr_regs_find(regs, pmu->status), rc, &e);
		reserve_report(&e);
	}
}

/* Gives up a counter that has another user: its field of the selector, the counter, and its enable
 * bit. */
static void pending_forget_counter(struct backend_cpu *c, const struct pmu_pmd *pmd)
{
	const struct msr_regs *regs = c->regs;
	const struct pmu *pmu = &c->type->pmu;

	reserve_forget(c, msr_regs_find(regs, pmu->pmcs[pmd->pmc].addr), pmd->field);
	reserve_forget(c, msr_regs_find(regs, pmd->addr), UINT64_MAX);
	if (pmu->global_ctrl && pmd->global >= 0)
		reserve_forget(c, msr_regs_find(regs, pmu->global_ctrl), 1ULL << pmd->global);
}

/*
 * Gives up counters that the kernel has begun to use before they were restored, for example for its
 * NMI watchdog. A counter that interrupts is the kernel's.
 */
static void pending_forget_taken(struct backend_cpu *c)
{
	const struct pmu *pmu = &c->type->pmu;

	for (unsigned d = 0; d < pmu->npmds; d++) {
		const struct pmu_pmd *pmd = &pmu->pmds[d];
		const struct pmu_pmc *pmc = &pmu->pmcs[pmd->pmc];
		const struct msr_reg *reg = msr_regs_find(c->regs, pmc->addr);
		uint64_t value;

		if (!(c->reservations[reg - c->regs->reg].mask & pmd->field) ||
			msr_read(c, reg, &value) < 0)
			continue;
		value &= pmd->field;
		if ((value & pmc->enable) && msr_interrupts(pmu, pmc->addr, value))
			pending_forget_counter(c, pmd);
	}
}

int pending_restore_run(struct backend_cpu *c, struct err *e)
{
	uint64_t reserved;
	int rc;

	pending_forget_taken(c);
	reserved = pending_status_bits(c);
	rc = reserve_release_all(c, e);
	pending_clear_status(c, reserved & ~pending_status_bits(c));
	return rc;
}

static void pending_retry_cpu(struct msr_backend *mb, struct pending_restore *p)
{
	struct msr_io *io = mb->io;
	CLEANUP_FREE struct backend_cpu *c = calloc(1, sizeof(*c));
	struct err e;

	if (!c)
		return;
	msr_cpu_init(c, mb, p->type, p->cpu, io->ops->open(io, p->cpu, &e));
	if (c->handle < 0)
		return;
	if (msr_cpu_find_thread(c, &e) < 0) {
		io->ops->close(io, c->handle);
		return;
	}
	memcpy(c->reservations, p->reservations, sizeof(c->reservations));
	if (pending_restore_run(c, &e) < 0)
		reserve_report(&e);
	memcpy(p->reservations, c->reservations, sizeof(p->reservations));
	p->offline = c->seen_offline || !io->ops->cpu_online(io, p->cpu);
	io->ops->close(io, c->handle);
}

/* Tries to restore on all CPUs. Holds pending_lock meanwhile, so that a reservation on such a CPU
 * comes after this. */
static void pending_retry(struct msr_backend *mb)
{
	for (struct pending_restore *p = mb->pending; p; p = p->next)
		if (p->offline && mb->io->ops->cpu_online(mb->io, p->cpu))
			pending_retry_cpu(mb, p);
	pending_sweep(mb);
}

static void *pending_main(void *arg)
{
	struct msr_backend *mb = arg;
	struct timespec until;

	pthread_mutex_lock(&mb->pending_lock);
	while (!mb->pending_end) {
		if (pending_any_offline(mb)) {
			clock_gettime(CLOCK_MONOTONIC, &until);
			until.tv_sec += RETRY_S;
			pthread_cond_timedwait(&mb->pending_changed, &mb->pending_lock, &until);
			pending_retry(mb);
		} else {
			pthread_cond_wait(&mb->pending_changed, &mb->pending_lock);
		}
	}
	pthread_mutex_unlock(&mb->pending_lock);
	return NULL;
}

/* Wakes the thread, or starts it. If that fails, the next reservation or the next daemon
 * restores. */
static void pending_wake(struct msr_backend *mb)
{
	pthread_attr_t attr;
	sigset_t all;

	pthread_cond_signal(&mb->pending_changed);
	if (!mb->pending_begun || mb->pending_running || !pending_any_offline(mb) ||
		pthread_attr_init(&attr))
		return;
	sigfillset(&all);
	pthread_attr_setsigmask_np(&attr, &all);
	/* The caller may be a worker, which is pinned to a CPU that is monitored. */
	pthread_attr_setaffinity_np(&attr, sizeof(mb->pending_affinity), &mb->pending_affinity);
	mb->pending_running = !pthread_create(&mb->pending_thread, &attr, pending_main, mb);
	pthread_attr_destroy(&attr);
}

void pending_restore_begin(struct msr_backend *mb)
{
	pthread_mutex_lock(&mb->pending_lock);
	pthread_getaffinity_np(pthread_self(), sizeof(mb->pending_affinity), &mb->pending_affinity);
	mb->pending_begun = true;
	pending_wake(mb);
	pthread_mutex_unlock(&mb->pending_lock);
}

/* The link that points to the reservations of CPU @c->cpu, or where it belongs. */
static struct pending_restore **pending_find(const struct backend_cpu *c)
{
	struct pending_restore **at = &c->mb->pending;

	while (*at && (*at)->cpu != c->cpu)
		at = &(*at)->next;
	return at;
}

/* Merges the reservations of @c into @p. If two dead daemons' journals have the same register, the
 * first original value is kept. */
static void pending_merge(struct pending_restore *p, struct backend_cpu *c)
{
	for (unsigned i = 0; i < c->regs->n; i++) {
		struct reservation *to = &p->reservations[i];
		uint64_t fresh = c->reservations[i].mask & ~to->mask;
		struct err ignored;

		to->orig |= c->reservations[i].orig & fresh;
		to->mask |= fresh;
		if (to->mask)
			reserve_log(c, i, to, true, &ignored);
	}
}

void pending_restore_keep(struct backend_cpu *c)
{
	struct msr_backend *mb = c->mb;
	struct pending_restore **at, *p;

	if (!pending_any(c->reservations))
		return;
	pthread_mutex_lock(&mb->pending_lock);
	at = pending_find(c);
	p = *at ? *at : calloc(1, sizeof(*p));
	if (p) {
		p->cpu = c->cpu;
		p->type = c->type;
		p->offline = c->seen_offline || !mb->io->ops->cpu_online(mb->io, c->cpu);
		pending_merge(p, c);
		*at = p;
		pending_wake(mb);
	} else {
		mb->pending_lost = true;
	}
	pthread_mutex_unlock(&mb->pending_lock);
}

static bool pending_take(struct backend_cpu *c)
{
	struct pending_restore **at, *p;

	pthread_mutex_lock(&c->mb->pending_lock);
	at = pending_find(c);
	p = *at;
	if (p) {
		memcpy(c->reservations, p->reservations, sizeof(c->reservations));
		*at = p->next;
	}
	pthread_mutex_unlock(&c->mb->pending_lock);
	free(p);
	return p != NULL;
}

void pending_restore_first(struct backend_cpu *c)
{
	struct err e;

	/* @c has left reservations itself: see reserve_take(). */
	if (c->seen_offline)
		pending_forget_taken(c);
	if (c->reserved_any)
		return;
	c->reserved_any = true;
	if (!pending_take(c))
		return;
	if (pending_restore_run(c, &e) < 0)
		reserve_report(&e);
	for (unsigned i = 0; i < c->regs->n; i++)
		c->left[i] = c->reservations[i].mask;
}

int pending_restore_add_foreign(
	struct msr_backend *mb, const struct journal_entry *entry, struct err *e)
{
	struct journal_entry *p =
		reallocarray(mb->foreign, mb->nforeign + 1, sizeof(mb->foreign[0]));

	if (!p)
		return err_set(e, ENOMEM, "no memory to keep a register");
	p[mb->nforeign] = *entry;
	p[mb->nforeign++].unrestored = true;
	mb->foreign = p;
	return 0;
}

static int pending_transfer_cpu(
	struct msr_backend *mb, const struct pending_restore *p, struct journal *j, struct err *e)
{
	for (unsigned i = 0; i < p->type->regs.n; i++) {
		struct journal_entry entry = {
			.cpu = p->cpu,
			.addr = p->type->regs.reg[i].addr,
			.orig = p->reservations[i].orig,
			.mask = p->reservations[i].mask,
			.unrestored = true,
		};

		if (entry.mask && reserve_put(j, mb, i, &entry, e) < 0)
			return -e->no;
	}
	return 0;
}

int pending_restore_transfer(void *arg, struct journal *j, struct err *e)
{
	struct msr_backend *mb = arg;

	for (unsigned i = 0; i < mb->nforeign; i++)
		if (journal_put(j, i, &mb->foreign[i], e) < 0)
			return -e->no;
	for (const struct pending_restore *p = mb->pending; p; p = p->next)
		if (pending_transfer_cpu(mb, p, j, e) < 0)
			return -e->no;
	return 0;
}

static void pending_print(struct text *out, bool *any, uint32_t addr)
{
	text_printf(out, "%s%#" PRIx32, *any ? "," : "", addr);
	*any = true;
}

void msr_unrestored(struct backend *be, unsigned cpu, struct text *out)
{
	struct msr_backend *mb = msr_of(be);
	bool any = false;

	pthread_mutex_lock(&mb->pending_lock);
	for (const struct pending_restore *p = mb->pending; p; p = p->next)
		for (unsigned i = 0; p->cpu == cpu && i < p->type->regs.n; i++)
			if (p->reservations[i].mask)
				pending_print(out, &any, p->type->regs.reg[i].addr);
	pthread_mutex_unlock(&mb->pending_lock);
	for (unsigned i = 0; i < mb->nforeign; i++)
		if (mb->foreign[i].cpu == cpu)
			pending_print(out, &any, mb->foreign[i].addr);
}

bool pending_restore_has(struct msr_backend *mb, unsigned cpu, uint32_t addr)
{
	bool has = false;

	pthread_mutex_lock(&mb->pending_lock);
	for (const struct pending_restore *p = mb->pending; p && !has; p = p->next) {
		const struct msr_reg *reg =
			p->cpu == cpu ? msr_regs_find(&p->type->regs, addr) : NULL;

		has = reg && p->reservations[reg - p->type->regs.reg].mask;
	}
	pthread_mutex_unlock(&mb->pending_lock);
	return has;
}

void pending_restore_init(struct msr_backend *mb)
{

	pthread_mutex_init(&mb->pending_lock, NULL);
	cond_init_monotonic(&mb->pending_changed);
}

bool pending_restore_end(struct msr_backend *mb)
{
	pthread_mutex_lock(&mb->pending_lock);
	mb->pending_end = true;
	pthread_cond_signal(&mb->pending_changed);
	pthread_mutex_unlock(&mb->pending_lock);
	if (mb->pending_running)
		pthread_join(mb->pending_thread, NULL);
	return mb->pending || mb->pending_lost || mb->nforeign;
}

void pending_restore_free(struct msr_backend *mb)
{
	while (mb->pending) {
		struct pending_restore *p = mb->pending;

		mb->pending = p->next;
		free(p);
	}
	free(mb->foreign);
	pthread_cond_destroy(&mb->pending_changed);
	pthread_mutex_destroy(&mb->pending_lock);
}

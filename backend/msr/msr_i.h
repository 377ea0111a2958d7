/* SPDX-License-Identifier: MIT */
/* State of the msr backend, shared by its files only, and the accessors of its registers. */
#ifndef BACKEND_MSR_MSR_I_H
#define BACKEND_MSR_MSR_I_H

#include <pthread.h>

#include "backend/msr/describe.h"
#include "backend/msr/journal.h"
#include "backend/msr/msr_io.h"
#include "backend/msr/reg.h"
#include "backend/msr/reserve.h"
#include "backend/msr/unit.h"
#include "perfmonfs/backend.h"

struct msr_backend {
	struct backend be; /* First, for msr_of(). */
	struct msr_io *io;
	struct journal *journal; /* NULL: no journal is kept. */
	struct msr_types types;
	struct unit_table units; /* Shared registers that are reserved. */
	/* Guards the other fields named pending; no lock is taken under it. */
	pthread_mutex_t pending_lock;
	struct pending_restore *pending; /* Reservations that could not be restored, by CPU. */
	/* Some entries were dropped for lack of memory: only the journal has them. */
	bool pending_lost;
	/* The thread that restores when CPUs come online. It may run after begin. */
	pthread_t pending_thread;
	pthread_cond_t pending_changed;
	cpu_set_t pending_affinity; /* Affinity of the thread that called begin. */
	bool pending_begun, pending_running, pending_end;
	/* Registers in dead daemons' journals that the description lacks, that belong to no CPU, or
	 * whose CPU was offline, so that its type is not known. Constant after opening. */
	struct journal_entry *foreign;
	unsigned nforeign;
};

struct backend_cpu {
	struct msr_backend *mb;
	unsigned cpu;
	int handle;
	const struct msr_type *type;
	const struct msr_regs *regs; /* Registers of @type. */
	/* Copies from mb->io, so that an access follows fewer pointers. */
	struct msr_io *io;
	int (*read)(struct msr_io *io, int handle, uint32_t addr, uint64_t *value);
	int (*write)(struct msr_io *io, int handle, uint32_t addr, uint64_t value);
	struct reservation reservations[MSR_MAX_REGS]; /* By row of @regs. */
	/* Bits of @reservations, by row, that were given up and are not restored yet. */
	uint64_t left[MSR_MAX_REGS];
	uint32_t units[PMU_SCOPES]; /* See topology_of(); with has_units. */
	bool has_units;
	bool is_second; /* The second thread of its core; for regs->by_thread. */
	/* Registers have been reserved through this struct. Only one struct of each CPU does that;
	 * others only read. */
	bool reserved_any;
	/* A release has failed because the CPU was offline. The CPU may be online again by now. */
	bool seen_offline;
};

static inline struct msr_backend *msr_of(struct backend *be)
{
	return (struct msr_backend *)be;
}

static inline void msr_cpu_init(struct backend_cpu *c, struct msr_backend *mb,
	const struct msr_type *type, unsigned cpu, int handle)
{
	*c = (struct backend_cpu){
		.mb = mb,
		.type = type,
		.regs = &type->regs,
		.cpu = cpu,
		.handle = handle,
		.io = mb->io,
		.read = mb->io->ops->read,
		.write = mb->io->ops->write,
	};
}

/* Sets @is_second. Must succeed before the first access; fails like CPUID. */
int msr_cpu_find_thread(struct backend_cpu *c, struct err *e);

/* @value with the bits of the two threads of a core exchanged. */
static inline uint64_t msr_exchange(const struct msr_reg *reg, uint64_t value)
{
	uint64_t second = reg->first >> reg->second_by;

	return (value & ~(reg->first | second)) | (value & reg->first) >> reg->second_by |
	       (value & second) << reg->second_by;
}

/*
 * All register accesses go through these functions; the ones with _plain are not for special
 * registers. They update the statistics before the access: after a write that enables counters,
 * each user instruction is counted.
 */
static inline int msr_read_plain(struct backend_cpu *c, const struct msr_reg *reg, uint64_t *value)
{
	atomic_fetch_add_explicit(&c->mb->be.stats.reads, 1, memory_order_relaxed);
	return c->read(c->io, c->handle, reg->addr, value);
}

static inline int msr_write_plain(struct backend_cpu *c, const struct msr_reg *reg, uint64_t value)
{
	atomic_fetch_add_explicit(&c->mb->be.stats.writes, 1, memory_order_relaxed);
	return c->write(c->io, c->handle, reg->waddr, value);
}

static inline int msr_read(struct backend_cpu *c, const struct msr_reg *reg, uint64_t *value)
{
	int rc = msr_read_plain(c, reg, value);

	if (c->is_second && rc == 0)
		*value = msr_exchange(reg, *value);
	return rc;
}

static inline int msr_write(struct backend_cpu *c, const struct msr_reg *reg, uint64_t value)
{
	int rc;

	if (c->is_second)
		value = msr_exchange(reg, value);
	rc = msr_write_plain(c, reg, value);
	return rc < 0 || !reg->twice ? rc : msr_write_plain(c, reg, value);
}

/* The lowest CPU that is online; cpu_limit() if none is. */
unsigned msr_first_online(struct msr_io *io);

/* Sets the sentence of an access that returned @rc; returns @rc. */
int msr_access_failed(
	const struct backend_cpu *c, const struct msr_reg *reg, int rc, struct err *e);

/*
 * Whether selector @addr of @pmu with @value interrupts. If so, the kernel uses it, because only
 * the kernel can handle the interrupt.
 */
bool msr_interrupts(const struct pmu *pmu, uint32_t addr, uint64_t value);

/*
 * An offline CPU keeps its registers. Reservations that could not be restored there are pending.
 * They are restored soon after the CPU comes online, and in any case before the next reservation on
 * this CPU.
 *
 * pending_restore_keep() saves the reservations that @c still has. Call pending_restore_first()
 * before each reservation of @c: before the first one, it restores what is pending; after a release
 * while the CPU was offline, it gives up the counters that the kernel's perf has taken since.
 */
void pending_restore_keep(struct backend_cpu *c);
void pending_restore_first(struct backend_cpu *c);

/* Whether a reservation of the register at @addr of @cpu is pending. */
bool pending_restore_has(struct msr_backend *mb, unsigned cpu, uint32_t addr);

/*
 * Restores all reservations of @c and clears the overflow status of their counters, except counters
 * that the kernel's perf has taken meanwhile. A failure is reported, and the reservation stays.
 * -EPERM with a sentence: the device refuses writes.
 */
int pending_restore_run(struct backend_cpu *c, struct err *e);

/* Keeps a register of a dead daemon's journal that this daemon cannot restore. */
int pending_restore_add_foreign(
	struct msr_backend *mb, const struct journal_entry *entry, struct err *e);

/* journal_ops.transfer; @arg is the backend. */
int pending_restore_transfer(void *arg, struct journal *j, struct err *e);

void pending_restore_init(struct msr_backend *mb);
void pending_restore_begin(struct msr_backend *mb);
/* Ends the thread. Returns whether something could not be restored. */
bool pending_restore_end(struct msr_backend *mb);
void pending_restore_free(struct msr_backend *mb);

/* Tests that counters keep written values. ENODEV if not, as in a VM without a PMU. */
int msr_probe(struct msr_backend *mb, struct err *e);

/* Restores the registers of killed daemons: journal_ops.recover; @arg is the backend. */
int msr_recover(void *arg, struct journal_entry *entries, size_t n, struct err *e);

/* backend_ops.check */
void msr_check(const struct backend_conf *conf, check_report *report, void *arg);

#endif

/* SPDX-License-Identifier: MIT */
/* Inside the msr backend: its state, and the one way to its registers. */
#ifndef BACKEND_MSR_MSR_I_H
#define BACKEND_MSR_MSR_I_H

#include <pthread.h>

#include "backend/msr/claim.h"
#include "backend/msr/journal.h"
#include "backend/msr/msr_io.h"
#include "backend/msr/reg.h"
#include "perfmonfs/backend.h"

struct msr_backend {
	struct backend be;      /* first */
	struct backend_ops ops; /* the same for all but its name */
	struct msr_io *io;
	struct journal *journal; /* NULL: none is kept */
	bool detected;           /* the description is from the CPUs, not from the user */
	struct pmu pmu;
	struct msr_regs regs;
	pthread_mutex_t owed_lock; /* a leaf: guards owed */
	struct owed *owed;         /* what could not be put back while a CPU was offline */
	bool owed_lost;            /* there was no memory for some of it: only the journal has it */
};

struct backend_cpu {
	struct msr_backend *mb;
	unsigned cpu;
	int handle;
	/* Of mb->io: what each access would have to look up. */
	struct msr_io *io;
	int (*read)(struct msr_io *io, int handle, uint32_t addr, uint64_t *value);
	int (*write)(struct msr_io *io, int handle, uint32_t addr, uint64_t value);
	struct claim claims[MSR_MAX_REGS]; /* by row of mb->regs */
	bool claims_any; /* it has claimed, as one at a time does on a CPU; others only look */
};

static inline struct msr_backend *msr_of(struct backend *be)
{
	return (struct msr_backend *)be;
}

static inline void msr_cpu_init(
	struct backend_cpu *c, struct msr_backend *mb, unsigned cpu, int handle)
{
	*c = (struct backend_cpu){
		.mb = mb,
		.cpu = cpu,
		.handle = handle,
		.io = mb->io,
		.read = mb->io->ops->read,
		.write = mb->io->ops->write,
	};
}

/*
 * Every access goes through these two. They count before they act: after an enabling write each
 * further user instruction is one that user-level counts see.
 */
static inline int msr_read(struct backend_cpu *c, const struct msr_reg *reg, uint64_t *value)
{
	atomic_fetch_add_explicit(&c->mb->be.stats.reads, 1, memory_order_relaxed);
	return c->read(c->io, c->handle, reg->addr, value);
}

static inline int msr_write(struct backend_cpu *c, const struct msr_reg *reg, uint64_t value)
{
	atomic_fetch_add_explicit(&c->mb->be.stats.writes, 1, memory_order_relaxed);
	return c->write(c->io, c->handle, reg->waddr, value);
}

/* The sentence for an access that returned @rc; returns @rc. */
int msr_access_failed(
	const struct backend_cpu *c, const struct msr_reg *reg, int rc, struct err *e);

/* backend_ops.run and .holder */
unsigned msr_run(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e);
void msr_holder(struct backend *be, unsigned cpu, uint32_t addr, uint64_t value, struct text *out);

/*
 * A CPU that is offline keeps its registers: what was claimed there is owed to it, and put back
 * before anything is claimed there again. owed_keep() takes over what is still claimed.
 */
void owed_keep(struct backend_cpu *c);
void owed_pay(struct backend_cpu *c);
void owed_free(struct msr_backend *mb);

/* Whether counters hold what is written to them: ENODEV if not, as in a VM without a PMU. */
int msr_probe(struct msr_backend *mb, struct err *e);

/* Puts back what daemons before this one left; a journal_recover, @arg is the backend. */
int msr_recover(void *arg, struct journal_entry *entries, size_t n, struct err *e);

#endif

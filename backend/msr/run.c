// SPDX-License-Identifier: MIT
/*
 * Plans against registers. A monitored thread's user-level counters may run while this code
 * does: what a plan turns on counts every instruction from there to the return, so reading and
 * writing are straight code, and all checks come before the access.
 */
#include "backend/msr/msr_i.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "backend/msr/kernel.h"

#define COLD __attribute__((cold, noinline))

COLD int msr_access_failed(
	const struct backend_cpu *c, const struct msr_reg *reg, int rc, struct err *e)
{
	char what[96];

	snprintf(what, sizeof(what), "CPU %u: %s (MSR %#" PRIx32 ")", c->cpu, reg->name, reg->addr);
	switch (-rc) {
	case EIO:
		return err_set(e, EIO,
			"%s: EIO: the access faults: the CPU or its hypervisor lacks the register "
			"or refuses the value",
			what);
	case ENXIO:
		return err_set(e, ENXIO, "%s: ENXIO: the CPU went offline", what);
	case EPERM:
		return kernel_refusal(what, e);
	default:
		return err_set(e, -rc, "%s: %s", what, err_name(-rc));
	}
}

static COLD int refuse_unknown(const struct backend_cpu *c, const struct reg_op *op, struct err *e)
{
	return err_set(e, EPERM, "MSR %#" PRIx32 ": EPERM: not a register of %s", op->addr,
		c->mb->pmu.name);
}

static COLD int refuse_bits(const struct msr_reg *reg, uint64_t bits, struct err *e)
{
	return err_set(e, EPERM, "%s: EPERM: bits %#" PRIx64 " must not be written", reg->name,
		bits & ~reg->writable);
}

static COLD int refuse_kind(const struct msr_reg *reg, struct err *e)
{
	if (!reg->writable)
		return err_set(e, EPERM, "%s: EPERM: it is read-only", reg->name);
	if (reg->shared)
		return err_set(
			e, EPERM, "%s: EPERM: it has others' bits, update your own", reg->name);
	return err_set(e, EPERM, "%s: EPERM: a counter is written as a whole", reg->name);
}

static inline int run_write(
	struct backend_cpu *c, const struct msr_reg *reg, const struct reg_op *op, struct err *e)
{
	int rc;

	if (op->value & ~reg->writable)
		return refuse_bits(reg, op->value, e);
	if (reg->shared || !reg->writable)
		return refuse_kind(reg, e);
	rc = msr_write(c, reg, op->value);
	return rc < 0 ? msr_access_failed(c, reg, rc, e) : 0;
}

static inline int run_update(
	struct backend_cpu *c, const struct msr_reg *reg, struct reg_op *op, struct err *e)
{
	uint64_t old, new;
	int rc;

	if (op->mask & ~reg->writable)
		return refuse_bits(reg, op->mask, e);
	if (reg->counter)
		return refuse_kind(reg, e);
	rc = msr_read(c, reg, &old);
	if (rc < 0)
		return msr_access_failed(c, reg, rc, e);
	new = (old & ~op->mask) | (op->value & op->mask);
	op->value = old;
	if (new == old)
		return 0;
	rc = msr_write(c, reg, new);
	return rc < 0 ? msr_access_failed(c, reg, rc, e) : 0;
}

static inline int run_one(struct backend_cpu *c, struct reg_op *op, struct err *e)
{
	const struct msr_reg *reg = msr_regs_find(&c->mb->regs, op->addr);
	int rc;

	if (!reg)
		return refuse_unknown(c, op, e);
	switch (op->verb) {
	case REG_READ:
		rc = msr_read(c, reg, &op->value);
		return rc < 0 ? msr_access_failed(c, reg, rc, e) : 0;
	case REG_WRITE:
		return run_write(c, reg, op, e);
	case REG_UPDATE:
		return run_update(c, reg, op, e);
	case REG_CLAIM:
		return reg->writable ? claim_take(c, reg, op, e) : refuse_kind(reg, e);
	case REG_RELEASE:
		return claim_release(c, reg, op->mask, e);
	case REG_FORGET:
		claim_forget(c, reg, op->mask);
		return 0;
	}
	return err_set(e, EINVAL, "%s: EINVAL: unknown verb %d", reg->name, (int)op->verb);
}

unsigned msr_run(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e)
{
	for (unsigned i = 0; i < n; i++)
		if (run_one(c, &ops[i], e) < 0)
			return i;
	return n;
}

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

static int refuse_unknown(const struct backend_cpu *c, const struct reg_op *op, struct err *e)
{
	return err_set(e, EPERM, "MSR %#" PRIx32 ": EPERM: not a register of %s", op->addr,
		c->mb->pmu.name);
}

static int refuse_kind(const struct msr_reg *reg, struct err *e)
{
	if (!reg->writable)
		return err_set(e, EPERM, "%s: EPERM: it is read-only", reg->name);
	if (reg->counter)
		return err_set(e, EPERM, "%s: EPERM: a counter is written as a whole", reg->name);
	return err_set(e, EPERM, "%s: EPERM: it has others' bits, update your own", reg->name);
}

static int refuse(const struct msr_reg *reg, const struct reg_op *op, struct err *e)
{
	uint64_t bits = op->verb == REG_WRITE
				? op->value & ~reg->writable
				: ((op->value & ~reg->writable) | ~reg->ours) & op->mask;

	if (bits && reg->writable && (op->verb == REG_WRITE || reg->ours))
		return err_set(e, EPERM, "%s: EPERM: bits %#" PRIx64 " must not be written",
			reg->name, bits);
	return refuse_kind(reg, e);
}

/*
 * What operations return besides the device's -errno. The sentence is made afterwards, by
 * whoever finds that there was an error: its making would weigh on those without.
 */
enum { REFUSED = -4096, EXPLAINED = -4097 };

static COLD void explain(
	const struct backend_cpu *c, const struct reg_op *op, int rc, struct err *e)
{
	const struct msr_reg *reg = msr_regs_find(&c->mb->regs, op->addr);

	if (!reg)
		refuse_unknown(c, op, e);
	else if (rc == REFUSED)
		refuse(reg, op, e);
	else if (rc != EXPLAINED)
		msr_access_failed(c, reg, rc, e);
}

static inline int run_write(
	struct backend_cpu *c, const struct msr_reg *reg, const struct reg_op *op)
{
	if ((op->value & ~reg->writable) || reg->shared || !reg->writable)
		return REFUSED;
	return msr_write(c, reg, op->value);
}

/* Of what the register holds, and of a value for it, only the bits under the mask are ours. */
static inline int run_update(
	struct backend_cpu *c, const struct msr_reg *reg, struct reg_op *op, bool replace)
{
	uint64_t old, new;
	int rc;

	if (((op->value & ~reg->writable) | ~reg->ours) & op->mask)
		return REFUSED;
	rc = msr_read(c, reg, &old);
	if (rc < 0)
		return rc;
	new = (old & ~op->mask) | (op->value & op->mask);
	op->value = old;
	if (new == old || (replace && ((old ^ op->expect) & op->mask)))
		return 0;
	return msr_write(c, reg, new);
}

static COLD int run_claims(
	struct backend_cpu *c, const struct msr_reg *reg, struct reg_op *op, struct err *e)
{
	int rc = 0;

	if (op->verb == REG_CLAIM)
		rc = reg->writable ? claim_take(c, reg, op, e) : refuse_kind(reg, e);
	else if (op->verb == REG_RELEASE)
		rc = claim_release(c, reg, op->mask, e);
	else
		claim_forget(c, reg, op->mask);
	return rc < 0 ? EXPLAINED : 0;
}

static inline int run_one(struct backend_cpu *c, struct reg_op *op, struct err *e)
{
	const struct msr_reg *reg = msr_regs_find(&c->mb->regs, op->addr);

	if (!reg)
		return REFUSED;
	switch (op->verb) {
	case REG_READ:
		return msr_read(c, reg, &op->value);
	case REG_WRITE:
		return run_write(c, reg, op);
	case REG_UPDATE:
		return run_update(c, reg, op, false);
	case REG_REPLACE:
		return run_update(c, reg, op, true);
	case REG_CLAIM:
	case REG_RELEASE:
	case REG_FORGET:
		break;
	}
	return run_claims(c, reg, op, e);
}

unsigned msr_run(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		int rc = run_one(c, &ops[i], e);

		if (rc < 0) {
			explain(c, &ops[i], rc, e);
			return i;
		}
	}
	return n;
}

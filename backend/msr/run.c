// SPDX-License-Identifier: MIT
/*
 * Executes plans. Counters that a plan enables count user instructions from the enabling write
 * until the return from here, so reads and writes are straight-line code, and all checks come
 * before the access.
 */
#include "backend/msr/msr_i.h"

#include <errno.h>
#include <inttypes.h>

#define COLD __attribute__((cold, noinline))

static int msr_run_refuse_unknown(
	const struct backend_cpu *c, const struct reg_op *op, struct err *e)
{
	return err_set(e, EPERM, "MSR %#" PRIx32 ": EPERM: not a register of %s", op->addr,
		c->type->pmu.name);
}

static int msr_run_refuse_kind(const struct msr_reg *reg, struct err *e)
{
	if (!reg->writable)
		return err_set(e, EPERM, "%s: EPERM: the register is read-only", reg->name);
	if (reg->counter)
		return err_set(e, EPERM, "%s: EPERM: a counter must be written whole", reg->name);
	return err_set(e, EPERM,
		"%s: EPERM: the register has bits of other users: update only your own", reg->name);
}

static int msr_run_refuse(const struct msr_reg *reg, const struct reg_op *op, struct err *e)
{
	uint64_t bits = op->verb == REG_WRITE
				? op->value & ~reg->writable
				: ((op->value & ~reg->writable) | ~reg->ours) & op->mask;

	if (bits && reg->writable && (op->verb == REG_WRITE || reg->ours))
		return err_set(e, EPERM, "%s: EPERM: bits %#" PRIx64 " must not be written",
			reg->name, bits);
	return msr_run_refuse_kind(reg, e);
}

/*
 * Results of operations in addition to the device's -errno: the description refuses the operation,
 * or the sentence is already set. msr_run_explain() sets the sentence afterwards, which keeps its
 * code out of the path of successful operations.
 */
enum { REFUSED = -4096, EXPLAINED = -4097 };

static COLD void msr_run_explain(
	const struct backend_cpu *c, const struct reg_op *op, int rc, struct err *e)
{
	const struct msr_reg *reg = msr_regs_find(c->regs, op->addr);

	if (!reg)
		msr_run_refuse_unknown(c, op, e);
	else if (rc == REFUSED)
		msr_run_refuse(reg, op, e);
	else if (rc != EXPLAINED)
		msr_access_failed(c, reg, rc, e);
}

/*
 * The operations are compiled twice: as short as possible for plain registers, and separately for
 * @special ones.
 */
static inline __attribute__((always_inline)) int msr_run_put(struct backend_cpu *c,
	const struct msr_reg *reg, uint64_t value, bool special, struct err *e)
{
	if (!special)
		return msr_write_plain(c, reg, value);
	if (reg->joint && unit_write(c, reg, value, e) < 0)
		return EXPLAINED;
	return msr_write(c, reg, value);
}

/* Checks a write of a whole register that is marked as checked. */
static COLD int msr_run_check_write(
	struct backend_cpu *c, const struct msr_reg *reg, uint64_t value, struct err *e)
{
	if (reg->shared || !reg->writable)
		return REFUSED;
	return (value & reg->node) == reg->node && unit_take(c, reg, e) < 0 ? EXPLAINED : 0;
}

static inline __attribute__((always_inline)) int msr_run_write(struct backend_cpu *c,
	const struct msr_reg *reg, const struct reg_op *op, bool special, struct err *e)
{
	int rc = op->value & ~reg->writable ? REFUSED : 0;

	if (rc == 0 && reg->checked)
		rc = msr_run_check_write(c, reg, op->value, e);
	return rc < 0 ? rc : msr_run_put(c, reg, op->value, special, e);
}

/* Reads the register and replaces its bits under op->mask; with @replace, only if they match. */
static inline __attribute__((always_inline)) int msr_run_update(struct backend_cpu *c,
	const struct msr_reg *reg, struct reg_op *op, bool replace, bool special, struct err *e)
{
	uint64_t old, new;
	int rc;

	if (((op->value & ~reg->writable) | ~reg->ours) & op->mask)
		return REFUSED;
	rc = special ? msr_read(c, reg, &old) : msr_read_plain(c, reg, &old);
	if (rc < 0)
		return rc;
	new = (old & ~op->mask) | (op->value & op->mask);
	op->value = old;
	if (replace && ((old ^ op->expect) & op->mask & ~(special ? reg->ovf : 0)))
		return 0;
	/* A joint register is written even if it already has the value: maybe only another CPU has
	 * written it. */
	if (new == old && !(special && reg->joint))
		return 0;
	return msr_run_put(c, reg, new, special, e);
}

static COLD int msr_run_reservation(
	struct backend_cpu *c, const struct msr_reg *reg, struct reg_op *op, struct err *e)
{
	int rc = 0;

	if (op->verb == REG_RESERVE) {
		pending_restore_first(c);
		rc = reg->writable ? reserve_take(c, reg, op, e) : msr_run_refuse_kind(reg, e);
	} else if (op->verb == REG_RELEASE) {
		rc = reserve_release(c, reg, op->mask, e);
	} else {
		reserve_give_up(c, reg, op->mask);
	}
	return rc < 0 ? EXPLAINED : 0;
}

static inline __attribute__((always_inline)) int msr_run_access(struct backend_cpu *c,
	const struct msr_reg *reg, struct reg_op *op, bool special, struct err *e)
{
	switch (op->verb) {
	case REG_READ:
		return special ? msr_read(c, reg, &op->value) : msr_read_plain(c, reg, &op->value);
	case REG_WRITE:
		return msr_run_write(c, reg, op, special, e);
	case REG_UPDATE:
		return msr_run_update(c, reg, op, false, special, e);
	case REG_REPLACE:
		return msr_run_update(c, reg, op, true, special, e);
	case REG_RESERVE:
	case REG_RELEASE:
	case REG_FORGET:
		break;
	}
	return msr_run_reservation(c, reg, op, e);
}

static COLD int msr_run_special(
	struct backend_cpu *c, const struct msr_reg *reg, struct reg_op *op, struct err *e)
{
	return msr_run_access(c, reg, op, true, e);
}

static inline int msr_run_one(struct backend_cpu *c, struct reg_op *op, struct err *e)
{
	const struct msr_reg *reg = msr_regs_find(c->regs, op->addr);

	if (!reg)
		return REFUSED;
	return reg->special ? msr_run_special(c, reg, op, e) : msr_run_access(c, reg, op, false, e);
}

unsigned msr_run(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		int rc = msr_run_one(c, &ops[i], e);

		if (rc < 0) {
			msr_run_explain(c, &ops[i], rc, e);
			return i;
		}
	}
	return n;
}

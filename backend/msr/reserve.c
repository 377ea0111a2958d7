// SPDX-License-Identifier: MIT
/*
 * Reservations are kept by row. The journal has a slot for each row of each CPU, so that different
 * CPUs never write the same slot.
 */
#include "backend/msr/reserve.h"

#include <errno.h>
#include <stdio.h>
#include <syslog.h>

#include "backend/msr/msr_i.h"

static unsigned reserve_row(const struct backend_cpu *c, const struct msr_reg *reg)
{
	return (unsigned)(reg - c->regs->reg);
}

int reserve_put(struct journal *j, const struct msr_backend *mb, unsigned row,
	const struct journal_entry *entry, struct err *e)
{
	return journal_put(j, mb->nforeign + entry->cpu * mb->types.rows + row, entry, e);
}

int reserve_log(struct backend_cpu *c, unsigned row, const struct reservation *r, bool unrestored,
	struct err *e)
{
	struct journal_entry entry = {
		.cpu = c->cpu,
		.addr = c->type->regs.reg[row].addr,
		.orig = r->orig,
		.mask = r->mask,
		.unrestored = unrestored,
	};

	return c->mb->journal ? reserve_put(c->mb->journal, c->mb, row, &entry, e) : 0;
}

/* Ends a change to a reservation: a shared register without reserved bits becomes available to
 * other CPUs. Returns @rc. */
static int reserve_taken(struct backend_cpu *c, const struct msr_reg *reg, int rc)
{
	if (!c->reservations[reserve_row(c, reg)].mask)
		unit_drop(c, reg);
	return rc;
}

void reserve_give_up(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask)
{
	reserve_forget(c, reg, mask & ~c->left[reserve_row(c, reg)]);
}

void reserve_forget(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask)
{
	unsigned row = reserve_row(c, reg);
	struct reservation *r = &c->reservations[row];
	struct err ignored;

	if (!(r->mask & mask))
		return;
	r->mask &= ~mask;
	r->orig &= r->mask;
	c->left[row] &= ~mask;
	/* If this fails, the outdated record makes a later start restore the original once more,
	 * which does no harm. */
	reserve_log(c, row, r, false, &ignored);
	reserve_taken(c, reg, 0);
}

/*
 * Sets the bits of @reg under @mask to the bits of @orig, except enable bits, which are cleared.
 * Returns -errno without a sentence.
 */
static int reserve_restore(
	struct backend_cpu *c, const struct msr_reg *reg, uint64_t orig, uint64_t mask)
{
	uint64_t now = 0, value;
	int rc = 0;

	/* A 32-bit write is sign-extended, and the bits above are ignored, so even a small negative
	 * number, which perf leaves in counters, is restored completely. */
	if (reg->counter)
		return msr_write(c, reg, orig & reg->whole);
	if (mask != UINT64_MAX) {
		rc = msr_read(c, reg, &now);
		if (rc < 0)
			return rc;
	}
	value = (now & ~mask) | (orig & mask & ~reg->enable);
	if (mask != UINT64_MAX && value == now)
		return 0;
	return msr_write(c, reg, value);
}

int reserve_release(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask, struct err *e)
{
	unsigned row = reserve_row(c, reg);
	const struct reservation *r = &c->reservations[row];
	uint64_t bits = r->mask & mask;
	int rc = 0;

	if (!bits)
		return 0;
	/* Once the CPU was offline, all other reservations stay as well: a counter whose selector
	 * was not restored still counts. */
	if (c->seen_offline)
		rc = -ENXIO;
	else if (!reg->joint || unit_restores(c, reg))
		rc = reserve_restore(c, reg, r->orig, bits);
	if (rc == -ENXIO) {
		/* The CPU is offline: the reservation stays, see pending_restore.c. */
		c->seen_offline = true;
		c->left[row] |= bits;
		return 0;
	}
	if (rc < 0)
		return msr_access_failed(c, reg, rc, e);
	reserve_forget(c, reg, bits);
	return 0;
}

/* Restores the bits that an earlier context has left, which must not be mistaken for original
 * values or for another program's. */
static int reserve_restore_left(
	struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask, struct err *e)
{
	const uint64_t *left = &c->left[reserve_row(c, reg)];
	int rc;

	c->seen_offline = false;
	rc = reserve_release(c, reg, *left & mask, e);
	if (rc < 0)
		return rc;
	return *left & mask ? msr_access_failed(c, reg, -ENXIO, e) : 0;
}

int reserve_take(struct backend_cpu *c, const struct msr_reg *reg, struct reg_op *op, struct err *e)
{
	unsigned row = reserve_row(c, reg);
	struct reservation *r = &c->reservations[row];
	uint64_t fresh, orig;
	struct reservation after;
	int rc;

	if ((op->mask & c->left[row]) && reserve_restore_left(c, reg, op->mask, e) < 0)
		return -e->no;
	fresh = op->mask & ~r->mask;
	if (fresh && reg->scope != PMU_SCOPE_THREAD && unit_take(c, reg, e) < 0)
		return -e->no;
	rc = msr_read(c, reg, &op->value);
	if (rc < 0)
		msr_access_failed(c, reg, rc, e);
	if (rc < 0 || !fresh)
		return reserve_taken(c, reg, rc);
	orig = reg->joint ? unit_original(c, reg, op->value) : op->value;
	after = (struct reservation){
		.orig = r->orig | (orig & fresh),
		.mask = r->mask | fresh,
	};
	rc = reserve_log(c, row, &after, false, e);
	if (rc == 0)
		*r = after;
	return reserve_taken(c, reg, rc);
}

void reserve_report(const struct err *e)
{
	fprintf(stderr, "perfmonfs: register not restored: %s\n", e->text);
	syslog(LOG_DAEMON | LOG_ERR, "register not restored: %s", e->text);
}

int reserve_release_all(struct backend_cpu *c, struct err *e)
{
	const struct msr_regs *regs = c->regs;

	c->seen_offline = false;
	for (unsigned i = 0; i < regs->n; i++) {
		int rc = reserve_release(c, &regs->reg[i], UINT64_MAX, e);

		if (rc == -EPERM)
			return rc;
		if (rc < 0)
			reserve_report(e);
	}
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Claims are kept by row. The journal has a place for each row of each CPU, so that claims on
 * different CPUs never meet there.
 */
#include "backend/msr/claim.h"

#include <errno.h>
#include <stdio.h>
#include <syslog.h>

#include "backend/msr/msr_i.h"

static struct claim *claim_of(struct backend_cpu *c, const struct msr_reg *reg)
{
	return &c->claims[reg - c->mb->regs.reg];
}

static unsigned journal_slot(const struct backend_cpu *c, const struct msr_reg *reg)
{
	return c->cpu * c->mb->regs.n + (unsigned)(reg - c->mb->regs.reg);
}

static int note(
	struct backend_cpu *c, const struct msr_reg *reg, const struct claim *claim, struct err *e)
{
	struct journal_entry entry = {
		.cpu = c->cpu,
		.addr = reg->addr,
		.orig = claim->orig,
		.mask = claim->mask,
	};

	return c->mb->journal ? journal_put(c->mb->journal, journal_slot(c, reg), &entry, e) : 0;
}

int claim_take(struct backend_cpu *c, const struct msr_reg *reg, struct reg_op *op, struct err *e)
{
	struct claim *claim = claim_of(c, reg);
	uint64_t fresh = op->mask & ~claim->mask;
	struct claim after;
	int rc;

	if (!c->claims_any) {
		c->claims_any = true;
		owed_pay(c);
	}
	rc = msr_read(c, reg, &op->value);
	if (rc < 0)
		return msr_access_failed(c, reg, rc, e);
	if (!fresh)
		return 0;
	after = (struct claim){
		.orig = claim->orig | (op->value & fresh),
		.mask = claim->mask | fresh,
	};
	rc = note(c, reg, &after, e);
	if (rc == 0)
		*claim = after;
	return rc;
}

/*
 * Should the journal keep a record that is no longer true, a later start would put the original
 * back once more: that is no reason to fail here.
 */
static void drop(struct backend_cpu *c, const struct msr_reg *reg, uint64_t bits)
{
	struct claim *claim = claim_of(c, reg);
	struct err ignored;

	if (!(claim->mask & bits))
		return;
	claim->mask &= ~bits;
	claim->orig &= claim->mask;
	note(c, reg, claim, &ignored);
}

int claim_put_back(struct backend_cpu *c, const struct msr_reg *reg, uint64_t orig, uint64_t mask)
{
	uint64_t now = 0, value;
	int rc = 0;

	/* Where a write sets 32 bits and extends the sign, the rest is ignored: what perf leaves, a
	 * negative number of few bits, comes back whole. */
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

int claim_release(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask, struct err *e)
{
	const struct claim *claim = claim_of(c, reg);
	uint64_t bits = claim->mask & mask;
	int rc;

	if (!bits)
		return 0;
	rc = claim_put_back(c, reg, claim->orig, bits);
	if (rc == -ENXIO)
		return 0; /* offline: it is owed, see owed.c */
	if (rc < 0)
		return msr_access_failed(c, reg, rc, e);
	drop(c, reg, bits);
	return 0;
}

void claim_forget(struct backend_cpu *c, const struct msr_reg *reg, uint64_t mask)
{
	drop(c, reg, mask);
}

void claim_release_all(struct backend_cpu *c)
{
	const struct msr_regs *regs = &c->mb->regs;
	struct err e;

	for (unsigned i = 0; i < regs->n; i++)
		if (claim_release(c, &regs->reg[i], UINT64_MAX, &e) < 0) {
			fprintf(stderr, "perfmonfs: not put back: %s\n", e.text);
			syslog(LOG_DAEMON | LOG_ERR, "not put back: %s", e.text);
		}
}

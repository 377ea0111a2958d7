// SPDX-License-Identifier: MIT
/*
 * Restores registers of a killed daemon from its journal: only those of the present description,
 * only the bits under the journal's masks, in the order of rows.
 */
#include "backend/msr/msr_i.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct recover_tally {
	unsigned restored, skipped;
};

static unsigned recover_row(const struct msr_regs *regs, uint32_t addr)
{
	const struct msr_reg *reg = msr_regs_find(regs, addr);

	return reg ? (unsigned)(reg - regs->reg) : MSR_MAX_REGS;
}

static int recover_compare(const void *a, const void *b, void *arg)
{
	const struct journal_entry *x = a, *y = b;
	unsigned rx, ry;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	rx = recover_row(arg, x->addr);
	ry = recover_row(arg, y->addr);
	return rx < ry ? -1 : rx > ry;
}

/* Fails only if the write is not permitted: a later start that has permission can do it. */
static int recover_one(struct backend_cpu *c, const struct journal_entry *entry,
	struct recover_tally *t, struct err *e)
{
	const struct msr_reg *reg = msr_regs_find(&c->mb->regs, entry->addr);
	int rc;

	if (!reg || !reg->writable) {
		t->skipped++;
		return 0;
	}
	rc = reserve_restore(c, reg, entry->orig, entry->mask);
	if (rc == 0)
		t->restored++;
	else if (rc == -EPERM)
		return msr_access_failed(c, reg, rc, e);
	else if (rc != -ENXIO)
		t->skipped++;
	return 0;
}

/* Makes the entries of an offline CPU pending. */
static void recover_later(struct backend_cpu *c, const struct journal_entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned row = recover_row(&c->mb->regs, entries[i].addr);

		if (row < c->mb->regs.n && c->mb->regs.reg[row].writable)
			c->reservations[row] =
				(struct reservation){entries[i].orig, entries[i].mask};
	}
	pending_restore_keep(c);
}

static int recover_cpu(struct msr_backend *mb, const struct journal_entry *entries, size_t n,
	struct recover_tally *t, struct err *e)
{
	struct msr_io *io = mb->io;
	CLEANUP_FREE struct backend_cpu *c = calloc(1, sizeof(*c));
	int rc = 0;

	if (!c)
		return err_set(e, ENOMEM, "no memory to restore registers");
	msr_cpu_init(c, mb, entries[0].cpu, io->ops->open(io, entries[0].cpu, e));
	if (c->handle == -ENXIO) {
		recover_later(c, entries, n);
		return 0;
	}
	if (c->handle < 0)
		return c->handle;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = recover_one(c, &entries[i], t, e);
	io->ops->close(io, c->handle);
	return rc;
}

int msr_recover(void *arg, struct journal_entry *entries, size_t n, struct err *e)
{
	struct msr_backend *mb = arg;
	struct recover_tally t = {0};
	size_t from = 0;
	int rc = 0;

	qsort_r(entries, n, sizeof(*entries), recover_compare, &mb->regs);
	while (rc == 0 && from < n) {
		size_t to = from + 1;

		while (to < n && entries[to].cpu == entries[from].cpu)
			to++;
		rc = recover_cpu(mb, &entries[from], to - from, &t, e);
		from = to;
	}
	if (t.restored)
		fprintf(stderr,
			"perfmonfs: restored %u registers left by a daemon that was killed\n",
			t.restored);
	if (t.skipped)
		fprintf(stderr,
			"perfmonfs: %u registers of a killed daemon's journal were not restored: "
			"not in the PMU's description, or they fault\n",
			t.skipped);
	return rc;
}

// SPDX-License-Identifier: MIT
/*
 * Restores the registers of a killed daemon from its journal: only registers of the present
 * description, only the bits under the journal's masks, in the order of rows. Registers that cannot
 * be restored go to this daemon's journal (pending_restore.c).
 */
#include "backend/msr/msr_i.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct recover_tally {
	unsigned restored, left;
};

static unsigned recover_row(const struct msr_regs *regs, uint32_t addr)
{
	const struct msr_reg *reg = msr_regs_find(regs, addr);

	return reg ? (unsigned)(reg - regs->reg) : MSR_MAX_REGS;
}

static int recover_compare(const void *a, const void *b, void *arg)
{
	const struct journal_entry *x = a, *y = b;
	const struct msr_type *type = msr_type_of(arg, x->cpu);
	unsigned rx, ry;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	rx = type ? recover_row(&type->regs, x->addr) : 0;
	ry = type ? recover_row(&type->regs, y->addr) : 0;
	if (rx != ry)
		return rx < ry ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Makes reservations of @c from the entries of its CPU; returns how many. The remaining entries are
 * foreign. */
static int recover_reserve(
	struct backend_cpu *c, const struct journal_entry *entries, size_t n, struct err *e)
{
	const struct msr_regs *regs = c->regs;
	bool is_cpu = c->cpu < c->mb->io->ops->cpu_limit(c->mb->io);
	int known = 0;

	for (size_t i = 0; i < n; i++) {
		struct reservation r = {entries[i].orig & entries[i].mask, entries[i].mask};
		unsigned row = recover_row(regs, entries[i].addr);

		if (is_cpu && row < regs->n && regs->reg[row].writable) {
			c->reservations[row] = r;
			known++;
		} else if (pending_restore_add_foreign(c->mb, &entries[i], e) < 0) {
			return -e->no;
		}
	}
	return known;
}

static unsigned recover_count(const struct backend_cpu *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->regs->n; i++)
		n += c->reservations[i].mask != 0;
	return n;
}

/* Keeps the entries of a CPU whose type, and therefore registers, are not known. */
static int recover_keep(
	struct msr_backend *mb, const struct journal_entry *entries, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (pending_restore_add_foreign(mb, &entries[i], e) < 0)
			return -e->no;
	return 0;
}

/* Restores a CPU's registers. Fails only if writes are not permitted: a later start with permission
 * can restore them. */
static int recover_cpu(struct msr_backend *mb, const struct journal_entry *entries, size_t n,
	struct recover_tally *t, struct err *e)
{
	const struct msr_type *type = msr_type_of(&mb->types, entries[0].cpu);
	struct msr_io *io = mb->io;
	CLEANUP_FREE struct backend_cpu *c = calloc(1, sizeof(*c));
	unsigned reserved, left;
	int rc;

	if (!c)
		return err_set(e, ENOMEM, "no memory to restore registers");
	if (!type)
		return recover_keep(mb, entries, n, e);
	msr_cpu_init(c, mb, type, entries[0].cpu, -1);
	rc = recover_reserve(c, entries, n, e);
	if (rc <= 0)
		return rc;
	reserved = recover_count(c);
	c->handle = io->ops->open(io, c->cpu, e);
	if (c->handle < 0 && c->handle != -ENXIO)
		return c->handle;
	c->seen_offline = c->handle < 0 || msr_cpu_find_thread(c, e) < 0;
	rc = c->seen_offline ? 0 : pending_restore_run(c, e);
	left = recover_count(c);
	t->restored += reserved - left;
	t->left += left;
	pending_restore_keep(c);
	if (c->handle >= 0)
		io->ops->close(io, c->handle);
	return rc;
}

int msr_recover(void *arg, struct journal_entry *entries, size_t n, struct err *e)
{
	struct msr_backend *mb = arg;
	struct recover_tally t = {0};
	size_t from = 0;
	int rc = 0;

	qsort_r(entries, n, sizeof(*entries), recover_compare, &mb->types);
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
	if (t.left + mb->nforeign)
		fprintf(stderr,
			"perfmonfs: %u registers of a killed daemon's journal are not restored "
			"yet: see "
			"cpus\n",
			t.left + mb->nforeign);
	return rc;
}

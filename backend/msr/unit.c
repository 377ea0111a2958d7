// SPDX-License-Identifier: MIT
#include "backend/msr/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "backend/msr/msr_i.h"
#include "backend/msr/topology.h"

static const char *const unit_names[] = {
	[PMU_SCOPE_CORE] = "core",
	[PMU_SCOPE_CCX] = "last-level cache",
	[PMU_SCOPE_PACKAGE] = "package",
};

void unit_init(struct unit_table *t)
{
	pthread_mutex_init(&t->lock, NULL);
}

void unit_free(struct unit_table *t)
{
	while (t->entries) {
		struct unit_entry *h = t->entries;

		t->entries = h->next;
		free(h);
	}
	pthread_mutex_destroy(&t->lock);
}

static enum pmu_scope unit_scope(const struct msr_reg *reg)
{
	return reg->node ? PMU_SCOPE_PACKAGE : reg->scope;
}

/* Whether @h is about @reg of @unit. Compares addresses, because CPUs of two types have the
 * register in two tables. */
static bool unit_is_entry(const struct unit_entry *h, const struct msr_reg *reg, uint32_t unit)
{
	return h->addr == reg->addr && h->scope == unit_scope(reg) && h->unit == unit;
}

/* The first entry of @reg in @unit that belongs to a CPU different from @cpu. The lock is held. */
static struct unit_entry *unit_find_other(
	const struct unit_table *t, const struct msr_reg *reg, uint32_t unit, unsigned cpu)
{
	struct unit_entry *h = t->entries;

	while (h && (!unit_is_entry(h, reg, unit) || h->cpu == cpu))
		h = h->next;
	return h;
}

/* The link that points to the entry of @cpu, or to NULL if there is none. The lock is held. */
static struct unit_entry **unit_find_own(
	struct unit_table *t, const struct msr_reg *reg, unsigned cpu)
{
	struct unit_entry **at = &t->entries;

	while (*at && ((*at)->addr != reg->addr || (*at)->cpu != cpu))
		at = &(*at)->next;
	return at;
}

static int unit_refuse(const struct msr_reg *reg, unsigned other, struct err *e)
{
	if (reg->node)
		return err_set(e, EBUSY,
			"%s: EBUSY: it counts a per-package event, and CPU %u of the package "
			"already uses this counter (see cpus): unload that context, or use another "
			"PMC",
			reg->name, other);
	return err_set(e, EBUSY,
		"%s: EBUSY: the CPUs of a %s share it, and CPU %u already uses it (see cpus): "
		"unload that context, or load there",
		reg->name, unit_names[reg->scope], other);
}

static int unit_take_locked(struct backend_cpu *c, const struct msr_reg *reg, struct err *e)
{
	struct unit_table *t = &c->mb->units;
	uint32_t unit = c->units[unit_scope(reg)];
	const struct unit_entry *other = unit_find_other(t, reg, unit, c->cpu);
	struct unit_entry *own;

	if (*unit_find_own(t, reg, c->cpu))
		return 0;
	if (other && (!reg->joint || other->restored))
		return unit_refuse(reg, other->cpu, e);
	own = malloc(sizeof(*own));
	if (!own)
		return err_set(e, ENOMEM, "no memory to reserve %s", reg->name);
	*own = (struct unit_entry){
		.next = t->entries,
		.addr = reg->addr,
		.scope = unit_scope(reg),
		.unit = unit,
		.cpu = c->cpu,
		.known = other && other->known,
		.orig = other ? other->orig : 0,
	};
	t->entries = own;
	return 0;
}

/* Finds the units of the CPU. Done only at the first reservation of a shared register, since most
 * contexts have none. */
static int unit_find_cpu(struct backend_cpu *c, struct err *e)
{
	int rc = c->has_units ? 0 : topology_of(c->io, c->cpu, c->units, e);

	c->has_units = rc == 0;
	return rc;
}

int unit_take(struct backend_cpu *c, const struct msr_reg *reg, struct err *e)
{
	int rc;

	if (unit_find_cpu(c, e) < 0)
		return -e->no;
	pthread_mutex_lock(&c->mb->units.lock);
	rc = unit_take_locked(c, reg, e);
	pthread_mutex_unlock(&c->mb->units.lock);
	return rc;
}

/* Removes the entry of @c->cpu. A register that a dead daemon's journal has reserved has no
 * entry. */
void unit_drop(struct backend_cpu *c, const struct msr_reg *reg)
{
	struct unit_entry **at, *h;

	if (unit_scope(reg) == PMU_SCOPE_THREAD)
		return;
	pthread_mutex_lock(&c->mb->units.lock);
	at = unit_find_own(&c->mb->units, reg, c->cpu);
	h = *at;
	if (h)
		*at = h->next;
	pthread_mutex_unlock(&c->mb->units.lock);
	free(h);
}

uint64_t unit_original(struct backend_cpu *c, const struct msr_reg *reg, uint64_t value)
{
	struct unit_table *t = &c->mb->units;
	struct unit_entry *own;

	pthread_mutex_lock(&t->lock);
	own = *unit_find_own(t, reg, c->cpu);
	for (struct unit_entry *h = own->known ? NULL : t->entries; h; h = h->next) {
		if (!unit_is_entry(h, reg, own->unit))
			continue;
		h->known = true;
		h->orig = value;
	}
	value = own->orig;
	pthread_mutex_unlock(&t->lock);
	return value;
}

int unit_write(struct backend_cpu *c, const struct msr_reg *reg, uint64_t value, struct err *e)
{
	struct unit_table *t = &c->mb->units;
	struct unit_entry *own, *other;

	pthread_mutex_lock(&t->lock);
	own = *unit_find_own(t, reg, c->cpu);
	for (other = t->entries; other; other = other->next)
		if (own && other != own && unit_is_entry(other, reg, own->unit) && other->written &&
			other->value != value)
			break;
	if (other)
		err_set(e, EBUSY,
			"%s: EBUSY: the CPUs of a %s share it, and CPU %u uses it with %#" PRIx64
			": write the same value, or unload that context",
			reg->name, unit_names[reg->scope], other->cpu, other->value);
	if (own && !other) {
		own->written = true;
		own->value = value;
	}
	pthread_mutex_unlock(&t->lock);
	return other ? -EBUSY : 0;
}

bool unit_restores(struct backend_cpu *c, const struct msr_reg *reg)
{
	struct unit_table *t = &c->mb->units;
	struct unit_entry **at, *own;
	bool last;

	pthread_mutex_lock(&t->lock);
	at = unit_find_own(t, reg, c->cpu);
	own = *at;
	last = !own || !unit_find_other(t, reg, own->unit, c->cpu);
	if (own)
		own->restored = last;
	if (!last)
		*at = own->next;
	pthread_mutex_unlock(&t->lock);
	if (!last)
		free(own);
	return last;
}

bool unit_owner(struct backend *be, unsigned cpu, const struct msr_reg *reg, unsigned *owner)
{
	struct msr_backend *mb = msr_of(be);
	uint32_t units[PMU_SCOPES];
	const struct unit_entry *other;
	struct err ignored;

	if (reg->scope == PMU_SCOPE_THREAD || topology_of(mb->io, cpu, units, &ignored) < 0)
		return false;
	pthread_mutex_lock(&mb->units.lock);
	other = unit_find_other(&mb->units, reg, units[reg->scope], cpu);
	if (other)
		*owner = other->cpu;
	pthread_mutex_unlock(&mb->units.lock);
	return other;
}

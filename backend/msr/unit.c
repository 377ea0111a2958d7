// SPDX-License-Identifier: MIT
#include "backend/msr/unit.h"

#include <errno.h>
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

/*
 * Where the link to the entry of @reg in @unit is, or is to be. The lock is held. The same register
 * of CPUs of two types is in two tables.
 */
static struct unit_entry **unit_find(struct unit_table *t, const struct msr_reg *reg, uint32_t unit)
{
	struct unit_entry **at = &t->entries;

	while (*at &&
		((*at)->addr != reg->addr || (*at)->scope != reg->scope || (*at)->unit != unit))
		at = &(*at)->next;
	return at;
}

static int unit_take_locked(struct backend_cpu *c, const struct msr_reg *reg, struct err *e)
{
	uint32_t unit = c->units[reg->scope];
	struct unit_entry **at = unit_find(&c->mb->units, reg, unit);

	if (*at && (*at)->cpu != c->cpu)
		return err_set(e, EBUSY,
			"%s: EBUSY: the CPUs of a %s share it, and CPU %u of this one has it: cpus "
			"tells the context there; unload that, or load there",
			reg->name, unit_names[reg->scope], (*at)->cpu);
	if (*at)
		return 0;
	*at = malloc(sizeof(**at));
	if (!*at)
		return err_set(e, ENOMEM, "no memory to reserve %s", reg->name);
	**at = (struct unit_entry){
		.addr = reg->addr, .scope = reg->scope, .unit = unit, .cpu = c->cpu};
	return 0;
}

/* Not before the first reservation of a shared register: most contexts have none. */
static int unit_find_cpu(struct backend_cpu *c, struct err *e)
{
	int rc = c->has_units ? 0 : topology_of(c->io, c->cpu, c->units, e);

	c->has_units = rc == 0;
	return rc;
}

int unit_take(struct backend_cpu *c, const struct msr_reg *reg, struct err *e)
{
	int rc;

	if (reg->scope == PMU_SCOPE_THREAD)
		return 0;
	if (unit_find_cpu(c, e) < 0)
		return -e->no;
	pthread_mutex_lock(&c->mb->units.lock);
	rc = unit_take_locked(c, reg, e);
	pthread_mutex_unlock(&c->mb->units.lock);
	return rc;
}

/* One that a dead daemon's journal has reserved has no entry. */
void unit_drop(struct backend_cpu *c, const struct msr_reg *reg)
{
	struct unit_entry **at, *h = NULL;

	if (reg->scope == PMU_SCOPE_THREAD)
		return;
	pthread_mutex_lock(&c->mb->units.lock);
	for (at = &c->mb->units.entries; *at; at = &(*at)->next) {
		if ((*at)->addr != reg->addr || (*at)->cpu != c->cpu)
			continue;
		h = *at;
		*at = h->next;
		break;
	}
	pthread_mutex_unlock(&c->mb->units.lock);
	free(h);
}

bool unit_owner(struct backend *be, unsigned cpu, const struct msr_reg *reg, unsigned *owner)
{
	struct msr_backend *mb = msr_of(be);
	uint32_t units[PMU_SCOPES];
	struct unit_entry *h;
	struct err ignored;

	if (reg->scope == PMU_SCOPE_THREAD || topology_of(mb->io, cpu, units, &ignored) < 0)
		return false;
	pthread_mutex_lock(&mb->units.lock);
	h = *unit_find(&mb->units, reg, units[reg->scope]);
	if (h)
		*owner = h->cpu;
	pthread_mutex_unlock(&mb->units.lock);
	return h && *owner != cpu;
}

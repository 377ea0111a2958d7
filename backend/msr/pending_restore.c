// SPDX-License-Identifier: MIT
/* Reservations of CPUs that went offline, kept until the CPU is used again. */
#include <stdlib.h>
#include <string.h>

#include "backend/msr/msr_i.h"
#include "base/cleanup.h"

struct pending_restore {
	struct pending_restore *next;
	unsigned cpu;
	struct reservation reservations[MSR_MAX_REGS]; /* As in struct backend_cpu. */
};

static bool pending_any(const struct backend_cpu *c)
{
	for (unsigned i = 0; i < c->mb->regs.n; i++)
		if (c->reservations[i].mask)
			return true;
	return false;
}

void pending_restore_keep(struct backend_cpu *c)
{
	struct pending_restore *p;

	if (!pending_any(c))
		return;
	p = calloc(1, sizeof(*p));
	if (!p) {
		c->mb->pending_lost = true;
		return;
	}
	p->cpu = c->cpu;
	memcpy(p->reservations, c->reservations, sizeof(p->reservations));
	pthread_mutex_lock(&c->mb->pending_lock);
	p->next = c->mb->pending;
	c->mb->pending = p;
	pthread_mutex_unlock(&c->mb->pending_lock);
}

static struct pending_restore *pending_unlink(struct msr_backend *mb, unsigned cpu)
{
	struct pending_restore **at = &mb->pending, *p;

	pthread_mutex_lock(&mb->pending_lock);
	while (*at && (*at)->cpu != cpu)
		at = &(*at)->next;
	p = *at;
	if (p)
		*at = p->next;
	pthread_mutex_unlock(&mb->pending_lock);
	return p;
}

bool pending_restore_take(struct backend_cpu *c)
{
	CLEANUP_FREE struct pending_restore *p = pending_unlink(c->mb, c->cpu);

	if (!p)
		return false;
	memcpy(c->reservations, p->reservations, sizeof(c->reservations));
	return true;
}

void pending_restore_free(struct msr_backend *mb)
{
	while (mb->pending) {
		struct pending_restore *p = mb->pending;

		mb->pending = p->next;
		free(p);
	}
	pthread_mutex_destroy(&mb->pending_lock);
}

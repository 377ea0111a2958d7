// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "backend/msr/msr_i.h"
#include "base/cleanup.h"

struct owed {
	struct owed *next;
	unsigned cpu;
	struct claim claims[MSR_MAX_REGS];
};

static bool any_claim(const struct backend_cpu *c)
{
	for (unsigned i = 0; i < c->mb->regs.n; i++)
		if (c->claims[i].mask)
			return true;
	return false;
}

void owed_keep(struct backend_cpu *c)
{
	struct owed *o;

	if (!any_claim(c))
		return;
	o = calloc(1, sizeof(*o));
	if (!o) {
		c->mb->owed_lost = true;
		return;
	}
	o->cpu = c->cpu;
	memcpy(o->claims, c->claims, sizeof(o->claims));
	pthread_mutex_lock(&c->mb->owed_lock);
	o->next = c->mb->owed;
	c->mb->owed = o;
	pthread_mutex_unlock(&c->mb->owed_lock);
}

static struct owed *take(struct msr_backend *mb, unsigned cpu)
{
	struct owed **at = &mb->owed, *o;

	pthread_mutex_lock(&mb->owed_lock);
	while (*at && (*at)->cpu != cpu)
		at = &(*at)->next;
	o = *at;
	if (o)
		*at = o->next;
	pthread_mutex_unlock(&mb->owed_lock);
	return o;
}

void owed_pay(struct backend_cpu *c)
{
	CLEANUP_FREE struct owed *o = take(c->mb, c->cpu);

	if (!o)
		return;
	memcpy(c->claims, o->claims, sizeof(c->claims));
	claim_release_all(c);
}

void owed_free(struct msr_backend *mb)
{
	while (mb->owed) {
		struct owed *o = mb->owed;

		mb->owed = o->next;
		free(o);
	}
	pthread_mutex_destroy(&mb->owed_lock);
}

// SPDX-License-Identifier: MIT
#include "daemon/core/messages.h"

#include <errno.h>
#include <stdlib.h>

int messages_reset(struct messages *q)
{
	if (!q->ring)
		q->ring = malloc(MESSAGES_MAX * sizeof(*q->ring));
	q->first = q->n = 0;
	q->lost = 0;
	return q->ring ? 0 : -ENOMEM;
}

void messages_free(struct messages *q)
{
	free(q->ring);
	*q = (struct messages){0};
}

static void append(struct messages *q, const struct pfm_msg *m)
{
	q->ring[(q->first + q->n++) % MESSAGES_MAX] = *m;
}

bool messages_put(struct messages *q, const struct pfm_msg *m)
{
	unsigned need = q->lost ? 2 : 1;

	if (MESSAGES_MAX - q->n < need) {
		q->lost++;
		return false;
	}
	if (q->lost)
		append(q, &(struct pfm_msg){.type = PFM_MSG_LOST, .cpu = m->cpu, .count = q->lost});
	q->lost = 0;
	append(q, m);
	return true;
}

unsigned messages_take(struct messages *q, struct pfm_msg *out, unsigned max)
{
	unsigned n = 0;

	for (; n < max && q->n; n++, q->n--) {
		out[n] = q->ring[q->first];
		q->first = (q->first + 1) % MESSAGES_MAX;
	}
	return n;
}

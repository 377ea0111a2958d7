// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/runs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/nsec.h"

int runs_init(struct runs *r, unsigned room, struct err *e)
{
	double *all = calloc((size_t)room * (EVENT_MAX + GROUP_METRICS + 1), sizeof(*all));

	*r = (struct runs){.elapsed_s = all, .room = room};
	if (!all)
		return err_set(e, ENOMEM, "no memory for %u runs", room);
	for (unsigned i = 0; i < EVENT_MAX; i++)
		r->values[i] = all + (size_t)room * (i + 1);
	for (unsigned i = 0; i < GROUP_METRICS; i++)
		r->metrics[i] = all + (size_t)room * (EVENT_MAX + i + 1);
	return 0;
}

void runs_free(struct runs *r)
{
	free(r->elapsed_s);
	*r = (struct runs){0};
}

void runs_add(struct runs *r, const struct plan *p, const struct counts *c, uint64_t elapsed_ns)
{
	if (r->n == r->room)
		return;
	for (unsigned i = 0; i < p->n; i++) {
		r->values[i][r->n] = (double)c->all[i].value;
		if (!r->lost[i])
			r->lost[i] = c->all[i].lost;
	}
	for (unsigned i = 0; p->group && i < p->group->nmetrics; i++)
		r->metrics[i][r->n] = counts_group_metric(c, p, i);
	r->elapsed_s[r->n++] = (double)elapsed_ns / (double)NSEC_PER_SEC;
}

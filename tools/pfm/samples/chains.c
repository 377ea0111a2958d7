// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/chains.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chains {
	struct data_writer *to;
	struct unwinder *unwinder;
	struct chain all[UNWINDER_PENDING];
	unsigned n;
	uint64_t ends[UNWIND_ENDS]; /* chains, by enum unwind_end */
	void *copy;
	size_t room;
};

int chains_new(struct chains **out, struct data_writer *to, struct err *e)
{
	struct chains *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(e, ENOMEM, "no memory for call chains");
	c->to = to;
	if (unwinder_new(&c->unwinder, e) == 0) {
		*out = c;
		return 0;
	}
	free(c);
	return -e->no;
}

void chains_free(struct chains *c)
{
	if (!c)
		return;
	unwinder_free(c->unwinder);
	free(c->copy);
	free(c);
}

const void *chains_copy(struct chains *c, const void *from, size_t n)
{
	if (n > c->room) {
		void *copy = realloc(c->copy, n);

		if (!copy)
			return NULL;
		c->copy = copy;
		c->room = n;
	}
	return memcpy(c->copy, from, n);
}

int chains_add(struct chains *c, const struct chain *chain, const struct image *im,
	const pfm_stack_smpl_user_t *user, struct err *e)
{
	if (c->n == UNWINDER_PENDING && chains_flush(c, e) < 0)
		return -e->no;
	c->all[c->n++] = *chain;
	unwinder_submit(c->unwinder, im, chain->s.pid, user);
	return 0;
}

static int chains_put(struct chains *c, struct chain *chain, struct err *e)
{
	struct unwound found;

	unwinder_wait(c->unwinder, &found);
	c->ends[found.end]++;
	if (found.end != UNWIND_WHOLE)
		chain->s.flags |= DATA_STACK_CUT;
	chain->frames[chain->s.nframes++] = DATA_MARKER_USER;
	memcpy(chain->frames + chain->s.nframes, found.frames, found.n * sizeof(uint64_t));
	chain->s.nframes = (uint16_t)(chain->s.nframes + found.n);
	return data_put(c->to, DATA_STACK, chain,
		sizeof(chain->s) + chain->s.nframes * sizeof(uint64_t), NULL, e);
}

int chains_flush(struct chains *c, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; i < c->n; i++)
		if (rc == 0)
			rc = chains_put(c, &c->all[i], e);
	c->n = 0;
	return rc;
}

int chains_end(struct chains *c, struct err *e)
{
	char info[320];
	int n;

	n = snprintf(info, sizeof(info),
		"chains_whole %" PRIu64 "\nchains_cut_stack %" PRIu64 "\nchains_cut_code %" PRIu64
		"\nchains_cut_deep %" PRIu64 "\nchains_cut_broken %" PRIu64 "\n",
		c->ends[UNWIND_WHOLE], c->ends[UNWIND_STACK], c->ends[UNWIND_CODE],
		c->ends[UNWIND_DEEP], c->ends[UNWIND_BROKEN]);
	if (unwinder_refused(c->unwinder))
		n += snprintf(info + n, sizeof(info) - (size_t)n, "chains_refused %u\n",
			unwinder_refused(c->unwinder));
	if (unwinder_unchecked(c->unwinder))
		snprintf(info + n, sizeof(info) - (size_t)n, "chains_unchecked %u\n",
			unwinder_unchecked(c->unwinder));
	return data_put(c->to, DATA_INFO, NULL, 0, info, e);
}

void chains_renew(struct chains *c)
{
	memset(c->ends, 0, sizeof(c->ends));
	unwinder_renew(c->unwinder);
}

// SPDX-License-Identifier: MIT
/* Tests whether the kernel can count a selector's event, before anything is loaded. */
#include "backend/perf/try.h"

#include <errno.h>
#include <unistd.h>

static const struct perf_sampling perf_none;
/* Only an event that interrupts can be refused as not precise. */
static const struct perf_sampling perf_rare = {.period = 1ULL << 40};

void perf_trial_init(struct perf_trial *t)
{
	t->nkinds = perf_kinds_find(t->kinds);
}

/* The place of @sel in @accepted. Hardware selectors differ mostly in the low bits, software events
 * only in the lowest byte. */
static atomic_ullong *perf_trial_slot(struct perf_trial *t, uint64_t sel)
{
	return &t->accepted[(sel ^ sel >> 8 ^ sel >> 16) % PERF_ACCEPTED];
}

/* Whether errno @no is about the selector. All other errors are about the current state of the
 * system. */
static bool perf_is_refusal(int no)
{
	return no == ENOENT || no == EINVAL || no == EOPNOTSUPP || no == ENODEV || no == EACCES ||
	       no == EPERM;
}

static int perf_try_kind(const struct perf_kind *kind, uint64_t sel, struct err *e)
{
	int fd = perf_trial_new(
		&kind->src, -1, sel, sel & PERFSEL_PRECISE ? &perf_rare : &perf_none, e);

	if (fd < 0)
		return perf_is_refusal(-fd) ? fd : 0;
	close(fd);
	return 1;
}

int perf_try(struct perf_trial *t, uint64_t sel, struct err *e)
{
	atomic_ullong *slot = perf_trial_slot(t, sel);
	int rc = 0;

	if (perfsel_nothing(sel) || atomic_load_explicit(slot, memory_order_relaxed) == sel)
		return 0;
	for (unsigned i = 0; i < t->nkinds; i++) {
		rc = perf_try_kind(&t->kinds[i], sel, e);
		if (rc >= 0)
			break;
	}
	if (rc > 0)
		atomic_store_explicit(slot, sel, memory_order_relaxed);
	return rc < 0 ? rc : 0;
}

bool perf_fit(const struct perf_trial *t, const uint64_t *sels, unsigned n)
{
	int fds[PERF_FIT_MAX], rc = 0;
	unsigned opened = 0;
	struct err ignored;

	for (unsigned i = 0; i < n && opened < PERF_FIT_MAX && rc >= 0; i++) {
		rc = perf_trial_new(
			&t->kinds[0].src, opened ? fds[0] : -1, sels[i], &perf_none, &ignored);
		if (rc >= 0)
			fds[opened++] = rc;
	}
	while (opened) /* The leader is closed last: without it, the others would count. */
		close(fds[--opened]);
	return rc != -EINVAL;
}

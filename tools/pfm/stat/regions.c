// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/regions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert((int)PFM_REGION_PMDS >= (int)EVENT_MAX, "a region has room for all events");

/* --- The table */

static int regions_fill(struct pfm_region_table *table, const struct tree *t,
	const struct plan *plan, struct err *e)
{
	int n = snprintf(table->regs, sizeof(table->regs), "%s", plan->regs[0].p);

	if (n >= (int)sizeof(table->regs))
		return err_set(e, E2BIG, "too many registers for regions: count fewer events");
	table->version = PFM_REGION_VERSION;
	table->npmds = plan->n;
	for (unsigned i = 0; i < plan->n; i++)
		table->pmds[i] = (uint16_t)plan->pmds[i];
	/* The perf backend has no RDPMC, and a live page would keep the kernel from switching. */
	table->live = strcmp(t->backend, "msr") == 0;
	snprintf(table->mount, sizeof(table->mount), "/proc/%d/fd/%d", (int)getpid(), t->dir);
	return 0;
}

/* Where the program finds it, also in another mount namespace. */
static int regions_announce(const struct regions *r, struct err *e)
{
	char path[PFM_REGION_NAME];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), r->fd);
	return setenv(PFM_REGION_ENV, path, 1) == 0 ? 0 : err_set(e, ENOMEM, "no memory");
}

int regions_open(struct regions *r, const struct tree *t, const struct plan *plan, struct err *e)
{
	const size_t size = sizeof(*r->table);
	void *at;
	int rc;

	r->fd = memfd_create("pfm-regions", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* If a program made it smaller, reading it would be SIGBUS here. */
	if (r->fd < 0 || ftruncate(r->fd, (off_t)size) < 0 ||
		fcntl(r->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_set(e, errno, "no memory for regions: %s", err_name(errno));
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (at == MAP_FAILED)
		return err_set(e, errno, "no memory for regions: %s", err_name(errno));
	r->table = at;
	rc = regions_fill(r->table, t, plan, e);
	return rc < 0 ? rc : regions_announce(r, e);
}

void regions_close(struct regions *r)
{
	if (r->table)
		munmap(r->table, sizeof(*r->table));
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct regions)REGIONS_NONE;
}

/* --- Sums, of what the program has written: that may be anything, and change meanwhile */

enum { REGIONS_ERRNO_MAX = 4095 };

static struct region_sum *regions_find(
	struct region_sums *sums, const char name[PFM_REGION_NAME], struct err *e)
{
	struct region_sum *all;

	for (unsigned i = 0; i < sums->n; i++)
		if (strncmp(sums->all[i].name, name, PFM_REGION_NAME - 1) == 0)
			return &sums->all[i];
	all = realloc(sums->all, (sums->n + 1) * sizeof(*all));
	if (!all) {
		err_set(e, ENOMEM, "no memory for %u regions", sums->n + 1);
		return NULL;
	}
	sums->all = all;
	all += sums->n++;
	*all = (struct region_sum){0};
	snprintf(all->name, sizeof(all->name), "%.*s", PFM_REGION_NAME - 1, name);
	return all;
}

/* The sentence may have no NUL. */
static void regions_reason(struct err *e, const struct pfm_region_loss *loss)
{
	uint32_t no = __atomic_load_n(&loss->no, __ATOMIC_ACQUIRE);

	if (no)
		err_set(e, no <= REGIONS_ERRNO_MAX ? (int)no : EIO, "%.*s", PFM_REGION_SENTENCE,
			loss->sentence);
}

static int regions_add(struct region_sums *sums, const struct pfm_region *region,
	const struct plan *plan, struct err *e)
{
	struct region_sum *sum;

	/* The library's own, while it prepares a thread. */
	if (!region->name[0])
		return 0;
	sum = regions_find(sums, region->name, e);
	if (!sum)
		return -e->no;
	sum->calls += region->calls;
	sum->unended += region->open + region->abandoned;
	sum->time_ns += region->time_ns;
	for (unsigned i = 0; i < plan->n; i++) {
		sum->counts.values[i] += region->counts[i];
		if (!sum->counts.lost[i].no)
			regions_reason(&sum->counts.lost[i], &region->loss);
	}
	return 0;
}

int regions_sum(
	const struct regions *r, const struct plan *plan, struct region_sums *sums, struct err *e)
{
	int rc = 0;

	regions_reason(&sums->failure, &r->table->failure);
	for (unsigned i = 0; rc == 0 && i < PFM_REGION_THREADS; i++) {
		const struct pfm_region_thread *thread = &r->table->threads[i];

		for (unsigned j = 0; rc == 0 && j < thread->used && j < PFM_REGION_MAX; j++)
			rc = regions_add(sums, &thread->regions[j], plan, e);
	}
	return rc;
}

void regions_free(struct region_sums *sums)
{
	free(sums->all);
	*sums = (struct region_sums){0};
}

// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/regions.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/pfm/stat/loss.h"

_Static_assert((int)PFM_REGION_PMDS >= (int)EVENT_MAX, "a region has room for all events");

/* --- The table */

/*
 * The kernel's event that an event select of the perf backend selects: see backend/perf/event.h.
 * False: the backend refuses the value, with a sentence. For tsc, the kernel refuses what results.
 */
static bool regions_kernel_event(const struct plan *plan, unsigned i, struct pfm_region_event *out)
{
	const struct pfm_event *event = &plan->events[i];
	const struct pfm_counter *counter = &plan->pmu->counters[plan->places[i].row];
	const uint64_t class = event->code >> 56, code = event->code & ~(0xffULL << 56);

	*out = (struct pfm_region_event){
		.type = class ? PERF_TYPE_SOFTWARE : PERF_TYPE_RAW,
		.config = class ? code - 1 : code,
		.exclude_user = !(event->level & EVENT_USER),
		.exclude_kernel = !(event->level & EVENT_KERNEL),
	};
	return class <= 1 && !(code & pfm_pmu_pmc(plan->pmu, counter->pmc)->rsvd);
}

static int regions_fill(struct pfm_region_table *table, const struct tree *t,
	const struct plan *plan, struct err *e)
{
	int n = snprintf(table->regs, sizeof(table->regs), "%s", plan->regs[0].p);

	if (n >= (int)sizeof(table->regs))
		return err_set(e, E2BIG, "too many registers for regions: count fewer events");
	table->version = PFM_REGION_VERSION;
	table->npmds = plan->n;
	table->own = strcmp(t->backend, "perf") == 0;
	for (unsigned i = 0; i < plan->n; i++) {
		table->pmds[i] = plan->pmu->counters[plan->places[i].row].nums[0];
		table->own = table->own && regions_kernel_event(plan, i, &table->events[i]);
	}
	/* The perf backend has no RDPMC, and a live page would keep the kernel from switching. */
	table->live = strcmp(t->backend, "msr") == 0;
	snprintf(table->mount, sizeof(table->mount), "/proc/%d/fd/%d", (int)getpid(), t->dir);
	return 0;
}

/* Puts into the environment a path of the table that is valid in any mount namespace. */
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
	/* Sealed: if a program could shrink it, reading it here would raise SIGBUS. */
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

/* --- Sums of data that the program has written: it may be anything, and change meanwhile */

enum { REGIONS_ERRNO_MAX = 4095 };

/* Copies the reason of a loss, whose sentence may lack a final NUL. */
static void regions_reason(struct err *e, const struct pfm_region_loss *loss)
{
	uint32_t no = __atomic_load_n(&loss->no, __ATOMIC_ACQUIRE);

	if (no)
		err_set(e, no <= REGIONS_ERRNO_MAX ? (int)no : EIO, "%.*s", PFM_REGION_SENTENCE,
			loss->sentence);
}

/* Regions without a name are the library's own, while it prepares a thread. */
static int regions_list_thread(
	struct region_list *list, const struct pfm_region_thread *thread, struct err *e)
{
	uint32_t used = __atomic_load_n(&thread->used, __ATOMIC_ACQUIRE);
	struct region_entry *all;

	if (!used)
		return 0;
	used = used < PFM_REGION_MAX ? used : PFM_REGION_MAX;
	all = realloc(list->all, (list->n + used) * sizeof(*all));
	if (!all)
		return err_set(e, ENOMEM, "no memory for %u regions", list->n + used);
	list->all = all;
	for (uint32_t i = 0; i < used; i++) {
		struct region_entry *entry = &all[list->n];

		*entry = (struct region_entry){.region = &thread->regions[i], .nr = list->n};
		memcpy(entry->name, thread->regions[i].name, sizeof(entry->name) - 1);
		list->n += entry->name[0] != '\0';
	}
	return 0;
}

static int regions_compare_names(const void *a, const void *b)
{
	const struct region_entry *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->nr < y->nr ? -1 : x->nr > y->nr;
}

static int regions_compare_first(const void *a, const void *b)
{
	const struct region_entry *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

int regions_list(const struct regions *r, struct region_list *list, struct err *e)
{
	int rc = 0;

	regions_reason(&list->failure, &r->table->failure);
	for (unsigned i = 0; rc == 0 && i < PFM_REGION_THREADS; i++)
		rc = regions_list_thread(list, &r->table->threads[i], e);
	if (rc < 0 || !list->n)
		return rc;
	qsort(list->all, list->n, sizeof(*list->all), regions_compare_names);
	for (unsigned i = 0; i < list->n; i++) {
		struct region_entry *entry = &list->all[i];
		bool same = i && strcmp(entry[-1].name, entry->name) == 0;

		entry->first = same ? entry[-1].first : entry->nr;
	}
	qsort(list->all, list->n, sizeof(*list->all), regions_compare_first);
	return 0;
}

static void regions_add(
	struct region_sum *sum, const struct pfm_region *region, const struct plan *plan)
{
	struct err loss = {0};

	sum->calls += region->calls;
	sum->unended += region->open + region->abandoned;
	sum->time_ns += region->time_ns;
	regions_reason(&loss, &region->loss);
	for (unsigned i = 0; i < plan->n; i++) {
		sum->counts.values[i] += region->counts[i];
		if (!sum->counts.lost[i] && loss.no)
			sum->counts.lost[i] = loss_keep(&loss);
	}
}

bool regions_next(struct region_list *list, const struct plan *plan, struct region_sum *sum)
{
	const struct region_entry *first = &list->all[list->taken];

	if (list->taken == list->n)
		return false;
	*sum = (struct region_sum){0};
	memcpy(sum->name, first->name, sizeof(sum->name));
	for (; list->taken < list->n && list->all[list->taken].first == first->first; list->taken++)
		regions_add(sum, list->all[list->taken].region, plan);
	return true;
}

void regions_free(struct region_list *list)
{
	free(list->all);
	*list = (struct region_list){0};
}

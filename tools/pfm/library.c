// SPDX-License-Identifier: MIT
/* libpfmfs: the names of events for other programs than pfm. */
#include "perfmonfs/events.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tools/pfm/encode.h"
#include "tools/pfm/events/assign.h"
#include "tools/pfm/events/libpfm.h"

_Static_assert((int)PFM_ENCODE_MAX == (int)EVENT_MAX, "as many events as pfm takes");

/* Events of a call, and the PMU that counts them all. */
struct library_events {
	struct pmus pmus;
	const struct pfm_pmu *pmu; /* in pmus */
	struct pfm_event event[EVENT_MAX];
	const char *name[EVENT_MAX + 1]; /* ends with NULL */
	unsigned n;
};

/* libpfm4, and the list of directories, serve one thread at a time. Recursive, as the callback of
 * pfm_list_events() may call the other functions. */
static pthread_mutex_t library_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static _Thread_local struct err library_error;

/* Reads the PMUs of a mount. The caller holds library_lock, and calls pmus_free(). */
static int library_open(const char *mount, struct pmus *pmus, struct err *e)
{
	if (!mount || !*mount)
		return err_set(e, EINVAL, "no mount: give the path of one of perfmonfs");
	return load_pmus_of(mount, pmus, e);
}

/* Resolves the names. The caller holds library_lock. */
static int library_resolve(struct library_events *l, struct err *e)
{
	const char *type = encode_find_type(&l->pmus, l->name);
	int rc = encode_find_pmu(&l->pmus, type, l->name[0], &l->pmu, e);

	for (unsigned i = 0; rc == 0 && i < l->n; i++)
		rc = event_resolve(l->pmu, l->name[i], &l->event[i], e);
	return rc;
}

static int library_fill(
	struct library_events *l, const char *mount, const char *const *names, struct err *e)
{
	int rc;

	if (!l->n || l->n > EVENT_MAX)
		return err_set(e, EINVAL, "%u events: give 1 to %d", l->n, EVENT_MAX);
	for (unsigned i = 0; i < l->n; i++) {
		if (!names[i])
			return err_set(
				e, EINVAL, "event %u of %u is NULL: give its name", i + 1, l->n);
		l->name[i] = names[i];
	}
	pthread_mutex_lock(&library_lock);
	rc = library_open(mount, &l->pmus, e);
	if (rc == 0) {
		rc = library_resolve(l, e);
		if (rc < 0)
			pmus_free(&l->pmus);
	}
	pthread_mutex_unlock(&library_lock);
	return rc;
}

/* Returns the events, which library_free() frees; NULL with the sentence in library_error. */
static struct library_events *library_load(const char *mount, const char *const *names, unsigned n)
{
	CLEANUP_FREE struct library_events *l = calloc(1, sizeof(*l));

	library_error = (struct err){0};
	if (!l) {
		err_set(&library_error, ENOMEM, "no memory for events");
		return NULL;
	}
	l->n = n;
	return library_fill(l, mount, names, &library_error) == 0 ? take_ptr(&l) : NULL;
}

static void library_free(struct library_events *l)
{
	pmus_free(&l->pmus);
	free(l);
}

static int library_return(int rc)
{
	if (rc < 0)
		errno = -rc;
	return rc < 0 ? -1 : 0;
}

int pfm_encode_event(const char *mount, const char *event, unsigned *pmc, uint64_t *value)
{
	struct library_events *l = library_load(mount, &event, 1);
	struct event_setting out[EVENT_MAX_SETTINGS];
	int rc;

	if (!l)
		return library_return(-library_error.no);
	rc = encode_value(l->pmu, &l->event[0], out, &library_error);
	if (rc > 1 || (rc == 1 && l->event[0].extra_pmc >= 0))
		rc = err_set(&library_error, EOPNOTSUPP,
			"%.60s needs several PMCs: use pfm_encode_regs()", event);
	if (rc == 1) {
		*pmc = out[0].pmc;
		*value = out[0].value;
	}
	library_free(l);
	return library_return(rc);
}

/* Prints the lines for the file regs, and sets the numbers of the PMDs. */
static int library_regs(
	struct library_events *l, unsigned pmds[], char *regs, size_t room, struct err *e)
{
	struct event_setting out[EVENT_MAX_SETTINGS];
	struct event_place places[EVENT_MAX];
	size_t at = 0;
	unsigned n;
	int rc = assign_events(l->pmu, l->event, l->n, l->pmu->all, places, e);

	if (rc < 0)
		return rc;
	n = event_program(l->pmu, l->event, l->n, places, EVENT_USER | EVENT_KERNEL, out);
	for (unsigned i = 0; i < n && at < room; i++)
		at += (size_t)snprintf(
			regs + at, room - at, "pmc%u 0x%" PRIx64 "\n", out[i].pmc, out[i].value);
	if (at >= room)
		return err_set(e, ENOBUFS,
			"the lines need more than %zu bytes: give 128 for each event", room);
	for (unsigned i = 0; i < l->n; i++)
		pmds[i] = l->pmu->counters[places[i].row].nums[0];
	return 0;
}

int pfm_encode_regs(const char *mount, const char *const events[], unsigned n, unsigned pmds[],
	char *regs, size_t room)
{
	struct library_events *l = library_load(mount, events, n);
	int rc;

	if (!l)
		return library_return(-library_error.no);
	rc = library_regs(l, pmds, regs, room, &library_error);
	library_free(l);
	return library_return(rc);
}

struct library_list {
	const struct pfm_pmu *pmu;
	pfm_event_fn *each;
	void *arg;
};

/* Passes on an event if the PMU has a counter for it. */
static void library_offer(void *arg, const char *name, const char *desc)
{
	const struct library_list *l = arg;
	struct pfm_event event;
	struct err ignored;

	if (event_resolve(l->pmu, name, &event, &ignored) == 0)
		l->each(l->arg, name, desc);
}

static void library_list_all(struct library_list *l)
{
	const struct event_table *t = &l->pmu->events;
	struct slice own = slice_of("");

	for (const struct event_row *r = t->rows; r < t->rows + t->n; r++)
		if (event_row_is_of(r, own))
			library_offer(l, r->name, r->desc);
	if (event_may_be_libpfm(l->pmu, own))
		libpfm_each(own, library_offer, library_offer, l);
}

int pfm_list_events(const char *mount, pfm_event_fn *each, void *arg)
{
	CLEANUP_FREE struct pmus *pmus = calloc(1, sizeof(*pmus));
	int rc;

	library_error = (struct err){0};
	if (!pmus)
		return library_return(err_set(&library_error, ENOMEM, "no memory for events"));
	pthread_mutex_lock(&library_lock);
	rc = library_open(mount, pmus, &library_error);
	if (rc == 0) {
		library_list_all(&(struct library_list){&pmus->common, each, arg});
		pmus_free(pmus);
	}
	pthread_mutex_unlock(&library_lock);
	return library_return(rc);
}

const char *pfm_encode_error(void)
{
	return library_error.text;
}

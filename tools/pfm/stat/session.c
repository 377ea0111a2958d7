// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "tools/pfm/command.h"
#include "tools/pfm/tree/file.h"

enum { SESSION_SIGNALS, SESSION_COMMAND, SESSION_PLACES };

/* How often children that have ended are removed to make room for others. */
static const uint64_t session_collect_ns = NSEC_PER_SEC / 10;

/* --- Reports */

/* Reports all places of the same scope together, when called for the first of them. */
static int session_report_scope(
	struct session *s, unsigned place, uint64_t time_ns, uint64_t elapsed_ns, struct err *e)
{
	const struct place *all = s->places.all;
	bool one_sum = s->aggregate == AGGREGATE_ALL;
	struct reading sum = {0};

	for (unsigned i = 0; i < s->places.n; i++) {
		if (all[i].plan != all[place].plan ||
			(!one_sum && !scope_same(&all[i].scope, &all[place].scope)))
			continue;
		if (i < place)
			return 0;
		reading_sum(&sum, &all[i].since);
	}
	return s->report(s, one_sum ? NULL : &all[place].scope, all[place].plan, &sum, time_ns,
		elapsed_ns, e);
}

static int session_report_places(
	struct session *s, uint64_t time_ns, uint64_t elapsed_ns, struct err *e)
{
	struct reading now;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < s->places.n; i++) {
		struct place *place = &s->places.all[i];

		rc = place_read(place, &now, e);
		place->since = now;
		reading_since(&place->since, &place->last);
		place->last = now;
	}
	for (unsigned i = 0; rc == 0 && i < s->places.n; i++)
		rc = session_report_scope(s, i, time_ns, elapsed_ns, e);
	for (unsigned i = 0; rc == 0 && s->interval_ns && i < s->places.n; i++)
		rc = place_revive(&s->places.all[i], s->tree, &s->places.all[i].since, e);
	return rc;
}

static int session_report_thread(struct session *s, const struct plan *plan,
	struct thread_counts *t, uint64_t time_ns, uint64_t elapsed_ns, struct err *e)
{
	const struct scope scope = {.kind = SCOPE_THREAD,
		.id = t->tid,
		.context = t->context,
		.line = t->line,
		.began = t->sure ? t->began : 0};
	struct reading since = t->now;

	/* Threads that it has created may count on. */
	if (t->reported && reading_same(&t->now, &t->last))
		return 0;
	reading_since(&since, &t->last);
	t->last = t->now;
	t->reported = t->ended;
	return s->report(s, &scope, plan, &since, time_ns, elapsed_ns, e);
}

static int session_read_threads(struct session *s, struct place *place, struct err *e)
{
	int tid = 0, rc;

	if (place->inherit)
		return threads_read_lines(&place->threads, place->plan, place->ctx.dir, e);
	rc = place_tid(place, &tid, e);
	if (rc == 0)
		rc = threads_read(&place->threads, place->plan, place->ctx.dir, tid, e);
	return rc < 0 ? rc : reading_missing(place->plan, place->ctx.dir, &s->missing, e);
}

/* Reads the threads again, and which have ended. */
static int session_find_ended(struct session *s, struct place *place, struct err *e)
{
	int rc = session_read_threads(s, place, e);

	if (rc < 0 || place->inherit)
		return rc;
	do
		rc = threads_collect(&place->threads, place->plan, place->ctx.dir, e);
	while (rc > 0);
	return rc < 0 ? rc : place_check(place, e);
}

/* Reads the threads. If there are several passes, finds out when the threads began, as each pass
 * has other contexts. */
static int session_know_threads(struct session *s, struct place *place, struct err *e)
{
	int rc = session_read_threads(s, place, e);

	if (rc < 0 || !s->repeats)
		return rc;
	threads_find_began(&place->threads);
	rc = session_find_ended(s, place, e);
	if (rc == 0 && !place->ended)
		threads_keep_began(&place->threads);
	return rc;
}

/* A thread may end during the pass: when it began is found out before. */
static int session_begin_threads(struct session *s, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0;
		rc == 0 && s->repeats && s->aggregate == AGGREGATE_THREAD && i < s->places.n; i++)
		rc = session_know_threads(s, &s->places.all[i], e);
	return rc;
}

static int session_report_threads(
	struct session *s, uint64_t time_ns, uint64_t elapsed_ns, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < s->places.n; i++) {
		struct place *place = &s->places.all[i];

		rc = session_know_threads(s, place, e);
		for (unsigned t = 0; rc == 0 && t < place->threads.n; t++)
			rc = session_report_thread(
				s, place->plan, place->threads.all[t], time_ns, elapsed_ns, e);
	}
	return rc;
}

/* Reports the counts since the last report. */
static int session_report(struct session *s, uint64_t now_ns, struct err *e)
{
	uint64_t time_ns = now_ns - s->begin_ns, elapsed_ns = now_ns - s->reported_ns;
	int rc = s->aggregate == AGGREGATE_THREAD
			 ? session_report_threads(s, time_ns, elapsed_ns, e)
			 : session_report_places(s, time_ns, elapsed_ns, e);

	s->reported_ns = now_ns;
	return rc;
}

/* --- Waiting for the end */

/* Handles a message from the place, or the end of its context. */
static int session_place_event(struct place *place, struct err *e)
{
	char messages[2048];

	if (read(place->ctx.clone, messages, sizeof(messages)) < 0)
		return file_sentence(place->ctx.dir, "clone", errno, e);
	return place_check(place, e);
}

static void session_fill(const struct session *s, struct pollfd *fds)
{
	fds[SESSION_SIGNALS] = (struct pollfd){.fd = s->signals.fd, .events = POLLIN};
	fds[SESSION_COMMAND] = (struct pollfd){.fd = s->launch.pidfd, .events = POLLIN};
	for (unsigned i = 0; i < s->places.n; i++) {
		const struct place *place = &s->places.all[i];
		bool waits = !s->launch.pid && !place->ended;

		fds[SESSION_PLACES + i] =
			(struct pollfd){.fd = waits ? place->ctx.clone : -1, .events = POLLIN};
	}
	/* While a command runs, one place is watched for an error: it shows that the daemon has
	 * gone. */
	if (s->launch.pid && s->places.n)
		fds[SESSION_PLACES] = (struct pollfd){.fd = s->places.all[0].ctx.clone};
}

/* Returns 1 when the measurement ends. */
static int session_handle(struct session *s, const struct pollfd *fds, struct err *e)
{
	bool running = false;
	int rc = 0;

	if (fds[SESSION_SIGNALS].revents && signals_take(&s->signals, &s->launch))
		s->interrupted = true;
	if (s->launch.pid && fds[SESSION_COMMAND].revents)
		return 1;
	if (s->launch.pid)
		return s->places.n && fds[SESSION_PLACES].revents
			       ? place_check(&s->places.all[0], e)
			       : 0;
	for (unsigned i = 0; rc == 0 && i < s->places.n; i++) {
		if (fds[SESSION_PLACES + i].revents)
			rc = session_place_event(&s->places.all[i], e);
		running |= !s->places.all[i].ended;
	}
	return rc < 0 ? rc : s->interrupted || !running;
}

static bool session_follows(const struct session *s)
{
	return s->where.kind == PLACE_COMMAND || s->where.kind == PLACE_PROCESS;
}

/* The first moment after @now that is a multiple of @step_ns after the start. */
static uint64_t session_next(const struct session *s, uint64_t now, uint64_t step_ns)
{
	return s->begin_ns + ((now - s->begin_ns) / step_ns + 1) * step_ns;
}

static int session_wait(struct session *s, struct pollfd *fds, struct err *e)
{
	uint64_t now = s->begin_ns, report = UINT64_MAX, collect = UINT64_MAX;
	int rc = 0;

	if (s->interval_ns)
		report = session_next(s, now, s->interval_ns);
	if (session_follows(s))
		collect = session_next(s, now, session_collect_ns);
	while (rc == 0) {
		uint64_t until = report < collect ? report : collect;
		struct timespec timeout = nsec_timespec(until > now ? until - now : 0);

		session_fill(s, fds);
		if (ppoll(fds, SESSION_PLACES + s->places.n, until == UINT64_MAX ? NULL : &timeout,
			    NULL) < 0 &&
			errno != EINTR)
			return err_set(e, errno, "poll: %s", err_name(errno));
		rc = session_handle(s, fds, e);
		now = nsec_now(CLOCK_MONOTONIC);
		if (rc == 0 && now >= report) {
			rc = session_report(s, now, e);
			report = session_next(s, now, s->interval_ns);
		}
		if (rc == 0 && now >= collect) {
			rc = places_collect(&s->places, s->aggregate == AGGREGATE_THREAD, e);
			collect = rc > 0 ? now : session_next(s, now, session_collect_ns);
			rc = rc < 0 ? rc : 0;
		}
	}
	return rc < 0 ? rc : 0;
}

/* --- The whole */

static void session_set_refused(struct session *s)
{
	if (s->launch.exec_no)
		s->refused = s->launch.exec_no == ENOENT ? PFM_EXIT_NOT_FOUND : PFM_EXIT_CANNOT;
}

static int session_load_places(struct session *s, struct err *e)
{
	int rc = places_aggregate(&s->places, s->aggregate, e);

	return rc < 0 ? rc : places_load(&s->places, s->tree, e);
}

static int session_load_command(struct session *s, bool inherit, struct err *e)
{
	int rc;

	places_free(&s->places);
	rc = places_add(&s->places, PLACE_COMMAND, s->launch.pid, e);
	if (rc < 0)
		return rc;
	s->places.all[0].inherit = inherit;
	s->places.all[0].flags = s->flags;
	s->places.all[0].plan = &s->plans->all[0];
	return session_load_places(s, e);
}

/* Whether to do without inherit: the backend or the events do not support it, the daemon is older,
 * or threads come and go too fast. */
static bool session_is_refused(int rc)
{
	return rc == -EOPNOTSUPP || rc == -EINVAL || rc == -ENOSPC || rc == -EAGAIN ||
	       rc == -EMFILE;
}

/* Loads a context with inherit if possible, as the kernel then counts the command, with the least
 * disturbance. Otherwise the daemon follows the command. */
static int session_prepare_command(struct session *s, struct err *e)
{
	int rc = launch_waiting(&s->launch, s->argv, &s->signals.mask, e);

	/* inherit gives one sum for all threads, on all CPUs. */
	if (rc == 0 && s->aggregate != AGGREGATE_THREAD && !s->plans->all[0].cpus.n &&
		launch_is_plain(s->argv[0])) {
		rc = session_load_command(s, true, e);
		if (!session_is_refused(rc))
			return rc;
		rc = 0;
	}
	if (rc == 0)
		rc = launch_stop(&s->launch, s->argv[0], e);
	return rc < 0 ? rc : session_load_command(s, false, e);
}

static int session_start_places(struct session *s, bool inherit, struct err *e)
{
	int rc;

	for (unsigned i = 0; i < s->places.n; i++) {
		s->places.all[i].inherit = inherit;
		s->places.all[i].flags = s->flags;
	}
	rc = session_load_places(s, e);
	return rc < 0 ? rc : places_start(&s->places, e);
}

/* Loads and starts the places, with the command, if there is one, stopped. Uses inherit for
 * processes if possible, as for a command. */
static int session_prepare_places(struct session *s, struct err *e)
{
	bool inherit = s->where.kind == PLACE_PROCESS && !s->plans->all[0].cpus.n;
	int rc = s->argv ? launch_stopped(&s->launch, s->argv, &s->signals.mask, e) : 0;

	if (rc < 0 || s->regions)
		return rc;
	rc = places_add_list(&s->places, s->tree, &s->where, e);
	if (rc == 0)
		rc = places_plan(&s->places, s->tree, s->plans, e);
	if (rc == 0)
		rc = places_share_packages(&s->places, e);
	if (rc < 0)
		return rc;
	rc = session_start_places(s, inherit, e);
	if (!inherit || !session_is_refused(rc))
		return rc;
	places_unload(&s->places);
	return session_start_places(s, false, e);
}

static int session_prepare(struct session *s, struct err *e)
{
	bool command = s->where.kind == PLACE_COMMAND && !s->regions;
	int rc = command ? session_prepare_command(s, e) : session_prepare_places(s, e);

	session_set_refused(s);
	if (rc == 0 && command)
		rc = places_start(&s->places, e);
	return rc < 0 ? rc : places_begin(&s->places, e);
}

/* Removes the contexts and lets the command go on. */
static void session_fail(struct session *s, struct err *e)
{
	places_unload(&s->places);
	if (!s->argv)
		return;
	fprintf(stderr, "pfm stat: %s; the command goes on\n", e->text);
	*e = (struct err){0};
	signals_wait(&s->signals, &s->launch);
}

/* The command has ended, or could not be executed. */
static int session_end_command(struct session *s, struct err *e)
{
	launch_wait(&s->launch);
	session_set_refused(s);
	s->counted = !s->refused;
	return launch_check(&s->launch, s->argv[0], e);
}

static int session_measure(struct session *s, struct pollfd *fds, struct err *e)
{
	int rc;

	s->counted = true;
	s->begin_ns = s->reported_ns = nsec_now(CLOCK_MONOTONIC);
	rc = session_begin_threads(s, e);
	if (s->argv)
		launch_continue(&s->launch);
	if (rc == 0)
		rc = session_wait(s, fds, e);
	if (rc < 0)
		session_fail(s, e);
	else if (s->argv)
		rc = session_end_command(s, e);
	s->end_ns = nsec_now(CLOCK_MONOTONIC);
	if (s->argv) {
		s->status = launch_exit_status(&s->launch);
		s->usage = s->launch.usage;
	}
	if (rc == 0)
		rc = places_stop(&s->places, e);
	return rc < 0 ? rc : session_report(s, s->end_ns, e);
}

int session_run(struct session *s, struct err *e)
{
	CLEANUP_FREE struct pollfd *fds = NULL;
	int rc;

	s->places = (struct places){0};
	s->launch = (struct launch)LAUNCH_NONE;
	s->interrupted = s->counted = false;
	s->status = s->refused = 0;
	rc = session_prepare(s, e);
	if (rc == 0) {
		fds = calloc(SESSION_PLACES + s->places.n, sizeof(*fds));
		rc = fds ? session_measure(s, fds, e) : err_set(e, ENOMEM, "no memory");
	}
	launch_end(&s->launch);
	places_free(&s->places);
	return rc;
}

int session_run_uncounted(struct session *s, char *const *argv, struct err *e)
{
	int rc = launch_waiting(&s->launch, argv, &s->signals.mask, e);

	if (rc < 0)
		return rc;
	s->counted = s->interrupted = false;
	launch_continue(&s->launch);
	if (signals_wait(&s->signals, &s->launch))
		s->interrupted = true;
	session_set_refused(s);
	s->status = launch_exit_status(&s->launch);
	rc = launch_check(&s->launch, argv[0], e);
	launch_end(&s->launch);
	return rc;
}

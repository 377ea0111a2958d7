// SPDX-License-Identifier: MIT
#include "tools/pfm/record_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "tools/pfm/events/assign.h"
#include "tools/pfm/load_pmu.h"
#include "tools/pfm/machine.h"
#include "tools/pfm/samples/recording.h"
#include "tools/pfm/stat/places.h"
#include "tools/pfm/tree/file.h"

enum {
	RECORD_HZ = 1000,             /* default for an event that counts time */
	RECORD_PERIOD = 1000000,      /* default for other events */
	RECORD_THREAD_BUFFER = 32768, /* bytes; all buffers together have 16 MiB by default */
	RECORD_CPU_BUFFER = 131072,
	RECORD_STACKS = 4, /* buffers are this many times larger for stacks */
	/* Buffers for a high rate: bytes of a sample, the part of a second for which a buffer has
	 * room, the bytes of one at most, and how many of them there may be. */
	RECORD_SAMPLE = 96,
	RECORD_AHEAD = 5,
	RECORD_BUFFER_MAX = 1 << 20,
	RECORD_BUFFERS = 64,
	/* Buffers for stacks of the user: how many there may be, the samples that each has room
	 * for at least, and the bytes of one at most. */
	RECORD_USER_BUFFERS = 32,
	RECORD_USER_SAMPLES = 16,
	RECORD_USER_BUFFER_MAX = 2 << 20,
	/* Bytes of all buffers in a daemon of pfm's own. */
	RECORD_ALL = 256 << 20,
};

const char record_off_cpu[] = "off-cpu", record_wall[] = "wall-clock";

static const char record_rate_file[] = "/proc/sys/kernel/perf_event_max_sample_rate";

/* The event that best shows where time goes. */
static const char *record_default_event(
	const struct pfm_pmu *pmu, unsigned levels, enum place_kind kind)
{
	if (strcmp(pmu->backend, "perf") != 0)
		return levels & EVENT_KERNEL ? "cycles" : "cycles:u";
	if (levels & EVENT_KERNEL)
		return kind == PLACE_CPU ? "cpu-clock" : "task-clock";
	return kind == PLACE_CPU ? "cpu-clock:u" : "task-clock:u";
}

static int record_find_event(struct pfm_event *event, const struct pfm_pmu *pmu, const char *name,
	const struct tree *t, struct err *e)
{
	if (event_resolve(pmu, name, event, e) < 0 ||
		event_check_level(pmu, event, true, machine_levels(t), e) < 0)
		return -e->no;
	if (event->umc)
		return err_set(e, EOPNOTSUPP,
			"%s cannot be sampled, as memory controllers count for all CPUs of a "
			"package: use pfm stat",
			event->name);
	return 0;
}

/* Gives each event a counter. */
static int record_place_events(
	struct record_plan *plan, const struct pfm_pmu *pmu, const struct tree *t, struct err *e)
{
	struct event_setting settings[EVENT_MAX_SETTINGS];
	struct event_place places[SAMPLING_EVENTS];
	struct sampling *s = &plan->sampling;
	unsigned n;
	int at = 0;

	if (assign_events(pmu, plan->events, s->n, machine_free_counters(t, pmu), places, e) < 0)
		return -e->no;
	n = event_program(pmu, plan->events, s->n, places, machine_levels(t), settings);
	for (unsigned i = 0; i < n; i++)
		at += snprintf(plan->pmcs + at, sizeof(plan->pmcs) - (size_t)at,
			"pmc%u 0x%" PRIx64 "\n", settings[i].pmc, settings[i].value);
	for (unsigned i = 0; i < s->n; i++)
		s->events[i].pmd = pmu->counters[places[i].row].nums[0];
	s->pmcs = plan->pmcs;
	return 0;
}

/* Reports and comparisons find an event by its name. */
static int record_check_names(const struct record_plan *plan, struct err *e)
{
	for (unsigned i = 1; i < plan->sampling.n; i++)
		for (unsigned k = 0; k < i; k++)
			if (strcmp(plan->events[i].name, plan->events[k].name) == 0)
				return err_set(e, EINVAL,
					"-e %s: the event is there twice, and reports tell events "
					"apart by their names: give it once",
					plan->events[i].name);
	return 0;
}

static int record_find_events(struct record_plan *plan, const struct record_wanted *o,
	const struct pfm_pmu *pmu, const struct tree *t, struct err *e)
{
	const char *name = record_default_event(pmu, machine_levels(t), o->where.kind);

	plan->sampling.n = o->nevents ? o->nevents : 1;
	for (unsigned i = 0; i < plan->sampling.n; i++)
		if (record_find_event(
			    &plan->events[i], pmu, o->nevents ? o->events[i].name : name, t, e) < 0)
			return -e->no;
	return record_check_names(plan, e) < 0 ? -e->no : record_place_events(plan, pmu, t, e);
}

/*
 * The kernel stops a counter that interrupts too often, and it checks with rounding and jitter in
 * each timer tick. Half of its limit is always safe. It lowers the limit automatically if
 * interrupts take long.
 */
static uint64_t record_max_hz(const struct tree *t)
{
	struct err ignored;
	uint64_t max;

	if (strcmp(t->backend, "perf") != 0 ||
		file_read_u64(AT_FDCWD, record_rate_file, &max, &ignored) < 0)
		return RECORD_HZ_MAX;
	return max < 2 ? 1 : max / 2;
}

static int record_check_rate(uint64_t hz, uint64_t max, struct err *e)
{
	return hz <= max ? 0
			 : err_set(e, EINVAL,
				   "-F %" PRIu64
				   ": the kernel would stop the counter: give at most -F %" PRIu64
				   ", or have root write twice the rate to %s",
				   hz, max, record_rate_file);
}

/* Chooses the period of an event. Of one that counts ns, it is known which has that rate. */
static int record_find_period(struct sampled_event *s, const char *name, struct record_pace pace,
	const struct tree *t, struct err *e)
{
	uint64_t max = record_max_hz(t), hz = pace.hz ? pace.hz : max < RECORD_HZ ? max : RECORD_HZ;
	bool time = recording_counts_time(name);

	s->period = pace.period ? pace.period : RECORD_PERIOD;
	if (!time)
		s->hz = (uint32_t)pace.hz;
	else if (!pace.period)
		s->period = NSEC_PER_SEC / hz;
	return record_check_rate(pace.hz, max, e);
}

static int record_find_periods(struct record_plan *plan, const struct record_wanted *o,
	const struct tree *t, struct err *e)
{
	for (unsigned i = 0; i < plan->sampling.n; i++) {
		struct record_pace pace = o->events[i].pace;

		if (!pace.hz && !pace.period)
			pace = o->pace;
		if (record_find_period(
			    &plan->sampling.events[i], plan->events[i].name, pace, t, e) < 0)
			return -e->no;
	}
	return 0;
}

/* Gets the bytes that all buffers may have. */
static int record_buffer_limit(const struct tree *t, uint64_t *all, struct err *e)
{
	struct err ignored;

	if (t->daemon && !t->users)
		(void)file_writef(t->dir, "config/smpl_buf_size_max", &ignored, "%d", RECORD_ALL);
	return file_read_u64(t->dir, "config/smpl_buf_size_max", all, e);
}

/* Samples a second, as far as they are known: the rate of most events is not. */
static uint64_t record_rate(const struct record_plan *plan)
{
	uint64_t hz = 0;

	for (unsigned i = 0; i < plan->sampling.n; i++) {
		const struct sampled_event *s = &plan->sampling.events[i];

		if (recording_counts_time(plan->events[i].name))
			hz += NSEC_PER_SEC / s->period;
		else
			hz += s->hz;
	}
	return hz;
}

/* Chooses a buffer that the daemon does not fill before pfm, or the kernel's ring buffer, which has
 * the same size, before the daemon has had its turn on a busy machine. */
static int record_size_buffer(
	struct record_plan *plan, enum place_kind kind, const struct tree *t, struct err *e)
{
	size_t larger = plan->sampling.stacks ? RECORD_STACKS : 1;
	size_t size = larger * (kind == PLACE_CPU ? RECORD_CPU_BUFFER : RECORD_THREAD_BUFFER);
	uint64_t need = record_rate(plan) * larger * RECORD_SAMPLE / RECORD_AHEAD, all = 0;

	if (size < need && record_buffer_limit(t, &all, e) < 0)
		return -e->no;
	while (size < need && size < RECORD_BUFFER_MAX && 2 * size <= all / RECORD_BUFFERS)
		size *= 2;
	plan->sampling.buf_size = size;
	return 0;
}

/* Gets the size of a buffer for stacks. A large one is seldom full, and so the thread seldom runs
 * without being sampled. */
static int record_user_buffer(
	const struct tree *t, uint32_t user_stack, size_t *size, struct err *e)
{
	const size_t least = RECORD_USER_SAMPLES * ((size_t)user_stack + 1024);
	uint64_t all;

	if (record_buffer_limit(t, &all, e) < 0)
		return -e->no;
	*size = all / RECORD_USER_BUFFERS < RECORD_USER_BUFFER_MAX ? all / RECORD_USER_BUFFERS
								   : RECORD_USER_BUFFER_MAX;
	*size = *size > least ? *size : least;
	return 0;
}

/* Registers and stacks of threads come from the perf backend. A stack is memory of its process, so
 * that the right to a CPU is not enough. */
static int record_want_user_stacks(struct record_plan *plan, const struct record_wanted *o,
	const struct tree *t, struct err *e)
{
	if (strcmp(t->backend, "perf") != 0)
		return err_set(e, EOPNOTSUPP,
			"--call-graph=dwarf: the %s backend records no registers and stacks of "
			"threads: mount with perfmonfs --backend=perf, or give -g",
			t->backend);
	plan->sampling.user_stack = o->user_stack;
	return record_user_buffer(t, o->user_stack, &plan->sampling.buf_size, e);
}

/* Call chains come from the kernel's interrupts. */
static int record_want_stacks(struct record_plan *plan, const struct record_wanted *o,
	const struct tree *t, struct err *e)
{
	if (strcmp(t->backend, "sim") == 0)
		return err_set(e, EOPNOTSUPP,
			"-g: simulated CPUs run no programs: mount with perfmonfs --backend=perf, "
			"or record without -g");
	plan->sampling.stacks = true;
	return o->user_stack ? record_want_user_stacks(plan, o, t, e)
			     : record_size_buffer(plan, o->where.kind, t, e);
}

const char *record_waits_option(const struct record_wanted *o)
{
	return o->waits == record_wall ? "--wall" : "--off-cpu";
}

/* Chooses the events of --off-cpu and --wall: the place of a wait is that of the switch out. */
static int record_want_waits(
	struct record_wanted *o, const struct pfm_pmu *pmu, const struct tree *t, struct err *e)
{
	const char *option = record_waits_option(o);

	if (strcmp(t->backend, "perf") != 0)
		return err_set(e, EOPNOTSUPP,
			"%s: the %s backend does not record switches of threads: mount with "
			"perfmonfs --backend=perf",
			option, t->backend);
	if (o->where.kind == PLACE_CPU)
		return err_set(e, EOPNOTSUPP,
			"%s is for commands, processes and threads, not for CPUs: give -p or -t",
			option);
	if (!(machine_levels(t) & EVENT_KERNEL))
		return err_set(e, EACCES,
			"%s: threads wait in the kernel, and %s grants you only user level: have "
			"root change that",
			option, pfm_pmu_level_rule(pmu));
	if (o->waits == record_wall)
		strcpy(o->events[o->nevents++].name, "task-clock");
	strcpy(o->events[o->nevents].name, "context-switches");
	o->events[o->nevents++].pace.period = 1;
	return 0;
}

int record_plan_make(
	struct record_plan *plan, struct record_wanted *o, const struct tree *t, struct err *e)
{
	struct pfm_pmu pmu;
	uint64_t tick_us = 0;
	int rc = load_pmu(t, &pmu, e);

	if (rc < 0)
		return rc;
	rc = o->waits ? record_want_waits(o, &pmu, t, e) : 0;
	if (rc == 0)
		rc = record_find_events(plan, o, &pmu, t, e);
	pfm_pmu_free(&pmu);
	if (rc < 0 || record_find_periods(plan, o, t, e) < 0 ||
		file_read_u64(t->dir, "config/tick_us", &tick_us, e) < 0)
		return -e->no;
	plan->tick_ns = tick_us * 1000;
	plan->sampling.waits = o->waits;
	return o->stacks ? record_want_stacks(plan, o, t, e)
			 : record_size_buffer(plan, o->where.kind, t, e);
}

static void record_add_line(struct text *info, const char *key, const char *file)
{
	CLEANUP_FCLOSE FILE *f = fopen(file, "re");
	char line[256];

	if (f && fgets(line, sizeof(line), f))
		text_printf(info, "%s %s", key, line);
}

void record_plan_add_machine(struct text *info)
{
	record_add_line(info, "kernel", "/proc/sys/kernel/osrelease");
	record_add_line(info, "host", "/proc/sys/kernel/hostname");
	record_add_line(info, "boot_id", "/proc/sys/kernel/random/boot_id");
}

int record_plan_add_place(
	struct recorder *r, const struct tree *t, enum place_kind kind, int id, struct err *e)
{
	char load[PLACE_LOAD_ROOM];

	place_format_load(kind, id, load);
	return recorder_add(r, t, load, kind != PLACE_CPU ? (uint32_t)id : 0, e);
}

int record_plan_add_list(
	struct recorder *r, const struct tree *t, const struct record_wanted *o, struct err *e)
{
	struct places places = {0};
	int rc = places_add_list(&places, t, &o->where, e);

	for (unsigned i = 0; rc == 0 && i < places.n; i++) {
		struct err why;

		rc = record_plan_add_place(r, t, o->where.kind, places.all[i].id, &why);
		if (rc == -ESRCH && places.all[i].cgroup && (r->nroots || i + 1 < places.n))
			rc = 0;
		else if (rc < 0)
			rc = place_explain(&places.all[i], &why, e);
	}
	places_free(&places);
	return rc;
}

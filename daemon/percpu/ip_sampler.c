// SPDX-License-Identifier: MIT
#include "daemon/percpu/ip_sampler.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/raw_syscall.h"
#include "daemon/percpu/perf_records.h"

/* 64 KiB: far below kernel.perf_event_mlock_kb; room for 1600 samples, 60 of the largest stacks, or
 * several hundred events. */
enum { RING_PAGES = 16 };

/* With much shorter periods, the kernel omits samples. */
enum { PERIOD_MIN_NS = 100000 };

struct ip_sampler {
	/* The perf event that samples. */
	int clock;
	/* The perf event that records events; it writes into the ring buffer of clock. -1: none. */
	int dummy;
	uint64_t period_ns;
	/* clock is enabled. */
	bool ticks;
	/* dummy is disabled. */
	bool events_off;
	struct perf_records records;
};

static int ip_sampler_error(const char *what, int no, unsigned cpu, struct err *e)
{
	switch (no) {
	case EACCES:
	case EPERM:
		return err_set(e, no,
			"%s: %s: samples cannot name the thread that was running on CPU %u: this "
			"needs "
			"CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8) or "
			"kernel.perf_event_paranoid <= 0, no seccomp filter, and room in "
			"kernel.perf_event_mlock_kb",
			what, err_name(no), cpu);
	case EMFILE:
	case ENFILE:
		return err_set(e, no,
			"%s: %s: sampling takes up to 3 open files per CPU; raise LimitNOFILE",
			what, err_name(no));
	case ENOSYS:
		return err_set(e, no,
			"%s: ENOSYS: samples cannot name the running thread: this kernel is built "
			"without CONFIG_PERF_EVENTS",
			what);
	case ENODEV:
	case ENXIO:
		return err_set(e, ENXIO,
			"%s: %s: CPU %u is offline or does not exist: see "
			"/sys/devices/system/cpu/online",
			what, err_name(no), cpu);
	}
	return err_set(e, no, "%s: %s: samples cannot name the thread that was running on CPU %u",
		what, err_name(no), cpu);
}

static int ip_sampler_open_event(struct perf_event_attr *attr, unsigned cpu)
{
	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->sample_type |= PERF_RECORDS_SAMPLE_TYPE;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	return (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int ip_sampler_open_clock(struct ip_sampler *s, unsigned cpu, struct err *e)
{
	struct perf_event_attr attr = {
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = s->period_ns,
		.wakeup_events = 1,
		.sample_type = s->records.stacks ? PERF_SAMPLE_CALLCHAIN : 0,
	};

	s->clock = ip_sampler_open_event(&attr, cpu);
	return s->clock < 0 ? ip_sampler_error("perf_event_open", errno, cpu, e) : 0;
}

/* An event of its own, so that events are recorded while clock is disabled. */
static int ip_sampler_open_dummy(struct ip_sampler *s, unsigned cpu, struct err *e)
{
	struct perf_event_attr attr = {
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
	};

	s->dummy = ip_sampler_open_event(&attr, cpu);
	attr.build_id = 0; /* Linux before 5.12 knows none. */
	if (s->dummy < 0 && errno == EINVAL)
		s->dummy = ip_sampler_open_event(&attr, cpu);
	if (s->dummy < 0)
		return ip_sampler_error("perf_event_open", errno, cpu, e);
	if (ioctl(s->dummy, PERF_EVENT_IOC_SET_OUTPUT, s->clock) < 0)
		return ip_sampler_error("PERF_EVENT_IOC_SET_OUTPUT", errno, cpu, e);
	return 0;
}

static int ip_sampler_map(struct ip_sampler *s, unsigned cpu, struct err *e)
{
	int rc = perf_ring_map(&s->records.ring, s->clock, RING_PAGES, PERF_RING_RECORD_MAX);

	return rc < 0 ? ip_sampler_error("mmap of a perf event", -rc, cpu, e) : 0;
}

static void ip_sampler_cleanup(struct ip_sampler **s)
{
	ip_sampler_free(*s);
}

int ip_sampler_new(
	unsigned cpu, const struct ip_sampler_conf *conf, struct ip_sampler **out, struct err *e)
{
	__attribute__((cleanup(ip_sampler_cleanup))) struct ip_sampler *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, ENOMEM, "no memory for an IP sampler");
	s->clock = s->dummy = -1;
	s->period_ns = conf->period_ns < PERIOD_MIN_NS ? PERIOD_MIN_NS : conf->period_ns;
	s->ticks = true;
	s->records.self = (uint32_t)gettid();
	s->records.stacks = conf->stacks;
	rc = ip_sampler_open_clock(s, cpu, e);
	if (rc == 0)
		rc = ip_sampler_map(s, cpu, e);
	if (rc == 0 && conf->events)
		rc = ip_sampler_open_dummy(s, cpu, e);
	if (rc == 0)
		*out = take_ptr(&s);
	return rc;
}

void ip_sampler_free(struct ip_sampler *s)
{
	if (!s)
		return;
	cleanup_close(&s->dummy);
	perf_ring_unmap(&s->records.ring);
	cleanup_close(&s->clock);
	free(s);
}

int ip_sampler_probe(struct err *e)
{
	const struct ip_sampler_conf conf = {.period_ns = 1000000, .events = true};
	int cpu = sched_getcpu();
	struct ip_sampler *s;
	int rc = ip_sampler_new(cpu < 0 ? 0 : (unsigned)cpu, &conf, &s, e);

	if (rc == 0)
		ip_sampler_free(s);
	return rc;
}

bool ip_sampler_has_stacks(const struct ip_sampler *s)
{
	return s->records.stacks;
}

int ip_sampler_fd(const struct ip_sampler *s)
{
	return s->clock;
}

void ip_sampler_set_period(struct ip_sampler *s, uint64_t period_ns)
{
	if (period_ns && period_ns < PERIOD_MIN_NS)
		period_ns = PERIOD_MIN_NS;
	if (!period_ns)
		ip_sampler_pause(s);
	else if (period_ns != s->period_ns) /* this restarts the period */
		raw_syscall4(SYS_ioctl, s->clock, PERF_EVENT_IOC_PERIOD, (long)&period_ns, 0);
	s->period_ns = period_ns;
	if (!period_ns || s->ticks)
		return;
	s->ticks = true;
	raw_syscall4(SYS_ioctl, s->clock, PERF_EVENT_IOC_ENABLE, 0, 0);
}

void ip_sampler_pause(struct ip_sampler *s)
{
	if (!s->ticks)
		return;
	s->ticks = false;
	raw_syscall4(SYS_ioctl, s->clock, PERF_EVENT_IOC_DISABLE, 0, 0);
}

void ip_sampler_enable_events(struct ip_sampler *s, bool on)
{
	if (s->events_off == !on)
		return;
	s->events_off = !on;
	if (s->dummy >= 0)
		raw_syscall4(SYS_ioctl, s->dummy,
			on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0, 0);
}

void ip_sampler_read(struct ip_sampler *s, pfm_smpl_where_t *newest,
	void (*event)(void *arg, const pfm_smpl_event_t *), void *arg)
{
	uint64_t head = perf_ring_head(&s->records.ring);

	if (head == s->records.ring.tail)
		return;
	perf_records_read(&s->records, head, newest, event, arg);
	perf_ring_release(&s->records.ring);
}

uint64_t ip_sampler_time(const struct ip_sampler *s)
{
	return s->records.sample_time;
}

uint64_t ip_sampler_lost(const struct ip_sampler *s)
{
	return s->records.lost + s->records.ring.malformed;
}

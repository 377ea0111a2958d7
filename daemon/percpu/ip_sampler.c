// SPDX-License-Identifier: MIT
#include "daemon/cpu/witness.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/raw_syscall.h"
#include "daemon/cpu/records.h"

/* 64 KiB: well below kernel.perf_event_mlock_kb, and 1600 samples or several hundred events. */
enum { RING_PAGES = 16 };

/* Asked for much less, the kernel leaves ticks out. */
enum { PERIOD_MIN_NS = 100000 };

struct witness {
	int clock, events; /* perf events; @events writes into the ring of @clock */
	uint64_t period_ns;
	bool ticks; /* now */
	bool quiet; /* no events now */
	struct perf_event_mmap_page *page;
	size_t mapped;
	struct records records;
};

static int refused(const char *what, int no, unsigned cpu, struct err *e)
{
	switch (no) {
	case EACCES:
	case EPERM:
		return err_set(e, no,
			"%s: %s: samples cannot say who was running on CPU %u: this needs "
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
			"%s: ENOSYS: samples cannot say who was running: this kernel is built "
			"without CONFIG_PERF_EVENTS",
			what);
	case ENODEV:
	case ENXIO:
		return err_set(e, ENXIO,
			"%s: %s: CPU %u is offline or does not exist: see "
			"/sys/devices/system/cpu/online",
			what, err_name(no), cpu);
	}
	return err_set(e, no, "%s: %s: samples cannot say who was running on CPU %u", what,
		err_name(no), cpu);
}

static int event_open(struct perf_event_attr *attr, unsigned cpu)
{
	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->sample_type = RECORDS_SAMPLE_TYPE;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	return (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_clock(struct witness *w, unsigned cpu, struct err *e)
{
	struct perf_event_attr attr = {
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = w->period_ns,
		.wakeup_events = 1,
	};

	w->clock = event_open(&attr, cpu);
	return w->clock < 0 ? refused("perf_event_open", errno, cpu, e) : 0;
}

/* Apart from the clock, so that nothing is missed while that does not tick. */
static int open_events(struct witness *w, unsigned cpu, struct err *e)
{
	struct perf_event_attr attr = {
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
	};

	w->events = event_open(&attr, cpu);
	if (w->events < 0)
		return refused("perf_event_open", errno, cpu, e);
	if (ioctl(w->events, PERF_EVENT_IOC_SET_OUTPUT, w->clock) < 0)
		return refused("PERF_EVENT_IOC_SET_OUTPUT", errno, cpu, e);
	return 0;
}

static int map_ring(struct witness *w, unsigned cpu, struct err *e)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (1 + RING_PAGES) * page;
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, w->clock, 0);

	if (p == MAP_FAILED)
		return refused("mmap of a perf event", errno, cpu, e);
	w->page = p;
	w->mapped = n;
	w->records.data = (const unsigned char *)p + page;
	w->records.size = RING_PAGES * page;
	return 0;
}

static void cleanup_witness(struct witness **w)
{
	witness_free(*w);
}

int witness_new(unsigned cpu, uint64_t period_ns, bool events, struct witness **out, struct err *e)
{
	__attribute__((cleanup(cleanup_witness))) struct witness *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return err_set(e, ENOMEM, "no memory to note who is running");
	w->clock = w->events = -1;
	w->period_ns = period_ns < PERIOD_MIN_NS ? PERIOD_MIN_NS : period_ns;
	w->ticks = true;
	w->records.self = (uint32_t)gettid();
	rc = open_clock(w, cpu, e);
	if (rc == 0)
		rc = map_ring(w, cpu, e);
	if (rc == 0 && events)
		rc = open_events(w, cpu, e);
	if (rc == 0)
		*out = take_ptr(&w);
	return rc;
}

void witness_free(struct witness *w)
{
	if (!w)
		return;
	cleanup_close(&w->events);
	if (w->page)
		munmap(w->page, w->mapped);
	cleanup_close(&w->clock);
	free(w);
}

int witness_probe(struct err *e)
{
	int cpu = sched_getcpu();
	struct witness *w;
	int rc = witness_new(cpu < 0 ? 0 : (unsigned)cpu, 1000000, true, &w, e);

	if (rc == 0)
		witness_free(w);
	return rc;
}

int witness_fd(const struct witness *w)
{
	return w->clock;
}

void witness_tick(struct witness *w, uint64_t period_ns)
{
	if (period_ns && period_ns < PERIOD_MIN_NS)
		period_ns = PERIOD_MIN_NS;
	if (!period_ns)
		witness_pause(w);
	else if (period_ns != w->period_ns) /* this begins a period anew */
		raw_syscall4(SYS_ioctl, w->clock, PERF_EVENT_IOC_PERIOD, (long)&period_ns, 0);
	w->period_ns = period_ns;
	if (!period_ns || w->ticks)
		return;
	w->ticks = true;
	raw_syscall4(SYS_ioctl, w->clock, PERF_EVENT_IOC_ENABLE, 0, 0);
}

void witness_pause(struct witness *w)
{
	if (!w->ticks)
		return;
	w->ticks = false;
	raw_syscall4(SYS_ioctl, w->clock, PERF_EVENT_IOC_DISABLE, 0, 0);
}

void witness_events(struct witness *w, bool on)
{
	if (w->quiet == !on)
		return;
	w->quiet = !on;
	if (w->events >= 0)
		raw_syscall4(SYS_ioctl, w->events,
			on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0, 0);
}

void witness_read(struct witness *w, pfm_smpl_where_t *newest,
	void (*event)(void *arg, const pfm_smpl_event_t *), void *arg)
{
	/* Acquire and release pair with the kernel's, as linux/perf_event.h demands. */
	uint64_t head = __atomic_load_n(&w->page->data_head, __ATOMIC_ACQUIRE);

	if (head == w->records.tail)
		return;
	records_read(&w->records, head, newest, event, arg);
	__atomic_store_n(&w->page->data_tail, head, __ATOMIC_RELEASE);
}

uint64_t witness_time(const struct witness *w)
{
	return w->records.time;
}

uint64_t witness_lost(const struct witness *w)
{
	return w->records.lost;
}

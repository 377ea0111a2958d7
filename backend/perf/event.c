// SPDX-License-Identifier: MIT
/* Event codes of PERFSEL registers, and the perf events that they select. */
#include "backend/perf/event.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backend/sysfs/sysfs.h"
#include "base/num.h"
#include "base/perf_events.h"

#define SOURCES "/sys/bus/event_source/devices/"

#define SW_CODE(name) (PERF_COUNT_SW_##name + 1)
#define TSC_CODE      0x40 /* Greater than any SW_CODE(). */

struct soft_event {
	const char *name; /* As in perf-list(1). */
	uint8_t code;
	bool levels; /* The kernel can count user and kernel level separately. */
	const char *desc;
};

/*
 * As tested on Linux 6.18: the counts of cpu-clock and task-clock ignore exclude_user and
 * exclude_kernel, while their interrupts obey them; context-switches and cpu-migrations always
 * count as kernel level; tsc refuses both flags. These events have levels = false, so that no
 * caller believes that they are filtered.
 */
static const struct soft_event soft_events[] = {
	{"cpu-clock", SW_CODE(CPU_CLOCK), false,
		"nanoseconds on the CPU, busy or idle, at any level"},
	{"task-clock", SW_CODE(TASK_CLOCK), false,
		"nanoseconds that the thread runs; on a CPU, the same as cpu-clock"},
	{"page-faults", SW_CODE(PAGE_FAULTS), true, "page faults, minor and major"},
	{"context-switches", SW_CODE(CONTEXT_SWITCHES), false,
		"switches of the CPU from one task to another"},
	{"cpu-migrations", SW_CODE(CPU_MIGRATIONS), false, "tasks that come from another CPU"},
	{"minor-faults", SW_CODE(PAGE_FAULTS_MIN), true, "page faults resolved without I/O"},
	{"major-faults", SW_CODE(PAGE_FAULTS_MAJ), true, "page faults that waited for I/O"},
	{"alignment-faults", SW_CODE(ALIGNMENT_FAULTS), true,
		"unaligned accesses corrected by the kernel; x86 has none"},
	{"emulation-faults", SW_CODE(EMULATION_FAULTS), true,
		"instructions emulated by the kernel"},
	{"tsc", TSC_CODE, false,
		"ticks of the time stamp counter, whether the CPU is busy or idle"},
};

#define NSOFT (sizeof(soft_events) / sizeof(soft_events[0]))

_Static_assert(NSOFT <= PMU_MAX_EVENTS, "the software events do not fit into a description");

static int perf_source_type(const char *source)
{
	char path[128], room[SYSFS_LINE];
	struct err ignored;
	uint64_t type;

	snprintf(path, sizeof(path), SOURCES "%s/type", source);
	return num_max(sysfs_line(path, room), INT_MAX, &type, &ignored) < 0 ? -1 : (int)type;
}

/* Hybrid processors have a PMU for each core type, with a list of its CPUs. */
static const char *const perf_hybrid[] = {"cpu_core", "cpu_atom", "cpu_lowpower"};

#define NHYBRID (sizeof(perf_hybrid) / sizeof(perf_hybrid[0]))

_Static_assert(NHYBRID <= PERF_KINDS_MAX, "there are more core types than kinds of CPU");

/* The list of CPUs of the core type @source; empty: this processor has none. */
static struct slice perf_hybrid_cpus(const char *source, char room[SYSFS_LINE])
{
	char path[128];

	snprintf(path, sizeof(path), SOURCES "%s/cpus", source);
	return sysfs_line(path, room);
}

static int perf_cpu_pmu_type(unsigned cpu)
{
	char room[SYSFS_LINE];

	for (unsigned i = 0; i < NHYBRID; i++)
		if (cpulist_has(perf_hybrid_cpus(perf_hybrid[i], room), cpu))
			return perf_source_type(perf_hybrid[i]);
	return perf_source_type("cpu");
}

/* The config of the msr PMU's TSC event, whose file contains "event=0x00". */
static bool perf_tsc_config(uint64_t *config)
{
	char room[SYSFS_LINE];
	struct slice value = sysfs_line(SOURCES "msr/events/tsc", room);
	struct err ignored;

	return slice_is(slice_cut(&value, '='), "event") && num_u64(value, config, &ignored) == 0;
}

void perf_sources_find(unsigned cpu, struct perf_sources *src)
{
	src->cpu = perf_cpu_pmu_type(cpu);
	src->msr = perf_tsc_config(&src->tsc) ? perf_source_type("msr") : -1;
}

unsigned perf_kinds_find(struct perf_kind kinds[PERF_KINDS_MAX])
{
	char room[SYSFS_LINE];
	unsigned n = 0;

	for (unsigned i = 0; i < NHYBRID; i++)
		if (cpulist_first(perf_hybrid_cpus(perf_hybrid[i], room), &kinds[n].cpu))
			n++;
	if (!n)
		kinds[n++].cpu = sysfs_cpu_first();
	for (unsigned i = 0; i < n; i++)
		perf_sources_find(kinds[i].cpu, &kinds[i].src);
	return n;
}

static bool perf_code_is_clock(uint64_t code)
{
	return code == SW_CODE(CPU_CLOCK) || code == SW_CODE(TASK_CLOCK);
}

bool perfsel_user_clock(uint64_t sel)
{
	return (sel & PERFSEL_CLASS) == PERFSEL_SOFTWARE &&
	       perf_code_is_clock(sel & PERFSEL_CODE) && (sel & EVTSEL_USR) && !(sel & EVTSEL_OS);
}

unsigned perf_events_list(const struct perf_sources *src, struct pmu_event *events)
{
	unsigned n = 0;

	for (unsigned i = 0; i < NSOFT; i++) {
		const struct soft_event *se = &soft_events[i];

		if (se->code == TSC_CODE && src->msr < 0)
			continue;
		events[n++] = (struct pmu_event){
			.name = se->name,
			.value = PERFSEL_SOFTWARE | se->code | EVTSEL_USR | EVTSEL_OS | EVTSEL_EN,
			.desc = se->desc,
			.both_levels = !se->levels,
			.user_samples = perf_code_is_clock(se->code),
		};
	}
	return n;
}

bool perfsel_hardware(uint64_t sel)
{
	return !(sel & PERFSEL_CLASS);
}

bool perfsel_nothing(uint64_t sel)
{
	return !(sel & PERFSEL_CODE) && (sel & PERFSEL_CLASS) <= PERFSEL_SOFTWARE;
}

bool perfsel_takes_counter(uint64_t sel)
{
	return perfsel_hardware(sel) && !perfsel_nothing(sel);
}

static const struct soft_event *perf_soft_find(uint64_t code)
{
	for (unsigned i = 0; i < NSOFT; i++)
		if (soft_events[i].code == code)
			return &soft_events[i];
	return NULL;
}

static int perf_software_attr(
	const struct perf_sources *src, uint64_t sel, struct perf_event_attr *attr, struct err *e)
{
	uint64_t code = sel & (PERFSEL_CODE | PERFSEL_CMASK | PERFSEL_EDGE | PERFSEL_INV);
	const struct soft_event *se = perf_soft_find(code);

	if (!se)
		return err_set(e, EINVAL,
			"it is not a software event: write a name or a value from pmu/events");
	if (sel & PERFSEL_PRECISE)
		return err_set(
			e, EINVAL, "samples of %s are exact: leave bits 48 and 49 clear", se->name);
	if (!se->levels && (!(sel & EVTSEL_USR) || !(sel & EVTSEL_OS)) && !perfsel_user_clock(sel))
		return err_set(e, EINVAL,
			"%s cannot be counted at one level only: "
			"set both USR (bit 16) and OS (bit 17)",
			se->name);
	if (se->code != TSC_CODE) {
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config = code - 1;
		return 0;
	}
	if (src->msr < 0)
		return err_set(e, ENODEV,
			"this kernel cannot count the TSC: it has no " SOURCES
			"msr/events/tsc; use cpu-clock");
	attr->type = (uint32_t)src->msr;
	attr->config = src->tsc;
	return 0;
}

static int perf_hardware_attr(
	const struct perf_sources *src, uint64_t sel, struct perf_event_attr *attr, struct err *e)
{
	if (src->cpu < 0)
		return err_set(e, ENODEV,
			"it is a hardware event, and this kernel has no CPU PMU (" SOURCES
			"cpu): use the software events of pmu/events");
	attr->type = (uint32_t)src->cpu;
	attr->config = sel & (PERFSEL_CODE | PERFSEL_CMASK | PERFSEL_EDGE | PERFSEL_INV);
	attr->precise_ip = sel >> PERFSEL_PRECISE_AT & 3;
	/* The kernel must not multiplex the event: counts are never scaled. */
	attr->pinned = 1;
	return 0;
}

static int perf_make_attr(
	const struct perf_sources *src, uint64_t sel, struct perf_event_attr *attr, struct err *e)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.disabled = 1,
		.exclude_user = !(sel & EVTSEL_USR),
		.exclude_kernel = !(sel & EVTSEL_OS),
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	switch (sel & PERFSEL_CLASS) {
	case 0:
		return perf_hardware_attr(src, sel, attr, e);
	case PERFSEL_SOFTWARE:
		return perf_software_attr(src, sel, attr, e);
	default:
		return err_set(e, EINVAL,
			"bits 63:56 are %u: they must be 0 (hardware event) or 1 (software event)",
			(unsigned)(sel >> 56));
	}
}

static bool perf_is_whole_cpu(struct perf_target t)
{
	return t.tid < 0;
}

/* Explains EACCES and EPERM by the level of kernel.perf_event_paranoid, see perf_event_open(2).
 * Levels above 2 are Debian's. */
static int perf_open_denied(
	int no, const struct perf_event_attr *attr, struct perf_target t, struct err *e)
{
	const char *what = perf_is_whole_cpu(t)   ? "a whole CPU"
			   : attr->exclude_kernel ? "a thread"
						  : "at kernel level";
	int limit = perf_is_whole_cpu(t) ? 0 : attr->exclude_kernel ? 2 : 1;
	char room[SYSFS_LINE];
	struct slice line = sysfs_line("/proc/sys/kernel/perf_event_paranoid", room);
	int level = line.n ? atoi(line.p) : 0;

	if (level > limit)
		return err_set(e, no,
			"perf_event_open: %s: counting %s needs %s, or kernel.perf_event_paranoid "
			"at most %d (it is %d): have root run `sysctl "
			"kernel.perf_event_paranoid=%d`, or be root",
			err_name(no), what, level > 2 ? "CAP_SYS_ADMIN" : "CAP_PERFMON", limit,
			level, limit);
	return err_set(e, no,
		"perf_event_open: %s: a seccomp filter (as in containers) or kernel lockdown "
		"forbids counting %s, or the thread belongs to another user",
		err_name(no), what);
}

static int perf_open_refused(
	int no, const struct perf_event_attr *attr, struct perf_target t, struct err *e)
{
	unsigned cpu = t.cpu < 0 ? sysfs_cpu_first() : (unsigned)t.cpu;

	switch (no) {
	case EACCES:
	case EPERM:
		return perf_open_denied(no, attr, t, e);
	case EBUSY:
		return err_set(e, no,
			"perf_event_open: EBUSY: another program uses the PMU exclusively: stop it "
			"and try again");
	case EMFILE:
	case ENFILE:
		return err_set(e, no,
			"perf_event_open: %s: each running counter is an open file; "
			"raise the limit of open files (LimitNOFILE)",
			err_name(no));
	case ENOSYS:
		return err_set(e, no,
			"perf_event_open: ENOSYS: this kernel was built without "
			"CONFIG_PERF_EVENTS, or a seccomp filter (as in containers) hides it");
	}
	if (!sysfs_cpu_online(cpu))
		return err_set(e, ENXIO,
			"perf_event_open: %s: CPU %u is offline or does not exist: "
			"see /sys/devices/system/cpu/online",
			err_name(no), cpu);
	if (attr->precise_ip && (no == EOPNOTSUPP || no == ENOENT))
		return err_set(e, EOPNOTSUPP,
			"perf_event_open: %s: this CPU, or its kernel, has no samples of the event "
			"that are as precise (bits 48 and 49, which pfm sets for :p and :pp): ask "
			"for less, or leave them out",
			err_name(no));
	if (no == EINVAL)
		return err_set(e, no,
			"perf_event_open: EINVAL: this CPU cannot count the event with these bits "
			"(0-15 code and unit mask, 18 edge, 23 invert, 24-31 counter mask): see "
			"`perf list`");
	return err_set(e, no,
		"perf_event_open: %s: the kernel lacks the event with this code and unit mask "
		"(bits 0-15): see `perf list`",
		err_name(no));
}

static int perf_thread_ended(pid_t tid, struct err *e)
{
	return err_set(e, ESRCH,
		"thread %d has ended, or is executing a program that cannot be counted: load "
		"another",
		(int)tid);
}

/* All events of a group, and all events that write into one ring buffer, must have the same
 * clock. */
static void perf_set_clock(struct perf_event_attr *attr)
{
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

/* The bits PERF_REG_X86_AX to IP and R8 to R15: the registers of smpl_stack.h, in its order. */
#define PERF_USER_REGS 0xff01ffULL

/* Selects the contents of sample records, which backend/perf/ring.c parses. */
static void perf_set_sampling(struct perf_event_attr *attr, const struct perf_sampling *sampling)
{
	if (!sampling->period) {
		attr->precise_ip = 0;
		return;
	}
	perf_set_clock(attr);
	attr->sample_period = sampling->period;
	attr->wakeup_events = sampling->batch;
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_READ;
	if (sampling->stacks)
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (!sampling->user_stack)
		return;
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->exclude_callchain_user = 1;
	attr->sample_regs_user = PERF_USER_REGS;
	attr->sample_stack_user = sampling->user_stack;
}

/* A period in nanoseconds that never elapses. */
#define PERF_ALARM_NEVER (1ULL << 60)

/* An event that counts nothing, and at no level that requires a privilege. */
static const struct perf_event_attr perf_dummy = {
	.size = sizeof(perf_dummy),
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_DUMMY,
	.disabled = 1,
	.exclude_kernel = 1,
};

static int perf_open_event(
	struct perf_event_attr *attr, struct perf_target t, int leader, struct err *e)
{
	long fd = syscall(SYS_perf_event_open, attr, t.tid, t.cpu, leader, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		return (int)fd;
	/* ENODEV concerns the leader. tid 0 is this process, which has not ended. */
	if (t.tid > 0 && t.cpu < 0 && (errno == ESRCH || errno == ENODEV))
		return perf_thread_ended(t.tid, e);
	return perf_open_refused(errno, attr, t, e);
}

/* Reading the leader reads the group, except with inherit, in the leader's read_format; samples
 * have that of their member. */
static int perf_open_grouped(
	struct perf_event_attr *attr, struct perf_target t, int leader, struct err *e)
{
	attr->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (!attr->inherit)
		attr->read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	perf_set_clock(attr);
	return perf_open_event(attr, t, leader, e);
}

int perf_leader_new(
	struct perf_target t, const struct thread_conf *conf, bool *tells_lost, struct err *e)
{
	struct perf_event_attr attr = perf_dummy;
	int fd;

	attr.pinned = conf->takes_counters;
	attr.inherit = conf->inherit;
	attr.enable_on_exec = conf->on_exec;
	attr.read_format = conf->inherit ? 0 : PERF_FORMAT_LOST;
	fd = perf_open_grouped(&attr, t, -1, e);
	if (fd == -EINVAL && attr.read_format & PERF_FORMAT_LOST) {
		attr.read_format = 0;
		fd = perf_open_grouped(&attr, t, -1, e);
	}
	*tells_lost = attr.read_format & PERF_FORMAT_LOST;
	return fd;
}

/* Opens a member as a test: the kernel refuses members once the leader is not the thread's any
 * more. */
int perf_leader_check(struct perf_target t, int leader, struct err *e)
{
	struct perf_event_attr attr = perf_dummy;
	int fd;

	attr.inherit = t.inherit;
	fd = perf_open_grouped(&attr, t, leader, e);
	if (fd >= 0)
		close(fd);
	else if (fd == -EINVAL)
		return perf_thread_ended(t.tid, e);
	return fd < 0 ? fd : 0;
}

int perf_group_resume(struct perf_target t, int leader, struct err *e)
{
	struct perf_event_attr attr = perf_dummy;
	int fd;

	attr.disabled = 0;
	fd = perf_open_grouped(&attr, t, leader, e);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int perf_member_new(const struct perf_sources *src, struct perf_target t, int leader, uint64_t sel,
	const struct perf_sampling *sampling, struct err *e)
{
	struct perf_event_attr attr;
	int rc = perf_make_attr(src, sel, &attr, e);

	perf_set_sampling(&attr, sampling);

	attr.disabled = 0;
	attr.pinned = 0;
	attr.inherit = t.inherit;
	return rc < 0 ? rc : perf_open_grouped(&attr, t, leader, e);
}

/* The kernel validates a group when a member is opened, as if nothing else used the PMU; disabled
 * members are ignored in that validation. The group is on this thread, so that no other CPU is
 * interrupted. */
int perf_trial_new(const struct perf_sources *src, int leader, uint64_t sel,
	const struct perf_sampling *sampling, struct err *e)
{
	struct perf_event_attr attr;
	int rc = perf_make_attr(src, sel, &attr, e);

	perf_set_sampling(&attr, sampling);
	attr.disabled = leader < 0;
	attr.pinned = 0;
	return rc < 0 ? rc : perf_open_grouped(&attr, perf_on_thread(0), leader, e);
}

int perf_alarm_new(pid_t tid, int leader, struct err *e)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = PERF_ALARM_NEVER,
		.wakeup_events = 1,
	};
	int fd = perf_open_grouped(&attr, perf_on_thread(tid), leader, e);

	/* Retry for users without the right to count at kernel level. An interrupt due at kernel
	 * level then comes late. */
	attr.exclude_kernel = 1;
	return fd == -EACCES ? perf_open_grouped(&attr, perf_on_thread(tid), leader, e) : fd;
}

int perf_events_new(pid_t tid, int leader, bool switches, struct err *e)
{
	struct perf_event_attr attr = perf_dummy;
	int fd;

	attr.disabled = 0;
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.build_id = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	attr.context_switch = switches;
	attr.sample_id_all = 1;
	attr.sample_type = PERF_EVENTS_SAMPLE_TYPE;
	fd = perf_open_grouped(&attr, perf_on_thread(tid), leader, e);
	attr.build_id = 0; /* Linux before 5.12 knows none. */
	return fd == -EINVAL ? perf_open_grouped(&attr, perf_on_thread(tid), leader, e) : fd;
}

static int perf_probe(struct perf_event_attr attr, struct perf_target t, struct err *e)
{
	int fd = perf_open_event(&attr, t, -1, e);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int perf_event_probe(struct err *e)
{
	return perf_probe(perf_dummy, perf_on_thread(0), e);
}

int perf_cpu_probe(unsigned cpu, struct err *e)
{
	return perf_probe(perf_dummy, perf_on_cpu(cpu), e);
}

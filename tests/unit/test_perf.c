// SPDX-License-Identifier: MIT
/*
 * The perf backend against the running kernel. Counts are compared with another clock or counter
 * over an interval inside the measured one (lower limit) and around it (upper limit). Events are
 * counted on a whole CPU, where other programs run: for faults and switches only the lower limit is
 * exact.
 */
#include "perfmonfs/backend.h"
#include "tests/unit/unit.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <x86intrin.h>

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "backend/perf/perf.h"
#include "backend/perf/event.h"
#include "backend/perf/slot.h"
#include "backend/perf/try.h"
#include "backend/sysfs/sysfs.h"
#include "base/cleanup.h"
#include "base/nsec.h"
#include "perfmonfs/smpl_stack.h"

/* perf_event_open(2) of the backend: fails with @refuse if that is not 0; opens groups of up to
 * @room events that never run if that is not 0; is that of Linux before 6.0 if @old is set. Other
 * calls go on. */
static struct {
	bool old;
	int refuse;
	unsigned opens, pinned, room, members, precise;
} kernel;

/* As the kernel validates a group: members that are disabled do not count. */
static long open_in_group(const struct perf_event_attr *attr, pid_t pid, int cpu_nr, int group)
{
	assert_int_equal(pid, 0);
	assert_int_equal(cpu_nr, -1);
	assert_int_equal(attr->disabled, group < 0);
	assert_false(attr->pinned);
	if (group < 0)
		kernel.members = 0;
	if (kernel.members == kernel.room) {
		errno = EINVAL;
		return -1;
	}
	kernel.members++;
	return eventfd(0, EFD_CLOEXEC);
}

long __real_syscall(long nr, ...);
long __wrap_syscall(
	long nr, const void *attr, pid_t pid, int cpu_nr, int group, unsigned long flags);

long __wrap_syscall(
	long nr, const void *attr, pid_t pid, int cpu_nr, int group, unsigned long flags)
{
	if (nr == SYS_perf_event_open) {
		const struct perf_event_attr *a = attr;

		kernel.opens++;
		kernel.pinned += a->pinned;
		kernel.precise = a->precise_ip;
		if (kernel.old && a->read_format & PERF_FORMAT_LOST) {
			errno = EINVAL;
			return -1;
		}
		if (kernel.refuse) {
			errno = kernel.refuse;
			return -1;
		}
		if (kernel.room)
			return open_in_group(attr, pid, cpu_nr, group);
	}
	return __real_syscall(nr, attr, pid, cpu_nr, group, flags);
}

#define SEL(n) (0x100u + (n))
#define CNT(n) (0x200u + (n))

#define LEVELS (EVTSEL_USR | EVTSEL_OS)
#define MSEC   1000000ULL

static struct backend *be;
static struct backend_cpu *cpu;

static uint64_t now(void)
{
	return be->ops->now(be);
}

static void sleep_ms(unsigned ms)
{
	usleep(ms * 1000);
}

static int run_one(uint32_t addr, enum reg_verb verb, uint64_t *value, uint64_t mask, struct err *e)
{
	struct reg_op op = {.addr = addr, .verb = verb, .value = *value, .mask = mask};
	unsigned done = be->ops->run(cpu, &op, 1, e);

	*value = op.value;
	return done == 1 ? 0 : -e->no;
}

static uint64_t get(uint32_t addr)
{
	struct err e = {0};
	uint64_t value = 0;

	if (run_one(addr, REG_READ, &value, 0, &e) < 0)
		fail_msg("reading 0x%x: %s", addr, e.text);
	return value;
}

static void put(uint32_t addr, uint64_t value)
{
	struct err e = {0};

	if (run_one(addr, REG_WRITE, &value, 0, &e) < 0)
		fail_msg("writing 0x%x: %s", addr, e.text);
}

static void refuse(uint32_t addr, enum reg_verb verb, uint64_t value, int no)
{
	struct err e = {0};

	assert_int_equal(run_one(addr, verb, &value, ~0ULL, &e), -no);
	assert_int_equal(e.no, no);
	assert_true(strlen(e.text) > 20);
	assert_true(strlen(e.text) < sizeof(e.text) - 1);
}

static void release(uint32_t addr)
{
	struct err e = {0};
	uint64_t value = 0;

	assert_int_equal(run_one(addr, REG_RELEASE, &value, ~0ULL, &e), 0);
}

/* The value of a pmu/events row, without EN. */
static uint64_t event(const char *name)
{
	for (unsigned i = 0; i < be->pmu->nevents; i++)
		if (strcmp(be->pmu->events[i].name, name) == 0)
			return be->pmu->events[i].value & ~EVTSEL_EN;
	fail_msg("no event %s", name);
	return 0;
}

static bool has_event(const char *name)
{
	for (unsigned i = 0; i < be->pmu->nevents; i++)
		if (strcmp(be->pmu->events[i].name, name) == 0)
			return true;
	return false;
}

static void start(unsigned n, uint64_t sel)
{
	put(SEL(n), sel | EVTSEL_EN);
}

static void stop(unsigned n)
{
	put(SEL(n), get(SEL(n)) & ~EVTSEL_EN);
}

/* @n fresh pages; touching each one causes a fault. */
static char *fresh_pages(unsigned n)
{
	size_t size = n * 4096u;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

static void touch(char *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		((volatile char *)p)[i * 4096] = 1;
}

/* For a test that opens its target itself. */
static int open_none(void **state)
{
	static unsigned files;

	files = open_files();
	*state = &files;
	return 0;
}

static int open_cpu(void **state)
{
	struct err e;

	open_none(state);
	return be->ops->cpu_open(be, sysfs_cpu_first(), &cpu, &e);
}

/* Closing leaves no file open, also if events are running. */
static int close_cpu(void **state)
{
	const unsigned *files = *state;

	be->ops->cpu_close(cpu);
	return open_files() == *files ? 0 : -1;
}

TEST(cpulist)
{
	static const struct {
		const char *text;
		unsigned limit;
		uint64_t members;
	} rows[] = {
		{"0", 1, 0x1},
		{"0-3,5", 6, 0x2f},
		{"2,4-5", 6, 0x34},
		{"63", 64, 1ULL << 63},
		{"", 0, 0},
		{"x", 0, 0},
		{"1,x,3", 2, 0x2},
		{"3-", 4, 0x8},
		{"5-3", 0, 0},
		{"99999999999", 0, 0},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct slice list = slice_of(rows[i].text);

		assert_int_equal(cpulist_limit(list), rows[i].limit);
		for (unsigned n = 0; n < 64; n++)
			assert_int_equal(cpulist_has(list, n), rows[i].members >> n & 1);
	}
}

TEST_WITH(open_cpu, close_cpu, description)
{
	static const uint64_t reserved[] = {1 << 19, EVTSEL_INT, 1 << 21, 1ULL << 36, 1ULL << 55};
	struct err e = {0};

	if (pmu_validate(be->pmu, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(be->pmu->name, "perf");
	assert_int_equal(be->pmu->space, PMU_SPACE_PERF);
	assert_int_equal(be->pmu->npmcs, 16);
	assert_int_equal(be->pmu->npmds, 16);
	for (unsigned n = 0; n < 16; n++) {
		assert_int_equal(be->pmu->pmcs[n].addr, SEL(n));
		assert_int_equal(be->pmu->pmds[n].addr, CNT(n));
		assert_int_equal(pmu_writable(be->pmu, CNT(n)), UINT64_MAX);
		assert_int_equal(pmu_enable_bits(be->pmu, SEL(n)), EVTSEL_EN);
		for (unsigned i = 0; i < COUNT(reserved); i++)
			assert_int_equal(pmu_writable(be->pmu, SEL(n)) & reserved[i], 0);
		assert_int_equal(get(SEL(n)), be->pmu->pmcs[n].def);
		assert_int_equal(get(CNT(n)), 0);
	}
}

/* Each row of the event list can be counted without changes. */
TEST_WITH(open_cpu, close_cpu, events)
{
	assert_true(be->pmu->nevents >= 9);
	assert_int_equal(has_event("tsc"), access("/sys/bus/event_source/devices/msr", F_OK) == 0);
	for (unsigned i = 0; i < be->pmu->nevents; i++) {
		const struct pmu_event *ev = &be->pmu->events[i];

		assert_true(ev->value & EVTSEL_EN);
		assert_true(strlen(ev->desc) > 10);
		put(SEL(i), ev->value);
		assert_int_equal(get(SEL(i)), ev->value);
	}
}

/* The program's own faults at user level; those within read() at kernel level. */
TEST_WITH(open_cpu, close_cpu, levels)
{
	enum { USER = 1000, KERNEL = 300 };
	CLEANUP_CLOSE int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *p = fresh_pages(USER + KERNEL);
	uint64_t ev;

	ev = event("page-faults") & ~LEVELS;
	start(0, ev | LEVELS);
	start(1, ev | EVTSEL_USR);
	start(2, ev | EVTSEL_OS);
	start(3, ev);
	touch(p, USER);
	for (unsigned i = 0; i < KERNEL; i++)
		assert_int_equal(read(zero, p + (USER + i) * 4096, 1), 1);
	stop(3);
	stop(2);
	stop(1);
	stop(0);
	assert_true(get(CNT(1)) >= USER);
	assert_true(get(CNT(2)) >= KERNEL);
	assert_true(get(CNT(0)) >= get(CNT(1)) + get(CNT(2)));
	assert_int_equal(get(CNT(3)), 0);
	munmap(p, (USER + KERNEL) * 4096);
}

TEST_WITH(open_cpu, close_cpu, clocks)
{
	static const char *const names[] = {"cpu-clock", "task-clock"};

	for (unsigned i = 0; i < 2; i++) {
		uint64_t t0, t1, t2, t3, count;

		t0 = now();
		start(i, event(names[i]));
		t1 = now();
		sleep_ms(50);
		t2 = now();
		stop(i);
		t3 = now();
		count = get(CNT(i));
		assert_true(count >= (t2 - t1) - (t2 - t1) / 50);
		assert_true(count <= (t3 - t0) + (t3 - t0) / 50);
	}
}

TEST_WITH(open_cpu, close_cpu, tsc)
{
	uint64_t t0, t1, t2, t3, last, count;

	if (!has_event("tsc")) {
		print_message("# no tsc: this kernel has no msr PMU\n");
		return;
	}
	t0 = __rdtsc();
	start(0, event("tsc"));
	t1 = __rdtsc();
	last = get(CNT(0));
	for (unsigned i = 0; i < 100; i++) {
		count = get(CNT(0));
		assert_true(count > last);
		last = count;
	}
	sleep_ms(20);
	t2 = __rdtsc();
	stop(0);
	t3 = __rdtsc();
	count = get(CNT(0));
	assert_true(count >= (t2 - t1) - (t2 - t1) / 100);
	assert_true(count <= (t3 - t0) + (t3 - t0) / 100);
}

TEST_WITH(open_cpu, close_cpu, write_counter)
{
	uint64_t ev, time, count;

	ev = event("alignment-faults"); /* Never counts on x86: reads return the written value. */
	put(CNT(0), 7);
	assert_int_equal(get(CNT(0)), 7);
	start(0, ev);
	assert_int_equal(get(CNT(0)), 7);
	put(CNT(0), -1000ULL);
	assert_int_equal(get(CNT(0)), -1000ULL);

	start(1, event("cpu-clock"));
	sleep_ms(2);
	time = now();
	put(CNT(1), -MSEC); /* Wraps after a millisecond. */
	sleep_ms(2);
	count = get(CNT(1));
	assert_true(count < (now() - time) * 102 / 100);
	stop(1);
	put(CNT(1), 5);
	assert_int_equal(get(CNT(1)), 5);
	time = now();
	start(1, event("cpu-clock"));
	sleep_ms(1);
	assert_true(get(CNT(1)) >= 5 + MSEC * 98 / 100);
	count = get(CNT(1));
	assert_true(count <= 5 + (now() - time) * 102 / 100);
}

/* All counters of a CPU start and stop at one moment, and are read at one. */
TEST_WITH(open_cpu, close_cpu, at_one_moment)
{
	struct reg_op on[4], off[4], reads[4];
	struct err e;

	for (unsigned i = 0; i < 4; i++) {
		on[i] = (struct reg_op){.addr = SEL(i),
			.verb = REG_WRITE,
			.value = event("context-switches") | EVTSEL_EN};
		off[i] = on[i];
		off[i].value &= ~EVTSEL_EN;
		reads[i] = (struct reg_op){.addr = CNT(i), .verb = REG_READ};
	}
	for (unsigned round = 0; round < 20; round++) {
		assert_int_equal(be->ops->run(cpu, on, 4, &e), 4);
		for (unsigned k = 0; k < 20; k++) {
			usleep(100);
			assert_int_equal(be->ops->run(cpu, reads, 4, &e), 4);
			for (unsigned i = 1; i < 4; i++)
				assert_int_equal(reads[i].value, reads[0].value);
		}
		assert_int_equal(be->ops->run(cpu, off, 4, &e), 4);
	}
	assert_true(reads[0].value > 100);
}

TEST_WITH(open_cpu, close_cpu, change_folds)
{
	uint64_t count;

	start(0, event("cpu-clock"));
	sleep_ms(5);
	count = get(CNT(0));
	start(0, event("alignment-faults"));
	assert_int_equal(get(SEL(0)), event("alignment-faults") | EVTSEL_EN);
	assert_true(get(CNT(0)) >= count);
	count = get(CNT(0));
	sleep_ms(2);
	assert_int_equal(get(CNT(0)), count);

	stop(0);
	put(SEL(0), event("cpu-clock"));
	assert_int_equal(get(CNT(0)), count);
	start(0, event("cpu-clock"));
	sleep_ms(2);
	assert_true(get(CNT(0)) >= count + 2 * MSEC * 98 / 100);
}

TEST_WITH(open_cpu, close_cpu, nothing)
{
	unsigned files = open_files();

	put(CNT(0), 42);
	start(0, LEVELS);
	start(1, PERFSEL_SOFTWARE | LEVELS);
	assert_int_equal(open_files(), files);
	assert_int_equal(get(CNT(0)), 42);
	assert_int_equal(get(CNT(1)), 0);
	assert_int_equal(get(SEL(0)), LEVELS | EVTSEL_EN);
}

/* Events that cannot be filtered by level are refused; the running event continues. */
TEST_WITH(open_cpu, close_cpu, unfilterable)
{
	static const char *const names[] = {
		"cpu-clock", "task-clock", "context-switches", "cpu-migrations", "tsc"};
	unsigned files;

	start(0, event("cpu-clock"));
	files = open_files();
	for (unsigned i = 0; i < COUNT(names); i++) {
		uint64_t ev, count;

		if (!has_event(names[i]))
			continue;
		ev = (event(names[i]) & ~LEVELS) | EVTSEL_EN;
		refuse(SEL(1), REG_WRITE, ev | EVTSEL_OS, EINVAL);
		refuse(SEL(1), REG_WRITE, ev, EINVAL);
		assert_int_equal(get(SEL(1)), 0);
		if (perfsel_user_clock(ev | EVTSEL_USR))
			continue;
		refuse(SEL(1), REG_WRITE, ev | EVTSEL_USR, EINVAL);
		count = get(CNT(0));
		refuse(SEL(0), REG_WRITE, ev | EVTSEL_USR, EINVAL);
		assert_int_equal(get(SEL(0)), event("cpu-clock") | EVTSEL_EN);
		assert_true(get(CNT(0)) > count);
	}
	assert_int_equal(open_files(), files);
}

TEST_WITH(open_cpu, close_cpu, reserved)
{
	static const uint64_t bits[] = {1 << 19, EVTSEL_INT, 1 << 21, 1ULL << 36, 1ULL << 55};

	put(SEL(0), event("cpu-clock"));
	for (unsigned i = 0; i < COUNT(bits); i++) {
		refuse(SEL(0), REG_WRITE, event("cpu-clock") | bits[i], EPERM);
		refuse(SEL(0), REG_UPDATE, event("cpu-clock") | bits[i], EPERM);
		assert_int_equal(get(SEL(0)), event("cpu-clock"));
	}
	refuse(0xff, REG_WRITE, 0, EPERM);
	refuse(SEL(16), REG_READ, 0, EPERM);
	refuse(CNT(16), REG_READ, 0, EPERM);
}

TEST_WITH(open_cpu, close_cpu, unknown_events)
{
	refuse(SEL(0), REG_WRITE, PERFSEL_SOFTWARE | 0x3f | LEVELS | EVTSEL_EN, EINVAL);
	refuse(SEL(0), REG_WRITE, PERFSEL_SOFTWARE | 0x103 | LEVELS | EVTSEL_EN, EINVAL);
	refuse(SEL(0), REG_WRITE, event("page-faults") | PERFSEL_EDGE | EVTSEL_EN, EINVAL);
	refuse(SEL(0), REG_WRITE, 7ULL << 56 | 3 | LEVELS | EVTSEL_EN, EINVAL);
	refuse(SEL(0), REG_WRITE, 7ULL << 56 | LEVELS | EVTSEL_EN, EINVAL);
	assert_int_equal(get(SEL(0)), 0);
}

static int try_selector(uint64_t sel)
{
	struct err e = {0};
	int rc = be->ops->try_selector(be, SEL(0), sel, &e);

	if (rc == 0)
		return 0;
	assert_int_equal(rc, -e.no);
	assert_true(strlen(e.text) > 20);
	assert_true(strlen(e.text) < sizeof(e.text) - 40); /* room for the PMC's name */
	return rc;
}

/* What is wrong with the selector is an error; what the kernel lacks at the moment is none. */
TEST_WITH(open_cpu, close_cpu, try_refused)
{
	static const int refusals[] = {ENOENT, EINVAL, EOPNOTSUPP, ENODEV, EACCES, EPERM};
	static const int passing[] = {EBUSY, EMFILE, ENFILE, ENOMEM, EAGAIN, ENOSYS};
	uint64_t sel = event("page-faults") | EVTSEL_EN;

	for (unsigned i = 0; i < COUNT(refusals); i++) {
		kernel.refuse = refusals[i];
		assert_int_equal(try_selector(sel), -refusals[i]);
	}
	for (unsigned i = 0; i < COUNT(passing); i++) {
		kernel.refuse = passing[i];
		kernel.opens = 0;
		assert_int_equal(try_selector(sel), 0);
		assert_true(kernel.opens > 0); /* it had not been accepted */
	}
	kernel.refuse = 0;
}

TEST_WITH(open_cpu, close_cpu, try_once)
{
	uint64_t sel = event("minor-faults") | EVTSEL_EN;
	unsigned files = open_files();

	kernel.opens = 0;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(try_selector(sel), 0);
	assert_int_equal(kernel.opens, 1);
	assert_int_equal(try_selector(sel & ~EVTSEL_OS), 0);
	assert_int_equal(kernel.opens, 2);
	assert_int_equal(try_selector(LEVELS | EVTSEL_EN), 0); /* no event */
	assert_int_equal(try_selector(PERFSEL_SOFTWARE | 0x3f | LEVELS | EVTSEL_EN), -EINVAL);
	assert_int_equal(try_selector(7ULL << 56 | 3 | LEVELS | EVTSEL_EN), -EINVAL);
	assert_int_equal(kernel.opens, 2);
	assert_int_equal(open_files(), files);
}

/* What says nothing about the PMU is no refusal. */
TEST_WITH(open_cpu, close_cpu, fit)
{
	enum { ROOM = 5, FEW = 3 };
	struct perf_trial trial = {.nkinds = 1, .kinds[0].src = {.cpu = 4, .msr = -1}};
	unsigned files = open_files();
	uint64_t sels[2 * ROOM];

	kernel.room = ROOM;
	for (unsigned i = 0; i < 2 * ROOM; i++)
		sels[i] = (0xc0 + i) | LEVELS | EVTSEL_EN;
	for (unsigned n = 0; n <= 2 * ROOM; n++) {
		kernel.opens = 0;
		assert_int_equal(perf_fit(&trial, sels, n), n <= ROOM);
		assert_int_equal(kernel.opens, n <= ROOM ? n : ROOM + 1);
		assert_int_equal(open_files(), files);
	}
	kernel.refuse = EMFILE;
	assert_true(perf_fit(&trial, sels, 2 * ROOM));
	kernel.refuse = 0;
	kernel.room = 0;
	trial.kinds[0].src.cpu = -1;
	assert_true(perf_fit(&trial, sels, FEW)); /* this kernel has no PMU */
	assert_int_equal(open_files(), files);
}

TEST(takes_counter)
{
	assert_true(perfsel_takes_counter(0xc0 | LEVELS | EVTSEL_EN));
	assert_false(perfsel_takes_counter(LEVELS | EVTSEL_EN)); /* no event */
	for (unsigned i = 0; i < be->pmu->nevents; i++)
		assert_false(perfsel_takes_counter(be->pmu->events[i].value));
}

/* Bits 48 and 49 ask for precise samples; without samples, the kernel would refuse them. */
TEST(precise)
{
	const struct perf_sources src = {.cpu = 4, .msr = -1};
	const struct perf_sampling none = {.period = 0}, sampling = {.period = 1000, .batch = 1};
	const uint64_t sel = 0xc0 | LEVELS | 2ULL << 48;
	struct err e = {0};

	kernel.refuse = ENOENT;
	assert_int_equal(perf_trial_new(&src, -1, sel, &sampling, &e), -EOPNOTSUPP);
	assert_int_equal(kernel.precise, 2);
	assert_int_equal(perf_trial_new(&src, -1, sel, &none, &e), -ENOENT);
	assert_int_equal(kernel.precise, 0);
	assert_int_equal(perf_trial_new(&src, -1, 0xc0 | LEVELS, &sampling, &e), -ENOENT);
	assert_int_equal(kernel.precise, 0);
	kernel.refuse = 0;
	assert_int_equal(perf_trial_new(&src, -1, event("page-faults") | 1ULL << 48, &sampling, &e),
		-EINVAL);
}

/* Retired instructions have the same code on Intel and AMD. */
TEST_WITH(open_cpu, close_cpu, hardware)
{
	enum { INSTRUCTIONS = 0xc0 };
	struct perf_sources src;
	uint64_t before;

	perf_sources_find(sysfs_cpu_first(), &src);
	if (src.cpu < 0) {
		refuse(SEL(0), REG_WRITE, INSTRUCTIONS | EVTSEL_USR | EVTSEL_EN, ENODEV);
		assert_int_equal(get(SEL(0)), 0);
		return;
	}
	start(0, INSTRUCTIONS | EVTSEL_USR);
	before = get(CNT(0));
	for (volatile unsigned i = 0; i < 100000; i++)
		;
	assert_true(get(CNT(0)) >= before + 200000);
}

/* When the PMU is full, another event fails, and the slot continues to count the previous one. */
TEST_WITH(open_cpu, close_cpu, full)
{
	enum { INSTRUCTIONS = 0xc0 };
	struct perf_sources src;
	uint64_t clock, sel, count;

	perf_sources_find(sysfs_cpu_first(), &src);
	if (src.cpu < 0) {
		print_message("# not tried: this kernel has no CPU PMU\n");
		return;
	}
	clock = event("cpu-clock") | EVTSEL_EN;
	for (unsigned n = 0; n < 16; n++) {
		struct err e = {0};

		put(SEL(n), clock);
		sel = INSTRUCTIONS | EVTSEL_USR | EVTSEL_EN;
		if (run_one(SEL(n), REG_WRITE, &sel, 0, &e) == 0)
			continue;
		assert_int_equal(e.no, EBUSY);
		assert_int_equal(get(SEL(n)), clock);
		count = get(CNT(n));
		assert_true(get(CNT(n)) > count);
		start(0, INSTRUCTIONS |
				 EVTSEL_OS); /* Replacing an event needs no further counter. */
		return;
	}
	print_message("# not tried: the PMU has a counter for every slot\n");
}

TEST_WITH(open_cpu, close_cpu, run_stops)
{
	struct reg_op ops[] = {
		{.addr = CNT(0), .verb = REG_WRITE, .value = 1},
		{.addr = SEL(0), .verb = REG_WRITE, .value = EVTSEL_INT},
		{.addr = CNT(0), .verb = REG_WRITE, .value = 2},
	};
	struct err e = {0};

	assert_int_equal(be->ops->run(cpu, ops, 3, &e), 1);
	assert_int_equal(e.no, EPERM);
	assert_non_null(strstr(e.text, "pmc0"));
	assert_int_equal(get(CNT(0)), 1);
}

TEST_WITH(open_cpu, close_cpu, reserve)
{
	unsigned files = open_files();
	struct err e = {0};
	uint64_t value = 99;

	assert_int_equal(run_one(SEL(0), REG_RESERVE, &value, ~0ULL, &e), 0);
	assert_int_equal(value, 0);
	start(0, event("cpu-clock"));
	assert_int_equal(open_files(), files + 1);
	value = 99;
	assert_int_equal(run_one(SEL(0), REG_FORGET, &value, ~0ULL, &e), 0);
	assert_int_equal(get(SEL(0)), event("cpu-clock") | EVTSEL_EN);
	release(CNT(0));
	assert_true(get(CNT(0)) < 1000 * MSEC);
	release(SEL(0));
	assert_int_equal(open_files(), files);
	assert_int_equal(get(SEL(0)), 0);
	assert_int_equal(get(CNT(0)), 0);
}

TEST_WITH(open_cpu, close_cpu, update)
{
	struct err e = {0};
	struct reg_op replace;
	uint64_t value;

	put(SEL(0), event("cpu-clock"));
	value = EVTSEL_EN;
	assert_int_equal(run_one(SEL(0), REG_UPDATE, &value, EVTSEL_EN, &e), 0);
	assert_int_equal(value, event("cpu-clock"));
	assert_int_equal(get(SEL(0)), event("cpu-clock") | EVTSEL_EN);
	value = 0;
	assert_int_equal(run_one(SEL(0), REG_UPDATE, &value, EVTSEL_EN, &e), 0);
	assert_int_equal(value, event("cpu-clock") | EVTSEL_EN);
	value = 0x5a;
	assert_int_equal(run_one(CNT(0), REG_UPDATE, &value, 0xff, &e), -EPERM);

	/* Replaced only if it has the expected value; its value is returned in both cases. */
	replace = (struct reg_op){.addr = SEL(0),
		.verb = REG_REPLACE,
		.mask = ~0ULL,
		.expect = event("page-faults"),
		.value = event("tsc")};
	assert_int_equal(be->ops->run(cpu, &replace, 1, &e), 1);
	assert_int_equal(replace.value, event("cpu-clock"));
	assert_int_equal(get(SEL(0)), event("cpu-clock"));
	replace.expect = event("cpu-clock");
	replace.value = event("page-faults");
	assert_int_equal(be->ops->run(cpu, &replace, 1, &e), 1);
	assert_int_equal(replace.value, event("cpu-clock"));
	assert_int_equal(get(SEL(0)), event("page-faults"));
}

/* Only operations with a system call are counted. */
TEST_WITH(open_cpu, close_cpu, stats)
{
	unsigned long long reads, writes;

	reads = be->stats.reads;
	writes = be->stats.writes;
	get(SEL(0));
	get(CNT(0));
	put(CNT(0), 1);
	stop(0);
	assert_int_equal(be->stats.reads, reads);
	assert_int_equal(be->stats.writes, writes);
	start(0, event("cpu-clock"));
	reads = be->stats.reads;
	writes = be->stats.writes;
	get(CNT(0));
	put(CNT(0), 0);
	assert_int_equal(be->stats.reads, reads + 2);
	stop(0);
	start(0, event("cpu-clock"));
	start(0, event("cpu-clock"));
	assert_int_equal(be->stats.reads, reads + 4);
	assert_int_equal(be->stats.writes, writes + 2);
	stop(0);
	reads = be->stats.reads;
	get(CNT(0));
	put(CNT(0), 5);
	assert_int_equal(be->stats.reads, reads);
}

TEST_WITH(open_cpu, close_cpu, cpus)
{
	struct backend_cpu *none = NULL;
	unsigned limit;
	struct err e = {0};

	limit = be->ops->cpu_limit(be);
	assert_true(limit >= (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(be->ops->cpu_online(be, sysfs_cpu_first()));
	assert_false(be->ops->cpu_online(be, limit));
	assert_int_equal(be->ops->cpu_open(be, limit, &none, &e), -ENXIO);
	assert_int_equal(e.no, ENXIO);
	assert_null(none);
}

TEST(conf)
{
	struct backend_conf conf = {.pmu = "intel_arch_v4"};
	struct backend *none = NULL;
	struct err e = {0};

	assert_int_equal(perf_backend_ops.open(&conf, &none, &e), -EINVAL);
	assert_null(none);
}

struct seen {
	unsigned things, failed;
};

__attribute__((format(printf, 4, 5))) static void note(
	void *arg, enum check_result r, const char *thing, const char *fmt, ...)
{
	struct seen *seen = arg;

	(void)thing, (void)fmt;
	seen->things++;
	seen->failed += r == CHECK_FAIL;
}

TEST(check)
{
	struct backend_conf conf = {0};
	struct seen seen = {0};

	perf_backend_ops.check(&conf, note, &seen);
	assert_int_equal(seen.things, 4);
	assert_int_equal(seen.failed, 0);
}

/*
 * The following tests manipulate the events of a CPU, because a healthy machine loses none.
 */
static struct backend_stats slot_stats;

/* Slot @s counts @name in @g. */
static struct perf_cpu slot_begin(struct perf_group *g, struct perf_slot *s, const char *name)
{
	struct perf_cpu pc = {.cpu = sysfs_cpu_first(),
		.group = g,
		.src = {.cpu = -1, .msr = -1},
		.stats = &slot_stats};
	struct err e = {0};

	*s = PERF_SLOT_INIT;
	assert_int_equal(group_open_cpu(g, pc.cpu, &e), 0);
	assert_int_equal(slot_select(&pc, s, event(name) | EVTSEL_EN, &e), 0);
	assert_int_equal(group_start(g, &slot_stats, &e), 0);
	return pc;
}

static void slot_end(struct perf_group *g, struct perf_slot *s)
{
	slot_close(s);
	assert_int_equal(s->fd, -1);
	group_close(g);
}

/* Reads the group again. */
static int slot_reread(const struct perf_cpu *pc, struct perf_slot *s, uint64_t *value)
{
	struct err e;

	pc->group->current = false;
	return slot_read(pc, s, value, &e);
}

/* Events that the test disables do not advance, like those of a CPU that went offline. */
TEST_WITH(open_cpu, close_cpu, lost_event)
{
	struct perf_group g;
	struct perf_slot s;
	struct perf_cpu pc = slot_begin(&g, &s, "cpu-clock");
	struct err e = {0};
	uint64_t value, on = event("cpu-clock") | EVTSEL_EN;

	sleep_ms(5);
	assert_int_equal(slot_reread(&pc, &s, &value), 0);
	ioctl(g.leader, PERF_EVENT_IOC_DISABLE, 0);
	sleep_ms(15);
	value = 1234;
	assert_int_equal(slot_reread(&pc, &s, &value), -ENXIO);
	assert_int_equal(value, 1234);
	assert_int_equal(slot_reread(&pc, &s, &value), -ENXIO);
	assert_int_equal(slot_write(&pc, &s, 0, &e), -ENXIO);
	assert_int_equal(slot_select(&pc, &s, event("page-faults") | EVTSEL_EN, &e), -ENXIO);
	assert_int_equal(s.sel, on);
	assert_int_equal(slot_select(&pc, &s, event("cpu-clock"), &e), 0);
	assert_int_equal(slot_reread(&pc, &s, &value), -ENXIO);
	assert_int_equal(slot_select(&pc, &s, on, &e), -ENXIO);

	/* It counts again after a load. */
	assert_int_equal(slot_write(&pc, &s, 10, &e), 0);
	assert_int_equal(slot_reread(&pc, &s, &value), 0);
	assert_int_equal(value, 10);
	group_stop(&g, &slot_stats);
	assert_int_equal(group_start(&g, &slot_stats, &e), -ENXIO);
	slot_end(&g, &s);
}

/* The loss is detected at the stop, or when another event replaces it. */
TEST_WITH(open_cpu, close_cpu, lost_at_stop)
{
	struct err e = {0};
	uint64_t value;

	for (unsigned change = 0; change < 2; change++) {
		struct perf_group g;
		struct perf_slot s;
		struct perf_cpu pc = slot_begin(&g, &s, "cpu-clock");

		ioctl(g.leader, PERF_EVENT_IOC_DISABLE, 0);
		sleep_ms(15);
		if (!change)
			group_stop(&g, &slot_stats);
		if (change)
			assert_int_equal(
				slot_select(&pc, &s, event("page-faults") | EVTSEL_EN, &e), -ENXIO);
		else
			assert_int_equal(slot_select(&pc, &s, event("cpu-clock"), &e), 0);
		assert_int_equal(slot_reread(&pc, &s, &value), -ENXIO);
		slot_end(&g, &s);
	}
}

/* Events that ran for more than a second between reads are compared from the last one on. */
TEST_WITH(open_cpu, close_cpu, lost_late)
{
	struct perf_group g;
	struct perf_slot s;
	struct perf_cpu pc = slot_begin(&g, &s, "cpu-clock");
	uint64_t value;

	sleep_ms(1100);
	assert_int_equal(slot_reread(&pc, &s, &value), 0);
	assert_true(g.time > 1000 * MSEC);
	ioctl(g.leader, PERF_EVENT_IOC_DISABLE, 0);
	sleep_ms(15);
	assert_int_equal(slot_reread(&pc, &s, &value), -ENXIO);
	slot_end(&g, &s);
}

/* A file that reads like a group with a member, which was on the PMU only part of the time. */
static int answer(uint64_t id, uint64_t count, uint64_t enabled, uint64_t running)
{
	uint64_t r[5] = {1, enabled, running, count, id};
	int fd = memfd_create("answer", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, r, sizeof(r)), sizeof(r));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void replace(int fd, int by)
{
	assert_int_equal(dup2(by, fd), fd);
	close(by);
}

TEST_WITH(open_cpu, close_cpu, multiplexed)
{
	struct perf_group g;
	struct perf_slot s;
	struct perf_cpu pc = slot_begin(&g, &s, "page-faults");
	uint64_t value = 1234;

	s.value = 3;
	s.count = 0;
	replace(g.leader, answer(s.id, 1000, MSEC, MSEC));
	assert_int_equal(slot_reread(&pc, &s, &value), 0);
	assert_int_equal(value, 1003);
	/* End of file: a pinned event in error state. */
	assert_int_equal(slot_reread(&pc, &s, &value), -EBUSY);
	assert_int_equal(value, 1003);
	slot_end(&g, &s);
}

/* What a CPU's group that is detached since the CPU was offline reads like: its time passes off the
 * PMU, or does not pass, or it has not the member. */
TEST_WITH(open_cpu, close_cpu, detached)
{
	for (unsigned i = 0; i < 3; i++) {
		struct perf_group g;
		struct perf_slot s;
		struct perf_cpu pc = slot_begin(&g, &s, "page-faults");
		uint64_t enabled = i == 1 ? 0 : MSEC, running = i == 2 ? MSEC : 0, value = 1234;

		replace(g.leader, answer(s.id + (i == 2), 1000, enabled, running));
		assert_int_equal(slot_reread(&pc, &s, &value), -ENXIO);
		assert_int_equal(value, 1234);
		slot_end(&g, &s);
	}
}

static int set_online(const char *how)
{
	CLEANUP_CLOSE int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, how, 1) != 1 ? -1 : 0;
}

/* Disturbs all threads bound to CPU 1, so it requires an environment variable. */
TEST_WITH(open_cpu, close_cpu, offline)
{
	struct backend_cpu *one = NULL;
	struct reg_op ops[] = {
		{.addr = SEL(0), .verb = REG_WRITE, .value = 0},
		{.addr = CNT(0), .verb = REG_READ},
		{.addr = SEL(0), .verb = REG_WRITE, .value = 0},
	};
	struct err e = {0};

	if (!getenv("PERFMONFS_TEST_HOTPLUG")) {
		print_message("# not tried: set PERFMONFS_TEST_HOTPLUG to take CPU 1 offline\n");
		return;
	}
	ops[0].value = event("cpu-clock") | EVTSEL_EN;
	ops[2].value = event("cpu-clock");
	assert_int_equal(be->ops->cpu_open(be, 1, &one, &e), 0);
	assert_int_equal(be->ops->run(one, ops, 2, &e), 2);
	assert_int_equal(set_online("0"), 0);
	sleep_ms(20);
	assert_false(be->ops->cpu_online(be, 1));
	assert_int_equal(be->ops->run(one, ops + 1, 1, &e), 0);
	assert_int_equal(e.no, ENXIO);
	ops[0].addr = SEL(1);
	assert_int_equal(be->ops->run(one, ops, 1, &e), 0);
	assert_int_equal(e.no, ENXIO);
	assert_int_equal(set_online("1"), 0);
	sleep_ms(20);
	assert_int_equal(be->ops->run(one, ops + 2, 1, &e), 1);
	assert_int_equal(be->ops->run(one, ops + 1, 1, &e), 0);
	assert_int_equal(e.no, ENXIO);
	be->ops->cpu_close(one);
}

static void bind_to(unsigned n)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(n, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* --- Threads */

static atomic_int own_tid;
static const struct thread_conf alone;

static int open_thread(void **state)
{
	struct err e;

	open_none(state);
	atomic_store(&own_tid, gettid());
	if (be->ops->thread_open(be, &own_tid, &alone, &cpu, &e) < 0)
		fail_msg("%s", e.text);
	return 0;
}

/* The calls of read(2) of this process, with one for this. */
static uint64_t reads_so_far(void)
{
	char text[512] = "", *at;
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	at = strstr(text, "syscr: ");
	assert_non_null(at);
	return strtoull(at + strlen("syscr: "), NULL, 10);
}

/* What is the same for all CPUs is read once from sysfs: there may be thousands of threads. */
TEST_WITH(open_thread, close_cpu, open_without_sysfs)
{
	unsigned first = sysfs_cpu_first();
	struct backend_cpu *thread, *whole;
	uint64_t before, after;
	struct err e;

	if (access("/proc/self/io", R_OK) < 0 || access("/sys/devices/cpu_atom", F_OK) == 0)
		skip();
	before = reads_so_far();
	assert_int_equal(be->ops->thread_open(be, &own_tid, &alone, &thread, &e), 0);
	assert_int_equal(be->ops->cpu_open(be, first, &whole, &e), 0);
	after = reads_so_far();
	be->ops->cpu_close(whole);
	be->ops->cpu_close(thread);
	assert_int_equal(after - before, 1);
}

/* Writes @value to selectors 0 to @n - 1 in one run; returns how many have been written. */
static unsigned put_all(unsigned n, uint64_t value, struct err *e)
{
	struct reg_op ops[16];

	for (unsigned i = 0; i < n; i++)
		ops[i] = (struct reg_op){.addr = SEL(i), .verb = REG_WRITE, .value = value};
	return be->ops->run(cpu, ops, n, e);
}

/* Reads counters 0 to @n - 1 in one run, which have to be equal. */
static uint64_t get_same(unsigned n)
{
	struct reg_op ops[16];
	struct err e;

	for (unsigned i = 0; i < n; i++)
		ops[i] = (struct reg_op){.addr = CNT(i), .verb = REG_READ};
	if (be->ops->run(cpu, ops, n, &e) != n)
		fail_msg("%s", e.text);
	for (unsigned i = 1; i < n; i++)
		assert_int_equal(ops[i].value, ops[0].value);
	return ops[0].value;
}

static uint64_t own_faults(void)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	return (uint64_t)(ru.ru_minflt + ru.ru_majflt);
}

/* As many as the kernel itself has counted, and nothing between a stop and the next start. */
TEST_WITH(open_thread, close_cpu, thread_faults)
{
	enum { PAGES = 1000, N = 8 };
	char *p = fresh_pages(PAGES);
	uint64_t on = event("page-faults") | EVTSEL_EN, want = 0, faults;
	struct err e;

	/* What the first round executes for the first time has faults of its own. */
	for (unsigned i = 0; i < PAGES; i += 100) {
		if (i == 100)
			want = get_same(N);
		assert_int_equal(put_all(N, on, &e), N);
		faults = own_faults();
		touch(p + i * 4096, 50);
		want += own_faults() - faults;
		assert_true(get_same(N) == want || i == 0);
		assert_int_equal(put_all(N, on & ~EVTSEL_EN, &e), N);
		touch(p + (i + 50) * 4096, 50);
		assert_true(get_same(N) == want || i == 0);
	}
	assert_true(want >= PAGES / 2);
	munmap(p, PAGES * 4096);
}

/* An event that is added to those that run counts from that moment on, whatever its PMU. The time
 * of the thread's clocks is compared with the thread's own readings around it. */
TEST_WITH(open_thread, close_cpu, thread_added)
{
	enum { ROUNDS = 20 };
	uint64_t from, to, before, lacking = 0;

	start(0, event("page-faults"));
	for (unsigned round = 0; round < ROUNDS; round++) {
		start(1, event(round % 2 ? "cpu-clock" : "task-clock"));
		from = nsec_now(CLOCK_THREAD_CPUTIME_ID);
		before = get(CNT(1));
		do {
			to = nsec_now(CLOCK_THREAD_CPUTIME_ID);
		} while (to < from + MSEC);
		before = get(CNT(1)) - before;
		lacking += before < to - from ? to - from - before : 0;
	}
	/* The clocks may be read at other moments than the events. */
	assert_true(lacking < ROUNDS * MSEC / 10);
}

/* A group that takes counters is pinned: its leader is. Not one that threads inherit, as it would
 * not be seen that one of these has lost its counters. */
TEST_WITH(open_none, close_cpu, thread_pinned)
{
	const struct thread_conf confs[] = {
		{.takes_counters = true}, {.takes_counters = true, .inherit = true}, {0}};
	enum { PAGES = 10 };
	char *p = fresh_pages(PAGES);
	struct err e;

	atomic_store(&own_tid, gettid());
	for (unsigned i = 0; i < COUNT(confs); i++) {
		if (i)
			be->ops->cpu_close(cpu);
		kernel.pinned = 0;
		assert_int_equal(be->ops->thread_open(be, &own_tid, &confs[i], &cpu, &e), 0);
		assert_int_equal(kernel.pinned, i == 0);
		start(0, event("page-faults"));
		touch(p, PAGES);
		stop(0);
		assert_int_equal(kernel.pinned, i == 0);
		assert_true(get(CNT(0)) >= PAGES);
		madvise(p, PAGES * 4096, MADV_DONTNEED);
	}
	munmap(p, PAGES * 4096);
}

struct faulter {
	pthread_t thread;
	atomic_int tid;
	atomic_bool end;
	uint64_t faults; /* All that it has had. */
};

static void *faulter_main(void *arg)
{
	struct faulter *f = arg;
	char *p = fresh_pages(64);

	atomic_store(&f->tid, gettid());
	while (!atomic_load(&f->end)) {
		touch(p, 64);
		madvise(p, 64 * 4096, MADV_DONTNEED);
	}
	munmap(p, 64 * 4096);
	f->faults = own_faults();
	return NULL;
}

static void faulter_begin(struct faulter *f)
{
	memset(f, 0, sizeof(*f));
	assert_int_equal(pthread_create(&f->thread, NULL, faulter_main, f), 0);
	while (!atomic_load(&f->tid))
		usleep(100);
}

static void faulter_end(struct faulter *f)
{
	atomic_store(&f->end, true);
	pthread_join(f->thread, NULL);
}

/* Opens it as the target, once it runs. Returns the selector of what it does. */
static uint64_t faulter_open(struct faulter *f)
{
	struct err e;

	faulter_begin(f);
	if (be->ops->thread_open(be, &f->tid, &alone, &cpu, &e) < 0)
		fail_msg("%s", e.text);
	return event("page-faults") | EVTSEL_EN;
}

/* All counters start, are read and stop at the same moments, while the thread runs. */
TEST_WITH(open_none, close_cpu, thread_moments)
{
	enum { N = 4, ROUNDS = 50 };
	struct faulter f;
	uint64_t on, last = 0, count;
	struct err e;

	on = faulter_open(&f);
	for (unsigned i = 0; i < ROUNDS; i++) {
		assert_int_equal(put_all(N, on, &e), N);
		while (get_same(N) == last)
			usleep(100);
		assert_int_equal(put_all(N, on & ~EVTSEL_EN, &e), N);
		count = get_same(N);
		assert_true(count > last);
		last = count;
	}
	faulter_end(&f);
	assert_true(last <= f.faults);
	assert_int_equal(get_same(N), last);
}

/* One counter of several starts and stops while the others count. */
TEST_WITH(open_thread, close_cpu, thread_one_of_two)
{
	enum { PAGES = 300 };
	char *p = fresh_pages(PAGES);
	uint64_t ev, all, one;

	ev = event("page-faults");
	start(0, ev);
	start(1, ev);
	stop(1);
	stop(0);
	put(CNT(0), 0);
	put(CNT(1), -10ULL);
	all = own_faults();
	start(0, ev);
	touch(p, 100);
	start(1, ev);
	one = own_faults();
	touch(p + 100 * 4096, 100);
	one = own_faults() - one;
	stop(1);
	touch(p + 200 * 4096, 50);
	assert_int_equal(get(CNT(1)), one - 10);
	start(1, ev);
	one -= own_faults();
	touch(p + 250 * 4096, 50);
	assert_int_equal(get(CNT(1)), own_faults() + one - 10);
	start(0, event("minor-faults"));
	stop(0);
	assert_int_equal(get(CNT(0)), own_faults() - all);
	stop(1);
	munmap(p, PAGES * 4096);
}

/* An event of this thread whose time is the kernel's, as that of the backend's events. */
static int own_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static uint64_t time_enabled(int fd)
{
	uint64_t v[2];

	assert_int_equal(read(fd, v, sizeof(v)), sizeof(v));
	return v[1];
}

/* At least that of an event inside of the run, at most that of one around it. */
TEST_WITH(open_thread, close_cpu, thread_time)
{
	CLEANUP_CLOSE int around = own_event();
	CLEANUP_CLOSE int inside = -1;
	uint64_t time, least;

	assert_int_equal(be->ops->thread_time(cpu), 0);
	start(0, event("page-faults"));
	inside = own_event();
	do {
		least = time_enabled(inside);
	} while (least < 20 * MSEC);
	stop(0);
	time = be->ops->thread_time(cpu);
	assert_in_range(time, least, time_enabled(around));
	sleep_ms(5);
	assert_int_equal(be->ops->thread_time(cpu), time);
}

/*
 * Counter 2 counts all that counters 0 and 1 do, which take turns. The kernel reads software events
 * one after the other, while the thread goes on.
 */
static void want_all_counted(unsigned rounds)
{
	uint64_t sum, all;
	struct reg_op ops[] = {
		{.addr = CNT(0), .verb = REG_READ},
		{.addr = CNT(1), .verb = REG_READ},
		{.addr = CNT(2), .verb = REG_READ},
	};
	struct err e;

	assert_int_equal(be->ops->run(cpu, ops, 3, &e), 3);
	sum = ops[0].value + ops[1].value;
	all = ops[2].value;
	assert_true((sum > all ? sum - all : all - sum) <= all / 100);
	assert_true(all > rounds);
}

/* Waits until the thread has had another fault. */
static void await_fault(void)
{
	uint64_t was = get(CNT(2));

	while (get(CNT(2)) == was)
		usleep(100);
}

/* Two counters take turns: one starts where the other has stopped, though the thread goes on. */
TEST_WITH(open_none, close_cpu, thread_at_once)
{
	enum { ROUNDS = 20 };
	struct faulter f;
	uint64_t on;
	struct err e;

	on = faulter_open(&f);
	start(0, on);
	start(1, on);
	assert_int_equal(put_all(2, on & ~EVTSEL_EN, &e), 2);
	put(CNT(0), 0);
	put(CNT(1), 0);
	start(2, on);
	be->ops->thread_at_once(cpu, true);
	put(CNT(2), 0);
	start(0, on);
	be->ops->thread_at_once(cpu, false);
	for (unsigned i = 0; i < ROUNDS; i++) {
		await_fault();
		be->ops->thread_at_once(cpu, true);
		stop(i % 2);
		usleep(2000);
		start(1 - i % 2, on);
		be->ops->thread_at_once(cpu, false);
	}
	want_all_counted(ROUNDS);
	faulter_end(&f);
}

/* A counter gets another event and the first one again: both have gone on counting. */
TEST_WITH(open_none, close_cpu, thread_parked)
{
	enum { ROUNDS = 20 };
	static const char *const names[] = {"page-faults", "minor-faults"};
	struct faulter f;
	uint64_t on;
	struct err e;

	on = faulter_open(&f);
	start(2, on);
	for (unsigned i = 0; i < ROUNDS; i++) {
		be->ops->thread_at_once(cpu, true);
		/* By now, each has been open. */
		if (i == 2) {
			put(CNT(0), 0);
			put(CNT(2), 0);
		}
		if (i)
			stop(0);
		usleep(2000);
		start(0, event(names[i % 2]) | EVTSEL_EN);
		be->ops->thread_at_once(cpu, false);
		await_fault();
	}
	want_all_counted(ROUNDS);
	assert_int_equal(put_all(1, on & ~EVTSEL_EN, &e), 1);
	faulter_end(&f);
}

/* What was stopped at once stops. */
TEST_WITH(open_none, close_cpu, thread_at_once_stops)
{
	struct faulter f;
	uint64_t on, time, count;

	on = faulter_open(&f);
	start(2, on);
	await_fault();
	be->ops->thread_at_once(cpu, true);
	stop(2);
	be->ops->thread_at_once(cpu, false);
	time = be->ops->thread_time(cpu);
	usleep(5000);
	assert_int_equal(be->ops->thread_time(cpu), time);
	count = get(CNT(2));
	assert_true(time && count);
	usleep(5000);
	assert_int_equal(get(CNT(2)), count);
	faulter_end(&f);
}

static int set_alarm(uint64_t ns)
{
	struct err e;
	int fd = be->ops->thread_alarm(cpu, ns, &e);

	if (fd < 0)
		fail_msg("%s", e.text);
	return fd;
}

static bool alarmed(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n = poll(&p, 1, ms);

	assert_true(n >= 0 && !(p.revents & (POLLERR | POLLHUP)));
	return n;
}

/* By the thread's own time, which passes only while it runs. */
TEST_WITH(open_thread, close_cpu, thread_alarm)
{
	uint64_t began;
	int fd;

	start(0, event("page-faults"));
	for (unsigned i = 0; i < 3; i++) {
		began = be->ops->thread_time(cpu);
		fd = set_alarm(10 * MSEC);
		/* Asleep, unless a host has taken the CPU from us before: that is our time, too. */
		assert_true(!alarmed(fd, 30) || be->ops->thread_time(cpu) >= began + 10 * MSEC);
		while (!alarmed(fd, 0))
			assert_true(be->ops->thread_time(cpu) < began + 10000 * MSEC);
		assert_true(be->ops->thread_time(cpu) >= began + 10 * MSEC);
	}
	/* Another time instead. */
	set_alarm(10 * MSEC);
	began = be->ops->thread_time(cpu);
	fd = set_alarm(1000 * MSEC);
	while (be->ops->thread_time(cpu) < began + 20 * MSEC)
		;
	assert_true(!alarmed(fd, 0) || be->ops->thread_time(cpu) >= began + 1000 * MSEC);
	stop(0);
}

/* A number that another thread has got since: none of its events are counted. */
TEST_WITH(open_thread, close_cpu, thread_reused)
{
	struct faulter f;
	uint64_t on;
	struct err e;

	on = event("page-faults") | EVTSEL_EN;
	faulter_begin(&f);
	atomic_store(&own_tid, atomic_load(&f.tid));
	assert_int_equal(put_all(2, on, &e), 0);
	assert_int_equal(e.no, EINVAL);
	atomic_store(&own_tid, gettid());
	assert_int_equal(put_all(2, on, &e), 2);
	faulter_end(&f);
}

TEST_WITH(open_none, close_cpu, thread_ended)
{
	struct faulter f;
	struct backend_cpu *none;
	uint64_t on, count;
	struct err e;

	on = faulter_open(&f);
	assert_int_equal(put_all(2, on, &e), 2);
	faulter_end(&f);
	count = get_same(2);
	assert_true(count <= f.faults);
	assert_int_equal(put_all(2, on & ~EVTSEL_EN, &e), 2);
	assert_int_equal(get_same(2), count);
	refuse(SEL(2), REG_WRITE, on, ESRCH);
	assert_int_equal(be->ops->thread_open(be, &f.tid, &alone, &none, &e), -ESRCH);
	assert_int_equal(e.no, ESRCH);
}

/* Of a run that fails, nothing counts. */
TEST_WITH(open_thread, close_cpu, thread_half)
{
	unsigned files = open_files();
	struct reg_op ops[] = {
		{.addr = SEL(0), .verb = REG_WRITE, .value = event("page-faults") | EVTSEL_EN},
		{.addr = SEL(1),
			.verb = REG_WRITE,
			.value = PERFSEL_SOFTWARE | 0xfff | LEVELS | EVTSEL_EN},
	};
	struct err e;
	char *p = fresh_pages(10);

	assert_int_equal(be->ops->run(cpu, ops, 2, &e), 1);
	assert_int_equal(e.no, EINVAL);
	touch(p, 10);
	assert_int_equal(get(CNT(0)), 0);
	release(SEL(0));
	assert_int_equal(open_files(), files);
	munmap(p, 10 * 4096);
}

/* --- Interrupts */

/* Counter 0 is to count @sel, and to interrupt each @period. */
static void interrupt_with(uint32_t user_stack, uint64_t sel, uint64_t period)
{
	const struct interrupt_conf conf = {.batch = 1, .stacks = true, .user_stack = user_stack};
	struct err e = {0};

	if (be->ops->interrupts_open(cpu, &conf, &e) < 0 ||
		be->ops->interrupt_after(cpu, CNT(0), sel, period, period, &e) < 0)
		fail_msg("%s", e.text);
}

static void interrupt_each(uint64_t sel, uint64_t period)
{
	interrupt_with(0, sel, period);
}

/* The test of that name, over all threads of a CPU, and of one thread. */
#define ON_BOTH(name)                                                                              \
	TEST_WITH(open_cpu, close_cpu, name##_on_cpu)                                              \
	{                                                                                          \
		name();                                                                            \
	}                                                                                          \
	TEST_WITH(open_thread, close_cpu, name##_of_thread)                                        \
	{                                                                                          \
		name();                                                                            \
	}

/* What interrupts() has found. */
struct interrupts_seen {
	uint64_t n, dropped, last;
	uint64_t ip;
};

/* Takes all interrupts of this thread. Without others, counts follow each other. */
static void take_interrupts(struct interrupts_seen *seen, uint64_t period)
{
	struct interrupt in;

	while (be->ops->interrupt_next(cpu, &in)) {
		if (in.kind == INTERRUPT_DROPPED) {
			seen->dropped += in.dropped;
			continue;
		}
		assert_int_equal(in.kind, INTERRUPT_OVERFLOW);
		assert_int_equal(in.addr, CNT(0));
		if (in.where.tid != (uint32_t)gettid())
			continue;
		assert_int_equal(in.where.precise, PFM_SMPL_INTERRUPT);
		assert_int_equal(in.where.pid, getpid());
		assert_true(in.where.user.regs ||
			    (in.where.nframes >= 2 && in.where.frames[1] == in.where.ip));
		assert_int_equal(in.n, 1);
		assert_int_equal(in.counter[0].addr, CNT(0));
		assert_int_equal(in.counter[0].value % period, 0);
		assert_true(in.counter[0].value > seen->last);
		seen->last = in.counter[0].value;
		seen->ip = in.where.ip;
		seen->n++;
	}
}

/* The next event of this thread, which is of that type and not earlier than @since. Before it come
 * as many interrupts, or more, as other faults than those of the test may be among them. */
static pfm_smpl_event_t take_event(
	enum pfm_smpl_event_type type, uint64_t since, unsigned interrupts)
{
	struct interrupt in;
	unsigned n = 0;

	while (be->ops->interrupt_next(cpu, &in) && in.kind == INTERRUPT_OVERFLOW)
		n++;
	assert_int_equal(in.kind, INTERRUPT_EVENT);
	assert_int_equal(in.event.type, type);
	assert_int_equal(in.event.pid, getpid());
	assert_int_equal(in.event.tid, gettid());
	assert_true(in.event.tstamp >= since && n >= interrupts);
	return in.event;
}

/* What this thread executes and maps comes in order with its interrupts, also while nothing counts.
 */
TEST_WITH(open_thread, close_cpu, interrupt_events)
{
	const struct interrupt_conf conf = {.batch = 1, .events = true};
	CLEANUP_CLOSE int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t sel = event("page-faults");
	char *p = fresh_pages(2);
	pfm_smpl_event_t ev;
	struct interrupt in;
	struct err e = {0};
	void *code;

	assert_true(be->ops->interrupts_open(cpu, &conf, &e) >= 0);
	prctl(PR_SET_NAME, "renamed");
	ev = take_event(PFM_EVENT_COMM, nsec_now(CLOCK_MONOTONIC) - NSEC_PER_SEC, 0);
	assert_string_equal(ev.name, "renamed");
	assert_int_equal(be->ops->interrupt_after(cpu, CNT(0), sel, 1, 1, &e), 0);
	start(0, sel);
	touch(p, 1);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, 0);
	touch(p + 4096, 1);
	stop(0);
	prctl(PR_SET_NAME, "test_perf");
	assert_ptr_not_equal(code, MAP_FAILED);
	ev = take_event(PFM_EVENT_MMAP, ev.tstamp, 1);
	assert_true(ev.addr == (uintptr_t)code && ev.len == 4096 && ev.pgoff == 0);
	assert_string_equal(strrchr(ev.name, '/'), "/test_perf");
	assert_true(ev.file.build_id_size || ev.file.inode);
	take_event(PFM_EVENT_COMM, ev.tstamp, 1);
	assert_false(be->ops->interrupt_next(cpu, &in));
	munmap(code, 4096);
	munmap(p, 2 * 4096);
}

/* The registers at a fault, and the stack from the stack pointer on. */
TEST_WITH(open_thread, close_cpu, interrupt_user_stack)
{
	enum { SIZE = 16384 };
	const struct interrupt_conf conf = {.batch = 1, .stacks = true, .user_stack = SIZE};
	volatile uint64_t mark[] = {0x6d61726b6d61726b, 0x7374616b7374616b};
	uint64_t sel = event("page-faults"), here = (uintptr_t)mark, sp;
	char *p = fresh_pages(1);
	struct interrupt in = {0};
	struct err e = {0};

	if (!be->user_stacks)
		skip();
	assert_true(be->ops->interrupts_bytes(&conf) >
		    be->ops->interrupts_bytes(&(struct interrupt_conf){.batch = 1}));
	assert_true(be->ops->interrupts_open(cpu, &conf, &e) >= 0);
	assert_int_equal(be->ops->interrupt_after(cpu, CNT(0), sel, 1, 1, &e), 0);
	start(0, sel);
	touch(p, 1);
	stop(0);
	while (be->ops->interrupt_next(cpu, &in) && in.where.ip >> 63)
		;
	assert_int_equal(in.kind, INTERRUPT_OVERFLOW);
	assert_non_null(in.where.user.regs);
	assert_int_equal(in.where.user.abi, 2);
	assert_true(in.where.user.stack_size % 8 == 0 && in.where.user.stack_size <= SIZE);
	assert_int_equal(in.where.user.regs[PFM_STACK_IP], in.where.ip);
	sp = in.where.user.regs[PFM_STACK_SP];
	assert_true(here > sp && here + sizeof(mark) <= sp + in.where.user.stack_size);
	assert_memory_equal((const char *)in.where.user.stack + (here - sp),
		(const void *)(uintptr_t)mark, sizeof(mark));
	for (unsigned i = 0; i < in.where.nframes; i++)
		assert_int_not_equal(in.where.frames[i], PFM_STACK_USER);
	munmap(p, 4096);
}

/* The end of the next wait that is as long, or of a length that is not known. */
static struct interrupt take_wait(uint64_t ns, uint64_t *dropped, uint64_t *sampled)
{
	struct interrupt in;

	while (be->ops->interrupt_next(cpu, &in)) {
		if (in.kind == INTERRUPT_DROPPED)
			*dropped += in.dropped;
		if (in.kind == INTERRUPT_OVERFLOW)
			*sampled = in.time;
		if (in.kind == INTERRUPT_EVENT && in.event.type == PFM_EVENT_WAIT &&
			(!in.event.len || in.event.len >= ns))
			return in;
	}
	fail_msg("no wait");
	return in;
}

/* How long a thread waits, and where. Where records of its switches may be missing, this is not
 * known until there is a sample again. */
TEST_WITH(open_thread, close_cpu, waits)
{
	enum { PAGES = 20000, MS = 5 };
	const struct interrupt_conf conf = {
		.batch = 1, .stacks = true, .events = true, .waits = true};
	uint64_t sel = event("context-switches"), from, dropped = 0, sampled = 0;
	char *p = fresh_pages(PAGES);
	struct interrupt in;
	struct err e = {0};

	assert_true(be->ops->interrupts_open(cpu, &conf, &e) >= 0);
	assert_int_equal(be->ops->interrupt_after(cpu, CNT(0), sel, 1, 1, &e), 0);
	start(0, sel);
	from = now();
	sleep_ms(MS);
	in = take_wait(MS * MSEC, &dropped, &sampled);
	assert_true(in.event.len >= MS * MSEC && in.event.tstamp <= now());
	assert_int_equal(in.event.addr, 0);
	assert_int_equal(in.event.pid, getpid());
	assert_int_equal(in.event.tid, gettid());
	assert_true(sampled >= from && sampled <= in.event.tstamp - in.event.len);
	assert_int_equal(dropped, 0);
	/* Without samples, as while monitoring is masked */
	stop(0);
	sleep_ms(MS);
	assert_true(take_wait(MS * MSEC, &dropped, &sampled).event.len >= MS * MSEC);
	/* Samples that find no room, then a wait without one */
	assert_int_equal(be->ops->interrupt_after(cpu, CNT(1), event("page-faults"), 1, 1, &e), 0);
	start(1, event("page-faults"));
	touch(p, PAGES);
	stop(1);
	while (be->ops->interrupt_next(cpu, &in))
		dropped += in.kind == INTERRUPT_DROPPED;
	sleep_ms(MS);
	assert_int_equal(take_wait(MS * MSEC, &dropped, &sampled).event.len, 0);
	assert_true(dropped);
	start(0, sel);
	sleep_ms(MS);
	assert_true(take_wait(MS * MSEC, &dropped, &sampled).event.len >= MS * MSEC);
	munmap(p, PAGES * 4096UL);
}

/* Each fault is an interrupt, with the address of the instruction that it interrupts. Other threads
 * of the CPU may fill the ring: then that round does not count. */
static void interrupts(void)
{
	enum { PAGES = 20, ROUNDS = 15 };
	char *p = fresh_pages(PAGES);
	uint64_t sel = event("page-faults");
	struct interrupts_seen seen = {0};
	unsigned whole = 0;

	interrupt_each(sel, 1);
	start(0, sel);
	while (whole < ROUNDS) {
		seen.n = 0;
		touch(p, PAGES);
		take_interrupts(&seen, 1);
		assert_true(seen.n == 0 || seen.ip);
		whole += seen.n >= PAGES;
		madvise(p, PAGES * 4096, MADV_DONTNEED);
	}
	stop(0);
	take_interrupts(&seen, 1);
	assert_true(seen.last <= get(CNT(0)));
	munmap(p, PAGES * 4096);
}

ON_BOTH(interrupts)

/* What finds no room is counted, and once: no overflow is missing in silence, whether or not others
 * find room later. Before Linux 6.0, only those tell. */
static void drop_interrupts(uint32_t user_stack)
{
	enum { PAGES = 20000 };
	char *p = fresh_pages(2 * PAGES + 10);
	uint64_t sel = event("page-faults");
	struct interrupts_seen seen = {0};

	interrupt_with(user_stack, sel, 1);
	for (unsigned round = 0; round < 2; round++) {
		start(0, sel);
		touch(p + round * PAGES * 4096UL, PAGES);
		stop(0);
		take_interrupts(&seen, 1);
		assert_true(kernel.old || seen.dropped > 0);
		assert_true(kernel.old || seen.n + seen.dropped == get(CNT(0)));
	}
	start(0, sel);
	touch(p + 2 * PAGES * 4096UL, 10);
	stop(0);
	take_interrupts(&seen, 1);
	assert_int_equal(seen.n + seen.dropped, get(CNT(0)));
	munmap(p, (2 * PAGES + 10) * 4096UL);
}

TEST_WITH(open_thread, close_cpu, interrupts_dropped)
{
	drop_interrupts(0);
}

static int open_thread_on_old_kernel(void **state)
{
	kernel.old = true;
	return open_thread(state);
}

static int close_cpu_of_old_kernel(void **state)
{
	kernel.old = false;
	return close_cpu(state);
}

TEST_WITH(open_thread_on_old_kernel, close_cpu_of_old_kernel, interrupts_dropped_by_old_kernel)
{
	drop_interrupts(0);
}

TEST_WITH(open_thread, close_cpu, user_stacks_dropped)
{
	if (!be->user_stacks)
		skip();
	drop_interrupts(65528);
}

/* A stop, a new period, and none. */
TEST_WITH(open_thread, close_cpu, interrupts_period)
{
	enum { PAGES = 100 };
	char *p = fresh_pages(3 * PAGES);
	uint64_t sel = event("page-faults");
	struct interrupts_seen seen = {0};
	struct err e = {0};

	interrupt_each(sel, 10);
	start(0, sel);
	touch(p, PAGES);
	assert_int_equal(be->ops->interrupt_after(cpu, CNT(0), sel, 0, 5, &e), 0);
	take_interrupts(&seen, 1);
	assert_true(seen.n >= PAGES / 10 && seen.n < PAGES / 5);
	touch(p + PAGES * 4096, PAGES);
	stop(0);
	take_interrupts(&seen, 1);
	assert_true(seen.n >= PAGES / 10 + PAGES / 5);
	assert_int_equal(be->ops->interrupt_after(cpu, CNT(0), sel, 0, 0, &e), 0);
	start(0, sel);
	touch(p + 2 * PAGES * 4096, PAGES);
	stop(0);
	seen.n = 0;
	take_interrupts(&seen, 1);
	assert_int_equal(seen.n, 0);
	munmap(p, 3 * PAGES * 4096);
}

/* An event that is added to those that run has not lost its place on the PMU before. */
static void interrupts_added(void)
{
	enum { ROUNDS = 5 };
	uint64_t until;
	struct interrupt in;

	start(1, event("page-faults"));
	for (unsigned round = 0; round < ROUNDS; round++) {
		interrupt_each(event("cpu-clock"), MSEC);
		start(0, event("cpu-clock"));
		until = nsec_now(CLOCK_THREAD_CPUTIME_ID) + 5 * MSEC;
		while (nsec_now(CLOCK_THREAD_CPUTIME_ID) < until)
			;
		assert_true(be->ops->interrupt_next(cpu, &in));
		do {
			assert_int_equal(in.kind, INTERRUPT_OVERFLOW);
			assert_int_equal(in.addr, CNT(0));
		} while (be->ops->interrupt_next(cpu, &in));
		release(SEL(0));
	}
}

ON_BOTH(interrupts_added)

/* A clock at user level counts a period for each interrupt, and has none at kernel level. */
static void interrupts_user_clock(void)
{
	const uint64_t user = event("cpu-clock") & ~(uint64_t)EVTSEL_OS;
	uint64_t until, n = 0;
	struct interrupt in;

	start(0, user);
	assert_int_equal(get(CNT(0)), 0);
	release(SEL(0));
	interrupt_each(user, MSEC);
	put(CNT(0), -(uint64_t)MSEC);
	start(0, user);
	until = nsec_now(CLOCK_THREAD_CPUTIME_ID) + 40 * MSEC;
	/* Half of the time or more is the kernel's. */
	while (nsec_now(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	for (volatile unsigned i = 0; i < 20000000; i++)
		;
	while (be->ops->interrupt_next(cpu, &in)) {
		assert_int_equal(in.kind, INTERRUPT_OVERFLOW);
		assert_true(in.where.ip >> 63 == 0);
		assert_int_equal(in.counter[0].value, n++ * MSEC);
	}
	assert_true(n > 0);
	assert_int_equal(get(CNT(0)), (n - 1) * MSEC);
}

ON_BOTH(interrupts_user_clock)

/* The kernel interrupts after 10 us at the earliest. Some interrupts may be throttled. */
static void interrupts_user_clock_short(void)
{
	const uint64_t user = event("cpu-clock") & ~(uint64_t)EVTSEL_OS, least = 10000;
	struct interrupt in;
	unsigned n = 0;

	interrupt_each(user, 1000);
	put(CNT(0), 0);
	start(0, user);
	for (volatile unsigned i = 0; i < 3000000; i++)
		;
	while (be->ops->interrupt_next(cpu, &in)) {
		if (in.kind != INTERRUPT_OVERFLOW)
			continue;
		assert_int_equal(in.counter[0].value, ++n * least);
	}
	assert_true(n > 0);
}

ON_BOTH(interrupts_user_clock_short)

/* How far counter 0 is ahead of counter 1. */
static int64_t ahead(void)
{
	struct reg_op reads[] = {
		{.addr = CNT(0), .verb = REG_READ}, {.addr = CNT(1), .verb = REG_READ}};
	struct err e;

	assert_int_equal(be->ops->run(cpu, reads, 2, &e), 2);
	return (int64_t)(reads[0].value - reads[1].value);
}

/* A counter that is given a period while it runs interrupts, and counts on: nothing is left out, or
 * counted twice, while its new event is opened. A hypervisor may do so in a round. */
static void interrupts_later(void)
{
	enum { ROUNDS = 20 };
	uint64_t sel = event("cpu-clock"), until;
	int64_t before, most = INT64_MAX;
	struct interrupt in;
	struct reg_op on[] = {{.addr = SEL(0), .verb = REG_WRITE, .value = sel | EVTSEL_EN},
		{.addr = SEL(1), .verb = REG_WRITE, .value = sel | EVTSEL_EN}};
	struct err e;

	for (unsigned round = 0; round < ROUNDS; round++) {
		assert_int_equal(be->ops->run(cpu, on, 2, &e), 2);
		before = ahead();
		interrupt_each(sel, MSEC);
		before = llabs(ahead() - before);
		most = before < most ? before : most;
		until = nsec_now(CLOCK_THREAD_CPUTIME_ID) + 3 * MSEC;
		while (nsec_now(CLOCK_THREAD_CPUTIME_ID) < until)
			;
		assert_true(be->ops->interrupt_next(cpu, &in));
		assert_int_equal(in.kind, INTERRUPT_OVERFLOW);
		assert_int_equal(in.addr, CNT(0));
		release(SEL(0));
		release(SEL(1));
		while (be->ops->interrupt_next(cpu, &in))
			;
	}
	assert_true(most < 2000);
}

ON_BOTH(interrupts_later)

TEST_WITH(open_cpu, close_cpu, interrupts_refused)
{
	const struct interrupt_conf conf = {.batch = 1};
	struct err e = {0};

	if (!has_event("tsc"))
		skip();
	assert_true(be->ops->interrupts_open(cpu, &conf, &e) >= 0);
	assert_true(be->ops->interrupt_after(cpu, CNT(0), event("tsc"), 1000, 1000, &e) < 0);
	start(0, event("tsc"));
	assert_true(get(CNT(0)) > 0);
}

int main(void)
{
	struct backend_conf conf = {0};
	struct err e;
	int failed;

	if (perf_backend_ops.open(&conf, &be, &e) < 0) {
		bool lacking = e.no == EACCES || e.no == EPERM || e.no == ENOSYS;

		printf("%s%s\n", lacking ? "1..0 # SKIP " : "Bail out! ", e.text);
		return lacking ? 0 : 1;
	}
	bind_to(sysfs_cpu_first());
	failed = unit_run(NULL, NULL);
	be->ops->close(be);
	return failed;
}

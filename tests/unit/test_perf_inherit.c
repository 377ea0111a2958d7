// SPDX-License-Identifier: MIT
/* The perf backend: one set of registers for a thread and all that it creates, compared with the
 * kernel's own figures of a process and its children. */
#include "perfmonfs/backend.h"
#include "tests/unit/unit.h"

#include <limits.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "backend/perf/perf.h"
#include "base/cleanup.h"
#include "daemon/authz/proc.h"

#define SEL(n) (0x100u + (n))
#define CNT(n) (0x200u + (n))

static struct backend *be;

/* The kernel refuses to start events after so many. */
static unsigned starts = UINT_MAX;

int __real_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	if (request != PERF_EVENT_IOC_ENABLE)
		return __real_ioctl(fd, request, arg);
	if (starts > 0) {
		starts--;
		return __real_ioctl(fd, request, arg);
	}
	errno = EIO;
	return -1;
}

/* --- The program */

enum { PAGES = 500 };

enum order {
	ORDER_FAULTS,   /* PAGES faults of its own. */
	ORDER_THREAD,   /* The same by a new thread. */
	ORDER_FAMILY,   /* By a child, and by a child of that. */
	ORDER_SURVIVOR, /* A child that ends when the pipe is closed. */
	ORDER_PROGRAM,  /* It executes one. */
	ORDER_IDLER,    /* A thread that does nothing until the program ends. */
};

static struct program {
	atomic_int tid;
	int orders, answers;
	struct backend_cpu *target;
} program;

static void *program_fault(void *arg)
{
	char *p = mmap(
		NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, PAGES * 4096, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < PAGES; i++)
		((volatile char *)p)[i * 4096] = 1;
	munmap(p, PAGES * 4096);
	return arg;
}

static void program_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, program_fault, NULL) == 0)
		pthread_join(thread, NULL);
}

static void *program_idle(void *arg)
{
	pause();
	return arg;
}

static void program_family(unsigned generations)
{
	pid_t child = generations ? fork() : 0;

	if (!generations)
		return;
	if (child == 0) {
		program_fault(NULL);
		program_family(generations - 1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void program_survivor(int orders)
{
	char byte;

	if (fork())
		return;
	while (read(orders, &byte, 1) == 1)
		;
	_exit(0);
}

static void program_obey(char order, int orders)
{
	pthread_t idler;

	switch (order) {
	case ORDER_FAULTS:
		program_fault(NULL);
		break;
	case ORDER_THREAD:
		program_thread();
		break;
	case ORDER_IDLER:
		pthread_create(&idler, NULL, program_idle, NULL);
		break;
	case ORDER_FAMILY:
		program_family(2);
		break;
	case ORDER_SURVIVOR:
		program_survivor(orders);
		break;
	case ORDER_PROGRAM:
		execl("/bin/sh", "sh", "-c", "read -r line", (char *)NULL);
		_exit(1);
	}
}

static _Noreturn void program_main(int orders, int answers)
{
	char order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(orders, &order, 1) == 1) {
		if (order == ORDER_PROGRAM)
			dup2(orders, STDIN_FILENO);
		program_obey(order, orders);
		if (write(answers, &order, 1) != 1 || order == ORDER_SURVIVOR)
			break;
	}
	_exit(0);
}

/* --- The test's side */

/* @conf->process: if it is not 0, the program's number takes its place. */
static int program_begin(const struct thread_conf *conf)
{
	struct thread_conf own = *conf;
	int orders[2], answers[2];
	struct err e;
	pid_t pid;

	assert_int_equal(pipe2(orders, O_CLOEXEC), 0);
	assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		close(orders[1]);
		program_main(orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	program = (struct program){.orders = orders[1], .answers = answers[0]};
	atomic_store(&program.tid, pid);
	if (own.process)
		own.process = pid;
	if (be->ops->thread_open(be, &program.tid, &own, &program.target, &e) < 0)
		fail_msg("%s", e.text);
	return 0;
}

static int begin_inherit(void **state)
{
	static const struct thread_conf conf = {.inherit = true};

	(void)state;
	return program_begin(&conf);
}

static int begin_on_exec(void **state)
{
	static const struct thread_conf conf = {.inherit = true, .on_exec = true};

	(void)state;
	return program_begin(&conf);
}

static int begin_process(void **state)
{
	static const struct thread_conf conf = {.inherit = true, .process = 1, .max_files = 100};

	(void)state;
	return program_begin(&conf);
}

static int end(void **state)
{
	(void)state;
	be->ops->cpu_close(program.target);
	close(program.orders);
	close(program.answers);
	waitpid(atomic_load(&program.tid), NULL, 0);
	return 0;
}

static void tell(enum order order)
{
	char byte = (char)order;

	assert_int_equal(write(program.orders, &byte, 1), 1);
	if (order != ORDER_PROGRAM)
		assert_int_equal(read(program.answers, &byte, 1), 1);
}

/* Of the program and of its children that have ended; it sleeps until it is told something. */
static uint64_t kernel_faults(void)
{
	unsigned long own, children;
	char path[32], letter = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", atomic_load(&program.tid));
	while (letter != 'S') {
		FILE *f = fopen(path, "re");

		assert_non_null(f);
		assert_int_equal(fscanf(f, "%*d %*s %c %*d %*d %*d %*d %*d %*u %lu %lu", &letter,
					 &own, &children),
			3);
		fclose(f);
	}
	return own + children;
}

static uint64_t event(const char *name)
{
	for (unsigned i = 0; i < be->pmu->nevents; i++)
		if (strcmp(be->pmu->events[i].name, name) == 0)
			return be->pmu->events[i].value;
	fail_msg("no event %s", name);
	return 0;
}

/* Writes @value to selectors 0 and 1. */
static void select_both(uint64_t value)
{
	struct reg_op ops[] = {
		{.addr = SEL(0), .verb = REG_WRITE, .value = value},
		{.addr = SEL(1), .verb = REG_WRITE, .value = value},
	};
	struct err e;

	if (be->ops->run(program.target, ops, 2, &e) != 2)
		fail_msg("%s", e.text);
}

/* The first counter. Others are read a little later. */
static uint64_t count_first(void)
{
	struct reg_op op = {.addr = CNT(0), .verb = REG_READ};
	struct err e;

	if (be->ops->run(program.target, &op, 1, &e) != 1)
		fail_msg("%s", e.text);
	return op.value;
}

/* Both have counted the same, as the program sleeps. */
static uint64_t count(void)
{
	uint64_t first = count_first();
	struct reg_op op = {.addr = CNT(1), .verb = REG_READ};
	struct err e;

	if (be->ops->run(program.target, &op, 1, &e) != 1)
		fail_msg("%s", e.text);
	assert_int_equal(op.value, first);
	return first;
}

/* All that it does, and what its threads, children and their children do; nothing between a stop
 * and the next start. */
TEST_WITH(begin_inherit, end, sum)
{
	uint64_t on = event("minor-faults"), before, after, sum = 0;

	for (unsigned round = 0; round < 3; round++) {
		before = kernel_faults();
		select_both(on);
		for (enum order o = ORDER_FAULTS; o <= ORDER_FAMILY; o++) {
			tell(o);
			after = kernel_faults(); /* it sleeps */
			assert_int_equal(count(), sum + after - before);
		}
		sum = count();
		assert_true(sum >= (round + 1) * 4 * PAGES);
		select_both(on & ~EVTSEL_EN);
		tell(ORDER_FAMILY);
		assert_int_equal(count(), sum);
	}
}

/* The children that exist would not count it. */
TEST_WITH(begin_inherit, end, other_event)
{
	struct reg_op op = {.addr = SEL(2), .verb = REG_WRITE, .value = event("minor-faults")};
	uint64_t on = event("minor-faults");
	struct err e;

	select_both(on);
	assert_int_equal(be->ops->run(program.target, &op, 1, &e), 0);
	assert_int_equal(e.no, EBUSY);
	select_both(on & ~EVTSEL_EN);
	assert_int_equal(be->ops->run(program.target, &op, 1, &e), 0);
	assert_int_equal(e.no, EBUSY);
	select_both(on);
}

TEST_WITH(begin_on_exec, end, on_exec)
{
	select_both(event("minor-faults"));
	tell(ORDER_FAMILY);
	assert_int_equal(count(), 0);
	assert_int_equal(be->ops->thread_time(program.target), 0);
	tell(ORDER_PROGRAM);
	while (!count_first())
		usleep(1000);
	assert_true(be->ops->thread_time(program.target) > 0);
}

/* A stop ends the waiting: what comes after it is counted from the next start on. */
TEST_WITH(begin_on_exec, end, on_exec_stopped)
{
	uint64_t on = event("minor-faults"), time;

	select_both(on);
	select_both(on & ~EVTSEL_EN);
	tell(ORDER_PROGRAM);
	while (!be->ops->thread_time(program.target))
		usleep(1000);
	assert_true(kernel_faults() > 0);
	assert_int_equal(count(), 0);
	time = be->ops->thread_time(program.target);
	select_both(on);
	assert_int_equal(count(), 0);
	assert_int_equal(be->ops->thread_time(program.target), time);
}

static bool is_gone(int fd)
{
	struct pollfd p = {.fd = fd};

	assert_true(poll(&p, 1, 0) >= 0);
	return p.revents & POLLHUP;
}

/* The last one that has inherited the registers has ended. */
TEST_WITH(begin_inherit, end, watch)
{
	struct err e;
	int fd = be->ops->thread_watch(program.target, &e);

	if (fd < 0)
		fail_msg("%s", e.text);
	assert_int_equal(be->ops->thread_watch(program.target, &e), fd);
	select_both(event("minor-faults"));
	tell(ORDER_FAMILY);
	assert_false(is_gone(fd));
	tell(ORDER_SURVIVOR);
	while (!proc_is_zombie(atomic_load(&program.tid)))
		usleep(1000);
	assert_false(is_gone(fd));
	close(program.orders);
	while (!is_gone(fd))
		usleep(1000);
	program.orders = -1;
	assert_true(count() >= 2 * PAGES);
}

/* Ring buffers of perf events, which are locked memory. */
static unsigned rings(void)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "[perf_event]") != NULL;
	return n;
}

/* Every thread of a process is waited for, and few of them take locked memory for that. */
TEST_WITH(begin_process, end, watch_process)
{
	enum { IDLERS = 8, RINGS = 3 };
	unsigned before = rings();
	struct err e;
	int fd;

	for (int i = 0; i < IDLERS; i++)
		tell(ORDER_IDLER);
	select_both(event("minor-faults"));
	fd = be->ops->thread_watch(program.target, &e);
	assert_true(fd >= 0);
	assert_false(is_gone(fd));
	close(program.orders);
	program.orders = -1;
	while (fd >= 0) {
		assert_in_range(rings(), before + 1, before + RINGS);
		while (!is_gone(fd))
			usleep(1000);
		fd = be->ops->thread_watch(program.target, &e);
	}
	assert_int_equal(e.no, ESRCH);
}

/* The kernel starts @threads, and refuses the next one. */
static void start_refused(uint64_t value, unsigned threads)
{
	struct reg_op ops[] = {
		{.addr = SEL(0), .verb = REG_WRITE, .value = value},
		{.addr = SEL(1), .verb = REG_WRITE, .value = value},
	};
	struct err e;

	starts = threads;
	assert_int_equal(be->ops->run(program.target, ops, 2, &e), 1);
	starts = UINT_MAX;
	assert_int_equal(e.no, EIO);
}

/* However often, it leaves no more than the events of one start, and they do not count. */
TEST_WITH(begin_process, end, start_refused)
{
	unsigned n;

	start_refused(event("minor-faults"), 0);
	n = open_files();
	start_refused(event("minor-faults"), 0);
	assert_int_equal(open_files(), n);
	tell(ORDER_FAULTS);
	select_both(event("minor-faults"));
	assert_int_equal(open_files(), n);
	tell(ORDER_FAULTS);
	assert_in_range(count(), PAGES, PAGES + 50);
}

/* The threads that have been started are stopped again. */
TEST_WITH(begin_process, end, restart_refused)
{
	uint64_t on = event("minor-faults"), off = on & ~EVTSEL_EN, counted;

	tell(ORDER_IDLER);
	select_both(on);
	select_both(off);
	counted = count();
	start_refused(on, 1);
	tell(ORDER_FAULTS);
	select_both(off);
	assert_in_range(count(), counted, counted + 50);
	select_both(on);
	tell(ORDER_FAULTS);
	select_both(off);
	assert_in_range(count(), counted + PAGES, counted + PAGES + 100);
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
	if (!be->opens_threads) {
		printf("1..0 # SKIP CPUs of several kinds: the backend opens no threads\n");
		be->ops->close(be);
		return 0;
	}
	failed = unit_run(NULL, NULL);
	be->ops->close(be);
	return failed;
}

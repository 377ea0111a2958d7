// SPDX-License-Identifier: MIT
/*
 * The tracer, against programs that check themselves, and their parents: what they observe when
 * traced must equal what they observe untraced.
 */
#include "daemon/ptrace/tracer.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "tests/unit/tracing.h"

#define START(t, ...) target_start(t, (const char *const[]){__VA_ARGS__, NULL})

static struct trace trace;
static struct err err;

static int begin(void **state)
{
	(void)state;
	trace_begin(&trace);
	return 0;
}

static int end(void **state)
{
	(void)state;
	trace_end(&trace);
	return 0;
}

static void seize(pid_t tid, bool follow)
{
	if (trace_seize(&trace, tid, follow, &err) != 0)
		fail_msg("%s", err.text);
}

static int found(int kind, pid_t a, pid_t b)
{
	int place = trace_find(&trace, kind, a, b, TIMEOUT_MS);

	if (place < 0)
		fail_msg("no event of kind %d of %d, %d", kind, a, b);
	return place;
}

static void detach(pid_t tid)
{
	tracer_detach(trace.tr, tid);
	found(ENDED, tid, 0);
	trace_clear(&trace);
}

/* Returns when the tracer has handled all earlier orders. @tid is traced. */
static void sync_tracer(pid_t tid)
{
	assert_int_equal(trace_seize(&trace, tid, true, &err), -EBUSY);
}

static void stop(pid_t tid)
{
	tracer_stop(trace.tr, tid);
	/* It may first be seen in a signal-delivery-stop, which the tracer ends. */
	do {
		sync_tracer(tid);
		assert_true(await_state(tid, "t"));
		sync_tracer(tid);
	} while (state_of(tid) != 't');
	trace_clear(&trace);
}

static bool runs(pid_t tid)
{
	return await_state(tid, "RSD");
}

/* Runs "target @what @pid"; its exit status. */
static int run_tool(const char *what, pid_t pid)
{
	char number[16];
	int status;
	pid_t tool;

	snprintf(number, sizeof(number), "%d", pid);
	tool = fork();
	if (tool == 0) {
		execl(TARGET, TARGET, what, number, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(tool, &status, 0), tool);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int test_attach(pid_t pid)
{
	return run_tool("attach", pid);
}

/* A signal ends PTRACE_SEIZE of a thread that is executing a program. TSan keeps signals back until
 * a system call has ended. */
static bool tsan_keeps_signals(void)
{
#ifdef __SANITIZE_THREAD__
	print_message("# skipped: TSan keeps signals back until a system call has ended\n");
	return true;
#else
	return false;
#endif
}

/* Rights to attach */

TEST_WITH(begin, end, refusals)
{
	char number[16];
	struct target t, other;
	pid_t dead;

	START(&t, "@", "wait");
	seize(t.pid, false);
	assert_int_equal(tracer_pid(t.pid) > 0, 1);
	assert_int_equal(trace_seize(&trace, t.pid, true, &err), -EBUSY);
	assert_int_equal(test_attach(t.pid), EPERM);
	detach(t.pid);
	assert_int_equal(tracer_pid(t.pid), 0);
	assert_int_equal(test_attach(t.pid), 0);

	snprintf(number, sizeof(number), "%d", t.pid);
	START(&other, "@", "trace", number);
	target_go(&other);
	target_expect(&other, "traced");
	assert_int_equal(trace_seize(&trace, t.pid, false, &err), -EBUSY);
	snprintf(number, sizeof(number), " %d ", other.pid);
	assert_non_null(strstr(err.text, number));
	target_go(&other);
	target_expect(&other, "exited 0");
	target_end(&other);
	seize(t.pid, false);
	target_end(&t);
	found(ENDED, t.pid, 0);

	assert_int_equal(trace_seize(&trace, t.pid, false, &err), -ESRCH);
	dead = fork();
	if (dead == 0)
		_exit(0);
	assert_true(await_state(dead, "Z"));
	assert_int_equal(trace_seize(&trace, dead, false, &err), -ESRCH);
	assert_int_equal(trace_seize(&trace, getpid(), false, &err), -EPERM);
	/* The tracer has not reaped another child of the process. */
	assert_int_equal(waitpid(dead, NULL, 0), dead);
}

/* Orders for threads that are not traced do nothing. */
TEST_WITH(begin, end, untraced)
{
	struct target t;

	START(&t, "@", "wait");
	tracer_stop(trace.tr, t.pid);
	tracer_cont(trace.tr, t.pid);
	tracer_detach(trace.tr, t.pid);
	seize(t.pid, false);
	tracer_cont(trace.tr, t.pid);
	tracer_resume(trace.tr, t.pid);
	detach(t.pid);
	assert_true(runs(t.pid));
	target_end(&t);
}

TEST(free_detaches)
{
	struct target running, halted, stopped;
	unsigned files = open_files();

	trace_begin(&trace);
	START(&running, "@", "wait");
	START(&halted, "@", "wait");
	START(&stopped, "@", "wait");
	kill(stopped.pid, SIGSTOP);
	target_expect(&stopped, "stopped %d", SIGSTOP);
	seize(running.pid, true);
	seize(halted.pid, true);
	seize(stopped.pid, true);
	stop(halted.pid);
	trace_end(&trace);
	assert_int_equal(tracer_pid(running.pid), 0);
	assert_int_equal(tracer_pid(halted.pid), 0);
	assert_int_equal(tracer_pid(stopped.pid), 0);
	assert_true(runs(running.pid));
	assert_true(runs(halted.pid));
	assert_true(await_state(stopped.pid, "T"));
	target_end(&running);
	target_end(&halted);
	target_end(&stopped);
	assert_int_equal(open_files(), files);
}

/* Stopping and continuing, as a parent sees it */

/* What is done between the steps. The parent must not notice. */
enum interference {
	UNTRACED,
	SEIZED,
	TRACER_STOPPED,
	SEIZED_STOPPED,
	DETACHED_STOPPED,
	INTERFERENCES
};

static void interfere(enum interference how, pid_t pid, bool stopped)
{
	switch (how) {
	case TRACER_STOPPED:
		stop(pid);
		if (!stopped)
			tracer_resume(trace.tr, pid);
		break;
	case SEIZED_STOPPED:
		if (stopped)
			seize(pid, true);
		else
			detach(pid);
		break;
	case DETACHED_STOPPED:
		if (stopped) {
			detach(pid);
			assert_int_equal(tracer_pid(pid), 0);
			assert_true(await_state(pid, "T"));
		} else {
			seize(pid, true);
		}
		break;
	default:
		break;
	}
}

static void stop_and_continue(enum interference how)
{
	static const int stops[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP};
	struct target t;

	START(&t, "@", "wait");
	if (how == SEIZED || how == TRACER_STOPPED || how == DETACHED_STOPPED)
		seize(t.pid, true);
	for (unsigned i = 0; i < COUNT(stops); i++) {
		kill(t.pid, stops[i]);
		target_expect(&t, "stopped %d", stops[i]);
		assert_true(await_state(t.pid, "Tt"));
		interfere(how, t.pid, true);
		assert_true(await_state(t.pid, "Tt"));
		kill(t.pid, SIGCONT);
		if (how == TRACER_STOPPED)
			tracer_resume(trace.tr, t.pid);
		target_expect(&t, "continued");
		assert_true(runs(t.pid));
		interfere(how, t.pid, false);
	}
	kill(t.pid, SIGSTOP);
	target_expect(&t, "stopped %d", SIGSTOP);
	kill(t.pid, SIGKILL);
	target_expect(&t, "killed %d", SIGKILL);
	target_end(&t);
}

TEST_WITH(begin, end, stop_and_continue)
{
	for (int how = 0; how < INTERFERENCES; how++)
		stop_and_continue((enum interference)how);
}

/* It does not run between tracer_stop() and tracer_resume(), and runs after. */
TEST_WITH(begin, end, stop)
{
	struct target t;

	START(&t, "@", "count", "1000000");
	seize(t.pid, true);
	target_go(&t);
	assert_int_equal(target_number(&t, "ready"), t.pid);
	assert_true(await_state(t.pid, "R"));
	for (int i = 0; i < 100; i++) {
		stop(t.pid);
		assert_int_equal(state_of(t.pid), 't');
		tracer_stop(trace.tr, t.pid);
		tracer_resume(trace.tr, t.pid);
		/* Perhaps before the last orders took effect. */
		tracer_stop(trace.tr, t.pid);
		tracer_resume(trace.tr, t.pid);
		sync_tracer(t.pid);
		assert_true(runs(t.pid));
		trace_clear(&trace);
	}
	stop(t.pid);
	detach(t.pid);
	assert_true(runs(t.pid));
	seize(t.pid, true);
	stop(t.pid);
	kill(t.pid, SIGKILL);
	target_expect(&t, "killed %d", SIGKILL);
	target_end(&t);
	found(ENDED, t.pid, 0);
}

/* Signals */

struct sender {
	pthread_t thread;
	pid_t to;
	int n;
};

static void send_value(pid_t to, int value)
{
	while (sigqueue(to, SIGRTMIN, (union sigval){.sival_int = value}) < 0 && errno == EAGAIN)
		nap_us(200);
}

static void *send_values(void *arg)
{
	const struct sender *s = arg;

	for (int i = 0; i < s->n; i++)
		send_value(s->to, i);
	return NULL;
}

static pid_t start_receiver(const char *mode, struct target *t, int n)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", n);
	START(t, "@", mode, number);
	target_go(t);
	return target_number(t, "ready");
}

static void start_counting(struct target *t, struct sender *s)
{
	s->n = 20000;
	s->to = start_receiver("count", t, s->n);
	assert_int_equal(pthread_create(&s->thread, NULL, send_values, s), 0);
}

TEST_WITH(begin, end, signals_while_stopped)
{
	struct target t;
	struct sender s;

	start_counting(&t, &s);
	seize(t.pid, true);
	for (int i = 0; i < 300; i++) {
		if (i % 3)
			stop(t.pid);
		nap_us(rand() % 500);
		tracer_resume(trace.tr, t.pid);
		nap_us(rand() % 200);
	}
	pthread_join(s.thread, NULL);
	target_go(&t);
	target_expect(&t, "exited 0");
	target_end(&t);
}

TEST_WITH(begin, end, detach_and_seize)
{
	struct target t;
	struct sender s;

	start_counting(&t, &s);
	for (int i = 0; i < 1000; i++) {
		seize(t.pid, true);
		detach(t.pid);
	}
	pthread_join(s.thread, NULL);
	target_go(&t);
	target_expect(&t, "exited 0");
	target_end(&t);
}

/* The tracer is killed */

static void interfere_forever(const pid_t *pids, int n)
{
	for (;;) {
		pid_t pid = pids[rand() % n];

		tracer_stop(trace.tr, pid);
		nap_us(rand() % 100);
		tracer_resume(trace.tr, pid);
		nap_us(rand() % 500);
		if (rand() % 8 == 0)
			tracer_detach(trace.tr, pid);
		trace_seize(&trace, pid, true, &err);
	}
}

/* Again while it is told to: the kernel may take its time, on a busy machine too. */
static int seize_at_last(pid_t tid, bool follow)
{
	unsigned long long until = msec() + TIMEOUT_MS;
	int rc;

	while ((rc = trace_seize(&trace, tid, follow, &err)) == -EAGAIN && msec() < until)
		nap_us(1000);
	return rc;
}

/* A process that traces @pids until it is killed. */
static pid_t start_host(const pid_t *pids, int n, bool idle)
{
	int ready[2];
	pid_t host;
	char c;

	assert_int_equal(pipe(ready), 0);
	host = fork();
	if (host == 0) {
		trace_begin(&trace);
		for (int i = 0; i < n; i++)
			if (seize_at_last(pids[i], true) != 0) {
				fprintf(stderr, "# %s\n", err.text);
				_exit(1);
			}
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		if (!idle)
			interfere_forever(pids, n);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return host;
}

/* Enough for the tracer to be killed while it passes on signals. */
enum { COLLECTORS = 6, KILLED_VALUES = 100000 };

static _Noreturn void send_to_all(const struct target *t)
{
	for (int i = 0; i < KILLED_VALUES; i++)
		for (int k = 0; k < COLLECTORS; k++)
			send_value(t[k].pid, i);
	_exit(0);
}

TEST(killed)
{
	struct target t[COLLECTORS + 1], *stopped = &t[COLLECTORS];
	pid_t pids[COLLECTORS + 1], sender, host;

	for (int k = 0; k < COLLECTORS; k++)
		pids[k] = start_receiver("collect", &t[k], KILLED_VALUES);
	START(stopped, "@", "wait");
	pids[COLLECTORS] = stopped->pid;
	kill(stopped->pid, SIGSTOP);
	target_expect(stopped, "stopped %d", SIGSTOP);
	/* A process: the hosts, which are forked, would not have a thread of this one. */
	sender = fork();
	if (sender == 0)
		send_to_all(t);
	for (unsigned i = 0; i < 50; i++) {
		srand(i);
		host = start_host(pids, COLLECTORS + 1, false);
		nap_us(rand() % 10000);
		kill(host, SIGKILL);
		assert_int_equal(waitpid(host, NULL, 0), host);
		for (int k = 0; k < COLLECTORS; k++) {
			assert_int_equal(tracer_pid(pids[k]), 0);
			assert_true(runs(pids[k]));
		}
		assert_int_equal(tracer_pid(stopped->pid), 0);
		assert_true(await_state(stopped->pid, "T"));
	}
	assert_int_equal(waitpid(sender, NULL, 0), sender);
	for (int k = 0; k < COLLECTORS; k++) {
		target_go(&t[k]);
		target_expect(&t[k], "exited 0");
		target_end(&t[k]);
	}
	kill(stopped->pid, SIGCONT);
	target_expect(stopped, "continued");
	target_end(stopped);
}

/* Runs thread @tid to the entry or exit of a system call. False: it blocks in one. */
static bool next_call(pid_t tid)
{
	assert_int_equal(ptrace(PTRACE_SYSCALL, tid, 0, 0), 0);
	for (int i = 0; i < 200; i++) {
		pid_t pid = waitpid(tid, NULL, __WALL | WNOHANG);

		assert_true(pid >= 0);
		if (pid == tid)
			return true;
		nap_us(500);
	}
	return false;
}

/* Kills the tracer @n stops after a signal was sent to @t. False: it blocks before. */
static bool killed_at_call(const struct target *t, int value, int n)
{
	pid_t host, tracer;
	bool more = true;

	host = start_host(&t->pid, 1, true);
	tracer = tracer_pid(t->pid);
	assert_int_equal(ptrace(PTRACE_SEIZE, tracer, 0, 0), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, tracer, 0, 0), 0);
	assert_int_equal(waitpid(tracer, NULL, __WALL), tracer);
	send_value(t->pid, value);
	while (more && n--)
		more = next_call(tracer);
	kill(host, SIGKILL);
	assert_int_equal(waitpid(tracer, NULL, __WALL), tracer);
	assert_int_equal(waitpid(host, NULL, 0), host);
	assert_true(runs(t->pid));
	return more;
}

TEST(killed_at_each_call)
{
	struct target t;
	int n = 0;

	start_receiver("collect", &t, 1000);
	while (killed_at_call(&t, n, n))
		n++;
	assert_true(n > 10);
	while (++n < 1000)
		send_value(t.pid, n);
	target_go(&t);
	target_expect(&t, "exited 0");
	target_end(&t);
}

/* Threads and processes */

static void test_many(const char *what, const char *number, unsigned n)
{
	unsigned files = open_files();
	struct target t;

	START(&t, "@", what, number);
	seize(t.pid, true);
	target_go(&t);
	target_expect(&t, "exited 0");
	target_end(&t);
	found(ENDED, t.pid, 0);
	assert_int_equal(trace_count(&trace, BORN), n);
	assert_int_equal(trace_count(&trace, ENDED), n + 1);
	assert_int_equal(open_files(), files);
}

TEST_WITH(begin, end, threads)
{
	test_many("threads", "500", 500);
}

TEST_WITH(begin, end, forks)
{
	test_many("forks", "200", 200);
}

TEST_WITH(begin, end, vforks)
{
	test_many("vfork", "50", 50);
	assert_int_equal(trace_count(&trace, EXEC), 50);
}

/* Begins to detach a vfork parent, which waits in the kernel for its child @born.b. */
static struct trace_event detach_vfork(struct target *t)
{
	struct trace_event born;

	trace_keep_stopped(&trace, true);
	START(t, "@", "vfork", "1");
	seize(t->pid, true);
	target_go(t);
	born = trace_at(&trace, found(BORN, t->pid, 0));
	tracer_detach(trace.tr, t->pid);
	return born;
}

/* A vfork parent that waits in the kernel is detached only after its child has executed. */
TEST_WITH(begin, end, vfork_detach)
{
	struct target t;
	struct trace_event born = detach_vfork(&t);

	assert_true(trace_find(&trace, ENDED, t.pid, 0, 100) < 0);
	assert_true(await_state(born.b, "t"));
	tracer_cont(trace.tr, born.b);
	found(EXEC, born.b, born.b);
	found(ENDED, t.pid, 0);
	tracer_cont(trace.tr, born.b);
	found(ENDED, born.b, 0);
	target_expect(&t, "exited 0");
	target_end(&t);
}

/* A thread that waits in the kernel for its own request cannot be detached: it stays attached. A
 * vfork parent is such a thread. */
TEST_WITH(begin, end, kept)
{
	struct target t;
	struct trace_event born = detach_vfork(&t);

	assert_int_equal(trace_seize(&trace, t.pid, true, &err), -EBUSY);
	assert_int_equal(trace_seize_by_itself(&trace, t.pid, false, &err), -EAGAIN);
	assert_int_equal(trace_seize_by_itself(&trace, t.pid, true, &err), 0);
	tracer_cont(trace.tr, born.b);
	found(EXEC, born.b, born.b);
	assert_true(trace_find(&trace, ENDED, t.pid, 0, 100) < 0);
	assert_int_equal(trace_seize(&trace, t.pid, true, &err), -EBUSY);
	detach(t.pid);
	tracer_cont(trace.tr, born.b);
	target_expect(&t, "exited 0");
	target_end(&t);
}

/* Children whose parent was killed before its clone event must not stay stopped. */
static unsigned group_in(pid_t group, const char *letters)
{
	CLEANUP_CLOSEDIR DIR *d = opendir("/proc");
	const struct dirent *de;
	unsigned n = 0;

	while ((de = readdir(d))) {
		pid_t pid = atoi(de->d_name);
		char c = 0;

		if (pid && getpgid(pid) == group)
			c = state_of(pid);
		n += c && strchr(letters, c);
	}
	return n;
}

TEST_WITH(begin, end, reparented)
{
	/* To reap them here. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < 20; i++) {
		unsigned long long until;
		struct target t;

		START(&t, "@", "reparented", "1000");
		seize(t.pid, true);
		target_go(&t);
		target_number(&t, "group");
		nap_us(rand() % 3000);
		kill(t.pid, SIGKILL);
		target_expect(&t, "killed %d", SIGKILL);
		until = msec() + TIMEOUT_MS;
		/* Stopped, or about to be. */
		while (group_in(t.pid, "RDtT") && msec() < until)
			nap_us(1000);
		assert_int_equal(group_in(t.pid, "RDtT"), 0);
		target_end(&t);
		kill(-t.pid, SIGKILL);
		while (waitpid(-t.pid, NULL, 0) > 0)
			;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* The end of a thread group leader is not reported. It is noticed most of the time, and always
 * after tracer_detach(). */
TEST_WITH(begin, end, leader_ends)
{
	int noticed = 0;

	for (int i = 0; i < 6; i++) {
		struct target t;
		pid_t other;

		START(&t, "@", "leader");
		seize(t.pid, true);
		target_go(&t);
		other = target_number(&t, "tid");
		found(BORN, t.pid, other);
		assert_true(await_state(t.pid, "Z"));
		noticed += trace_find(&trace, ENDED, t.pid, 0, 100) >= 0;
		if (i % 2) {
			tracer_detach(trace.tr, t.pid);
			found(ENDED, t.pid, 0);
		}
		target_go(&t);
		target_expect(&t, "exited 5");
		target_end(&t);
		found(ENDED, other, 0);
		found(ENDED, t.pid, 0);
	}
	assert_true(noticed > 0);
}

/* Exec */

static pid_t start_exec(struct target *t, bool follow)
{
	START(t, "@", "exec");
	if (follow)
		seize(t->pid, true);
	target_go(t);
	return target_number(t, "tid");
}

static void assert_executed(const struct target *t, bool traced)
{
	char path[32], name[16] = "";
	CLEANUP_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", t->pid);
	fd = open(path, O_RDONLY);
	while (pread(fd, name, 0, 0) == 0 && strcmp(name, "wait") != 0) {
		char line[512] = "";
		ssize_t n = pread(fd, line, sizeof(line) - 1, 0);

		assert_true(n >= 0);
		snprintf(name, sizeof(name), "%.15s", line + strlen(line) + 1);
		nap_us(500);
	}
	assert_true(runs(t->pid));
	assert_int_equal(tracer_pid(t->pid) != 0, traced);
}

TEST_WITH(begin, end, exec)
{
	struct target t;
	pid_t other;

	START(&t, "@", "as", "0", "/bin/sleep", "1000");
	seize(t.pid, false);
	trace_keep_stopped(&trace, true);
	target_go(&t);
	found(EXEC, t.pid, t.pid);
	assert_true(await_state(t.pid, "t"));
	tracer_cont(trace.tr, t.pid);
	assert_true(runs(t.pid));
	target_end(&t);
	trace_keep_stopped(&trace, false);
	trace_clear(&trace);

	/* All threads are traced. */
	other = start_exec(&t, true);
	assert_int_equal(trace_count(&trace, BORN), 3);
	target_go(&t);
	found(EXEC, other, t.pid);
	assert_int_equal(trace_count(&trace, ENDED), 3);
	assert_true(found(ENDED, t.pid, 0) < found(EXEC, other, t.pid));
	assert_executed(&t, true);
	trace_clear(&trace);
	detach(t.pid);
	assert_true(runs(t.pid));
	target_end(&t);
}

TEST_WITH(begin, end, exec_of_one)
{
	struct target t;
	pid_t other;

	/* Only the one that executes. */
	other = start_exec(&t, false);
	seize(other, false);
	target_go(&t);
	found(EXEC, other, t.pid);
	assert_executed(&t, true);
	stop(t.pid);
	target_end(&t);
	found(ENDED, t.pid, 0);
	trace_clear(&trace);

	/* Only the first one, which vanishes. */
	start_exec(&t, false);
	seize(t.pid, false);
	target_go(&t);
	assert_executed(&t, false);
	found(ENDED, t.pid, 0);
	seize(t.pid, false);
	detach(t.pid);
	target_end(&t);
}

/* The threads of a process, which may have ended: NULL. */
static DIR *threads_open(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return opendir(path);
}

/* 0: there are no more. */
static pid_t threads_next(DIR *d)
{
	const struct dirent *de;
	pid_t tid = 0;

	while (!tid && d && (de = readdir(d)))
		tid = atoi(de->d_name);
	return tid;
}

/*
 * Attaches to the threads of a process that keeps executing programs from its threads:
 * PTRACE_SEIZE waits for the exec, and the exec for tracees to be reaped.
 */
static void seize_threads(pid_t pid)
{
	CLEANUP_CLOSEDIR DIR *d = threads_open(pid);
	pid_t tid;

	while ((tid = threads_next(d))) {
		int rc = trace_seize(&trace, tid, true, &err);

		if (rc && rc != -ESRCH && rc != -EBUSY)
			fail_msg("%s", err.text);
		if (rand() % 3 == 0)
			tracer_detach(trace.tr, tid);
	}
}

TEST_WITH(begin, end, exec_storm)
{
	struct target t;

	if (tsan_keeps_signals())
		return;
	START(&t, "@", "storm", "60");
	target_go(&t);
	while (poll(&(struct pollfd){t.from, POLLIN, 0}, 1, 0) == 0)
		seize_threads(t.pid);
	target_expect(&t, "exited 0");
	target_end(&t);
}

/* A thread of @pid that is neither its first nor @other. */
static pid_t third_thread(pid_t pid, pid_t other)
{
	CLEANUP_CLOSEDIR DIR *d = threads_open(pid);
	pid_t tid;

	while ((tid = threads_next(d)))
		if (tid != pid && tid != other)
			return tid;
	fail_msg("process %d has no other thread", pid);
	return 0;
}

/* All threads, which are reported once, and those that they create. */
TEST_WITH(begin, end, process)
{
	struct target t;
	pid_t other;

	other = start_exec(&t, false);
	seize(third_thread(t.pid, other), false);
	assert_int_equal(trace_seize_process(&trace, t.pid, &err), 0);
	assert_int_equal(trace_count(&trace, JOINED), 3);
	found(JOINED, t.pid, other);
	assert_true(tracer_pid(other) > 0);
	target_end(&t);
	found(ENDED, t.pid, 0);
	trace_clear(&trace);

	START(&t, "@", "threads", "50");
	assert_int_equal(trace_seize_process(&trace, t.pid, &err), 0);
	target_go(&t);
	for (int i = 0; i < 50 && trace_count(&trace, BORN) < 50; i++)
		nap_us(100000);
	assert_int_equal(trace_count(&trace, BORN), 50);
	target_end(&t);
}

static atomic_ulong list_reads;
static atomic_int list_error; /* errno of the next read */

/* Of the tracer, which calls this instead of the C library's. */
ssize_t getdents64(int fd, void *buf, size_t size)
{
	int no = atomic_exchange(&list_error, 0);

	atomic_fetch_add(&list_reads, 1);
	if (no) {
		errno = no;
		return -1;
	}
	return syscall(SYS_getdents64, fd, buf, size);
}

/* Of a request to attach to a process: the test alone handles joined(). */
struct crowd_attach {
	struct tracer_attach attach;
	atomic_bool done;
};

static void crowd_done(struct tracer_attach *attach)
{
	atomic_store(&container_of(attach, struct crowd_attach, attach)->done, true);
}

/* The tracer waits for its client many times, and keeps its place in the list of threads: it reads
 * twice what a list of all takes. */
TEST_WITH(begin, end, crowd)
{
	enum { THREADS = 400, THREADS_A_READ = 7, PASSES = 2 };
	struct crowd_attach c = {.attach = {.process = true, .done = crowd_done}};
	struct target t;

	START(&t, "@", "crowd", "400");
	target_go(&t);
	target_expect(&t, "crowd");
	c.attach.tid = c.attach.tgid = t.pid;
	trace_joined_later(&trace);
	atomic_store(&list_reads, 0);
	tracer_seize(trace.tr, &c.attach);
	while (!atomic_load(&c.done)) {
		atomic_store(&c.attach.unhandled, 0);
		nap_us(500);
	}
	assert_int_equal(c.attach.rc, 0);
	assert_int_equal(trace_count(&trace, JOINED), THREADS);
	assert_in_range(
		atomic_load(&list_reads), THREADS / 10, PASSES * (THREADS / THREADS_A_READ + 2));
	target_end(&t);
}

/* Lets the process open no file until the limit is set back to @old. */
static void use_up_files(struct rlimit *old)
{
	struct rlimit none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, old), 0);
	none = *old;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

/* A list of threads that cannot be read is not taken for one without any more threads. */
TEST_WITH(begin, end, unreadable_list)
{
	struct rlimit limit;
	struct target t;
	int rc;

	start_exec(&t, false);
	use_up_files(&limit);
	rc = trace_seize_process(&trace, t.pid, &err);
	setrlimit(RLIMIT_NOFILE, &limit);
	assert_int_equal(rc, -EMFILE);
	detach(t.pid);
	atomic_store(&list_error, EIO);
	assert_int_equal(trace_seize_process(&trace, t.pid, &err), -EIO);
	detach(t.pid);
	atomic_store(&list_error, ENOENT);
	assert_int_equal(trace_seize_process(&trace, t.pid, &err), -ESRCH);
	detach(t.pid);
	target_end(&t);
}

/* A program whose exec waits for a thread that @debugger traces and does not reap. Thread @exec
 * executes it, at target_go(). */
static void start_hung_exec(struct target *t, struct target *debugger, pid_t *exec)
{
	char number[16];

	*exec = start_exec(t, false);
	snprintf(number, sizeof(number), "%d", third_thread(t->pid, *exec));
	START(debugger, "@", "trace", number);
	target_go(debugger);
	target_expect(debugger, "traced");
}

static void end_hung_exec(struct target *t, struct target *debugger)
{
	target_go(debugger);
	target_expect(debugger, "exited 0");
	target_end(debugger);
	assert_executed(t, false);
	target_end(t);
}

/* Its done() blocks the tracer until the test has posted more requests. */
struct gate_attach {
	struct tracer_attach attach;
	sem_t open;
};

static void gate_done(struct tracer_attach *attach)
{
	struct gate_attach *g = container_of(attach, struct gate_attach, attach);

	while (sem_wait(&g->open) < 0)
		;
}

struct ordered_attach {
	struct tracer_attach attach;
	sem_t *done;
	atomic_int *place;
	int got; /* how many were done before */
};

static void ordered_done(struct tracer_attach *attach)
{
	struct ordered_attach *o = container_of(attach, struct ordered_attach, attach);

	o->got = (*o->place)++;
	sem_post(o->done);
}

TEST_WITH(begin, end, hung_exec)
{
	enum { HUNG, SAME_USER, SAME_PROCESS, OTHER_USER, OTHER_PROCESS, REQUESTS };
	struct target t, debugger, mine, others;
	struct gate_attach gate = {
		.attach.tid = getpid(), .attach.uid = 2, .attach.done = gate_done};
	struct ordered_attach r[REQUESTS];
	atomic_int place = 0;
	pid_t exec;
	sem_t done;

	if (tsan_keeps_signals())
		return;
	sem_init(&done, 0, 0);
	sem_init(&gate.open, 0, 0);
	START(&mine, "@", "wait");
	START(&others, "@", "wait");
	start_hung_exec(&t, &debugger, &exec);
	target_go(&t);
	assert_true(await_state(exec, "D"));
	tracer_seize(trace.tr, &gate.attach);
	for (int i = 0; i < REQUESTS; i++) {
		pid_t tid = i == SAME_USER ? mine.pid : i == OTHER_USER ? others.pid : t.pid;

		r[i] = (struct ordered_attach){.done = &done, .place = &place};
		r[i].attach.tid = r[i].attach.tgid = tid;
		r[i].attach.uid = i >= OTHER_USER;
		r[i].attach.done = ordered_done;
		tracer_seize(trace.tr, &r[i].attach);
	}
	sem_post(&gate.open);
	for (int i = 0; i < REQUESTS; i++)
		while (sem_wait(&done) < 0)
			;
	sem_destroy(&done);
	sem_destroy(&gate.open);
	/* The other user's request does not wait, that of the same user does. */
	assert_int_equal(r[OTHER_USER].got, 0);
	assert_int_equal(r[OTHER_USER].attach.rc, 0);
	assert_true(r[HUNG].got < r[SAME_USER].got);
	assert_true(r[SAME_USER].got < r[SAME_PROCESS].got);
	assert_int_equal(r[SAME_USER].attach.rc, 0);
	assert_int_equal(r[HUNG].attach.rc, -EAGAIN);
	assert_int_equal(r[SAME_PROCESS].attach.rc, -EAGAIN);
	assert_int_equal(r[OTHER_PROCESS].attach.rc, -EAGAIN);
	/* It was not tried again for the second one. */
	assert_int_equal(r[SAME_PROCESS].attach.tries, 0);
	end_hung_exec(&t, &debugger);
	target_end(&mine);
	target_end(&others);
}

/* One that was given up can be attached to soon after its exec. */
TEST_WITH(begin, end, after_hung_exec)
{
	struct target t, debugger;
	pid_t exec;

	if (tsan_keeps_signals())
		return;
	start_hung_exec(&t, &debugger, &exec);
	target_go(&t);
	assert_true(await_state(exec, "D"));
	assert_int_equal(trace_seize(&trace, t.pid, false, &err), -EAGAIN);
	assert_int_equal(tracer_check_given_up(trace.tr, t.pid, t.pid, &err), -EAGAIN);
	assert_int_equal(tracer_check_given_up(trace.tr, getpid(), getpid(), &err), 0);
	target_go(&debugger);
	assert_executed(&t, false);
	assert_int_equal(seize_at_last(t.pid, false), 0);
	detach(t.pid);
	target_end(&t);
	target_end(&debugger);
}

/* A thread that executes a program does not stop to be detached. */
TEST_WITH(begin, end, detach_late)
{
	struct target t, debugger;
	pid_t exec;

	start_hung_exec(&t, &debugger, &exec);
	seize(exec, false);
	target_go(&t);
	assert_true(await_state(exec, "D"));
	tracer_detach(trace.tr, exec);
	found(LATE, exec, 0);
	assert_int_equal(trace_count(&trace, ENDED), 0);
	target_go(&debugger);
	found(ENDED, t.pid, 0);
	assert_int_equal(trace_count(&trace, LATE), 1);
	assert_executed(&t, false);
	target_end(&debugger);
	target_end(&t);
}

/* A set-user-ID program of a tracee gets its privileges. */
TEST_WITH(begin, end, set_user_id)
{
	char dir[] = "/tmp/tracer-XXXXXX", copy[64], cmd[512], untraced[64], traced[64];
	struct target t;

	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	snprintf(copy, sizeof(copy), "%s/target", dir);
	snprintf(cmd, sizeof(cmd), "cp '%s' %s && chmod 755 %s && chmod 4755 %s", TARGET, copy, dir,
		copy);
	assert_int_equal(system(cmd), 0);
	for (int i = 0; i < 2; i++) {
		START(&t, "@", "as", "65534", copy, "uid");
		if (i)
			seize(t.pid, true);
		target_go(&t);
		target_line(&t, i ? traced : untraced, sizeof(traced));
		target_expect(&t, "exited 0");
		target_end(&t);
	}
	unlink(copy);
	rmdir(dir);
	assert_string_equal(traced, untraced);
}

/* Job control, by a shell and its terminal */

struct terminal {
	int fd;
	size_t n;
	char text[16384];
};

static void type(const struct terminal *y, const char *keys)
{
	assert_int_equal(write(y->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

/* Waits for @text, and drops the output up to its end. */
static void shows(struct terminal *y, const char *text)
{
	struct pollfd fd = {y->fd, POLLIN, 0};
	char *at;

	while (!(at = strstr(y->text, text))) {
		ssize_t n;

		if (poll(&fd, 1, TIMEOUT_MS) != 1)
			fail_msg("no '%s' in '%s'", text, y->text);
		n = read(y->fd, y->text + y->n, sizeof(y->text) - 1 - y->n);
		assert_true(n > 0);
		y->n += (size_t)n;
		y->text[y->n] = '\0';
	}
	at += strlen(text);
	y->n -= (size_t)(at - y->text);
	memmove(y->text, at, y->n + 1);
}

/* The process in the foreground, once it is a program of this name that waits. */
static pid_t in_front(const struct terminal *y, const char *name)
{
	char path[32], comm[32];

	for (unsigned long long until = msec() + TIMEOUT_MS; msec() < until; nap_us(500)) {
		CLEANUP_FCLOSE FILE *f = NULL;
		pid_t pid = tcgetpgrp(y->fd);

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		f = fopen(path, "re");
		if (f && fgets(comm, sizeof(comm), f) && strncmp(comm, name, strlen(name)) == 0 &&
			state_of(pid) == 'S')
			return pid;
	}
	fail_msg("%s is not in the foreground", name);
	return 0;
}

static void open_terminal(struct terminal *y)
{
	y->n = 0;
	y->text[0] = 0;
	y->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(y->fd >= 0);
	assert_int_equal(grantpt(y->fd), 0);
	assert_int_equal(unlockpt(y->fd), 0);
}

enum { SHELL_TRACED = 1, SHELL_DETACHED = 2 };

/* With SHELL_DETACHED, detaches the shell and its job, and attaches to the shell again. */
static void step(int how, pid_t shell, pid_t job)
{
	if (!(how & SHELL_DETACHED))
		return;
	tracer_detach(trace.tr, shell);
	found(ENDED, shell, 0);
	if (job && trace_seize(&trace, job, true, &err) == -EBUSY)
		detach(job);
	trace_clear(&trace);
	seize(shell, true);
}

static void control_jobs(int how)
{
	struct terminal y;
	struct target t;
	pid_t job;

	open_terminal(&y);
	START(&t, "-t", ptsname(y.fd), "bash", "--norc", "--noprofile", "-i");
	if (how)
		seize(t.pid, true);
	type(&y, "PS1='ready''> '\n");
	shows(&y, "ready> ");
	type(&y, "sleep 1000\n");
	job = in_front(&y, "sleep");
	step(how, t.pid, job);
	type(&y, "\x1a");
	shows(&y, "Stopped");
	shows(&y, "ready> ");
	assert_true(await_state(job, "Tt"));
	step(how, t.pid, job);
	type(&y, "echo st=$?.\n");
	shows(&y, "st=148.");
	type(&y, "bg\n");
	shows(&y, "sleep 1000 &");
	shows(&y, "ready> ");
	assert_true(await_state(job, "S"));
	step(how, t.pid, job);
	type(&y, "fg\n");
	assert_int_equal(in_front(&y, "sleep"), job);
	type(&y, "\x1a");
	shows(&y, "Stopped");
	step(how, t.pid, job);
	type(&y, "fg\n");
	assert_int_equal(in_front(&y, "sleep"), job);
	type(&y, "\x03");
	shows(&y, "ready> ");
	type(&y, "echo st=$?.\n");
	shows(&y, "st=130.");
	step(how, t.pid, 0);
	/* It reads from the terminal in the background. */
	type(&y, "cat &\n");
	shows(&y, "ready> ");
	type(&y, "wait; jobs\n");
	shows(&y, "Stopped");
	step(how, t.pid, 0);
	type(&y, "kill %1; while kill -0 $! 2>/dev/null; do :; done; wait $!; echo st=$?.\n");
	shows(&y, "st=143.");
	type(&y, "exit 7\n");
	target_expect(&t, "exited 7");
	target_end(&t);
	close(y.fd);
}

TEST_WITH(begin, end, job_control)
{
	control_jobs(0);
	control_jobs(SHELL_TRACED);
	control_jobs(SHELL_TRACED | SHELL_DETACHED);
}

int main(void)
{
	/* All take a tenth of it on a machine that is busy. */
	alarm(600);
	return unit_run(NULL, NULL);
}

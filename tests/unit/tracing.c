// SPDX-License-Identifier: MIT
#include "tests/unit/tracing.h"
#include "tests/unit/unit.h"

#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/cond.h"
#include "base/container.h"

/* Targets */

static void fill_argv(const char *const argv[], const char *out[16])
{
	int n = 0;

	out[n++] = TARGET;
	out[n++] = "watch";
	for (; *argv; argv++) {
		assert_true(n < 15);
		out[n++] = strcmp(*argv, "@") == 0 ? TARGET : *argv;
	}
	out[n] = NULL;
}

void target_start(struct target *t, const char *const argv[])
{
	const char *args[16];
	int in[2], out[2];
	sigset_t none;

	fill_argv(argv, args);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	t->watcher = fork();
	assert_true(t->watcher >= 0);
	if (t->watcher == 0) {
		/* As from a shell at a terminal: in an orphaned process group, as the test's own
		 * may be, only SIGSTOP stops a process. */
		setpgid(0, 0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGINT, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execv(TARGET, (char **)(uintptr_t)args);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	t->to = in[1];
	t->from = out[0];
	t->n = 0;
	t->pid = target_number(t, "pid");
}

void target_go(const struct target *t)
{
	assert_int_equal(write(t->to, "\n", 1), 1);
}

void target_line(struct target *t, char *line, size_t size)
{
	struct pollfd fd = {t->from, POLLIN, 0};
	char *end;

	while (!(end = memchr(t->read, '\n', t->n))) {
		ssize_t n;

		if (poll(&fd, 1, TIMEOUT_MS) != 1)
			fail_msg("process %d prints nothing; its state is %c", t->pid,
				state_of(t->pid));
		n = read(t->from, t->read + t->n, sizeof(t->read) - t->n);
		assert_true(n > 0);
		t->n += (size_t)n;
	}
	*end++ = '\0';
	assert_true((size_t)(end - t->read) <= size);
	memcpy(line, t->read, (size_t)(end - t->read));
	t->n -= (size_t)(end - t->read);
	memmove(t->read, end, t->n);
}

void target_expect(struct target *t, const char *fmt, ...)
{
	char line[256], want[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(want, sizeof(want), fmt, ap);
	va_end(ap);
	target_line(t, line, sizeof(line));
	assert_string_equal(line, want);
}

pid_t target_number(struct target *t, const char *word)
{
	size_t n = strlen(word);
	char line[256];

	target_line(t, line, sizeof(line));
	if (strncmp(line, word, n) != 0 || line[n] != ' ')
		fail_msg("not '%s N' but '%s'", word, line);
	return atoi(line + n);
}

void target_end(struct target *t)
{
	int status;

	/* Its parent reports the end before it reaps it, and then exits. */
	if (waitpid(t->watcher, &status, WNOHANG) == 0) {
		kill(t->pid, SIGKILL);
		assert_int_equal(waitpid(t->watcher, &status, 0), t->watcher);
	}
	assert_int_equal(status, 0);
	close(t->to);
	close(t->from);
}

/* What the kernel says */

char state_of(pid_t tid)
{
	CLEANUP_FCLOSE FILE *f = NULL;
	char path[32], line[256], *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f))
		return 0;
	end = strrchr(line, ')');
	return end ? end[2] : 0;
}

bool await_state(pid_t tid, const char *letters)
{
	for (unsigned long long end = msec() + TIMEOUT_MS; msec() < end; nap_us(500)) {
		char c = state_of(tid);

		if (c && strchr(letters, c))
			return true;
	}
	return false;
}

/* A number in /proc/TID/status; -1: no such thread. */
static pid_t status_number(pid_t tid, const char *key)
{
	CLEANUP_FCLOSE FILE *f = NULL;
	char path[32], line[256];
	size_t n = strlen(key);

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, n) == 0 && line[n] == ':')
			return atoi(line + n + 1);
	return -1;
}

pid_t tracer_pid(pid_t tid)
{
	return status_number(tid, "TracerPid");
}

unsigned long long msec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long long)ts.tv_sec * 1000 + (unsigned long long)ts.tv_nsec / 1000000;
}

void nap_us(long us)
{
	nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

/* Events of the tracer */

static void trace_add(struct trace *t, int kind, pid_t a, pid_t b)
{
	pthread_mutex_lock(&t->lock);
	if (t->n == t->size) {
		t->size = t->size ? 2 * t->size : 64;
		t->events = realloc(t->events, t->size * sizeof(*t->events));
		if (!t->events)
			abort();
	}
	t->events[t->n++] = (struct trace_event){kind, a, b};
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static void trace_cont(struct trace *t, pid_t tid)
{
	bool keep_stopped;

	pthread_mutex_lock(&t->lock);
	keep_stopped = t->keep_stopped;
	pthread_mutex_unlock(&t->lock);
	if (!keep_stopped)
		tracer_cont(t->tr, tid);
}

static void on_born(void *arg, pid_t parent, pid_t child)
{
	trace_add(arg, BORN, parent, child);
	trace_cont(arg, child);
}

static bool on_joined(void *arg, struct tracer_attach *req, pid_t tid)
{
	const struct trace *t = arg;

	trace_add(arg, JOINED, req->tid, tid);
	if (!t->joined_later)
		atomic_fetch_sub(&req->unhandled, 1);
	return true;
}

static void on_exec(void *arg, pid_t was, pid_t now)
{
	trace_add(arg, EXEC, was, now);
	trace_cont(arg, now);
}

static void on_ended(void *arg, pid_t tid)
{
	trace_add(arg, ENDED, tid, 0);
}

static void on_detach_late(void *arg, pid_t tid)
{
	trace_add(arg, LATE, tid, 0);
}

void trace_begin(struct trace *t)
{
	static const struct tracer_ops ops = {
		on_born, on_joined, on_exec, on_ended, on_detach_late};
	struct err e;

	*t = (struct trace){0};
	pthread_mutex_init(&t->lock, NULL);
	cond_init_monotonic(&t->changed);
	assert_int_equal(tracer_new(&ops, t, &t->tr, &e), 0);
}

void trace_end(struct trace *t)
{
	tracer_free(t->tr);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t->events);
}

struct waiting_attach {
	struct tracer_attach attach;
	sem_t done;
};

static void attach_done(struct tracer_attach *attach)
{
	sem_post(&container_of(attach, struct waiting_attach, attach)->done);
}

static int attach_and_wait(struct trace *t, struct waiting_attach *w, struct err *e)
{
	w->attach.done = attach_done;
	sem_init(&w->done, 0, 0);
	tracer_seize(t->tr, &w->attach);
	while (sem_wait(&w->done) < 0)
		;
	sem_destroy(&w->done);
	*e = w->attach.err;
	return w->attach.rc;
}

int trace_seize(struct trace *t, pid_t tid, bool follow, struct err *e)
{
	struct waiting_attach w = {
		.attach = {.tid = tid, .tgid = status_number(tid, "Tgid"), .follow = follow}};

	return attach_and_wait(t, &w, e);
}

int trace_seize_by_itself(struct trace *t, pid_t tid, bool follow, struct err *e)
{
	struct waiting_attach w = {.attach = {.tid = tid,
					   .tgid = status_number(tid, "Tgid"),
					   .follow = follow,
					   .by_itself = true}};

	return attach_and_wait(t, &w, e);
}

int trace_seize_process(struct trace *t, pid_t pid, struct err *e)
{
	struct waiting_attach w = {.attach = {.tid = pid, .tgid = pid, .process = true}};

	return attach_and_wait(t, &w, e);
}

void trace_clear(struct trace *t)
{
	pthread_mutex_lock(&t->lock);
	t->n = 0;
	pthread_mutex_unlock(&t->lock);
}

void trace_keep_stopped(struct trace *t, bool keep_stopped)
{
	pthread_mutex_lock(&t->lock);
	t->keep_stopped = keep_stopped;
	pthread_mutex_unlock(&t->lock);
}

/* No tracee exists that the tracer's thread could report. */
void trace_joined_later(struct trace *t)
{
	t->joined_later = true;
}

unsigned trace_count(struct trace *t, int kind)
{
	unsigned n = 0;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < t->n; i++)
		n += t->events[i].kind == kind;
	pthread_mutex_unlock(&t->lock);
	return n;
}

static int find(const struct trace *t, size_t from, int kind, pid_t a, pid_t b)
{
	for (size_t i = from; i < t->n; i++) {
		const struct trace_event *w = &t->events[i];

		if (w->kind == kind && (!a || a == w->a) && (!b || b == w->b))
			return (int)i;
	}
	return -1;
}

int trace_find(struct trace *t, int kind, pid_t a, pid_t b, unsigned ms)
{
	struct timespec until;
	int found, rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	pthread_mutex_lock(&t->lock);
	while ((found = find(t, 0, kind, a, b)) < 0 && rc == 0)
		rc = pthread_cond_timedwait(&t->changed, &t->lock, &until);
	pthread_mutex_unlock(&t->lock);
	return found;
}

struct trace_event trace_at(struct trace *t, int place)
{
	struct trace_event w;

	pthread_mutex_lock(&t->lock);
	w = t->events[place];
	pthread_mutex_unlock(&t->lock);
	return w;
}

// SPDX-License-Identifier: MIT
/*
 * Programs to trace, their parent, which prints what it sees of them, and a debugger.
 *
 *   target watch [-t TTY] COMMAND...  runs it and says what waitpid() does, a line each
 *   target attach PID                 PTRACE_ATTACH; its errno is the exit status
 *   target trace PID                  traces it
 *   target as UID COMMAND...          runs it with another user
 *   target MODE [N]                   waits for a line, then runs a function of this file
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *self;

/* A line in one write: several processes share the pipe. */
#define say(...) dprintf(STDOUT_FILENO, __VA_ARGS__)

static void await_line(void)
{
	char c;

	ssize_t n;

	do
		n = read(STDIN_FILENO, &c, 1);
	while (n < 0 ? errno == EINTR : n == 1 && c != '\n');
}

static void nap(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static pthread_t start(void *(*f)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, f, arg) != 0)
		abort();
	return t;
}

static void *wait_thread(void *arg)
{
	while (pause() < 0)
		;
	return arg;
}

/* Parents and debuggers */

static void take_terminal(const char *tty)
{
	int fd;

	setsid();
	fd = open(tty, O_RDWR); /* the first one is the controlling one */
	for (int i = 0; i < 3; i++)
		dup2(fd, i);
	if (fd > 2)
		close(fd);
}

static int say_status(int status)
{
	if (WIFSTOPPED(status))
		return say("stopped %d\n", WSTOPSIG(status));
	if (WIFCONTINUED(status))
		return say("continued\n");
	if (WIFSIGNALED(status))
		say("killed %d\n", WTERMSIG(status));
	else
		say("exited %d\n", WEXITSTATUS(status));
	return 0;
}

static int watch(char **argv)
{
	const char *tty = NULL;
	int status, executed[2];
	pid_t pid;

	if (strcmp(argv[0], "-t") == 0) {
		tty = argv[1];
		argv += 2;
	}
	if (pipe2(executed, O_CLOEXEC) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (tty)
			take_terminal(tty);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(executed[1]);
	if (read(executed[0], &status, 1) != 0)
		return 1;
	say("pid %d\n", pid);
	while (waitpid(pid, &status, WUNTRACED | WCONTINUED) == pid && say_status(status))
		;
	return 0;
}

static int attach(char **argv)
{
	pid_t pid = atoi(argv[0]);

	if (ptrace(PTRACE_ATTACH, pid, 0, 0) < 0)
		return errno;
	waitpid(pid, NULL, __WALL);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	return 0;
}

static int trace(char **argv)
{
	pid_t pid = atoi(argv[0]);

	await_line();
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0)
		return errno;
	say("traced\n");
	await_line();
	return 0;
}

static int run_as(char **argv)
{
	uid_t uid = (uid_t)atoi(argv[0]);

	await_line();
	if (setresuid(uid, uid, uid) < 0)
		return 1;
	execv(argv[1], argv + 1);
	return 127;
}

/* Those that are traced */

static int just_wait(int n)
{
	while (pause() < 0)
		;
	return n;
}

static int just_exit(int n)
{
	return n;
}

static int say_uid(int n)
{
	(void)n;
	say("uid %d\n", (int)geteuid());
	return 0;
}

/* Receives the values 0 to n-1, queued, in any order: each once. */
enum { VALUES_MAX = 1 << 20 };
static atomic_uchar received[VALUES_MAX];
static atomic_int nreceived;

static void receive(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)context;
	atomic_fetch_add(&received[si->si_value.sival_int & (VALUES_MAX - 1)], 1);
	atomic_fetch_add(&nreceived, 1);
}

static void receive_values(void)
{
	struct sigaction sa = {.sa_sigaction = receive, .sa_flags = SA_SIGINFO};

	sigaction(SIGRTMIN, &sa, NULL);
	say("ready %d\n", getpid());
}

static int check_values(int n)
{
	for (int i = 0; i < VALUES_MAX; i++)
		if (received[i] != (i < n))
			return 1;
	return 0;
}

static void *spin(void *arg)
{
	const int *n = arg;

	while (atomic_load(&nreceived) < *n)
		;
	return NULL;
}

/* Two threads, that do not rest. */
static int count(int n)
{
	pthread_t other;

	receive_values();
	other = start(spin, &n);
	spin(&n);
	pthread_join(other, NULL);
	await_line();
	return check_values(n);
}

/* One that does. */
static int collect(int n)
{
	receive_values();
	await_line();
	while (atomic_load(&nreceived) < n)
		nap(1000);
	return check_values(n);
}

/* Three threads beside the first one; the last executes another program. */
static void *exec_thread(void *arg)
{
	(void)arg;
	say("tid %d\n", gettid());
	await_line();
	execl(self, self, "wait", NULL);
	return NULL;
}

static int exec_from_thread(int n)
{
	(void)n;
	start(wait_thread, NULL);
	start(wait_thread, NULL);
	start(exec_thread, NULL);
	return just_wait(0);
}

static bool ended_with(pid_t pid, int code)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static pid_t vfork_one(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl(self, self, "exit", "3", NULL);
		_exit(127);
	}
	return pid;
}

static int vforks(int n)
{
	for (int i = 0; i < n; i++)
		if (!ended_with(vfork_one(), 3))
			return 1;
	return 0;
}

static void *short_thread(void *arg)
{
	return arg;
}

static int threads(int n)
{
	enum { BATCH = 10 };
	pthread_t t[BATCH];

	for (int done = 0; done < n; done += BATCH) {
		for (int i = 0; i < BATCH; i++)
			t[i] = start(short_thread, NULL);
		for (int i = 0; i < BATCH; i++)
			pthread_join(t[i], NULL);
	}
	return 0;
}

/* @n threads, that wait. */
static int crowd(int n)
{
	for (int i = 0; i < n; i++)
		start(wait_thread, NULL);
	say("crowd\n");
	return just_wait(0);
}

static int forks(int n)
{
	enum { BATCH = 10 };
	pid_t pid[BATCH];

	for (int done = 0; done < n; done += BATCH) {
		for (int i = 0; i < BATCH; i++) {
			pid[i] = fork();
			if (pid[i] == 0)
				_exit(i);
		}
		for (int i = 0; i < BATCH; i++)
			if (!ended_with(pid[i], i))
				return 1;
	}
	return 0;
}

/* Makes @n children in a new process group, and waits to be killed. */
static int make_reparented(int n)
{
	setpgid(0, 0);
	say("group %d\n", getpid());
	for (int i = 0; i < n; i++)
		if (fork() == 0)
			just_wait(0);
	return just_wait(0);
}

static void *outlive(void *arg)
{
	(void)arg;
	say("tid %d\n", gettid());
	await_line();
	exit(5);
}

static int leader_ends(int n)
{
	(void)n;
	start(wait_thread, NULL);
	start(outlive, NULL);
	pthread_exit(NULL);
}

/* Executes itself @n times, always from another thread than the first. */
static void *storm_thread(void *arg)
{
	char left[16];

	nap(2000);
	snprintf(left, sizeof(left), "%d", *(int *)arg - 1);
	execl(self, self, "-storm", left, NULL);
	return NULL;
}

static int storm(int n)
{
	if (n == 0)
		return 0;
	for (int i = 0; i < 3; i++)
		start(wait_thread, NULL);
	start(storm_thread, &n);
	return just_wait(0);
}

static const struct {
	const char *name;
	int (*run)(int n);
} modes[] = {{"wait", just_wait}, {"exit", just_exit}, {"uid", say_uid}, {"count", count},
	{"collect", collect}, {"exec", exec_from_thread}, {"vfork", vforks}, {"threads", threads},
	{"forks", forks}, {"reparented", make_reparented}, {"leader", leader_ends},
	{"storm", storm}, {"crowd", crowd}};

static int run_mode(const char *name, int n)
{
	bool at_once = *name == '-';

	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, name + at_once) != 0)
			continue;
		/* Programs that others execute get no line of input. */
		if (!at_once && modes[i].run != just_exit && modes[i].run != just_wait &&
			modes[i].run != say_uid)
			await_line();
		return modes[i].run(n);
	}
	return 2;
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc < 2)
		return 2;
	if (argc > 2 && strcmp(argv[1], "watch") == 0)
		return watch(argv + 2);
	if (argc > 2 && strcmp(argv[1], "attach") == 0)
		return attach(argv + 2);
	if (argc > 2 && strcmp(argv[1], "trace") == 0)
		return trace(argv + 2);
	if (argc > 3 && strcmp(argv[1], "as") == 0)
		return run_as(argv + 2);
	return run_mode(argv[1], argc > 2 ? atoi(argv[2]) : 0);
}

// SPDX-License-Identifier: MIT
/*
 * Rights to monitor a thread, compared with what the kernel answers to PTRACE_ATTACH; and threads
 * that end, execute, and whose ids are reused. Each test runs in a child, as most drop what the
 * next one needs.
 */
#include "daemon/authz/target.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/nsfs.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "daemon/authz/identity.h"
#include "tests/unit/subjects.h"

enum { SKIPPED = 77, LONG_S = 100 };
#define GET_PID_FROM_PIDNS _IOR(NSIO, 0x6, int)

/* Why this machine cannot do a test: said in the child, printed outside. */
static char *why_not;

static _Noreturn void skip_here(const char *why)
{
	snprintf(why_not, PIPE_BUF, " # SKIP %s", why);
	_exit(SKIPPED);
}

/* Its exit status. What it starts ends with it, by PR_SET_PDEATHSIG or at the end of a socket, and
 * is waited for. */
static int in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0) {
		alarm(LONG_S);
		body();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Prints errno values by name. */
static void must_be_at(int rc, int no, const struct err *e, int line)
{
	if (rc == -no && (no == 0 || (e->no == no && strlen(e->text) > 0)))
		return;
	fprintf(stderr, "# line %d: %s, not %s: %s\n", line, rc ? err_name(-rc) : "success",
		no ? err_name(no) : "success", rc ? e->text : "");
	_exit(1);
}
#define must_be(rc, no) must_be_at(rc, no, &error, __LINE__)
static struct err error;

/* What follows the end of a name is undefined. */
static void same_identity(void)
{
	struct identity a = {.name = "sh\0before", .tid = 7, .uid = {1, 1, 1}};
	struct identity b = {.name = "sh\0after", .tid = 7, .uid = {1, 1, 1}};

	must(identity_same(&a, &b));
	b.uid[PROC_EFFECTIVE] = 2;
	must(!identity_same(&a, &b));
}

/* The daemon's answer when @caller loads on @tid. */
static int may(pid_t caller, pid_t tid)
{
	struct credentials cred;
	struct target t;
	int rc;

	must_be(credentials_of(caller, &cred, &error), 0);
	rc = target_open(caller, tid, &t, &error);
	if (rc == 0)
		rc = target_check(&t, &cred, &error);
	target_close(&t);
	credentials_drop(&cred);
	return rc;
}

/* Makes the system call @nr fail by @no if its second argument is @arg: as older kernels do. */
static void forbid(int nr, unsigned arg, int no)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arg, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)no),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(*code), code};

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		skip_here("no seccomp filters: an older kernel cannot be played");
}

static int count_fds(void)
{
	CLEANUP_CLOSEDIR DIR *d = opendir("/proc/self/fd");
	int n = 0;

	must(d);
	while (readdir(d))
		n++;
	return n;
}

static int said_differently(const struct subject *a, const struct subject *b, bool old)
{
	int kernel = subject_query(a, b->tid), ours = -may(a->tid, b->tid);
	bool may_be_stricter =
		b->kind->strict == STRICT || (old && b->kind->strict == STRICT_BEFORE_6_16);

	if (kernel != 0)
		must(kernel == EPERM);
	if (kernel == ours || (may_be_stricter && kernel == 0 && ours == EPERM))
		return 0;
	fprintf(stderr, "# %s, of %s: the kernel says %s, the daemon says %s: %s\n", a->kind->name,
		b->kind->name, kernel ? err_name(kernel) : "yes", ours ? err_name(ours) : "yes",
		ours ? error.text : "");
	return 1;
}

static void compare_all(const struct subject *a, const struct subject *b, int n, bool old)
{
	int wrong = 0;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			wrong += said_differently(&a[i], &b[j], old);
	if (wrong)
		fprintf(stderr, "# %d of %d\n", wrong, n * n);
	must(wrong == 0);
}

static int new_subjects(struct subject *s)
{
	int n = 0;

	for (int i = 0; i < subject_nkinds; i++)
		if (subject_new(i, &s[n]))
			n++;
	return n;
}

static bool is_older_than(int major, int minor)
{
	struct utsname u;
	int has_major = 0, has_minor = 0;

	must(uname(&u) == 0);
	must(sscanf(u.release, "%d.%d", &has_major, &has_minor) == 2);
	return has_major < major || (has_major == major && has_minor < minor);
}

/* This kernel does not report whether a thread is dumpable. */
static bool is_old(void)
{
	return is_older_than(6, 16);
}

static void matrix(bool old)
{
	struct subject *a = calloc((size_t)subject_nkinds, sizeof(*a));
	struct subject *b = calloc((size_t)subject_nkinds, sizeof(*b));
	int n, fds;

	must(a && b);
	n = new_subjects(a);
	must(new_subjects(b) == n);
	if (n < subject_nkinds)
		fprintf(stderr, "# no user namespaces here: %d of %d kinds\n", n, subject_nkinds);
	drop_capabilities();
	if (old && !is_old())
		forbid(SYS_pidfd_open, O_EXCL, EINVAL);
	fds = count_fds();
	compare_all(a, b, n, old);
	must(count_fds() == fds);
}

static void as_the_kernel(void)
{
	matrix(is_old());
}
static void as_an_older_kernel(void)
{
	if (is_old())
		skip_here("this kernel is one");
	matrix(true);
}
/* In a user namespace of its own, CAP_SYS_PTRACE does not apply to threads outside. */
static void who_traces_all(void)
{
	for (int i = 0; i < subject_nkinds; i++) {
		const struct subject_kind *k = &subject_kinds[i];
		struct credentials cred;
		struct subject s;

		if (!subject_new(i, &s))
			continue;
		must_be(credentials_of(s.tid, &cred, &error), 0);
		must(credentials_trace_all(&cred) ==
			(k->ns == OURS && (k->effective & CAP_BIT(CAP_SYS_PTRACE))));
		credentials_drop(&cred);
	}
}

/* What one finds out about itself, in memory that all see. */
struct seen {
	atomic_int tid, inner, middle; /* here, in its own namespace, in the one between */
	atomic_int go;
};

static struct seen *new_seen(int n)
{
	struct seen *s = mmap(NULL, (size_t)n * sizeof(*s), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(s != MAP_FAILED);
	return s;
}

/* /proc is mounted for the test: it shows numbers as the test knows them. */
static void tell(struct seen *s)
{
	char link[64] = "";

	must(readlink("/proc/thread-self", link, sizeof(link) - 1) > 0);
	atomic_store(&s->inner, gettid());
	atomic_store(&s->tid, atoi(strrchr(link, '/') + 1));
}

static pid_t wait_for(atomic_int *what)
{
	while (!atomic_load(what))
		usleep(100);
	return atomic_load(what);
}

static _Noreturn void sleep_on(void)
{
	for (;;)
		pause();
}

static pid_t new_child(void)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void become_user(uid_t uid)
{
	must(setresgid(uid, uid, uid) == 0);
	must(setresuid(uid, uid, uid) == 0);
	must(prctl(PR_SET_DUMPABLE, 1) == 0);
	must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
}

static pid_t new_sleeper(uid_t uid)
{
	struct seen *s = new_seen(1);
	pid_t pid = new_child();

	if (pid == 0) {
		become_user(uid);
		tell(s);
		sleep_on();
	}
	wait_for(&s->tid);
	munmap(s, sizeof(*s));
	return pid;
}

static void end(pid_t pid)
{
	must(kill(pid, SIGKILL) == 0);
	must(waitpid(pid, NULL, 0) == pid);
}

static void *thread_main(void *arg)
{
	struct seen *s = arg;

	tell(s);
	wait_for(&s->go);
	return NULL;
}

static void start_thread(struct seen *s)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, thread_main, s) == 0);
	pthread_detach(thread);
	wait_for(&s->tid);
}

/* A process with a second thread, which ends when @go is set. */
static pid_t new_pair(struct seen *thread)
{
	pid_t pid = new_child();

	if (pid == 0) {
		start_thread(thread);
		sleep_on();
	}
	wait_for(&thread->tid);
	return pid;
}

/* What is read of a thread takes no longer when its process has more of them: in the directory of
 * the process, the kernel adds up their times. */
static bool is_of_one_thread(int dir)
{
	char link[32], path[64] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	return readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, "/task/");
}

static void open_target(pid_t tid, struct target *t)
{
	must_be(target_open(getpid(), tid, t, &error), 0);
	must(t->tid == tid && t->named == tid);
	must_be(target_alive(t, &error), 0);
	must(is_of_one_thread(t->dir));
}

/* The daemon's capabilities suffice to notice that it has ended. */
static void must_have_ended(const struct target *t)
{
	struct credentials cred;

	must_be(credentials_of(getpid(), &cred, &error), 0);
	must_be(target_alive(t, &error), ESRCH);
	must_be(target_check(t, &cred, &error), ESRCH);
	must_be(target_check_again(t, &cred, &error), ESRCH);
	credentials_drop(&cred);
}

static void numbers(void)
{
	struct seen *thread = new_seen(1);
	struct credentials cred;
	struct target t;

	must_be(target_open(getpid(), 0, &t, &error), ESRCH);
	must_be(target_open(getpid(), -1, &t, &error), ESRCH);
	must_be(target_open(getpid(), 1 << 30, &t, &error), ESRCH);
	must_be(target_open(1 << 30, getppid(), &t, &error), ESRCH);
	must_be(credentials_of(0, &cred, &error), ESRCH);
	must_be(credentials_of(1 << 30, &cred, &error), ESRCH);
	must_be(target_open(getppid(), getpid(), &t, &error), EINVAL);
	start_thread(thread);
	must_be(target_open(getppid(), atomic_load(&thread->tid), &t, &error), EINVAL);
	open_target(1, &t);
	target_close(&t);
}
static void kernel_threads(void)
{
	char name[16] = "";
	CLEANUP_CLOSE int fd = open("/proc/2/comm", O_RDONLY | O_CLOEXEC);
	struct target t;

	if (fd < 0 || read(fd, name, sizeof(name)) < 0 || strcmp(name, "kthreadd\n") != 0)
		skip_here("no threads of the kernel in this process namespace");
	must_be(target_open(getpid(), 2, &t, &error), EPERM);
}
static void zombie(void)
{
	siginfo_t info;
	struct target t, again;
	pid_t pid = new_sleeper(0);

	open_target(pid, &t);
	must(kill(pid, SIGKILL) == 0);
	must(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	must_have_ended(&t);
	must_be(target_open(getpid(), pid, &again, &error), ESRCH);
	must(waitpid(pid, NULL, 0) == pid);
	must_have_ended(&t);
	target_close(&t);
}
static bool exists(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return access(path, F_OK) == 0;
}

static void end_thread(pid_t pid, struct seen *thread)
{
	atomic_store(&thread->go, 1);
	while (exists(pid, atomic_load(&thread->tid)))
		usleep(100);
}

static void thread_ends(void)
{
	struct seen *thread = new_seen(1);
	struct target first, second;
	pid_t pid = new_pair(thread);

	open_target(pid, &first);
	open_target(atomic_load(&thread->tid), &second);
	must(second.tgid == pid && first.tgid == pid);
	end_thread(pid, thread);
	must_have_ended(&second);
	must_be(target_alive(&first, &error), 0);
	target_close(&first);
	target_close(&second);
}
/* The process lives on without its first thread. */
static void first_thread_ends(void)
{
	struct seen *thread = new_seen(1);
	struct target first, second;
	pid_t pid = new_child();

	if (pid == 0) {
		start_thread(thread);
		wait_for(&thread->middle);
		syscall(SYS_exit, 0);
	}
	wait_for(&thread->tid);
	open_target(pid, &first);
	open_target(atomic_load(&thread->tid), &second);
	atomic_store(&thread->middle, 1);
	while (target_alive(&first, &error) == 0)
		usleep(100);
	must_have_ended(&first);
	must_be(target_alive(&second, &error), 0);
	target_close(&first);
	target_close(&second);
}
static void *exec_thread(void *arg)
{
	struct seen *s = arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* is a thread's own */
	tell(s);
	wait_for(&s->go);
	execlp("sleep", "sleep", "1000", (char *)NULL);
	_exit(1);
}

/* The thread takes over the id of its leader, which ends: the target that was opened by the old
 * id is gone. */
static void thread_executes(void)
{
	struct seen *thread = new_seen(1);
	struct target first, second;
	pthread_t unused;
	pid_t pid = new_child();

	if (pid == 0) {
		must(pthread_create(&unused, NULL, exec_thread, thread) == 0);
		sleep_on();
	}
	wait_for(&thread->tid);
	open_target(pid, &first);
	open_target(atomic_load(&thread->tid), &second);
	end_thread(pid, thread);
	must_have_ended(&second);
	must_be(target_alive(&first, &error), 0);
	target_close(&first);
	target_close(&second);
}
static int last_pid;

/* Runs @body as init of a PID namespace, where no other process takes ids, with a /proc that
 * hides the processes of other users. */
static void in_pid_ns(void (*body)(void))
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWNS | CLONE_NEWPID) < 0)
		skip_here("no process namespaces here");
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	pid = new_child();
	if (pid == 0) {
		if (mount("proc", "/proc", "proc", 0, "hidepid=2") < 0)
			skip_here("/proc cannot be mounted here");
		last_pid = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
		if (last_pid < 0)
			skip_here("numbers cannot be chosen: no CONFIG_CHECKPOINT_RESTORE");
		body();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	_exit(WEXITSTATUS(status));
}

/* Has the next process get the id @pid. It may be in use until a little after its process has
 * vanished from /proc. */
static void choose_number(pid_t pid)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", (int)pid - 1);

	must(pwrite(last_pid, text, (size_t)n, 0) == n);
}

static void new_with_number(pid_t pid, uid_t uid)
{
	pid_t got;

	for (choose_number(pid); (got = new_sleeper(uid)) != pid; choose_number(pid))
		end(got);
}

static void reuse_process(void)
{
	struct target t;
	pid_t pid = new_sleeper(1000);

	open_target(pid, &t);
	end(pid);
	new_with_number(pid, 1000);
	must_have_ended(&t);
	target_close(&t);
	open_target(pid, &t);
	target_close(&t);
}

static void reuse_thread(void)
{
	struct seen *thread = new_seen(1);
	struct target t;
	pid_t pid = new_pair(thread);

	open_target(atomic_load(&thread->tid), &t);
	end_thread(pid, thread);
	new_with_number(atomic_load(&thread->tid), 0);
	must_have_ended(&t);
	target_close(&t);
}

/* The target has the id of the requester's process, but is another process. */
static void reuse_caller(void)
{
	struct credentials cred;
	struct target t;
	pid_t pid = new_sleeper(1000);

	must_be(credentials_of(pid, &cred, &error), 0);
	end(pid);
	new_with_number(pid, 0);
	open_target(pid, &t);
	must_be(target_check(&t, &cred, &error), ESRCH);
	target_close(&t);
	credentials_drop(&cred);
}

/* What /proc hides from the caller, and what there is not. Only the number may differ. */
static void hidden(void)
{
	pid_t caller = new_sleeper(1000), other = new_sleeper(1001), absent = 4000;
	char said[sizeof(error.text)];
	struct target t;

	must_be(may(caller, other), ESRCH);
	snprintf(said, sizeof(said), "thread %d%s", (int)absent, strstr(error.text, " does not"));
	must_be(may(caller, absent), ESRCH);
	must(strcmp(error.text, said) == 0);
	/* Root sees all. */
	must_be(may(getpid(), absent), ESRCH);
	must(strcmp(error.text, said) != 0);
	must_be(target_open(caller, getpid(), &t, &error), ESRCH);
	must_be(target_open(1, getpid(), &t, &error), EINVAL);
}

static void hidden_threads(void)
{
	in_pid_ns(hidden);
}

static void reuse_all(void)
{
	reuse_process();
	reuse_thread();
	reuse_caller();
}

static void reused_numbers(void)
{
	in_pid_ns(reuse_all);
}
static int kind_named(const char *name)
{
	for (int i = 0;; i++) {
		must(i < subject_nkinds);
		if (strcmp(subject_kinds[i].name, name) == 0)
			return i;
	}
}

static void new_in_user_ns(struct subject *s, struct credentials *cred)
{
	if (!subject_new(kind_named("user as root"), s))
		skip_here("no user namespaces here");
	must_be(credentials_of(s->tid, cred, &error), 0);
}

/* The kernel frees the namespace a little later. */
static void end_subject(const struct subject *s, struct credentials *cred, unsigned wait_us)
{
	close(s->sock);
	end(s->pid);
	if (cred)
		credentials_drop(cred);
	usleep(wait_us);
}

/* Whether a new namespace gets the inode number of one whose only process has ended. */
static bool user_ns_reused(bool referenced, unsigned wait_us)
{
	struct credentials cred, next;
	struct subject s;

	new_in_user_ns(&s, &cred);
	end_subject(&s, referenced ? NULL : &cred, wait_us);
	new_in_user_ns(&s, &next);
	end_subject(&s, &next, wait_us);
	if (referenced)
		credentials_drop(&cred);
	return next.user_ns == cred.user_ns;
}

/* Other processes make namespaces as well, so that it takes some tries. */
static void reused_user_ns(void)
{
	enum { STEP_US = 50000, STEPS = 10 };
	unsigned wait_us = STEP_US;

	while (!user_ns_reused(false, wait_us)) {
		wait_us += STEP_US;
		if (wait_us > STEPS * STEP_US)
			skip_here("this kernel did not give the number of a namespace to another");
	}
	for (int i = 0; i < 5; i++)
		must(!user_ns_reused(true, wait_us));
}
/* A PID namespace: its init, a user's process, a thread of that, and a process of a nested
 * namespace. Callers in the namespace name them by their ids there. */
enum { INIT, CHILD, THREAD, INNER, NSEEN };

static void container(struct seen *s)
{
	pid_t pid;

	tell(&s[INIT]);
	if (new_child() == 0) {
		become_user(1000);
		tell(&s[CHILD]);
		start_thread(&s[THREAD]);
		sleep_on();
	}
	wait_for(&s[THREAD].tid);
	must(unshare(CLONE_NEWPID) == 0);
	pid = new_child();
	if (pid == 0)
		tell(&s[INNER]);
	else
		atomic_store(&s[INNER].middle, pid);
	sleep_on();
}

static struct seen *new_container(void)
{
	struct seen *s = new_seen(NSEEN);

	/* Only children are in the new one: so the maker must be another than the test. */
	if (new_child() == 0) {
		if (unshare(CLONE_NEWPID) < 0)
			skip_here("no process namespaces here");
		if (new_child() == 0)
			container(s);
		sleep_on();
	}
	wait_for(&s[INNER].tid);
	wait_for(&s[INNER].middle);
	return s;
}

static void must_find(const struct seen *caller, pid_t number, const struct seen *expected)
{
	struct target t;

	must_be(target_open(caller->tid, number, &t, &error), expected ? 0 : ESRCH);
	if (expected)
		must(t.tid == expected->tid && t.named == number);
	target_close(&t);
}

static void find_from(const struct seen *s, const struct seen *caller)
{
	must_find(caller, s[INIT].inner, &s[INIT]);
	must_find(caller, s[CHILD].inner, &s[CHILD]);
	must_find(caller, s[THREAD].inner, &s[THREAD]);
	must_find(caller, s[INNER].middle, &s[INNER]);
	must_find(caller, s[INNER].middle + 1, NULL);
	must_find(caller, s[INIT].tid, NULL);
}

static void find_all(const struct seen *one, const struct seen *two)
{
	const struct seen here = {.tid = getpid()};

	for (int i = 0; i < NSEEN; i++) {
		must(one[i].inner == two[i].inner);
		must_find(&here, one[i].tid, &one[i]);
	}
	for (int i = INIT; i <= THREAD; i++) {
		find_from(one, &one[i]);
		find_from(two, &two[i]);
	}
	must_find(&one[INNER], 1, &one[INNER]);
	must_find(&one[INNER], 2, NULL);
	must_find(&one[INNER], one[INNER].middle, NULL);
}

/* Replaces what the kernel says of the machine's load, for this test alone. */
static void set_loadavg(const char *text)
{
	char path[] = "/tmp/loadavg.XXXXXX";
	CLEANUP_CLOSE int fd = mkstemp(path);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	must(unshare(CLONE_NEWNS) == 0);
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	if (mount(path, "/proc/loadavg", NULL, MS_BIND, NULL) < 0)
		skip_here("no other load average can be mounted");
	unlink(path);
}

static void other_pid_ns(void)
{
	struct seen *one, *two;
	int fds;

	one = new_container();
	two = new_container();
	set_loadavg("0.00 0.00 0.00 1/4096 4711\n");
	drop_capabilities();
	fds = count_fds();
	find_all(one, two);
	forbid(SYS_ioctl, GET_PID_FROM_PIDNS, ENOTTY);
	find_all(one, two);
	must(count_fds() == fds);
}

/* Before Linux 6.11, no request has the daemon search very many threads: they are not searched for
 * one that exists, nor for one that does not. */
static void many_in_other_pid_ns(void)
{
	struct seen *s = new_container();
	struct target t;

	set_loadavg("0.00 0.00 0.00 1/4097 4711\n");
	drop_capabilities();
	must_find(&s[CHILD], s[INIT].inner, &s[INIT]);
	forbid(SYS_ioctl, GET_PID_FROM_PIDNS, ENOTTY);
	must_be(target_open(s[CHILD].tid, s[INIT].inner, &t, &error), EOPNOTSUPP);
	must_be(target_open(s[CHILD].tid, s[INNER].middle + 1, &t, &error), EOPNOTSUPP);
	must_find(&s[CHILD], s[CHILD].inner, &s[CHILD]);
	must_find(&s[THREAD], s[THREAD].inner, &s[THREAD]);
}
/* After an exec, being in the requester's own process does not count; credentials do. */
static void own_process(void)
{
	struct credentials cred;
	struct subject s;
	struct target t;

	must(subject_new(kind_named("other effective uid"), &s));
	drop_capabilities();
	must_be(credentials_of(s.tid, &cred, &error), 0);
	open_target(s.tid, &t);
	must_be(target_check(&t, &cred, &error), 0);
	must_be(target_check_again(&t, &cred, &error), EPERM);
	target_close(&t);
	credentials_drop(&cred);
}
static void gone_caller(void)
{
	struct credentials cred;
	struct target mine, other;
	pid_t pid;

	pid = new_sleeper(1000);
	must_be(credentials_of(pid, &cred, &error), 0);
	end(pid);
	open_target(new_sleeper(1000), &mine);
	open_target(new_sleeper(1001), &other);
	must_be(target_check_again(&mine, &cred, &error), 0);
	must_be(target_check_again(&other, &cred, &error), EPERM);
	target_close(&mine);
	target_close(&other);
	credentials_drop(&cred);
}
static void set_yama(const char *scope)
{
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0 && write(fd, scope, 1) == 1);
	close(fd);
}

/* Returns user, which has started @child, which has started @grandchild. */
static pid_t new_family(struct seen *child, struct seen *grandchild)
{
	pid_t user = new_child();

	if (user == 0) {
		become_user(1000);
		if (fork() == 0) {
			tell(child);
			if (fork() == 0)
				tell(grandchild);
		}
		sleep_on();
	}
	wait_for(&child->tid);
	wait_for(&grandchild->tid);
	return user;
}

static void try_yama(pid_t user, pid_t child, pid_t grandchild, pid_t other)
{
	set_yama("0");
	must_be(may(user, other), 0);
	set_yama("1");
	must_be(may(user, child), 0);
	must_be(may(user, grandchild), 0);
	must_be(may(child, grandchild), 0);
	must_be(may(user, other), EPERM);
	must_be(may(child, user), EPERM);
	must_be(may(getpid(), other), 0);
	set_yama("2");
	must_be(may(user, child), EPERM);
	must_be(may(getpid(), other), 0);
	set_yama("3");
	must_be(may(user, child), EPERM);
	must_be(may(getpid(), other), EPERM);
	must_be(may(user, user), 0);
}

/* A requester that has exited has no descendants, but a target that was granted is not checked
 * by Yama again. */
static void try_yama_later(pid_t user, pid_t child)
{
	struct credentials cred;
	struct target t;

	set_yama("1");
	must_be(credentials_of(user, &cred, &error), 0);
	open_target(child, &t);
	must_be(target_check(&t, &cred, &error), 0);
	end(user);
	must_be(target_check(&t, &cred, &error), EPERM);
	must_be(target_check_again(&t, &cred, &error), 0);
	target_close(&t);
	credentials_drop(&cred);
}

/* Another has the number of the one that asked, and children. */
static void try_yama_reused(void)
{
	struct seen *s = new_seen(2);
	struct credentials cred;
	struct target t;
	pid_t pid = new_sleeper(1000), got;

	must_be(credentials_of(pid, &cred, &error), 0);
	end(pid);
	for (choose_number(pid); (got = new_family(&s[0], &s[1])) != pid; choose_number(pid)) {
		end(got);
		atomic_store(&s[0].tid, 0);
		atomic_store(&s[1].tid, 0);
	}
	open_target(s[1].tid, &t);
	must_be(target_check(&t, &cred, &error), EPERM);
	target_close(&t);
	credentials_drop(&cred);
}

/* As a kernel with Yama decides; this one need not have it. */
static void family(void)
{
	struct seen *s = new_seen(2);
	pid_t user, other;

	if (mount("none", "/proc/sys/kernel", "tmpfs", 0, NULL) < 0)
		skip_here("no other kernel settings can be mounted");
	must(mkdir("/proc/sys/kernel/yama", 0755) == 0);
	user = new_family(&s[0], &s[1]);
	other = new_sleeper(1000);
	try_yama(user, s[0].tid, s[1].tid, other);
	try_yama_later(user, s[0].tid);
	try_yama_reused();
}

static void yama(void)
{
	in_pid_ns(family);
}
/* A sentence is one line, whatever a program calls itself. */
static void names(void)
{
	struct seen *s = new_seen(1);
	pid_t pid, user;

	user = new_sleeper(1000);
	pid = new_child();
	if (pid == 0) {
		must(prctl(PR_SET_NAME, "a\n\033[31m) R \xff") == 0);
		tell(s);
		sleep_on();
	}
	wait_for(&s->tid);
	must_be(may(user, pid), EPERM);
	for (const char *p = error.text; *p; p++)
		must(*p >= ' ' && *p <= '~');
}

/* Bytes that this process has read. */
static unsigned long long bytes_read(void)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/self/io", "re");
	unsigned long long n = 0;

	must(f && fscanf(f, "rchar: %llu", &n) == 1);
	return n;
}

enum { GROUPS = 65536 };

/* A thread with as many groups as any user can have. */
static pid_t grouped(void)
{
	gid_t *groups = calloc(GROUPS, sizeof(*groups));
	struct seen *s = new_seen(1);

	for (int i = 0; i < GROUPS; i++)
		groups[i] = 100000 + (gid_t)i;
	if (new_child() == 0) {
		must(setgroups(GROUPS, groups) == 0);
		become_user(1000);
		tell(s);
		sleep_on();
	}
	wait_for(&s->tid);
	free(groups);
	return atomic_load(&s->tid);
}

/* The kernel prints all groups for every status that is read. */
static void many_groups(void)
{
	unsigned long long before;
	pid_t tid;

	if (is_older_than(6, 13))
		skip_here("before Linux 6.13, only /proc/TID/status shows a thread's ids");
	tid = grouped();
	before = bytes_read();
	must_be(may(tid, tid), 0);
	must_be(may(tid, 1), EPERM);
	must(bytes_read() - before < GROUPS);
}

/* Where the status must be read, such a thread is refused at once. */
static void many_groups_before_6_13(void)
{
	unsigned long long before;
	struct credentials cred;
	struct target t;
	pid_t tid = grouped();

	forbid(SYS_pidfd_open, O_EXCL, EINVAL);
	before = bytes_read();
	must_be(credentials_of(tid, &cred, &error), EFBIG);
	must_be(target_open(getpid(), tid, &t, &error), EFBIG);
	must(bytes_read() - before < 4 * GROUPS);
}
static const struct {
	const char *name;
	void (*body)(void);
} tests[] = {
	{"as the kernel", as_the_kernel},
	{"as an older kernel", as_an_older_kernel},
	{"cred traces all", who_traces_all},
	{"numbers", numbers},
	{"kernel threads", kernel_threads},
	{"zombie", zombie},
	{"thread ends", thread_ends},
	{"first thread ends", first_thread_ends},
	{"thread executes", thread_executes},
	{"reused numbers", reused_numbers},
	{"reused user ns", reused_user_ns},
	{"other pid ns", other_pid_ns},
	{"many in other pid ns", many_in_other_pid_ns},
	{"own process", own_process},
	{"gone caller", gone_caller},
	{"yama", yama},
	{"names", names},
	{"hidden threads", hidden_threads},
	{"many groups", many_groups},
	{"many groups before 6.13", many_groups_before_6_13},
	{"same identity", same_identity},
};
enum { NTESTS = sizeof(tests) / sizeof(*tests) };

/* cmocka has no part in this: it calls a test that was skipped "not ok", and fails in children as
 * if they were the test. */
int main(int argc, char **argv)
{
	int failed = 0;

	subject_main(argc, argv);
	if (geteuid() != 0) {
		puts("1..0 # SKIP only root can look at others, and play them");
		return 0;
	}
	must(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	why_not = mmap(NULL, PIPE_BUF, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(why_not != MAP_FAILED);
	printf("1..%d\n", NTESTS);
	for (int i = 0; i < NTESTS; i++) {
		int rc;

		fflush(stdout);
		rc = in_child(tests[i].body);
		failed += rc != 0 && rc != SKIPPED;
		printf("%s %d - %s%s\n", rc == 0 || rc == SKIPPED ? "ok" : "not ok", i + 1,
			tests[i].name, rc == SKIPPED ? why_not : "");
	}
	return failed != 0;
}

// SPDX-License-Identifier: MIT
/*
 * Revocation on exec, with the real kernel: threads of all kinds of credentials execute programs
 * which their requester may trace, or may not. The test is the ctxsw thread of its CPU and polls
 * the wakeup event.
 */
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "daemon/bpf/sched.h"
#include "tests/unit/unit.h"

enum { USER = 1000, TIMEOUT_MS = 60000 };

/* A thread that executes a program, and its requester. */
struct exec_case {
	const char *what;
	const char *program;  /* a copy of cat */
	bool user, by_thread; /* not root; not the thread group leader */
	int (*before)(void);  /* called first */
	unsigned uid, gid;    /* of the requester */
	uint64_t lacks;       /* missing from all capabilities */
	unsigned elsewhere;   /* another user namespace than the test's */
	bool revoked;
};

static int drop_all(void)
{
	cap_t none = cap_init();
	int rc = none ? cap_set_proc(none) : -1;

	cap_free(none);
	return rc;
}

static int enter_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static int become_user(void)
{
	return setresuid(USER, USER, USER);
}

#define BY_USER  .user = true, .uid = USER, .gid = USER
#define ALL_CAPS (~0ULL)

static const struct exec_case exec_cases[] = {
	{"root's", "plain"},
	{"another user's", "plain", .uid = USER, .revoked = true},
	{"another group's", "plain", .gid = USER, .revoked = true},
	{"one with more capabilities", "plain", .lacks = 1ULL << CAP_NET_RAW, .revoked = true},
	{"one in another namespace", "plain", .elsewhere = 1, .revoked = true},
	{"one that gains root's capabilities", "plain", .before = drop_all, .revoked = true},
	{"one whose user has been changed", "plain", .before = become_user, .revoked = true},
	{"a user's", "plain", BY_USER, .lacks = ALL_CAPS},
	{"a user's, by another thread", "plain", BY_USER, .lacks = ALL_CAPS, .by_thread = true},
	{"a user's in a user namespace", "plain", BY_USER, .before = enter_namespace,
		.revoked = true},
	{"set-user-id", "setuid", BY_USER, .revoked = true},
	{"set-user-id, by another thread", "setuid", BY_USER, .by_thread = true, .revoked = true},
	{"set-group-id", "setgid", BY_USER, .revoked = true},
	{"with file capabilities", "capable", BY_USER, .lacks = ALL_CAPS, .revoked = true},
	{"unreadable", "unreadable", BY_USER, .lacks = ALL_CAPS, .revoked = true},
};
enum { EXEC_CASES = COUNT(exec_cases) };

static char dir[] = "/tmp/revoked-XXXXXX";
static struct sched *sched;
static int wakeup_fd;

/* The child: its pipes are 0 and 1. It writes its thread id and begins at the next byte. */

static void *become(void *arg)
{
	const struct exec_case *b = arg;
	pid_t tid = gettid();
	char c, path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, b->program);
	if (write(1, &tid, sizeof(tid)) != sizeof(tid) || read(0, &c, 1) != 1)
		_exit(1);
	execl(path, b->program, (char *)NULL);
	_exit(1);
}

/* In a thread it is that one's alone, as the kernel has it. */
static _Noreturn void child(const struct exec_case *b)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (b->user &&
		(setgroups(0, NULL) < 0 || setresgid(USER, USER, USER) < 0 || become_user() < 0))
		_exit(1);
	/* As after an exec by its user. */
	prctl(PR_SET_DUMPABLE, 1);
	if (b->before && b->before() < 0)
		_exit(2);
	if (b->by_thread && pthread_create(&thread, NULL, become, (void *)(uintptr_t)b) == 0)
		pthread_join(thread, NULL);
	become((void *)(uintptr_t)b);
	_exit(1);
}

struct child {
	pid_t pid, tid;
	int to, from;
};

static bool begin(const struct exec_case *b, struct child *l)
{
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	l->pid = fork();
	assert_true(l->pid >= 0);
	if (l->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		child(b);
	}
	close(in[0]);
	close(out[1]);
	l->to = in[1];
	l->from = out[0];
	return read(l->from, &l->tid, sizeof(l->tid)) == sizeof(l->tid);
}

/* Every program gives back what it is given. */
static void executed(const struct child *l)
{
	char c = 0;

	assert_int_equal(write(l->to, "xy", 2), 2);
	assert_int_equal(read(l->from, &c, 1), 1);
	assert_int_equal(c, 'y');
}

static int end(struct child *l)
{
	int status;

	close(l->to);
	close(l->from);
	assert_int_equal(waitpid(l->pid, &status, 0), l->pid);
	return status;
}

static uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* The last context switch of a thread may come after waitpid(). */
static void until_dead(const struct sched_slot *s)
{
	for (unsigned ms = 0; !load(&s->dead); ms++) {
		assert_true(ms < TIMEOUT_MS);
		usleep(1000);
	}
}

static bool is_woken(void)
{
	struct pollfd p = {wakeup_fd, POLLIN, 0};

	return poll(&p, 1, 0) == 1;
}

static uint32_t our_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 ? (uint32_t)st.st_ino : 0;
}

static void check(const struct exec_case *b, unsigned slot)
{
	struct sched_requester requester = {
		.permitted = ALL_CAPS & ~b->lacks, .uid = b->uid, .gid = b->gid};
	const struct sched_slot *s = sched_slot(sched, slot);
	struct child l;
	struct err e;

	print_message("# %s\n", b->what);
	if (!begin(b, &l)) {
		assert_int_equal(WEXITSTATUS(end(&l)), 2);
		print_message("# not on this machine\n");
		return;
	}
	requester.user_ns = our_namespace();
	requester.user_ns += requester.user_ns ? b->elsewhere : 1;
	assert_int_equal(sched_follow(sched, slot, l.tid, &e), 0);
	assert_int_equal(sched_set_requester(sched, slot, &requester, &e), 0);
	is_woken();
	executed(&l);
	assert_int_equal(load(&s->dead), b->revoked ? SCHED_REVOKED : 0);
	assert_int_equal(is_woken(), b->revoked);
	if (b->revoked)
		assert_int_equal(load(&s->tid), l.pid);
	end(&l);
	until_dead(s);
	assert_int_equal(load(&s->dead), b->revoked ? SCHED_REVOKED : SCHED_ENDED);
	sched_forget(sched, slot);
}

TEST(exec_cases)
{
	for (unsigned i = 0; i < EXEC_CASES; i++)
		check(&exec_cases[i], 1 + i);
}

/* Without a requester, nothing is revoked. */
TEST(no_requester)
{
	const struct exec_case setuid = {"set-user-id", "setuid", BY_USER};
	const struct sched_slot *s = sched_slot(sched, 1);
	struct child l;
	struct err e;

	assert_true(begin(&setuid, &l));
	assert_int_equal(sched_follow(sched, 1, l.tid, &e), 0);
	executed(&l);
	assert_int_equal(load(&s->dead), 0);
	end(&l);
	until_dead(s);
	sched_forget(sched, 1);
}

/* The requester of a slot is forgotten with the slot. */
TEST(forget)
{
	struct sched_requester other = {.uid = USER + 1, .gid = USER + 1};
	struct err e;

	assert_int_equal(sched_follow(sched, 1, getpid(), &e), 0);
	assert_int_equal(sched_set_requester(sched, 1, &other, &e), 0);
	sched_forget(sched, 1);
	test_no_requester(state);
}

static void make(const char *name, const char *how)
{
	char cmd[256];

	snprintf(
		cmd, sizeof(cmd), "cp /bin/cat %s/%s && cd %s && %s %s", dir, name, dir, how, name);
	assert_int_equal(system(cmd), 0);
}

/* Makes this thread the ctxsw thread of its CPU, on which its children run, too. */
static void open_wakeup(void)
{
	unsigned cpu = (unsigned)sched_getcpu();
	cpu_set_t set;
	struct err e;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	assert_int_equal(sched_wakeup_open(sched, cpu, &wakeup_fd, &e), 0);
	__atomic_store_n(&sched_cpu(sched, cpu)->ctxsw_tid, (uint32_t)gettid(), __ATOMIC_RELEASE);
}

static int open_all(void **state)
{
	CLEANUP_FREE char *path = NULL;
	cap_t caps = cap_from_text("cap_net_raw+ep");
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	make("plain", "chmod 755");
	make("setuid", "chmod 4755");
	make("setgid", "chmod 2755");
	make("unreadable", "chmod 711");
	make("capable", "chmod 755");
	assert_true(asprintf(&path, "%s/capable", dir) > 0);
	assert_int_equal(cap_set_file(path, caps), 0);
	cap_free(caps);
	assert_int_equal(sched_open(&sched, &e), 0);
	open_wakeup();
	return 0;
}

static int close_all(void **state)
{
	char cmd[64];

	(void)state;
	close(wakeup_fd);
	sched_close(sched);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd);
}

static bool no_setuid(void)
{
	struct statvfs st;

	return statvfs("/tmp", &st) < 0 || st.f_flag & ST_NOSUID;
}

int main(void)
{
	struct err e;

	if (no_setuid() || sched_probe(&e) < 0) {
		printf("1..0 # SKIP %s\n",
			no_setuid() ? "no set-user-id programs in /tmp" : e.text);
		return 0;
	}
	return unit_run(open_all, close_all);
}

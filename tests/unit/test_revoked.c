// SPDX-License-Identifier: MIT
/*
 * Threads that execute programs which somebody may trace, or may not: those of all kinds of
 * credentials, each by the real kernel. The carrier is the test itself, which looks at its bell.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/track/sched.h"

enum { USER = 1000, PATIENCE_MS = 60000 };

/* Who executes what, and for whom he is followed. */
struct becoming {
	const char *what;
	const char *program;  /* a copy of cat */
	bool user, by_thread; /* not root; not the first thread of his process */
	int (*before)(void);  /* what he does first */
	unsigned uid, gid;    /* of whom he is followed for, */
	uint64_t lacks;       /* of all capabilities, */
	unsigned elsewhere;   /* not in our user namespace */
	bool barred;
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

static const struct becoming becomings[] = {
	{"root's", "plain"},
	{"another user's", "plain", .uid = USER, .barred = true},
	{"another group's", "plain", .gid = USER, .barred = true},
	{"one with more capabilities", "plain", .lacks = 1ULL << CAP_NET_RAW, .barred = true},
	{"one in another namespace", "plain", .elsewhere = 1, .barred = true},
	{"one that gains root's capabilities", "plain", .before = drop_all, .barred = true},
	{"one whose user has been changed", "plain", .before = become_user, .barred = true},
	{"a user's", "plain", BY_USER, .lacks = ALL_CAPS},
	{"a user's, by another thread", "plain", BY_USER, .lacks = ALL_CAPS, .by_thread = true},
	{"a user's in his namespace", "plain", BY_USER, .before = enter_namespace, .barred = true},
	{"set-user-id", "setuid", BY_USER, .barred = true},
	{"set-user-id, by another thread", "setuid", BY_USER, .by_thread = true, .barred = true},
	{"set-group-id", "setgid", BY_USER, .barred = true},
	{"with file capabilities", "capable", BY_USER, .lacks = ALL_CAPS, .barred = true},
	{"unreadable", "unreadable", BY_USER, .lacks = ALL_CAPS, .barred = true},
};
enum { BECOMINGS = sizeof(becomings) / sizeof(becomings[0]) };

static char dir[] = "/tmp/barred-XXXXXX";
static struct sched *sched;
static int bell;

/* The child: its pipes are 0 and 1, it tells its number and begins at the next byte. */

static void *become(void *arg)
{
	const struct becoming *b = arg;
	pid_t tid = gettid();
	char c, path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, b->program);
	if (write(1, &tid, sizeof(tid)) != sizeof(tid) || read(0, &c, 1) != 1)
		_exit(1);
	execl(path, b->program, (char *)NULL);
	_exit(1);
}

/* In a thread it is that one's alone, as the kernel has it. */
static _Noreturn void child(const struct becoming *b)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (b->user &&
		(setgroups(0, NULL) < 0 || setresgid(USER, USER, USER) < 0 || become_user() < 0))
		_exit(1);
	/* As it is again when its user executes a program of his own. */
	prctl(PR_SET_DUMPABLE, 1);
	if (b->before && b->before() < 0)
		_exit(2);
	if (b->by_thread && pthread_create(&thread, NULL, become, (void *)(uintptr_t)b) == 0)
		pthread_join(thread, NULL);
	become((void *)(uintptr_t)b);
	_exit(1);
}

struct life {
	pid_t pid, tid;
	int to, from;
};

static bool begin(const struct becoming *b, struct life *l)
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
static void executed(const struct life *l)
{
	char c = 0;

	assert_int_equal(write(l->to, "xy", 2), 2);
	assert_int_equal(read(l->from, &c, 1), 1);
	assert_int_equal(c, 'y');
}

static int end(struct life *l)
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

/* The last switch of a thread may come after its end is told. */
static void until_dead(const struct sched_slot *s)
{
	for (unsigned ms = 0; !load(&s->dead); ms++) {
		assert_true(ms < PATIENCE_MS);
		usleep(1000);
	}
}

static bool has_rung(void)
{
	struct pollfd p = {bell, POLLIN, 0};

	return poll(&p, 1, 0) == 1;
}

static uint32_t our_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 ? (uint32_t)st.st_ino : 0;
}

static void check(const struct becoming *b, unsigned slot)
{
	struct sched_guard who = {.permitted = ALL_CAPS & ~b->lacks, .uid = b->uid, .gid = b->gid};
	const struct sched_slot *s = sched_slot(sched, slot);
	struct life l;
	struct err e;

	print_message("# %s\n", b->what);
	if (!begin(b, &l)) {
		assert_int_equal(WEXITSTATUS(end(&l)), 2);
		print_message("# not on this machine\n");
		return;
	}
	who.user_ns = our_namespace();
	who.user_ns += who.user_ns ? b->elsewhere : 1;
	assert_int_equal(sched_follow(sched, slot, l.tid, &e), 0);
	assert_int_equal(sched_guard(sched, slot, &who, &e), 0);
	has_rung();
	executed(&l);
	assert_int_equal(load(&s->dead), b->barred ? SCHED_BARRED : 0);
	assert_int_equal(has_rung(), b->barred);
	if (b->barred)
		assert_int_equal(load(&s->tid), l.pid);
	end(&l);
	until_dead(s);
	assert_int_equal(load(&s->dead), b->barred ? SCHED_BARRED : SCHED_ENDED);
	sched_forget(sched, slot);
}

static void test_becomings(void **state)
{
	(void)state;
	for (unsigned i = 0; i < BECOMINGS; i++)
		check(&becomings[i], 1 + i);
}

/* Whoever may trace all has no guard. */
static void test_unguarded(void **state)
{
	const struct becoming setuid = {"set-user-id", "setuid", BY_USER};
	const struct sched_slot *s = sched_slot(sched, 1);
	struct life l;
	struct err e;

	(void)state;
	assert_true(begin(&setuid, &l));
	assert_int_equal(sched_follow(sched, 1, l.tid, &e), 0);
	executed(&l);
	assert_int_equal(load(&s->dead), 0);
	end(&l);
	until_dead(s);
	sched_forget(sched, 1);
}

/* The next one to have the slot has not the guard of the last one. */
static void test_forgotten(void **state)
{
	struct sched_guard nobody = {.uid = USER + 1, .gid = USER + 1};
	struct err e;

	assert_int_equal(sched_follow(sched, 1, getpid(), &e), 0);
	assert_int_equal(sched_guard(sched, 1, &nobody, &e), 0);
	sched_forget(sched, 1);
	test_unguarded(state);
}

static void make(const char *name, const char *how)
{
	char cmd[256];

	snprintf(
		cmd, sizeof(cmd), "cp /bin/cat %s/%s && cd %s && %s %s", dir, name, dir, how, name);
	assert_int_equal(system(cmd), 0);
}

/* This thread is the carrier of its CPU, and what it starts runs there. */
static void hang_bell(void)
{
	unsigned cpu = (unsigned)sched_getcpu();
	cpu_set_t set;
	struct err e;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	assert_int_equal(sched_bell(sched, cpu, &bell, &e), 0);
	__atomic_store_n(&sched_cpu(sched, cpu)->carrier, (uint32_t)gettid(), __ATOMIC_RELEASE);
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
	hang_bell();
	return 0;
}

static int close_all(void **state)
{
	char cmd[64];

	(void)state;
	close(bell);
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_becomings),
		cmocka_unit_test(test_unguarded),
		cmocka_unit_test(test_forgotten),
	};
	struct err e;

	if (no_setuid() || sched_probe(&e) < 0) {
		printf("1..0 # SKIP %s\n",
			no_setuid() ? "no set-user-id programs in /tmp" : e.text);
		return 0;
	}
	return cmocka_run_group_tests(tests, open_all, close_all);
}

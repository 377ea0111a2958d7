// SPDX-License-Identifier: MIT
/* The journal: registers of a killed daemon are restored, other registers are unchanged. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/msr/journal.h"
#include "backend/msr/journal_format.h"
#include "backend/msr/msr.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "tests/unit/fake_msr.h"
#include "tests/unit/unit.h"

enum { SEL0 = 0x186, CTR0 = 0xc1, FIXED_CTRL = 0x38d, STATUS = 0x38e, GLOBAL = 0x38f };

#define ALL UINT64_MAX

struct bench {
	struct fake *f;
	char top[32], dev[48], run[48];
	struct backend_conf conf;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	strcpy(b->top, "/tmp/test_journal.XXXXXX");
	assert_non_null(mkdtemp(b->top));
	snprintf(b->dev, sizeof(b->dev), "%s/cpu", b->top);
	snprintf(b->run, sizeof(b->run), "%s/run", b->top);
	assert_int_equal(mkdir(b->dev, 0700), 0);
	b->conf = (struct backend_conf){.dev = b->dev, .run_dir = b->run};
	b->f = fake_new();
	*state = b;
	return 0;
}

/* Counts journals; the lock file stays. */
static unsigned files_in(const char *dir)
{
	CLEANUP_CLOSEDIR DIR *d = opendir(dir);
	unsigned n = 0;
	struct dirent *de;

	while (d && (de = readdir(d)))
		n += de->d_name[0] != '.' && strcmp(de->d_name, "lock") != 0;
	return n;
}

static void empty(const char *dir)
{
	CLEANUP_CLOSEDIR DIR *d = opendir(dir);
	struct dirent *de;

	while (d && (de = readdir(d)))
		unlinkat(dirfd(d), de->d_name, 0);
	rmdir(dir);
}

static int teardown(void **state)
{
	struct bench *b = *state;

	empty(b->run);
	empty(b->dev);
	assert_int_equal(rmdir(b->top), 0);
	fake_destroy(b->f);
	free(b);
	return 0;
}

static unsigned unfinished(const struct bench *b)
{
	struct journal_summary found;

	journal_summary(b->run, b->dev, &found);
	return found.unfinished;
}

static unsigned unrestored(const struct bench *b)
{
	struct journal_summary found;

	journal_summary(b->run, b->dev, &found);
	return found.unrestored;
}

static void assert_unrestored(struct backend *be, unsigned cpu, const char *regs)
{
	TEXT_CLEANUP struct text t = {0};

	be->ops->unrestored(be, cpu, &t);
	assert_string_equal(t.n ? t.p : "", regs);
}

static struct backend *open_backend(struct bench *b)
{
	struct backend *be = NULL;

	if (msr_backend_new(&msr_backend_ops, &b->f->io, &b->conf, &be, &why) < 0)
		fail_msg("%s", why.text);
	return be;
}

static struct backend_cpu *open_cpu(struct backend *be, unsigned cpu)
{
	struct backend_cpu *c = NULL;

	assert_int_equal(be->ops->cpu_open(be, cpu, &c, &why), 0);
	return c;
}

static void run(struct backend *be, struct backend_cpu *c, enum reg_verb verb, uint32_t addr,
	uint64_t value, uint64_t mask)
{
	struct reg_op op = {.addr = addr, .verb = verb, .value = value, .mask = mask};

	assert_int_equal(be->ops->run(c, &op, 1, &why), 1);
}

/* A daemon that counts on CPUs 0 and 2 and is killed. */
static pid_t killed_daemon(struct bench *b)
{
	pid_t pid;

	*fake_reg(b->f, 0, SEL0) = 0x13003c;
	*fake_reg(b->f, 0, CTR0) = 0x1111;
	*fake_reg(b->f, 2, FIXED_CTRL) = 0x0b0;
	*fake_reg(b->f, 2, GLOBAL) = 0x7;
	pid = fork();
	if (pid == 0) {
		struct backend *be = open_backend(b);
		struct backend_cpu *c0 = open_cpu(be, 0), *c2 = open_cpu(be, 2);

		run(be, c0, REG_RESERVE, CTR0, 0, ALL);
		run(be, c0, REG_RESERVE, SEL0, 0, ALL);
		run(be, c0, REG_RESERVE, SEL0 + 1, 0, ALL);
		run(be, c0, REG_WRITE, CTR0, 5, 0);
		run(be, c0, REG_WRITE, SEL0, 0x4100c0, 0);
		run(be, c0, REG_WRITE, SEL0 + 1, 0x4100c0, 0);
		run(be, c0, REG_RELEASE, SEL0 + 1, 0, ALL);
		run(be, c2, REG_RESERVE, FIXED_CTRL, 0, 0x003);
		run(be, c2, REG_RESERVE, FIXED_CTRL, 0, 0x300);
		run(be, c2, REG_UPDATE, FIXED_CTRL, 0x202, 0x303);
		run(be, c2, REG_RESERVE, GLOBAL, 0, 1ull << 32);
		run(be, c2, REG_UPDATE, GLOBAL, 1ull << 32, 1ull << 32);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x4100c0);
	assert_int_equal(*fake_reg(b->f, 2, FIXED_CTRL), 0x2b2);
	assert_int_equal(files_in(b->run), 1);
	b->f->nopen = 0;
	b->f->nlog = 0;
	return pid;
}

TEST_OF(setup, teardown, orderly, struct bench *b)
{
	struct backend *be = open_backend(b);
	struct backend_cpu *c = open_cpu(be, 1);

	run(be, c, REG_RESERVE, SEL0, 0, ALL);
	assert_int_equal(files_in(b->run), 1);
	assert_int_equal(unfinished(b), 0);
	be->ops->cpu_close(c);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 0);
}

/* Registers that are not persistent have no journal, and do not use that of others. */
TEST_OF(setup, teardown, not_lasting, struct bench *b)
{
	struct backend *be;

	killed_daemon(b);
	b->f->io.persistent = false;
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x4100c0);
	assert_int_equal(files_in(b->run), 1);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 1);
}

TEST_OF(setup, teardown, killed, struct bench *b)
{
	struct fake *f = b->f;
	struct backend *be;

	killed_daemon(b);
	assert_int_equal(unfinished(b), 1);
	be = open_backend(b);
	assert_int_equal(*fake_reg(f, 0, SEL0), 0x13003c);
	assert_int_equal(*fake_reg(f, 0, CTR0), 0x1111);
	assert_int_equal(*fake_reg(f, 2, FIXED_CTRL), 0x0b0);
	assert_int_equal(*fake_reg(f, 2, GLOBAL), 0x7);
	/* The global control, selectors, counters; released registers are not written. */
	assert_int_equal(f->log[0].addr, SEL0);
	assert_int_equal(f->log[1].addr, 0x4c1);
	assert_int_equal(f->log[2].addr, GLOBAL);
	assert_int_equal(f->log[3].addr, FIXED_CTRL);
	assert_int_equal(files_in(b->run), 1);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 0);
	assert_int_equal(f->nopen, 0);
}

TEST_OF(setup, teardown, killed_cpu_offline, struct bench *b)
{
	struct backend *be;
	struct backend_cpu *cpu;

	killed_daemon(b);
	b->f->offline[2] = true;
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x13003c);
	assert_int_equal(*fake_reg(b->f, 2, FIXED_CTRL), 0x2b2);
	/* Pending registers are restored before the next reservation. */
	b->f->offline[2] = false;
	cpu = open_cpu(be, 2);
	assert_int_equal(*fake_reg(b->f, 2, FIXED_CTRL), 0x2b2);
	run(be, cpu, REG_RESERVE, SEL0, 0, ALL);
	assert_int_equal(*fake_reg(b->f, 2, FIXED_CTRL), 0x0b0);
	be->ops->cpu_close(cpu);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 0);
}

/* What is pending survives daemons during which its CPU is offline all the time. */
TEST_OF(setup, teardown, killed_cpu_offline_twice, struct bench *b)
{
	struct backend *be;

	killed_daemon(b);
	b->f->offline[2] = true;
	for (unsigned i = 0; i < 2; i++) {
		be = open_backend(b);
		assert_unrestored(be, 0, "");
		assert_unrestored(be, 2, "0x38f,0x38d");
		assert_int_equal(unfinished(b), 0);
		assert_int_equal(unrestored(b), 2);
		be->ops->close(be);
		assert_int_equal(files_in(b->run), 1);
		assert_int_equal(unfinished(b), 1);
	}
	b->f->offline[2] = false;
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 2, FIXED_CTRL), 0x0b0);
	assert_int_equal(*fake_reg(b->f, 2, GLOBAL), 0x7);
	assert_unrestored(be, 2, "");
	assert_int_equal(unrestored(b), 0);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 0);
}

static void assert_owner(struct backend *be, unsigned cpu, const char *owner)
{
	TEXT_CLEANUP struct text t = {0};

	be->ops->pmu_owner(be, cpu, SEL0, 0x4100c0, &t);
	assert_non_null(strstr(t.p, owner));
}

static bool is_unrestored(struct backend *be, unsigned cpu)
{
	TEXT_CLEANUP struct text t = {0};

	be->ops->unrestored(be, cpu, &t);
	return t.n > 0;
}

/* An attempt to use what could not be restored fails, and what gives up its own does not give up
 * that. */
TEST_OF(setup, teardown, left_and_wanted_again, struct bench *b)
{
	struct backend *be = open_backend(b);
	struct backend_cpu *cpu = open_cpu(be, 2);
	struct reg_op reserve = {.verb = REG_RESERVE, .addr = SEL0, .mask = ALL};
	struct reg_op forget = {.verb = REG_FORGET, .addr = SEL0, .mask = ALL};

	run(be, cpu, REG_RESERVE, SEL0, 0, ALL);
	run(be, cpu, REG_WRITE, SEL0, 0x4100c0, 0);
	b->f->write_rc = -ENXIO;
	be->ops->cpu_close(cpu);
	for (unsigned i = 0; i < 2; i++) {
		cpu = open_cpu(be, 2);
		assert_int_equal(be->ops->run(cpu, &reserve, 1, &why), 0);
		assert_int_equal(why.no, ENXIO);
		assert_int_equal(be->ops->run(cpu, &forget, 1, &why), 1);
		be->ops->cpu_close(cpu);
		assert_true(is_unrestored(be, 2));
	}
	b->f->write_rc = 0;
	cpu = open_cpu(be, 2);
	run(be, cpu, REG_RESERVE, SEL0, 0, ALL);
	assert_int_equal(*fake_reg(b->f, 2, SEL0), 0);
	assert_false(is_unrestored(be, 2));
	be->ops->cpu_close(cpu);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 0);
}

/* The CPU goes offline just before its registers are restored, and is online again just after. */
TEST_OF(setup, teardown, online_again_at_once, struct bench *b)
{
	struct backend *be = open_backend(b);
	struct backend_cpu *cpu = open_cpu(be, 2);

	run(be, cpu, REG_RESERVE, SEL0, 0, ALL);
	run(be, cpu, REG_WRITE, SEL0, 0x4100c0, 0);
	b->f->write_rc = -ENXIO;
	be->ops->cpu_close(cpu);
	assert_int_equal(*fake_reg(b->f, 2, SEL0), 0x4100c0);
	assert_true(is_unrestored(be, 2));
	assert_owner(be, 1, "another program");
	assert_owner(be, 2, "a context that has ended");
	b->f->write_rc = 0;
	be->ops->begin(be); /* The fake is the thread's until it has restored the register. */
	for (unsigned ms = 0; is_unrestored(be, 2) && ms < 60000; ms++)
		usleep(1000);
	assert_int_equal(*fake_reg(b->f, 2, SEL0), 0);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 0);
}

/* A register that faults is kept, and is restored by the first start for which it does not. */
TEST_OF(setup, teardown, killed_fault, struct bench *b)
{
	struct backend *be;

	killed_daemon(b);
	b->f->fault_addr = FIXED_CTRL;
	b->f->fault_rc = -EIO;
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x13003c);
	assert_int_equal(*fake_reg(b->f, 2, GLOBAL), 0x7);
	assert_unrestored(be, 2, "0x38d");
	assert_int_equal(unrestored(b), 1);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 1);
	b->f->fault_rc = 0;
	*fake_reg(b->f, 0, SEL0) = 0x77;
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 2, FIXED_CTRL), 0x0b0);
	/* What had been restored is not written again. */
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x77);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 0);
}

/* Registers that the present description lacks are kept for one that has them. */
TEST_OF(setup, teardown, killed_other_pmu, struct bench *b)
{
	struct backend *be;

	killed_daemon(b);
	b->conf.pmu = "intel_arch_v1";
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x13003c);
	assert_int_equal(*fake_reg(b->f, 2, FIXED_CTRL), 0x2b2);
	assert_unrestored(be, 2, "0x38d,0x38f");
	assert_int_equal(unrestored(b), 2);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 1);
	b->conf.pmu = NULL;
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 2, FIXED_CTRL), 0x0b0);
	assert_int_equal(*fake_reg(b->f, 2, GLOBAL), 0x7);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 0);
}

/* The overflow status of counters that were reserved is cleared, that of others is not. */
TEST_OF(setup, teardown, killed_overflowed, struct bench *b)
{
	struct backend *be;

	killed_daemon(b);
	*fake_reg(b->f, 0, STATUS) = 0x3;
	*fake_reg(b->f, 2, STATUS) = 1ull << 32;
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 0, STATUS), 0x2);
	assert_int_equal(*fake_reg(b->f, 2, STATUS), 1ull << 32);
	be->ops->close(be);
}

/* Counters that the kernel's perf has taken since are left to it. */
TEST_OF(setup, teardown, killed_taken, struct bench *b)
{
	struct backend *be;

	killed_daemon(b);
	*fake_reg(b->f, 0, SEL0) = 0x53003c;
	*fake_reg(b->f, 0, STATUS) = 0x1;
	*fake_reg(b->f, 2, FIXED_CTRL) = 0x2bb;
	*fake_reg(b->f, 2, GLOBAL) = 1ull << 32;
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x53003c);
	assert_int_equal(*fake_reg(b->f, 0, CTR0), 5);
	assert_int_equal(*fake_reg(b->f, 0, STATUS), 0x1);
	/* Fixed counter 2 is still the dead daemon's. */
	assert_int_equal(*fake_reg(b->f, 2, FIXED_CTRL), 0x0bb);
	assert_int_equal(*fake_reg(b->f, 2, GLOBAL), 1ull << 32);
	assert_unrestored(be, 0, "");
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 0);
}

/* As in a container, where a daemon may have the pid of the dead one. */
TEST_OF(setup, teardown, killed_same_pid, struct bench *b)
{
	char from[96], to[96];
	struct backend *be;

	snprintf(from, sizeof(from), "%s/journal.%d", b->run, killed_daemon(b));
	snprintf(to, sizeof(to), "%s/journal.%d", b->run, getpid());
	assert_int_equal(rename(from, to), 0);
	b->f->offline[2] = true;
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x13003c);
	assert_unrestored(be, 2, "0x38f,0x38d");
	assert_int_equal(files_in(b->run), 1);
	assert_int_equal(unrestored(b), 2);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 1);
}

/* If writes are refused, the journal stays, and the next start restores. */
TEST_OF(setup, teardown, killed_then_refused, struct bench *b)
{
	struct backend *be = NULL;

	killed_daemon(b);
	b->f->write_rc = -EPERM;
	assert_int_equal(msr_backend_new(&msr_backend_ops, &b->f->io, &b->conf, &be, &why), -EPERM);
	assert_int_equal(files_in(b->run), 1);
	b->f->write_rc = 0;
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x13003c);
	be->ops->close(be);
}

/* The journal of a running daemon, here a stopped child, is not used. */
TEST_OF(setup, teardown, living, struct bench *b)
{
	struct backend *be;
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		be = open_backend(b);
		run(be, open_cpu(be, 0), REG_RESERVE, SEL0, 0, ALL);
		*fake_reg(b->f, 0, SEL0) = 0x22;
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(unfinished(b), 0);
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x22);
	assert_int_equal(files_in(b->run), 2);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0);
	be->ops->close(be);
	close(ready[0]);
	close(ready[1]);
}

static int open_journal(struct bench *b, pid_t pid)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/journal.%d", b->run, pid);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	return fd;
}

static void read_head(int fd, struct journal_head *head)
{
	assert_int_equal(pread(fd, head, sizeof(*head), 0), sizeof(*head));
}

static void write_head(int fd, struct journal_head *head)
{
	head->sum = journal_sum(head, offsetof(struct journal_head, sum));
	assert_int_equal(pwrite(fd, head, sizeof(*head), 0), sizeof(*head));
}

static void assert_not_restored(struct bench *b, unsigned left)
{
	struct backend *be = open_backend(b);

	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x4100c0);
	assert_int_equal(*fake_reg(b->f, 2, FIXED_CTRL), 0x2b2);
	be->ops->close(be);
	assert_int_equal(files_in(b->run), left);
}

TEST_OF(setup, teardown, other_boot, struct bench *b)
{
	CLEANUP_CLOSE int fd = open_journal(b, killed_daemon(b));
	struct journal_head head;

	read_head(fd, &head);
	head.boot_id[0] ^= 1;
	write_head(fd, &head);
	assert_not_restored(b, 0);
}

TEST_OF(setup, teardown, other_device, struct bench *b)
{
	CLEANUP_CLOSE int fd = open_journal(b, killed_daemon(b));
	struct journal_head head;

	read_head(fd, &head);
	head.st_ino++;
	write_head(fd, &head);
	assert_not_restored(b, 1);
	head.st_ino--;
	strcpy(head.dev, "/elsewhere");
	write_head(fd, &head);
	assert_not_restored(b, 1);
	assert_int_equal(unfinished(b), 0);
	strcpy(head.dev, b->dev);
	write_head(fd, &head);
	assert_int_equal(unfinished(b), 1);
}

TEST_OF(setup, teardown, damaged_head, struct bench *b)
{
	CLEANUP_CLOSE int fd = open_journal(b, killed_daemon(b));

	assert_int_equal(pwrite(fd, "x", 1, offsetof(struct journal_head, st_ino)), 1);
	assert_not_restored(b, 0);
}

TEST_OF(setup, teardown, torn_head, struct bench *b)
{
	CLEANUP_CLOSE int fd = open_journal(b, killed_daemon(b));

	assert_int_equal(ftruncate(fd, 100), 0);
	assert_not_restored(b, 0);
}

TEST_OF(setup, teardown, huge, struct bench *b)
{
	CLEANUP_CLOSE int fd = open_journal(b, killed_daemon(b));

	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	assert_not_restored(b, 0);
}

TEST_OF(setup, teardown, other_version, struct bench *b)
{
	CLEANUP_CLOSE int fd = open_journal(b, killed_daemon(b));
	struct journal_head head;

	read_head(fd, &head);
	head.version++;
	write_head(fd, &head);
	assert_not_restored(b, 0);
}

/* Flips a byte in the record of SEL0: only SEL0 is not restored. */
TEST_OF(setup, teardown, damaged_record, struct bench *b)
{
	CLEANUP_CLOSE int fd = open_journal(b, killed_daemon(b));
	struct journal_record r = {0};
	off_t at = sizeof(struct journal_head);
	struct backend *be;

	for (; pread(fd, &r, sizeof(r), at) == sizeof(r); at += sizeof(r))
		if (r.in_use && r.addr == SEL0)
			break;
	assert_int_equal(r.addr, SEL0);
	r.orig ^= 1;
	assert_int_equal(pwrite(fd, &r, sizeof(r), at), sizeof(r));
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0x4100c0);
	assert_int_equal(*fake_reg(b->f, 0, CTR0), 0x1111);
	be->ops->close(be);
}

/* Valid records with an invalid request: no such CPU, no such register, EN. */
TEST_OF(setup, teardown, hostile_records, struct bench *b)
{
	CLEANUP_CLOSE int fd = open_journal(b, killed_daemon(b));
	struct journal_record r[] = {
		{.cpu = 1, .addr = CTR0, .orig = ALL, .mask = ALL, .in_use = 1},
		{.cpu = 99, .addr = SEL0, .orig = 1, .mask = ALL, .in_use = 1},
		{.cpu = 1, .addr = 0x1d9, .orig = 1, .mask = ALL, .in_use = 1},
		{.cpu = 1, .addr = 0x392, .orig = 1, .mask = ALL, .in_use = 1},
		{.cpu = 1, .addr = SEL0, .orig = 0x5300c0, .mask = ALL, .in_use = 1},
		{.cpu = 1, .addr = SEL0 + 1, .orig = 1, .mask = ALL, .in_use = 0},
	};
	struct backend *be;

	for (unsigned i = 0; i < COUNT(r); i++)
		r[i].sum = journal_sum(&r[i], offsetof(struct journal_record, sum));
	assert_int_equal(ftruncate(fd, sizeof(struct journal_head)), 0);
	assert_int_equal(pwrite(fd, r, sizeof(r), sizeof(struct journal_head)), sizeof(r));
	be = open_backend(b);
	assert_int_equal(*fake_reg(b->f, 1, SEL0), 0x1300c0);
	assert_int_equal(*fake_reg(b->f, 1, CTR0), 0xffffffffffff);
	assert_int_equal(*fake_reg(b->f, 1, SEL0 + 1), 0);
	/* In the order of rows, not in that of the file. */
	assert_int_equal(b->f->log[0].addr, SEL0);
	assert_int_equal(b->f->log[1].addr, 0x4c1);
	/* The next two are the probe at start. */
	assert_int_equal(b->f->nlog, 4);
	be->ops->close(be);
}

/* The record exists before the first write to the register. */
TEST_OF(setup, teardown, written_ahead, struct bench *b)
{
	struct backend *be = open_backend(b);
	struct backend_cpu *c = open_cpu(be, 3);
	CLEANUP_CLOSE int fd = open_journal(b, getpid());
	struct stat before, after;

	assert_int_equal(fstat(fd, &before), 0);
	b->f->nlog = 0;
	run(be, c, REG_RESERVE, SEL0, 0, ALL);
	assert_int_equal(b->f->nlog, 0);
	assert_int_equal(fstat(fd, &after), 0);
	assert_true(after.st_size > before.st_size);
	be->ops->cpu_close(c);
	be->ops->close(be);
}

static int ignore_entries(void *arg, struct journal_entry *entries, size_t n, struct err *e)
{
	(void)arg;
	(void)entries;
	(void)n;
	(void)e;
	return 0;
}

static int transfer_nothing(void *arg, struct journal *j, struct err *e)
{
	(void)arg;
	(void)j;
	(void)e;
	return 0;
}

static const struct journal_ops ignore = {ignore_entries, transfer_nothing};

TEST_OF(setup, teardown, run_dir, struct bench *b)
{
	char link[64];
	struct journal *j;

	assert_int_equal(journal_open(b->run, b->dev, &ignore, NULL, &j, &why), 0);
	/* A second one of the same process has the same name. */
	{
		struct journal *second;

		assert_int_equal(
			journal_open(b->run, b->dev, &ignore, NULL, &second, &why), -EEXIST);
	}
	journal_close(j, false);
	assert_int_equal(chmod(b->run, 0720), 0);
	assert_int_equal(journal_open(b->run, b->dev, &ignore, NULL, &j, &why), -EPERM);
	assert_int_equal(chmod(b->run, 0702), 0);
	assert_int_equal(journal_open(b->run, b->dev, &ignore, NULL, &j, &why), -EPERM);
	assert_int_equal(chmod(b->run, 0700), 0);
	snprintf(link, sizeof(link), "%s/link", b->top);
	assert_int_equal(symlink(b->run, link), 0);
	assert_true(journal_open(link, b->dev, &ignore, NULL, &j, &why) < 0);
	assert_true(why.no == ELOOP || why.no == ENOTDIR);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(
		journal_open("/nonexistent/run", b->dev, &ignore, NULL, &j, &why), -ENOENT);
	assert_int_equal(journal_open(b->run, "/nonexistent", &ignore, NULL, &j, &why), -ENOENT);
	journal_close(NULL, false);
}

static int refuse_transfer(void *arg, struct journal *j, struct err *e)
{
	(void)arg;
	(void)j;
	return err_set(e, ENOSPC, "no room");
}

/* What has failed leaves neither a file nor a lock nor a descriptor, and the next one succeeds. */
TEST_OF(setup, teardown, failed_open, struct bench *b)
{
	static const struct journal_ops refuse = {ignore_entries, refuse_transfer};
	struct journal *j = NULL;
	unsigned before = open_files();

	assert_int_equal(journal_open(b->run, b->dev, &refuse, NULL, &j, &why), -ENOSPC);
	assert_null(j);
	assert_int_equal(files_in(b->run), 0);
	assert_int_equal(open_files(), before);
	assert_int_equal(journal_open(b->run, b->dev, &ignore, NULL, &j, &why), 0);
	journal_close(j, false);
	killed_daemon(b);
	before = open_files();
	assert_int_equal(journal_open(b->run, b->dev, &refuse, NULL, &j, &why), -ENOSPC);
	assert_int_equal(files_in(b->run), 1);
	assert_int_equal(open_files(), before);
	assert_int_equal(unfinished(b), 1);
}

/* Other names, links and files of other users are neither read nor removed. */
TEST_OF(setup, teardown, foreign_names, struct bench *b)
{
	static const char *const names[] = {"journal.1x", "journal.", "journal.01", "notes"};
	char path[96];
	struct journal *j;

	assert_int_equal(mkdir(b->run, 0700), 0);
	for (unsigned i = 0; i < COUNT(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", b->run, names[i]);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	snprintf(path, sizeof(path), "%s/journal.1", b->run);
	assert_int_equal(symlink("notes", path), 0);
	snprintf(path, sizeof(path), "%s/journal.2", b->run);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/journal.3", b->run);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(journal_open(b->run, b->dev, &ignore, NULL, &j, &why), 0);
	journal_close(j, false);
	assert_int_equal(files_in(b->run), 7);
}

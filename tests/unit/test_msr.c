// SPDX-License-Identifier: MIT
/* The msr backend over registers in memory: opening, plans, what it refuses, reservations. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "backend/msr/io_file.h"
#include "backend/msr/msr.h"
#include "base/text.h"
#include "tests/unit/fake_msr.h"
#include "tests/unit/unit.h"

enum { SEL0 = 0x186, CTR0 = 0xc1, FIXED_CTRL = 0x38d, GLOBAL = 0x38f, INUSE = 0x392 };

#define ALL UINT64_MAX

struct bench {
	struct fake *f;
	struct backend *be;
	struct backend_cpu *c; /* CPU 1 */
};

static int open_fake(
	struct fake *f, const struct backend_conf *conf, struct backend **be, struct err *e)
{
	return msr_backend_new(&msr_backend_ops, &f->io, conf, be, e);
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	const struct backend_conf conf = {0};

	b->f = fake_new();
	if (open_fake(b->f, &conf, &b->be, &why) < 0)
		fail_msg("%s", why.text);
	assert_int_equal(b->be->ops->cpu_open(b->be, 1, &b->c, &why), 0);
	b->f->nlog = b->f->nreads = 0;
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	if (b->c)
		b->be->ops->cpu_close(b->c);
	assert_int_equal(b->f->nopen, 0);
	b->be->ops->close(b->be);
	assert_int_equal(b->f->nfreed, 1);
	fake_destroy(b->f);
	free(b);
	return 0;
}

/* The register of CPU 1. */
static uint64_t *reg(struct bench *b, uint32_t addr)
{
	return fake_reg(b->f, 1, addr);
}

static int run1(struct bench *b, struct reg_op *op)
{
	struct err e = {0};
	unsigned n = b->be->ops->run(b->c, op, 1, &e);

	assert_int_equal(n == 1, e.no == 0);
	if (n == 0)
		assert_true(e.text[0]);
	return n == 1 ? 0 : -e.no;
}

static int run_verb(
	struct bench *b, enum reg_verb verb, uint32_t addr, uint64_t value, uint64_t mask)
{
	struct reg_op op = {.addr = addr, .verb = verb, .value = value, .mask = mask};

	return run1(b, &op);
}

TEST_OF(setup, teardown, run, struct bench *b)
{
	struct reg_op ops[] = {
		{.addr = SEL0, .verb = REG_WRITE, .value = 0x4300c0},
		{.addr = CTR0, .verb = REG_WRITE, .value = 0xffff00000000},
		{.addr = CTR0, .verb = REG_READ},
		{.addr = GLOBAL, .verb = REG_UPDATE, .value = 1, .mask = 1},
	};
	unsigned long long reads = b->be->stats.reads, writes = b->be->stats.writes;

	*reg(b, GLOBAL) = 1ull << 48;
	assert_int_equal(b->be->ops->run(b->c, ops, 4, &why), 4);
	assert_int_equal(*reg(b, SEL0), 0x4300c0);
	assert_int_equal(ops[2].value, 0xffff00000000);
	assert_int_equal(*reg(b, GLOBAL), 1ull << 48 | 1);
	assert_int_equal(ops[3].value, 1ull << 48);
	/* the counter went through its full-width alias, the others as they are */
	assert_int_equal(b->f->nlog, 3);
	assert_int_equal(b->f->log[1].addr, 0x4c1);
	assert_int_equal(b->be->stats.reads - reads, 2);
	assert_int_equal(b->be->stats.writes - writes, 3);
	assert_int_equal(b->f->nreads, 2);
	assert_int_equal(*fake_reg(b->f, 0, SEL0), 0);
}

TEST_OF(setup, teardown, update_unchanged, struct bench *b)
{
	*reg(b, GLOBAL) = 3;
	assert_int_equal(run_verb(b, REG_UPDATE, GLOBAL, 1, 1), 0);
	assert_int_equal(b->f->nlog, 0);
	assert_int_equal(run_verb(b, REG_UPDATE, GLOBAL, 0, 1), 0);
	assert_int_equal(b->f->nlog, 1);
	assert_int_equal(*reg(b, GLOBAL), 2);
}

/* Nothing of these reaches the device. */
TEST_OF(setup, teardown, refused, struct bench *b)
{
	static const struct reg_op ops[] = {
		{.addr = 0x1d9, .verb = REG_READ},
		{.addr = 0x1d9, .verb = REG_WRITE},
		{.addr = 0x1d9, .verb = REG_RESERVE, .mask = ALL},
		{.addr = 0x1d9, .verb = REG_RELEASE, .mask = ALL},
		{.addr = 0x4c1, .verb = REG_WRITE, .value = 1},
		{.addr = 0x400 + SEL0, .verb = REG_WRITE},
		{.addr = 0xc0010000, .verb = REG_WRITE},
		{.addr = SEL0, .verb = REG_WRITE, .value = 0x5300c0},
		{.addr = SEL0, .verb = REG_WRITE, .value = 1ull << 32},
		{.addr = SEL0, .verb = REG_UPDATE, .value = 1 << 20, .mask = 1 << 20},
		{.addr = SEL0, .verb = REG_UPDATE, .value = 1 << 20, .mask = ALL},
		{.addr = SEL0, .verb = REG_REPLACE, .value = 1 << 20, .mask = ALL},
		{.addr = CTR0, .verb = REG_REPLACE, .mask = 1},
		{.addr = CTR0, .verb = REG_WRITE, .value = 1ull << 48},
		{.addr = CTR0, .verb = REG_UPDATE, .mask = 1},
		{.addr = 0x309, .verb = REG_WRITE, .value = 0x80000000},
		{.addr = FIXED_CTRL, .verb = REG_WRITE, .value = 2},
		{.addr = FIXED_CTRL, .verb = REG_UPDATE, .value = 8, .mask = 8},
		{.addr = FIXED_CTRL, .verb = REG_UPDATE, .mask = 1ull << 32},
		{.addr = FIXED_CTRL, .verb = REG_REPLACE, .mask = ALL},
		{.addr = GLOBAL, .verb = REG_WRITE, .value = 1 << 4},
		{.addr = GLOBAL, .verb = REG_UPDATE, .mask = 1ull << 48},
		{.addr = INUSE, .verb = REG_WRITE},
		{.addr = INUSE, .verb = REG_UPDATE, .mask = 1},
		{.addr = INUSE, .verb = REG_RESERVE, .mask = 1},
	};

	for (unsigned i = 0; i < COUNT(ops); i++) {
		struct reg_op op = ops[i];

		if (run1(b, &op) != -EPERM)
			fail_msg("case %u is not refused", i);
	}
	assert_int_equal(b->f->nlog, 0);
	assert_int_equal(b->f->nreads, 0);
	assert_int_equal(run_verb(b, REG_READ, INUSE, 0, 0), 0);
}

TEST_OF(setup, teardown, stops_at_failure, struct bench *b)
{
	struct reg_op ops[] = {
		{.addr = SEL0, .verb = REG_WRITE, .value = 1},
		{.addr = SEL0 + 1, .verb = REG_WRITE, .value = 1},
		{.addr = SEL0 + 2, .verb = REG_WRITE, .value = 1},
	};

	b->f->fault_addr = SEL0 + 1;
	b->f->fault_rc = -EIO;
	assert_int_equal(b->be->ops->run(b->c, ops, 3, &why), 1);
	assert_int_equal(why.no, EIO);
	assert_non_null(strstr(why.text, "CPU 1: PERFEVTSEL1 (MSR 0x187)"));
	assert_int_equal(*reg(b, SEL0 + 2), 0);

	assert_int_equal(run_verb(b, REG_READ, SEL0 + 1, 0, 0), -EIO);
	assert_int_equal(run_verb(b, REG_UPDATE, SEL0 + 1, 1, 1), -EIO);
	assert_int_equal(run_verb(b, REG_RESERVE, SEL0 + 1, 0, ALL), -EIO);
	b->f->fault_rc = -EPERM;
	assert_int_equal(run_verb(b, REG_WRITE, SEL0 + 1, 1, 0), -EPERM);
	b->f->offline[1] = true;
	assert_int_equal(run_verb(b, REG_WRITE, SEL0, 1, 0), -ENXIO);
}

TEST_OF(setup, teardown, reserve_release, struct bench *b)
{
	struct reg_op reserve = {.addr = SEL0, .verb = REG_RESERVE, .mask = ALL};

	/* perf leaves its bits, INT among them, with EN clear */
	*reg(b, SEL0) = 0x13003c;
	*reg(b, CTR0) = 0xfffffff12345;
	assert_int_equal(run1(b, &reserve), 0);
	assert_int_equal(reserve.value, 0x13003c);
	assert_int_equal(run_verb(b, REG_RESERVE, CTR0, 0, ALL), 0);
	assert_int_equal(run_verb(b, REG_WRITE, SEL0, 0x4100c0, 0), 0);
	assert_int_equal(run_verb(b, REG_WRITE, CTR0, 7, 0), 0);
	/* Reserved again: the first original value is kept. */
	assert_int_equal(run1(b, &reserve), 0);
	assert_int_equal(reserve.value, 0x4100c0);
	assert_int_equal(run_verb(b, REG_RELEASE, SEL0, 0, ALL), 0);
	assert_int_equal(run_verb(b, REG_RELEASE, CTR0, 0, ALL), 0);
	assert_int_equal(*reg(b, SEL0), 0x13003c);
	assert_int_equal(*reg(b, CTR0), 0xfffffff12345);
	/* Nothing is left to restore. */
	b->f->nlog = 0;
	assert_int_equal(run_verb(b, REG_RELEASE, SEL0, 0, ALL), 0);
	assert_int_equal(b->f->nlog, 0);
}

TEST_OF(setup, teardown, release_never_enables, struct bench *b)
{
	*reg(b, SEL0) = 0x43003c;
	*reg(b, FIXED_CTRL) = 0x3b2;
	assert_int_equal(run_verb(b, REG_RESERVE, SEL0, 0, ALL), 0);
	assert_int_equal(run_verb(b, REG_RELEASE, SEL0, 0, ALL), 0);
	assert_int_equal(*reg(b, SEL0), 0x03003c);
	assert_int_equal(run_verb(b, REG_RESERVE, FIXED_CTRL, 0, 0xf), 0);
	assert_int_equal(run_verb(b, REG_RELEASE, FIXED_CTRL, 0, 0xf), 0);
	assert_int_equal(*reg(b, FIXED_CTRL), 0x3b0);
}

TEST_OF(setup, teardown, forget, struct bench *b)
{
	*reg(b, SEL0) = 0x11;
	assert_int_equal(run_verb(b, REG_RESERVE, SEL0, 0, ALL), 0);
	assert_int_equal(run_verb(b, REG_WRITE, SEL0, 0x22, 0), 0);
	b->f->nlog = 0;
	assert_int_equal(run_verb(b, REG_FORGET, SEL0, 0, ALL), 0);
	assert_int_equal(run_verb(b, REG_RELEASE, SEL0, 0, ALL), 0);
	assert_int_equal(b->f->nlog, 0);
	assert_int_equal(*reg(b, SEL0), 0x22);
}

/* Two of our counters and the kernel's watchdog live in 0x38D; it may change while we do. */
TEST_OF(setup, teardown, shared_masks, struct bench *b)
{
	*reg(b, FIXED_CTRL) = 0x0b0;
	assert_int_equal(run_verb(b, REG_RESERVE, FIXED_CTRL, 0, 0x3), 0);
	assert_int_equal(run_verb(b, REG_UPDATE, FIXED_CTRL, 0x2, 0x3), 0);
	assert_int_equal(run_verb(b, REG_RESERVE, FIXED_CTRL, 0, 0x303), 0);
	assert_int_equal(run_verb(b, REG_UPDATE, FIXED_CTRL, 0x300, 0x300), 0);
	assert_int_equal(*reg(b, FIXED_CTRL), 0x3b2);
	*reg(b, FIXED_CTRL) = 0x302;
	assert_int_equal(run_verb(b, REG_RELEASE, FIXED_CTRL, 0, 0x3), 0);
	assert_int_equal(*reg(b, FIXED_CTRL), 0x300);
	assert_int_equal(run_verb(b, REG_RELEASE, FIXED_CTRL, 0, ALL), 0);
	assert_int_equal(*reg(b, FIXED_CTRL), 0);

	*reg(b, GLOBAL) = 0x3;
	assert_int_equal(run_verb(b, REG_RESERVE, GLOBAL, 0, 0x6), 0);
	assert_int_equal(run_verb(b, REG_UPDATE, GLOBAL, 0x4, 0x6), 0);
	*reg(b, GLOBAL) |= 8;
	assert_int_equal(run_verb(b, REG_RELEASE, GLOBAL, 0, ALL), 0);
	assert_int_equal(*reg(b, GLOBAL), 0xb);
}

/* An offline CPU keeps its registers: they are restored when it is online again, all in their
 * order. */
TEST_OF(setup, teardown, offline_keeps_reservations, struct bench *b)
{
	*reg(b, SEL0) = 0x11;
	assert_int_equal(run_verb(b, REG_RESERVE, SEL0, 0, ALL), 0);
	b->f->offline[1] = true;
	assert_int_equal(run_verb(b, REG_RELEASE, SEL0, 0, ALL), 0);
	b->f->offline[1] = false;
	*reg(b, SEL0) = 0x33;
	assert_int_equal(run_verb(b, REG_RELEASE, SEL0, 0, ALL), 0);
	assert_int_equal(*reg(b, SEL0), 0x33);
	b->be->ops->cpu_close(b->c);
	b->c = NULL;
	assert_int_equal(*reg(b, SEL0), 0x11);
}

/* What was given up while the CPU was offline, and is wanted again, is not another program's. */
TEST_OF(setup, teardown, offline_and_wanted_again, struct bench *b)
{
	*reg(b, SEL0) = 0x11;
	assert_int_equal(run_verb(b, REG_RESERVE, SEL0, 0, ALL), 0);
	assert_int_equal(run_verb(b, REG_WRITE, SEL0, 0x22, 0), 0);
	b->f->offline[1] = true;
	assert_int_equal(run_verb(b, REG_RELEASE, SEL0, 0, ALL), 0);
	b->f->offline[1] = false;
	assert_int_equal(run_verb(b, REG_RESERVE, SEL0, 0, ALL), 0);
	assert_int_equal(*reg(b, SEL0), 0x11);
	assert_int_equal(run_verb(b, REG_WRITE, SEL0, 0x22, 0), 0);
	assert_int_equal(run_verb(b, REG_RELEASE, SEL0, 0, ALL), 0);
	assert_int_equal(*reg(b, SEL0), 0x11);
}

/* What was given up while the CPU was offline is the kernel's since: it is not restored. */
TEST_OF(setup, teardown, offline_and_taken, struct bench *b)
{
	struct reg_op reserve = {.addr = SEL0, .verb = REG_RESERVE, .mask = ALL};

	*reg(b, SEL0) = 0x11;
	assert_int_equal(run_verb(b, REG_RESERVE, SEL0, 0, ALL), 0);
	b->f->offline[1] = true;
	assert_int_equal(run_verb(b, REG_RELEASE, SEL0, 0, ALL), 0);
	b->f->offline[1] = false;
	*reg(b, SEL0) = 0x53003c;
	assert_int_equal(run1(b, &reserve), 0);
	assert_int_equal(reserve.value, 0x53003c);
	assert_int_equal(*reg(b, SEL0), 0x53003c);
	assert_int_equal(run_verb(b, REG_FORGET, SEL0, 0, ALL), 0);
	assert_int_equal(*reg(b, SEL0), 0x53003c);
}

/* A reservation that cannot be restored is kept. */
TEST_OF(setup, teardown, failed_release_keeps, struct bench *b)
{
	*reg(b, SEL0) = 0x11;
	assert_int_equal(run_verb(b, REG_RESERVE, SEL0, 0, ALL), 0);
	assert_int_equal(run_verb(b, REG_WRITE, SEL0, 0x22, 0), 0);
	b->f->write_rc = -EIO;
	assert_int_equal(run_verb(b, REG_RELEASE, SEL0, 0, ALL), -EIO);
	b->f->write_rc = 0;
	assert_int_equal(run_verb(b, REG_RELEASE, SEL0, 0, ALL), 0);
	assert_int_equal(*reg(b, SEL0), 0x11);
}

TEST_OF(setup, teardown, close_restores_in_order, struct bench *b)
{
	static const uint32_t order[] = {GLOBAL, SEL0, FIXED_CTRL, 0x4c1};

	*reg(b, CTR0) = 0x77;
	assert_int_equal(run_verb(b, REG_RESERVE, CTR0, 0, ALL), 0);
	assert_int_equal(run_verb(b, REG_RESERVE, FIXED_CTRL, 0, 3), 0);
	assert_int_equal(run_verb(b, REG_RESERVE, SEL0, 0, ALL), 0);
	assert_int_equal(run_verb(b, REG_RESERVE, GLOBAL, 0, 1), 0);
	assert_int_equal(run_verb(b, REG_WRITE, CTR0, 0, 0), 0);
	assert_int_equal(run_verb(b, REG_UPDATE, FIXED_CTRL, 2, 3), 0);
	assert_int_equal(run_verb(b, REG_WRITE, SEL0, 0x4100c0, 0), 0);
	assert_int_equal(run_verb(b, REG_UPDATE, GLOBAL, 1, 1), 0);
	b->f->nlog = 0;
	b->be->ops->cpu_close(b->c);
	b->c = NULL;
	assert_int_equal(b->f->nlog, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(b->f->log[i].addr, order[i]);
	assert_int_equal(*reg(b, CTR0), 0x77);
	assert_int_equal(*reg(b, SEL0), 0);
}

TEST_OF(setup, teardown, pmu_owner, struct bench *b)
{
	static const struct {
		uint32_t addr;
		uint64_t value;
		const char *says;
	} cases[] = {
		{SEL0, 0x5300c0, "the kernel's perf (selector 0x5300c0"},
		{FIXED_CTRL, 0xb0, "the kernel's perf"},
		{SEL0, 0x4300c0, "another program (selector 0x4300c0): for example likwid"},
		{FIXED_CTRL, 0x30, "another program"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		TEXT_CLEANUP struct text t = {0};

		b->be->ops->pmu_owner(b->be, 1, cases[i].addr, cases[i].value, &t);
		assert_true(text_ok(&t));
		if (!strstr(t.p, cases[i].says))
			fail_msg("case %u: %s", i, t.p);
	}
}

TEST_OF(setup, teardown, cpus, struct bench *b)
{
	struct backend_cpu *c;

	assert_string_equal(b->be->ops->name, "msr");
	assert_int_equal(b->be->ops->cpu_limit(b->be), FAKE_CPUS);
	assert_int_equal(b->be->ops->now(b->be), 42);
	b->f->offline[2] = true;
	assert_false(b->be->ops->cpu_online(b->be, 2));
	assert_int_equal(b->be->ops->cpu_open(b->be, 2, &c, &why), -ENXIO);
	assert_int_equal(b->be->ops->cpu_open(b->be, FAKE_CPUS, &c, &why), -ENXIO);
	/* it comes back as a CPU with two counters less */
	b->f->offline[2] = false;
	b->f->perfmon[2][0] = 0x07300204;
	assert_int_equal(b->be->ops->cpu_open(b->be, 2, &c, &why), -ENODEV);
	assert_non_null(strstr(why.text, "CPU 2"));
}

/* Opening alone: what it makes of machines that have no PMU, or several. */
static int try_open(struct fake *f, const char *pmu, struct backend **be, struct err *e)
{
	const struct backend_conf conf = {.pmu = pmu};
	int rc = open_fake(f, &conf, be, e);

	assert_int_equal(f->nopen, 0);
	assert_int_equal(f->nfreed, rc < 0);
	if (rc < 0)
		assert_int_equal(e->no, -rc);
	f->nfreed = 0;
	return rc;
}

/* One CPU has narrower counters, and one lacks counters: each is programmed by its own rows. */
TEST(open_hybrid)
{
	struct fake *f = fake_new();
	struct reg_op write = {.addr = SEL0 + 3, .verb = REG_WRITE, .value = 0x4300c0};
	struct backend_cpu *c;
	struct backend *be;

	f->perfmon[2][0] = 0x07280204;
	f->perfmon[3][0] = 0x07300204;
	f->offline[0] = true;
	assert_int_equal(try_open(f, NULL, &be, &why), 0);
	assert_int_equal(be->types->n, 3);
	assert_string_equal(be->pmu->name, "intel_arch_v4");
	assert_int_equal(be->pmu->npmds, 7);
	assert_int_equal(be->pmu->counter_width, 40);
	assert_string_equal(be->ops->cpu_pmu(be, 1)->by_type.name, "cpu");
	assert_string_equal(be->ops->cpu_pmu(be, 2)->by_type.name, "cpu2");
	assert_string_equal(be->ops->cpu_pmu(be, 3)->by_type.name, "cpu3");
	assert_int_equal(be->ops->cpu_pmu(be, 2)->counter_width, 40);
	assert_int_equal(be->ops->cpu_pmu(be, 3)->by_type.lacks_pmcs, 0xc);
	/* Whatever the daemon asks for, there is no such register. */
	assert_int_equal(be->ops->cpu_open(be, 3, &c, &why), 0);
	assert_int_equal(be->ops->run(c, &write, 1, &why), 0);
	assert_int_equal(why.no, EPERM);
	be->ops->cpu_close(c);
	assert_int_equal(be->ops->cpu_open(be, 1, &c, &why), 0);
	f->nlog = 0;
	be->ops->run(c, &write, 1, &why);
	assert_int_equal(f->nlog, 1);
	be->ops->cpu_close(c);

	/* Known once it is online. */
	assert_null(be->ops->cpu_pmu(be, 0));
	f->offline[0] = false;
	assert_int_equal(be->ops->cpu_open(be, 0, &c, &why), 0);
	assert_string_equal(be->ops->cpu_pmu(be, 0)->by_type.name, "cpu");
	be->ops->cpu_close(c);
	/* Of no type that is described. */
	f->perfmon[0][0] = 0x07300304;
	assert_int_equal(be->ops->cpu_open(be, 0, &c, &why), -ENODEV);
	assert_non_null(strstr(why.text, "restart perfmonfs"));
	be->ops->close(be);
	f->nfreed = 0;

	/* As many types as there can be; a description for all makes them one. */
	assert_int_equal(try_open(f, NULL, &be, &why), 0);
	assert_int_equal(be->types->n, 4);
	be->ops->close(be);
	f->nfreed = 0;
	assert_int_equal(try_open(f, "intel_arch_v2", &be, &why), 0);
	assert_null(be->types);
	be->ops->close(be);
	fake_destroy(f);
}

TEST(open_probe)
{
	struct fake *f = fake_new();
	struct backend *be;

	*fake_reg(f, 0, CTR0) = 0x1234;
	assert_int_equal(try_open(f, NULL, &be, &why), 0);
	assert_int_equal(*fake_reg(f, 0, CTR0), 0x1234);
	assert_int_equal(f->nlog, 2);
	be->ops->close(be);
	f->nfreed = 0;

	f->forgets = true;
	assert_int_equal(try_open(f, NULL, &be, &why), -ENODEV);
	assert_non_null(strstr(why.text, "--backend=perf"));
	f->forgets = false;
	f->write_rc = -EPERM;
	assert_int_equal(try_open(f, NULL, &be, &why), -EPERM);
	f->write_rc = 0;
	f->fault_addr = SEL0;
	f->fault_rc = -EIO;
	assert_int_equal(try_open(f, NULL, &be, &why), -ENODEV);
	fake_destroy(f);
}

/* A counter in use is not touched to see whether it is real. */
TEST(open_probe_spares)
{
	struct fake *f = fake_new();
	struct backend *be;

	*fake_reg(f, 0, SEL0) = 0x53003c;
	assert_int_equal(try_open(f, NULL, &be, &why), 0);
	be->ops->close(be);
	assert_int_equal(f->log[0].addr, 0x4c2);
	f->nlog = f->nfreed = 0;
	for (unsigned i = 0; i < 4; i++)
		*fake_reg(f, 0, SEL0 + i) = 0x53003c;
	*fake_reg(f, 0, FIXED_CTRL) = 0x0b;
	assert_int_equal(try_open(f, NULL, &be, &why), 0);
	be->ops->close(be);
	assert_int_equal(f->log[0].addr, 0x30a);
	f->nlog = f->nfreed = 0;
	*fake_reg(f, 0, FIXED_CTRL) = 0xbbb;
	assert_int_equal(try_open(f, NULL, &be, &why), 0);
	be->ops->close(be);
	assert_int_equal(f->nlog, 0);
	fake_destroy(f);
}

TEST(open_none)
{
	struct fake *f = fake_new();
	struct backend *be;

	assert_int_equal(try_open(f, "no_such", &be, &why), -ENODEV);
	memset(f->perfmon, 0, sizeof(f->perfmon));
	assert_int_equal(try_open(f, NULL, &be, &why), -ENODEV);
	assert_int_equal(try_open(f, "intel_arch_v2", &be, &why), 0);
	assert_int_equal(be->pmu->npmds, 5);
	be->ops->close(be);
	f->nfreed = 0;
	memset(f->offline, true, sizeof(f->offline));
	assert_int_equal(try_open(f, NULL, &be, &why), -ENXIO);
	fake_destroy(f);
}

/* Plain files can stand for N/msr and N/cpuid. */
static void make_file(const char *dir, const char *name, off_t at, const void *p, size_t n)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, p, n, at), n);
	close(fd);
}

static void remove_files(const char *dir, const char *const *files, unsigned n)
{
	char path[128];

	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		assert_int_equal(remove(path), 0);
	}
	assert_int_equal(rmdir(dir), 0);
}

TEST(io_file)
{
	static const char *const files[] = {"3/msr", "3/cpuid", "microcode", "3", "4"};
	char dir[] = "/tmp/test_msr.XXXXXX", path[64];
	const uint32_t leaf[4] = {1, 2, 3, 4};
	const uint64_t value = 0x1122334455667788;
	uint32_t out[4];
	struct msr_io *io;
	uint64_t v;
	int h;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(msr_io_file(dir, &io, &why), -ENOENT);
	assert_non_null(strstr(why.text, "modprobe msr"));
	snprintf(path, sizeof(path), "%s/3", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/4", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	make_file(dir, "3/msr", 0x186, &value, sizeof(value));
	make_file(dir, "3/cpuid", 10 + (2ll << 32), leaf, sizeof(leaf));
	make_file(dir, "microcode", 0, "", 0);
	assert_int_equal(msr_io_file(dir, &io, &why), 0);
	assert_false(io->kernel);
	assert_int_equal(io->ops->cpu_limit(io), 5);
	assert_true(io->ops->cpu_online(io, 3));
	assert_false(io->ops->cpu_online(io, 2));
	assert_int_equal(io->ops->open(io, 2, &why), -ENXIO);
	assert_int_equal(io->ops->open(io, 4, &why), -ENOENT);
	assert_non_null(strstr(why.text, "modprobe msr"));
	assert_int_equal(io->ops->cpuid(io, 4, 0, 0, out, &why), -ENOENT);
	assert_non_null(strstr(why.text, "modprobe cpuid"));

	h = io->ops->open(io, 3, &why);
	assert_true(h >= 0);
	assert_int_equal(io->ops->read(io, h, 0x186, &v), 0);
	assert_int_equal(v, value);
	assert_int_equal(io->ops->write(io, h, 0xc0010000, 5), 0);
	assert_int_equal(io->ops->read(io, h, 0xc0010000, &v), 0);
	assert_int_equal(v, 5);
	assert_int_equal(io->ops->read(io, h, 0xc0010008, &v), -EIO);
	io->ops->close(io, h);
	assert_int_equal(io->ops->cpuid(io, 3, 10, 2, out, &why), 0);
	assert_memory_equal(out, leaf, sizeof(leaf));
	assert_int_equal(io->ops->cpuid(io, 3, 11, 9, out, &why), -EIO);
	assert_true(io->ops->now(io) > 0);
	io->ops->free(io);
	remove_files(dir, files, COUNT(files));
}

/* Has the kernel take no byte of any pwrite() of this process, without an error. */
static bool take_no_bytes(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {COUNT(code), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* A write that the device does not take is not taken for one that has succeeded. */
TEST(io_file_short)
{
	static const char *const files[] = {"0/msr", "0"};
	char dir[] = "/tmp/test_msr.XXXXXX", path[64];
	struct msr_io *io;
	int h, status;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/0", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	make_file(dir, "0/msr", 0, "", 0);
	assert_int_equal(msr_io_file(dir, &io, &why), 0);
	h = io->ops->open(io, 0, &why);
	assert_true(h >= 0);
	pid = fork();
	if (pid == 0)
		_exit(take_no_bytes() ? -io->ops->write(io, h, 0x186, 5) : EINVAL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EIO);
	io->ops->close(io, h);
	io->ops->free(io);
	remove_files(dir, files, COUNT(files));
}

static void count_report(void *arg, enum check_result r, const char *thing, const char *fmt, ...)
{
	unsigned *n = arg;

	(void)fmt;
	assert_true(thing[0]);
	n[r]++;
}

TEST(check)
{
	static const char *const files[] = {"0/msr", "0/cpuid", "0"};
	char dir[] = "/tmp/test_msr.XXXXXX", path[64];
	const struct backend_conf none = {.dev = "/nonexistent/cpu"};
	const struct backend_conf conf = {.dev = dir, .pmu = "intel_arch_v1"};
	const struct backend_conf detect = {.dev = dir};
	const uint64_t enabled = 0x5300c0, idle = 0;
	unsigned n[3] = {0};

	msr_backend_ops.check(&none, count_report, n);
	assert_int_equal(n[CHECK_FAIL], 1);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/0", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	make_file(dir, "0/msr", 0x187 + 8, &idle, sizeof(idle));
	make_file(dir, "0/msr", 0x186, &enabled, sizeof(enabled));
	make_file(dir, "0/cpuid", 0, &(uint32_t[8]){0}, 32);
	/* offsets overlap in a plain file: 0x187 reads 0x5300 and is not enabled */
	memset(n, 0, sizeof(n));
	msr_backend_ops.check(&conf, count_report, n);
	assert_int_equal(n[CHECK_OK], 4); /* directory, driver, PMU, counters */
	assert_int_equal(n[CHECK_NOTE], 1);
	assert_int_equal(n[CHECK_FAIL], 0);
	memset(n, 0, sizeof(n));
	msr_backend_ops.check(&detect, count_report, n);
	assert_int_equal(n[CHECK_FAIL], 1);
	remove_files(dir, files, COUNT(files));
}

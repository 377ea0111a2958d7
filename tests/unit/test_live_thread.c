// SPDX-License-Identifier: MIT
/*
 * A thread reads its own live page by RDPMC (lib/live.c), and something happens before one
 * instruction of that, whichever: the code is executed step by step, on a machine of two CPUs whose
 * counters count each step. RDPMC is never executed, so any machine will do.
 */
#include <sched.h>
#include <signal.h>
#include <ucontext.h>

#include "perfmonfs/live.h"
#include "tests/unit/unit.h"

#ifdef __x86_64__

enum {
	PMDS = 2,
	TRAP_FLAG = 1 << 8,
	BEFORE = 1000, /* the count when the thread begins */
};
static const uint8_t widths[] = {32, 40, 48, 64};

/* What happens to the thread: CPU X, which it is on at first, is 0; Y is 1. */
enum event {
	NOTHING,
	STAYED,    /* it left, and the context stayed in the registers for a kernel thread */
	POLLED,    /* a command reads the counters */
	PREEMPTED, /* another user thread came, whose context was in the registers */
	MOVED,     /* to Y */
	MOVED_BACK,
	LATE,         /* to Y, but X has not saved the context, and Y has not restored it */
	NOT_RESTORED, /* another user thread came; its context was only saved */
	LOST,
	EVENTS
};

static struct {
	struct pfm_live page;
	uint64_t hw[2]; /* one counter for all PMDs */
	uint8_t width;
	uint8_t counts; /* the CPU in whose registers the context is; 2: none */
	int cpu;
	/* Of the thread, so far, and when RDPMC was last executed for each PMD. */
	uint64_t truth;
	uint64_t at_rdpmc[PMDS];
	unsigned rdpmcs;
	enum event event;
	unsigned long at, step;
	volatile sig_atomic_t stepping;
} m;

int sched_getcpu(void)
{
	return m.cpu;
}

/* --- The daemon */

static void update(uint64_t value, uint32_t active, uint32_t cpu, uint8_t flags)
{
	m.page.seq++;
	m.page.active = active;
	m.page.cpu = cpu;
	m.page.time = 7;
	for (unsigned i = 0; i < PMDS; i++)
		m.page.pmd[i] = (struct pfm_live_pmd){.value = value,
			.hw = active ? m.hw[cpu] : 0,
			.index = i,
			.width = m.width,
			.flags = flags};
	m.page.seq++;
}

static const uint8_t counting = PFM_LIVE_COUNTS | PFM_LIVE_RDPMC;

static void save(void)
{
	update(m.truth, 0, 0, counting);
	m.counts = 2;
	m.hw[0] = pfm_live_cut(m.hw[0] * 77 + 5, m.width); /* by another one */
}

/* The counter is written, near its end. */
static void restore(int cpu)
{
	m.cpu = cpu;
	m.counts = (uint8_t)cpu;
	m.hw[cpu] = pfm_live_cut(0 - (uint64_t)(m.step % 5), m.width);
	update(m.truth, 1, (uint32_t)cpu, counting);
}

static void happen(enum event event)
{
	switch (event) {
	case POLLED:
		update(m.truth, 1, 0, counting);
		break;
	case PREEMPTED:
		save();
		restore(0);
		break;
	case MOVED:
	case MOVED_BACK:
		save();
		restore(1);
		if (event == MOVED)
			break;
		save();
		restore(0);
		break;
	case LATE:
		m.cpu = 1;
		break;
	case NOT_RESTORED:
		save();
		break;
	case LOST:
		update(m.truth, 1, 0, counting | PFM_LIVE_LOST);
		break;
	default:
		break;
	}
}

/* --- The machine */

/* Skips RDPMC, with what it gives there. */
static void execute_rdpmc(greg_t *regs)
{
	unsigned index = (unsigned)regs[REG_RCX] & 0xffffffff;

	regs[REG_RAX] = (greg_t)(m.hw[m.cpu] & 0xffffffff);
	regs[REG_RDX] = (greg_t)(m.hw[m.cpu] >> 32);
	regs[REG_RIP] += 2;
	m.rdpmcs++;
	if (index < PMDS)
		m.at_rdpmc[index] = m.truth;
}

/* Before each instruction. */
static void on_step(int sig, siginfo_t *info, void *arg)
{
	greg_t *regs = ((ucontext_t *)arg)->uc_mcontext.gregs;
	const uint8_t *code = (const uint8_t *)regs[REG_RIP];

	(void)sig, (void)info;
	if (!m.stepping) {
		regs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
		return;
	}
	regs[REG_EFL] |= TRAP_FLAG;
	if (m.step++ == m.at)
		happen(m.event);
	while (code[0] == 0x0f && code[1] == 0x33) {
		execute_rdpmc(regs);
		code += 2;
	}
	if (m.counts < 2) {
		m.truth++;
		m.hw[m.counts] = pfm_live_cut(m.hw[m.counts] + 1, m.width);
	}
}

/* Reads while @event happens before instruction @at. Returns 0 or errno. */
static int read_while(enum event event, unsigned long at, uint8_t width, uint64_t counts[PMDS])
{
	static const uint8_t index[PMDS] = {0, 1};
	int no;

	memset(&m, 0, sizeof(m));
	m.width = width;
	m.hw[1] = 0x12345;
	m.truth = BEFORE;
	m.event = event;
	m.at = at;
	m.page.npmds = PMDS;
	restore(0);
	m.stepping = 1;
	raise(SIGTRAP);
	no = pfm_live_read_thread(&m.page, PMDS, index, counts) == 0 ? 0 : errno;
	m.stepping = 0;
	return no;
}

/* --- What it must give */

static void want_errno(enum event event, int no)
{
	switch (event) {
	case LOST:
		assert_true(no == 0 || no == EIO);
		break;
	case MOVED:
	case MOVED_BACK:
	case LATE:
	case NOT_RESTORED:
		assert_true(no == 0 || no == EAGAIN);
		break;
	default:
		assert_int_equal(no, 0);
	}
}

/* Each count is that of the moment when its counter was read. */
static void want_counts(enum event event, unsigned long at, const uint64_t counts[PMDS])
{
	for (unsigned i = 0; i < PMDS; i++)
		if (counts[i] != m.at_rdpmc[i])
			fail_msg("event %d before instruction %lu, %u bits: PMD %u is %lu, not %lu",
				event, at, m.width, i, counts[i], m.at_rdpmc[i]);
}

/* Readings that have succeeded, and failed, by when the event comes. */
static void each_instruction(enum event event, uint8_t width, unsigned long n[2])
{
	unsigned long at = 0;

	do {
		uint64_t counts[PMDS];
		int no = read_while(event, at, width, counts);

		want_errno(event, no);
		if (no == 0)
			want_counts(event, at, counts);
		n[no != 0]++;
	} while (m.step > at++);
}

TEST(each_instruction)
{
	for (enum event event = NOTHING; event < EVENTS; event++) {
		unsigned long n[2] = {0};

		each_instruction(event, widths[event % sizeof(widths)], n);
		printf("# event %d: %lu readings, %lu without\n", event, n[0], n[1]);
		assert_true(n[0] > 1);
		if (event == LATE || event == NOT_RESTORED || event == LOST)
			assert_true(n[1] > 1);
	}
}

/* Without an event of the process, the index of a page that needs one is not used. */
TEST(permission)
{
	static const uint8_t index[PMDS] = {0, 1};
	struct pfm_live_count c;
	uint64_t counts[PMDS];

	memset(&m, 0, sizeof(m));
	m.width = 48;
	update(BEFORE, 1, 0, PFM_LIVE_COUNTS | PFM_LIVE_MAPPED);
	assert_int_equal(pfm_live_read_thread(&m.page, PMDS, index, counts), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(pfm_live_read_time(&m.page, 0, PFM_LIVE_HERE, &c), 0);
	assert_int_equal(c.count, BEFORE);
	assert_int_equal(c.time, 7);
	m.stepping = 1;
	raise(SIGTRAP);
	assert_int_equal(pfm_live_read_time(&m.page, 0, PFM_LIVE_HERE | PFM_LIVE_PERMITTED, &c), 0);
	m.stepping = 0;
	assert_int_equal(m.rdpmcs, 1);
	assert_int_equal(c.time, 0);
}

/* On a CPU that may lack the counter, RDPMC is not executed: that would kill the process. */
TEST(elsewhere)
{
	uint64_t counts[PMDS];

	assert_int_equal(read_while(LATE, 0, 48, counts), EAGAIN);
	assert_int_equal(m.rdpmcs, 0);
}

int main(void)
{
	struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	sigaction(SIGTRAP, &step, NULL);
	return unit_run(NULL, NULL);
}

#else

int main(void)
{
	puts("1..0 # SKIP RDPMC is of x86-64 here");
	return 0;
}

#endif

// SPDX-License-Identifier: MIT
/*
 * Pages of live counts: between commands, at each register operation of every command, and read by
 * a thread while another executes commands.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "perfmonfs/live.h"
#include "tests/unit/unit.h"
#include "tests/unit/world.h"
#include "tests/unit/world_sets.h"

enum {
	MS = 1000000,
	FROM = 1000,
	SETS = 3,
	READERS = 3,
	QUICK = 200,
	ROUNDS = 300,
	READS = 200000
};

static int keep(struct world *w, unsigned set, struct pfm_live *page)
{
	struct command cmd = {.verb = CMD_LIVE,
		.evtset.id = (uint16_t)set,
		.live_page.page = page,
		.live_page.rdpmc = PFM_LIVE_RDPMC};

	return world_command(w, &cmd);
}

static int start_set(struct world *w, unsigned set)
{
	struct command cmd = {.verb = CMD_START, .set = (uint16_t)set, .has_set = true};

	return world_command(w, &cmd);
}

static unsigned row_of(const struct world *w, unsigned i)
{
	return (unsigned)pmu_find_pmd(w->pmu, w->model->pmd[i].num);
}

/* Fails unless the page is readable and shows what CMD_READ does. */
static void want_page(struct world *w, unsigned set, const struct pfm_live *page, int active)
{
	for (unsigned i = 0; i < w->model->npmd; i++) {
		uint64_t read = world_pmd(w, set, w->model->pmd[i].num).value, live = 0;

		WANT_EQ(w, page->pmd[row_of(w, i)].num, w->model->pmd[i].num);
		WANT(w, 0, pfm_live_read(page, row_of(w, i), 0, &live));
		WANT_EQ(w, live, read);
	}
	WANT_EQ(w, page->active, active);
	WANT_EQ(w, page->seq % 2, 0);
}

TEST(states)
{
	for (const struct world_model *m = world_models; m->name; m++) {
		struct pfm_live page = {0};
		struct world w;

		world_open(&w, m);
		world_program(&w, FROM);
		WANT(&w, 0, keep(&w, 0, &page));
		WANT_EQ(&w, page.version, PFM_LIVE_VERSION);
		WANT_EQ(&w, page.npmds, w.pmu->npmds);
		want_page(&w, 0, &page, 0);
		WANT(&w, 0, world_do(&w, CMD_LOAD));
		want_page(&w, 0, &page, 0);
		WANT(&w, 0, world_do(&w, CMD_START));
		want_page(&w, 0, &page, 1);
		WANT_EQ(&w, page.cpu, WORLD_CPU);
		hw_advance(w.hw, MS);
		want_page(&w, 0, &page, 1);
		assert_true(page.pmd[row_of(&w, 0)].value > FROM);
		WANT(&w, 0, world_do(&w, CMD_STOP));
		want_page(&w, 0, &page, 0);
		WANT(&w, 0, world_do(&w, CMD_UNLOAD));
		want_page(&w, 0, &page, 0);
		world_close(&w);
	}
}

/* A page that is given up while its set is active has an even sequence number. */
TEST(given_up)
{
	struct pfm_live page = {0}, other = {0};
	struct world w;

	world_open(&w, world_models);
	world_program(&w, FROM);
	WANT(&w, 0, keep(&w, 0, &page));
	WANT(&w, 0, keep(&w, 0, &page));
	WANT_EQ(&w, w.ctx.live.npages, 1);
	WANT_RUN(&w);
	WANT(&w, 0, keep(&w, 0, &other));
	want_page(&w, 0, &other, 1);
	WANT_EQ(&w, page.active, 0);
	WANT_EQ(&w, page.seq % 2, 0);
	WANT(&w, 0, keep(&w, 0, NULL));
	WANT_EQ(&w, w.ctx.live.npages, 0);
	WANT_EQ(&w, other.active, 0);
	WANT_EQ(&w, other.seq % 2, 0);
	WANT(&w, -ENOENT, keep(&w, 7, &page));
	WANT(&w, 0, world_do(&w, CMD_DESTROY));
	world_close(&w);
}

TEST(lost)
{
	struct pfm_live page = {0};
	uint64_t count;
	struct world w;

	world_open(&w, world_models);
	world_program(&w, FROM);
	WANT(&w, 0, keep(&w, 0, &page));
	WANT_RUN(&w);
	world_poke(&w, w.model->pmd[0].selector, w.model->pmd[0].thief);
	WANT(&w, -EIO, world_read(&w, true, w.model->pmd[0].num, &count));
	assert_int_equal(pfm_live_read(&page, row_of(&w, 0), 0, &count), -1);
	WANT(&w, 0, world_do(&w, CMD_DESTROY));
	world_close(&w);
}

TEST(always_odd)
{
	struct pfm_live page = {.seq = 1};
	uint64_t count;

	assert_int_equal(pfm_live_read(&page, 0, 0, &count), 1);
}

/* Polls when the page is to be read, not earlier; the page is as old as its time says. */
static void want_tick(struct world *w, const struct pfm_live *page)
{
	unsigned d = row_of(w, 0);
	uint64_t was = page->pmd[d].value, began = page->time;
	struct pfm_live_count c = {0};

	WANT_EQ(w, ctx_wake(&w->ctx).live_at, began + MS);
	hw_advance(w->hw, MS);
	WANT(w, 0, pfm_live_read_time(page, d, 0, &c));
	WANT_EQ(w, c.count, was);
	WANT_EQ(w, c.time, began);
	WANT(w, 0, world_do(w, CMD_POLL));
	WANT(w, 0, pfm_live_read_time(page, d, 0, &c));
	WANT_EQ(w, c.time, began + MS);
	assert_true(c.count > was);
	WANT_EQ(w, c.count, world_pmd(w, 0, w->model->pmd[0].num).value);
	WANT_EQ(w, ctx_wake(&w->ctx).live_at, c.time + MS);
}

static bool no_interrupt(struct backend_cpu *c, struct interrupt *in)
{
	(void)c, (void)in;
	return false;
}

TEST(ticks)
{
	for (const struct world_model *m = world_models; m->name; m++) {
		struct pfm_live page = {0};
		struct command cmd = {
			.verb = CMD_LIVE, .live_page.page = &page, .live_page.ticks = true};
		struct pfm_live_count c = {0};
		struct world w;

		world_open(&w, m);
		w.limits.tick_ns = MS;
		world_program(&w, FROM);
		WANT(&w, 0, world_command(&w, &cmd));
		WANT(&w, 0, world_do(&w, CMD_LOAD));
		WANT_EQ(&w, ctx_wake(&w.ctx).live_at, 0);
		WANT(&w, 0, world_do(&w, CMD_START));
		want_tick(&w, &page);
		want_tick(&w, &page);
		/* Interrupts find the overflows: the poll is for the page alone. */
		w.ops.interrupt_next = no_interrupt;
		w.ctx.samples.interrupts = true;
		want_tick(&w, &page);
		w.ctx.samples.interrupts = false;
		WANT(&w, 0, world_do(&w, CMD_STOP));
		WANT_EQ(&w, ctx_wake(&w.ctx).live_at, 0);
		WANT(&w, 0, pfm_live_read_time(&page, row_of(&w, 0), 0, &c));
		WANT_EQ(&w, c.time, 0);
		world_close(&w);
	}
}

/* Of what no counter counts, and of a page that RDPMC brings up to date. */
TEST(no_ticks)
{
	struct pfm_live page = {0};
	struct command cmd = {.verb = CMD_LIVE, .live_page.page = &page, .live_page.ticks = true};
	struct world w;

	world_open(&w, world_models);
	w.limits.tick_ns = MS;
	WANT(&w, 0, world_command(&w, &cmd));
	WANT_RUN(&w);
	hw_advance(w.hw, 2 * MS);
	WANT(&w, 0, world_do(&w, CMD_POLL));
	assert_true(ctx_wake(&w.ctx).live_at > hw_now(w.hw));
	WANT(&w, 0, keep(&w, 0, NULL));
	WANT_EQ(&w, ctx_wake(&w.ctx).live_at, 0);
	WANT(&w, 0, keep(&w, 0, &page));
	WANT_EQ(&w, ctx_wake(&w.ctx).live_at, 0);
	WANT(&w, 0, world_do(&w, CMD_DESTROY));
	world_close(&w);
}

/* Pages of all sets, the true counts (the clock does not advance), and what the reader found. */
static struct {
	struct pfm_live page[SETS];
	uint64_t truth[SETS][WORLD_MAX];
	unsigned reads_done, even, wrong;
} seen;

/* Reads the pages as a program on the monitored CPU would with RDPMC. */
static void read_as_rdpmc(struct world *w)
{
	seen.reads_done++;
	for (unsigned s = 0; s < SETS; s++) {
		const struct pfm_live *page = &seen.page[s];

		if (page->seq & 1)
			continue;
		seen.even++;
		for (unsigned i = 0; i < w->model->npmd; i++) {
			unsigned d = row_of(w, i);
			const struct pfm_live_pmd *p = &page->pmd[d];
			uint64_t now = p->value;

			if (page->active && (p->flags & PFM_LIVE_COUNTS))
				now += pfm_live_cut(
					world_rdmsr(w, w->pmu->pmds[d].addr) - p->hw, p->width);
			seen.wrong += now != seen.truth[s][i];
		}
	}
}

/* Executes the first @nth + 1 commands; the clock does not advance during the last one. */
static void run_to(struct world *w, unsigned nth)
{
	static const enum cmd_verb verbs[] = {
		CMD_LOAD, CMD_START, CMD_READ, CMD_SWITCH, CMD_POLL, CMD_STOP, CMD_UNLOAD};

	for (unsigned n = 0; n <= nth; n++) {
		enum cmd_verb verb = verbs[n];

		if (n == nth) {
			w->intrude = read_as_rdpmc;
		} else if (verb == CMD_START || verb == CMD_SWITCH) {
			/* Lets the set count until the next command. */
			WANT(w, 0, world_do(w, verb));
			hw_advance(w->hw, MS);
			continue;
		}
		if (verb == CMD_READ) {
			uint64_t count;

			WANT(w, 0, world_read(w, true, w->model->pmd[0].num, &count));
		} else {
			WANT(w, 0, world_do(w, verb));
		}
	}
}

static void note_truth(struct world *w, unsigned nth)
{
	/* Sets 0 and 1 count for 1 ms each, if their command is among the first @nth. */
	for (unsigned s = 0; s < SETS; s++)
		for (unsigned i = 0; i < w->model->npmd; i++)
			seen.truth[s][i] =
				FROM * (s + 1) +
				((s == 0 && nth > 1) || (s == 1 && nth > 3)
						? hw_truth(w->hw, w->model->pmd[i].select, MS)
						: 0);
}

/* True if the command has an operation number @at. */
static bool intrude_at(const struct world_model *m, unsigned nth, unsigned at)
{
	struct world w;
	bool reached;

	memset(&seen, 0, sizeof(seen));
	world_open(&w, m);
	for (unsigned s = 0; s < SETS; s++) {
		struct command cmd = {.verb = CMD_EVTSET_NEW, .evtset.id = (uint16_t)s};

		if (s)
			WANT(&w, 0, world_command(&w, &cmd));
		for (unsigned i = 0; i < m->npmc; i++)
			WANT(&w, 0, world_write_in(&w, s, false, m->pmc[i].num, m->pmc[i].value));
		for (unsigned i = 0; i < m->npmd; i++)
			WANT(&w, 0, world_write_in(&w, s, true, m->pmd[i].num, FROM * (s + 1)));
		cmd = (struct command){.verb = CMD_EVTSET_WRITE,
			.evtset = {.id = (uint16_t)s,
				.change = EVTSET_FLAGS | EVTSET_TIMEOUT,
				.flags = SET_TIME_SWITCH,
				.timeout_ns = MS}};
		WANT(&w, 0, world_command(&w, &cmd));
		WANT(&w, 0, keep(&w, s, &seen.page[s]));
	}
	note_truth(&w, nth);
	w.at = at;
	run_to(&w, nth);
	reached = seen.reads_done;
	if (seen.wrong)
		fail_msg("%s: command %u, operation %u: %u counts are wrong", m->name, nth, at,
			seen.wrong);
	if (w.ctx.state != CTX_UNLOADED)
		WANT(&w, 0, world_do(&w, CMD_DESTROY));
	world_close(&w);
	return reached;
}

TEST(every_operation)
{
	for (const struct world_model *m = world_models; m->name; m++)
		for (unsigned nth = 0; nth < 7; nth++)
			for (unsigned at = 0; intrude_at(m, nth, at); at++)
				continue;
}

static void fault_last(struct world *w)
{
	world_fault(w, w->addr);
}

/* After a failed start, the page of the set has an even sequence number and is not active. */
TEST(failed_start)
{
	for (const struct world_model *m = world_models; m->name; m++) {
		for (unsigned at = 0;; at++) {
			struct command make = {.verb = CMD_EVTSET_NEW, .evtset.id = 1};
			struct pfm_live page[2] = {0};
			struct world w;
			bool reached;
			int rc;

			world_open(&w, m);
			WANT(&w, 0, world_command(&w, &make));
			world_program(&w, FROM);
			world_program_set(&w, 1, false);
			WANT(&w, 0, keep(&w, 0, &page[0]));
			WANT(&w, 0, keep(&w, 1, &page[1]));
			WANT(&w, 0, world_do(&w, CMD_LOAD));
			w.addr = w.pmu->global_ctrl ? w.pmu->global_ctrl : m->pmd[0].selector;
			w.intrude = fault_last;
			w.at = at;
			rc = start_set(&w, 1);
			reached = w.nops > at;
			WANT_EQ(&w, page[0].seq % 2, 0);
			WANT_EQ(&w, page[1].seq % 2, 0);
			WANT_EQ(&w, page[0].active, 0);
			WANT_EQ(&w, page[1].active, rc == 0);
			world_fault(&w, 0);
			world_do(&w, CMD_DESTROY);
			world_close(&w);
			if (!reached)
				break;
		}
	}
}

/* --- Threads: all PMDs of a set count the same event and are written with the same value. --- */

static struct {
	struct pfm_live page[SETS];
	atomic_uint reading;
	atomic_bool enough;
	atomic_ullong reads, torn, fallen, wrong, late;
} shared;

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)

/* Two counts and their CPU, read as one. */
struct sight {
	uint64_t a, b;
	uint32_t active, cpu;
};

static bool see(const struct pfm_live *page, const unsigned row[2], struct sight *out)
{
	uint32_t seq = LOAD(page->seq);

	*out = (struct sight){LOAD(page->pmd[row[0]].value), LOAD(page->pmd[row[1]].value),
		LOAD(page->active), LOAD(page->cpu)};
	return !(seq & 1) && seq == __atomic_load_n(&page->seq, __ATOMIC_RELAXED);
}

static const unsigned *rows_read;

/* Two PMDs in different cache lines: otherwise torn reads are too rare. */
static const unsigned twin[2] = {0, 3};

static void check_sight(unsigned s)
{
	struct sight now;

	if (!see(&shared.page[s], rows_read, &now))
		return;
	shared.torn += now.a != now.b;
	shared.wrong += now.a >> 40 != s + 1 || now.active > 1;
	shared.wrong += now.active && now.cpu != WORLD_CPU;
}

static void *reader(void *arg)
{
	uint64_t last[SETS] = {0}, count = 0;

	(void)arg;
	for (unsigned n = 0; n < READS || !atomic_load(&shared.enough); n++) {
		unsigned s = n % SETS;

		check_sight(s);
		if (pfm_live_read(&shared.page[s], rows_read[n / SETS % 2], 0, &count)) {
			shared.late++;
			continue;
		}
		shared.fallen += count < last[s];
		last[s] = count;
		shared.reads++;
	}
	atomic_fetch_sub(&shared.reading, 1);
	return NULL;
}

/* Writes a higher value, so that the reader detects a stale one. */
static void raise_counts(struct world *w, unsigned s)
{
	struct cmd_reg regs[2];
	uint64_t value = world_pmd(w, s, w->model->pmd[0].num).value + 12345;
	struct command cmd = {.verb = CMD_WRITE, .vector.regs = regs, .vector.nregs = 2};

	for (unsigned i = 0; i < 2; i++)
		regs[i] = (struct cmd_reg){.pmd = true,
			.num = w->model->pmd[twin[i]].num,
			.set = (uint16_t)s,
			.value = value};
	WANT(w, 0, world_command(w, &cmd));
}

static void one_round(struct world *w, unsigned n)
{
	WANT(w, 0, world_do(w, CMD_LOAD));
	WANT(w, 0, start_set(w, n % SETS));
	for (unsigned i = 0; i < 4; i++) {
		hw_advance(w->hw, 1000);
		world_pmd(w, w->ctx.active->id, w->model->pmd[0].num);
		WANT(w, 0, world_do(w, CMD_POLL));
		WANT(w, 0, world_do(w, CMD_SWITCH));
		hw_advance(w->hw, 1000);
		WANT(w, 0, start_set(w, (n + i) % SETS));
	}
	WANT(w, 0, world_do(w, CMD_STOP));
	raise_counts(w, n % SETS);
	WANT(w, 0, world_do(w, CMD_START));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	for (unsigned i = 0; i < QUICK; i++)
		raise_counts(w, i % SETS);
}

static void set_up(struct world *w)
{
	for (unsigned s = 0; s < SETS; s++) {
		struct command cmd = {.verb = CMD_EVTSET_NEW, .evtset.id = (uint16_t)s};

		if (s)
			WANT(w, 0, world_command(w, &cmd));
		for (unsigned i = 0; i < 2; i++) {
			WANT(w, 0,
				world_write_in(w, s, false, w->model->pmc[twin[i]].num,
					w->model->pmc[0].value));
			WANT(w, 0,
				world_write_in(w, s, true, w->model->pmd[twin[i]].num,
					(uint64_t)(s + 1) << 40));
		}
		WANT(w, 0, keep(w, s, &shared.page[s]));
	}
}

static const struct world_model *model(const char *name)
{
	const struct world_model *m = world_models;

	while (strcmp(m->name, name) != 0)
		m++;
	return m;
}

static void race(const char *name)
{
	pthread_t thread[READERS];
	unsigned rounds = 0, row[2];
	struct world w;

	memset(&shared, 0, sizeof(shared));
	world_open(&w, model(name));
	set_up(&w);
	row[0] = row_of(&w, twin[0]);
	row[1] = row_of(&w, twin[1]);
	rows_read = row;
	atomic_store(&shared.reading, READERS);
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, reader, NULL), 0);
	while (atomic_load(&shared.reading)) {
		one_round(&w, rounds++);
		atomic_store(&shared.enough, rounds >= ROUNDS);
	}
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(thread[i], NULL);
	print_message("# %s: %llu reads, %llu in change too long, %u rounds\n", name,
		(unsigned long long)shared.reads, (unsigned long long)shared.late, rounds);
	assert_int_equal(shared.torn, 0);
	assert_int_equal(shared.fallen, 0);
	assert_int_equal(shared.wrong, 0);
	assert_true(shared.reads > READS);
	world_close(&w);
}

TEST(race)
{
	race("intel_v4"); /* With a global control. */
	race("amd_ext");  /* Without. */
}

// SPDX-License-Identifier: MIT
/* Virtual PMDs: the sources of their values, and the values in samples. */
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "daemon/percpu/virtual_pmd.h"
#include "tests/unit/unit.h"
#include "tests/unit/world.h"

static const struct {
	const char *text;
	bool ok;
	uint64_t value;
} numbers[] = {
	{"42\n", true, 42},
	{"0", true, 0},
	{"-5 C\n", true, (uint64_t)-5},
	{"temp: +45.25 C\n", true, 45},
	{"MemFree:   123 kB\n", true, 123},
	{"0x1F\n", true, 31},
	{"0x\n", true, 0},
	{"010\n", true, 10},
	{"cpu0 7", true, 7},
	{"v1.5 8", true, 8},
	{"a-5 9", true, 5},
	{"--5", true, (uint64_t)-5},
	{"18446744073709551615", true, UINT64_MAX},
	{"-9223372036854775808", true, 1ULL << 63},
	{"0xffffffffffffffff", true, UINT64_MAX},
	{"18446744073709551616", false, 0},
	{"-9223372036854775809", false, 0},
	{"0x10000000000000000", false, 0},
	{"99999999999999999999999999 1", false, 0},
	{"", false, 0},
	{"\n", false, 0},
	{"none", false, 0},
	{"x1", false, 0},
	{".5", false, 0},
	{"-", false, 0},
	{"\xc3\xa4"
	 "1",
		false, 0},
};

TEST(number)
{
	for (unsigned i = 0; i < COUNT(numbers); i++) {
		uint64_t value = 0;
		/* Not terminated, so that the sanitizer detects a read beyond the end. */
		size_t n = strlen(numbers[i].text);
		CLEANUP_FREE char *copy = malloc(n + !n);

		memcpy(copy, numbers[i].text, n);
		if (virtual_pmd_parse(copy, n, &value) != numbers[i].ok ||
			(numbers[i].ok && value != numbers[i].value))
			fail_msg("'%s' is %" PRIu64, numbers[i].text, value);
	}
}

/* Fetches virtual PMD @num only, as a new command does. */
static bool fetch(struct virtuals *v, const struct pmu *pmu, unsigned num, uint32_t tid,
	uint64_t now, uint64_t *value)
{
	const struct virtual_moment at = {
		.now = now, .elapsed = now / 2, .where = {.known = tid != 0, .tid = tid}};
	int row = pmu_find_virtual(pmu, num);
	struct virtual_values values = {.want = 1u << row};

	assert_true(row >= 0);
	virtual_pmd_fetch(v, pmu, &at, &values);
	assert_int_equal(values.asked, 1u << row);
	assert_int_equal(values.valid & ~values.asked, 0);
	*value = values.value[row];
	return values.valid;
}

static struct pmu builtin(void)
{
	struct pmu pmu = {0};

	pmu_add_virtuals(&pmu);
	return pmu;
}

/* The number after @key in file @path. */
static double number_of(const char *path, const char *key)
{
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");
	char text[4096] = "";
	const char *at;

	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	at = strstr(text, key);
	assert_non_null(at);
	return strtod(at + strlen(key), NULL);
}

TEST(system)
{
	struct pmu pmu = builtin();
	struct virtuals v = {0};
	double memory, load;
	uint64_t value;

	assert_true(fetch(&v, &pmu, PMU_CLOCK, 0, 4711, &value));
	assert_int_equal(value, 4711);
	assert_true(fetch(&v, &pmu, PMU_ELAPSED, 0, 4711, &value));
	assert_int_equal(value, 2355);
	assert_true(fetch(&v, &pmu, PMU_THREAD, 4712, 0, &value));
	assert_int_equal(value, 4712);
	assert_false(fetch(&v, &pmu, PMU_THREAD, 0, 0, &value));
	/* They change meanwhile; the bounds detect a wrong unit. */
	memory = number_of("/proc/meminfo", "MemFree:") * 1024;
	assert_true(fetch(&v, &pmu, PMU_FREE_MEMORY, 0, 0, &value));
	assert_true((double)value > memory / 2 && (double)value < memory * 2);
	load = number_of("/proc/loadavg", "") * 1000;
	assert_true(fetch(&v, &pmu, PMU_LOAD, 0, 0, &value));
	assert_true((double)value >= load - 1000 && (double)value <= load + 1000);
	virtual_pmd_close(&v);
}

TEST(temperature)
{
	struct pmu pmu = builtin();
	struct virtuals v = {0};
	uint64_t value;

	if (pmu_find_virtual(&pmu, PMU_TEMPERATURE) < 0) {
		assert_int_equal(access("/sys/class/thermal/thermal_zone0/temp", R_OK), -1);
		print_message("# not tried: there is no thermal zone here\n");
		return;
	}
	if (fetch(&v, &pmu, PMU_TEMPERATURE, 0, 0, &value))
		assert_true((int64_t)value > -100000 && (int64_t)value < 200000);
	virtual_pmd_close(&v);
}

static void burn(uint64_t ns)
{
	struct timespec ts;
	uint64_t end = 0, now;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
		end = end ? end : now + ns;
	} while (now < end);
}

/* Waits until @child has run for @ns. Other load may delay it; until it has run, there is no value.
 */
static void ran_past(struct virtuals *v, const struct pmu *pmu, pid_t child, uint64_t ns)
{
	uint64_t now = 0;

	for (unsigned ms = 0; ms < 60000 && now <= ns; ms++) {
		usleep(1000);
		fetch(v, pmu, PMU_CPUTIME, (uint32_t)child, 0, &now);
	}
	assert_true(now > ns);
}

/* The CPU time of @child, which has stopped. Its stop is reported before it leaves its CPU, so the
 * time may rise for another moment. */
static uint64_t stopped_cputime(struct virtuals *v, const struct pmu *pmu, pid_t child)
{
	uint64_t before = 0, after = 1;

	for (unsigned ms = 0; ms < 60000 && after != before; ms++) {
		assert_true(fetch(v, pmu, PMU_CPUTIME, (uint32_t)child, 0, &before));
		usleep(1000);
		assert_true(fetch(v, pmu, PMU_CPUTIME, (uint32_t)child, 0, &after));
	}
	return before;
}

/* A thread of another process, until after its end. */
TEST(cputime)
{
	struct pmu pmu = builtin();
	struct virtuals v = {0};
	uint64_t before, after;
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			burn(1000000);
	}
	assert_true(child > 0);
	ran_past(&v, &pmu, child, 1000000);
	assert_int_equal(kill(child, SIGSTOP), 0);
	assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
	before = stopped_cputime(&v, &pmu, child);
	assert_true(before > 1000000 && before < 10000000000);
	assert_true(fetch(&v, &pmu, PMU_CPUTIME, (uint32_t)child, 0, &after));
	assert_int_equal(after, before);
	assert_int_equal(kill(child, SIGCONT), 0);
	ran_past(&v, &pmu, child, before);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(fetch(&v, &pmu, PMU_CPUTIME, (uint32_t)child, 0, &after));
	assert_int_equal(v.threads[child % VIRTUAL_THREADS].tid, 0);
	/* Unknown, the idle thread, an impossible number. */
	assert_false(fetch(&v, &pmu, PMU_CPUTIME, 0, 0, &after));
	assert_false(fetch(&v, &pmu, PMU_CPUTIME, UINT32_MAX, 0, &after));
	virtual_pmd_close(&v);
}

static void *idle_thread(void *tid)
{
	burn(20000000);
	atomic_store((atomic_uint *)tid, (unsigned)gettid());
	pause();
	return NULL;
}

/* Threads of one process differ, and so do threads whose files share a slot. */
TEST(threads)
{
	struct pmu pmu = builtin();
	struct virtuals v = {0};
	atomic_uint tids[2 * VIRTUAL_THREADS] = {0};
	pthread_t threads[COUNT(tids)];
	uint64_t value;

	burn(200000000);
	for (unsigned i = 0; i < COUNT(tids); i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, idle_thread, &tids[i]), 0);
		while (!atomic_load(&tids[i]))
			usleep(1000);
	}
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < COUNT(tids); i++) {
			assert_true(fetch(&v, &pmu, PMU_CPUTIME, tids[i], 0, &value));
			assert_true(value >= 5000000 && value < 200000000);
		}
	}
	for (unsigned i = 0; i < COUNT(tids); i++) {
		pthread_cancel(threads[i]);
		pthread_join(threads[i], NULL);
		/* pthread_join() returns shortly before the kernel removes the thread. */
		for (unsigned ms = 0; ms < 5000; ms++) {
			if (!fetch(&v, &pmu, PMU_CPUTIME, tids[i], 0, &value))
				break;
			usleep(1000);
		}
		assert_false(fetch(&v, &pmu, PMU_CPUTIME, tids[i], 0, &value));
	}
	virtual_pmd_close(&v);
}

/* A directory with a file, and a description that names it. */
struct place {
	char dir[32], path[64], other[64];
	struct pmu pmu;
	struct virtuals v;
	uint64_t value;
};

static void place_open(struct place *p)
{
	struct pmu_virtual *file = &p->pmu.virtuals[0];

	*p = (struct place){.dir = "/tmp/test_virtual.XXXXXX", .pmu.nvirtuals = 1};
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/number", p->dir);
	snprintf(p->other, sizeof(p->other), "%s/other", p->dir);
	*file = (struct pmu_virtual){.num = PMU_FIRST_FILE, .kind = PMU_VIRTUAL_FILE};
	strcpy(file->name, "number");
	strcpy(file->path, p->path);
}

static void place_close(struct place *p)
{
	virtual_pmd_close(&p->v);
	unlink(p->path);
	unlink(p->other);
	assert_int_equal(rmdir(p->dir), 0);
}

static void put(const char *path, const char *text)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static bool fetch_file(struct place *p)
{
	return fetch(&p->v, &p->pmu, PMU_FIRST_FILE, 0, 0, &p->value);
}

static void want_number(struct place *p, uint64_t value)
{
	assert_true(fetch_file(p));
	assert_int_equal(p->value, value);
}

TEST(file)
{
	struct place p;
	char long_text[5000];

	place_open(&p);
	assert_false(fetch_file(&p));
	put(p.path, "17\n");
	want_number(&p, 17);
	put(p.path, "-18 19\n");
	want_number(&p, (uint64_t)-18);
	put(p.path, "");
	assert_false(fetch_file(&p));
	put(p.path, "nothing\n");
	assert_false(fetch_file(&p));
	put(p.path, "123456789012345678901\n");
	assert_false(fetch_file(&p));
	put(p.path, "20\n");
	want_number(&p, 20);

	memset(long_text, ' ', sizeof(long_text));
	memcpy(long_text + 4090, "1234567890", 11);
	put(p.path, long_text);
	assert_false(fetch_file(&p));
	memcpy(long_text, "21", 2);
	put(p.path, long_text);
	want_number(&p, 21);
	place_close(&p);
}

/* The file is removed, created again, and replaced by rename(2). */
TEST(vanishing)
{
	struct place p;

	place_open(&p);
	put(p.path, "1\n");
	want_number(&p, 1);
	assert_int_equal(unlink(p.path), 0);
	assert_false(fetch_file(&p));
	assert_false(fetch_file(&p));
	put(p.path, "2\n");
	want_number(&p, 2);
	put(p.other, "3\n");
	assert_int_equal(rename(p.other, p.path), 0);
	want_number(&p, 3);
	place_close(&p);
}

static void want_refused(struct place *p, int no)
{
	struct err e = {0};
	int rc = pmu_virtual_open(&p->pmu.virtuals[0], &e);

	if (rc != -no || e.no != no || !strstr(e.text, p->path))
		fail_msg("%s, not %s: %s", err_name(-rc), err_name(no), e.text);
	assert_false(fetch_file(p));
}

/* A file that does not belong to root or is not world-readable is refused, also if it changes. */
TEST(refused)
{
	struct place p;

	place_open(&p);
	want_refused(&p, ENOENT);
	put(p.other, "1\n");
	assert_int_equal(symlink(p.other, p.path), 0);
	want_refused(&p, ELOOP);
	assert_int_equal(unlink(p.path), 0);
	assert_int_equal(mkfifo(p.path, 0644), 0);
	want_refused(&p, EPERM);
	assert_int_equal(unlink(p.path), 0);
	assert_int_equal(mkdir(p.path, 0755), 0);
	want_refused(&p, EPERM);
	assert_int_equal(rmdir(p.path), 0);
	put(p.path, "1\n");
	for (unsigned i = 0; i < 5; i++) {
		static const mode_t modes[] = {0664, 0646, 0640, 0600, 0666};

		assert_int_equal(chmod(p.path, modes[i]), 0);
		want_refused(&p, EPERM);
	}
	assert_int_equal(chmod(p.path, 0444), 0);
	want_number(&p, 1);
	virtual_pmd_close(&p.v);
	if (geteuid() == 0) {
		assert_int_equal(chown(p.path, 1, 0), 0);
		want_refused(&p, EPERM);
	}
	place_close(&p);
}

/* Each value is fetched once per command. */
TEST(once)
{
	const struct virtual_moment any = {0};
	struct virtual_values values = {.want = 1};
	struct place p;

	place_open(&p);
	put(p.path, "1\n");
	virtual_pmd_fetch(&p.v, &p.pmu, &any, &values);
	put(p.path, "2\n");
	virtual_pmd_fetch(&p.v, &p.pmu, &any, &values);
	assert_int_equal(values.value[0], 1);
	place_close(&p);
}

/* A format that records its arguments. */
static struct {
	unsigned calls;
	pfm_ovfl_arg_t arg;
	uint64_t tstamp;
} seen;

static int keep(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	(void)buf, (void)data;
	seen.calls++;
	seen.arg = *arg;
	seen.tstamp = tstamp;
	arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	return 0;
}

static const pfm_buffer_fmt_t keeper = {
	.fmt_api = PFM_FMT_API, .fmt_name = "keeper", .fmt_handler = keep};

enum { PERIOD = 1000000, A_PERIOD_NS = 1000000 };

/* A world whose PMU also has a virtual PMD from a file, and samples that and the PMDs of @smpl. */
struct sampled {
	struct world w;
	struct pmu pmu;
	struct place p;
};

static void add_nums(struct regset *set, const unsigned *nums, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		regset_add(set, nums[i]);
}

static int write_conf(struct world *w, unsigned num, const struct pmd_conf *conf)
{
	struct cmd_reg reg = {
		.pmd = true, .num = (uint16_t)num, .value = (uint64_t)-PERIOD, .conf = *conf};
	struct command cmd = {.verb = CMD_WRITE, .vector.regs = &reg, .vector.nregs = 1};

	return world_command(w, &cmd);
}

static void sampled_open(struct sampled *s, const unsigned *smpl, unsigned n)
{
	const struct pmd_conf plain = {.short_reset = (uint64_t)-PERIOD};
	struct pmd_conf conf = plain;
	struct command format = {.verb = CMD_FORMAT, .setup.smpl = {.fmt = &keeper}};

	world_open(&s->w, &world_models[4]);
	place_open(&s->p);
	put(s->p.path, "77\n");
	s->pmu = *s->w.pmu;
	s->pmu.virtuals[s->pmu.nvirtuals++] = s->p.pmu.virtuals[0];
	s->w.be->pmu = s->w.ctx.pmu = s->w.ctx.all_pmu = &s->pmu;
	memset(&seen, 0, sizeof(seen));
	add_nums(&conf.smpl, smpl, n);
	WANT(&s->w, 0, world_command(&s->w, &format));
	world_program(&s->w, 0);
	WANT(&s->w, 0, write_conf(&s->w, 0, &conf));
	WANT(&s->w, 0, world_do(&s->w, CMD_LOAD));
	WANT(&s->w, 0, world_do(&s->w, CMD_START));
}

static void sampled_close(struct sampled *s)
{
	WANT(&s->w, 0, world_do(&s->w, CMD_UNLOAD));
	virtual_pmd_close(&s->w.exec.virtuals);
	s->w.be->pmu = s->w.pmu;
	place_close(&s->p);
	world_close(&s->w);
}

static void want_seen(unsigned calls, const unsigned *nums, unsigned n)
{
	struct regset want = {0};

	add_nums(&want, nums, n);
	assert_int_equal(seen.calls, calls);
	for (unsigned i = 0; i < PFM_FMT_BV; i++)
		assert_int_equal(seen.arg.smpl_pmds[i], want.bits[i]);
}

/* In rising order of numbers, after the counters; an unknown value is all ones. */
TEST(sampled)
{
	static const unsigned nums[] = {
		0, 1, PMU_CLOCK, PMU_CPUTIME, PMU_ELAPSED, PMU_THREAD, PMU_FIRST_FILE};
	static const enum cmd_verb verbs[] = {CMD_POLL, CMD_READ, CMD_STOP};
	struct sampled s;

	for (unsigned i = 0; i < COUNT(verbs); i++) {
		struct cmd_reg reg = {.pmd = true};
		struct command cmd = {.verb = verbs[i], .vector.regs = &reg, .vector.nregs = 1};

		sampled_open(&s, nums, COUNT(nums));
		hw_advance(s.w.hw, A_PERIOD_NS);
		WANT(&s.w, 0, world_command(&s.w, &cmd));
		want_seen(1, nums, COUNT(nums));
		assert_int_equal(seen.arg.smpl_pmds_values[2], hw_now(s.w.hw));
		assert_int_equal(seen.arg.smpl_pmds_values[2], seen.tstamp);
		assert_int_equal(seen.arg.smpl_pmds_values[3], UINT64_MAX);
		assert_int_equal(seen.arg.smpl_pmds_values[4], A_PERIOD_NS);
		assert_int_equal(seen.arg.smpl_pmds_values[5], UINT64_MAX);
		assert_int_equal(seen.arg.smpl_pmds_values[6], 77);
		sampled_close(&s);
	}
}

/* Fetched for each sample; all ones if there is no value. */
TEST(sampled_again)
{
	static const unsigned nums[] = {PMU_CLOCK, PMU_FIRST_FILE};
	static const struct {
		const char *text;
		uint64_t value;
	} rounds[] = {{"1", 1}, {"-2", (uint64_t)-2}, {"", UINT64_MAX}, {"3", 3}};
	struct sampled s;

	sampled_open(&s, nums, COUNT(nums));
	for (unsigned i = 0; i < COUNT(rounds); i++) {
		put(s.p.path, rounds[i].text);
		hw_advance(s.w.hw, A_PERIOD_NS);
		WANT(&s.w, 0, world_do(&s.w, CMD_POLL));
		want_seen(i + 1, nums, COUNT(nums));
		assert_int_equal(seen.arg.smpl_pmds_values[0], hw_now(s.w.hw));
		assert_int_equal(seen.arg.smpl_pmds_values[1], rounds[i].value);
	}
	sampled_close(&s);
}

/* Overflows of a set that was switched from are sampled with the values at the switch. */
TEST(sampled_switch)
{
	static const unsigned nums[] = {PMU_CLOCK, PMU_FIRST_FILE};
	struct command start = {.verb = CMD_START, .has_set = true};
	struct sampled s;

	sampled_open(&s, nums, COUNT(nums));
	hw_advance(s.w.hw, A_PERIOD_NS);
	WANT(&s.w, 0, world_command(&s.w, &start));
	want_seen(1, nums, COUNT(nums));
	assert_int_equal(seen.arg.smpl_pmds_values[0], hw_now(s.w.hw));
	assert_int_equal(seen.arg.smpl_pmds_values[1], 77);
	hw_advance(s.w.hw, A_PERIOD_NS);
	WANT(&s.w, 0, world_do(&s.w, CMD_SWITCH));
	want_seen(2, nums, COUNT(nums));
	assert_int_equal(seen.arg.smpl_pmds_values[0], hw_now(s.w.hw));
	sampled_close(&s);
}

static void start_faulting(struct world *w)
{
	world_fault(w, w->addr);
}

/* False: the command had finished by then. */
static bool elapsed_fault(struct world *w, uint32_t addr, unsigned at, uint64_t ns)
{
	bool started;

	hw_advance(w->hw, 1000);
	w->addr = addr;
	w->at = at;
	w->intrude = start_faulting;
	started = world_do(w, CMD_START) == 0;
	world_fault(w, 0);
	if (started)
		return false;
	assert_int_equal(w->ctx.state, CTX_LOADED);
	WANT_PMD(w, PMU_ELAPSED, ns);
	return true;
}

/* A start that fails is none. The register that starts all counters is the last to fail. */
static void elapsed_unstarted(struct world *w, uint64_t ns)
{
	uint32_t addr = w->pmu->global_ctrl ? w->pmu->global_ctrl : w->model->pmd[0].selector;
	unsigned at = 0;

	while (elapsed_fault(w, addr, at, ns))
		at++;
	assert_true(at > 0);
	WANT(w, 0, world_do(w, CMD_UNLOAD));
}

/* @verb, and @ns later the time is @want. */
static void elapsed_step(struct world *w, enum cmd_verb verb, uint64_t ns, uint64_t want, int line)
{
	world_want(w, world_do(w, verb), 0, "command", line);
	hw_advance(w->hw, ns);
	world_want_pmd(w, PMU_ELAPSED, want, line);
}
#define STEP(verb, ns, want) elapsed_step(w, verb, ns, want, __LINE__)

/* From start to stop, while masked too; from 0 again at the next start, but not at a restart. */
static void elapsed(struct world *w)
{
	const struct pmd_conf notify = {.flags = PMD_NOTIFY};

	world_program(w, 0);
	WANT(w, 0, write_conf(w, w->model->pmd[0].num, &notify));
	hw_advance(w->hw, 10);
	WANT_PMD(w, PMU_ELAPSED, 0);
	STEP(CMD_LOAD, 10, 0);
	STEP(CMD_START, 20, 20);
	STEP(CMD_START, 0, 20);
	world_happen(w, w->model->pmd[0].num, PERIOD);
	WANT(w, 0, world_do(w, CMD_POLL));
	assert_int_equal(w->ctx.state, CTX_MASKED);
	hw_advance(w->hw, 30);
	WANT_PMD(w, PMU_ELAPSED, 50);
	STEP(CMD_RESTART, 40, 90);
	STEP(CMD_STOP, 50, 90);
	STEP(CMD_STOP, 0, 90);
	STEP(CMD_START, 7, 7);
	STEP(CMD_UNLOAD, 60, 7);
	STEP(CMD_LOAD, 0, 7);
	elapsed_unstarted(w, 7);
}

IN_WORLDS(elapsed, world_each, world_models)
{
	elapsed(w);
}

/* A file that no command needs is not read. */
TEST(unused)
{
	static const unsigned nums[] = {0, 1};
	struct sampled s;

	sampled_open(&s, nums, COUNT(nums));
	hw_advance(s.w.hw, A_PERIOD_NS);
	WANT(&s.w, 0, world_do(&s.w, CMD_POLL));
	want_seen(1, nums, COUNT(nums));
	assert_int_equal(s.w.exec.run.virt.asked, 0);
	WANT(&s.w, 0, world_do(&s.w, CMD_STOP));
	assert_int_equal(s.w.exec.run.virt.asked, 0);
	assert_int_equal(s.w.exec.virtuals.open, 0);
	sampled_close(&s);
}

/* Commands that name virtual PMDs, on an unloaded context. */
TEST(commands)
{
	struct pmd_conf conf = {0};
	struct command format = {.verb = CMD_FORMAT};
	struct cmd_reg reg = {.pmd = true};
	struct command read = {.verb = CMD_READ, .vector.regs = &reg, .vector.nregs = 1};
	struct sampled s;

	sampled_open(&s, NULL, 0);
	WANT_PMD(&s.w, PMU_FIRST_FILE, 77);
	WANT(&s.w, 0, world_do(&s.w, CMD_UNLOAD));
	WANT(&s.w, -EBUSY, world_command(&s.w, &format));
	WANT_PMD(&s.w, PMU_CLOCK, hw_now(s.w.hw));
	hw_advance(s.w.hw, 5);
	WANT_PMD(&s.w, PMU_CLOCK, hw_now(s.w.hw));
	WANT_PMD(&s.w, PMU_FIRST_FILE, 77);
	put(s.p.path, "");
	WANT(&s.w, -EIO, world_read(&s.w, true, PMU_FIRST_FILE, &reg.value));
	assert_non_null(strstr(s.w.err.text, s.p.path));
	WANT(&s.w, -ENODATA, world_read(&s.w, true, PMU_CPUTIME, &reg.value));
	WANT(&s.w, -ENODATA, world_read(&s.w, true, PMU_THREAD, &reg.value));
	WANT(&s.w, -ENOENT, world_read(&s.w, true, PMU_FIRST_FILE + 1, &reg.value));
	WANT(&s.w, -ENOENT, world_read(&s.w, false, PMU_CLOCK, &reg.value));
	WANT(&s.w, -EACCES, world_write(&s.w, true, PMU_CLOCK, 0));
	reg.num = PMU_CLOCK;
	reg.set = 1;
	WANT(&s.w, -ENOENT, world_command(&s.w, &read));

	/* smpl= accepts virtual PMDs; reset= does not. */
	regset_add(&conf.smpl, 1);
	regset_add(&conf.smpl, PMU_LOAD);
	regset_add(&conf.smpl, PMU_FIRST_FILE);
	WANT(&s.w, 0, write_conf(&s.w, 0, &conf));
	reg = (struct cmd_reg){.pmd = true};
	WANT(&s.w, 0, world_command(&s.w, &read));
	assert_memory_equal(&reg.conf, &conf, sizeof(conf));
	regset_add(&conf.reset, PMU_CLOCK);
	WANT(&s.w, -EINVAL, write_conf(&s.w, 0, &conf));
	conf.reset = (struct regset){0};
	regset_add(&conf.smpl, PMU_FIRST_FILE + 1);
	WANT(&s.w, -EINVAL, write_conf(&s.w, 0, &conf));
	sampled_close(&s);
}

// SPDX-License-Identifier: MIT
/*
 * The running thread, as the perf clock event samples it, and in the samples of a worker. Other
 * programs run on the machine, too: properties of every sample are asserted for all of them, others
 * for most.
 */
#include "daemon/percpu/ip_sampler.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "backend/perf/perf.h"
#include "backend/sysfs/sysfs.h"
#include "base/cleanup.h"
#include "daemon/engine/engine.h"
#include "perfmonfs/smpl_stack.h"

#define MSEC 1000000ULL

/* A host may take a CPU from us for a second. */
enum { TICK_MS_MAX = 30000 };

/* A function in a section of its own, to be recognized by its addresses. */
#define BURN __attribute__((noinline, section("burn_text")))
extern const char __start_burn_text[], __stop_burn_text[];

/* A busy process, and the number of its busy thread. */
struct burner {
	pid_t pid;
	atomic_int tid;
};

static unsigned cpu;

static void bind_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(id, &ts), 0);
	return (uint64_t)ts.tv_sec * 1000 * MSEC + (uint64_t)ts.tv_nsec;
}

static uint64_t now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static BURN void burn(void)
{
	for (volatile unsigned i = 0;; i++)
		;
}

static void *burn_thread(void *arg)
{
	struct burner *b = arg;

	atomic_store(&b->tid, gettid());
	burn();
	return NULL;
}

/* Creates a process whose second thread is busy. */
static struct burner *burner_new(void)
{
	struct burner *b =
		mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	pid_t pid;

	assert_ptr_not_equal(b, MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&thread, NULL, burn_thread, b) == 0)
			pause();
		_exit(1);
	}
	b->pid = pid;
	while (!atomic_load(&b->tid))
		usleep(1000);
	return b;
}

static void burner_free(struct burner *b)
{
	kill(b->pid, SIGKILL);
	waitpid(b->pid, NULL, 0);
	munmap(b, sizeof(*b));
}

/* CPU time of a thread of this process; the clock is that of pthread_getcpuclockid(). */
static uint64_t cpu_time_of(uint32_t tid)
{
	return read_clock((clockid_t)(~tid << 3 | 6));
}

static uint64_t burner_time(const struct burner *b)
{
	clockid_t id;

	assert_int_equal(clock_getcpuclockid(b->pid, &id), 0);
	return read_clock(id);
}

/*
 * @right of @n samples, which stand for @ns, are of a thread that ran for @ran. Of that it may have
 * had up to @unseen when no sample was taken, because the worker, or the whole machine, had no CPU.
 * The bounds are wide, because there are few samples and other load; tests/fs/profile.bats
 * measures.
 */
static void want_share(unsigned right, unsigned n, uint64_t ran, uint64_t unseen, uint64_t ns)
{
	double seen = (double)right / n, most = (double)ran / (double)ns,
	       least = ran > unseen ? (double)(ran - unseen) / (double)ns : 0;

	if (seen < least - 0.2 || seen > most + 0.2)
		fail_msg("%.3f of the samples, %.3f to %.3f of the time", seen, least, most);
}

static bool in_burn(uint64_t ip)
{
	return ip >= (uintptr_t)__start_burn_text && ip < (uintptr_t)__stop_burn_text;
}

static struct ip_sampler *sampler_new(struct ip_sampler_conf conf)
{
	struct ip_sampler *w;
	struct err e;

	if (ip_sampler_new(cpu, &conf, &w, &e) < 0)
		fail_msg("%s", e.text);
	return w;
}

static struct ip_sampler *sampler_open(uint64_t period_ns, bool events)
{
	return sampler_new((struct ip_sampler_conf){.period_ns = period_ns, .events = events});
}

static bool ticks_within(struct ip_sampler *w, int ms)
{
	struct pollfd p = {.fd = ip_sampler_fd(w), .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

TEST(burner)
{
	enum { ENOUGH = 40 };
	struct burner *b = burner_new();
	struct ip_sampler *w = sampler_open(MSEC, false);
	pfm_smpl_where_t where = {0};
	unsigned right = 0, inside = 0;
	uint64_t last = 0, until = now() + 30000 * MSEC;

	/* The number of samples depends on other load: this thread polls only when it runs. */
	while (right < ENOUGH && now() < until) {
		assert_true(ticks_within(w, TICK_MS_MAX));
		ip_sampler_read(w, &where, NULL, NULL);
		assert_int_not_equal(where.tid, gettid());
		assert_true(ip_sampler_time(w) >= last);
		assert_true(ip_sampler_time(w) <= now());
		last = ip_sampler_time(w);
		if (where.tid != (uint32_t)atomic_load(&b->tid))
			continue;
		assert_int_equal(where.pid, b->pid);
		assert_int_equal(where.cpu, cpu);
		assert_int_not_equal(where.tid, where.pid);
		right++;
		inside += in_burn(where.ip);
	}
	assert_int_equal(right, ENOUGH);
	assert_true(inside >= ENOUGH / 2); /* Samples of interrupts are elsewhere. */
	assert_int_equal(ip_sampler_lost(w), 0);
	ip_sampler_free(w);
	burner_free(b);
}

/* The thread that is busy has a stack: the function, and what has called it. */
TEST(stacks)
{
	struct burner *b = burner_new();
	struct ip_sampler *w =
		sampler_new((struct ip_sampler_conf){.period_ns = MSEC, .stacks = true});
	pfm_smpl_where_t where = {0};
	unsigned inside = 0, callers = 0;
	uint64_t until = now() + 30000 * MSEC;

	assert_true(ip_sampler_has_stacks(w));
	while (inside < 20 && now() < until) {
		assert_true(ticks_within(w, TICK_MS_MAX));
		ip_sampler_read(w, &where, NULL, NULL);
		if (where.tid != (uint32_t)atomic_load(&b->tid) || !in_burn(where.ip))
			continue;
		assert_true(where.nframes >= 2);
		assert_int_equal(where.frames[0], PFM_STACK_USER);
		assert_int_equal(where.frames[1], where.ip);
		inside++;
		callers += where.nframes > 2;
	}
	assert_int_equal(inside, 20);
	/* The tests are compiled with frame pointers. */
	assert_int_not_equal(callers, 0);
	ip_sampler_free(w);
	burner_free(b);
}

TEST(not_oneself)
{
	struct ip_sampler *w = sampler_open(MSEC, false);
	pfm_smpl_where_t where = {.ip = 1, .known = 1};
	uint64_t until = now() + 50 * MSEC;

	while (now() < until)
		;
	ip_sampler_read(w, &where, NULL, NULL);
	assert_int_not_equal(where.tid, gettid());
	assert_int_equal(where.known, 1);
	if (!ip_sampler_time(w))
		assert_int_equal(where.ip, 1);
	ip_sampler_free(w);
}

TEST(idle)
{
	struct ip_sampler *w = sampler_open(MSEC, false);
	pfm_smpl_where_t where = {.pid = 1};
	uint64_t until = now() + 5000 * MSEC;

	while (!(where.known && !where.pid) && now() < until) {
		ticks_within(w, 100);
		ip_sampler_read(w, &where, NULL, NULL);
	}
	ip_sampler_free(w);
	if (where.pid) {
		print_message("# not seen: this machine is never idle\n");
		return;
	}
	assert_int_equal(where.tid, 0);
	assert_true(where.ip >> 63);
}

TEST(pause)
{
	struct ip_sampler *w = sampler_open(MSEC, false);
	pfm_smpl_where_t where = {0};
	uint64_t then;

	assert_true(ticks_within(w, TICK_MS_MAX));
	ip_sampler_set_period(w, 0);
	ip_sampler_read(w, &where, NULL, NULL);
	ticks_within(w, 10); /* A tick from before. */
	assert_false(ticks_within(w, 50));
	then = now();
	ip_sampler_set_period(w, 5 * MSEC);
	assert_true(ticks_within(w, TICK_MS_MAX));
	assert_true(now() - then >= 4 * MSEC);
	ip_sampler_pause(w);
	ticks_within(w, 10);
	assert_false(ticks_within(w, 50));
	ip_sampler_free(w);
}

/* Pauses in the middle of a period do not prevent ticks. */
TEST(pauses)
{
	struct ip_sampler *w = sampler_open(20 * MSEC, false);
	unsigned rounds = 0;

	do {
		ip_sampler_pause(w);
		usleep(1000);
		ip_sampler_set_period(w, 20 * MSEC);
	} while (++rounds < 500 && !ticks_within(w, 2));
	assert_in_range(rounds, 1, 499);
	ip_sampler_free(w);
}

/* Needs a busy thread: on an idle CPU the kernel soon stops sampling. */
TEST(overrun)
{
	struct burner *b = burner_new();
	struct ip_sampler *w = sampler_open(MSEC / 10, false);
	pfm_smpl_where_t where = {0};
	uint64_t emptied = 0;

	for (unsigned i = 0; i < 20 && !ip_sampler_lost(w); i++) {
		usleep(500000);
		emptied = now();
		ip_sampler_read(w, &where, NULL, NULL);
		usleep(10000); /* The next record that fits tells how many were lost. */
		ip_sampler_read(w, &where, NULL, NULL);
	}
	assert_int_not_equal(ip_sampler_lost(w), 0);
	/* The newest sample is not one from before the ring was full. */
	assert_true(ip_sampler_time(w) > emptied);
	ip_sampler_free(w);
	burner_free(b);
}

enum { MAX_EVENTS = 256 };

struct life {
	pid_t pid;
	unsigned n;
	uint64_t last;
	struct {
		enum pfm_smpl_event_type type;
		char name[64];
	} ev[MAX_EVENTS];
};

static bool has_file(const pfm_smpl_event_t *ev)
{
	return ev->file.build_id_size ||
	       (ev->file.inode && (ev->file.dev_major || ev->file.dev_minor));
}

static void on_event(void *arg, const pfm_smpl_event_t *ev)
{
	struct life *l = arg;

	assert_true(ev->tstamp >= l->last && ev->tstamp <= now());
	l->last = ev->tstamp;
	/* ThreadSanitizer gives it a second thread. */
	if (ev->pid != (uint32_t)l->pid || ev->tid != ev->pid || l->n == MAX_EVENTS)
		return;
	if (ev->type == PFM_EVENT_MMAP)
		assert_true(ev->addr && ev->len && (ev->name[0] != '/' || has_file(ev)));
	l->ev[l->n].type = ev->type;
	snprintf(l->ev[l->n].name, sizeof(l->ev[l->n].name), "%s", ev->name);
	l->n++;
}

/* The index of the first event @type at or after @from whose name contains @part. */
static unsigned position(
	const struct life *l, unsigned from, enum pfm_smpl_event_type type, const char *part)
{
	for (unsigned i = from; i < l->n; i++)
		if (l->ev[i].type == type && strstr(l->ev[i].name, part))
			return i;
	fail_msg("no event %d of '%s' after %u of %u", type, part, from, l->n);
	return 0;
}

/* How many events were lost: other programs may have filled the ring. */
static uint64_t lead_life(struct life *l)
{
	struct ip_sampler *w = sampler_open(MSEC, true);
	pfm_smpl_where_t where = {0};
	uint64_t lost;

	*l = (struct life){.pid = fork()};
	assert_true(l->pid >= 0);
	if (l->pid == 0) {
		prctl(PR_SET_NAME, "pfm_life");
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(l->pid, NULL, 0), l->pid);
	ip_sampler_read(w, &where, on_event, l);
	usleep(2000); /* The next record that fits tells how many were lost. */
	ip_sampler_read(w, &where, on_event, l);
	lost = ip_sampler_lost(w);
	ip_sampler_free(w);
	return lost;
}

TEST(events)
{
	unsigned at, tries = 0;
	struct life l;

	while (lead_life(&l))
		assert_true(++tries < 100);
	at = position(&l, 0, PFM_EVENT_COMM, "pfm_life");
	at = position(&l, at + 1, PFM_EVENT_EXEC, "true");
	at = position(&l, at + 1, PFM_EVENT_MMAP, "/true");
	at = position(&l, at + 1, PFM_EVENT_MMAP, "libc");
	at = position(&l, at + 1, PFM_EVENT_EXIT, "");
	assert_int_equal(at, l.n - 1);
}

static int paranoid(void)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level;

	return f && fscanf(f, "%d", &level) == 1 ? level : 0;
}

TEST(refused)
{
	struct err e = {0};
	int status;
	pid_t pid;

	assert_int_equal(ip_sampler_probe(&e), 0);
	if (paranoid() <= 0) {
		print_message("# not tried: perf_event_paranoid lets everyone\n");
		return;
	}
	pid = fork();
	if (pid == 0) {
		bool ok = setresuid(65534, 65534, 65534) == 0 && ip_sampler_probe(&e) == -EACCES &&
			  strstr(e.text, "CAP_PERFMON");

		_exit(!ok);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Sampling by a worker, with a format that records threads and events. */

enum { SAMPLES = 8192, PERIOD = 1000000 };

struct buffer {
	unsigned n, known, kernel;
	uint64_t overflows, execs, exits;
	uint32_t tid[SAMPLES];
	bool inside[SAMPLES];
	bool fails; /* The handler of events fails. */
};

static struct backend *be;
static struct engine *eng;

static int handle(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	struct buffer *b = buf;
	const pfm_smpl_where_t *where = data;

	(void)tstamp;
	arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	b->overflows += arg->ovfl_count;
	b->known += where->known;
	b->kernel += (unsigned)(where->ip >> 63);
	if (b->n == SAMPLES)
		return 0;
	b->tid[b->n] = where->tid;
	b->inside[b->n++] = in_burn(where->ip);
	return 0;
}

static int handle_event(void *buf, const pfm_smpl_event_t *event)
{
	struct buffer *b = buf;

	b->execs += event->type == PFM_EVENT_EXEC;
	b->exits += event->type == PFM_EVENT_EXIT;
	return b->fails ? EIO : 0;
}

static const pfm_buffer_fmt_t plain = {
	.fmt_api = PFM_FMT_API, .fmt_name = "plain", .fmt_handler = handle};
static const pfm_buffer_fmt_t eventful = {.fmt_api = PFM_FMT_API,
	.fmt_name = "eventful",
	.fmt_handler = handle,
	.fmt_event = handle_event};

struct sampler {
	struct engine_ctx ec;
	struct buffer buf;
	atomic_bool done;
};

static struct sampler sampler;

static void on_change(struct engine_ctx *ec)
{
	(void)ec;
}

static const struct engine_ctx_ops sampler_ops = {.on_change = on_change};

static void job_done(struct job *job)
{
	(void)job;
	atomic_store(&sampler.done, true);
}

static void serve_until_done(void)
{
	while (!atomic_load(&sampler.done)) {
		usleep(100);
		engine_handle_events(eng);
	}
}

static int run_job(struct job *job)
{
	job->ec = &sampler.ec;
	job->done = job_done;
	job->cmd.load.cpu = cpu;
	job->cmd.rights = (struct rights){.system = true, .kernel = true};
	job->cmd.limits =
		(struct limits){.tick_ns = MSEC, .timer_ns = MSEC, .overflow_rate_max = 1000000};
	atomic_store(&sampler.done, false);
	engine_submit(eng, job);
	serve_until_done();
	return job->rc;
}

static void run_verb(enum cmd_verb verb)
{
	struct job job = {.cmd.verb = verb};

	if (run_job(&job) < 0)
		fail_msg("%d: %s", verb, job.err.text);
}

static uint64_t cpu_clock(void)
{
	for (unsigned i = 0; i < be->pmu->nevents; i++)
		if (strcmp(be->pmu->events[i].name, "cpu-clock") == 0)
			return be->pmu->events[i].value;
	fail_msg("no cpu-clock");
	return 0;
}

/* An overflow each millisecond. */
static void program(void)
{
	struct cmd_reg regs[2] = {
		{.value = cpu_clock()},
		{
			.pmd = true,
			.value = -(uint64_t)PERIOD,
			.conf = {.short_reset = -(uint64_t)PERIOD, .long_reset = -(uint64_t)PERIOD},
		},
	};
	struct job job = {.cmd = {.verb = CMD_WRITE, .vector.regs = regs, .vector.nregs = 2}};

	if (run_job(&job) < 0)
		fail_msg("%s", job.err.text);
}

static int sampling_begin(void **state)
{
	const struct backend_conf conf = {0};
	struct err e;

	(void)state;
	assert_int_equal(perf_backend_ops.open(&conf, &be, &e), 0);
	assert_int_equal(engine_new(be, &eng, &e), 0);
	memset(&sampler, 0, sizeof(sampler));
	assert_int_equal(engine_ctx_init(eng, &sampler.ec), 0);
	sampler.ec.ops = &sampler_ops;
	sampler.ec.name = "sampler";
	return 0;
}

static void load(const pfm_buffer_fmt_t *fmt)
{
	struct job job = {
		.cmd = {.verb = CMD_FORMAT, .setup.smpl = {.fmt = fmt, .buf = &sampler.buf}}};

	assert_int_equal(run_job(&job), 0);
	program();
	run_verb(CMD_LOAD);
}

static int sampling_end(void **state)
{
	(void)state;
	engine_free(eng);
	engine_ctx_free(&sampler.ec);
	be->ops->close(be);
	return 0;
}

/* The thread with a worker's name. */
static uint32_t worker_tid(void)
{
	CLEANUP_CLOSEDIR DIR *d = opendir("/proc/self/task");
	struct dirent *de;

	assert_non_null(d);
	while ((de = readdir(d))) {
		char path[300], name[16] = "";

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", de->d_name);
		CLEANUP_FCLOSE FILE *f = fopen(path, "re");
		if (f && fgets(name, sizeof(name), f) && strncmp(name, "pfm/", 4) == 0)
			return (uint32_t)atoi(de->d_name);
	}
	fail_msg("no worker");
	return 0;
}

/* The counter's own interrupts may find the worker, which counts as any thread does. */
static void samples(bool interrupts)
{
	struct burner *b = burner_new();
	unsigned right = 0, inside = 0;
	uint32_t worker;
	uint64_t least, most, ran, own, unseen;

	be->interrupts = interrupts;
	load(&plain);
	worker = worker_tid();
	own = cpu_time_of(worker);
	ran = burner_time(b);
	most = now();
	run_verb(CMD_START);
	least = now();
	usleep(1000000);
	least = now() - least;
	run_verb(CMD_STOP);
	most = now() - most;
	ran = burner_time(b) - ran;
	own = cpu_time_of(worker) - own;
	run_verb(CMD_UNLOAD);
	for (unsigned i = 0; i < sampler.buf.n; i++) {
		assert_true(interrupts || sampler.buf.tid[i] != worker);
		right += sampler.buf.tid[i] == (uint32_t)atomic_load(&b->tid);
		inside += sampler.buf.inside[i];
	}
	/* No overflow is dropped. */
	assert_in_range(sampler.buf.overflows, least / PERIOD - 1, most / PERIOD + 1);
	assert_true(sampler.buf.n >= 10);
	assert_true(sampler.buf.known >= sampler.buf.n * 9 / 10);
	/* A sample stands for all overflows since the last. Polling never samples the worker. */
	unseen = (sampler.buf.overflows - sampler.buf.n) * PERIOD;
	want_share(right, sampler.buf.n, ran, unseen, most - (interrupts ? 0 : own) - unseen);
	assert_true(inside >= right / 2); /* Samples of interrupts are elsewhere. */
	burner_free(b);
}

TEST_WITH(sampling_begin, sampling_end, samples_by_interrupts)
{
	samples(true);
}

TEST_WITH(sampling_begin, sampling_end, samples_by_polling)
{
	samples(false);
}

/* Kernel addresses need the right to count at kernel level. */
TEST_WITH(sampling_begin, sampling_end, kernel)
{
	static char page[1 << 20];
	pid_t pid = fork();

	if (pid == 0) {
		int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Directly: sanitizers would spend their time on the page at user level. */
		while (syscall(SYS_read, zero, page, sizeof(page)) > 0)
			;
		_exit(1);
	}
	load(&plain);
	/* Other load may use the CPU. */
	for (unsigned i = 0; i < 50 && !sampler.buf.kernel; i++) {
		run_verb(CMD_START);
		usleep(200000);
		run_verb(CMD_STOP);
	}
	assert_int_not_equal(sampler.buf.kernel, 0);
	/* As after a load without that right. */
	sampler.ec.ctx.samples.kernel_ip = false;
	sampler.buf.kernel = sampler.buf.known = 0;
	for (unsigned i = 0; i < 50 && sampler.buf.known <= 10; i++) {
		run_verb(CMD_START);
		usleep(200000);
		run_verb(CMD_STOP);
	}
	run_verb(CMD_UNLOAD);
	assert_true(sampler.buf.known > 10);
	assert_int_equal(sampler.buf.kernel, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void run_true(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

/* Events while the context is running. */
TEST_WITH(sampling_begin, sampling_end, sampled_events)
{
	enum { TIMES = 20 };
	uint64_t lost;

	load(&eventful);
	run_true();
	assert_int_equal(sampler.buf.execs, 0);
	run_verb(CMD_START);
	for (int i = 0; i < TIMES; i++)
		run_true();
	run_verb(CMD_STOP);
	run_verb(CMD_UNLOAD);
	lost = atomic_load(&engine_stats(eng)->exec.attribution_lost);
	/* There are events of other programs, too, and a busy machine may lose some. */
	assert_in_range(sampler.buf.execs + lost, TIMES, 10000);
	assert_true(sampler.buf.exits + lost >= TIMES);
}

/* A format that fails to record an event masks its context. */
TEST_WITH(sampling_begin, sampling_end, failing)
{
	struct job job = {0};

	load(&eventful);
	sampler.buf.fails = true;
	run_verb(CMD_START);
	run_true();
	/* At the worker's next tick. */
	for (unsigned i = 0; i < 500 && job.cmd.info.state != CTX_MASKED; i++) {
		usleep(20000);
		job = (struct job){.cmd.verb = CMD_INFO};
		assert_int_equal(run_job(&job), 0);
	}
	assert_int_equal(job.cmd.info.state, CTX_MASKED);
	run_verb(CMD_UNLOAD);
}

int main(void)
{
	struct err e;

	if (ip_sampler_probe(&e) < 0) {
		printf("1..0 # SKIP %s\n", e.text);
		return 0;
	}
	cpu = sysfs_cpu_first();
	bind_here();
	return unit_run(NULL, NULL);
}

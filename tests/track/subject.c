// SPDX-License-Identifier: MIT
/*
 * subject [-t THREADS] [-c CPU] [-m] [-b MS] [-w N] [-x DIR] KIND AMOUNT: threads that work and
 * measure it, to compare with counts of the same.
 *
 *   faults N    page faults, by writing to pages after MADV_DONTNEED
 *   cpu MS      milliseconds of CPU time
 *   yields N    calls of sched_yield()
 *   turns N     bytes sent to a partner, each of which it sends back
 *   naps N      sleeps of a microsecond
 *
 * Prints "thread TID FAULTS" for each thread, with its faults up to now, then "ready"; they begin
 * at the next line from standard input. When all have finished it prints, for each, a line
 *
 *   did TID faults=N before=N all=N cpu_ns=N wall_ns=N switches=N [counted=N]
 *
 * (before: faults after it was ready; all: since it exists), then "done". It exits at the next line
 * or at end of file. Its other work causes no faults in those threads.
 *
 *   -t THREADS  how many (1); 0: the main thread is the one that works
 *   -c CPU      all are pinned there
 *   -m          all are moved from CPU to CPU, once a millisecond
 *   -b MS       first, MS milliseconds of CPU time without a switch of its own
 *   -w N        between faults, 16 at a time, yields N times; between turns, loops N times; after
 *               each millisecond of CPU time, sleeps N us
 *   -x DIR      thread N counts itself by the context DIR/N: loads, starts, stops, reads pmd/0
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/track/known.h"

enum { PORTION = 16, STACK = 64 << 10 };

struct sample {
	uint64_t cpu, wall;
	long faults, switches;
};

struct thread {
	pthread_t thread, partner;
	pid_t tid;
	int index;
	int there[2], back[2]; /* pipes to the partner and from it */
	volatile char *area;
	struct sample ready, begin, end;
	uint64_t counted;
};

static struct options {
	unsigned threads;
	int cpu;
	bool move;
	uint64_t first, between, amount;
	const char *contexts;
	void (*work)(struct thread *t);
} o = {.threads = 1, .cpu = -1};

static pthread_barrier_t barrier;

/* The clocks last at the beginning and first at the end: what the rest takes is not work. */
static void sample(struct sample *s, bool begin)
{
	struct rusage usage;

	if (!begin) {
		s->cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		s->wall = clock_ns(CLOCK_MONOTONIC);
	}
	getrusage(RUSAGE_THREAD, &usage);
	s->faults = usage.ru_minflt + usage.ru_majflt;
	s->switches = usage.ru_nvcsw + usage.ru_nivcsw;
	if (begin) {
		s->wall = clock_ns(CLOCK_MONOTONIC);
		s->cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
}

static void loop(uint64_t n)
{
	if (n)
		__asm__ volatile("1:\tdec %0\n\tjnz 1b" : "+r"(n) : : "cc");
}

static void work_faults(struct thread *t)
{
	uint64_t left = o.amount;

	while (left) {
		uint64_t n = left < PORTION ? left : PORTION;

		fault(t->area, PORTION, n);
		left -= n;
		for (uint64_t i = 0; i < o.between; i++)
			sched_yield();
	}
}

/* Until the thread has had @ms milliseconds of CPU time in its work. */
static void spin(const struct thread *t, uint64_t ms)
{
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < t->begin.cpu + ms * 1000000)
		loop(1000);
}

static void work_cpu(struct thread *t)
{
	for (uint64_t ms = 1; ms <= o.amount; ms++) {
		spin(t, ms);
		if (o.between)
			usleep((useconds_t)o.between);
	}
}

static void work_yields(struct thread *t)
{
	(void)t;
	for (uint64_t i = 0; i < o.amount; i++)
		sched_yield();
}

static void work_turns(struct thread *t)
{
	char byte = 0;

	for (uint64_t i = 0; i < o.amount; i++) {
		loop(o.between);
		if (write(t->there[1], &byte, 1) != 1 || read(t->back[0], &byte, 1) != 1)
			err(1, "pipe");
	}
}

static void work_naps(struct thread *t)
{
	(void)t;
	for (uint64_t i = 0; i < o.amount; i++)
		usleep(1);
}

static void *partner_main(void *arg)
{
	struct thread *t = arg;
	char byte;

	while (read(t->there[0], &byte, 1) == 1 && write(t->back[1], &byte, 1) == 1)
		;
	return NULL;
}

static void command(const struct thread *t, const char *word)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%d/ctl", o.contexts, t->index);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, word, strlen(word)) < 0)
		err(1, "%s: %s", path, word);
	close(fd);
}

static void count_begin(const struct thread *t)
{
	char word[32];

	snprintf(word, sizeof(word), "load tid=%d", t->tid);
	command(t, word);
	command(t, "start");
}

/* Once while it counts, for that must work as well. */
static void count_end(struct thread *t)
{
	char path[256], text[32];

	snprintf(path, sizeof(path), "%s/%d/pmd/0", o.contexts, t->index);
	for (int i = 0; i < 2; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

		if (n < 0)
			err(1, "%s", path);
		text[n] = 0;
		close(fd);
		if (i == 0)
			command(t, "stop");
	}
	t->counted = strtoull(text, NULL, 10);
}

static void do_work(struct thread *t)
{
	if (o.contexts)
		count_begin(t);
	sample(&t->begin, true);
	spin(t, o.first);
	o.work(t);
	sample(&t->end, false);
	if (o.contexts)
		count_end(t);
}

static void introduce(struct thread *t)
{
	t->tid = gettid();
	sample(&t->ready, false);
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	introduce(t);
	pthread_barrier_wait(&barrier); /* ready */
	pthread_barrier_wait(&barrier);
	do_work(t);
	pthread_barrier_wait(&barrier); /* done */
	pthread_barrier_wait(&barrier); /* end */
	return NULL;
}

static void prepare(struct thread *t, int index)
{
	t->index = index;
	t->area = fault_area(PORTION);
	if (o.work == work_turns && (pipe(t->there) || pipe(t->back)))
		err(1, "pipe");
}

static void create(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	if (pthread_create(thread, &attr, run, arg))
		errx(1, "no thread");
}

static __attribute__((noreturn)) void *mover_main(void *arg)
{
	struct thread *t = arg;
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0;; usleep(1000)) {
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &all));
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		for (unsigned i = 0; i < o.threads + !o.threads; i++)
			sched_setaffinity(t[i].tid, sizeof(one), &one);
	}
}

static void say_ready(struct thread *t, unsigned n)
{
	pthread_t mover;

	if (o.move)
		create(&mover, mover_main, t);
	for (unsigned i = 0; i < n; i++)
		printf("thread %d %ld\n", t[i].tid, t[i].ready.faults);
	puts("ready");
	fflush(stdout);
}

static void say_done(const struct thread *t, unsigned n)
{
	for (unsigned i = 0; i < n; i++, t++) {
		printf("did %d faults=%ld before=%ld all=%ld cpu_ns=%" PRIu64 " wall_ns=%" PRIu64
		       " switches=%ld",
			t->tid, t->end.faults - t->begin.faults, t->begin.faults - t->ready.faults,
			t->end.faults, t->end.cpu - t->begin.cpu, t->end.wall - t->begin.wall,
			t->end.switches - t->begin.switches);
		if (o.contexts)
			printf(" counted=%" PRIu64, t->counted);
		putchar('\n');
	}
	puts("done");
	fflush(stdout);
}

static void lone(struct thread *t)
{
	introduce(t);
	say_ready(t, 1);
	if (next_line())
		do_work(t);
	say_done(t, 1);
	next_line();
}

static void several(struct thread *t)
{
	pthread_barrier_wait(&barrier);
	say_ready(t, o.threads);
	if (!next_line())
		exit(1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	say_done(t, o.threads);
	next_line();
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < o.threads; i++)
		pthread_join(t[i].thread, NULL);
}

static bool set_kind(const char *name)
{
	static const struct {
		const char *name;
		void (*work)(struct thread *t);
	} kinds[] = {
		{"faults", work_faults},
		{"cpu", work_cpu},
		{"yields", work_yields},
		{"turns", work_turns},
		{"naps", work_naps},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			o.work = kinds[i].work;
	return o.work;
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:c:mb:w:x:")) != -1) {
		if (c == 't')
			o.threads = (unsigned)atoi(optarg);
		else if (c == 'c')
			o.cpu = atoi(optarg);
		else if (c == 'm')
			o.move = true;
		else if (c == 'b')
			o.first = strtoull(optarg, NULL, 0);
		else if (c == 'w')
			o.between = strtoull(optarg, NULL, 0);
		else if (c == 'x')
			o.contexts = optarg;
		else
			exit(2);
	}
	if (argc - optind != 2 || !set_kind(argv[optind]))
		errx(2, "usage: subject [-t THREADS] [-c CPU] [-m] [-b MS] [-w N] [-x DIR] KIND "
			"AMOUNT");
	o.amount = strtoull(argv[optind + 1], NULL, 0);
}

int main(int argc, char **argv)
{
	struct thread *t;

	parse(argc, argv);
	end_with_parent();
	if (o.cpu >= 0)
		pin((unsigned)o.cpu);
	/* Stacks and all the rest are there before they are used; only the areas are not. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		err(1, "mlockall");
	t = calloc(o.threads + 1, sizeof(*t));
	if (!t)
		err(1, "memory");
	pthread_barrier_init(&barrier, NULL, o.threads + 1);
	for (unsigned i = 0; i < o.threads + !o.threads; i++) {
		prepare(&t[i], (int)i);
		if (o.threads)
			create(&t[i].thread, thread_main, &t[i]);
		if (o.work == work_turns)
			create(&t[i].partner, partner_main, &t[i]);
	}
	o.threads ? several(t) : lone(t);
	return 0;
}

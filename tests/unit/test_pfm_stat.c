// SPDX-License-Identifier: MIT
/* What pfm stat derives from counts. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/unit.h"
#include "tools/pfm/stat/counts.h"
#include "tools/pfm/stat/loss.h"
#include "tools/pfm/stat/row.h"
#include "tools/pfm/stat/tally.h"
#include "tools/pfm/stat/threads.h"

/* Instructions and cycles at two levels, branches, and a clock. */
static struct plan six(void)
{
	static const char *const names[] = {
		"instructions", "cycles", "instructions:u", "cycles:u", "branches", "task-clock"};
	struct plan p = {.n = 6, .nsets = 1, .only = -1};

	for (unsigned i = 0; i < p.n; i++) {
		strcpy(p.events[i].name, names[i]);
		p.events[i].level = strchr(names[i], ':') ? EVENT_USER : EVENT_USER | EVENT_KERNEL;
	}
	return p;
}

TEST(metrics)
{
	struct plan p = six();
	/* Of two CPUs */
	struct reading r = {
		.values = {100, 50, 30, 10, 7, 500000}, .places = 2, .counted_ns = 2000000};
	struct counts c;
	struct metric m;

	counts_of(&c, &p, &r, 1);
	assert_true(metric_of(&m, &c, &p, 0));
	assert_string_equal(m.name, "ipc");
	assert_true(m.value == 2);
	/* The same level */
	assert_true(metric_of(&m, &c, &p, 2));
	assert_true(m.value == 3);
	/* A rate a second */
	assert_true(metric_of(&m, &c, &p, 4));
	assert_null(m.name);
	assert_true(m.value == 7000);
	assert_true(metric_of(&m, &c, &p, 5));
	assert_string_equal(m.name, "cpus-utilized");
	assert_true(m.value == 0.5);
	/* The times of another moment */
	r.torn = true;
	counts_of(&c, &p, &r, 1);
	assert_false(metric_of(&m, &c, &p, 4));
	/* Of no place */
	r = (struct reading){.values = {100, 50, 30, 10, 7, 500000}};
	counts_of(&c, &p, &r, 1000000);
	assert_true(metric_of(&m, &c, &p, 4));
	assert_true(m.value == 7000);
	counts_of(&c, &p, &r, 0);
	assert_false(metric_of(&m, &c, &p, 4));
}

TEST(metrics_of_lost_counts)
{
	struct plan p = six();
	struct reading r = {.values = {100, 50, 30, 0, 7, 500000}};
	struct counts c;
	struct metric m;
	struct err e;

	err_set(&e, EIO, "lost");
	r.lost[1] = loss_keep(&e);
	e.no = ENXIO;
	assert_int_equal(r.lost[1]->no, EIO);
	assert_ptr_not_equal(loss_keep(&e), r.lost[1]);
	assert_ptr_equal(loss_keep(&e), loss_keep(&e));
	counts_of(&c, &p, &r, 1000000);
	assert_false(metric_of(&m, &c, &p, 1));
	assert_true(metric_of(&m, &c, &p, 0));
	assert_null(m.name);
	/* No division by zero */
	assert_true(metric_of(&m, &c, &p, 2));
	assert_null(m.name);
}

TEST(event_sets)
{
	struct plan p = six();
	struct reading r = {.values = {100, 50, 30, 10, 7, 9}, .active_ns = {3, 1, 0}};
	struct counts c;

	p.nsets = 3;
	p.sets[1] = 1;
	p.sets[2] = 2;
	counts_of(&c, &p, &r, 1000000);
	assert_int_equal(c.all[0].value, 133);
	assert_true(c.all[0].active == 0.75);
	assert_int_equal(c.all[1].value, 200);
	/* Not measured is no number. */
	assert_int_equal(c.all[2].lost->no, ENODATA);
	/* One set in each run: nothing is estimated. */
	p.only = 1;
	counts_of(&c, &p, &r, 1000000);
	assert_false(c.all[0].counted);
	assert_true(c.all[1].counted);
	assert_int_equal(c.all[1].value, 50);
	assert_true(c.all[1].active == 1);
}

static void row_is(const struct row *row, bool csv, const char *expected)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	if (csv)
		row_csv(f, ',', 0, row);
	else
		row_json(f, row);
	fclose(f);
	assert_string_equal(text, expected);
	free(text);
}

TEST(rows)
{
	struct row row = {.event = "minor-faults",
		.value = 102400,
		.level = EVENT_USER | EVENT_KERNEL,
		.active = 1,
		.cpu = -1,
		.tid = 4711,
		.core = -1,
		.socket = -1,
		.time_ns = 812345678,
		.run = 1};

	row_is(&row, false,
		"{\"schema\":1,\"event\":\"minor-faults\",\"value\":102400,\"unit\":null,"
		"\"level\":\"uk\",\"active\":1.0000,\"cpu\":null,\"tid\":4711,\"lost\":null,"
		"\"time_ns\":812345678,\"run\":1}\n");
	row_is(&row, true, "event,minor-faults,102400,,uk,1.0000,,4711,,812345678,1\n");
	row.lost = "a \"b\", c";
	row_is(&row, false,
		"{\"schema\":1,\"event\":\"minor-faults\",\"value\":null,\"unit\":null,"
		"\"level\":\"uk\",\"active\":1.0000,\"cpu\":null,\"tid\":4711,"
		"\"lost\":\"a \\\"b\\\", c\",\"time_ns\":812345678,\"run\":1}\n");
	row_is(&row, true, "event,minor-faults,,,uk,1.0000,,4711,\"a \"\"b\"\", c\",812345678,1\n");
}

TEST(rows_of_metrics)
{
	struct row row = {.metric = "ipc",
		.number = 0.0 / 0.0,
		.active = 1,
		.cpu = 3,
		.tid = -1,
		.core = -1,
		.socket = -1,
		.run = 2};

	row_is(&row, true, "metric,ipc,,,,1.0000,3,,,0,2\n");
	row.number = 1.5;
	row_is(&row, true, "metric,ipc,1.5,,,1.0000,3,,,0,2\n");
}

/* --- Threads. A context is a directory with the files that pfm reads of it. */

static void put_file(int dir, const char *name, const char *text)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Of the thread @name in @parent, which counts @value by pmd0, with as many gaps. */
static int make_context(int parent, const char *name, unsigned value)
{
	static const char *const dirs[] = {"children", "set", "set/0"};
	char text[128];
	int dir;

	assert_true(mkdirat(parent, name, 0700) == 0);
	dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	for (unsigned i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		assert_true(mkdirat(dir, dirs[i], 0700) == 0);
	snprintf(text, sizeof(text),
		"pmd0 %u gaps=%u uncertain=5000000000\nactive_ns 1\nelapsed_ns 2\n", value, value);
	put_file(dir, "total", text);
	snprintf(text, sizeof(text),
		"pmc0 0x00\npmd0 %u short=-5 gaps=%u uncertain=5000000000\npmd261 7\n", value,
		value);
	put_file(dir, "set/0/regs", text);
	return dir;
}

static void remove_tree(const char *path)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", path);
	assert_true(system(command) == 0);
}

static unsigned takes(struct tallies *t, int tid, ino_t context, uint64_t began)
{
	static const struct plan p = {.n = 1, .nsets = 1, .only = -1};
	struct scope scope = {.kind = SCOPE_THREAD, .id = tid, .context = context, .began = began};
	struct counts c = {.all[0] = {.value = 1, .counted = true}};
	struct err e;

	assert_int_equal(tallies_take(t, &scope, &c, &p, 1, 2, &e), 0);
	return t->n;
}

/* A thread takes at most 8 KiB in one run of a measurement. */
TEST(memory_of_a_thread)
{
	size_t runs = (EVENT_MAX + GROUP_METRICS + 1) * sizeof(double);

	assert_true(sizeof(struct thread_counts) + sizeof(struct tally) + runs < 8192);
}

/* In a second run, each thread has a new context. */
TEST(threads_of_two_runs)
{
	struct thread_counts known = {.tid = getpid()};
	struct thread_counts *all[] = {&known};
	struct threads found = {all, 1};
	struct tallies t = {0};

	tallies_pass(&t);
	assert_int_equal(takes(&t, 100, 1, 50), 1);
	assert_int_equal(takes(&t, 100, 2, 50), 2); /* of the same clock tick */
	assert_int_equal(takes(&t, 101, 3, 50), 3);
	assert_int_equal(takes(&t, 102, 4, 0), 4); /* has ended */
	tallies_pass(&t);
	assert_int_equal(takes(&t, 100, 5, 50), 4);
	assert_int_equal(takes(&t, 100, 6, 51), 5); /* its number was used again */
	assert_int_equal(takes(&t, 101, 7, 50), 5);
	assert_int_equal(takes(&t, 102, 8, 0), 6);
	tallies_free(&t);
	assert_true(threads_began(getpid()) > threads_began(1));
	assert_int_equal(threads_began(INT_MAX), 0);
	threads_find_began(&found);
	known.ended = true;
	threads_keep_began(&found);
	assert_false(known.sure);
	known.ended = false;
	threads_keep_began(&found);
	assert_true(known.sure);
	known.ended = true;
	known.tid = INT_MAX;
	threads_find_began(&found);
	threads_keep_began(&found);
	assert_true(known.sure);
	assert_int_equal(known.began, threads_began(getpid()));
}

/* Lines of a context that counts a process; the number of its second thread is used again. */
TEST(threads_of_one_context)
{
	static const struct pfm_pmu pmu = {
		.counters = {{.n = 1, .nums = {0}}, {.n = 1, .nums = {3}}}};
	struct plan p = {.n = 2, .nsets = 1, .only = -1, .pmu = &pmu, .places = {{0}, {1}}};
	char path[] = "/tmp/pfm-stat.XXXXXX";
	struct threads threads = {0};
	struct err e;

	assert_non_null(mkdtemp(path));
	CLEANUP_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_file(dir, "threads",
		"tid=5 pmd0 1 pmd3 2\ntid=7 ended pmd0 30 pmd3 lost\ntid=7 pmd0 5 pmd3 6\n");
	for (int i = 0; i < 2; i++)
		assert_int_equal(threads_read_lines(&threads, &p, dir, &e), 0);
	assert_int_equal(threads.n, 3);
	assert_int_equal(threads.all[0]->now.values[1], 2);
	assert_int_equal(threads.all[1]->tid, 7);
	assert_true(threads.all[1]->ended && !threads.all[2]->ended);
	assert_int_equal(threads.all[1]->now.values[0], 30);
	assert_true(!threads.all[1]->now.lost[0] && threads.all[1]->now.lost[1]);
	assert_int_equal(threads.all[2]->now.values[0], 5);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const bad[] = {"7 pmd0 1\n", "tid=7 pmd0\n", "tid=7 0 1\n"};

		assert_int_equal(unlinkat(dir, "threads", 0), 0);
		put_file(dir, "threads", bad[i]);
		assert_int_equal(threads_read_lines(&threads, &p, dir, &e), -EPROTO);
	}
	threads_free(&threads);
	remove_tree(path);
}

/* The daemon names the context of a thread that has the number of an earlier one TID.1. */
TEST(threads_of_one_number)
{
	static const struct pfm_pmu pmu = {.counters[0].n = 1};
	struct plan p = {.n = 1, .nsets = 1, .only = -1, .pmu = &pmu};
	char path[] = "/tmp/pfm-stat.XXXXXX";
	struct threads threads = {0};
	struct tallies tallies = {0};
	uint64_t sum = 0;
	struct err e;

	assert_non_null(mkdtemp(path));
	CLEANUP_CLOSE int top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSE int parent = make_context(top, "99", 1);
	CLEANUP_CLOSE int list = openat(parent, "children", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(make_context(list, "100", 10));
	close(make_context(list, "100.1", 200));

	for (int i = 0; i < 2; i++)
		assert_int_equal(threads_read(&threads, &p, parent, 99, &e), 0);
	assert_int_equal(threads.n, 3);
	for (unsigned i = 0; i < threads.n; i++) {
		const struct thread_counts *t = threads.all[i];
		struct scope scope = {.kind = SCOPE_THREAD, .id = t->tid, .context = t->context};
		struct counts c;

		assert_int_equal(t->tid, t->now.values[0] == 1 ? 99 : 100);
		assert_int_equal(t->now.gaps, t->now.values[0]);
		assert_int_equal(t->now.uncertain_ns, 5000000000);
		counts_of(&c, &p, &t->now, 1);
		assert_int_equal(tallies_take(&tallies, &scope, &c, &p, 1, 1, &e), 0);
	}
	assert_int_equal(tallies.n, 3);
	for (unsigned i = 0; i < tallies.n; i++)
		sum += tallies.all[i]->counts.all[0].value;
	assert_int_equal(sum, 211);
	tallies_free(&tallies);
	threads_free(&threads);
	remove_tree(path);
}

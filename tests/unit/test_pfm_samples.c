// SPDX-License-Identifier: MIT
/* Sample files: written, read, broken, and what pfm report makes of them. */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "tests/unit/unit.h"
#include "tools/pfm/samples/bounded.h"
#include "tools/pfm/samples/build_id.h"
#include "tools/pfm/samples/code.h"
#include "tools/pfm/samples/data.h"
#include "tools/pfm/samples/demangle.h"
#include "tools/pfm/samples/find_dumps.h"
#include "tools/pfm/samples/find_names.h"
#include "tools/pfm/samples/kcore.h"
#include "tools/pfm/samples/mapped_file.h"
#include "tools/pfm/samples/pieces.h"
#include "tools/pfm/text/names.h"
#include "tools/pfm/samples/proc_maps.h"
#include "tools/pfm/samples/protobuf.h"
#include "tools/pfm/samples/recording.h"
#include "tools/pfm/samples/regular.h"
#include "tools/pfm/samples/reports.h"
#include "tools/pfm/samples/source.h"
#include "tools/pfm/samples/track.h"

static char path[] = "/tmp/test_pfm_samples.XXXXXX";
static struct data_writer w;
static struct recording r;
static struct err e;

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

/* --- A file to be */

static void begin_with(const char *info)
{
	const struct data_event event = {.period = 1000, .code = 7};

	assert_int_equal(data_create(&w, path, &e), 0);
	assert_int_equal(data_put(&w, DATA_INFO, NULL, 0, info, &e), 0);
	assert_int_equal(data_put(&w, DATA_EVENT, &event, offsetof(struct data_event, name),
				 "task-clock", &e),
		0);
}

static void begin(void)
{
	begin_with("command x & y\naddresses poll\n");
}

static void comm(uint64_t time, uint32_t pid, const char *name, bool exec)
{
	const struct data_comm c = {.time = time, .pid = pid, .tid = pid, .exec = exec};

	assert_int_equal(
		data_put(&w, DATA_COMM, &c, offsetof(struct data_comm, name), name, &e), 0);
}

static void map(uint64_t time, uint32_t pid, uint64_t addr, uint64_t len, const char *name)
{
	const struct data_map m = {.time = time, .addr = addr, .len = len, .pid = pid};

	assert_int_equal(data_put(&w, DATA_MAP, &m, offsetof(struct data_map, name), name, &e), 0);
}

enum { SAMPLE_SIZE = sizeof(struct data_rec) + sizeof(struct data_sample) };

static void sample(uint64_t time, uint32_t pid, uint64_t ip, uint64_t weight)
{
	const struct data_sample s = {
		.time = time, .weight = weight, .pid = pid, .tid = pid, .nframes = 1, .ip = {ip}};

	assert_int_equal(data_put(&w, DATA_SAMPLE, &s, sizeof(s), NULL, &e), 0);
}

enum { STACK_MAX = 300 };
static uint16_t stack_event; /* of stacks that are put next */

/* A sample with @n frames. */
static void stack(uint64_t time, uint32_t flags, const uint64_t *frames, uint16_t n)
{
	struct {
		struct data_stack s;
		uint64_t frames[STACK_MAX];
	} st = {.s = {.time = time,
			.weight = 1,
			.pid = 10,
			.tid = 10,
			.nframes = n,
			.event = stack_event,
			.flags = flags}};

	assert_true(n <= STACK_MAX);
	if (n)
		memcpy(st.frames, frames, n * sizeof(*frames));
	assert_int_equal(
		data_put(&w, DATA_STACK, &st, sizeof(st.s) + n * sizeof(*frames), NULL, &e), 0);
}

static void lost(uint32_t kind, const char *text)
{
	const struct data_lost l = {.count = 1, .kind = kind};

	assert_int_equal(data_put(&w, DATA_LOST, &l, offsetof(struct data_lost, why), text, &e), 0);
}

static void thread_exit(uint64_t time, uint32_t tid)
{
	const struct data_exit x = {.time = time, .pid = tid, .tid = tid};

	assert_int_equal(data_put(&w, DATA_EXIT, &x, sizeof(x), NULL, &e), 0);
}

static void finish(void)
{
	assert_int_equal(data_flush(&w, &e), 0);
	assert_int_equal(data_close(&w, &e), 0);
}

static void end(void)
{
	const struct data_end last = {9};

	assert_int_equal(data_put(&w, DATA_END, &last, sizeof(last), NULL, &e), 0);
	finish();
}

static void open_recording(unsigned names)
{
	if (recording_open(&r, path, names, &e) < 0)
		fail_msg("%s", e.text);
}

/* --- What is made of it */

/* Fills @out with what @write writes. */
static void written(
	int (*write)(const struct recording *, FILE *, struct err *), char *out, size_t room)
{
	FILE *f = fmemopen(out, room, "w");

	assert_non_null(f);
	assert_int_equal(write(&r, f, &e), 0);
	assert_int_equal(fclose(f), 0);
}

static int write_flat(const struct recording *of, FILE *out, struct err *err)
{
	struct flat_keys keys;

	assert_int_equal(flat_parse_keys(&keys, "command,object,function", err), 0);
	return flat_write(of, &keys, 0, out, err);
}

static int write_flamegraph(const struct recording *of, FILE *to, struct err *err)
{
	return flamegraph_write(of, 0, to, err);
}

static void assert_contains(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("'%s' is not in:\n%s", what, text);
}

static void assert_lacks(const char *text, const char *what)
{
	if (strstr(text, what))
		fail_msg("'%s' is in:\n%s", what, text);
}

static char out[65536];

TEST(flat)
{
	begin();
	comm(1, 10, "prog", false);
	map(1, 10, 0x1000, 0x1000, "/nowhere/lib.so");
	sample(2, 10, 0x1234, 3);
	sample(3, 10, 0x1234, 2);
	sample(4, 10, 0x5000, 5);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_int_equal(r.weight, 10);
	assert_int_equal(r.nsamples, 3);
	assert_true(r.ended);
	written(write_flat, out, sizeof(out));
	assert_contains(out, " 50.00%           5  prog     lib.so     0x234\n");
	assert_contains(out, " 50.00%           5  prog     [unknown]  0x5000\n");
	recording_close(&r);
}

/* How often @what is in @text. */
static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

TEST(page_escapes_names)
{
	begin();
	comm(1, 10, "</script><b>", false);
	map(1, 10, 0x1000, 0x1000, "/nowhere/<!--<script>\x01\".so");
	sample(2, 10, 0x1234, 3);
	end();
	open_recording(RECORDING_ADDRESSES);
	written(html_write, out, sizeof(out));
	assert_int_equal(count(out, "<script"), 2);
	assert_int_equal(count(out, "</script"), 2);
	assert_int_equal(count(out, "<!--"), 1);
	assert_contains(out, "\"\\u003c/script>\\u003cb>\"");
	assert_contains(out, "\"\\u003c!--\\u003cscript>?\\\".so\"");
	recording_close(&r);
}

/* Functions of the same name are shown with their own objects. */
TEST(page_of_objects)
{
	begin();
	comm(1, 10, "prog", false);
	map(1, 10, 0x1000, 0x1000, "/nowhere/one.so");
	map(1, 10, 0x3000, 0x1000, "/nowhere/two.so");
	sample(2, 10, 0x1234, 3);
	sample(3, 10, 0x3234, 5);
	end();
	open_recording(RECORDING_ADDRESSES);
	written(html_write, out, sizeof(out));
	assert_contains(out, "\"objects\":[\"one.so\",\"two.so\"]");
	assert_contains(out, "\"0x234\",0,0,\"0x234\",1,0]");
	written(folded_write, out, sizeof(out));
	assert_string_equal(out, "prog;0x234 8\n");
	recording_close(&r);
}

/* The time line has the time that was sampled. */
TEST(page_of_idle_time)
{
	begin_with("start_ns 1\n");
	comm(1, 10, "prog", false);
	sample(3, 10, 0x1234, 1);
	sample(4, 10, 0x1234, 1);
	end();
	open_recording(RECORDING_ADDRESSES);
	written(html_write, out, sizeof(out));
	assert_contains(out, "\"span\":8,");
	recording_close(&r);
	begin();
	sample(3, 10, 0x1234, 1);
	sample(4, 10, 0x1234, 1);
	end();
	open_recording(RECORDING_ADDRESSES);
	written(html_write, out, sizeof(out));
	assert_contains(out, "\"span\":1,");
	recording_close(&r);
}

static struct recording before_r;

/* A recording of 100 samples with @weight, of which @b are in the second of two functions. */
static void two_functions(struct recording *to, unsigned b, unsigned weight)
{
	begin();
	comm(1, 10, "prog", false);
	map(1, 10, 0x1000, 0x1000, "/nowhere/lib.so");
	for (unsigned i = 0; i < 100; i++)
		sample(2 + i, 10, i < b ? 0x1200 : 0x1100, weight);
	end();
	assert_int_equal(recording_open(to, path, RECORDING_ADDRESSES, &e), 0);
}

static void diff_written(int (*write)(const struct recording *const of[2], FILE *, struct err *),
	char *to, size_t room)
{
	const struct recording *const both[2] = {&before_r, &r};
	FILE *f = fmemopen(to, room, "w");

	assert_non_null(f);
	assert_int_equal(write(both, f, &e), 0);
	assert_int_equal(fclose(f), 0);
}

static int write_diff(const struct recording *const of[2], FILE *to, struct err *err)
{
	return diff_write(of, 0, to, err);
}

/* Two standard deviations: 200 * sqrt(0.1 * 0.9 / 100 + 0.4 * 0.6 / 100) = 11.49 points */
TEST(diff)
{
	two_functions(&before_r, 10, 1);
	two_functions(&r, 40, 1);
	diff_written(write_diff, out, sizeof(out));
	assert_contains(out, " 10.00%   40.00%   +30.00*   11.49   lib.so  0x200\n");
	assert_contains(out, " 90.00%   60.00%   -30.00*   11.49   lib.so  0x100\n");
	diff_written(folded_write_diff, out, sizeof(out));
	assert_contains(out, "prog;0x100 90 60\n");
	assert_contains(out, "prog;0x200 10 40\n");
	diff_written(flamegraph_write_diff, out, sizeof(out));
	assert_contains(out, "0x200 (lib.so), +30.00 points, 40.00 %, 40 overflows</title>");
	assert_contains(out, "0x100 (lib.so), -30.00 points, 60.00 %, 60 overflows</title>");
	assert_contains(out, "all, +0.00 points, 100.00 %, 100 overflows</title>");
	recording_close(&r);
	recording_close(&before_r);
}

TEST(diff_within_noise)
{
	two_functions(&before_r, 10, 1);
	two_functions(&r, 12, 1);
	diff_written(write_diff, out, sizeof(out));
	assert_contains(out, " 10.00%   12.00%    +2.00 ");
	assert_lacks(out, "*");
	recording_close(&r);
	recording_close(&before_r);
}

/* Of a recording that was three times as long, stacks have a third. */
TEST(diff_is_scaled)
{
	two_functions(&before_r, 10, 3);
	two_functions(&r, 40, 1);
	diff_written(folded_write_diff, out, sizeof(out));
	assert_string_equal(out, "prog;0x100 90 60\nprog;0x200 10 40\n");
	recording_close(&r);
	recording_close(&before_r);
}

/* A function without samples in one of the recordings, and a recording without any. */
TEST(diff_of_nothing)
{
	two_functions(&before_r, 0, 1);
	begin();
	end();
	open_recording(RECORDING_ADDRESSES);
	diff_written(write_diff, out, sizeof(out));
	assert_contains(out, "100.00%    0.00%  -100.00");
	diff_written(folded_write_diff, out, sizeof(out));
	assert_string_equal(out, "prog;0x100 0 0\n");
	diff_written(flamegraph_write_diff, out, sizeof(out));
	recording_close(&r);
	recording_close(&before_r);
}

/* Buffers of two threads are read one after the other. */
TEST(time_orders_records)
{
	begin();
	sample(30, 10, 0x1100, 1);
	map(20, 10, 0x1000, 0x1000, "/b");
	sample(10, 10, 0x1100, 1);
	map(5, 10, 0x1000, 0x1000, "/a");
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_string_equal(location_object(recording_first(&r, &r.samples[0])), "a");
	assert_string_equal(location_object(recording_first(&r, &r.samples[1])), "b");
	recording_close(&r);
}

/* Samples with the same addresses have the same stack, and each has its thread's name. */
TEST(stacks_are_kept_once)
{
	enum { SAMPLES = 5000 };

	begin();
	comm(1, 10, "prog", false);
	map(1, 10, 0x1000, 0x100000, "/a");
	for (uint64_t i = 0; i < SAMPLES; i++)
		sample(2 + i, 10, 0x1000 + i % 1000, 1);
	comm(SAMPLES + 2, 10, "other", false);
	sample(SAMPLES + 3, 10, 0x1001, 1);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_int_equal(r.nsamples, SAMPLES + 1);
	assert_true(r.ended);
	assert_int_equal(r.stacks.index.n, 1000);
	assert_string_equal(recording_thread(&r, &r.samples[SAMPLES - 1])->comm, "prog");
	assert_string_equal(recording_thread(&r, &r.samples[SAMPLES])->comm, "other");
	assert_ptr_equal(
		recording_first(&r, &r.samples[1]), recording_first(&r, &r.samples[SAMPLES]));
	assert_int_equal(recording_first(&r, &r.samples[SAMPLES])->offset, 1);
	recording_close(&r);
}

TEST(exec_ends_mappings)
{
	begin();
	map(1, 10, 0x1000, 0x1000, "/a");
	comm(2, 10, "new", true);
	map(2, 10, 0x3000, 0x1000, "/b");
	sample(3, 10, 0x1100, 1);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_string_equal(location_object(recording_first(&r, &r.samples[0])), "[unknown]");
	assert_string_equal(recording_thread(&r, &r.samples[0])->comm, "new");
	recording_close(&r);
}

/* Process 11 has been forked, and has ended before its mappings were read. */
TEST(forked_process)
{
	begin();
	comm(1, 10, "parent", false);
	map(1, 10, 0x1000, 0x1000, "/a");
	map(1, 10, 0x3000, 0x1000, "/c");
	map(1, 12, 0x1000, 0x1000, "/a");
	map(1, 12, 0x3000, 0x1000, "/d");
	sample(2, 11, 0x3100, 1);
	sample(3, 11, 0x1100, 1);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_string_equal(location_object(recording_first(&r, &r.samples[0])), "[unknown]");
	assert_string_equal(location_object(recording_first(&r, &r.samples[1])), "a");
	recording_close(&r);
}

TEST(losses_are_shown)
{
	begin();
	lost(DATA_LOST_COUNT, "some reason");
	lost(DATA_LOST_COUNT, "some reason");
	lost(DATA_LOST_OVERFLOWS, "");
	finish();
	open_recording(RECORDING_ADDRESSES);
	assert_false(r.ended);
	written(write_flat, out, sizeof(out));
	assert_contains(out, "lost: 2 ");
	assert_contains(out, "some reason");
	assert_contains(out, "lost: 1 ");
	assert_contains(out, "no end");
	recording_close(&r);
}

/* How exact the addresses are is what the buffers have said, which may be both. */
TEST(head)
{
	begin();
	assert_int_equal(
		data_put(&w, DATA_INFO, NULL, 0, "addresses interrupt\nskew_ns 0\n", &e), 0);
	lost(DATA_LOST_DROPPED, "no room");
	lost(DATA_LOST_THROTTLED, "too many");
	end();
	open_recording(RECORDING_ADDRESSES);
	written(write_flat, out, sizeof(out));
	assert_contains(out, "# addresses: of the overflow's interrupt");
	assert_contains(out, "# addresses: found by polling; the shares are right\n");
	assert_contains(
		out, "# lost: 1 samples were dropped, the next ones stand for them: no room\n");
	assert_contains(out, "# lost: 1 pauses because of too many overflows a second: too many\n");
	assert_contains(out, "# 0 overflows in 0 samples\n");
	recording_close(&r);
}

/* What has less than the limit is in no text. */
TEST(limit)
{
	const struct tree_options options = {.at_least = 30};
	FILE *f = fmemopen(out, sizeof(out), "w");
	struct flat_keys keys;

	begin();
	map(1, 10, 0x1000, 0x1000, "/a");
	sample(2, 10, 0x1111, 7);
	sample(3, 10, 0x1222, 3);
	sample(4, 10, 0x1333, 1);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_non_null(f);
	assert_int_equal(flat_parse_keys(&keys, "function", &e), 0);
	assert_int_equal(flat_write(&r, &keys, 20, f, &e), 0);
	assert_int_equal(tree_write(&r, &options, f, &e), 0);
	assert_int_equal(flamegraph_write(&r, 50, f, &e), 0);
	assert_int_equal(fclose(f), 0);
	assert_contains(out, " 27.27%           3  0x222\n");
	assert_contains(out, "  63.64%  63.64%    0x111\n");
	assert_contains(out, "<title>0x111 (a), 63.64 %, 7 overflows</title>");
	assert_lacks(out, "0x333");
	assert_lacks(out, "27.27%  27.27%");
	assert_lacks(out, "<title>0x222");
	recording_close(&r);
}

/* A number that is used again is another process: with other mappings and another name, and a row
 * of its own in the viewer. What the kernel does at its end still belongs to the first. */
TEST(number_used_again)
{
	begin();
	comm(1, 10, "first", true);
	map(1, 10, 0x1000, 0x1000, "/a");
	sample(2, 10, 0x1111, 7);
	thread_exit(3, 10);
	sample(4, 10, 0xffffffff81000000, 2);
	sample(5, 10, 0x1111, 3);
	comm(6, 10, "second", true);
	sample(7, 10, 0x1111, 4);
	thread_exit(8, 10);
	comm(9, 10, "third", false);
	sample(10, 10, 0xffffffff81000000, 5);
	end();
	open_recording(RECORDING_ADDRESSES);
	written(firefox_write, out, sizeof(out));
	assert_contains(out, "\"name\":\"first\",\"processName\":\"first\",\"isMainThread\":true,"
			     "\"pid\":\"10\",\"tid\":\"10\"");
	assert_contains(out, "\"weight\":[7,2]");
	assert_contains(out, "\"name\":\"second\",\"processName\":\"second\",\"isMainThread\":"
			     "true,\"pid\":\"10.1\",\"tid\":\"10.1\"");
	assert_contains(out, "\"weight\":[3,4]");
	assert_contains(out, "\"pid\":\"10.2\"");
	assert_contains(out, "\"weight\":[5]");
	written(folded_write, out, sizeof(out));
	assert_contains(out, "first;0x111 7\n");
	assert_contains(out, "[unknown];[unknown] 3\n");
	assert_contains(out, "second;[unknown] 4\n");
	recording_close(&r);
}

TEST(names_cannot_do_harm)
{
	begin();
	comm(1, 10, "a\x1b[2J;\"<&\n\xff", false);
	map(1, 10, 0x1000, 0x1000, "/b\n<\x07>;\xc3\xa9");
	sample(2, 10, 0x1100, 1);
	end();
	open_recording(RECORDING_DEFAULT);
	written(write_flat, out, sizeof(out));
	assert_lacks(out, "\x1b");
	assert_contains(out, "b?<?>;\xc3\xa9");
	written(folded_write, out, sizeof(out));
	assert_contains(out, "a?[2J:\"<&??;0x100 1\n");
	written(write_flamegraph, out, sizeof(out));
	assert_contains(out, "a?[2J;&quot;&lt;&amp;??");
	assert_lacks(out, "\"<&");
	written(perf_script_write, out, sizeof(out));
	assert_lacks(out, "\x1b");
	written(firefox_write, out, sizeof(out));
	assert_contains(out, "a?[2J;\\\"<&??");
	recording_close(&r);
}

/* --- Stored names */

static void strings(const char *text, size_t n, uint32_t count)
{
	struct {
		struct data_strings head;
		char text[256];
	} s = {.head = {.n = count}};

	memcpy(s.text, text, n);
	assert_int_equal(data_put(&w, DATA_STRINGS, &s, sizeof(s.head) + n, NULL, &e), 0);
}

static void object(const struct data_object *o, const char *name)
{
	assert_int_equal(
		data_put(&w, DATA_OBJECT, o, offsetof(struct data_object, name), name, &e), 0);
}

static void places(uint32_t of, const struct data_place *all, uint32_t n)
{
	struct {
		struct data_places head;
		struct data_place all[DATA_INLINED_MAX];
	} p = {.head = {of, n}};

	assert_in_range(n, 1, DATA_INLINED_MAX);
	memcpy(p.all, all, n * sizeof(*all));
	assert_int_equal(
		data_put(&w, DATA_PLACES, &p, sizeof(p.head) + n * sizeof(*all), NULL, &e), 0);
}

static const char some_strings[] = "\0inner\0outer\0a.c\0/src\0sys_\x1b[2J\0none\0jit";
enum { INNER = 1, OUTER, A_C, SRC, SYS, NONE, JIT, SOME_STRINGS };

/* A file, the kernel, code that a process has made, and a file without names. */
static void begin_named(void)
{
	const struct data_place at[] = {
		{.offset = 0x100,
			.address = 0x1100,
			.function = INNER,
			.file = A_C,
			.dir = SRC,
			.line = 7,
			.inlined = 1},
		{.offset = 0x100,
			.address = 0x1100,
			.function = OUTER,
			.function_offset = 16,
			.file = A_C,
			.dir = SRC,
			.line = 9},
	};

	begin();
	strings(some_strings, sizeof(some_strings), SOME_STRINGS);
	object(&(struct data_object){.flags = 0}, "/a");
	places(0, at, 2);
	object(&(struct data_object){.flags = DATA_OBJECT_KERNEL}, "[kernel]");
	places(1, &(struct data_place){.offset = 0xffffffff81000000, .function = SYS}, 1);
	object(&(struct data_object){.flags = DATA_OBJECT_PROCESS, .pid = 10, .life = 1},
		"/tmp/perf-10.map");
	places(2, &(struct data_place){.offset = 0x5000, .function = JIT}, 1);
	object(&(struct data_object){.why = NONE}, "/b");
	places(3, &(struct data_place){.offset = 0x200, .address = 0x1200}, 1);
	map(1, 10, 0x1000, 0x1000, "/a");
	map(1, 10, 0x5000, 0x1000, "//anon");
	map(1, 10, 0x7000, 0x1000, "/b");
}

TEST(stored_names)
{
	begin_named();
	sample(2, 10, 0x1100, 4);
	sample(3, 10, 0xffffffff81000000, 3);
	sample(4, 10, 0x7200, 2);
	sample(5, 10, 0x5000, 1);
	end();
	open_recording(RECORDING_DEFAULT | RECORDING_LINES);
	written(write_flat, out, sizeof(out));
	assert_contains(out, "  a         inner\n");
	assert_contains(out, "  [kernel]  sys_?[2J\n");
	assert_contains(out, "  b         0x1200\n");
	assert_contains(out, "# addresses instead of names: none (1 samples)\n");
	/* The stored code was made by a later process with this number. */
	assert_contains(out, "  anon      [unknown]\n");
	written(folded_write, out, sizeof(out));
	assert_contains(out, "outer a.c:9;inner a.c:7_[i] 4\n");
	recording_close(&r);
	open_recording(RECORDING_SYMBOLS);
	assert_string_equal(recording_first(&r, &r.samples[0])->function, "outer");
	assert_int_equal(recording_first(&r, &r.samples[0])->function_offset, 16);
	assert_int_equal(recording_first(&r, &r.samples[0])->line.line, 7);
	recording_close(&r);
	open_recording(RECORDING_ADDRESSES);
	written(write_flat, out, sizeof(out));
	assert_contains(out, "  a         0x100\n");
	recording_close(&r);
}

TEST(stored_names_of_made_code)
{
	begin_named();
	thread_exit(2, 10);
	sample(3, 10, 0x1100, 1);
	map(4, 10, 0x5000, 0x1000, "//anon");
	sample(5, 10, 0x5000, 1);
	end();
	open_recording(RECORDING_DEFAULT);
	assert_null(recording_first(&r, &r.samples[0])->function);
	assert_string_equal(recording_first(&r, &r.samples[1])->function, "jit");
	assert_string_equal(location_object(recording_first(&r, &r.samples[1])), "perf-10.map");
	recording_close(&r);
}

static void named_refused(void (*put)(void))
{
	begin_named();
	put();
	end();
	assert_int_equal(recording_open(&r, path, RECORDING_DEFAULT, &e), -EINVAL);
	assert_non_null(strstr(e.text, "damaged"));
}

static void put_object_of_no_string(void)
{
	object(&(struct data_object){.why = SOME_STRINGS}, "/c");
}

static void put_place_of_no_object(void)
{
	places(4, &(struct data_place){.offset = 1}, 1);
}

static void put_place_of_no_string(void)
{
	places(0, &(struct data_place){.offset = 1, .function = SOME_STRINGS}, 1);
}

static void put_strings_without_end(void)
{
	strings("abcdefgh", 8, 1);
}

static void put_inlined_into_none(void)
{
	places(0, &(struct data_place){.offset = 1, .inlined = 1}, 1);
}

static void code(uint32_t of, uint64_t offset, uint32_t size)
{
	const struct {
		struct data_code head;
		uint8_t bytes[8];
	} c = {{.object = of,
		       .machine = EM_X86_64,
		       .offset = offset,
		       .address = 0x10,
		       .size = size},
		{0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3}};

	assert_int_equal(data_put(&w, DATA_CODE, &c, sizeof(c), NULL, &e), 0);
}

static void put_code_of_no_object(void)
{
	code(4, 1, 1);
}

static void put_code_without_end(void)
{
	code(3, 1, 9);
}

static void put_long_code(void)
{
	static struct {
		struct data_code head;
		uint8_t bytes[DATA_CODE_MAX + 8];
	} c = {.head = {.object = 3, .machine = EM_X86_64, .size = DATA_CODE_MAX + 1}};

	assert_int_equal(data_put(&w, DATA_CODE, &c, sizeof(c), NULL, &e), 0);
}

static void put_code(struct data_code head)
{
	struct {
		struct data_code head;
		uint8_t bytes[8];
	} c = {.head = head};

	assert_int_equal(data_put(&w, DATA_CODE, &c, sizeof(c), NULL, &e), 0);
}

static void put_code_of_no_bytes(void)
{
	code(3, 1, 0);
}

static void put_code_beyond_addresses(void)
{
	put_code((struct data_code){.object = 3, .address = UINT64_MAX - 3, .size = 4});
}

static void put_code_beyond_offsets(void)
{
	put_code((struct data_code){.object = 3, .offset = UINT64_MAX - 3, .size = 4});
}

static void put_code_of_a_later_format(void)
{
	put_code((struct data_code){.object = 3, .size = 4, .reserved = 1});
}

static void annotated(const char *function)
{
	FILE *f = fmemopen(out, sizeof(out), "w");

	assert_non_null(f);
	assert_int_equal(annotate_write(&r, function, true, f, &e), 0);
	assert_int_equal(fclose(f), 0);
}

/* Instructions that are stored are shown, and those of the kernel are said to be missing. */
TEST(stored_code)
{
	begin_named();
	code(2, 0x6000, 6);
	code(2, 0x5000, 6);
	code(3, 0x5001, 6);
	code(2, 0x4000, 6);
	thread_exit(2, 10);
	sample(3, 10, 0x1100, 1);
	map(4, 10, 0x5000, 0x1000, "//anon");
	sample(5, 10, 0x5003, 1);
	sample(6, 10, 0x5003, 1);
	places(2,
		&(struct data_place){
			.offset = 0x5003, .address = 0x13, .function = JIT, .function_offset = 3},
		1);
	sample(7, 10, 0xffffffff81000000, 2);
	end();
	open_recording(RECORDING_DEFAULT);
	if (code_supported()) {
		annotated("jit");
		assert_contains(out, "                        10 +0        decq    %rdi\n");
	}
	assert_int_equal(annotate_write(&r, "sys_?[2J", true, stderr, &e), -ENOENT);
	assert_contains(e.text, "/proc/kcore");
	recording_close(&r);
}

/* The code of the kernel is read by its addresses. */
TEST(code_of_the_kernel)
{
	struct core {
		Elf64_Ehdr head;
		Elf64_Phdr all[2];
		char code[8];
	} file = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
			  .e_machine = EM_X86_64,
			  .e_phoff = sizeof(file.head),
			  .e_phentsize = sizeof(file.all[0]),
			  .e_phnum = 2},
		.all = {{.p_type = PT_NOTE, .p_vaddr = 0xffffffff81000000, .p_filesz = 8},
			{.p_type = PT_LOAD,
				.p_vaddr = 0xffffffff81000000,
				.p_offset = offsetof(struct core, code),
				.p_filesz = 8}},
		.code = "codecode"};
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_TRUNC);
	struct kcore *k;
	char code[9] = "";

	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	k = kcore_open(path);
	assert_non_null(k);
	assert_int_equal(kcore_machine(k), EM_X86_64);
	assert_true(kcore_read(k, 0xffffffff81000000, code, 8));
	assert_string_equal(code, "codecode");
	assert_false(kcore_read(k, 0xffffffff81000001, code, 8));
	assert_false(kcore_read(k, 0xffffffff80ffffff, code, 1));
	assert_false(kcore_read(k, 0xffffffff81000004, code, SIZE_MAX));
	kcore_close(k);
	assert_int_equal(ftruncate(fd, sizeof(file.head) + 1), 0);
	assert_null(kcore_open(path));
	assert_null(kcore_open("/nonexistent/kcore"));
}

TEST(damaged_names)
{
	named_refused(put_object_of_no_string);
	named_refused(put_place_of_no_object);
	named_refused(put_place_of_no_string);
	named_refused(put_strings_without_end);
	named_refused(put_inlined_into_none);
	named_refused(put_code_of_no_object);
	named_refused(put_code_without_end);
	named_refused(put_long_code);
	named_refused(put_code_of_no_bytes);
	named_refused(put_code_beyond_addresses);
	named_refused(put_code_beyond_offsets);
	named_refused(put_code_of_a_later_format);
}

TEST(several_events)
{
	const struct data_event second = {.period = 1};
	struct data_sample s = {.time = 2, .weight = 300, .pid = 10, .tid = 10, .nframes = 1};

	begin();
	assert_int_equal(
		data_put(&w, DATA_EVENT, &second, offsetof(struct data_event, name), "cycles", &e),
		0);
	assert_int_equal(data_put(&w, DATA_RATE, &(struct data_rate){1, 99},
				 sizeof(struct data_rate), NULL, &e),
		0);
	sample(3, 10, 0x1100, 1);
	s.event = 1;
	assert_int_equal(data_put(&w, DATA_SAMPLE, &s, sizeof(s), NULL, &e), 0);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_int_equal(r.nevents, 2);
	assert_int_equal(r.nsamples, 1);
	assert_int_equal(r.weight, 1);
	recording_choose(&r, 1);
	assert_string_equal(recording_event(&r), "cycles");
	assert_int_equal(r.event->hz, 99);
	assert_int_equal(r.weight, 300);
	assert_int_equal(r.samples[0].time, 2);
	recording_close(&r);
	begin();
	assert_int_equal(data_put(&w, DATA_SAMPLE, &s, sizeof(s), NULL, &e), 0);
	end();
	assert_int_equal(recording_open(&r, path, RECORDING_ADDRESSES, &e), -EINVAL);
}

/* The head counts the call chains of the event that is shown. */
TEST(chains_of_another_event)
{
	const struct data_event second = {.period = 1};
	const uint64_t frames[] = {DATA_MARKER_USER, 0x1100};

	begin();
	assert_int_equal(
		data_put(&w, DATA_EVENT, &second, offsetof(struct data_event, name), "faults", &e),
		0);
	stack(2, 0, frames, COUNT(frames));
	end();
	open_recording(RECORDING_ADDRESSES);
	written(write_flat, out, sizeof(out));
	assert_contains(out, "in 1 samples, 1 with call chains\n");
	recording_choose(&r, 1);
	written(write_flat, out, sizeof(out));
	assert_contains(out, "# 0 overflows in 0 samples\n");
	recording_close(&r);
}

TEST(version_1)
{
	struct data_head head;

	begin();
	sample(2, 10, 0x1100, 3);
	memcpy(&head, w.buf, sizeof(head));
	head.version = 1;
	memcpy(w.buf, &head, sizeof(head));
	end();
	open_recording(RECORDING_DEFAULT);
	assert_int_equal(r.weight, 3);
	recording_close(&r);
}

TEST(information_cannot_do_harm)
{
	struct slice command;

	begin_with("command a\x1b[2J\xff <b>\nhost c\nkernel d\x07");
	end();
	open_recording(RECORDING_ADDRESSES);
	command = recording_info(&r, "command");
	assert_true(slice_is(command, "a?[2J? <b>"));
	assert_true(slice_is(recording_info(&r, "host"), "c"));
	assert_true(slice_is(recording_info(&r, "kernel"), "d?"));
	assert_true(slice_is(recording_info(&r, "pmu"), ""));
	written(write_flamegraph, out, sizeof(out));
	assert_contains(out, "a?[2J? &lt;b&gt;");
	recording_close(&r);
}

/* Of a return address, the call before it counts. */
TEST(callers)
{
	struct {
		struct data_sample s;
		uint64_t callers[2];
	} stack = {
		{.time = 2, .weight = 4, .pid = 10, .tid = 10, .nframes = 3, .ip = {0x1100}},
		{0x1200, 0x1000},
	};

	begin();
	comm(1, 10, "prog", false);
	map(1, 10, 0x1000, 0x1000, "/a");
	assert_int_equal(data_put(&w, DATA_SAMPLE, &stack, sizeof(stack), NULL, &e), 0);
	end();
	open_recording(RECORDING_ADDRESSES);
	written(folded_write, out, sizeof(out));
	assert_string_equal(out, "prog;[unknown];0x1ff;0x100 4\n");
	written(perf_script_write, out, sizeof(out));
	assert_contains(
		out, "\t            1100 [unknown] (/a)\n\t            1200 [unknown] (/a)\n");
	recording_close(&r);
}

#define KERNEL_IP   0xffffffff81000010ULL
#define VSYSCALL_IP 0xffffffffff600000ULL

static int write_tree(const struct recording *of, FILE *to, struct err *err)
{
	const struct tree_options options = {.at_least = 0};

	return tree_write(of, &options, to, err);
}

static int write_callers(const struct recording *of, FILE *to, struct err *err)
{
	const struct tree_options options = {.callers = true, .at_least = 60};

	return tree_write(of, &options, to, err);
}

/* The first frame after a marker is an instruction, the others are return addresses. */
TEST(stacks)
{
	const uint64_t entered[] = {
		DATA_MARKER_KERNEL, KERNEL_IP, KERNEL_IP + 0x10, DATA_MARKER_USER, 0x1100, 0x1200};
	const uint64_t running[] = {DATA_MARKER_USER, 0x1150, 0x1200};
	const uint64_t vsyscall[] = {DATA_MARKER_USER, VSYSCALL_IP, 7, 8, 0x1200};

	begin();
	comm(1, 10, "prog", false);
	map(1, 10, 0x1000, 0x1000, "/a");
	stack(2, 0, entered, COUNT(entered));
	stack(3, 0, running, COUNT(running));
	stack(4, 0, vsyscall, COUNT(vsyscall));
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_int_equal(r.event->nstacks, 3);
	written(folded_write, out, sizeof(out));
	assert_string_equal(out,
		"prog;0x1ff;0x100;0xffffffff8100001f_[k];0xffffffff81000010_[k] 1\n"
		"prog;0x1ff;0x150 1\nprog;0x1ff;[unknown] 1\n");
	written(perf_script_write, out, sizeof(out));
	assert_contains(out, "\tffffffff81000010 [unknown] ([kernel])\n"
			     "\tffffffff81000020 [unknown] ([kernel])\n"
			     "\t            1100 [unknown] (/a)\n");
	written(write_flat, out, sizeof(out));
	assert_contains(out, "# 3 overflows in 3 samples, 3 with call chains\n");
	assert_contains(out, " 33.33%           1  prog     [kernel]   0xffffffff81000010\n");
	written(write_tree, out, sizeof(out));
	assert_contains(out, "\n 100.00%   0.00%  prog\n 100.00%   0.00%    0x1ff\n"
			     "  33.33%   0.00%      0x100\n"
			     "  33.33%   0.00%        0xffffffff8100001f [k]\n"
			     "  33.33%  33.33%          0xffffffff81000010 [k]\n"
			     "  33.33%  33.33%      0x150\n");
	written(write_callers, out, sizeof(out));
	assert_lacks(out, "0x1");
	recording_close(&r);
}

TEST(no_wait_after_the_end)
{
	pfm_stack_smpl_entry_t sample = {.dfl.tstamp = 100};
	struct track t = {.until = 99};
	struct source s = SOURCE_NONE;

	s.wait = (struct source_wait){.at = &sample, .open = true};
	assert_int_equal(source_end_wait(&s, &t, &e), 0);
	s.ended = true;
	t.until = 200;
	assert_int_equal(source_end_wait(&s, &t, &e), 0);
	assert_int_equal(t.samples, 0);
}

/* A thread that does not run: its state is a function, and no return address is after it. */
TEST(waits)
{
	const uint64_t waiting[] = {DATA_WAITING, DATA_MARKER_USER, 0x1100, 0x1201};
	const uint64_t preempted[] = {DATA_PREEMPTED, DATA_MARKER_KERNEL, 0};

	begin();
	comm(1, 10, "prog", false);
	map(1, 10, 0x1000, 0x1000, "/a");
	stack(2, 0, waiting, COUNT(waiting));
	stack(3, 0, preempted, COUNT(preempted));
	end();
	open_recording(RECORDING_ADDRESSES);
	written(folded_write, out, sizeof(out));
	assert_string_equal(
		out, "prog;0x200;0x100;[waiting]_[k] 1\nprog;[unknown]_[k];[preempted]_[k] 1\n");
	written(perf_script_write, out, sizeof(out));
	assert_non_null(strstr(out, "[waiting]+0x0 ([kernel])\n\t            1100 "));
	recording_close(&r);
}

/* What the user may not see, and stacks that are not known. */
TEST(stacks_without_frames)
{
	const uint64_t hidden[] = {DATA_MARKER_KERNEL, 0, DATA_MARKER_USER, 0x1100};
	const uint64_t marker[] = {DATA_MARKER_USER};

	begin();
	comm(1, 10, "prog", false);
	map(1, 10, 0x1000, 0x1000, "/a");
	stack(2, 0, hidden, COUNT(hidden));
	stack(3, 0, marker, COUNT(marker));
	stack(4, 0, NULL, 0);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_int_equal(r.nsamples, 3);
	written(folded_write, out, sizeof(out));
	assert_string_equal(out, "prog;0x100;[unknown]_[k] 1\nprog;[unknown] 2\n");
	recording_close(&r);
}

/* Each line has 80 columns at most, whatever is in it. */
TEST(deep_stacks)
{
	uint64_t frames[STACK_MAX] = {DATA_MARKER_USER};
	unsigned lines = 0;
	char *rest = out;

	for (unsigned i = 1; i < STACK_MAX; i++)
		frames[i] = 0x1000 + i;
	begin();
	comm(1, 10, "a name of a thread may not be as long as this one, but the file may have any",
		false);
	map(1, 10, 0x1000, 0x1000, "/a");
	stack(2, DATA_STACK_CUT, frames, STACK_MAX);
	end();
	open_recording(RECORDING_ADDRESSES);
	written(write_tree, out, sizeof(out));
	assert_contains(out, "# 1 stacks are cut");
	assert_contains(
		out, " 100.00% 100.00%                                          299: 0x1\n");
	for (char *line; (line = strsep(&rest, "\n"));)
		if (line[0] != '#')
			lines += strlen(line) <= 80 ? 1 : 1000;
	assert_in_range(lines, 300, 302);
	recording_close(&r);
}

/* Writes the recording with little memory for the stack. Ends with 0. */
static void write_deep(void)
{
	FILE *f = fopen("/dev/null", "we");
	bool ok = setrlimit(RLIMIT_STACK, &(struct rlimit){1 << 19, 1 << 19}) == 0 &&
		  write_tree(&r, f, &e) == 0 && folded_write(&r, f, &e) == 0 &&
		  flamegraph_write(&r, 0, f, &e) == 0;

	_exit(!ok);
}

/* Each frame with as many inlined functions as a recording may have. */
TEST(deepest_stacks)
{
	struct data_place at[DATA_INLINED_MAX];
	uint64_t frames[STACK_MAX] = {DATA_MARKER_USER};
	int status;
	pid_t pid;

	for (unsigned i = 0; i < DATA_INLINED_MAX; i++)
		at[i] = (struct data_place){
			.offset = 0x100, .function = OUTER, .inlined = i + 1 < DATA_INLINED_MAX};
	for (unsigned i = 1; i < STACK_MAX; i++)
		frames[i] = i == 1 ? 0x1100 : 0x1101; /* A return address is behind its call. */
	begin();
	strings(some_strings, sizeof(some_strings), SOME_STRINGS);
	object(&(struct data_object){.flags = 0}, "/a");
	places(0, at, DATA_INLINED_MAX);
	map(1, 10, 0x1000, 0x1000, "/a");
	stack(2, 0, frames, STACK_MAX);
	end();
	open_recording(RECORDING_DEFAULT);
	pid = fork();
	if (pid == 0)
		write_deep();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	recording_close(&r);
}

TEST(clean_names)
{
	static const char *const good[] = {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xe2\x80\x8a",
		"\xe2\x80\x90", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\xa5", "\xf0\x9f\x98\x80"};
	static const char *const bad[] = {"\n", "\x7f", "\x80", "\xc2\x85", "\xc0\x80", "\xc3",
		"\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x80\x8b", "\xe2\x80\x8f",
		"\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"};

	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(name_is_clean(good[i]));
	for (size_t i = 0; i < COUNT(bad); i++) {
		char copy[8];

		assert_false(name_is_clean(bad[i]));
		strcpy(copy, bad[i]);
		name_clean(copy);
		assert_true(name_is_clean(copy));
	}
}

/* Reading them may wait, never end, or take something from other readers. */
TEST(files_of_the_kernel_are_not_regular)
{
	CLEANUP_CLOSE int fd = regular_open("/proc/self/exe");

	assert_true(fd >= 0);
	assert_int_equal(regular_open("/proc/self/status"), -EINVAL);
	assert_int_equal(regular_open("/sys/kernel/notes"), -EINVAL);
	assert_int_equal(regular_open("/dev/null"), -EINVAL);
}

/* --- Broken files */

static char *slurp(size_t *n)
{
	FILE *f = fopen(path, "re");
	char *p = malloc(65536);

	assert_non_null(f);
	assert_non_null(p);
	*n = fread(p, 1, 65536, f);
	fclose(f);
	return p;
}

/* Takes @n bytes of @p as a file. */
static int take(const char *p, size_t n)
{
	char *copy = malloc(n + 1);
	struct data_file f;
	int rc;

	assert_non_null(copy);
	memcpy(copy, p, n);
	rc = data_take(&f, copy, n, "it", &e);
	return rc < 0 ? rc : recording_take(&r, f, RECORDING_ADDRESSES, &e);
}

TEST(cut_anywhere)
{
	size_t n, event, whole = 0;
	char *p;

	begin();
	event = w.n;
	comm(1, 10, "prog", false);
	map(1, 10, 0x1000, 0x1000, "/a");
	sample(2, 10, 0x1100, 1);
	end();
	p = slurp(&n);
	for (size_t cut = 0; cut < n; cut++) {
		int rc = take(p, cut);

		if (cut < event) {
			assert_int_equal(rc, -EINVAL);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_false(r.ended);
		whole += !r.file.cut;
		recording_close(&r);
	}
	assert_int_equal(whole, 4); /* after the event and each record but the last */
	free(p);
}

/* A record whose content does not fit its type; the others of its kind do. */
static void refused(enum data_type type, const void *fixed, size_t n, const char *text)
{
	char *p;

	begin();
	assert_int_equal(data_put(&w, type, fixed, n, text, &e), 0);
	finish();
	p = slurp(&n);
	assert_int_equal(take(p, n), -EINVAL);
	assert_non_null(strstr(e.text, "damaged"));
	free(p);
}

/* The number of stacks of the file, and of those that share the frames of another. */
static void count_stacks(struct data_file *f, unsigned *n, unsigned *shared)
{
	const struct data_rec *rec;

	*n = *shared = 0;
	while (data_next(f, &rec, &e) > 0) {
		const struct data_stack *s = data_body(rec);

		if (rec->type != DATA_STACK)
			continue;
		assert_int_equal(data_frames(s)[0], *n % 2 ? 0x1200 : 0x1100);
		++*n;
		*shared += s->back != 0;
	}
	f->at = sizeof(struct data_head);
}

/* In memory, a call chain is kept once, however many samples have it. */
TEST(shared_chains)
{
	enum { MANY = 10000 };
	uint64_t frames[200] = {0};
	unsigned n, shared;
	struct data_file f;

	begin();
	for (unsigned i = 0; i < MANY; i++) {
		frames[0] = i % 2 ? 0x1200 : 0x1100;
		stack(2 + i, 0, frames, COUNT(frames));
	}
	end();
	assert_int_equal(data_load(&f, path, &e), 0);
	assert_false(f.cut);
	assert_true(f.n < MANY * (sizeof(struct data_rec) + sizeof(struct data_stack)) + 8192);
	count_stacks(&f, &n, &shared);
	assert_int_equal(n, MANY);
	assert_int_equal(shared, MANY - 2);
	assert_int_equal(recording_take(&r, f, RECORDING_ADDRESSES, &e), 0);
	assert_int_equal(r.nsamples, MANY);
	recording_close(&r);
}

/* A file cannot say that a stack has the frames of another. */
TEST(hostile_back)
{
	struct {
		struct data_stack s;
		uint64_t frame;
	} st = {{.weight = 1, .nframes = 1, .back = 1 << 30}, 0x1234};

	begin();
	assert_int_equal(data_put(&w, DATA_STACK, &st, sizeof(st), NULL, &e), 0);
	end();
	open_recording(RECORDING_ADDRESSES);
	written(perf_script_write, out, sizeof(out));
	assert_contains(out, "\t            1234 ");
	recording_close(&r);
	refused(DATA_STACK, &st.s, sizeof(st.s), NULL);
}

static size_t count_bytes(const char *p, size_t n)
{
	size_t set = 0;

	for (size_t i = 0; i < n; i++)
		set += p[i] != 0;
	return set;
}

/* Outputs without addresses need no samples of the file. */
TEST(dropped_addresses)
{
	enum { MANY = 2000, SOME = 8192 };
	static char again[4096];

	begin();
	comm(1, 10, "prog", false);
	for (unsigned i = 0; i < MANY; i++)
		sample(2 + i, 10, 0x1111 * (1 + i % 4), 1);
	end();
	open_recording(RECORDING_ADDRESSES);
	written(folded_write, out, sizeof(out));
	assert_int_not_equal(count_bytes(r.file.p + r.file.n / 2, SOME), 0);
	recording_drop_addresses(&r);
	assert_int_equal(count_bytes(r.file.p + r.file.n / 2, SOME), 0);
	written(folded_write, again, sizeof(again));
	assert_string_equal(out, again);
	recording_close(&r);
}

TEST(other_files)
{
	struct data_head head = {.version = DATA_VERSION, .order = DATA_ORDER};

	assert_int_equal(take("", 0), -EINVAL);
	assert_int_equal(take("#!/bin/sh\necho hello, world\n", 28), -EINVAL);
	memcpy(head.magic, DATA_MAGIC, sizeof(head.magic));
	head.version = DATA_VERSION + 1;
	assert_int_equal(take((char *)&head, sizeof(head)), -EINVAL);
	head.version = DATA_VERSION;
	head.order = 0x04030201;
	assert_int_equal(take((char *)&head, sizeof(head)), -EINVAL);
	assert_int_equal(recording_open(&r, "/nonexistent/x", RECORDING_ADDRESSES, &e), -ENOENT);
	assert_int_equal(recording_open(&r, "/", RECORDING_ADDRESSES, &e), -EISDIR);
}

TEST(damaged_records)
{
	struct data_sample s = {.weight = 1, .nframes = 2};
	struct data_map m = {.len = 0};

	refused(DATA_SAMPLE, &s, sizeof(s), NULL);
	s.nframes = 0;
	refused(DATA_SAMPLE, &s, sizeof(s), NULL);
	s = (struct data_sample){.nframes = 1};
	refused(DATA_SAMPLE, &s, sizeof(s), NULL);
	refused(DATA_SAMPLE, &s, 8, NULL);
	refused(DATA_STACK, &(struct data_stack){.weight = 1, .nframes = 1},
		sizeof(struct data_stack), NULL);
	refused(DATA_STACK, &(struct data_stack){.nframes = 0}, sizeof(struct data_stack), NULL);
	refused(DATA_STACK, &(struct data_stack){.weight = 1, .nframes = UINT16_MAX},
		sizeof(struct data_stack), NULL);
	refused(DATA_STACK, &s, 32, NULL);
	refused(DATA_MAP, &m, offsetof(struct data_map, name), "x");
	m = (struct data_map){.addr = UINT64_MAX, .len = 2};
	refused(DATA_MAP, &m, offsetof(struct data_map, name), "x");
	m = (struct data_map){.len = 1, .id_size = 21};
	refused(DATA_MAP, &m, offsetof(struct data_map, name), "x");
	refused(DATA_COMM, "12345678", 8, NULL);
	refused(DATA_INFO, "12345678", 8, NULL);
	refused(DATA_END, NULL, 0, NULL);
}

TEST(too_many_overflows)
{
	const uint64_t most = UINT64_MAX / 1000; /* events of the period of begin() */

	for (int over = 0; over < 2; over++) {
		begin();
		sample(1, 10, 0x1000, most - 1);
		sample(2, 10, 0x1000, 1 + (uint64_t)over);
		finish();
		assert_int_equal(
			recording_open(&r, path, RECORDING_ADDRESSES, &e), over ? -EINVAL : 0);
		if (!over)
			recording_close(&r);
	}
}

TEST(unknown_records_are_skipped)
{
	begin();
	assert_int_equal(data_put(&w, (enum data_type)1000, "new", 3, NULL, &e), 0);
	sample(2, 10, 0x1100, 1);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_int_equal(r.nsamples, 1);
	recording_close(&r);
}

static const struct sampling one_event = {.events = {{.pmd = 0, .period = 1000}}, .n = 1};

/* Records the buffer of @size bytes that begins with @hdr. */
static void begin_source(struct source *s, struct track *t, const struct sampling *sampling,
	const pfm_correlate_smpl_hdr_t *hdr, size_t size)
{
	assert_int_equal(track_init(t, &w, &e), 0);
	s->sampling = sampling;
	s->buf = hdr;
	s->size = size;
}

/* An address of an earlier time slice is none of the sample. */
TEST(earlier_address)
{
	const struct {
		pfm_correlate_smpl_hdr_t hdr;
		pfm_correlate_smpl_rec_t rec;
		pfm_stack_smpl_entry_t entry;
	} buf = {
		.hdr = {.hdr_count = 1},
		.rec = {PFM_CORRELATE_STACK, sizeof(buf.rec) + sizeof(buf.entry)},
		.entry = {.dfl = {.pid = 1, .tgid = 1, .ip = 0x401000}, .source = PFM_SMPL_EARLIER},
	};
	struct source s = SOURCE_NONE;
	struct track t;

	begin();
	begin_source(&s, &t, &one_event, &buf.hdr, sizeof(buf));
	assert_int_equal(source_drain(&s, &t, &e), 0);
	track_free(&t);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_int_equal(r.nsamples, 1);
	assert_int_equal(recording_first(&r, &r.samples[0])->ip, 0);
	recording_close(&r);
}

/* Samples name the event of their PMD. With a rate, their weight is the number of events since the
 * counter was last written. */
TEST(samples_of_several_events)
{
	static const struct sampling two = {
		.events = {{.pmd = 3, .period = 1000}, {.pmd = 5, .period = 100, .hz = 10}},
		.n = 2};
	const struct {
		pfm_correlate_smpl_hdr_t hdr;
		struct {
			pfm_correlate_smpl_rec_t rec;
			pfm_dfl_smpl_entry_t entry;
		} all[2];
	} buf = {
		.hdr = {.hdr_count = 2},
		.all =
			{
				{{PFM_CORRELATE_SAMPLE, sizeof(buf.all[0])},
					{.pid = 1,
						.tgid = 1,
						.tstamp = 1,
						.ovfl_pmd = 5,
						.ovfl_count = 2,
						.last_reset_val = -40ULL}},
				{{PFM_CORRELATE_SAMPLE, sizeof(buf.all[0])},
					{.pid = 1,
						.tgid = 1,
						.tstamp = 2,
						.ovfl_pmd = 3,
						.ovfl_count = 3,
						.last_reset_val = -1000ULL}},
			},
	};
	struct source s = SOURCE_NONE;
	struct track t;

	begin();
	assert_int_equal(data_put(&w, DATA_EVENT, &(struct data_event){.period = 1},
				 offsetof(struct data_event, name), "cycles", &e),
		0);
	begin_source(&s, &t, &two, &buf.hdr, sizeof(buf));
	assert_int_equal(source_drain(&s, &t, &e), 0);
	track_free(&t);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_int_equal(r.events[0].weight, 3);
	assert_int_equal(r.events[1].weight, 80);
	recording_close(&r);
}

/* The context has ended, and its end is not known yet: what its full buffer has is recorded
 * once. */
TEST(full_buffer_of_ended_context)
{
	const struct {
		pfm_correlate_smpl_hdr_t hdr;
		pfm_correlate_smpl_rec_t rec;
		pfm_dfl_smpl_entry_t entry;
	} buf = {
		.hdr = {.hdr_count = 1, .hdr_state = PFM_CORRELATE_FULL},
		.rec = {PFM_CORRELATE_SAMPLE, sizeof(buf.rec) + sizeof(buf.entry)},
		.entry = {.pid = getpid(), .tgid = getpid()},
	};
	struct source s = SOURCE_NONE;
	struct track t;

	begin();
	begin_source(&s, &t, &one_event, &buf.hdr, sizeof(buf));
	s.dir = open("/proc/self/task", O_PATH | O_DIRECTORY | O_CLOEXEC); /* without ctl */
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(source_drain(&s, &t, &e), 0);
	assert_int_equal(t.samples, 1);
	close(s.dir);
	track_free(&t);
	end();
}

/* A function of a jitdump counts where the process has made code, from its time on, and the newest
 * of those at one address. The mapping of the dump's beginning has no code. */
TEST(functions_of_a_jitdump)
{
	static const struct data_map maps[] = {
		{.pid = 1, .addr = 0x1000, .len = 0x1000, .pgoff = 0},
		{.pid = 1, .addr = 0x1100, .len = 0x10, .pgoff = 100},
		{.pid = 1, .addr = 0x1110, .len = 0x10, .pgoff = 200},
		{.pid = 1, .addr = 0x1200, .len = 0x10, .pgoff = 300},
		{.pid = 1, .addr = 0x1108, .len = 0x10, .pgoff = 400},
		{.pid = 1, .addr = 0x3000, .len = 0x10, .pgoff = 500},
	};
	static const struct {
		uint64_t ip, offset;
	} found[] = {{0x1100, 100}, {0x1107, 107}, {0x1108, 400}, {0x1117, 415}, {0x1118, 208},
		{0x1120, 0x120}, {0x120f, 315}, {0x1210, 0x210}, {0x1080, 0x80}, {0x3000, 0}};
	struct image im;

	assert_int_equal(image_init(&im), 0);
	for (unsigned i = 1; i < 6; i++)
		assert_int_equal(image_add(&im, &maps[i], "/tmp/jit-1.dump"), 0);
	assert_int_equal(image_add(&im, &maps[0], "/tmp/jit-1.dump"), 0);
	assert_int_equal(image_version(&im, 1), 0);
	assert_int_equal(image_add(&im, &maps[0], "//anon"), 0);
	assert_int_equal(image_add(&im, &(struct data_map){.pid = 1, .addr = 0x3000, .len = 0x1000},
				 "/lib.so"),
		0);
	for (unsigned i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		const struct image_map *m = image_find(&im, 1, found[i].ip);

		assert_non_null(m);
		assert_int_equal(found[i].ip - m->addr + m->pgoff, found[i].offset);
	}
	image_exec(&im, 1);
	assert_null(image_find(&im, 1, 0x1100));
	image_free(&im);
}

/* A process that maps files over and over does not fill the memory. Parts of older mappings stay.
 */
TEST(covered_mappings)
{
	struct data_map m = {.pid = 1, .addr = 0x3000, .len = 0x1000};
	struct image im;
	uint64_t files;

	assert_int_equal(image_init(&im), 0);
	assert_int_equal(image_add(&im, &m, "/first"), 0);
	for (unsigned i = 0; i < 1000; i++) {
		m.addr = 0x1000;
		m.len = 0x2800;
		assert_int_equal(image_add(&im, &m, i % 2 ? "/a.so" : "/b.so"), 0);
		m.addr = 0x2000;
		m.len = 0x1000;
		files = image_known(&im, 1)->files;
		assert_int_equal(image_add(&im, &m, "//anon"), 0);
		assert_int_equal(image_known(&im, 1)->files, files);
	}
	assert_int_equal(image_known(&im, 1)->maps.n, 3);
	assert_string_equal(image_find(&im, 1, 0x1000)->object->path, "/a.so");
	assert_string_equal(image_find(&im, 1, 0x2fff)->object->path, "//anon");
	assert_string_equal(image_find(&im, 1, 0x37ff)->object->path, "/a.so");
	assert_string_equal(image_find(&im, 1, 0x3800)->object->path, "/first");
	image_free(&im);
}

/* Writes to a jitdump a function of 16 bytes. */
static void put_jit(FILE *to, uint64_t time, uint64_t address, uint64_t index)
{
	const struct {
		uint32_t type, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, bytes, index;
		char name[16], code[16];
	} rec = {0, sizeof(rec), time, 1, 1, address, address, 16, index, "function_of_jit", ""};

	assert_int_equal(fwrite(&rec, sizeof(rec), 1, to), 1);
}

static FILE *begin_jit(struct image *im)
{
	static const uint32_t head[10] = {0x4A695444, 1, sizeof(head), 62, 0, 1};
	static const uint8_t id[DATA_BUILD_ID_MAX];
	struct object *o;
	FILE *to;

	assert_int_equal(image_init(im), 0);
	o = image_object(im, "/tmp/jit-1.dump", id, 0);
	o->dump_of = 1;
	o->fd = memfd_create("dump", MFD_CLOEXEC);
	to = fdopen(dup(o->fd), "w");
	assert_non_null(to);
	assert_int_equal(fwrite(head, sizeof(head), 1, to), 1);
	return to;
}

/* Maps the functions of the jitdump that have samples in the file. */
static void map_jit(FILE *dump, struct image *im, struct data_file *f)
{
	CLEANUP_CLOSE int fd = memfd_create("maps", MFD_CLOEXEC);
	struct find_dumps dumps = {.n = 0};
	struct data_writer to;

	assert_int_equal(fclose(dump), 0);
	finish();
	assert_int_equal(data_load(f, path, &e), 0);
	assert_int_equal(data_create_in(&to, fd, &e), 0);
	assert_int_equal(find_dumps_open(&dumps, im, &e), 0);
	assert_int_equal(find_dumps_map(&dumps, f, &to, &e), 0);
	assert_int_equal(data_close(&to, &e), 0);
	jitdump_free(&dumps.all[0].dump);
	free(dumps.all);
	image_free(im);
}

/* The last record of that type. */
static const void *last_record(struct data_file *f, uint32_t type, unsigned *n)
{
	const struct data_rec *rec;
	const void *last = NULL;

	*n = 0;
	f->at = sizeof(struct data_head);
	while (data_next(f, &rec, &e) > 0)
		if (rec->type == type) {
			last = data_body(rec);
			++*n;
		}
	return last;
}

/* A function is mapped from the time of the first one on, but not before a sample that it cannot
 * have. */
TEST(times_of_functions_of_a_jitdump)
{
	const struct data_map *m;
	struct data_file f;
	struct image im;
	FILE *dump = begin_jit(&im);
	unsigned n;

	put_jit(dump, 100, 0x1000, 1);
	put_jit(dump, 200, 0x2000, 2);
	begin();
	sample(150, 1, 0x1004, 1);
	sample(250, 1, 0x2004, 1);
	map_jit(dump, &im, &f);
	m = last_record(&f, DATA_MAP, &n);
	assert_int_equal(n, 2);
	assert_int_equal(m->addr, 0x2000);
	assert_int_equal(m->time, 100);
	data_unload(&f);

	dump = begin_jit(&im);
	put_jit(dump, 100, 0x1000, 1);
	put_jit(dump, 200, 0x2000, 2);
	begin();
	sample(150, 1, 0x1004, 1);
	sample(150, 1, 0x2004, 1);
	sample(250, 1, 0x2004, 1);
	map_jit(dump, &im, &f);
	m = last_record(&f, DATA_MAP, &n);
	assert_int_equal(n, 2);
	assert_int_equal(m->addr, 0x2000);
	assert_int_equal(m->time, 200);
	data_unload(&f);
}

/* The code of a function is stored for its share of the weight, in a short recording, too. */
TEST(code_of_few_samples)
{
	CLEANUP_CLOSE int fd = memfd_create("found", MFD_CLOEXEC);
	const struct data_code *c;
	struct data_writer to;
	char link[40];
	struct data_file f;
	struct image im;
	FILE *dump = begin_jit(&im);
	unsigned n;

	put_jit(dump, 100, 0x1000, 1);
	put_jit(dump, 200, 0x2000, 2);
	assert_int_equal(fclose(dump), 0);
	begin();
	map(1, 1, 0x1000, 0x2000, "//anon");
	sample(250, 1, 0x1004, 1);
	sample(250, 1, 0x2004, 1000);
	finish();
	assert_int_equal(data_load(&f, path, &e), 0);
	assert_int_equal(data_create_in(&to, fd, &e), 0);
	assert_int_equal(find_names_into(&f, &im, &to, &e), 0);
	assert_int_equal(data_close(&to, &e), 0);
	image_free(&im);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_int_equal(data_load(&f, link, &e), 0);
	c = last_record(&f, DATA_CODE, &n);
	assert_int_equal(n, 1);
	assert_int_equal(c->address, 0x2000);
	data_unload(&f);
}

/* If there are too many functions, addresses have no names from the first one on that has no room.
 */
TEST(too_many_functions_of_a_jitdump)
{
	enum { MANY = 1 << 16 };
	const struct data_map *m;
	struct data_file f;
	struct image im;
	FILE *dump = begin_jit(&im);
	unsigned n;

	begin();
	for (unsigned i = 0; i < MANY; i++) {
		put_jit(dump, 100 + i, 0x10000 + 16 * i, i);
		sample(100 + i, 1, 0x10000 + 16 * i, 1);
	}
	put_jit(dump, 100 + MANY, 0x10000, MANY);
	sample(200 + MANY, 1, 0x10000, 1);
	map_jit(dump, &im, &f);
	m = last_record(&f, DATA_MAP, &n);
	assert_int_equal(n, MANY + 1);
	assert_int_equal(m->time, 100 + MANY);
	assert_int_equal(m->addr, 0x10000);
	assert_int_equal(m->len, 16 * MANY);
	assert_int_equal(m->pgoff, UINT64_C(1) << 62);
	assert_non_null(last_record(&f, DATA_LOST, &n));
	assert_int_equal(n, 1);
	data_unload(&f);
}

/* Another file begins with what is known of the processes that have not ended. A number that had
 * been used before begins there with its present process. */
TEST(renewed)
{
	static const struct data_exit ends[] = {{.pid = 10, .tid = 10}, {.pid = 11, .tid = 11}};
	struct data_map m = {.addr = 0x1000, .len = 0x1000, .pid = 1 << 30};
	struct data_comm c = {.pid = 1 << 30, .tid = 1 << 30};
	const pfm_smpl_file_t unknown = {0};
	struct track t;

	begin();
	assert_int_equal(track_init(&t, &w, &e), 0);
	assert_int_equal(track_comm(&t, &c, "younger", &e), 0);
	assert_int_equal(track_exit(&t, &(struct data_exit){.pid = c.pid, .tid = c.tid}, &e), 0);
	assert_int_equal(track_comm(&t, &c, "other", &e), 0);
	assert_int_equal(track_comm(&t, &c, "prog", &e), 0);
	assert_int_equal(track_map(&t, &m, "/nowhere/prog", &unknown, &e), 0);
	for (unsigned i = 0; i < 2; i++) {
		m.pid = c.pid = c.tid = ends[i].pid;
		assert_int_equal(track_comm(&t, &c, "over", &e), 0);
		assert_int_equal(track_map(&t, &m, "/nowhere/over", &unknown, &e), 0);
		assert_int_equal(track_exit(&t, &ends[i], &e), 0);
	}
	end();
	begin();
	assert_int_equal(track_renew(&t, &e), 0);
	assert_int_equal(t.image.processes.n, 1);
	assert_int_equal(image_life(&t.image, 1 << 30), 0);
	track_free(&t);
	sample(2, 1 << 30, 0x1100, 1);
	sample(3, 10, 0x9100, 1);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_int_equal(r.nsamples, 2);
	assert_string_equal(recording_thread(&r, &r.samples[0])->comm, "prog");
	assert_int_equal(recording_thread(&r, &r.samples[0])->life, 0);
	assert_string_equal(recording_first(&r, &r.samples[0])->object->path, "/nowhere/prog");
	assert_null(recording_thread(&r, &r.samples[1])->comm);
	recording_close(&r);
}

static const struct sampling with_rate = {
	.events = {{.pmd = 0, .period = 1000, .hz = 100}}, .n = 1};

struct two_samples {
	pfm_correlate_smpl_hdr_t hdr;
	struct {
		pfm_correlate_smpl_rec_t rec;
		pfm_dfl_smpl_entry_t entry;
	} all[2];
};

/* The buffer has one sample at first. */
static void sample_twice(struct two_samples *buf, struct source *s, struct track *t)
{
	*buf = (struct two_samples){.hdr.hdr_count = 1};
	for (unsigned i = 0; i < 2; i++) {
		buf->all[i].rec =
			(pfm_correlate_smpl_rec_t){PFM_CORRELATE_SAMPLE, sizeof(buf->all[i])};
		buf->all[i].entry = (pfm_dfl_smpl_entry_t){.pid = getpid(),
			.tgid = getpid(),
			.tstamp = i + 1,
			.ovfl_count = 1,
			.last_reset_val = -1000ULL};
	}
	begin_source(s, t, &with_rate, &buf->hdr, sizeof(*buf));
}

/* Drains the first sample, and makes the event too frequent for its period. */
static void drain_fast(struct source *s, struct track *t)
{
	assert_int_equal(source_drain(s, t, &e), 0);
	s->rates[0].n = 8;
	s->rates[0].interval = 1;
	assert_int_equal(source_adapt(s, t, &e), 0);
}

/* The context has ended, and its end is not known yet: its period stays, and what its buffer has is
 * recorded once. */
TEST(rate_of_ended_context)
{
	struct two_samples buf;
	struct source s = SOURCE_NONE;
	struct track t;

	begin();
	sample_twice(&buf, &s, &t);
	s.dir = open("/proc/self/task", O_PATH | O_DIRECTORY | O_CLOEXEC); /* without ctl */
	drain_fast(&s, &t);
	assert_int_equal(s.rates[0].period, 1000);
	assert_int_equal(source_drain(&s, &t, &e), 0);
	assert_int_equal(t.samples, 1);
	close(s.dir);
	track_free(&t);
	end();
}

static void put_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* What was counted before a new period is part of the next sample's weight. */
TEST(change_of_a_period)
{
	static const char *const files[] = {"ctl", "regs", "pmd/0"};
	char dir[] = "/tmp/test_pfm_samples.XXXXXX";
	struct two_samples buf;
	struct source s = SOURCE_NONE;
	struct track t;

	begin();
	sample_twice(&buf, &s, &t);
	assert_non_null(mkdtemp(dir));
	s.dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(s.dir, "pmd", 0700), 0);
	put_file(s.dir, "ctl", "");
	put_file(s.dir, "regs", "");
	put_file(s.dir, "pmd/0", "18446744073709550716\n"); /* -900 */
	drain_fast(&s, &t);
	assert_true(s.rates[0].period > 1000);
	buf.hdr.hdr_count = 2;
	assert_int_equal(source_drain(&s, &t, &e), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlinkat(s.dir, files[i], 0);
	unlinkat(s.dir, "pmd", AT_REMOVEDIR);
	close(s.dir);
	rmdir(dir);
	track_free(&t);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_int_equal(r.samples[0].weight, 1000);
	assert_int_equal(r.samples[1].weight, 1100);
	recording_close(&r);
}

/* Opens the context of a child whose buffer begins with @hdr. */
static int open_child(const pfm_correlate_smpl_hdr_t *hdr)
{
	char dir[] = "/tmp/test_pfm_samples.XXXXXX";
	const struct sampling sampling = {.n = 0};
	struct source s;
	int parent, rc;
	FILE *buffer;

	assert_non_null(mkdtemp(dir));
	parent = open(dir, O_PATH | O_DIRECTORY);
	assert_int_equal(mkdirat(parent, "children", 0700), 0);
	assert_int_equal(mkdirat(parent, "children/7", 0700), 0);
	close(openat(parent, "children/7/msg", O_WRONLY | O_CREAT, 0600));
	buffer = fdopen(openat(parent, "children/7/buffer", O_WRONLY | O_CREAT, 0600), "w");
	assert_int_equal(fwrite(hdr, sizeof(*hdr), 1, buffer), 1);
	fclose(buffer);
	rc = source_open_child(&s, parent, "7", &sampling, &e);
	if (rc == 0)
		source_close(&s);
	unlinkat(parent, "children/7/buffer", 0);
	unlinkat(parent, "children/7/msg", 0);
	unlinkat(parent, "children/7", AT_REMOVEDIR);
	unlinkat(parent, "children", AT_REMOVEDIR);
	close(parent);
	rmdir(dir);
	return rc;
}

TEST(buffer_of_another_format)
{
	pfm_correlate_smpl_hdr_t hdr = {.hdr_tag = PFM_CORRELATE_SMPL_TAG};

	assert_int_equal(open_child(&hdr), 0);
	hdr.hdr_tag = PFM_PROFILE_SMPL_TAG;
	assert_int_equal(open_child(&hdr), 0);
	hdr.hdr_tag = 0; /* an older daemon's */
	assert_int_equal(open_child(&hdr), 0);
	hdr.hdr_tag = PFM_STACK_SMPL_TAG;
	assert_int_equal(open_child(&hdr), -EPROTO);
	assert_non_null(strstr(e.text, "format"));
}

/* The file has each record that it has room for as a whole, and can be read. */
TEST(disk_full)
{
	struct rlimit before, limit = {10000, RLIM_INFINITY};
	size_t whole;
	int rc = 0;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	begin();
	whole = (limit.rlim_cur - w.n) / SAMPLE_SIZE;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (size_t i = 0; rc == 0 && i < 10 * whole; i++) {
		sample(i, 10, 0x1100, 1);
		rc = i % 10 == 0 ? data_flush(&w, &e) : 0;
	}
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(data_flush(&w, &e), -EFBIG);
	assert_int_equal(data_close(&w, &e), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	open_recording(RECORDING_ADDRESSES);
	assert_false(r.file.cut);
	assert_int_equal(r.nsamples, whole);
	recording_close(&r);
	assert_int_equal(data_create(&w, "/dev/full", &e), 0);
	assert_int_equal(data_flush(&w, &e), -ENOSPC);
	assert_int_equal(data_close(&w, &e), -ENOSPC);
	assert_int_equal(data_create(&w, "/nonexistent/x", &e), 0);
	assert_int_equal(data_flush(&w, &e), -ENOENT);
	assert_int_equal(data_close(&w, &e), 0);
}

/* A recording that does not come to its first sample leaves the file that was there. */
TEST(older_file_stays)
{
	begin();
	sample(2, 10, 0x1100, 1);
	end();
	assert_int_equal(data_create(&w, path, &e), 0);
	assert_int_equal(data_close(&w, &e), 0);
	open_recording(RECORDING_ADDRESSES);
	assert_int_equal(r.nsamples, 1);
	recording_close(&r);
}

/* --- Names of functions */

__attribute__((noinline)) int a_known_function(int x);
int a_known_function(int x)
{
	return x + 1;
}

__attribute__((noinline)) int a_mangled_function(int x) __asm__("_ZN1a8functionEv");
int a_mangled_function(int x)
{
	return x + 2;
}

/* A local function that begins at a label of the linker's. */
static int __attribute__((noinline, section("labelled"))) a_labelled_function(int x)
{
	return x + 3;
}
extern const char __start_labelled[];

/* The mapping of this program where that function is, as /proc/self/maps has it. */
static struct proc_map own_map(void)
{
	const uint64_t ip = (uintptr_t)&a_known_function;
	CLEANUP_FCLOSE FILE *f = fopen("/proc/self/maps", "re");
	struct proc_map own = {.line = NULL};

	assert_non_null(f);
	do
		assert_true(proc_maps_next(f, &own));
	while (ip - own.map.addr >= own.map.len);
	assert_true(own.executable);
	own.map.pid = (uint32_t)getpid();
	return own;
}

static void write_own(uint8_t wrong, bool without_build_id)
{
	struct proc_map own = own_map();
	struct data_map m = own.map;
	CLEANUP_CLOSE int fd = mapped_file_open_inside(m.pid, own.name, 0);

	m.time = 1;
	m.id_size = build_id_read(fd, m.id);
	if (without_build_id) {
		m.id_size = 0;
		regular_identity(fd, m.id);
	}
	m.id[0] ^= wrong;
	begin();
	assert_int_equal(
		data_put(&w, DATA_MAP, &m, offsetof(struct data_map, name), own.name, &e), 0);
	free(own.line);
	sample(2, m.pid, (uintptr_t)&a_known_function, 1);
	sample(3, m.pid, (uintptr_t)&a_mangled_function, 1);
	sample(4, m.pid, (uintptr_t)&a_labelled_function, 1);
	end();
}

TEST(function_names)
{
	char room[LOCATION_ROOM];

	if (!symbols_supported())
		skip();
	write_own(0, false);
	open_recording(RECORDING_DEFAULT);
	assert_string_equal(
		location_name(recording_first(&r, &r.samples[0]), room), "a_known_function");
	assert_int_equal(recording_first(&r, &r.samples[0])->function_offset, 0);
	assert_ptr_equal(&a_labelled_function, __start_labelled);
	assert_string_equal(
		location_name(recording_first(&r, &r.samples[2]), room), "a_labelled_function");
	assert_int_equal(recording_first(&r, &r.samples[2])->function_offset, 0);
	recording_close(&r);
}

/* A process that has ended may have had another file at that path, in a mount namespace of its own.
 * A build ID would show it. */
#define ENDED UINT32_MAX /* a process */

TEST(ended_process)
{
	struct data_map m = {.time = 1, .addr = 0x1000, .len = 0x1000, .pid = ENDED};
	const pfm_smpl_file_t unknown = {0};
	struct track t;

	if (!symbols_supported())
		skip();
	begin();
	assert_int_equal(track_init(&t, &w, &e), 0);
	assert_int_equal(track_map(&t, &m, "/etc/passwd", &unknown, &e), 0);
	sample(2, m.pid, 0x1100, 1);
	track_free(&t);
	end();
	open_recording(RECORDING_DEMANGLE);
	written(write_flat, out, sizeof(out));
	assert_contains(out, "# addresses instead of names: /etc/passwd: its process had ended");
	recording_close(&r);
}

static void assert_demangled(const char *mangled, const char *expected)
{
	char *name = demangle(mangled);

	if (expected)
		assert_string_equal(name, expected);
	else
		assert_null(name);
	free(name);
}

TEST(demangle)
{
	char bomb[256] = "_Z1f1aIiiE", *at = bomb + strlen(bomb);

	if (!demangle_supported)
		skip();
	assert_demangled("_ZN3map4findERKi", "map::find(int const&)");
	assert_demangled(
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
	assert_demangled("_RNvC3std4exit", "std::exit");
	assert_demangled("main", NULL);
	assert_demangled("_Z", NULL);
	assert_demangled("_ZN", NULL);
	/* Each argument has the one before it twice. */
	for (char id = '0'; id <= '9'; id++)
		at += snprintf(at, 16, "S_IS%c_S%c_E", id, id);
	for (char id = 'A'; id < 'K'; id++)
		at += snprintf(at, 16, "S_IS%c_S%c_E", id, id);
	assert_demangled(bomb, NULL);
}

TEST(demangled_functions)
{
	char room[LOCATION_ROOM];

	if (!symbols_supported())
		skip();
	write_own(0, false);
	open_recording(RECORDING_DEFAULT);
	assert_string_equal(location_name(recording_first(&r, &r.samples[1]), room),
		demangle_supported ? "a::function()" : "_ZN1a8functionEv");
	recording_close(&r);
	open_recording(RECORDING_SYMBOLS);
	assert_string_equal(
		location_name(recording_first(&r, &r.samples[1]), room), "_ZN1a8functionEv");
	recording_close(&r);
}

/* Names of another build of the program would be wrong. */
TEST(another_build_has_no_names)
{
	if (!symbols_supported())
		skip();
	write_own(1, false);
	open_recording(RECORDING_DEFAULT);
	if (r.image.nobjects && recording_first(&r, &r.samples[0])->in->id_size) {
		assert_null(recording_first(&r, &r.samples[0])->function);
		assert_contains(r.notes.p, "build ID");
	}
	recording_close(&r);
}

/* A program without a build ID has its names, and those of no other file of its path. */
TEST(another_file_has_no_names)
{
	char room[LOCATION_ROOM];

	if (!symbols_supported())
		skip();
	write_own(0, true);
	open_recording(RECORDING_DEFAULT);
	assert_string_equal(
		location_name(recording_first(&r, &r.samples[0]), room), "a_known_function");
	recording_close(&r);
	write_own(1, true);
	open_recording(RECORDING_DEFAULT);
	assert_null(recording_first(&r, &r.samples[0])->function);
	assert_contains(r.notes.p, "another file");
	recording_close(&r);
}

TEST(opening_never_waits)
{
	uint32_t pid = (uint32_t)getpid();
	char fifo[sizeof(path) + 8];

	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(mapped_file_open_inside(pid, fifo, 0), -EINVAL);
	unlink(fifo);
	assert_int_equal(mapped_file_open_inside(pid, "/dev/zero", 0), -EINVAL);
}

/* Whether @m is found to be a mapping of @file. */
static bool is_file(const struct data_map *m, const char *name, pfm_smpl_file_t file)
{
	CLEANUP_CLOSE int fd = mapped_file_open(m, name, &file);

	return fd >= 0;
}

/* Makes the file at path another one, and returns its identity. */
static pfm_smpl_file_t make_other(void)
{
	CLEANUP_CLOSE int fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
	pfm_smpl_file_t file = {0};

	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(mapped_file_identify(fd, &file), 0);
	assert_int_not_equal(file.inode, 0);
	return file;
}

TEST(file_of_ended_process)
{
	struct data_map m = {.time = nsec_now(CLOCK_MONOTONIC), .pid = ENDED};
	pfm_smpl_file_t file = make_other();

	assert_false(is_file(&m, path, (pfm_smpl_file_t){0}));
	assert_false(is_file(&m, path, file)); /* changed after it was mapped */
	usleep(20000);
	m.time = nsec_now(CLOCK_MONOTONIC);
	assert_true(is_file(&m, path, file));
	assert_false(is_file(&m, "/etc/passwd", file));
	file.dev_minor ^= 1;
	assert_false(is_file(&m, path, file));
	file.dev_minor ^= 1;
	file.inode++;
	assert_false(is_file(&m, path, file));
}

TEST(file_by_build_id)
{
	struct proc_map own = own_map();
	pfm_smpl_file_t file = {0};
	CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	own.map.pid = ENDED;
	own.map.time = 1;
	file.build_id_size = build_id_read(fd, file.build_id);
	if (!file.build_id_size)
		skip();
	assert_true(is_file(&own.map, own.name, file));
	file.build_id[0] ^= 1;
	assert_false(is_file(&own.map, own.name, file));
	free(own.line);
}

/* After another execve(), a process can have another file at the same addresses. */
TEST(file_of_live_process)
{
	struct proc_map own = own_map();
	pfm_smpl_file_t other = own.file;

	assert_true(is_file(&own.map, own.name, own.file));
	assert_true(is_file(&own.map, own.name, (pfm_smpl_file_t){0}));
	assert_false(is_file(&own.map, path, (pfm_smpl_file_t){0}));
	other.inode++;
	assert_false(is_file(&own.map, own.name, other));
	free(own.line);
}

/* Stops a child with another root. */
static pid_t fork_inside(const char *root)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(chroot(root) < 0 || raise(SIGSTOP));
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

TEST(links_of_another_root)
{
	char root[] = "/tmp/test_pfm_root.XXXXXX", at[sizeof(root) + 16];
	pid_t pid;

	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(root));
	snprintf(at, sizeof(at), "%s/link", root);
	assert_int_equal(symlink("/etc/passwd", at), 0);
	pid = fork_inside(root);
	assert_int_equal(mapped_file_open_inside((uint32_t)pid, "/link", 0), -ENOENT);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	unlink(at);
	rmdir(root);
}

static int end_by(void *signal_number, struct err *err)
{
	(void)err;
	return raise(*(const int *)signal_number);
}

static int bounded_by(int by, struct err *err)
{
	*err = (struct err){0};
	return bounded_run(end_by, &by, "the test", err);
}

TEST(broken_off)
{
	struct err waited;

	assert_int_equal(bounded_by(SIGALRM, &waited), -ETIMEDOUT);
	assert_int_equal(bounded_by(SIGXCPU, &e), -ETIMEDOUT);
	assert_string_not_equal(e.text, waited.text);
	assert_int_equal(bounded_by(SIGKILL, &e), -EIO);
}

TEST(numbers_of_pieces)
{
	char root[] = "/tmp/test_pfm_pieces.XXXXXX", file[64], at[96];
	struct pieces p = {.keep = 2};

	assert_non_null(mkdtemp(root));
	snprintf(file, sizeof(file), "%s/file", root);
	snprintf(at, sizeof(at), "%s.4294967296", file);
	assert_int_equal(close(open(at, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_int_equal(pieces_begin(&p, file, &e), 0);
	assert_int_equal(p.number, UINT64_C(4294967297));
	pieces_free(&p);
	unlink(at);
	snprintf(at, sizeof(at), "%s.18446744073709551615", file);
	assert_int_equal(close(open(at, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	p = (struct pieces){.keep = 2};
	assert_int_equal(pieces_begin(&p, file, &e), -EOVERFLOW);
	pieces_free(&p);
	unlink(at);
	rmdir(root);
	p = (struct pieces){.keep = 2};
	assert_int_equal(pieces_begin(&p, file, &e), -ENOENT);
	pieces_free(&p);
}

/* Becomes root of a user namespace in which no other user exists. */
static bool become_lonely_root(void)
{
	int fd;

	if (unshare(CLONE_NEWUSER) < 0)
		return false;
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, "0 0 1", 5) == 5 && close(fd) == 0;
}

/* Files of another user must not be opened by root. */
TEST(rights_that_cannot_be_given_up)
{
	pid_t pid;
	int status;

	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0)
		_exit(become_lonely_root() ? bounded_as(1000) : 2);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(status, 0);
}

TEST(file_of_made_names)
{
	char names[40];
	int fd;

	snprintf(names, sizeof(names), "/tmp/perf-%d.map", getpid());
	assert_int_equal(symlink(path, names), 0);
	assert_int_equal(mapped_file_open_names((uint32_t)getpid()), -EINVAL);
	unlink(names);
	make_other();
	assert_int_equal(link(path, names), 0);
	fd = mapped_file_open_names((uint32_t)getpid());
	unlink(names);
	assert_true(fd >= 0);
	close(fd);
}

static void write_text(const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

TEST(kallsyms)
{
	struct kallsyms *k;
	const char *module;
	struct symbol s;

	write_text("ffffffff81000100 T later\nffffffff81000000 T first\n"
		   "ffffffff81000080 d data\nffffffffc0000000 t in_module\t[ext4]\nnonsense\n");
	k = kallsyms_open(path, &e);
	assert_non_null(k);
	s = kallsyms_find(k, 0xffffffff81000090, &module);
	assert_string_equal(s.name, "first");
	assert_int_equal(s.offset, 0x90);
	assert_null(module);
	s = kallsyms_find(k, 0xffffffffc0000001, &module);
	assert_string_equal(s.name, "in_module");
	assert_string_equal(module, "[ext4]");
	assert_null(kallsyms_find(k, 0xffffffff80000000, &module).name);
	kallsyms_close(k);
	write_text("0000000000000000 T first\n0000000000000000 T second\n");
	assert_null(kallsyms_open(path, &e));
	assert_int_equal(e.no, EACCES);
}

/* --- Small ones */

TEST(proc_maps)
{
	struct proc_map m = {.line = NULL};
	pfm_smpl_file_t file;
	FILE *f;

	write_text("66d0-55d0 r-xp 00000000 00:00 0 [x]\nx\n"
		   "55d0-66d0 r-xp 00003000 fe:1a 42                  /usr/bin/a b\n"
		   "66d0-77d0 rw-p 00000000 08:01 43                  /usr/bin/a\n"
		   "77d0-88d0 rwxp 00000000 00:00 0 \n");
	f = fopen(path, "re");
	assert_true(proc_maps_next(f, &m) && m.executable);
	assert_string_equal(m.name, "/usr/bin/a b");
	assert_true(m.map.addr == 0x55d0 && m.map.len == 0x1100 && m.map.pgoff == 0x3000);
	assert_true(m.file.dev_major == 0xfe && m.file.dev_minor == 0x1a && m.file.inode == 42);
	assert_true(proc_maps_next(f, &m) && !m.executable);
	assert_true(proc_maps_next(f, &m) && m.executable);
	assert_string_equal(m.name, "//anon");
	assert_false(proc_maps_next(f, &m));
	free(m.line);
	fclose(f);
	assert_int_equal(proc_maps_find(path, 0x77cf, NULL, &file), 0);
	assert_int_equal(file.inode, 43);
	assert_int_equal(proc_maps_find(path, 0x66cf, "/usr/bin/a", &file), -ESRCH);
	assert_int_equal(proc_maps_find(path, 0x88d0, NULL, &file), -ESRCH);
}

/* pfm's own [vdso] has 64 bits. */
TEST(vdso_of_32_bits)
{
	struct data_map m = {.addr = 0xf7fa1000, .len = 0x1000, .pid = 1};
	struct image im;

	assert_int_equal(image_init(&im), 0);
	assert_int_equal(image_add(&im, &m, "[vdso]"), 0);
	assert_string_equal(image_find(&im, 1, m.addr)->object->path, "[vdso32]");
	m.addr = 0x7fff0f7fa1000;
	assert_int_equal(image_add(&im, &m, "[vdso]"), 0);
	assert_string_equal(image_find(&im, 1, m.addr)->object->path, "[vdso]");
	image_free(&im);
}

TEST(sort_keys)
{
	struct flat_keys keys;

	assert_int_equal(flat_parse_keys(&keys, "pid,symbol", &e), 0);
	assert_int_equal(keys.n, 2);
	assert_int_equal(keys.key[1], FLAT_FUNCTION);
	assert_int_equal(flat_parse_keys(&keys, "pid,pid", &e), -EINVAL);
	assert_int_equal(flat_parse_keys(&keys, "pid,", &e), 0);
	assert_int_equal(flat_parse_keys(&keys, "", &e), -EINVAL);
	assert_int_equal(flat_parse_keys(&keys, "weather", &e), -EINVAL);
}

/* The examples of the encoding's documentation. */
TEST(protobuf)
{
	TEXT_CLEANUP struct text t = {0};
	TEXT_CLEANUP struct text inner = {0};

	protobuf_number(&t, 1, 150);
	protobuf_number(&t, 5, 0);
	protobuf_string(&t, 2, "testing");
	protobuf_number(&inner, 1, 150);
	protobuf_message(&t, 3, &inner);
	protobuf_pack(&inner, 3);
	protobuf_pack(&inner, 270);
	protobuf_pack(&inner, 86942);
	protobuf_message(&t, 6, &inner);
	assert_int_equal(t.n, 25);
	assert_memory_equal(t.p,
		"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01\x32\x06\x03\x8e\x02\x9e\xa7\x05",
		25);
}

TEST(page_tells_losses)
{
	begin();
	sample(2, 10, 0x1234, 3);
	lost(DATA_LOST_OVERFLOWS, "a buffer was full");
	end();
	open_recording(RECORDING_ADDRESSES);
	written(html_write, out, sizeof(out));
	assert_contains(
		out, "\"lost: 1 overflows have no sample: a buffer was full\"],\n\"lacks\":true,");
	recording_close(&r);
}

/* Of 16 frames, each of @different functions, and with another weight. Each event has the same
 * number of samples. */
static void random_stacks(unsigned n, unsigned different, uint16_t events)
{
	const struct data_event event = {.period = 1};
	uint32_t random = 1;
	uint64_t frames[17] = {DATA_MARKER_USER};

	begin();
	for (unsigned i = 1; i < events; i++)
		assert_int_equal(data_put(&w, DATA_EVENT, &event, offsetof(struct data_event, name),
					 "another", &e),
			0);
	comm(1, 10, "prog", false);
	map(1, 10, 0x1000, 1 << 20, "/nowhere/lib.so");
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 1; k < 17; k++) {
			random = random * 1664525 + 1013904223;
			frames[k] = 0x1001 + random / 65536 % different;
		}
		stack_event = (uint16_t)(i % events);
		stack(2 + i, 0, frames, 17);
	}
	stack_event = 0;
	end();
	open_recording(RECORDING_ADDRESSES);
}

static void check_small_page(uint16_t events, const char *weight)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	random_stacks(100000, 2000, events);
	assert_int_equal(html_write(&r, f, &e), 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(count(text, weight), events);
	if (size > 1000000)
		fail_msg("%zu bytes", size);
	recording_close(&r);
	free(text);
}

TEST(page_is_small)
{
	check_small_page(1, "\"weight\":100000,");
	check_small_page(10, "\"weight\":10000,");
}

static int write_part(const void *of, FILE *to, struct err *err)
{
	fputs("new", to);
	return of ? err_set(err, EIO, "%s", (const char *)of) : 0;
}

TEST(failed_outputs_replace_nothing)
{
	char output[] = "/tmp/test_pfm_output.XXXXXX", text[8] = "";
	CLEANUP_CLOSE int fd = mkstemp(output);
	struct stat st;

	assert_int_equal(write(fd, "old", 3), 3);
	assert_int_equal(report_to(output, REPORT_MODE, write_part, "it failed", &e), -EIO);
	assert_string_equal(e.text, "it failed");
	assert_int_equal(stat(output, &st), 0);
	assert_int_equal(st.st_size, 3);
	assert_int_equal(report_to(output, REPORT_PRIVATE, write_part, NULL, &e), 0);
	assert_int_equal(stat(output, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close(fd);
	fd = open(output, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 3);
	assert_string_equal(text, "new");
	assert_int_equal(unlink(output), 0);
	assert_int_equal(report_to("/dev/full", REPORT_MODE, write_part, NULL, &e), -ENOSPC);
}

/* What is too much for the page is cut at higher and higher shares: up to those of this weight. */
TEST(page_of_large_weights)
{
	const struct data_event event = {.period = 1, .code = 7};
	FILE *f = fopen("/dev/null", "we");

	assert_int_equal(data_create(&w, path, &e), 0);
	assert_int_equal(data_put(&w, DATA_EVENT, &event, offsetof(struct data_event, name),
				 "instructions", &e),
		0);
	comm(1, 10, "prog", false);
	map(1, 10, 0x1000, 1 << 20, "/nowhere/lib.so");
	sample(1, 10, 0x1000, 3ULL << 62);
	for (uint64_t i = 0; i < 20000; i++)
		sample(2 + i, 10, 0x2000 + i, 1);
	end();
	open_recording(RECORDING_ADDRESSES);
	assert_non_null(f);
	assert_int_equal(html_write(&r, f, &e), 0);
	fclose(f);
	recording_close(&r);
}

int main(void)
{
	return unit_run(make_file, remove_file);
}

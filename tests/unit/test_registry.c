// SPDX-License-Identifier: MIT
/* The registry of sampling formats: what it loads, what it refuses, and the line users write. */
#include <pthread.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "daemon/format/format.h"
#include "formats/formats.h"
#include "perfmonfs/smpl_dfl.h"
#include "perfmonfs/smpl_nway.h"
#include "tests/unit/unit.h"

static const char uuid_text[] = "4d72bec0-0664-4143-82b4-d3fd27243c97";

/* The registry is one for all tests; this is the first. */
TEST(builtin)
{
	struct err e;

	assert_null(format_find(slice_of("default")));
	assert_int_equal(formats_register(builtin_formats, &e), 0);
	assert_ptr_equal(format_find(slice_of("default")), &format_dfl);
	assert_ptr_equal(format_find(slice_of(uuid_text)), &format_dfl);
	assert_ptr_equal(
		format_find(slice_of("4D72BEC0-0664-4143-82B4-D3FD27243C97")), &format_dfl);
	assert_ptr_equal(format_find(slice_of("nway")), &format_nway);
	assert_ptr_equal(format_find(slice_of("hist")), &format_hist);
	assert_ptr_equal(format_find(slice_of("correlate")), &format_correlate);
	assert_null(format_find(slice_of("defaul")));
	assert_null(format_find(slice_of("")));
	assert_int_equal(formats_register(builtin_formats, &e), -EBUSY);
}

static void list(void *arg, const pfm_buffer_fmt_t *fmt)
{
	char uuid[FORMAT_UUID_TEXT];

	format_uuid_text(fmt->fmt_uuid, uuid);
	text_printf(arg, "%s %s\n", uuid, fmt->fmt_name);
}

TEST(each)
{
	TEXT_CLEANUP struct text out = {0};
	char first[64];

	formats_each(list, &out);
	snprintf(first, sizeof(first), "%s default\n", uuid_text);
	assert_memory_equal(out.p, first, strlen(first));
	assert_non_null(strstr(out.p, " nway\n"));
	assert_non_null(strstr(out.p, " correlate\n"));
}

static int no_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	(void)buf, (void)arg, (void)tstamp, (void)data;
	return 0;
}

static const pfm_fmt_param_t bad_params[][3] = {
	{{"two words", 0, 8, 0, 0}},
	{{"a", 0, 2, 0, 0}},
	{{"a", 12, 8, 0, 0}},
	{{"a", SIZE_MAX - 3, 8, 0, 0}},
	{{"a", 0, 4, 0, 1ULL << 32}},
	{{"a", 0, 4, 0, 0}, {"a", 4, 4, 0, 0}},
};

TEST(register_errors)
{
	const pfm_buffer_fmt_t good = {
		.fmt_api = PFM_FMT_API,
		.fmt_name = "good",
		.fmt_uuid = {1},
		.fmt_arg_size = 16,
		.fmt_handler = no_handler,
	};
	pfm_buffer_fmt_t bad[10];
	static const int no[10] = {
		EINVAL, EINVAL, EINVAL, EINVAL, EINVAL, EINVAL, EINVAL, EBUSY, EINVAL, EINVAL};
	struct err e;

	for (unsigned i = 0; i < COUNT(bad); i++)
		bad[i] = good;
	bad[0].fmt_api = PFM_FMT_API + 1;
	bad[1].fmt_name = NULL;
	bad[2].fmt_name = "none";
	bad[3].fmt_name = uuid_text;
	memset(bad[4].fmt_uuid, 0, sizeof(pfm_uuid_t));
	bad[5].fmt_handler = NULL;
	bad[6].fmt_flags = 4;
	bad[7].fmt_name = "hist";
	bad[8].fmt_arg_size = 1 << 20;
	bad[9].fmt_name = "..";
	for (unsigned i = 0; i < COUNT(bad); i++) {
		assert_int_equal(format_register(&(struct plugin){.fmt = &bad[i]}, &e), -no[i]);
		assert_true(e.text[0] && !strchr(e.text, '\n'));
	}
	for (unsigned i = 0; i < COUNT(bad_params); i++) {
		bad[0] = good;
		bad[0].fmt_params = bad_params[i];
		assert_int_equal(format_register(&(struct plugin){.fmt = &bad[0]}, &e), -EINVAL);
	}
	assert_null(format_find(slice_of("good")));
}

TEST(parse)
{
	static const struct {
		const char *text, *printed;
	} cases[] = {
		{"default", "default size=65536\n"},
		{"  default\tsize=0x1000 ", "default size=4096\n"},
		{"default no_hdr size=4096", "default size=4096 no_hdr\n"},
		{"default iip_hdr no_hdr", "default size=65536 no_hdr iip_hdr\n"},
		{"default compact", "default size=65536 compact\n"},
		{"4d72bec0-0664-4143-82b4-d3fd27243c97 size=1", "default size=1\n"},
		{"nway parts=3 mask_when_full", "nway size=65536 parts=3 mask_when_full\n"},
		{"nway parts=4294967295", "nway size=65536 parts=4294967295\n"},
		{"hist size=18446744073709551615", "hist size=18446744073709551615\n"},
		{"correlate", "correlate size=65536 parts=1\n"},
		{"stack", "stack size=262144 frames=127 user_stack=0\n"},
		{"stack no_user frames=7", "stack size=262144 frames=7 user_stack=0 no_user\n"},
		{"profile frames=7 user_stack=64",
			"profile parts=1 size=262144 frames=7 user_stack=64\n"},
		{"profile waits", "profile parts=1 size=262144 frames=127 user_stack=0 waits\n"},
		{"none", "none\n"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		TEXT_CLEANUP struct text out = {0};
		CLEANUP_FREE void *arg = NULL;
		const pfm_buffer_fmt_t *fmt;
		struct err e;

		assert_int_equal(format_parse(slice_of(cases[i].text), &fmt, &arg, &e), 0);
		format_print(fmt, arg, &out);
		assert_string_equal(out.p, cases[i].printed);
	}
}

TEST(parse_errors)
{
	static const struct {
		const char *text;
		int no;
		const char *word; /* that the sentence must have */
	} cases[] = {
		{"", EINVAL, "correlate"},
		{"defaul", EINVAL, "default"},
		{"none size=1", EINVAL, "none"},
		{"default sizes=1", EINVAL, "size="},
		{"default parts=2", EINVAL, "no_hdr"},
		{"default =1", EINVAL, "size="},
		{"default size", EINVAL, "size=NUMBER"},
		{"default size=", EINVAL, "size"},
		{"default size=4k", EINVAL, "4k"},
		{"default size=010", EINVAL, "010"},
		{"default size=-1", EINVAL, "-1"},
		{"default size=1 size=1", EINVAL, "twice"},
		{"default no_hdr no_hdr", EINVAL, "twice"},
		{"default no_hdr=1", EINVAL, "no value"},
		{"default size=18446744073709551616", ERANGE, "size"},
		{"nway parts=4294967296", ERANGE, "parts"},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		const pfm_buffer_fmt_t *fmt = &format_dfl;
		void *arg = &arg;
		struct err e;
		int rc = format_parse(slice_of(cases[i].text), &fmt, &arg, &e);

		if (rc != -cases[i].no || !strstr(e.text, cases[i].word))
			fail_msg("'%s': %d '%s'", cases[i].text, rc, e.text);
		assert_null(fmt);
		assert_null(arg);
	}
}

/* Under /var/lib, since any user can write to /tmp. */
static struct place {
	char dir[64], sub[80]; /* "": not made */
	int fd;
} p;

static void put(const char *from, const char *name)
{
	char cmd[1024];

	snprintf(cmd, sizeof(cmd), "install -m 644 -- '%s' '%s/%s'", from, p.sub, name);
	assert_int_equal(system(cmd), 0);
}

static void put_plugin(const char *name)
{
	char from[512], to[64];

	snprintf(from, sizeof(from), PLUGINS "/%s.so", name);
	snprintf(to, sizeof(to), "%s.so", name);
	put(from, to);
}

/* Why there is no place for directories that only root writes; NULL: there is. */
static const char *no_place(void)
{
	struct stat st;

	if (geteuid() != 0)
		return "needs root: formats are loaded only from where root alone writes";
	if (stat("/var/lib", &st) < 0 || st.st_uid != 0 || (st.st_mode & 022))
		return "/var/lib is not root's alone here";
	return NULL;
}

static void place_make(void)
{
	snprintf(p.dir, sizeof(p.dir), "/var/lib/perfmonfs-test.XXXXXX");
	assert_non_null(mkdtemp(p.dir));
	snprintf(p.sub, sizeof(p.sub), "%s/formats", p.dir);
	assert_int_equal(mkdir(p.sub, 0755), 0);
	p.fd = open(p.sub, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p.fd >= 0);
}

/* After each test, also one that has failed. */
static int place_remove(void **state)
{
	char cmd[128];

	(void)state;
	if (!p.dir[0])
		return 0;
	close(p.fd);
	snprintf(cmd, sizeof(cmd), "rm -rf -- '%s'", p.dir);
	p = (struct place){0};
	return system(cmd);
}

/* Opens and registers a file of the place. */
static int add(const char *name)
{
	char path[160];
	struct plugin plugin;
	struct err e;

	snprintf(path, sizeof(path), "%s/%s", p.sub, name);
	assert_int_equal(plugin_open(path, &plugin, &e), 0);
	if (format_register(&plugin, &e) == 0)
		return 0;
	plugin_close(&plugin);
	return -e.no;
}

static void drop(const char *name)
{
	struct plugin plugin;
	struct err e;

	assert_int_equal(format_unregister(slice_of(name), &plugin, &e), 0);
	plugin_close(&plugin);
}

static uint64_t last_id(void)
{
	uint64_t id = 0;

	while (format_after(&id))
		;
	return id;
}

enum { USES = 1000 };

static void *release_all(void *arg)
{
	struct format_use *const *uses = arg;

	for (unsigned i = 0; i < USES; i++)
		format_put(uses[i]);
	return NULL;
}

TEST_WITH(NULL, place_remove, open_refuses)
{
	static const struct {
		const char *name;
		int no;
	} cases[] = {{"missing.so", ENOENT}, {"missing/c.so", ENOENT}, {"", ENOENT}, {".", EINVAL},
		{"text.so", ENOEXEC}, {"no_symbol.so", ENOEXEC}, {"text.so/c.so", ENOTDIR},
		{"link.so", EINVAL}, {"$LIB.so", EINVAL}, {"writable.so", EPERM}};
	struct plugin plugin;
	char path[160];
	struct err e;

	place_make();
	put("/etc/passwd", "text.so");
	put_plugin("no_symbol");
	put(EXAMPLE, "c.so");
	put(EXAMPLE, "$LIB.so");
	put(EXAMPLE, "writable.so");
	assert_int_equal(fchmodat(p.fd, "writable.so", 0664, 0), 0);
	assert_int_equal(symlinkat("c.so", p.fd, "link.so"), 0);
	for (unsigned i = 0; i < COUNT(cases); i++) {
		snprintf(path, sizeof(path), "%s/%s", p.sub, cases[i].name);
		if (plugin_open(path, &plugin, &e) != -cases[i].no)
			fail_msg("%s: %d '%s'", path, e.no, e.text);
	}
	assert_int_equal(plugin_open("c.so", &plugin, &e), -EINVAL);
	assert_int_equal(plugin_open("formats/c.so", &plugin, &e), -EINVAL);
	assert_int_equal(plugin_open("/", &plugin, &e), -ENOENT);
	snprintf(path, sizeof(path), "%s/c.so", p.sub);
	assert_int_equal(chmod(p.dir, 0775), 0);
	assert_int_equal(plugin_open(path, &plugin, &e), -EPERM);
	assert_int_equal(chmod(p.dir, 0755), 0);
	assert_int_equal(plugin_open(path, &plugin, &e), 0);
	plugin_close(&plugin);
}

TEST_WITH(NULL, place_remove, unregister)
{
	struct format_use *one, *two;
	const pfm_buffer_fmt_t *fmt;
	struct plugin plugin;
	uint64_t id;
	struct err e;

	place_make();
	put(EXAMPLE, "c.so");
	put(EXAMPLE, "copy.so");
	put_plugin("fails");
	assert_int_equal(format_unregister(slice_of("count"), &plugin, &e), -EINVAL);
	assert_int_equal(format_unregister(slice_of(""), &plugin, &e), -EINVAL);
	assert_int_equal(format_unregister(slice_of("default"), &plugin, &e), -EPERM);
	assert_int_equal(add("c.so"), 0);
	assert_int_equal(add("c.so"), -EBUSY);
	assert_int_equal(add("copy.so"), -EBUSY);
	id = last_id();
	assert_int_equal(add("fails.so"), 0);
	fmt = format_find(slice_of("count"));
	assert_ptr_equal(format_by_id(id), fmt);
	assert_ptr_equal(format_by_id(id + 1), format_find(slice_of("fails")));
	assert_null(format_by_id(id + 2));
	assert_null(format_by_id(0));
	one = format_get(fmt);
	two = format_get(fmt);
	assert_int_equal(format_unregister(slice_of("count"), &plugin, &e), -EBUSY);
	assert_non_null(strstr(e.text, "count"));
	format_put(one);
	assert_int_equal(format_unregister(slice_of("count"), &plugin, &e), -EBUSY);
	assert_ptr_equal(format_find(slice_of("count")), fmt);
	format_put(two);
	drop("BB9350C6-207A-482F-AC96-8DE6F3E2AAA8");
	assert_null(format_find(slice_of("count")));
	assert_null(format_by_id(id));
	assert_ptr_equal(format_by_id(id + 1), format_find(slice_of("fails")));
	assert_int_equal(format_unregister(slice_of("count"), &plugin, &e), -EINVAL);
	assert_int_equal(add("copy.so"), 0);
	assert_int_equal(last_id(), id + 2);
	drop("fails");
	drop("count");
	assert_null(format_get(NULL));
	format_put(NULL);
}

/* As a worker drops a buffer that its context could not take. */
TEST_WITH(NULL, place_remove, released_elsewhere)
{
	static struct format_use *uses[USES];
	struct plugin plugin;
	pthread_t thread;
	struct err e;
	int rc;

	place_make();
	put(EXAMPLE, "c.so");
	assert_int_equal(add("c.so"), 0);
	for (unsigned i = 0; i < USES; i++)
		uses[i] = format_get(format_find(slice_of("count")));
	assert_int_equal(format_unregister(slice_of("count"), &plugin, &e), -EBUSY);
	assert_int_equal(pthread_create(&thread, NULL, release_all, uses), 0);
	rc = format_unregister(slice_of("count"), &plugin, &e);
	assert_true(rc == 0 || rc == -EBUSY);
	pthread_join(thread, NULL);
	if (rc < 0)
		assert_int_equal(format_unregister(slice_of("count"), &plugin, &e), 0);
	plugin_close(&plugin);
	assert_null(format_find(slice_of("count")));
}

TEST_WITH(NULL, place_remove, load)
{
	const pfm_buffer_fmt_t *fmt;
	pfm_ovfl_arg_t arg = {.ovfl_pmd = 3, .ovfl_count = 2};
	uint64_t every = 2, buf[2 + PFM_FMT_MAX_PMDS] = {0};
	struct err e;

	place_make();
	put(EXAMPLE, "c.so"); /* the shortest name that is loaded */
	put(EXAMPLE, ".hidden.so");
	put("/etc/passwd", "README");
	put("/etc/passwd", "text.so");
	put_plugin("api");
	put_plugin("fails");
	assert_int_equal(formats_load(p.sub, &e), 0); /* the bad ones do not hinder the good */
	fmt = format_find(slice_of("count"));
	assert_non_null(fmt);
	assert_int_equal(fmt->fmt_init(0, &every, buf), 0);
	assert_int_equal(fmt->fmt_handler(buf, &arg, 1, NULL), 0);
	assert_int_equal(buf[2 + 3], 2);
	assert_true(arg.ovfl_ctrl.notify_user && arg.ovfl_ctrl.reset_ovfl_pmds);
	fmt = format_find(slice_of("fails"));
	assert_non_null(fmt);
	assert_int_equal(fmt->fmt_handler(NULL, &arg, 1, NULL), EIO);
}

TEST_WITH(NULL, place_remove, load_refuses)
{
	static const struct {
		const char *name;
		int no;
		const char *word;
	} cases[] = {
		{"api", EINVAL, "version"},
		{"no_name", EINVAL, "fmt_name"},
		{"no_uuid", EINVAL, "uuidgen"},
		{"no_handler", EINVAL, "fmt_handler"},
		{"no_symbol", ENOEXEC, "perfmonfs_format"},
		{"two_words", EINVAL, "one word"},
		{"param", EINVAL, "over"},
		{"dup_name", EBUSY, "default"},
		{"dup_uuid", EBUSY, uuid_text},
	};
	struct err e;

	place_make();
	for (unsigned i = 0; i < COUNT(cases); i++) {
		char name[64];
		int rc;

		put_plugin(cases[i].name);
		snprintf(name, sizeof(name), "%s.so", cases[i].name);
		rc = format_load_file(p.fd, p.sub, name, &e);
		if (rc != -cases[i].no || !strstr(e.text, cases[i].word))
			fail_msg("%s: %d '%s'", name, rc, e.text);
	}
	assert_int_equal(format_load_file(p.fd, p.sub, "missing.so", &e), -ENOENT);
	put("/etc/passwd", "text.so");
	assert_int_equal(format_load_file(p.fd, p.sub, "text.so", &e), -ENOEXEC);
}

TEST_WITH(NULL, place_remove, load_file_rights)
{
	struct err e;

	place_make();
	/* If it were loaded, its API would be refused. */
	put_plugin("api");
	assert_int_equal(fchmodat(p.fd, "api.so", 0664, 0), 0);
	assert_int_equal(format_load_file(p.fd, p.sub, "api.so", &e), -EPERM);
	assert_int_equal(fchmodat(p.fd, "api.so", 0646, 0), 0);
	assert_int_equal(format_load_file(p.fd, p.sub, "api.so", &e), -EPERM);
	assert_int_equal(fchmodat(p.fd, "api.so", 0644, 0), 0);
	assert_int_equal(fchownat(p.fd, "api.so", 65534, 0, 0), 0);
	assert_int_equal(format_load_file(p.fd, p.sub, "api.so", &e), -EPERM);
	assert_int_equal(fchownat(p.fd, "api.so", 0, 0, 0), 0);
	assert_int_equal(format_load_file(p.fd, p.sub, "api.so", &e), -EINVAL);
	assert_int_equal(symlinkat("api.so", p.fd, "link.so"), 0);
	assert_int_equal(format_load_file(p.fd, p.sub, "link.so", &e), -EINVAL);
	assert_non_null(strstr(e.text, "regular"));
	assert_int_equal(mkfifoat(p.fd, "fifo.so", 0644), 0);
	assert_int_equal(format_load_file(p.fd, p.sub, "fifo.so", &e), -EINVAL);
}

TEST_WITH(NULL, place_remove, load_dir_rights)
{
	char link[80], path[128];
	struct err e;

	place_make();
	assert_int_equal(formats_load(p.sub, &e), 0);
	snprintf(path, sizeof(path), "%s//./formats/", p.dir);
	assert_int_equal(formats_load(path, &e), 0);
	assert_int_equal(chmod(p.sub, 0775), 0);
	assert_int_equal(formats_load(p.sub, &e), -EPERM);
	assert_int_equal(chmod(p.sub, 0755), 0);
	assert_int_equal(chmod(p.dir, 0777 | S_ISVTX), 0);
	assert_int_equal(formats_load(p.sub, &e), -EPERM);
	assert_non_null(strstr(e.text, p.dir));
	assert_int_equal(chmod(p.dir, 0700), 0);
	assert_int_equal(chown(p.dir, 65534, 0), 0);
	assert_int_equal(formats_load(p.sub, &e), -EPERM);
	assert_int_equal(chown(p.dir, 0, 0), 0);
	snprintf(link, sizeof(link), "%s/link", p.dir);
	assert_int_equal(symlink("formats", link), 0);
	assert_int_equal(formats_load(link, &e), -ELOOP);
	snprintf(path, sizeof(path), "%s/missing/formats", p.dir);
	assert_int_equal(formats_load(path, &e), 0);
	assert_int_equal(formats_load("formats", &e), -EINVAL);
	assert_int_equal(formats_load("", &e), -EINVAL);
	put("/etc/passwd", "file");
	snprintf(path, sizeof(path), "%s/file", p.sub);
	assert_int_equal(formats_load(path, &e), -ENOTDIR);
	assert_int_equal(formats_load("/tmp", &e), -EPERM);
}

int main(void)
{
	if (no_place()) {
		printf("1..0 # SKIP %s\n", no_place());
		return 0;
	}
	return unit_run(NULL, NULL);
}

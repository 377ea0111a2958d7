// SPDX-License-Identifier: MIT
/* Grants against an obvious model, a cell for each user and CPU; and the file that keeps them. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/nsec.h"
#include "daemon/authz/grants_file.h"
#include "tests/unit/unit.h"

#define SECOND ((int64_t)NSEC_PER_SEC)

enum { NOW = 1000, USERS = 3, CPUS = 6, FIRST_UID = 1000 };

/* What a user has on a CPU. */
struct cell {
	bool granted, kernel;
	uint64_t expires;
};

static struct cell model[USERS][CPUS];

static uint64_t seed;

static int apply(struct grants *g, const char *text, struct err *e)
{
	return grants_apply(g, slice_of(text), NOW, NULL, e);
}

static char *shown(const struct grants *g)
{
	struct text t = {0};

	grants_show(g, &t);
	return t.p ? t.p : strdup("");
}

static void assert_shows(const struct grants *g, const char *want)
{
	char *got = shown(g);

	assert_string_equal(got, want);
	free(got);
}

TEST(lines)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", ""},
		{"uid=5 cpus=0-3", "uid=5 cpus=0-3\n"},
		{"+uid=5 cpus=3,1 kernel", "uid=5 cpus=1,3 kernel\n"},
		{"+ cpus=1 uid=5", "uid=5 cpus=1\n"},
		{"uid=5 cpus=1 expires=1001", "uid=5 cpus=1 expires=1001\n"},
		{"uid=5 cpus=1 expires=+60", "uid=5 cpus=1 expires=1060\n"},
		{"uid=5 cpus=1\n\nuid=5 cpus=2\n", "uid=5 cpus=1-2\n"},
		{"uid=5 cpus=0-7\nuid=5 cpus=2 kernel",
			"uid=5 cpus=0-1,3-7\nuid=5 cpus=2 kernel\n"},
		{"uid=5 cpus=0-7\n-uid=5 cpus=0-6", "uid=5 cpus=7\n"},
		{"uid=5 cpus=0-7\n-uid=5", ""},
		{"uid=5 cpus=0-7\nuid=6 cpus=0\n-uid=5", "uid=6 cpus=0\n"},
		{"-uid=5 cpus=1", ""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct grants g = {0};

		assert_int_equal(apply(&g, cases[i].text, &why), 0);
		assert_shows(&g, cases[i].want);
		grants_free(&g);
	}
}

TEST(refused)
{
	static const struct {
		const char *text;
		int no;
	} cases[] = {
		{"uid=5", EINVAL},
		{"cpus=5", EINVAL},
		{"+", EINVAL},
		{"-", EINVAL},
		{"-cpus=1", EINVAL},
		{"uid=0 cpus=1", EINVAL},
		{"uid=4294967295 cpus=1", ERANGE},
		{"uid=x cpus=1", EINVAL},
		{"uid=5 uid=6 cpus=1", EINVAL},
		{"uid=5 cpus=1 cpus=2", EINVAL},
		{"uid=5 cpus=", EINVAL},
		{"uid=5 cpus=3-1", EINVAL},
		{"uid=5 cpus=4096", ERANGE},
		{"uid=5 cpus=1 kernel kernel", EINVAL},
		{"uid=5 cpus=1 kernel=1", EINVAL},
		{"uid=5 cpus=1 expires=1000", EINVAL},
		{"uid=5 cpus=1 expires=", EINVAL},
		{"uid=5 cpus=1 expires=1099511627777", ERANGE},
		{"uid=5 cpus=1 expires=+1099511627776", ERANGE},
		{"-uid=5 kernel", EINVAL},
		{"-uid=5 expires=2000", EINVAL},
		{"--uid=5", EINVAL},
		{"uid=5 cpus=1 tid=3", EINVAL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct grants g = {0};

		assert_int_equal(apply(&g, cases[i].text, &why), -cases[i].no);
		assert_int_equal(g.n, 0);
		grants_free(&g);
	}
	assert_int_equal(apply(&(struct grants){0}, "\nuid=5\n", &why), -EINVAL);
	assert_non_null(strstr(why.text, "line 2"));
}

TEST(limit)
{
	struct grants g = {0};
	char line[64];

	for (unsigned i = 0; i < GRANTS_MAX; i++) {
		snprintf(line, sizeof(line), "uid=%u cpus=1", i + 1);
		assert_int_equal(apply(&g, line, &why), 0);
	}
	assert_int_equal(apply(&g, "uid=70000 cpus=1", &why), -ENOSPC);
	assert_int_equal(apply(&g, "uid=7 cpus=2", &why), 0);
	assert_int_equal(apply(&g, "-uid=8\nuid=70000 cpus=1", &why), 0);
	grants_free(&g);
}

/* One random line, done to the model as well. */
static void change(struct grants *g)
{
	unsigned user = below(&seed, USERS), first = below(&seed, CPUS),
		 last = first + below(&seed, CPUS - first);
	bool revoke = below(&seed, 3) == 0, kernel = below(&seed, 2);
	unsigned after = below(&seed, 2) * (1 + below(&seed, 30));
	char line[128];

	if (revoke)
		snprintf(line, sizeof(line), "-uid=%u cpus=%u-%u", FIRST_UID + user, first, last);
	else
		snprintf(line, sizeof(line), "uid=%u cpus=%u-%u%s expires=%u", FIRST_UID + user,
			first, last, kernel ? " kernel" : "", NOW + after);
	if (!revoke && !after)
		*strstr(line, " expires") = '\0';
	assert_int_equal(apply(g, line, &why), 0);
	for (unsigned cpu = first; cpu <= last; cpu++)
		model[user][cpu] = (struct cell){
			!revoke, !revoke && kernel, !revoke && after ? NOW + after : 0};
}

static bool valid(const struct cell *c, uint64_t now)
{
	return c->granted && (!c->expires || now < c->expires);
}

static void check_cell(const struct grants *g, unsigned user, unsigned cpu, uint64_t now)
{
	const struct cell *c = &model[user][cpu];
	struct rights r = {0}, all = {.system = true, .kernel = true};

	grants_add_rights(g, FIRST_UID + user, (int)cpu, now, &r);
	assert_int_equal(r.system, valid(c, now));
	assert_int_equal(r.kernel, valid(c, now) && c->kernel);
	assert_int_equal(r.by_grant.system, r.system);
	assert_int_equal(r.by_grant.kernel, r.kernel);
	assert_false(r.thread);
	assert_true(grants_cover(g, &r, cpu, now));
	r.by_grant = (struct rights_by_grant){.kernel = true, .uid = FIRST_UID + user};
	assert_int_equal(grants_cover(g, &r, cpu, now), valid(c, now) && c->kernel);
	grants_add_rights(g, FIRST_UID + user, (int)cpu, now, &all);
	assert_false(all.by_grant.system || all.by_grant.kernel);
}

static void check_any(const struct grants *g, unsigned user, uint64_t now)
{
	bool any = false, kernel = false;
	struct rights r = {0};

	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		any |= valid(&model[user][cpu], now);
		kernel |= valid(&model[user][cpu], now) && model[user][cpu].kernel;
	}
	grants_add_rights(g, FIRST_UID + user, GRANT_ANY_CPU, now, &r);
	assert_int_equal(r.system, any);
	assert_int_equal(r.kernel, kernel);
	r = (struct rights){0};
	grants_add_rights(g, FIRST_UID + user, GRANT_NO_CPU, now, &r);
	assert_false(r.system || r.kernel);
}

TEST(model)
{
	struct grants g = {0};

	for (seed = 1; seed < 200; seed++) {
		uint64_t before = seed;

		memset(model, 0, sizeof(model));
		for (unsigned n = 0; n < 30; n++) {
			uint64_t now = NOW + below(&seed, 35);

			change(&g);
			if (below(&seed, 8) == 0) /* changes nothing that can be seen later */
				grants_expire(&g, NOW);
			for (unsigned user = 0; user < USERS; user++) {
				for (unsigned cpu = 0; cpu < CPUS; cpu++)
					check_cell(&g, user, cpu, now);
				check_any(&g, user, now);
			}
		}
		grants_free(&g);
		seed = before;
	}
}

/* Without a clock that is set back, a grant of 60 s ends after 60 s; with one, too. */
TEST(clock_set_back)
{
	int64_t offset = 5000 * SECOND;
	struct grants g = {0};
	struct err e;

	assert_int_equal(apply(&g, "uid=5 cpus=1 expires=1060\nuid=6 cpus=1", &e), 0);
	assert_false(grants_follow_clock(&g, &offset, 5000 * SECOND));
	assert_false(grants_follow_clock(&g, &offset, 5007 * SECOND)); /* set forward */
	assert_false(grants_follow_clock(&g, &offset, 5007 * SECOND - SECOND / 2));
	assert_shows(&g, "uid=5 cpus=1 expires=1060\nuid=6 cpus=1\n");
	assert_true(grants_follow_clock(&g, &offset, 4977 * SECOND - SECOND / 2));
	assert_shows(&g, "uid=5 cpus=1 expires=1030\nuid=6 cpus=1\n");
	/* Half seconds add up. */
	assert_true(grants_follow_clock(&g, &offset, 4976 * SECOND));
	assert_shows(&g, "uid=5 cpus=1 expires=1029\nuid=6 cpus=1\n");
	/* A grant that the clock no longer reaches has expired. */
	assert_true(grants_follow_clock(&g, &offset, -5000 * SECOND));
	assert_true(grants_expire(&g, 2));
	assert_shows(&g, "uid=6 cpus=1\n");
	grants_free(&g);
}

TEST(expire)
{
	struct grants g = {0};

	assert_int_equal(
		apply(&g, "uid=5 cpus=1 expires=1005\nuid=6 cpus=1 expires=1003\nuid=7 cpus=1",
			&why),
		0);
	assert_int_equal(grants_next_expiry(&g), 1003);
	assert_false(grants_expire(&g, 1002));
	assert_true(grants_expire(&g, 1003));
	assert_shows(&g, "uid=5 cpus=1 expires=1005\nuid=7 cpus=1\n");
	assert_true(grants_expire(&g, 2000));
	assert_int_equal(grants_next_expiry(&g), 0);
	grants_free(&g);
}

/* A writer and an opener must both have a right; two users' grants do not add up to one. */
TEST(common)
{
	const struct rights none = {0}, group = {.system = true, .kernel = true, .thread = true},
			    mine = {.system = true, .kernel = true, .by_grant = {true, true, 5}},
			    theirs = {.system = true, .by_grant = {true, false, 6}};
	struct rights r;

	r = grants_common_rights(&group, &none);
	assert_false(r.system || r.kernel || r.thread || r.by_grant.system);
	r = grants_common_rights(&group, &mine);
	assert_true(r.system && r.kernel && r.by_grant.system && r.by_grant.kernel);
	assert_int_equal(r.by_grant.uid, 5);
	r = grants_common_rights(&mine, &group);
	assert_true(r.by_grant.system && r.by_grant.uid == 5);
	r = grants_common_rights(&group, &theirs);
	assert_true(r.system && r.by_grant.system && r.by_grant.uid == 6);
	assert_false(r.kernel || r.by_grant.kernel);
	r = grants_common_rights(&mine, &theirs);
	assert_false(r.system || r.kernel || r.by_grant.system || r.by_grant.kernel);
	r = grants_common_rights(&mine, &mine);
	assert_true(r.system && r.by_grant.system && r.by_grant.uid == 5);
}

/* A directory of the test's own. */
struct place {
	char dir[64], file[128];
};

#define MOUNTPOINT "/mnt/a-b c"

static void place_make(struct place *p)
{
	strcpy(p->dir, "/tmp/test_grants.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->file, sizeof(p->file), "%s/grants.mnt-a\\x2db\\x20c", p->dir);
}

static void place_end(struct place *p)
{
	unlink(p->file);
	assert_int_equal(rmdir(p->dir), 0);
}

static void place_put(struct place *p, const char *text, size_t n, mode_t mode)
{
	int fd = open(p->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

TEST(file)
{
	static const char lines[] = "uid=5 cpus=0-3 kernel\nuid=6 cpus=1 expires=2000\n";
	struct grants g = {0}, again = {0};
	struct place p;
	struct stat st;

	place_make(&p);
	assert_int_equal(grants_file_load("/nonexistent", MOUNTPOINT, NOW, &again, &why), 0);
	assert_int_equal(grants_file_load(p.dir, MOUNTPOINT, NOW, &again, &why), 0);
	assert_int_equal(again.n, 0);
	assert_int_equal(apply(&g, lines, &why), 0);
	assert_int_equal(grants_file_save(p.dir, MOUNTPOINT, &g, &why), 0);
	assert_int_equal(stat(p.file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(grants_file_load(p.dir, MOUNTPOINT, NOW, &again, &why), 0);
	assert_shows(&again, lines);
	assert_int_equal(grants_file_load(p.dir, MOUNTPOINT, 2000, &again, &why), 0);
	assert_shows(&again, "uid=5 cpus=0-3 kernel\n");
	assert_int_equal(grants_file_load(p.dir, "/mnt/a/b c", NOW, &again, &why), 0);
	assert_int_equal(again.n, 0);
	grants_free(&g);
	assert_int_equal(grants_file_save(p.dir, MOUNTPOINT, &g, &why), 0);
	assert_int_equal(stat(p.file, &st), -1);
	grants_free(&again);
	place_end(&p);
}

TEST(damaged)
{
	static const struct {
		const char *text;
		mode_t mode;
		int no;
	} cases[] = {
		{"uid=5 cpus=0", 0600, EINVAL},
		{"uid=5 cpus=0\nuid=6 cp\n", 0600, EINVAL},
		{"-uid=5\n", 0600, EINVAL},
		{"+uid=5 cpus=0\n", 0600, EINVAL},
		{"uid=5 cpus=0\n\n", 0600, EINVAL},
		{"uid=5 cpus=5000\n", 0600, ERANGE},
		{"uid=5 cpus=0\n", 0620, EPERM},
		{"uid=5 cpus=0\n", 0602, EPERM},
	};
	struct grants g = {0};
	struct place p;

	place_make(&p);
	for (size_t i = 0; i < COUNT(cases); i++) {
		place_put(&p, cases[i].text, strlen(cases[i].text), cases[i].mode);
		assert_int_equal(grants_file_load(p.dir, MOUNTPOINT, NOW, &g, &why), -cases[i].no);
		assert_non_null(strstr(why.text, p.file));
		assert_int_equal(g.n, 0);
	}
	place_put(&p, "uid=5 cpus=0\n\0\n", 15, 0600);
	assert_int_equal(grants_file_load(p.dir, MOUNTPOINT, NOW, &g, &why), -EINVAL);
	unlink(p.file);
	assert_int_equal(symlink("/dev/null", p.file), 0);
	assert_int_equal(grants_file_load(p.dir, MOUNTPOINT, NOW, &g, &why), -ELOOP);
	place_end(&p);
}

/* Saves two tables in turn, until it is killed. */
static _Noreturn void save_for_ever(const struct place *p, const struct grants two[2])
{
	for (unsigned i = 0;; i++)
		if (grants_file_save(p->dir, MOUNTPOINT, &two[i % 2], &why) < 0)
			_exit(1);
}

TEST(killed)
{
	struct grants two[2] = {0}, g = {0};
	char new[160];
	struct place p;

	place_make(&p);
	seed = 1;
	assert_int_equal(apply(&two[0], "uid=5 cpus=0-3 kernel\n", &why), 0);
	assert_int_equal(apply(&two[1], "uid=5 cpus=0-3\nuid=6 cpus=1,3,5,7,9\n", &why), 0);
	assert_int_equal(grants_file_save(p.dir, MOUNTPOINT, &two[0], &why), 0);
	for (unsigned i = 0; i < 50; i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid)
			save_for_ever(&p, two);
		usleep(below(&seed, 3000));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(grants_file_load(p.dir, MOUNTPOINT, NOW, &g, &why), 0);
		assert_true(g.n == 1 || g.n == 2);
		assert_int_equal(g.grant[0].kernel, g.n == 1);
	}
	grants_free(&two[0]);
	grants_free(&two[1]);
	grants_free(&g);
	snprintf(new, sizeof(new), "%s.new", p.file);
	unlink(new);
	place_end(&p);
}

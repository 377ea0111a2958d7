// SPDX-License-Identifier: MIT
/*
 * The journal of a killed daemon: recovery gets exactly the valid records of a journal of this boot
 * and device, in order, and the journal is kept if recovery fails.
 *
 * The input begins with a letter that selects what is corrected in the file, because mutation does
 * not find a valid header or checksum:
 *   r  nothing: the rest is the whole file
 *   h  a valid header is inserted before the rest
 *   s  as h, and the records' checksums are corrected
 *   f  as s, and recovery fails
 *   x  as s, but two bytes of offset and one to exclusive-or alter the header, with its checksum
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/msr/journal.h"
#include "backend/msr/journal_format.h"
#include "base/cleanup.h"

enum { MAX_RECORDS = 512 };

static struct {
	char dev[32], run[40];
	char stale[64]; /* The journal of a process that does not exist. */
	struct journal_head head;
} env;

struct file {
	struct journal_head head;
	struct journal_record rec[MAX_RECORDS];
};

/* Expected and actual arguments of recovery. */
struct expected {
	struct journal_entry e[MAX_RECORDS];
	size_t n;
	bool fails, asked;
};

static int recover(void *arg, struct journal_entry *entries, size_t n, struct err *e)
{
	struct expected *x = arg;

	CHECK(!x->asked && n && n == x->n);
	x->asked = true;
	for (size_t i = 0; i < n; i++)
		CHECK(entries[i].cpu == x->e[i].cpu && entries[i].addr == x->e[i].addr &&
			entries[i].orig == x->e[i].orig && entries[i].mask == x->e[i].mask);
	return x->fails ? err_set(e, EIO, "the registers fault") : 0;
}

static int transfer(void *arg, struct journal *j, struct err *e)
{
	(void)arg;
	(void)j;
	(void)e;
	return 0;
}

static const struct journal_ops ops = {recover, transfer};

static void put(const char *path, const void *p, size_t n)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, p, n) == (ssize_t)n);
}

static void clean_up(void)
{
	unlink(env.stale);
	rmdir(env.run);
	rmdir(env.dev);
}

/* Reads the header of a journal that the code under test has written. */
static void set_up(void)
{
	char own[64];
	struct journal *j;
	struct err e;

	strcpy(env.dev, "/tmp/fuzz_journal.XXXXXX");
	CHECK(mkdtemp(env.dev));
	snprintf(env.run, sizeof(env.run), "%s/run", env.dev);
	snprintf(env.stale, sizeof(env.stale), "%s/journal.%d", env.run, INT32_MAX);
	snprintf(own, sizeof(own), "%s/journal.%d", env.run, getpid());
	CHECK(journal_open(env.run, env.dev, &ops, NULL, &j, &e) == 0);
	{
		CLEANUP_CLOSE int fd = open(own, O_RDONLY | O_CLOEXEC);

		CHECK(fd >= 0 && read(fd, &env.head, sizeof(env.head)) == sizeof(env.head));
	}
	journal_close(j, false);
	atexit(clean_up);
	/* Damaged journals are reported on stderr; sanitizers and libFuzzer use the descriptor. */
	stderr = fopen("/dev/null", "we");
	CHECK(stderr);
}

static void right_sums(struct journal_record *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r[i].sum = journal_sum(&r[i], offsetof(struct journal_record, sum));
}

/* Builds the file that the input describes; returns its size. */
static size_t build(struct file *f, struct slice in, struct expected *x)
{
	char how = in.n ? in.p[0] : 'r';
	size_t room = how == 'r' ? sizeof(*f) : sizeof(f->rec);
	void *to = how == 'r' ? (void *)f : f->rec;

	if (in.n)
		in.p++, in.n--;
	f->head = env.head;
	if (how == 'x' && in.n >= 3) {
		const unsigned char *b = (const unsigned char *)in.p;

		((char *)&f->head)[(b[0] << 8 | b[1]) % offsetof(struct journal_head, sum)] ^= b[2];
		f->head.sum = journal_sum(&f->head, offsetof(struct journal_head, sum));
		in.p += 3;
		in.n -= 3;
	}
	if (in.n > room)
		in.n = room;
	memcpy(to, in.p, in.n);
	if (how == 's' || how == 'f' || how == 'x')
		right_sums(f->rec, in.n / sizeof(f->rec[0]));
	x->fails = how == 'f';
	return in.n + (how == 'r' ? 0 : sizeof(f->head));
}

static void expect(const struct file *f, size_t size, struct expected *x)
{
	if (size < sizeof(f->head) || memcmp(&f->head, &env.head, sizeof(f->head)) != 0)
		return;
	for (size_t i = 0; i < (size - sizeof(f->head)) / sizeof(f->rec[0]); i++) {
		const struct journal_record *r = &f->rec[i];

		if (r->in_use && r->sum == journal_sum(r, offsetof(struct journal_record, sum)))
			x->e[x->n++] =
				(struct journal_entry){r->cpu, r->addr, r->orig, r->mask, false};
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file f;
	static struct expected x;
	struct journal *j;
	struct err e;
	size_t n;
	int rc;

	if (!env.dev[0])
		set_up();
	x = (struct expected){0};
	n = build(&f, slice_of_input(data, size), &x);
	put(env.stale, &f, n);
	expect(&f, n, &x);
	rc = journal_open(env.run, env.dev, &ops, &x, &j, &e);
	CHECK(x.asked == (x.n > 0));
	if (x.asked && x.fails) {
		check_refusal(rc, &e);
		CHECK(e.no == EIO && access(env.stale, F_OK) == 0);
	} else {
		CHECK(rc == 0);
		journal_close(j, false);
	}
	if (x.asked && !x.fails)
		CHECK(access(env.stale, F_OK) < 0);
	unlink(env.stale);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Opening a journal takes a lock on the directory. Otherwise, a starting daemon could find the
 * journal of another starting daemon before it is locked, and take it for a killed daemon's.
 */
#include "backend/msr/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "backend/msr/journal_format.h"
#include "base/cleanup.h"
#include "base/num.h"
#include "base/trusted.h"

enum {
	BATCH = 128,                 /* Records per read. */
	MAX_SIZE = 64 * 1024 * 1024, /* Bytes; larger than any valid journal. */
};

struct journal {
	int dir, fd;
	char name[32];
};

struct journal_entries {
	struct journal_entry *p;
	size_t n, room;
};

/* A recovered journal. It is locked until it is removed. */
struct journal_stale {
	struct journal_stale *next;
	int fd;
	char name[NAME_MAX + 1];
};

struct journal_opening {
	const struct journal_ops *ops;
	void *arg;
	struct journal_head head;
	struct journal_stale *stale;
};

static int journal_boot_id(char id[JOURNAL_BOOT_ID], struct err *e)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, id, JOURNAL_BOOT_ID - 1);

	if (n <= 0)
		return err_set(e, errno ? errno : EIO, "cannot read %s: %s: is /proc mounted?",
			path, err_name(errno));
	memset(id + n, 0, (size_t)(JOURNAL_BOOT_ID - n));
	id[strcspn(id, "\n")] = '\0';
	return 0;
}

/* The header of journals of this boot and this device directory. */
static int journal_make_head(const char *dev, struct journal_head *head, struct err *e)
{
	struct stat st;

	*head = (struct journal_head){.magic = JOURNAL_MAGIC, .version = JOURNAL_VERSION};
	if (strlen(dev) >= sizeof(head->dev))
		return err_set(e, ENAMETOOLONG, "%.80s...: ENAMETOOLONG", dev);
	strcpy(head->dev, dev);
	if (stat(dev, &st) < 0)
		return err_set(e, errno, "cannot access %s: %s", dev, err_name(errno));
	head->st_dev = st.st_dev;
	head->st_ino = st.st_ino;
	if (journal_boot_id(head->boot_id, e) < 0)
		return -e->no;
	head->sum = journal_sum(head, offsetof(struct journal_head, sum));
	return 0;
}

static int journal_open_dir(const char *path, struct err *e)
{
	CLEANUP_CLOSE int fd = -1;
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_set(e, errno, "cannot make the directory %s: %s", path, err_name(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "cannot open the directory %s: %s", path, err_name(errno));
	if (trusted_check(&st, TRUSTED_SELF, path, "its contents are written to registers", e) < 0)
		return -e->no;
	return take_fd(&fd);
}

/*
 * Serializes daemons that start concurrently. The lock is on a file, not on the directory itself:
 * any user with read permission on the directory could lock it and prevent daemons from starting.
 */
static int journal_lock_dir(int dir, const char *path, struct err *e)
{
	CLEANUP_CLOSE int fd = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_set(e, errno, "cannot lock %s/lock: %s", path, err_name(errno));
	return take_fd(&fd);
}

static bool journal_is_name(const char *name)
{
	struct slice s = slice_of(name);
	struct err ignored;
	uint64_t pid;

	slice_cut(&s, '.');
	return strncmp(name, "journal.", 8) == 0 && num_max(s, INT32_MAX, &pid, &ignored) == 0;
}

/* Opens a journal; -1 if @name is not one. */
static int journal_open_any(int dir, const char *name, struct stat *st)
{
	CLEANUP_CLOSE int fd = -1;

	if (!journal_is_name(name))
		return -1;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, st) < 0)
		return -1;
	if (!S_ISREG(st->st_mode) || !trusted_is(st, TRUSTED_SELF))
		return -1;
	return take_fd(&fd);
}

/* Opens and locks a journal whose daemon is dead; -1 if @name is not such a journal. */
static int journal_open_stale(int dir, const char *name, struct stat *st)
{
	CLEANUP_CLOSE int fd = journal_open_any(dir, name, st);

	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ? -1 : take_fd(&fd);
}

static int journal_add_entry(
	struct journal_entries *all, const struct journal_record *r, struct err *e)
{
	if (!r->in_use || r->sum != journal_sum(r, offsetof(struct journal_record, sum)))
		return 0;
	if (all->n == all->room) {
		size_t room = all->room ? 2 * all->room : BATCH;
		struct journal_entry *p = reallocarray(all->p, room, sizeof(*p));

		if (!p)
			return err_set(e, ENOMEM, "no memory to read a journal");
		all->p = p;
		all->room = room;
	}
	all->p[all->n++] = (struct journal_entry){
		r->cpu, r->addr, r->orig, r->mask, r->in_use == JOURNAL_UNRESTORED};
	return 0;
}

static int journal_read_entries(int fd, struct journal_entries *all, struct err *e)
{
	struct journal_record r[BATCH];
	off_t at = sizeof(struct journal_head);
	ssize_t n;

	while ((n = pread(fd, r, sizeof(r), at)) > 0) {
		for (size_t i = 0; i < (size_t)n / sizeof(r[0]); i++)
			if (journal_add_entry(all, &r[i], e) < 0)
				return -e->no;
		at += n;
	}
	return n < 0 ? err_set(e, errno, "cannot read it: %s", err_name(errno)) : 0;
}

enum journal_class { DAMAGED, OTHER_BOOT, OTHER_DEVICE, OURS };

static enum journal_class journal_classify(
	int fd, const struct stat *st, const struct journal_head *ours)
{
	struct journal_head head;

	if (st->st_size > MAX_SIZE || pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
		memcmp(head.magic, ours->magic, sizeof(head.magic)) != 0 ||
		head.sum != journal_sum(&head, offsetof(struct journal_head, sum)))
		return DAMAGED;
	if (memcmp(head.boot_id, ours->boot_id, sizeof(head.boot_id)) != 0)
		return OTHER_BOOT;
	if (head.version != ours->version)
		return DAMAGED;
	return memcmp(&head, ours, sizeof(head)) == 0 ? OURS : OTHER_DEVICE;
}

static int journal_recover_entries(const struct journal_opening *o, int fd, struct err *e)
{
	struct journal_entries all = {0};
	int rc = journal_read_entries(fd, &all, e);

	if (rc == 0 && all.n)
		rc = o->ops->recover(o->arg, all.p, all.n, e);
	free(all.p);
	return rc;
}

/* Remembers that the journal can be removed. */
static int journal_add_stale(struct journal_opening *o, const char *name, int fd, struct err *e)
{
	struct journal_stale *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(e, ENOMEM, "no memory to remove it");
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->fd = fd;
	s->next = o->stale;
	o->stale = s;
	return 0;
}

static int journal_recover_stale(
	struct journal_opening *o, int dir, const char *name, struct err *e)
{
	struct stat st;
	CLEANUP_CLOSE int fd = journal_open_stale(dir, name, &st);
	int rc = 0;

	if (fd < 0)
		return 0;
	switch (journal_classify(fd, &st, &o->head)) {
	case OTHER_DEVICE:
		return 0;
	case OTHER_BOOT:
		break;
	case DAMAGED:
		fprintf(stderr, "perfmonfs: %s is damaged and is removed unused\n", name);
		break;
	case OURS:
		rc = journal_recover_entries(o, fd, e);
		break;
	}
	if (rc == 0)
		rc = journal_add_stale(o, name, fd, e);
	if (rc < 0)
		return err_prefix(e, "%s of a daemon that was killed", name);
	take_fd(&fd);
	return 0;
}

static int journal_recover_all(struct journal_opening *o, int dir, struct err *e)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSEDIR DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d)
		return err_set(
			e, errno, "cannot read the journals' directory: %s", err_name(errno));
	while ((de = readdir(d)))
		if (journal_recover_stale(o, dir, de->d_name, e) < 0)
			return -e->no;
	return 0;
}

/* Frees the list of recovered journals and, with @remove, removes all of their files except
 * @kept. */
static void journal_free_stale(struct journal_opening *o, int dir, bool remove, const char *kept)
{
	while (o->stale) {
		struct journal_stale *s = o->stale;

		if (remove && strcmp(s->name, kept) != 0)
			unlinkat(dir, s->name, 0);
		o->stale = s->next;
		close(s->fd);
		free(s);
	}
}

/* The name under which to write this daemon's journal. A dead daemon may have had the same pid: its
 * journal is replaced when this one is complete. */
static const char *journal_first_name(const struct journal *j, const struct journal_opening *o)
{
	static const char incomplete[] = "journal.new";

	for (const struct journal_stale *s = o->stale; s; s = s->next)
		if (strcmp(s->name, j->name) == 0) {
			unlinkat(j->dir, incomplete, 0);
			return incomplete;
		}
	return j->name;
}

/* Fills the file @name, which becomes the journal of this daemon. */
static int journal_fill(struct journal *j, const char *run_dir, const char *name,
	const struct journal_opening *o, struct err *e)
{
	errno = ENOSPC; /* The errno of a short write, which sets none. */
	if (flock(j->fd, LOCK_EX | LOCK_NB) < 0 ||
		pwrite(j->fd, &o->head, sizeof(o->head), 0) != sizeof(o->head))
		return err_set(e, errno, "cannot write %s/%s: %s", run_dir, name, err_name(errno));
	if (o->ops->transfer(o->arg, j, e) < 0)
		return -e->no;
	if (name != j->name && renameat(j->dir, name, j->dir, j->name) < 0)
		return err_set(e, errno, "cannot rename %s/%s: %s", run_dir, name, err_name(errno));
	return 0;
}

/* Creates and locks the journal of this daemon. */
static int journal_start(
	struct journal *j, const char *run_dir, const struct journal_opening *o, struct err *e)
{
	const char *name;

	snprintf(j->name, sizeof(j->name), "journal.%d", getpid());
	name = journal_first_name(j, o);
	j->fd = openat(j->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (j->fd < 0)
		return err_set(e, errno, "cannot create %s/%s: %s%s", run_dir, name,
			err_name(errno),
			errno == EEXIST ? ": it belongs to another device directory or pid "
					  "namespace: remove it"
					: "");
	if (journal_fill(j, run_dir, name, o, e) < 0) {
		unlinkat(j->dir, name, 0);
		close(j->fd);
		return -e->no;
	}
	return 0;
}

static int journal_open_in(
	struct journal *j, struct journal_opening *o, const char *run_dir, struct err *e)
{
	CLEANUP_CLOSE int lock = journal_lock_dir(j->dir, run_dir, e);
	int rc = lock < 0 ? lock : journal_recover_all(o, j->dir, e);

	if (rc == 0)
		rc = journal_start(j, run_dir, o, e);
	journal_free_stale(o, j->dir, rc == 0, j->name);
	return rc;
}

int journal_open(const char *run_dir, const char *dev, const struct journal_ops *ops, void *arg,
	struct journal **out, struct err *e)
{
	CLEANUP_FREE struct journal *j = calloc(1, sizeof(*j));
	struct journal_opening o = {.ops = ops, .arg = arg};
	CLEANUP_CLOSE int dir = -1;
	int rc;

	if (!j)
		return err_set(e, ENOMEM, "no memory for the journal");
	rc = journal_make_head(dev, &o.head, e);
	if (rc < 0)
		return rc;
	dir = journal_open_dir(run_dir, e);
	if (dir < 0)
		return dir;
	j->dir = dir;
	rc = journal_open_in(j, &o, run_dir, e);
	if (rc < 0)
		return rc;
	j->dir = take_fd(&dir);
	*out = take_ptr(&j);
	return 0;
}

int journal_put(struct journal *j, unsigned slot, const struct journal_entry *entry, struct err *e)
{
	off_t at = (off_t)sizeof(struct journal_head) + (off_t)slot * sizeof(struct journal_record);
	struct journal_record r = {
		.cpu = entry->cpu,
		.addr = entry->addr,
		.orig = entry->orig,
		.mask = entry->mask,
		.in_use = !entry->mask        ? JOURNAL_FREE
			  : entry->unrestored ? JOURNAL_UNRESTORED
					      : JOURNAL_IN_USE,
	};
	ssize_t n;

	r.sum = journal_sum(&r, offsetof(struct journal_record, sum));
	n = pwrite(j->fd, &r, sizeof(r), at);
	if (n == sizeof(r))
		return 0;
	return err_set(e, n < 0 ? errno : ENOSPC,
		"cannot write the journal (%s): %s: no register is reserved without a record",
		j->name, err_name(n < 0 ? errno : ENOSPC));
}

static bool journal_has(int fd, uint32_t cpu, uint32_t addr)
{
	struct journal_entries all = {0};
	struct err ignored;
	bool has = false;

	if (journal_read_entries(fd, &all, &ignored) == 0)
		for (size_t i = 0; i < all.n; i++)
			has = has || (all.p[i].cpu == cpu && all.p[i].addr == addr);
	free(all.p);
	return has;
}

/* The pid of the daemon of journal @name if it is running and uses the same device directory;
 * otherwise 0. */
static pid_t journal_running(
	const struct journal *j, const struct journal_head *ours, const char *name, int *fd)
{
	struct stat st;
	pid_t pid;

	*fd = strcmp(name, j->name) == 0 ? -1 : journal_open_any(j->dir, name, &st);
	if (*fd < 0)
		return 0;
	pid = (pid_t)strtol(name + strlen("journal."), NULL, 10);
	return kill(pid, 0) == 0 && journal_classify(*fd, &st, ours) == OURS ? pid : 0;
}

pid_t journal_owner(const struct journal *j, uint32_t cpu, uint32_t addr)
{
	int dir = j ? openat(j->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	CLEANUP_CLOSEDIR DIR *d = dir < 0 ? NULL : fdopendir(dir);
	struct journal_head ours;
	struct dirent *de;
	pid_t owner = 0;

	if (!d || pread(j->fd, &ours, sizeof(ours), 0) != sizeof(ours))
		return 0;
	while (!owner && (de = readdir(d))) {
		CLEANUP_CLOSE int fd = -1;
		pid_t pid = journal_running(j, &ours, de->d_name, &fd);

		if (pid && journal_has(fd, cpu, addr))
			owner = pid;
	}
	return owner;
}

void journal_close(struct journal *j, bool keep)
{
	if (!j)
		return;
	if (!keep)
		unlinkat(j->dir, j->name, 0);
	close(j->fd);
	close(j->dir);
	free(j);
}

static unsigned journal_count_unrestored(int fd)
{
	struct journal_entries all = {0};
	struct err ignored;
	unsigned n = 0;

	journal_read_entries(fd, &all, &ignored);
	for (size_t i = 0; i < all.n; i++)
		n += all.p[i].unrestored;
	free(all.p);
	return n;
}

void journal_summary(const char *run_dir, const char *dev, struct journal_summary *out)
{
	CLEANUP_CLOSEDIR DIR *d = opendir(run_dir);
	struct journal_head ours;
	struct dirent *de;
	struct err ignored;
	bool known = journal_make_head(dev, &ours, &ignored) == 0;

	*out = (struct journal_summary){0};
	while (known && d && (de = readdir(d))) {
		struct stat st;
		CLEANUP_CLOSE int fd = journal_open_any(dirfd(d), de->d_name, &st);

		if (fd < 0 || journal_classify(fd, &st, &ours) != OURS)
			continue;
		out->unrestored += journal_count_unrestored(fd);
		out->unfinished += flock(fd, LOCK_EX | LOCK_NB) == 0;
	}
}

// SPDX-License-Identifier: MIT
/*
 * The device files behave as arch/x86/kernel/msr.c and cpuid.c do: the position is the
 * register's number, a longer access repeats, and what was done before a failure counts. The tree
 * never changes, so inode numbers are computed from what a node is, and nothing is kept for one
 * but the text of an open knob.
 *
 * All files are direct_io: what a read asks for is what arrives here.
 */
#define FUSE_USE_VERSION 312
#include "tools/msrsim_fs.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"

enum node_kind { NODE_ROOT, NODE_SIM, NODE_CPU, NODE_KNOB, NODE_MSR, NODE_CPUID };

struct node {
	enum node_kind kind;
	unsigned index; /* of the CPU or knob */
};

enum {
	KIND_BITS = 3,
	NAME_SIZE = 16,
	KNOB_TEXT_MAX = 4096,
	MSR_SIZE = 8,
	CPUID_SIZE = 16,
};

static const double forever = 86400;

static fuse_ino_t ino_of(struct node n)
{
	return ((fuse_ino_t)n.index << KIND_BITS | n.kind) + FUSE_ROOT_ID;
}

static struct node node_of(fuse_ino_t ino)
{
	fuse_ino_t v = ino - FUSE_ROOT_ID;

	return (struct node){v & ((1 << KIND_BITS) - 1), (unsigned)(v >> KIND_BITS)};
}

/* Highest CPU first, as devtmpfs lists what was made last: rdmsr -a prints them backwards. */
static void root_child(const struct msrsim *s, size_t i, struct node *n, char name[NAME_SIZE])
{
	unsigned ncpus = hw_cpus(s->hw);

	if (i < ncpus) {
		*n = (struct node){NODE_CPU, ncpus - 1 - (unsigned)i};
		snprintf(name, NAME_SIZE, "%u", n->index);
	} else {
		*n = (struct node){NODE_SIM, 0};
		snprintf(name, NAME_SIZE, "sim");
	}
}

/* Entry number @i of a directory, or false if it has no more. */
static bool child(
	const struct msrsim *s, struct node dir, size_t i, struct node *n, char name[NAME_SIZE])
{
	switch (dir.kind) {
	case NODE_ROOT:
		if (i > hw_cpus(s->hw))
			return false;
		root_child(s, i, n, name);
		return true;
	case NODE_CPU:
		if (i > 1)
			return false;
		*n = (struct node){i ? NODE_CPUID : NODE_MSR, dir.index};
		snprintf(name, NAME_SIZE, i ? "cpuid" : "msr");
		return true;
	case NODE_SIM:
		if (!hw_knobs[i])
			return false;
		*n = (struct node){NODE_KNOB, (unsigned)i};
		snprintf(name, NAME_SIZE, "%s", hw_knobs[i]);
		return true;
	default:
		return false;
	}
}

static struct stat stat_of(struct node n)
{
	static const mode_t modes[] = {
		[NODE_ROOT] = S_IFDIR | 0755,
		[NODE_SIM] = S_IFDIR | 0755,
		[NODE_CPU] = S_IFDIR | 0755,
		[NODE_KNOB] = S_IFREG | 0600,
		[NODE_MSR] = S_IFREG | 0600,
		[NODE_CPUID] = S_IFREG | 0444,
	};

	return (struct stat){
		.st_ino = ino_of(n),
		.st_mode = modes[n.kind],
		.st_nlink = S_ISDIR(modes[n.kind]) ? 2 : 1,
		.st_uid = getuid(),
		.st_gid = getgid(),
	};
}

uint64_t msrsim_clock(void)
{
	return nsec_now(CLOCK_MONOTONIC);
}

/* The model with its clock set: for whatever depends on the time or changes what counts. */
static struct msrsim *up_to_date(fuse_req_t req)
{
	struct msrsim *s = fuse_req_userdata(req);

	if (s->real_clock) {
		uint64_t now = msrsim_clock();

		hw_advance(s->hw, now - s->clock_seen);
		s->clock_seen = now;
	}
	return s;
}

static void write_log(struct msrsim *s)
{
	if (!s->log)
		return;
	fwrite(s->log_text.p, 1, s->log_text.n, s->log);
	fflush(s->log);
	text_clear(&s->log_text);
}

static void ms_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct msrsim *s = fuse_req_userdata(req);
	char at[NAME_SIZE];
	struct node n;

	for (size_t i = 0; child(s, node_of(parent), i, &n, at); i++) {
		if (!strcmp(at, name)) {
			fuse_reply_entry(req, &(struct fuse_entry_param){.ino = ino_of(n),
						      .attr = stat_of(n),
						      .attr_timeout = forever,
						      .entry_timeout = forever});
			return;
		}
	}
	fuse_reply_err(req, ENOENT);
}

static void ms_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st = stat_of(node_of(ino));

	(void)fi;
	fuse_reply_attr(req, &st, forever);
}

/* Only so that truncating a knob, as shells do before they write it, succeeds. */
static void ms_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	struct node n = node_of(ino);
	struct stat st = stat_of(n);

	(void)attr;
	(void)fi;
	if (n.kind == NODE_KNOB &&
		!(to_set & ~(FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_CTIME | FUSE_SET_ATTR_MTIME |
				   FUSE_SET_ATTR_MTIME_NOW)))
		fuse_reply_attr(req, &st, forever);
	else
		fuse_reply_err(req, EPERM);
}

static void ms_readdir(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct msrsim *s = fuse_req_userdata(req);
	CLEANUP_FREE char *buf = malloc(size);
	char name[NAME_SIZE];
	size_t used = 0;
	struct node n;

	(void)fi;
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	for (size_t i = (size_t)off; child(s, node_of(ino), i, &n, name); i++) {
		struct stat st = stat_of(n);
		size_t need =
			fuse_add_direntry(req, buf + used, size - used, name, &st, (off_t)i + 1);

		if (need > size - used)
			break;
		used += need;
	}
	fuse_reply_buf(req, buf, used);
}

static void ms_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct msrsim *s = fuse_req_userdata(req);
	struct node n = node_of(ino);
	struct text *snapshot = NULL;

	if (n.kind == NODE_KNOB) {
		snapshot = calloc(1, sizeof(*snapshot));
		if (!snapshot) {
			fuse_reply_err(req, ENOMEM);
			return;
		}
	} else if (!hw_online(s->hw, n.index)) {
		fuse_reply_err(req, ENXIO);
		return;
	}
	fi->fh = (uintptr_t)snapshot;
	fi->direct_io = 1;
	fi->noflush = 1;
	fuse_reply_open(req, fi);
}

static struct text *snapshot_of(const struct fuse_file_info *fi)
{
	return (struct text *)(uintptr_t)fi->fh;
}

static void ms_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct text *snapshot = snapshot_of(fi);

	(void)ino;
	if (snapshot)
		text_free(snapshot);
	free(snapshot);
	fuse_reply_err(req, 0);
}

/* Replies with what was done before the failure, or with the failure if that is nothing. */
static void reply_read(fuse_req_t req, const void *buf, size_t done, int rc)
{
	if (done || !rc)
		fuse_reply_buf(req, buf, done);
	else
		fuse_reply_err(req, -rc);
}

static void read_msr(fuse_req_t req, unsigned cpu, size_t size, off_t off)
{
	struct msrsim *s = up_to_date(req);
	CLEANUP_FREE char *buf = NULL;
	size_t done = 0;
	int rc = 0;

	if (size % MSR_SIZE) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	buf = malloc(size);
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	while (done < size) {
		uint64_t value;

		rc = hw_rdmsr(s->hw, cpu, (uint32_t)off, &value);
		if (rc < 0)
			break;
		memcpy(buf + done, &value, MSR_SIZE);
		done += MSR_SIZE;
	}
	write_log(s);
	reply_read(req, buf, done, rc);
}

/* Position: subleaf and leaf. Unlike an MSR's, it moves on by one leaf after each. */
static void read_cpuid(fuse_req_t req, unsigned cpu, size_t size, off_t off)
{
	struct msrsim *s = fuse_req_userdata(req);
	CLEANUP_FREE char *buf = NULL;
	uint64_t pos = (uint64_t)off;
	size_t done = 0;
	int rc = 0;

	if (size % CPUID_SIZE) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	buf = malloc(size);
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	for (; done < size; pos++) {
		uint32_t regs[4];

		rc = hw_cpuid(s->hw, cpu, (uint32_t)pos, (uint32_t)(pos >> 32), regs);
		if (rc < 0)
			break;
		memcpy(buf + done, regs, CPUID_SIZE);
		done += CPUID_SIZE;
	}
	reply_read(req, buf, done, rc);
}

/* A knob's text is made when it is read from its start and stays until it is again. */
static void read_knob(fuse_req_t req, unsigned knob, size_t size, off_t off, struct text *t)
{
	struct msrsim *s = up_to_date(req);
	struct err e = {0};

	if (!off) {
		text_clear(t);
		hw_knob_show(s->hw, hw_knobs[knob], t, &e);
	}
	if (!text_ok(t))
		fuse_reply_err(req, ENOMEM);
	else if ((uint64_t)off >= t->n)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, t->p + off, t->n - off < size ? t->n - off : size);
}

static void ms_read(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct node n = node_of(ino);

	if (n.kind == NODE_MSR)
		read_msr(req, n.index, size, off);
	else if (n.kind == NODE_CPUID)
		read_cpuid(req, n.index, size, off);
	else
		read_knob(req, n.index, size, off, snapshot_of(fi));
}

static void write_msr(fuse_req_t req, unsigned cpu, const char *buf, size_t size, off_t off)
{
	struct msrsim *s = up_to_date(req);
	size_t done = 0;
	int rc = 0;

	if (size % MSR_SIZE) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	while (done < size) {
		uint64_t value;

		memcpy(&value, buf + done, MSR_SIZE);
		rc = hw_wrmsr(s->hw, cpu, (uint32_t)off, value);
		if (rc < 0)
			break;
		done += MSR_SIZE;
	}
	write_log(s);
	if (done || !rc)
		fuse_reply_write(req, done);
	else
		fuse_reply_err(req, -rc);
}

/* One write is one setting, wherever in the file: shells append, and split lines. */
static void write_knob(fuse_req_t req, unsigned knob, const char *buf, size_t size)
{
	struct msrsim *s = up_to_date(req);
	struct err e = {0};

	if (size > KNOB_TEXT_MAX)
		fuse_reply_err(req, E2BIG);
	else if (hw_knob_store(s->hw, hw_knobs[knob], (struct slice){buf, size}, &e) == 0)
		fuse_reply_write(req, size);
	else {
		fprintf(stderr, "msrsim: %s\n", e.text);
		fuse_reply_err(req, e.no);
	}
}

static void ms_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	struct node n = node_of(ino);

	(void)fi;
	if (n.kind == NODE_MSR)
		write_msr(req, n.index, buf, size, off);
	else if (n.kind == NODE_KNOB)
		write_knob(req, n.index, buf, size);
	else
		fuse_reply_err(req, EINVAL); /* the cpuid driver has no write */
}

/* The tree is fixed: what would change it is refused, rather than "not implemented". */

static void ms_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	(void)parent, (void)name, (void)mode, (void)rdev;
	fuse_reply_err(req, EPERM);
}

static void ms_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent, (void)name, (void)mode;
	fuse_reply_err(req, EPERM);
}

static void ms_remove(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent, (void)name;
	fuse_reply_err(req, EPERM);
}

static void ms_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
	(void)link, (void)parent, (void)name;
	fuse_reply_err(req, EPERM);
}

static void ms_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	const char *new_name, unsigned flags)
{
	(void)parent, (void)name, (void)new_parent, (void)new_name, (void)flags;
	fuse_reply_err(req, EPERM);
}

static void ms_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name)
{
	(void)ino, (void)new_parent, (void)new_name;
	fuse_reply_err(req, EPERM);
}

static void ms_create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	(void)parent, (void)name, (void)mode, (void)fi;
	fuse_reply_err(req, EPERM);
}

static const struct fuse_lowlevel_ops ops = {
	.create = ms_create,
	.getattr = ms_getattr,
	.link = ms_link,
	.lookup = ms_lookup,
	.mkdir = ms_mkdir,
	.mknod = ms_mknod,
	.open = ms_open,
	.read = ms_read,
	.readdir = ms_readdir,
	.release = ms_release,
	.rename = ms_rename,
	.rmdir = ms_remove,
	.setattr = ms_setattr,
	.symlink = ms_symlink,
	.unlink = ms_remove,
	.write = ms_write,
};

const struct fuse_lowlevel_ops *const msrsim_ops = &ops;

// SPDX-License-Identifier: MIT
/*
 * The device files behave like those of arch/x86/kernel/msr.c and cpuid.c: the position is the
 * register's number, a longer access repeats, and a failure after the first access shortens it. The
 * tree never changes, so inode numbers are computed from the node. The only state per open file is
 * the text of a knob.
 *
 * All files are direct_io, so that reads arrive here with their original size.
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
	unsigned index; /* Index of the CPU or knob. */
};

enum {
	KIND_BITS = 3,
	NAME_SIZE = 16,
	KNOB_TEXT_MAX = 4096,
	MSR_SIZE = 8,
	CPUID_SIZE = 16,
};

static const double forever = 86400;

static fuse_ino_t msrsim_ino(struct node n)
{
	return ((fuse_ino_t)n.index << KIND_BITS | n.kind) + FUSE_ROOT_ID;
}

static struct node msrsim_node(fuse_ino_t ino)
{
	fuse_ino_t v = ino - FUSE_ROOT_ID;

	return (struct node){v & ((1 << KIND_BITS) - 1), (unsigned)(v >> KIND_BITS)};
}

/* Highest CPU first, in the order of devtmpfs: rdmsr -a prints them backwards. */
static void msrsim_root_child(
	const struct msrsim *s, size_t i, struct node *n, char name[NAME_SIZE])
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

/* Entry @i of a directory; false after the last one. */
static bool msrsim_child(
	const struct msrsim *s, struct node dir, size_t i, struct node *n, char name[NAME_SIZE])
{
	switch (dir.kind) {
	case NODE_ROOT:
		if (i > hw_cpus(s->hw))
			return false;
		msrsim_root_child(s, i, n, name);
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

static struct stat msrsim_stat(struct node n)
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
		.st_ino = msrsim_ino(n),
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

/* The model with its clock updated, for accesses that depend on time or change what counts. */
static struct msrsim *msrsim_update(fuse_req_t req)
{
	struct msrsim *s = fuse_req_userdata(req);

	if (s->real_clock) {
		uint64_t now = msrsim_clock();

		hw_advance(s->hw, now - s->clock_seen);
		s->clock_seen = now;
	}
	return s;
}

static void msrsim_write_log(struct msrsim *s)
{
	if (!s->log)
		return;
	fwrite(s->log_text.p, 1, s->log_text.n, s->log);
	fflush(s->log);
	text_clear(&s->log_text);
}

static void msrsim_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct msrsim *s = fuse_req_userdata(req);
	char at[NAME_SIZE];
	struct node n;

	for (size_t i = 0; msrsim_child(s, msrsim_node(parent), i, &n, at); i++) {
		if (!strcmp(at, name)) {
			fuse_reply_entry(req, &(struct fuse_entry_param){.ino = msrsim_ino(n),
						      .attr = msrsim_stat(n),
						      .attr_timeout = forever,
						      .entry_timeout = forever});
			return;
		}
	}
	fuse_reply_err(req, ENOENT);
}

static void msrsim_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st = msrsim_stat(msrsim_node(ino));

	(void)fi;
	fuse_reply_attr(req, &st, forever);
}

/* Truncating a knob succeeds, because shells do it before writing. */
static void msrsim_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	struct node n = msrsim_node(ino);
	struct stat st = msrsim_stat(n);

	(void)attr;
	(void)fi;
	if (n.kind == NODE_KNOB &&
		!(to_set & ~(FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_CTIME | FUSE_SET_ATTR_MTIME |
				   FUSE_SET_ATTR_MTIME_NOW)))
		fuse_reply_attr(req, &st, forever);
	else
		fuse_reply_err(req, EPERM);
}

static void msrsim_readdir(
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
	for (size_t i = (size_t)off; msrsim_child(s, msrsim_node(ino), i, &n, name); i++) {
		struct stat st = msrsim_stat(n);
		size_t need =
			fuse_add_direntry(req, buf + used, size - used, name, &st, (off_t)i + 1);

		if (need > size - used)
			break;
		used += need;
	}
	fuse_reply_buf(req, buf, used);
}

static void msrsim_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct msrsim *s = fuse_req_userdata(req);
	struct node n = msrsim_node(ino);
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

static struct text *msrsim_snapshot(const struct fuse_file_info *fi)
{
	return (struct text *)(uintptr_t)fi->fh;
}

static void msrsim_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct text *snapshot = msrsim_snapshot(fi);

	(void)ino;
	if (snapshot)
		text_free(snapshot);
	free(snapshot);
	fuse_reply_err(req, 0);
}

/* Replies with the bytes read before the failure, or with the failure if there are none. */
static void msrsim_reply_read(fuse_req_t req, const void *buf, size_t done, int rc)
{
	if (done || !rc)
		fuse_reply_buf(req, buf, done);
	else
		fuse_reply_err(req, -rc);
}

/* Allocates @size bytes to read into, in whole values of @unit; NULL: the request has been
 * answered. */
static char *msrsim_new_buffer(fuse_req_t req, size_t size, size_t unit)
{
	char *buf = size % unit ? NULL : malloc(size);

	if (!buf)
		fuse_reply_err(req, size % unit ? EINVAL : ENOMEM);
	return buf;
}

static void msrsim_read_msr(fuse_req_t req, unsigned cpu, size_t size, off_t off)
{
	struct msrsim *s = msrsim_update(req);
	CLEANUP_FREE char *buf = msrsim_new_buffer(req, size, MSR_SIZE);
	size_t done = 0;
	int rc = 0;

	if (!buf)
		return;
	while (done < size) {
		uint64_t value;

		rc = hw_rdmsr(s->hw, cpu, (uint32_t)off, &value);
		if (rc < 0)
			break;
		memcpy(buf + done, &value, MSR_SIZE);
		done += MSR_SIZE;
	}
	msrsim_write_log(s);
	msrsim_reply_read(req, buf, done, rc);
}

/* Reads CPUID. The position holds subleaf and leaf. It advances by one leaf after each value,
 * unlike the position of msr. */
static void msrsim_read_cpuid(fuse_req_t req, unsigned cpu, size_t size, off_t off)
{
	struct msrsim *s = fuse_req_userdata(req);
	CLEANUP_FREE char *buf = msrsim_new_buffer(req, size, CPUID_SIZE);
	uint64_t pos = (uint64_t)off;
	size_t done = 0;
	int rc = 0;

	if (!buf)
		return;
	for (; done < size; pos++) {
		uint32_t regs[4];

		rc = hw_cpuid(s->hw, cpu, (uint32_t)pos, (uint32_t)(pos >> 32), regs);
		if (rc < 0)
			break;
		memcpy(buf + done, regs, CPUID_SIZE);
		done += CPUID_SIZE;
	}
	msrsim_reply_read(req, buf, done, rc);
}

/* The text is generated by a read at position 0, and kept until the next one. */
static void msrsim_read_knob(fuse_req_t req, unsigned knob, size_t size, off_t off, struct text *t)
{
	struct msrsim *s = msrsim_update(req);
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

static void msrsim_read(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct node n = msrsim_node(ino);

	if (n.kind == NODE_MSR)
		msrsim_read_msr(req, n.index, size, off);
	else if (n.kind == NODE_CPUID)
		msrsim_read_cpuid(req, n.index, size, off);
	else
		msrsim_read_knob(req, n.index, size, off, msrsim_snapshot(fi));
}

static void msrsim_write_msr(fuse_req_t req, unsigned cpu, const char *buf, size_t size, off_t off)
{
	struct msrsim *s = msrsim_update(req);
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
	msrsim_write_log(s);
	if (done || !rc)
		fuse_reply_write(req, done);
	else
		fuse_reply_err(req, -rc);
}

/* Each write is one setting, at any position. */
static void msrsim_write_knob(fuse_req_t req, unsigned knob, const char *buf, size_t size)
{
	struct msrsim *s = msrsim_update(req);
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

static void msrsim_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	struct node n = msrsim_node(ino);

	(void)fi;
	if (n.kind == NODE_MSR)
		msrsim_write_msr(req, n.index, buf, size, off);
	else if (n.kind == NODE_KNOB)
		msrsim_write_knob(req, n.index, buf, size);
	else
		fuse_reply_err(req, EINVAL); /* The cpuid driver has no write. */
}

/* The tree is fixed: changes fail with EPERM, not with ENOSYS. */

static void msrsim_mknod(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	(void)parent, (void)name, (void)mode, (void)rdev;
	fuse_reply_err(req, EPERM);
}

static void msrsim_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent, (void)name, (void)mode;
	fuse_reply_err(req, EPERM);
}

static void msrsim_remove(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent, (void)name;
	fuse_reply_err(req, EPERM);
}

static void msrsim_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
	(void)link, (void)parent, (void)name;
	fuse_reply_err(req, EPERM);
}

static void msrsim_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
	fuse_ino_t new_parent, const char *new_name, unsigned flags)
{
	(void)parent, (void)name, (void)new_parent, (void)new_name, (void)flags;
	fuse_reply_err(req, EPERM);
}

static void msrsim_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name)
{
	(void)ino, (void)new_parent, (void)new_name;
	fuse_reply_err(req, EPERM);
}

static void msrsim_create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	(void)parent, (void)name, (void)mode, (void)fi;
	fuse_reply_err(req, EPERM);
}

static const struct fuse_lowlevel_ops ops = {
	.create = msrsim_create,
	.getattr = msrsim_getattr,
	.link = msrsim_link,
	.lookup = msrsim_lookup,
	.mkdir = msrsim_mkdir,
	.mknod = msrsim_mknod,
	.open = msrsim_open,
	.read = msrsim_read,
	.readdir = msrsim_readdir,
	.release = msrsim_release,
	.rename = msrsim_rename,
	.rmdir = msrsim_remove,
	.setattr = msrsim_setattr,
	.symlink = msrsim_symlink,
	.unlink = msrsim_remove,
	.write = msrsim_write,
};

const struct fuse_lowlevel_ops *const msrsim_ops = &ops;

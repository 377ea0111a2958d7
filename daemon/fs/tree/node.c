// SPDX-License-Identifier: MIT
/*
 * Inode numbers: serial of the object (47 bits), register (9 bits), row + 1 (8 bits). Serials are
 * never reused, so neither are the numbers. A number contains everything, so nothing is kept per
 * lookup and FORGET has nothing to do.
 */
#include "daemon/fs/tree/node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "daemon/format/format.h"
#include "daemon/fs/tree/fs_state.h"

enum { ROW_BITS = 8, REG_BITS = 9 };

/*
 * Sizes of texts, in bytes; no text exceeds them. 0 would be wrong: since Linux 6.5, splice(2) and
 * sendfile(2) trust the size and copy nothing, without an error. See ops_read_page(). tail -n reads
 * files of more than 8192 bytes from their end, so tables of registers have no more than they need.
 */
enum { NODE_LINE_SIZE = 64, NODE_TABLE_SIZE = 4 << 20 };

static const struct pmu *node_pmu(const struct call *c)
{
	return c->fs->be->pmu;
}

fuse_ino_t node_ino(const struct call *call)
{
	const struct node *n = &call->node;

	return (n->serial << (ROW_BITS + REG_BITS)) | ((fuse_ino_t)n->reg << ROW_BITS) |
	       (fuse_ino_t)(n->row - call->fs->rows.row + 1);
}

static bool node_is_of_format(const struct node *n)
{
	return n->row->in == DIR_SYS_FORMATS || n->row->in == DIR_SYS_FORMAT;
}

/* Attaches the object of the node's serial number to the call. */
static int node_attach(struct call *c)
{
	struct object *o;

	c->ctx = NULL;
	c->set = -1;
	if (node_is_of_format(&c->node))
		return format_by_id(c->node.serial) ? 0 : -ENODEV;
	if (!c->node.serial)
		return 0;
	o = object_find(&c->fs->objects, c->node.serial);
	if (!o)
		return row_has(c->node.row, ROW_CLONE) ? 0 : -ENODEV; /* a clone is not open yet */
	c->ctx = o->ctx;
	c->set = o->set;
	return 0;
}

/* Gives a child that is memory the serial number of the memory. */
static int node_attach_child(struct call *c)
{
	int rc = node_attach(c);
	struct shared *s;
	struct err e;

	if (rc < 0 || !c->node.row->memory)
		return rc;
	s = c->node.row->memory(c, &e);
	if (s && s->serial)
		c->node.serial = s->serial;
	return 0;
}

int node_call(struct fs *fs, fuse_req_t req, fuse_ino_t ino, struct call *call)
{
	unsigned row = ino & ((1U << ROW_BITS) - 1);

	*call = (struct call){.fs = fs, .req = req, .unique = fs->pending.unique};
	if (!row || row > fs->rows.n)
		return -ENOENT;
	call->node = (struct node){
		.row = &fs->rows.row[row - 1],
		.serial = ino >> (ROW_BITS + REG_BITS),
		.reg = (unsigned)(ino >> ROW_BITS) & ((1U << REG_BITS) - 1),
	};
	return node_attach(call);
}

static void node_share(const struct group_rule *group, struct stat *st)
{
	if (group->kind == GROUP_ANY) {
		st->st_mode |= S_IRGRP | S_IROTH;
	} else if (group->kind == GROUP_GID) {
		st->st_mode |= S_IRGRP;
		st->st_gid = group->gid;
	}
}

static off_t node_text_size(const struct call *call)
{
	const struct pmu *pmu = node_pmu(call);
	off_t lines = pmu->npmcs + pmu->npmds + pmu->nvirtuals, size = NODE_TEXT_SIZE;

	if (call->node.row->length == LINES_OF_MACHINE)
		return NODE_TABLE_SIZE;
	if (call->node.row->in == DIR_CTX) /* total has lines for each event set */
		lines *= call->ctx->sets.n + 1;
	while (call->node.row->length == LINES_OF_REGISTERS && size < lines * NODE_LINE_SIZE)
		size *= 2;
	return size;
}

static off_t node_size(const struct call *call)
{
	const struct row *row = call->node.row;

	if (row->size)
		return (off_t)row->size(call);
	if (row->target)
		return (off_t)strlen(row->target);
	if (row->is)
		return 0;
	return node_text_size(call);
}

void node_attr(const struct call *call, struct stat *st)
{
	const struct row *row = call->node.row;
	const struct fs_context *ctx = row_has(row, ROW_CLONE) ? NULL : call->ctx;
	struct timespec t = ctx ? ctx->id.born : call->fs->born;

	if (row_has(row, ROW_FRESH))
		clock_gettime(CLOCK_REALTIME, &t);

	*st = (struct stat){
		.st_ino = node_ino(call),
		.st_mode = row->mode,
		.st_nlink = row->is ? 2 : 1,
		.st_uid = ctx && ctx->id.uid ? ctx->id.uid : call->fs->owner,
		.st_gid = ctx ? ctx->id.gid : call->fs->group,
		.st_size = node_size(call),
		/* Programs such as wc -c treat a size up to st_blksize as only an estimate. */
		.st_blksize = node_text_size(call),
		.st_atim = t,
		.st_mtim = t,
		.st_ctim = t,
	};
	if (row->readers)
		node_share(row->readers(call->fs), st);
}

/* Names of contexts, sets and formats come and go, and each lookup of clone is another file. All
 * other names live as long as the inode number of their directory. */
double node_timeout(const struct call *call)
{
	enum dir in = call->node.row->in;

	if (row_has(call->node.row, ROW_FRESH))
		return 0.0;
	if (call->node.row->memory)
		return 0.0; /* another piece of memory is another file */
	if (in == DIR_CTXS || in == DIR_CHILDREN || in == DIR_SYS_FORMATS ||
		row_has(call->node.row, ROW_CLONE))
		return 0.0;
	return in == DIR_SETS && call->set > 0 ? 0.0 : 60.0;
}

/* The owner and mode of a directory are those of its inode, whose number is never used again. */
double node_attr_timeout(const struct call *call)
{
	return call->node.row->is ? 60.0 : node_timeout(call);
}

struct fuse_entry_param node_entry(const struct call *child)
{
	struct fuse_entry_param entry = {.ino = node_ino(child)};

	node_attr(child, &entry.attr);
	entry.entry_timeout = node_timeout(child);
	entry.attr_timeout = node_attr_timeout(child);
	return entry;
}

static bool node_is_visible(const struct fs *fs, const struct row *row)
{
	return (row->is != DIR_SIM || fs->be->sim) && (!row->exists || row->exists(fs));
}

/* The row of a directory's members; NULL if it has none. */
static const struct row *node_member_row(const struct call *dir, enum dir d, bool virtual)
{
	const struct row_table *t = &dir->fs->rows;

	for (const struct row *r = t->row; r < t->row + t->n; r++)
		if (r->in == d && !r->name && row_has(r, ROW_VIRTUAL) == virtual)
			return r;
	return NULL;
}

/* Parses a canonical decimal number below @limit; returns -1 if @name is not one. */
static int node_parse_member(const char *name, unsigned limit)
{
	struct slice s = slice_of(name);
	struct err ignored;
	uint64_t n;

	return slice_is_digits(s) && num_max(s, limit - 1, &n, &ignored) == 0 ? (int)n : -1;
}

static bool node_find_context(const struct call *dir, const char *name, struct node *n)
{
	const struct fs_context *ctx = object_context(&dir->fs->objects, dir->ctx, name);

	n->serial = ctx ? ctx->self.serial : 0;
	return ctx;
}

static bool node_find_set(const struct call *dir, const char *name, struct node *n)
{
	int id = node_parse_member(name, UINT16_MAX + 1);
	struct object *set = id < 0 ? NULL : object_set_from(dir->ctx, (unsigned)id);

	if (!set || set->set != id)
		return false;
	n->serial = set->serial;
	return true;
}

/* Finds a register by its logical number. PMDs are in two tables. */
static bool node_find_register(const struct call *dir, const char *name, struct node *n)
{
	const struct pmu *pmu = node_pmu(dir);
	bool pmc = dir->node.row->is == DIR_PMCS;
	int num = node_parse_member(name, PMU_MAX_NUM), reg;

	if (num < 0)
		return false;
	reg = pmc ? pmu_find_pmc(pmu, (unsigned)num) : pmu_find_pmd(pmu, (unsigned)num);
	if (reg < 0 && !pmc) {
		reg = pmu_find_virtual(pmu, (unsigned)num);
		n->row = node_member_row(dir, DIR_PMDS, true);
	}
	n->reg = (unsigned)reg;
	return reg >= 0;
}

/* Finds "pmcN" or "pmdN" in the three tables as though they were one. */
static bool node_find_described(const struct call *dir, const char *name, struct node *n)
{
	const struct pmu *pmu = node_pmu(dir);
	bool pmc = strncmp(name, "pmc", 3) == 0;
	int num, reg;

	if (!pmc && strncmp(name, "pmd", 3) != 0)
		return false;
	num = node_parse_member(name + 3, PMU_MAX_NUM);
	if (num < 0)
		return false;
	n->reg = 0;
	reg = pmc ? pmu_find_pmc(pmu, (unsigned)num) : pmu_find_pmd(pmu, (unsigned)num);
	if (!pmc)
		n->reg += pmu->npmcs;
	if (!pmc && reg < 0) {
		n->reg += pmu->npmds;
		reg = pmu_find_virtual(pmu, (unsigned)num);
	}
	n->reg += (unsigned)reg;
	return reg >= 0;
}

/* Finds a type of CPU. If all CPUs have the same PMU, there are none. */
static bool node_find_type(const struct call *dir, const char *name, struct node *n)
{
	const struct pmu_types *types = dir->fs->be->types;

	for (n->reg = 0; types && n->reg < types->n; n->reg++)
		if (strcmp(types->of[1U << n->reg].by_type.name, name) == 0)
			return true;
	return false;
}

static bool node_find_format(const struct call *dir, const char *name, struct node *n)
{
	const pfm_buffer_fmt_t *fmt;

	(void)dir;
	n->serial = 0;
	while ((fmt = format_after(&n->serial)))
		if (strcmp(fmt->fmt_name, name) == 0)
			return true;
	return false;
}

/* Makes the node of a child. It belongs to its directory's object and register, unless it is a
 * member. */
static struct node node_child(const struct call *dir, const struct row *row)
{
	return (struct node){.row = row, .serial = dir->node.serial, .reg = dir->node.reg};
}

static bool node_next_row(const struct call *dir, uint64_t *cookie, struct node *n, char name[256])
{
	for (uint64_t i = *cookie; i < dir->fs->rows.n; i++) {
		const struct row *r = &dir->fs->rows.row[i];

		if (r->in != dir->node.row->is || !r->name || !node_is_visible(dir->fs, r))
			continue;
		n->row = r;
		snprintf(name, 256, "%s", r->name);
		*cookie = i + 1;
		return true;
	}
	return false;
}

/* Cookies are serials, so that a context removed between two calls does not shift the rest. */
static bool node_next_context(
	const struct call *dir, uint64_t *cookie, struct node *n, char name[256])
{
	const struct fs_context *ctx = object_context_after(&dir->fs->objects, dir->ctx, *cookie);

	if (!ctx)
		return false;
	n->serial = ctx->self.serial;
	snprintf(name, 256, "%s", ctx->id.name);
	*cookie = ctx->self.serial;
	return true;
}

/* Cookies are set ids plus one. */
static bool node_next_set(const struct call *dir, uint64_t *cookie, struct node *n, char name[256])
{
	struct object *set =
		*cookie > UINT16_MAX ? NULL : object_set_from(dir->ctx, (unsigned)*cookie);

	if (!set)
		return false;
	n->serial = set->serial;
	snprintf(name, 256, "%d", set->set);
	*cookie = (uint64_t)set->set + 1;
	return true;
}

static bool node_next_pmc(const struct call *dir, uint64_t *cookie, struct node *n, char name[256])
{
	const struct pmu *pmu = node_pmu(dir);

	if (*cookie >= pmu->npmcs)
		return false;
	n->reg = (unsigned)(*cookie)++;
	snprintf(name, 256, "%u", pmu->pmcs[n->reg].num);
	return true;
}

/* Whether the next PMD is a virtual one that cannot be read now, because the context is on no
 * thread or no CPU. */
static bool node_lacks_target(const struct call *dir, uint64_t cookie)
{
	const struct pmu *pmu = node_pmu(dir);
	const struct engine_ctx *ec = &dir->ctx->ec;
	const struct pmu_virtual *v;

	if (cookie < pmu->npmds || cookie >= (uint64_t)pmu->npmds + pmu->nvirtuals)
		return false;
	v = &pmu->virtuals[cookie - pmu->npmds];
	return (pmu_virtual_needs_thread(v) && !ec->task) ||
	       (pmu_virtual_needs_cpu(v) && (ec->task || !ec->worker));
}

/* Virtual PMDs follow the others. Those that cannot be read now are found only by lookup, so that a
 * program that reads all files of the directory gets no errors. */
static bool node_next_pmd(const struct call *dir, uint64_t *cookie, struct node *n, char name[256])
{
	const struct pmu *pmu = node_pmu(dir);

	while (node_lacks_target(dir, *cookie))
		(*cookie)++;
	if (*cookie >= (uint64_t)pmu->npmds + pmu->nvirtuals)
		return false;
	n->reg = (unsigned)(*cookie)++;
	if (n->reg >= pmu->npmds) {
		n->reg -= pmu->npmds;
		n->row = node_member_row(dir, DIR_PMDS, true);
	}
	snprintf(name, 256, "%u",
		row_has(n->row, ROW_VIRTUAL) ? pmu->virtuals[n->reg].num : pmu->pmds[n->reg].num);
	return true;
}

/* For directories in which files follow @members. */
static bool node_next_file(
	const struct call *dir, unsigned members, uint64_t *cookie, struct node *n, char name[256])
{
	uint64_t row = *cookie - members;
	bool found = node_next_row(dir, &row, n, name);

	*cookie = members + row;
	return found;
}

static bool node_next_type(const struct call *dir, uint64_t *cookie, struct node *n, char name[256])
{
	const struct pmu_types *types = dir->fs->be->types;
	unsigned members = types ? types->n : 0;

	if (*cookie >= members)
		return node_next_file(dir, members, cookie, n, name);
	n->reg = (unsigned)(*cookie)++;
	snprintf(name, 256, "%s", types->of[1U << n->reg].by_type.name);
	return true;
}

static bool node_next_described(
	const struct call *dir, uint64_t *cookie, struct node *n, char name[256])
{
	const struct pmu *pmu = node_pmu(dir);
	unsigned pmds = pmu->npmcs, virtuals = pmds + pmu->npmds, files = virtuals + pmu->nvirtuals;

	if (*cookie < files) {
		n->reg = (unsigned)(*cookie)++;
		if (n->reg < pmds)
			snprintf(name, 256, "pmc%u", pmu->pmcs[n->reg].num);
		else if (n->reg < virtuals)
			snprintf(name, 256, "pmd%u", pmu->pmds[n->reg - pmds].num);
		else
			snprintf(name, 256, "pmd%u", pmu->virtuals[n->reg - virtuals].num);
		return true;
	}
	return node_next_file(dir, files, cookie, n, name);
}

/* Cookies are registration numbers. */
static bool node_next_format(
	const struct call *dir, uint64_t *cookie, struct node *n, char name[256])
{
	const pfm_buffer_fmt_t *fmt = format_after(cookie);

	(void)dir;
	if (!fmt)
		return false;
	n->serial = *cookie;
	snprintf(name, 256, "%s", fmt->fmt_name);
	return true;
}

/* How a directory finds a member by its name, and lists its members. */
static const struct member_ops {
	bool (*find)(const struct call *dir, const char *name, struct node *n);
	bool (*next)(const struct call *dir, uint64_t *cookie, struct node *n, char name[256]);
} node_members[DIR_KINDS] = {
	[DIR_PMU] = {node_find_type, node_next_type},
	[DIR_CTXS] = {node_find_context, node_next_context},
	[DIR_CHILDREN] = {node_find_context, node_next_context},
	[DIR_SETS] = {node_find_set, node_next_set},
	[DIR_PMCS] = {node_find_register, node_next_pmc},
	[DIR_PMDS] = {node_find_register, node_next_pmd},
	[DIR_SYS_FORMATS] = {node_find_format, node_next_format},
	[DIR_SYS_DESC] = {node_find_described, node_next_described},
};

int node_lookup(const struct call *dir, const char *name, struct call *child)
{
	const struct row_table *t = &dir->fs->rows;
	enum dir d = dir->node.row->is;

	*child = (struct call){.fs = dir->fs, .req = dir->req, .unique = dir->unique};
	child->node = node_child(dir, node_member_row(dir, d, false));
	if (node_members[d].find && node_members[d].find(dir, name, &child->node))
		return node_attach(child);
	for (const struct row *r = t->row; r < t->row + t->n; r++) {
		if (r->in == d && r->name && strcmp(r->name, name) == 0 &&
			node_is_visible(dir->fs, r)) {
			child->node = node_child(dir, r);
			if (row_has(r, ROW_CLONE))
				child->node.serial = object_serial(&dir->fs->objects);
			return node_attach_child(child);
		}
	}
	return -ENOENT;
}

bool node_next(const struct call *dir, uint64_t *cookie, struct call *child, char name[256])
{
	enum dir d = dir->node.row->is;
	const struct member_ops *ops = &node_members[d];

	*child = (struct call){.fs = dir->fs, .req = dir->req, .unique = dir->unique};
	child->node = node_child(dir, node_member_row(dir, d, false));
	return (ops->next ? ops->next : node_next_row)(dir, cookie, &child->node, name) &&
	       node_attach_child(child) == 0;
}

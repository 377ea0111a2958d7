// SPDX-License-Identifier: MIT
/*
 * live of an event set: a page of counts for those who map it (include/perfmonfs/live.h), text for
 * those who read it. The page is made when the file is first opened, and the open is answered when
 * the context's owner keeps it. Where the kernel cannot pass it on there is the text alone.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { RDPMC_ALL = 2 }; /* for all processes, whether or not they have perf events */

static bool says_all(const char *path)
{
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");
	int mode;

	return f && fscanf(f, "%d", &mode) == 1 && mode == RDPMC_ALL;
}

/* Where there are several kinds of CPU, each has its say. */
static bool kernel_allows_rdpmc(void)
{
	glob_t found;
	bool all;

	if (glob("/sys/bus/event_source/devices/cpu*/rdpmc", 0, NULL, &found))
		return false;
	all = found.gl_pathc > 0;
	for (size_t i = 0; i < found.gl_pathc; i++)
		all = all && says_all(found.gl_pathv[i]);
	globfree(&found);
	return all;
}

/* perf's counters move, the model's are none. */
bool live_rdpmc_allowed(const struct fs *fs)
{
#if defined(__x86_64__) || defined(__i386__)
	return strcmp(fs->be->ops->name, "msr") == 0 && kernel_allows_rdpmc();
#else
	(void)fs;
	return false;
#endif
}

static int make_page(struct call *call, struct object *set, struct err *e)
{
	struct shared_pool *pool = &call->fs->memory;
	struct shared *s;
	int rc = memory_afford(call->fs, call->ctx, call->file->memlock,
		shared_room(sizeof(struct pfm_live)), NULL, e);

	if (rc == 0)
		rc = shared_new(pool, shared_room(sizeof(struct pfm_live)),
			&call->ctx->owner->buffers, &s, e);
	if (rc < 0)
		return rc;
	if (shared_pass(s))
		set->live = s;
	else
		shared_unref(s); /* not for want of the kernel's knowing how: text will do */
	return 0;
}

static void reply_text(struct call *call, struct file *f)
{
	const struct fuse_file_info fi = {
		.fh = (uintptr_t)f,
		.direct_io = 1,
		.noflush = 1,
	};

	if (fuse_reply_open(call->req, &fi) < 0)
		file_free(f);
}

int live_open(struct call *call, struct file *f, struct err *e)
{
	struct object *set = object_find(&call->fs->objects, call->node.serial);
	struct command cmd = {.verb = CMD_LIVE, .evtset.id = (uint16_t)call->set};

	f->memlock = caller_memlock(call);
	if (!set->live && !set->cookie && call->fs->passthrough.on && make_page(call, set, e) < 0)
		return -e->no;
	if (!set->live) {
		reply_text(call, f);
		return 0;
	}
	if (shared_open(set->live, node_ino(&call->node), e) < 0)
		return -e->no;
	f->shared = set->live;
	if (set->live_kept) {
		memory_reply_passed(call->req, f, true);
		return 0;
	}
	cmd.live = set->live->mem;
	cmd.rdpmc = live_rdpmc_allowed(call->fs);
	if (!call_ask(call, &cmd))
		file_free(f);
	return 0;
}

void live_follow(struct call *call, int rc)
{
	struct object *set = object_find(&call->fs->objects, call->node.serial);

	if (set && rc == 0)
		set->live_kept = true;
}

void live_answer(struct call *call, int rc, const struct err *e)
{
	if (rc == 0) {
		memory_reply_passed(call->req, call->file, true);
		return;
	}
	call_fail(call, e);
	file_free(call->file);
}

int live_ask(const struct call *call, struct command *cmd, struct err *e)
{
	cmd->verb = CMD_LIVE_READ;
	cmd->evtset.id = (uint16_t)call->set;
	cmd->shown = calloc(1, sizeof(*cmd->shown));
	return cmd->shown ? 0 : err_set(e, ENOMEM, "no memory");
}

static void print_pmd(const struct pfm_live_pmd *p, struct text *out)
{
	text_printf(out, "pmd%u ", p->num);
	if (p->flags & PFM_LIVE_LOST)
		text_printf(out, "-");
	else
		text_printf(out, "%" PRIu64, p->value);
	if (p->flags & PFM_LIVE_COUNTS)
		text_printf(out, " counts");
	if (p->flags & PFM_LIVE_RDPMC)
		text_printf(out, " rdpmc=0x%" PRIx32, p->index);
	if (p->flags & PFM_LIVE_NARROW)
		text_printf(out, " no64");
	if (p->flags & PFM_LIVE_LOST)
		text_printf(out, " lost");
	text_printf(out, "\n");
}

void live_print(const struct command *cmd, struct text *out)
{
	const struct pfm_live *page = cmd->shown;

	text_printf(out, "seq %" PRIu32 " active %" PRIu32 " cpu %" PRIu32 "\n", page->seq,
		page->active, page->cpu);
	for (uint32_t i = 0; i < page->npmds; i++)
		print_pmd(&page->pmd[i], out);
}

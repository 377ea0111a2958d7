// SPDX-License-Identifier: MIT
/*
 * live of an event set: a page of counts for clients that map it (include/perfmonfs/live.h), text
 * for those that read it. The page is made when the file is first opened, and the open is answered
 * once the context's owner updates the page. If the kernel cannot pass files through, there is only
 * text.
 */
#include "daemon/fs/rows/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "daemon/command/command.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/caller.h"
#include "daemon/fs/requests/command_request.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/quota.h"
#include "daemon/fs/requests/rdpmc.h"
#include "perfmonfs/live.h"

static int live_make_page(struct call *call, struct object *set, struct err *e)
{
	struct shared_pool *pool = &call->fs->memory;
	struct shared *s;
	int rc = quota_check_memory(call->fs, call->ctx, call->file->memlock,
		shared_room(sizeof(struct pfm_live)), NULL, e);

	if (rc == 0)
		rc = shared_new(pool, shared_room(sizeof(struct pfm_live)),
			&call->ctx->id.quota->buffers, &s, e);
	if (rc < 0)
		return rc;
	if (shared_pass(s))
		set->live = s;
	else
		shared_unref(s); /* reading text still works */
	return 0;
}

static void live_follow(struct command_request *r)
{
	struct call *call = &r->request.call;
	struct object *set = object_find(&call->fs->objects, call->node.serial);

	if (set && r->job.rc == 0)
		set->live_active = true;
}

/* Adds a note about a mapping that nothing updates: it is no error, but rarely intended. */
static void live_note_age(struct call *call)
{
	struct err note;

	err_set(&note, 0,
		"there is no RDPMC here, so a mapping of live shows the counts of the last poll: "
		"read live or the PMD for current counts");
	context_set_error(call->ctx, &note);
}

static void live_answer(struct command_request *r)
{
	const struct cmd_live_page *page = &r->job.cmd.live_page;
	struct call *call = &r->request.call;

	if (r->job.rc == 0 && !page->rdpmc && !page->ticks)
		live_note_age(call);
	if (r->job.rc == 0) {
		file_reply_passed(call->req, call->file, true);
		return;
	}
	call_fail(call, &r->job.err);
	file_destroy(call->file);
}

/* Frees the open file, which the kernel does not know. */
static void live_abandon(struct command_request *r)
{
	file_destroy(r->request.call.file);
}

static const struct command_kind live_kind = {
	.follow = live_follow,
	.answer = live_answer,
	.abandon = live_abandon,
};

static int live_open(struct call *call, struct file *f, struct err *e)
{
	struct object *set = object_find(&call->fs->objects, call->node.serial);
	struct command cmd = {.verb = CMD_LIVE, .evtset.id = (uint16_t)call->set};

	f->memlock = caller_memlock(call);
	if (!set->live && !set->cookie && call->fs->passthrough && live_make_page(call, set, e) < 0)
		return -e->no;
	if (!set->live) {
		file_reply_direct(call->req, f);
		return 0;
	}
	if (shared_open(set->live, node_ino(call), e) < 0)
		return -e->no;
	f->shared = set->live;
	if (set->live_active) {
		file_reply_passed(call->req, f, true);
		return 0;
	}
	cmd.live_page.page = set->live->mem;
	cmd.live_page.rdpmc = rdpmc_permits(call->fs);
	cmd.live_page.ticks = !call->fs->be->ops->rdpmc;
	if (!command_submit(call, &cmd, &live_kind, NULL))
		file_destroy(f);
	return 0;
}

static int live_query(const struct call *call, struct command *cmd, struct err *e)
{
	cmd->verb = CMD_LIVE_READ;
	cmd->evtset.id = (uint16_t)call->set;
	cmd->live_page.shown = calloc(1, sizeof(*cmd->live_page.shown));
	return cmd->live_page.shown ? 0 : err_set(e, ENOMEM, "no memory");
}

static void live_print_pmd(const struct pfm_live_pmd *p, struct text *out)
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
	if (p->flags & PFM_LIVE_MAPPED)
		text_printf(out, " rdpmc_mapped=0x%" PRIx32, p->index);
	if (p->flags & PFM_LIVE_NARROW)
		text_printf(out, " no64");
	if (p->flags & PFM_LIVE_LOST)
		text_printf(out, " lost");
	text_printf(out, "\n");
}

static void live_print(const struct command *cmd, struct text *out)
{
	const struct pfm_live *page = cmd->live_page.shown;

	text_printf(out, "seq %" PRIu32 " active %" PRIu32 " cpu %" PRIu32 "\n", page->seq,
		page->active, page->cpu);
	for (uint32_t i = 0; i < page->npmds; i++)
		live_print_pmd(&page->pmd[i], out);
}

/* Some clients map no more than a file's size. */
static size_t live_size(const struct call *call)
{
	(void)call;
	return shared_room(sizeof(struct pfm_live));
}

const struct row rows_live[] = {
	{FILE_ROW(DIR_SET, "live", 0400), .open = live_open, .query = live_query,
		.print = live_print, .size = live_size},
	ROW_END,
};

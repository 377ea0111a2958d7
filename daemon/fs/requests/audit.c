// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <syslog.h>

#include "base/nsec.h"
#include "daemon/command/command.h"
#include "daemon/format/format.h"
#include "daemon/fs/requests/audit_log.h"
#include "daemon/fs/tree/fs_state.h"

enum {
	AUDIT_DONE = LOG_AUTHPRIV | LOG_INFO,
	AUDIT_REFUSED = LOG_AUTHPRIV | LOG_NOTICE,
};

static void audit_send(
	const struct fs *fs, struct user_quota *q, int priority, const struct text *line)
{
	if (text_ok(line))
		audit_log_send(fs->audit, q ? &q->audit : NULL, nsec_now(CLOCK_MONOTONIC), priority,
			line->p);
}

struct audit_writer audit_writer(const struct call *call, const struct command *cmd)
{
	struct audit_writer w = audit_format_writer(call);

	w.wanted = w.wanted && cmd->verb == CMD_LOAD;
	return w;
}

struct audit_writer audit_format_writer(const struct call *call)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);

	return (struct audit_writer){
		.wanted = call->fs->config.audit,
		.uid = caller->uid,
		.pid = caller->pid,
	};
}

static void audit_print_target(const struct audit_target *to, struct text *out)
{
	if (!to->tid)
		text_printf(out, " cpu=%u", to->cpu);
	else
		text_printf(out, " %s=%d", to->process ? "pid" : "tid", (int)to->tid);
}

/* Prints the event's name with its levels, as pmc/N takes it, or else the value. */
static void audit_print_pmc(const struct pmu *pmu, const struct loaded_pmc *p, struct text *out)
{
	const struct pmu_pmc *pmc = &pmu->pmcs[p->row];
	const struct pmu_event *ev = pmu_event_of(pmu, p->row, p->value);
	bool user = p->value & pmc->user, kernel = p->value & pmc->kernel;

	text_printf(out, " ");
	if (p->set)
		text_printf(out, "set%u.", p->set);
	if (ev && (p->value & pmc->enable) && (user || kernel))
		text_printf(out, "pmc%u=%s%s", pmc->num, ev->name,
			user && kernel ? ""
			: user         ? ":u"
				       : ":k");
	else
		text_printf(out, "pmc%u=0x%" PRIx64, pmc->num, p->value);
}

static void audit_print_pmcs(
	const struct pmu *pmu, const struct loaded_pmcs *pmcs, struct text *out)
{
	for (unsigned i = 0; i < pmcs->n && i < LOADED_PMCS; i++)
		audit_print_pmc(pmu, &pmcs->pmc[i], out);
	if (pmcs->n > LOADED_PMCS)
		text_printf(out, " more=%u", pmcs->n - LOADED_PMCS);
}

static bool audit_is_refusal(int rc)
{
	return rc == -EPERM || rc == -EACCES;
}

/* The line is charged to the owner of the context, because only the owner and root can open the
 * context's files. */
void audit_load(
	const struct audit_writer *w, struct fs_context *ctx, const struct command *cmd, int rc)
{
	const struct audit_target to = {cmd->load.process, cmd->tid, cmd->load.cpu};
	TEXT_CLEANUP struct text line = {0};

	if (rc == 0) {
		ctx->audit.loaded = w->wanted;
		ctx->audit.target = to;
	}
	if (!w->wanted || (rc < 0 && !audit_is_refusal(rc)))
		return;
	text_printf(&line, "%s uid=%u by=%d context=%s owner=%u", rc < 0 ? "refused load" : "load",
		(unsigned)w->uid, (int)w->pid, ctx->id.path, (unsigned)ctx->id.uid);
	audit_print_target(&to, &line);
	text_printf(&line, " set=%u%s", cmd->set, cmd->load.follow ? " follow" : "");
	if (rc < 0)
		text_printf(&line, " error=%s", err_name(-rc));
	else
		audit_print_pmcs(fs_of(ctx)->be->pmu, cmd->load.pmcs, &line);
	audit_send(fs_of(ctx), w->uid ? ctx->id.quota : NULL, rc < 0 ? AUDIT_REFUSED : AUDIT_DONE,
		&line);
}

void audit_unload_asked(struct fs_context *ctx, const char *cause, fuse_req_t req)
{
	const struct fuse_ctx *caller = req ? fuse_req_ctx(req) : NULL;
	struct audit_trail *a = &ctx->audit;

	a->cause = cause;
	a->by_process = caller;
	if (!caller)
		return;
	a->uid = caller->uid;
	a->pid = caller->pid;
}

static void audit_print_unload(const struct fs_context *ctx, bool ending, struct text *out)
{
	const struct audit_trail *a = &ctx->audit;
	bool asked = !ctx->ec.ctx.target.ended && !ending;

	text_printf(out, "unload");
	if (asked && a->by_process)
		text_printf(out, " uid=%u by=%d", (unsigned)a->uid, (int)a->pid);
	text_printf(out, " context=%s owner=%u", ctx->id.path, (unsigned)ctx->id.uid);
	audit_print_target(&a->target, out);
	text_printf(out, " cause=%s", asked ? a->cause : ending ? "shutdown" : "end");
}

/* The line is charged to the owner, as for the load, whatever caused the unload. */
void audit_unloaded(struct engine_ctx *ec, bool ending)
{
	struct fs_context *ctx = container_of(ec, struct fs_context, ec);
	TEXT_CLEANUP struct text line = {0};

	if (!ctx->audit.loaded)
		return;
	ctx->audit.loaded = false;
	if (!fs_of(ctx)->config.audit)
		return;
	audit_print_unload(ctx, ending, &line);
	audit_send(fs_of(ctx), ctx->id.uid ? ctx->id.quota : NULL, AUDIT_DONE, &line);
}

static void audit_print_format(const pfm_buffer_fmt_t *fmt, struct text *out)
{
	char uuid[FORMAT_UUID_TEXT];

	format_uuid_text(fmt->fmt_uuid, uuid);
	text_printf(out, " format=%s uuid=%s", fmt->fmt_name, uuid);
}

void audit_format(struct fs *fs, const struct audit_writer *w, const char *verb,
	const pfm_buffer_fmt_t *fmt, const char *path, int rc)
{
	struct user_quota *q = w->uid ? user_quota_get(&fs->objects.quotas, w->uid) : NULL;
	TEXT_CLEANUP struct text line = {0};

	if (!w->wanted || (rc < 0 && !path && !audit_is_refusal(rc)) || (w->uid && !q))
		return;
	text_printf(&line, "%s%s uid=%u by=%d", rc < 0 ? "refused " : "", verb, (unsigned)w->uid,
		(int)w->pid);
	if (fmt)
		audit_print_format(fmt, &line);
	if (rc < 0)
		text_printf(&line, " error=%s", err_name(-rc));
	if (path)
		text_printf(&line, " path=%s", path);
	audit_send(fs, q, rc < 0 ? AUDIT_REFUSED : AUDIT_DONE, &line);
}

/* Records that the caller was refused @what. */
static void audit_refuse(const struct call *call, const char *what, const struct err *e)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	TEXT_CLEANUP struct text line = {0};
	struct user_quota *q = NULL;

	if (!call->fs->config.audit)
		return;
	if (caller->uid) {
		q = user_quota_get(&call->fs->objects.quotas, caller->uid);
		if (!q)
			return; /* no memory for the rate limit */
	}
	text_printf(&line, "refused %s uid=%u by=%d error=%s", what, (unsigned)caller->uid,
		(int)caller->pid, err_name(e->no));
	audit_send(call->fs, q, AUDIT_REFUSED, &line);
}

void audit_make(const struct call *call, const struct err *e)
{
	if (e->no == ENOSPC || audit_is_refusal(-e->no))
		audit_refuse(call, "context", e);
}

void audit_refused_write(const struct call *call, const struct err *e)
{
	audit_refuse(call, call->node.row->name, e);
}

void audit_grants(const struct call *call, const struct text *lines)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	struct slice rest = {lines->p, lines->n};

	if (!call->fs->config.audit)
		return;
	while (rest.n) {
		TEXT_CLEANUP struct text line = {0};
		struct slice change = slice_cut(&rest, '\n');

		text_printf(&line, "grant by=%d %.*s", (int)caller->pid, (int)change.n, change.p);
		audit_send(call->fs, NULL, AUDIT_DONE, &line);
	}
}

void audit_config(const struct call *call, bool was)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	const char *key = call->node.row->name;
	TEXT_CLEANUP struct text line = {0};

	if (!was && !call->fs->config.audit)
		return;
	text_printf(&line, "config uid=%u by=%d %s=", (unsigned)caller->uid, (int)caller->pid, key);
	config_show(&call->fs->config, key, &line);
	if (text_ok(&line))
		line.p[line.n - 1] = '\0'; /* the newline */
	audit_send(call->fs, NULL, AUDIT_DONE, &line);
}

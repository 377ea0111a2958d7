// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/format_loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/engine/engine.h"
#include "daemon/format/format.h"
#include "daemon/fs/requests/audit.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/work_request.h"

/* Work that opens a file. */
struct loader_opening {
	struct work_request r;
	char *path;
	struct plugin plugin;
	int rc;
	struct err err;
	struct audit_writer writer;
};

/* Work that closes a file. */
struct loader_closing {
	struct work work;
	struct plugin plugin;
};

/* The work is root's, so that files are handled one after another and none is delayed. */
enum { LOADER_UID = 0 };

/* A thread of the workqueue is still opening or closing a file, although the daemon is ending. */
static bool loader_stuck;

static void loader_close(struct work *w)
{
	plugin_close(&container_of(w, struct loader_closing, work)->plugin);
}

static void loader_closed(struct work *w)
{
	if (w->hangs)
		loader_stuck = true;
	else
		free(container_of(w, struct loader_closing, work));
}

/* The work precedes others, because dlopen() of the same path would find the old file. */
static struct loader_closing *loader_new_closing(void)
{
	struct loader_closing *c = calloc(1, sizeof(*c));

	if (c)
		c->work = (struct work){
			.uid = LOADER_UID,
			.first = true,
			.may_hang = true,
			.run = loader_close,
			.done = loader_closed,
		};
	return c;
}

/* If there is no thread for it, the file stays open. */
static void loader_submit_closing(
	struct fs *fs, struct loader_closing *c, const struct plugin *plugin)
{
	struct err ignored;

	c->plugin = *plugin;
	if (engine_work(fs->eng, &c->work, &ignored) < 0)
		free(c);
}

static void loader_free(struct loader_opening *o)
{
	free(o->path);
	free(o);
}

static void loader_open(struct work_request *r)
{
	struct loader_opening *o = container_of(r, struct loader_opening, r);

	o->rc = plugin_open(o->path, &o->plugin, &o->err);
}

/* Records the result. A file that was opened in vain is closed. */
static void loader_audit(struct loader_opening *o, bool opened)
{
	struct fs *fs = o->r.request.call.fs;
	struct loader_closing *c;

	audit_format(fs, &o->writer, "register", o->rc == 0 ? o->plugin.fmt : NULL, o->path, o->rc);
	c = opened && o->rc < 0 ? loader_new_closing() : NULL;
	if (c)
		loader_submit_closing(fs, c, &o->plugin);
}

static void loader_go(struct work_request *r)
{
	struct loader_opening *o = container_of(r, struct loader_opening, r);
	bool opened = o->rc == 0;

	if (opened)
		o->rc = format_register(&o->plugin, &o->err);
	loader_audit(o, opened);
	call_write_done(&r->request.call, o->rc, o->rc < 0 ? &o->err : NULL);
	loader_free(o);
}

static void loader_drop(struct work_request *r)
{
	struct loader_opening *o = container_of(r, struct loader_opening, r);
	bool opened = o->rc == 0;

	if (r->work.hangs) {
		loader_stuck = true;
		return;
	}
	if (!r->work.ended) {
		if (opened)
			o->rc = -EINTR;
		loader_audit(o, opened);
	}
	loader_free(o);
}

int format_loader_register(struct call *call, struct slice path, struct err *e)
{
	static const struct work_kind kind = {loader_open, loader_go, loader_drop};
	struct loader_opening *o = calloc(1, sizeof(*o));

	if (o)
		o->path = strndup(path.p, path.n);
	if (!o || !o->path) {
		free(o);
		return err_set(e, ENOMEM, "no memory");
	}
	o->r.work.uid = LOADER_UID;
	o->r.work.may_hang = true;
	o->writer = audit_format_writer(call);
	if (work_request_begin(&o->r, call, sizeof(*o) + path.n, &kind, e) == 0)
		return CALL_LATER;
	loader_free(o);
	return -e->no;
}

int format_loader_unregister(struct call *call, struct slice name_or_uuid, struct err *e)
{
	const struct audit_writer writer = audit_format_writer(call);
	struct loader_closing *c = loader_new_closing();
	struct plugin plugin = {0};
	int rc;

	if (!c)
		return err_set(e, ENOMEM, "no memory");
	rc = format_unregister(name_or_uuid, &plugin, e);
	audit_format(call->fs, &writer, "unregister", plugin.fmt, NULL, rc);
	if (rc == 0)
		loader_submit_closing(call->fs, c, &plugin);
	else
		free(c);
	return rc;
}

bool format_loader_is_stuck(void)
{
	return loader_stuck;
}

// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/format_loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/engine/engine.h"
#include "daemon/format/format.h"
#include "daemon/fs/requests/audit.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/tree/fs_state.h"

/* Work that opens a file. */
struct loader_opening {
	struct await_work wait;
	char *path;
	struct plugin plugin;
	/* What plugin_open() has returned, or LOADER_NOT_RUN. */
	int rc;
	struct err *err;
};

/* Work that closes a file. */
struct loader_closing {
	struct work work;
	struct plugin plugin;
};

enum {
	/* Closing is root's work, as opening is: files are handled one after another, and none is
	 * delayed. */
	LOADER_UID = 0,
	LOADER_NOT_RUN = 1,
};

static void loader_close(struct work *w)
{
	plugin_close(&container_of(w, struct loader_closing, work)->plugin);
}

static void loader_closed(struct work *w)
{
	if (!w->hangs)
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

static void loader_open(struct work *work)
{
	struct loader_opening *o = container_of(work, struct loader_opening, wait.work);

	o->rc = plugin_open(o->path, &o->plugin, o->err);
}

/* Registers the file, or closes it if @rc or the registration fails. The audit record has each
 * file that was opened, even after an interrupt. */
static int loader_finish(struct call *call, const struct loader_opening *o, int rc,
	const struct audit_writer *writer, struct err *e)
{
	bool opened = o->rc == 0;
	struct loader_closing *c;

	if (rc == 0)
		rc = opened ? format_register(&o->plugin, e) : o->rc;
	if (o->rc != LOADER_NOT_RUN)
		audit_format(call->fs, writer, "register", rc == 0 ? o->plugin.fmt : NULL, o->path,
			opened ? rc : o->rc);
	c = opened && rc < 0 ? loader_new_closing() : NULL;
	if (c)
		loader_submit_closing(call->fs, c, &o->plugin);
	return rc;
}

int format_loader_register(struct call *call, struct slice path, struct err *e)
{
	CLEANUP_FREE char *copy = strndup(path.p, path.n);
	const struct audit_writer writer = audit_format_writer(call);
	struct loader_opening o = {
		.wait.work = {.run = loader_open, .may_hang = true},
		.path = copy,
		.rc = LOADER_NOT_RUN,
		.err = e,
	};

	if (!copy)
		return err_set(e, ENOMEM, "no memory");
	return loader_finish(call, &o, await_work(call, &o.wait, e), &writer, e);
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

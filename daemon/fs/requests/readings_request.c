// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/readings_request.h"

#include "daemon/fs/requests/await.h"
#include "daemon/fs/tree/fs_state.h"

struct readings_work {
	struct await_work wait;
	struct readings *readings;
	readings_print *print;
	const struct row *row;
	struct text *out;
	int rc;
	struct err *err;
};

static void readings_work_run(struct work *work)
{
	struct readings_work *w = container_of(work, struct readings_work, wait.work);

	w->rc = w->print(w->readings, w->row, w->out, w->err);
}

int readings_request_read(
	struct call *call, readings_print *print, struct text *out, struct err *e)
{
	struct readings_work w = {
		.wait.work.run = readings_work_run,
		.readings = call->fs->readings,
		.print = print,
		.row = call->node.row,
		.out = out,
		.err = e,
	};
	int rc = await_work(call, &w.wait, e);

	return rc < 0 ? rc : w.rc;
}

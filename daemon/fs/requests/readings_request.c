// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/readings_request.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/work_request.h"
#include "daemon/fs/tree/fs_state.h"

struct readings_request {
	struct work_request r;
	struct readings *readings;
	readings_print *print;
	struct text out;
	int rc;
	struct err err;
};

static void readings_request_run(struct work_request *w)
{
	struct readings_request *r = container_of(w, struct readings_request, r);

	r->rc = r->print(r->readings, w->request.call.node.row, &r->out, &r->err);
}

static void readings_request_free(struct readings_request *r)
{
	text_free(&r->out);
	free(r);
}

static void readings_request_go(struct work_request *w)
{
	struct readings_request *r = container_of(w, struct readings_request, r);

	call_read_done(&w->request.call, r->rc, &r->out, &r->err);
	readings_request_free(r);
}

static void readings_request_drop(struct work_request *w)
{
	readings_request_free(container_of(w, struct readings_request, r));
}

int readings_request_begin(struct call *call, readings_print *print, struct err *e)
{
	static const struct work_kind kind = {
		readings_request_run, readings_request_go, readings_request_drop};
	struct readings_request *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(e, ENOMEM, "no memory");
	r->r.work.uid = fuse_req_ctx(call->req)->uid;
	r->readings = call->fs->readings;
	r->print = print;
	if (work_request_begin(&r->r, call, sizeof(*r), &kind, e) == 0)
		return CALL_LATER;
	free(r);
	return -e->no;
}

// SPDX-License-Identifier: MIT
/* threads of a context: the counts of each thread of a process that one context counts. */
#include "daemon/fs/rows/rows.h"

#include <errno.h>
#include <inttypes.h>

#include "daemon/command/command.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/command_request.h"

/* Lines that are printed in one turn: less than a millisecond. */
enum { THREADS_SLICE = 256 };

static size_t threads_bytes(const struct thread_table *t, const struct text *out)
{
	return thread_table_bytes(t) + out->room + 3 * CHARGE_PIECE;
}

static void threads_print_value(
	const struct pmu *pmu, uint32_t addr, const struct thread_value *v, struct text *out)
{
	unsigned d = 0;

	while (d + 1 < pmu->npmds && pmu->pmds[d].addr != addr)
		d++;
	if (v->lost)
		text_printf(out, " pmd%u lost", pmu->pmds[d].num);
	else
		text_printf(out, " pmd%u %" PRIu64, pmu->pmds[d].num, v->count);
}

static void threads_print(
	const struct pmu *pmu, const struct thread_table *t, unsigned i, struct text *out)
{
	text_printf(out, "tid=%d%s", t->thread[i].tid, t->thread[i].ended ? " ended" : "");
	for (unsigned k = 0; k < t->ncounters; k++)
		threads_print_value(pmu, t->addr[k], &t->value[(size_t)i * t->ncounters + k], out);
	text_printf(out, "\n");
}

static int threads_print_all(
	struct call *call, const struct thread_table *t, struct text *out, struct err *e)
{
	int rc = await_charge(call, threads_bytes(t, out), e);

	for (unsigned i = 0; rc == 0 && i < t->n; i++) {
		threads_print(call->fs->be->pmu, t, i, out);
		if ((i + 1) % THREADS_SLICE)
			continue;
		rc = await_charge(call, threads_bytes(t, out), e);
		if (rc == 0)
			rc = await_yield(call, e);
	}
	return rc;
}

static int threads_read(struct call *call, struct text *out, struct err *e)
{
	struct thread_table table = {0};
	struct await_job j = {.job = {
				      .ec = &call->ctx->ec,
				      .cmd = {.verb = CMD_THREADS,
					      .limits = command_limits(call->fs),
					      .threads = &table},
			      }};
	int rc = await_job(call, &j);

	if (rc < 0)
		err_copy(e, &j.job.err);
	else
		rc = threads_print_all(call, &table, out, e);
	thread_table_free(&table);
	return rc;
}

const struct row rows_threads[] = {
	{FILE_ROW(DIR_CTX, "threads", 0400), .flags = ROW_FRESH | ROW_WAITS,
		.length = LINES_OF_MACHINE, .read = threads_read},
	ROW_END,
};

// SPDX-License-Identifier: MIT
/* The root directory and its files. */
#include "base/version.h"
#include "daemon/fs/rows/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/engine/cpu_scan.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/caller.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/stat_keys.h"
#include "daemon/fs/requests/uid_error.h"
#include "daemon/fs/tree/fs_state.h"

static void root_show_version(const struct call *call, struct text *out)
{
	(void)call;
	text_printf(out, "perfmonfs %s interface %d\n", PERFMONFS_VERSION, ROWS_INTERFACE);
}

static void root_show_last_error(const struct call *call, struct text *out)
{
	/* Shows the opener's sentence, as the file may have been passed on to another user. */
	uid_error_show(call->fs, call->file->uid, out);
}

static void root_show_user(const struct user_quota *q, struct text *out)
{
	unsigned long long bytes = atomic_load(&q->bytes);

	if (!bytes)
		return;
	text_printf(out, "memory_bytes_%u %llu\n", (unsigned)q->uid, bytes);
	text_printf(out, "thread_workers_%u %u\n", (unsigned)q->uid, q->workers);
}

/* Shows users only their own usage; root sees everyone's. */
static void root_show_users(const struct call *call, struct text *out)
{
	const struct user_quotas *all = &call->fs->objects.quotas;
	const struct user_quota *q = call->file->charge.quota;

	text_printf(out, "memory_bytes %llu\n", atomic_load(&q->bytes));
	text_printf(out, "thread_workers %u\n", q->workers);
	if (call->file->uid)
		return;
	text_printf(out, "memory_bytes_all %llu\n", atomic_load(&all->bytes));
	list_for_each_entry (q, &all->list, link)
		root_show_user(q, out);
}

static void root_show_stats(const struct call *call, struct text *out)
{
	for (const struct stat_key *k = stat_keys; k->name; k++)
		text_printf(out, "%s %" PRIu64 "\n", k->name, k->value(call->fs));
	root_show_users(call, out);
}

static void root_print_reserved(
	struct backend *be, unsigned cpu, const struct cpu_scan_result *s, struct text *out)
{
	const struct pmu *pmu = backend_cpu_pmu(be, cpu);

	for_each_row (p, s->enabled) {
		text_printf(out, " pmc%u in use by ", pmu->pmcs[p].num);
		be->ops->pmu_owner(be, cpu, pmu->pmcs[p].addr, s->value[p], out);
	}
}

/* Prints the state of a CPU that can be told without reading its registers. Returns false if no
 * context uses the CPU. */
static bool root_print_user(struct fs *fs, unsigned cpu, bool online, struct text *out)
{
	const struct engine_ctx *ec = engine_owner(fs->eng, cpu);

	text_printf(out, "%u %s", cpu, online ? "online" : "offline");
	if (ec)
		text_printf(out, " context=%s uid=%u pid=%d", ec->name, ec->uid, ec->pid);
	else if (engine_has_ctxsw(fs->eng, cpu))
		text_printf(out, " threads");
	else
		return false;
	return true;
}

/* Prints the end of a CPU's line: its type, the context that waits for it, and registers left by a
 * dead daemon or an ended context. */
static void root_end_cpu(struct fs *fs, unsigned cpu, struct text *out)
{
	const struct engine_ctx *yielded = engine_yielded(fs->eng, cpu);
	struct backend *be = fs->be;
	const struct pmu *pmu = be->types ? backend_cpu_pmu(be, cpu) : NULL;
	TEXT_CLEANUP struct text regs = {0};

	if (pmu)
		text_printf(out, " type=%s", pmu->by_type.name);
	if (yielded)
		text_printf(out, " yielded=%s", yielded->name);
	if (be->ops->unrestored)
		be->ops->unrestored(be, cpu, &regs);
	if (regs.n)
		text_printf(out, " unrestored=%s", regs.p);
	text_printf(out, "\n");
}

static void root_print_cpu(
	struct fs *fs, unsigned cpu, const struct cpu_scan_result *s, struct text *out)
{
	if (root_print_user(fs, cpu, s->online, out))
		; /* registers of a CPU in use are not read */
	else if (s->err.no)
		text_printf(out, " unreadable %s", err_name(s->err.no));
	else if (s->enabled)
		root_print_reserved(fs->be, cpu, s, out);
	else if (s->online)
		text_printf(out, " free");
	root_end_cpu(fs, cpu, out);
}

/* Contexts on threads: of the opener's user, or of all users. */
struct root_threads {
	uid_t uid;
	bool all;
	struct text *out;
	unsigned n;
};

enum { ROOT_THREADS_MAX = 1000 }; /* lines; there may be 65535 contexts */

static void root_print_thread(void *arg, const struct engine_ctx *ec, int tid)
{
	struct root_threads *t = arg;

	if (!t->all && ec->uid != t->uid)
		return;
	if (t->n++ < ROOT_THREADS_MAX)
		text_printf(t->out, "thread %d context=%s uid=%u pid=%d\n", tid, ec->name, ec->uid,
			ec->pid);
}

static void root_print_threads(const struct call *call, bool all, struct text *out)
{
	struct root_threads t = {.uid = call->file->uid, .all = all, .out = out};

	engine_each_on_thread(call->fs->eng, root_print_thread, &t);
	if (t.n > ROOT_THREADS_MAX)
		text_printf(out, "threads %u more\n", t.n - ROOT_THREADS_MAX);
}

/* A scan of all CPUs, for which a read waits. */
struct root_scan {
	struct fiber_wait wait;
	struct cpu_scan_result *cpus; /* a copy */
	unsigned n;
};

static void root_cpus_done(void *arg, const struct cpu_scan_result *cpus, unsigned n)
{
	struct root_scan *scan = arg;

	scan->cpus = cpus ? malloc(n * sizeof(*cpus)) : NULL;
	scan->n = n;
	if (scan->cpus)
		memcpy(scan->cpus, cpus, n * sizeof(*cpus));
	fiber_wake(&scan->wait);
}

/* Reading registers disturbs measurements, so users that may not load on a CPU see only this
 * list. */
static int root_list_cpus(struct call *call, struct text *out)
{
	struct backend *be = call->fs->be;
	unsigned n = be->ops->cpu_limit(be);

	for (unsigned cpu = 0; cpu < n; cpu++) {
		root_print_user(call->fs, cpu, be->ops->cpu_online(be, cpu), out);
		root_end_cpu(call->fs, cpu, out);
	}
	root_print_threads(call, false, out);
	return 0;
}

static int root_read_cpus(struct call *call, struct text *out, struct err *e)
{
	static const struct caller_need need = {NEED_SYSTEM, GRANT_NO_CPU};
	struct root_scan scan = {.n = 0};
	struct rights rights;
	int rc;

	if (caller_await_rights(call, need, &rights, e) < 0)
		return -e->no;
	if (!rights.system)
		return root_list_cpus(call, out);
	engine_scan_cpus(call->fs->eng, root_cpus_done, &scan);
	rc = await_event(call, &scan.wait, e);
	if (rc == 0 && !scan.cpus)
		rc = err_set(
			e, ENOMEM, "no memory to scan the CPUs, or the daemon is shutting down");
	for (unsigned cpu = 0; rc == 0 && cpu < scan.n; cpu++)
		root_print_cpu(call->fs, cpu, &scan.cpus[cpu], out);
	if (rc == 0)
		root_print_threads(call, true, out);
	free(scan.cpus);
	return rc;
}

const struct row rows_root[] = {
	{DIR_ROW(DIR_NONE, DIR_ROOT, "/", 0755)},
	{FILE_ROW(DIR_ROOT, "version", 0444), .show = root_show_version},
	{FILE_ROW(DIR_ROOT, "last_error", 0444), .show = root_show_last_error},
	{FILE_ROW(DIR_ROOT, "cpus", 0444), .flags = ROW_WAITS, .length = LINES_OF_MACHINE,
		.read = root_read_cpus},
	{FILE_ROW(DIR_ROOT, "stats", 0444), .length = LINES_OF_MACHINE, .show = root_show_stats},
	ROW_END,
};

// SPDX-License-Identifier: MIT
/* The files at the top of the tree. */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/cpu/survey.h"

int version_show(struct call *call, struct text *out, struct err *e)
{
	(void)call, (void)e;
	text_printf(out, "perfmonfs %s interface 2\n", PERFMONFS_VERSION);
	return 0;
}

int last_error_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	/* Of who opened it: he may have handed it to somebody else to read. */
	uid_error_show(call->fs, call->file->uid, out);
	return 0;
}

int stats_show(struct call *call, struct text *out, struct err *e)
{
	struct engine_stats *s = engine_stats(call->fs->eng);
	struct backend_stats *b = &call->fs->be->stats;

	(void)e;
	shared_sweep(&call->fs->memory); /* then buffer_bytes is as of now */
	text_printf(out, "requests %llu\n", call->fs->requests);
	text_printf(out, "commands %llu\n", atomic_load(&s->commands));
	text_printf(out, "register_reads %llu\n", atomic_load(&b->reads));
	text_printf(out, "register_writes %llu\n", atomic_load(&b->writes));
	text_printf(out, "polls %llu\n", atomic_load(&s->polls));
	text_printf(out, "stolen %llu\n", atomic_load(&s->exec.thefts));
	text_printf(out, "switches %llu\n", atomic_load(&s->exec.switches));
	text_printf(out, "overflows %llu\n", atomic_load(&s->exec.overflows));
	text_printf(out, "messages_lost %llu\n", atomic_load(&s->exec.messages_lost));
	text_printf(out, "witness_lost %llu\n", atomic_load(&s->exec.witness_lost));
	text_printf(out, "buffer_bytes %llu\n", atomic_load(&call->fs->memory.all.bytes));
	text_printf(out, "passthrough %d\n", call->fs->passthrough.on);
	text_printf(out, "contexts %u\n", call->fs->objects.count);
	text_printf(out, "workers %u\n", s->workers);
	text_printf(out, "carriers %u\n", s->carriers);
	text_printf(out, "threads %u\n", s->threads);
	text_printf(out, "carried_in %llu\n", atomic_load(&s->ins));
	text_printf(out, "carried_out %llu\n", atomic_load(&s->outs));
	text_printf(out, "carrier_waits %llu\n", atomic_load(&s->waits));
	text_printf(out, "carrier_late %llu\n", atomic_load(&s->late));
	text_printf(out, "carrier_untold %llu\n", atomic_load(&s->untold));
	text_printf(out, "carry_overhead %llu\n", atomic_load(&s->carry));
	return 0;
}

static void print_held(
	struct backend *be, unsigned cpu, const struct survey_cpu *s, struct text *out)
{
	for (unsigned p = 0; p < be->pmu->npmcs; p++) {
		if (!(s->held & ROW(p)))
			continue;
		text_printf(out, " pmc%u held by ", be->pmu->pmcs[p].num);
		be->ops->holder(be, cpu, be->pmu->pmcs[p].addr, s->value[p], out);
	}
}

/* What of a CPU is no matter of registers: false if nobody uses it by us. */
static bool print_user(struct fs *fs, unsigned cpu, bool online, struct text *out)
{
	const struct tenant *t = engine_owner(fs->eng, cpu);

	text_printf(out, "%u %s", cpu, online ? "online" : "offline");
	if (t)
		text_printf(out, " context=%s uid=%u pid=%d", t->name, t->uid, t->pid);
	else if (engine_carries(fs->eng, cpu))
		text_printf(out, " threads");
	else
		return false;
	return true;
}

static void print_cpu(struct fs *fs, unsigned cpu, const struct survey_cpu *s, struct text *out)
{
	if (print_user(fs, cpu, s->online, out))
		; /* then its registers are not looked at */
	else if (s->err.no)
		text_printf(out, " unreadable %s", err_name(s->err.no));
	else if (s->held)
		print_held(fs->be, cpu, s, out);
	else if (s->online)
		text_printf(out, " free");
	text_printf(out, "\n");
}

static void cpus_answer(void *arg, const struct survey_cpu *cpus, unsigned n)
{
	TEXT_CLEANUP struct text out = {0};
	struct call *call = arg;
	struct err e;
	int rc = 0;

	for (unsigned cpu = 0; cpu < n; cpu++)
		print_cpu(call->fs, cpu, &cpus[cpu], &out);
	if (!cpus)
		rc = err_set(&e, ENOMEM, "no memory to look at the CPUs");
	call_read_done(call, rc, &out, &e);
	free(call);
}

/* Looking at registers disturbs whoever measures there: without the right to load, only this. */
static int cpus_unseen(struct call *call, struct text *out)
{
	struct backend *be = call->fs->be;
	unsigned n = be->ops->cpu_limit(be);

	for (unsigned cpu = 0; cpu < n; cpu++) {
		print_user(call->fs, cpu, be->ops->cpu_online(be, cpu), out);
		text_printf(out, "\n");
	}
	return 0;
}

int cpus_show(struct call *call, struct text *out, struct err *e)
{
	struct call *kept;

	if (!call->file->rights.system)
		return cpus_unseen(call, out);
	kept = malloc(sizeof(*kept));
	if (!kept)
		return err_set(e, ENOMEM, "no memory");
	*kept = *call;
	engine_survey(call->fs->eng, cpus_answer, kept);
	return CALL_LATER;
}

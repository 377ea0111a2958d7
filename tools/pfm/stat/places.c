// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/places.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/slice.h"
#include "tools/pfm/tree/cgroup.h"
#include "tools/pfm/tree/cpus.h"
#include "tools/pfm/tree/file.h"
#include "tools/pfm/tree/proc.h"
#include "tools/pfm/tree/topology.h"

enum { PLACES_MAX = 8192 };

int places_add(struct places *p, enum place_kind kind, int id, struct err *e)
{
	if (p->n == PLACES_MAX)
		return err_set(e, E2BIG, "more than %d places to count", PLACES_MAX);
	if (p->n == p->room) {
		unsigned room = p->room ? 2 * p->room : 4;
		struct place *all = realloc(p->all, room * sizeof(*all));

		if (!all)
			return err_set(e, ENOMEM, "no memory for %u contexts", room);
		p->all = all;
		p->room = room;
	}
	p->all[p->n++] = (struct place){.kind = kind, .id = id, .ctx = TREE_CTX_NONE};
	return 0;
}

/* Adds the CPUs that MNT/cpus shows as online. */
static int places_add_online(struct places *p, const struct tree *t, struct err *e)
{
	TEXT_CLEANUP struct text text = {0};
	struct slice rest, line;
	struct cpus_line cpu;
	int rc = file_read(t->dir, "cpus", &text, e);

	rest = slice_of(text.p ? text.p : "");
	while (rc == 0 && (line = slice_cut(&rest, '\n')).n)
		if (cpus_parse(line, &cpu) && !cpu.thread && cpu.state != CPUS_OFFLINE)
			rc = places_add(p, PLACE_CPU, cpu.id, e);
	return rc;
}

static bool places_have(const struct places *p, int id)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->all[i].id == id)
			return true;
	return false;
}

/* Whether this user may not trace the thread. A daemon of the user's own has no more rights. */
static bool places_is_others(int id)
{
	char path[48], ns[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", id);
	return readlink(path, ns, sizeof(ns)) < 0 && (errno == EACCES || errno == EPERM);
}

/* Refuses a number that no process or thread has: the daemon would take it for a thread that has
 * just ended. */
static int places_check_number(enum place_kind kind, int id, const struct tree *t, struct err *e)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", id);
	if (kind == PLACE_CPU)
		return 0;
	if (access(path, F_OK) == 0)
		return t->users && places_is_others(id)
			       ? err_set(e, EPERM,
					 "%s %d is not yours to measure: choose one of your own, "
					 "or run pfm as root with sudo",
					 kind == PLACE_PROCESS ? "process" : "thread", id)
			       : 0;
	return kind == PLACE_PROCESS
		       ? err_set(e, ESRCH, "there is no process %d: `ps -e` lists processes", id)
		       : err_set(e, ESRCH, "there is no thread %d: `ps -eL` lists threads", id);
}

int place_explain(const struct place *place, const struct err *why, struct err *e)
{
	*e = *why;
	return place->cgroup
		       ? err_prefix(e, "control group %.100s, process %d", place->cgroup, place->id)
		       : -e->no;
}

struct places_of_cgroup {
	struct places *places;
	const struct tree *tree;
	const char *name;
};

/* Whether it is pfm itself, or its daemon or the daemon's helper. */
static bool places_is_own(int pid, const struct tree *t)
{
	return pid == getpid() ||
	       (t->daemon && (pid == t->daemon || proc_parent(pid) == t->daemon));
}

/* Adds a process of a control group, in which pfm itself and its daemon may be. */
static int places_add_member(void *arg, int pid, struct err *e)
{
	const struct places_of_cgroup *g = arg;
	struct err why;
	int rc;

	if (places_is_own(pid, g->tree) || places_have(g->places, pid))
		return 0;
	rc = places_check_number(PLACE_PROCESS, pid, g->tree, &why);
	if (rc < 0)
		return rc == -ESRCH ? 0
				    : place_explain(&(struct place){.id = pid, .cgroup = g->name},
					      &why, e);
	rc = places_add(g->places, PLACE_PROCESS, pid, e);
	if (rc == 0)
		g->places->all[g->places->n - 1].cgroup = g->name;
	return rc;
}

static int places_check_members(const struct places *p, const char *cgroup, struct err *e)
{
	return p->n ? 0
		    : err_set(e, ESRCH,
			      "control group %s has no process to measure: /proc/PID/cgroup names "
			      "that of a process",
			      cgroup);
}

/* A number that is given twice makes one place. */
int places_add_list(
	struct places *p, const struct tree *t, const struct place_options *o, struct err *e)
{
	static const char *const examples[] = {[PLACE_PROCESS] = "-p 4711,4712",
		[PLACE_THREAD] = "-t 4711,4712",
		[PLACE_CPU] = "-C 0-3,8"};
	struct slice rest = slice_of(o->list ? o->list : "");
	uint64_t first, last;
	int rc = 0;

	if (!o->list)
		return places_add_online(p, t, e);
	if (o->cgroup) {
		rc = cgroup_processes(
			o->list, places_add_member, &(struct places_of_cgroup){p, t, o->list}, e);
		return rc < 0 ? rc : places_check_members(p, o->list, e);
	}
	do {
		if (num_range(&rest, INT_MAX, &first, &last, e) < 0)
			return err_set(e, e->no, "%.2s %.40s: give numbers, like %s%s",
				examples[o->kind], o->list, examples[o->kind],
				o->kind == PLACE_CPU ? "; a type of CPUs comes before the event: "
						       "cpu_core/cycles/"
						     : "");
		for (; rc == 0 && first <= last; first++) {
			if (places_have(p, (int)first))
				continue;
			rc = places_check_number(o->kind, (int)first, t, e);
			if (rc == 0)
				rc = places_add(p, o->kind, (int)first, e);
		}
	} while (rc == 0 && rest.n);
	return rc;
}

/* Finds the plan for the CPU in @cpus, the text of MNT/cpus. NULL: no plan counts there. */
static const struct plan *place_find_plan(
	const struct place *place, const struct plans *plans, struct slice cpus)
{
	struct cpus_line line = {.id = -1};

	while (cpus.n &&
		(!cpus_parse(slice_cut(&cpus, '\n'), &line) || line.thread || line.id != place->id))
		line = (struct cpus_line){.id = -1};
	/* The daemon reports a CPU that does not exist when the context is loaded. */
	if (!line.type.n)
		return &plans->all[0];
	for (unsigned i = 0; i < plans->n; i++)
		if (slice_is(line.type, plans->all[i].pmu->type) && plans->all[i].n)
			return &plans->all[i];
	return NULL;
}

int places_plan(struct places *p, const struct tree *t, const struct plans *plans, struct err *e)
{
	bool types = p->n && p->all[0].kind == PLACE_CPU && plans->all[0].pmu->type[0];
	TEXT_CLEANUP struct text text = {0};
	unsigned n = 0;
	int rc = types ? file_read(t->dir, "cpus", &text, e) : 0;

	for (unsigned i = 0; rc == 0 && i < p->n; i++) {
		p->all[i].plan =
			types ? place_find_plan(&p->all[i], plans, (struct slice){text.p, text.n})
			      : &plans->all[0];
		if (p->all[i].plan)
			p->all[n++] = p->all[i];
	}
	if (rc == 0)
		p->n = n;
	return rc;
}

/* The number of the place's events that memory controllers count. */
static unsigned place_umcs(const struct place *place)
{
	unsigned n = 0;

	for (unsigned i = 0; i < place->plan->n; i++)
		n += place->plan->events[i].umc;
	return n;
}

/* Finds a place among the first @n that counts the memory controllers of @package; NULL: none. */
static const struct place *places_find_package(const struct places *p, unsigned n, int package)
{
	for (unsigned i = 0; i < n; i++)
		if (p->all[i].package == package && place_umcs(&p->all[i]))
			return &p->all[i];
	return NULL;
}

static int place_find_package(struct place *place, struct err *e)
{
	struct topology t = {0};

	if (topology_of(place->id, &t, e) < 0)
		return err_set(e, ENOENT,
			"the kernel does not say which package CPU %d belongs to, so its memory "
			"controllers cannot be counted: name one CPU of each package with -C",
			place->id);
	place->package = t.socket;
	return 0;
}

int places_share_packages(struct places *p, struct err *e)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n; i++) {
		struct place *place = &p->all[i];
		unsigned umcs = place_umcs(place);
		const struct place *other = NULL;

		if (umcs && p->n > 1 && place_find_package(place, e) < 0)
			return -e->no;
		if (umcs)
			other = places_find_package(p, n, place->package);
		if (other && umcs < place->plan->n)
			return err_set(e, EINVAL,
				"CPUs %d and %d share a package, whose memory controllers one CPU "
				"counts: count memory events separately from CPU events, or name "
				"one CPU of each package with -C",
				other->id, place->id);
		if (!other)
			p->all[n++] = *place;
	}
	p->n = n;
	return 0;
}

int places_check_tree(const struct place_options *o, const struct tree *t, struct err *e)
{
	if (o->kind != PLACE_CPU && strcmp(t->backend, "sim") == 0)
		return err_set(e, EINVAL,
			"the simulated backend has no threads: choose CPUs with -C or -a");
	return 0;
}

static int place_aggregate(struct place *place, enum aggregate how, struct err *e)
{
	struct topology t = {0};
	int rc = 0;

	if (how == AGGREGATE_CORE || how == AGGREGATE_SOCKET)
		rc = topology_of(place->id, &t, e);
	if (how == AGGREGATE_CORE)
		place->scope = (struct scope){.kind = SCOPE_CORE, .id = t.core, .socket = t.socket};
	else if (how == AGGREGATE_SOCKET)
		place->scope = (struct scope){.kind = SCOPE_SOCKET, .socket = t.socket};
	else
		place->scope =
			(struct scope){.kind = place->kind == PLACE_CPU ? SCOPE_CPU : SCOPE_THREAD,
				.id = place->id};
	return rc;
}

int places_aggregate(struct places *p, enum aggregate how, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < p->n; i++)
		rc = place_aggregate(&p->all[i], how, e);
	return rc;
}

static const char *place_target(enum place_kind kind)
{
	return kind == PLACE_CPU ? "cpu" : kind == PLACE_PROCESS ? "pid" : "tid";
}

void place_format_load(enum place_kind kind, int id, char load[static PLACE_LOAD_ROOM])
{
	snprintf(load, PLACE_LOAD_ROOM, "load %s=%d%s", place_target(kind), id,
		kind == PLACE_COMMAND || kind == PLACE_PROCESS ? " follow" : "");
}

static int place_command_load(struct place *place, struct err *e)
{
	const struct text *cpus = &place->plan->cpus;
	TEXT_CLEANUP struct text load = {0};
	char plain[PLACE_LOAD_ROOM];

	place_format_load(place->kind, place->id, plain);
	if (place->inherit)
		text_printf(&load, "load %s=%d inherit%s", place_target(place->kind), place->id,
			place->kind == PLACE_COMMAND ? " on_exec" : "");
	else
		text_printf(
			&load, "%s%s%s", plain, cpus->n ? " cpus=" : "", cpus->n ? cpus->p : "");
	return text_ok(&load) ? ctx_command(&place->ctx, load.p, e)
			      : err_set(e, ENOMEM, "no memory for a list of CPUs");
}

int place_load(struct place *place, const struct tree *t, struct err *e)
{
	int rc = ctx_open(t, &place->ctx, e);

	if (rc == 0)
		rc = plan_program(place->plan, &place->ctx, e);
	if (rc == 0 && place->flags)
		rc = file_write(place->ctx.dir, "flags", place->flags, e);
	if (rc < 0)
		return rc;
	place->ended = false;
	memset(&place->collected, 0, sizeof(place->collected));
	memset(&place->last, 0, sizeof(place->last));
	return place_command_load(place, e);
}

int places_load(struct places *p, const struct tree *t, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < p->n; i++) {
		struct err why;

		rc = place_load(&p->all[i], t, &why);
		if (rc == -ESRCH && p->all[i].cgroup && p->n > 1) {
			ctx_close(&p->all[i].ctx);
			p->all[i--] = p->all[--p->n];
			rc = 0;
		} else if (rc < 0) {
			rc = place_explain(&p->all[i], &why, e);
		}
	}
	return rc;
}

int places_start(struct places *p, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < p->n; i++) {
		struct place *place = &p->all[i];
		struct err why, ignored;

		rc = ctx_command(&place->ctx, "start", &why);
		if (rc < 0 && place->cgroup && place_check(place, &ignored) == 0 && place->ended)
			rc = 0;
		else if (rc < 0)
			rc = place_explain(place, &why, e);
	}
	return rc;
}

int places_begin(struct places *p, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < p->n; i++) {
		struct reading *last = &p->all[i].last;

		if (p->all[i].kind == PLACE_COMMAND)
			rc = file_read_u64(p->all[i].ctx.dir, "pmd/262", &last->elapsed_ns, e);
		last->counted_ns = last->elapsed_ns;
	}
	return rc;
}

int place_check(struct place *place, struct err *e)
{
	char state[64];
	int rc = file_read_line(place->ctx.dir, "state", state, sizeof(state), e);

	if (rc == 0 && strncmp(state, "zombie", 6) == 0)
		place->ended = true;
	return rc;
}

int places_stop(struct places *p, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < p->n; i++) {
		struct place *place = &p->all[i];

		if (place->away.no)
			continue;
		rc = place_check(place, e);
		if (rc < 0 || place->ended)
			continue;
		/* The thread may end at this moment; its counts are complete then, too. */
		if (ctx_command(&place->ctx, "stop", e) < 0)
			rc = e->no == EINVAL ? place_check(place, e) : -e->no;
	}
	return rc;
}

/* Adds the time counted: for a CPU, the time in which its event sets were active; for threads, the
 * time from start to stop, whether they ran or not. */
static void place_add_time(const struct place *place, struct reading *r)
{
	r->places = 1;
	for (unsigned set = 0; place->kind == PLACE_CPU && set < PLAN_SETS; set++)
		r->counted_ns += r->active_ns[set];
	if (place->kind != PLACE_CPU)
		r->counted_ns = r->elapsed_ns;
}

static int place_find_offline(const struct place *place, const struct tree *t, struct err *e)
{
	TEXT_CLEANUP struct text text = {0};
	int rc = file_read(t->dir, "cpus", &text, e), offline = 1;
	struct slice rest = {text.p, text.n};
	struct cpus_line cpu;

	while (rc == 0 && rest.n)
		if (cpus_parse(slice_cut(&rest, '\n'), &cpu) && !cpu.thread && cpu.id == place->id)
			offline = cpu.state == CPUS_OFFLINE;
	return rc < 0 ? rc : offline;
}

int place_revive(struct place *place, const struct tree *t, const struct reading *r, struct err *e)
{
	bool lost = false;
	int rc;

	for (unsigned i = 0; i < place->plan->n; i++)
		lost |= r->lost[i] && r->lost[i]->no == ENXIO;
	if (place->kind != PLACE_CPU || !(lost || place->away.no))
		return 0;
	rc = place_find_offline(place, t, e);
	if (rc)
		return rc < 0 ? rc : 0;
	ctx_close(&place->ctx);
	place->away = (struct err){0};
	rc = place_load(place, t, &place->away);
	if (rc == 0)
		rc = ctx_command(&place->ctx, "start", &place->away);
	if (rc < 0)
		ctx_close(&place->ctx);
	return 0;
}

int place_read(struct place *place, struct reading *r, struct err *e)
{
	int rc;

	*r = place->collected;
	if (place->away.no) {
		reading_lose_all(r, place->plan, &place->away);
		return 0;
	}
	/* The longest time may be that of a child which is gone by now. */
	r->elapsed_ns = place->last.elapsed_ns;
	rc = reading_add(r, place->plan, place->ctx.dir, e);
	if (rc == 0)
		place_add_time(place, r);
	return rc;
}

int places_collect(struct places *p, bool threads, struct err *e)
{
	int rc = 0, more = 0;

	for (unsigned i = 0; rc >= 0 && i < p->n; i++) {
		struct place *place = &p->all[i];

		if (place->inherit) /* It has no children. */
			continue;
		rc = threads ? threads_collect(&place->threads, place->plan, place->ctx.dir, e)
			     : reading_collect(&place->collected, place->plan, place->ctx.dir, e);
		more |= rc > 0;
	}
	return rc < 0 ? rc : more;
}

int place_tid(const struct place *place, int *tid, struct err *e)
{
	char state[128];
	int rc = file_read_line(place->ctx.dir, "state", state, sizeof(state), e);

	if (rc == 0 && sscanf(state, "%*s tid=%d", tid) != 1)
		*tid = place->id;
	return rc;
}

void places_unload(struct places *p)
{
	for (unsigned i = 0; i < p->n; i++)
		ctx_close(&p->all[i].ctx);
}

void places_free(struct places *p)
{
	places_unload(p);
	for (unsigned i = 0; i < p->n; i++)
		threads_free(&p->all[i].threads);
	free(p->all);
	*p = (struct places){0};
}

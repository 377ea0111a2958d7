// SPDX-License-Identifier: MIT
#include "daemon/engine/cpu_scan.h"

#include <pthread.h>
#include <stdlib.h>

#include "daemon/engine/engine_i.h"
#include "daemon/percpu/thread.h"

/* A request for the result. */
struct cpu_scan_waiter {
	cpu_scan_done *done;
	void *arg;
	struct cpu_scan_waiter *next;
};

struct cpu_scan {
	/* EVENT_CPU_SCAN */
	struct event event;
	struct engine *eng;
	struct backend *be;
	pthread_t thread;
	/* Session thread only. */
	struct cpu_scan_waiter *waiters;
	/* Results of n CPUs, written by the thread. */
	unsigned n;
	struct cpu_scan_result cpu[];
};

static void cpu_scan_read(struct backend *be, unsigned cpu, struct cpu_scan_result *s)
{
	struct reg_op ops[PMU_MAX_PMCS];
	unsigned row[PMU_MAX_PMCS], n = 0;
	struct backend_cpu *regs;
	const struct pmu *pmu;

	if (be->ops->cpu_open(be, cpu, &regs, &s->err) < 0)
		return;
	pmu = backend_cpu_pmu(be, cpu);
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		if (pmu->by_type.lacks_pmcs & ROW(p))
			continue;
		row[n] = p;
		ops[n++] = (struct reg_op){.addr = pmu->pmcs[p].addr, .verb = REG_READ};
	}
	if (be->ops->run(regs, ops, n, &s->err) == n) {
		s->err.no = 0;
		for (unsigned i = 0; i < n; i++) {
			s->value[row[i]] = ops[i].value;
			if (ops[i].value & pmu->pmcs[row[i]].enable)
				s->enabled |= ROW(row[i]);
		}
	}
	be->ops->cpu_close(regs);
}

static void *cpu_scan_main(void *arg)
{
	struct cpu_scan *s = arg;

	for (unsigned cpu = 0; cpu < s->n; cpu++) {
		s->cpu[cpu].online = s->be->ops->cpu_online(s->be, cpu);
		if (s->cpu[cpu].online && !s->cpu[cpu].in_use)
			cpu_scan_read(s->be, cpu, &s->cpu[cpu]);
	}
	event_send(&s->eng->events, &s->event);
	return NULL;
}

static void cpu_scan_answer(
	struct cpu_scan_waiter *w, const struct cpu_scan_result *cpus, unsigned n)
{
	while (w) {
		struct cpu_scan_waiter *next = w->next;

		w->done(w->arg, cpus, n);
		free(w);
		w = next;
	}
}

void cpu_scan_complete(struct event *ev)
{
	struct cpu_scan *s = container_of(ev, struct cpu_scan, event);

	pthread_join(s->thread, NULL);
	s->eng->cpu_scan = NULL;
	cpu_scan_answer(s->waiters, s->cpu, s->n);
	free(s);
}

static struct cpu_scan *cpu_scan_start(struct engine *eng)
{
	struct backend *be = eng->be;
	unsigned n = be->ops->cpu_limit(be);
	struct cpu_scan *s = calloc(1, sizeof(*s) + n * sizeof(s->cpu[0]));

	if (!s)
		return NULL;
	s->event.kind = EVENT_CPU_SCAN;
	s->eng = eng;
	s->be = be;
	s->n = n;
	for (unsigned cpu = 0; cpu < n; cpu++)
		s->cpu[cpu].in_use = engine_owner(eng, cpu) || engine_has_ctxsw(eng, cpu);
	if (thread_start(&s->thread, cpu_scan_main, s)) {
		free(s);
		return NULL;
	}
	engine_expect(eng, 1);
	return s;
}

void engine_scan_cpus(struct engine *eng, cpu_scan_done *done, void *arg)
{
	struct cpu_scan_waiter *w = calloc(1, sizeof(*w));

	if (w && !eng->cpu_scan && !eng->ending)
		eng->cpu_scan = cpu_scan_start(eng);
	if (!w || !eng->cpu_scan) {
		free(w);
		done(arg, NULL, 0);
		return;
	}
	*w = (struct cpu_scan_waiter){.done = done, .arg = arg, .next = eng->cpu_scan->waiters};
	eng->cpu_scan->waiters = w;
}

// SPDX-License-Identifier: MIT
/*
 * CPUs that ctxsw threads give to contexts that are loaded on the CPU itself. Threads that run
 * there meanwhile are not counted.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/task/task_registry_i.h"

static bool task_cpu_is_given(const struct task_registry *reg, unsigned cpu)
{
	struct ctxsw_thread *ct = atomic_load(&reg->shared.ctxsw_threads[cpu]);

	return atomic_load(&reg->shared.takers[cpu]) && (!ct || ctxsw_is_given(ct));
}

static void task_cpu_set_taker(struct task_registry *reg, unsigned cpu, sched_u64 taker)
{
	struct ctxsw_thread *ct = atomic_load(&reg->shared.ctxsw_threads[cpu]);

	atomic_store(&reg->shared.takers[cpu], taker);
	if (ct)
		ctxsw_kick(ct);
}

bool task_take_cpu(struct task_registry *reg, unsigned cpu, unsigned uid)
{
	bool given = task_cpu_is_given(reg, cpu);
	sched_u64 old = atomic_load(&reg->shared.takers[cpu]);

	/* The load for which the CPU was first given may have been cancelled. */
	if (old && (!given || sched_taker_uid(old) == uid))
		return given;
	reg->taker_serial = reg->taker_serial % 0xffff + 1;
	task_cpu_set_taker(reg, cpu, sched_taker(cpu, uid, reg->taker_serial));
	return given || task_cpu_is_given(reg, cpu);
}

void task_return_cpu(struct task_registry *reg, unsigned cpu)
{
	task_cpu_set_taker(reg, cpu, 0);
}

bool task_has_given_cpu(const struct task_registry *reg, unsigned cpu)
{
	return cpu < CPUS_MAX && task_cpu_is_given(reg, cpu);
}

const struct pmu *task_cpus_pmu(struct backend *be, const struct cpus *cpus)
{
	unsigned limit = be->ops->cpu_limit(be), set = 0;

	if (!be->types)
		return NULL;
	for (unsigned cpu = 0; cpu < limit; cpu++) {
		const struct pmu *pmu = cpus_has(cpus, cpu) ? backend_cpu_pmu(be, cpu) : NULL;

		set |= pmu ? pmu->by_type.types : 0;
	}
	return &be->types->of[set];
}

int task_check_taken(
	const struct task_registry *reg, pid_t tid, const struct cpus *cpus, struct err *e)
{
	struct cpus affinity = {{0}};
	sched_u64 taker = 0;

	if (syscall(SYS_sched_getaffinity, tid, sizeof(affinity), &affinity) < 0)
		return 0; /* the thread has ended, which the load will find */
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!cpus_has(cpus, cpu) || !cpus_has(&affinity, cpu))
			continue;
		taker = atomic_load(&reg->shared.takers[cpu]);
		if (!taker)
			return 0;
	}
	if (!taker)
		return 0;
	return err_set(e, EBUSY,
		"thread %d cannot be counted: all CPUs that it may run on are taken, CPU %u by a "
		"context of uid %u: see cpus",
		(int)tid, sched_taker_cpu(taker), sched_taker_uid(taker));
}

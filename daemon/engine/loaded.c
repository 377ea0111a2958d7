// SPDX-License-Identifier: MIT
/* The contexts that are loaded on CPUs. */
#include "daemon/engine/engine_i.h"

struct engine_ctx *engine_any_loaded(const struct engine *eng)
{
	struct engine_ctx *ec =
		list_first_entry_or_null(&eng->loaded, struct engine_ctx, loaded_entry);

	return ec ? ec : list_first_entry_or_null(&eng->yielded, struct engine_ctx, loaded_entry);
}

struct engine_ctx *engine_owner(const struct engine *eng, unsigned cpu)
{
	struct engine_ctx *ec;

	list_for_each_entry (ec, &eng->loaded, loaded_entry)
		if (worker_cpu(ec->worker) == cpu)
			return ec;
	return NULL;
}

unsigned engine_cpu(const struct engine_ctx *ec)
{
	return ec->worker ? worker_cpu(ec->worker) : ec->ctx.target.cpu;
}

const struct engine_ctx *engine_yielded(const struct engine *eng, unsigned cpu)
{
	const struct engine_ctx *ec;

	list_for_each_entry (ec, &eng->yielded, loaded_entry)
		if (engine_cpu(ec) == cpu)
			return ec;
	return NULL;
}

void engine_target(const struct engine_ctx *ec, int *cpu, int *tid)
{
	*cpu = ec->worker || ec->yield.done ? (int)engine_cpu(ec) : -1;
	*tid = ec->task ? task_tid(ec->task) : 0;
}

unsigned engine_on_cpus(const struct engine *eng)
{
	return list_count(&eng->loaded);
}

void engine_each_on_thread(const struct engine *eng,
	void (*fn)(void *arg, const struct engine_ctx *ec, int tid), void *arg)
{
	task_each(eng->task_registry, fn, arg);
}

bool engine_has_ctxsw(const struct engine *eng, unsigned cpu)
{
	return task_covers_cpu(eng->task_registry, cpu);
}

void engine_watch(struct engine *eng, struct engine_ctx *ec)
{
	if (!atomic_exchange(&ec->watched, true) && ec->worker)
		eng->watched++;
}

uint64_t engine_wake(const struct engine *eng)
{
	const struct engine_ctx *ec;
	uint64_t soonest = 0;

	list_for_each_entry (ec, &eng->loaded, loaded_entry) {
		uint64_t at = worker_next_wake(ec->worker);

		if (at && (!soonest || at < soonest))
			soonest = at;
	}
	return soonest;
}

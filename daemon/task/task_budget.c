// SPDX-License-Identifier: MIT
/*
 * The switch budgets of users with contexts on threads. A budget is kept until its last window is
 * over, so that unloading and loading again gains nothing.
 */
#include <stdlib.h>

#include "base/nsec.h"
#include "daemon/task/task_registry_i.h"

static void task_budget_free(struct switch_budget *b)
{
	list_del(&b->link);
	free(b);
}

static void task_budgets_sweep(struct task_registry *reg, uint64_t now)
{
	struct switch_budget *b, *next;

	list_for_each_entry_safe (b, next, &reg->budgets, link)
		if (!b->refs && now - b->idle_since >= BUDGET_WINDOW_NS)
			task_budget_free(b);
}

static struct switch_budget *task_budget_find(const struct task_registry *reg, unsigned uid)
{
	struct switch_budget *b;

	list_for_each_entry (b, &reg->budgets, link)
		if (b->uid == uid)
			return b;
	return NULL;
}

static struct switch_budget *task_budget_new(struct task_registry *reg, unsigned uid)
{
	struct backend *be = reg->shared.be;
	struct switch_budget *b =
		calloc(1, sizeof(*b) + be->ops->cpu_limit(be) * sizeof(b->cpu[0]));

	if (!b)
		return NULL;
	b->uid = uid;
	list_add(&b->link, &reg->budgets);
	return b;
}

struct switch_budget *task_budget_get(struct task_registry *reg, unsigned uid)
{
	struct switch_budget *b;

	task_budgets_sweep(reg, nsec_now(CLOCK_MONOTONIC));
	b = task_budget_find(reg, uid);
	if (!b)
		b = task_budget_new(reg, uid);
	if (b)
		b->refs++;
	return b;
}

void task_budget_put(struct switch_budget *b)
{
	if (b && !--b->refs)
		b->idle_since = nsec_now(CLOCK_MONOTONIC);
}

void task_budgets_free(struct task_registry *reg)
{
	struct switch_budget *b, *next;

	list_for_each_entry_safe (b, next, &reg->budgets, link)
		task_budget_free(b);
}

// SPDX-License-Identifier: MIT
/*
 * The perf backend: the kernel's counters as logical registers of a PMU.
 *
 * Each CPU has slots of one selector and one counter, which the daemon programs like hardware. No
 * other program shares them: the original value of a reserved register is always 0, and restoring
 * it closes the event.
 */
#include "backend/perf/perf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/perf/event.h"
#include "backend/perf/perf_i.h"
#include "backend/perf/slot.h"
#include "backend/perf/try.h"
#include "backend/sysfs/sysfs.h"
#include "base/cleanup.h"
#include "base/nsec.h"

enum {
	NSLOTS = 16,
	PERFSEL_ADDR = 0x100,
	PERFCNT_ADDR = 0x200,
};

struct perf_backend {
	struct backend be;
	struct pmu pmu;
	unsigned cpu_limit;
	struct perf_trial trial;
};

struct backend_cpu {
	struct perf_cpu pc;
	struct perf_slot slots[NSLOTS];
};

static void perf_describe(struct pmu *pmu, const struct perf_sources *src)
{
	*pmu = (struct pmu){
		.name = "perf",
		.model = "Linux perf events",
		.space = PMU_SPACE_PERF,
		.counter_width = 64,
		.npmcs = NSLOTS,
		.npmds = NSLOTS,
		.max_rate = 1ULL << 36,
	};
	for (uint16_t n = 0; n < NSLOTS; n++) {
		struct pmu_pmc *pmc = &pmu->pmcs[n];
		struct pmu_pmd *pmd = &pmu->pmds[n];

		*pmc = (struct pmu_pmc){
			.num = n,
			.addr = PERFSEL_ADDR + n,
			.rsvd = ~PERFSEL_BITS,
			.enable = EVTSEL_EN,
			.kernel = EVTSEL_OS,
			.user = EVTSEL_USR,
			.gate = n,
		};
		*pmd = (struct pmu_pmd){
			.num = n,
			.pmc = n,
			.field = ~0ULL,
			.addr = PERFCNT_ADDR + n,
			.waddr = PERFCNT_ADDR + n,
			.wmask = ~0ULL,
			.width = 64,
			.global = -1,
			.rdpmc = -1,
		};
		snprintf(pmc->name, sizeof(pmc->name), "PERFSEL%u", n);
		snprintf(pmd->name, sizeof(pmd->name), "PERFCNT%u", n);
	}
	pmu_add_virtuals(pmu);
	pmu->nevents = (uint16_t)perf_events_list(src, pmu->events);
}

static int perf_cpu_open(struct backend *be, unsigned cpu, struct backend_cpu **out, struct err *e)
{
	struct backend_cpu *c;
	int rc = perf_event_probe(cpu, e);

	if (rc < 0)
		return err_prefix(e, "CPU %u", cpu);
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(e, ENOMEM, "CPU %u: ENOMEM: no memory for its registers", cpu);
	c->pc.cpu = cpu;
	c->pc.stats = &be->stats;
	perf_sources_find(cpu, &c->pc.src);
	for (unsigned n = 0; n < NSLOTS; n++)
		c->slots[n] = PERF_SLOT_INIT;
	*out = c;
	return 0;
}

static void perf_cpu_close(struct backend_cpu *c)
{
	for (unsigned n = 0; n < NSLOTS; n++)
		slot_close(&c->slots[n]);
	free(c);
}

static int perf_selector_write(
	struct backend_cpu *c, struct perf_slot *s, uint64_t sel, struct err *e)
{
	if (sel & ~PERFSEL_BITS)
		return err_set(e, EPERM, "0x%" PRIx64 " has reserved bits set: only 0x%llx may be",
			sel, PERFSEL_BITS);
	return slot_select(&c->pc, s, sel, e);
}

static uint64_t perf_updated(uint64_t old, const struct reg_op *op)
{
	return (old & ~op->mask) | (op->value & op->mask);
}

static int perf_selector_update(
	struct backend_cpu *c, struct perf_slot *s, struct reg_op *op, struct err *e)
{
	uint64_t old = s->sel;
	uint64_t new = perf_updated(old, op);
	int rc = new == old ? 0 : perf_selector_write(c, s, new, e);

	if (rc == 0)
		op->value = old;
	return rc;
}

static int perf_selector_op(
	struct backend_cpu *c, struct perf_slot *s, struct reg_op *op, struct err *e)
{
	switch (op->verb) {
	case REG_READ:
	case REG_RESERVE:
		op->value = s->sel;
		return 0;
	case REG_WRITE:
		return perf_selector_write(c, s, op->value, e);
	case REG_REPLACE:
		if ((s->sel ^ op->expect) & op->mask) {
			op->value = s->sel;
			return 0;
		}
		__attribute__((fallthrough));
	case REG_UPDATE:
		return perf_selector_update(c, s, op, e);
	case REG_RELEASE:
		slot_close(s);
		return 0;
	case REG_FORGET:
		return 0;
	}
	return err_set(e, EINVAL, "%d is not a register operation", op->verb);
}

static int perf_counter_op(
	struct backend_cpu *c, struct perf_slot *s, struct reg_op *op, struct err *e)
{
	switch (op->verb) {
	case REG_READ:
	case REG_RESERVE:
		return slot_read(&c->pc, s, &op->value, e);
	case REG_WRITE:
		return slot_write(&c->pc, s, op->value, e);
	case REG_RELEASE:
		return slot_write(&c->pc, s, 0, e);
	case REG_FORGET:
		return 0;
	case REG_UPDATE:
	case REG_REPLACE:
		break;
	}
	return err_set(e, EPERM, "a counter is written as a whole");
}

static int perf_run_one(struct backend_cpu *c, struct reg_op *op, struct err *e)
{
	unsigned sel = op->addr - PERFSEL_ADDR;
	unsigned cnt = op->addr - PERFCNT_ADDR;

	if (cnt < NSLOTS) {
		if (perf_counter_op(c, &c->slots[cnt], op, e) == 0)
			return 0;
		return err_prefix(e, "CPU %u: pmd%u", c->pc.cpu, cnt);
	}
	if (sel < NSLOTS) {
		if (perf_selector_op(c, &c->slots[sel], op, e) == 0)
			return 0;
		return err_prefix(e, "CPU %u: pmc%u, 0x%" PRIx64, c->pc.cpu, sel, op->value);
	}
	return err_set(
		e, EPERM, "CPU %u: 0x%x is not a register of the perf PMU", c->pc.cpu, op->addr);
}

static unsigned perf_run(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e)
{
	unsigned done = 0;

	while (done < n && perf_run_one(c, &ops[done], e) == 0)
		done++;
	return done;
}

/* All selectors are alike. */
static int perf_try_selector(struct backend *be, uint32_t addr, uint64_t value, struct err *e)
{
	struct perf_backend *pb = (struct perf_backend *)be;

	(void)addr;
	return perf_try(&pb->trial, value, e);
}

static unsigned perf_cpu_limit(struct backend *be)
{
	struct perf_backend *pb = (struct perf_backend *)be;

	return pb->cpu_limit;
}

static bool perf_cpu_online(struct backend *be, unsigned cpu)
{
	(void)be;
	return sysfs_cpu_online(cpu);
}

static void perf_pmu_owner(
	struct backend *be, unsigned cpu, uint32_t addr, uint64_t value, struct text *out)
{
	(void)be, (void)cpu, (void)addr, (void)value;
	text_printf(out, "another program");
}

static uint64_t perf_now(struct backend *be)
{
	(void)be;
	return nsec_now(CLOCK_MONOTONIC);
}

static void perf_close(struct backend *be)
{
	free(be);
}

static int perf_open(const struct backend_conf *conf, struct backend **out, struct err *e)
{
	CLEANUP_FREE struct perf_backend *pb = calloc(1, sizeof(*pb));
	const struct perf_kind *first;
	int rc;

	if (!pb)
		return err_set(e, ENOMEM, "perf: ENOMEM: no memory for the backend");
	if (conf->pmu && strcmp(conf->pmu, "perf") != 0)
		return err_set(e, EINVAL,
			"perf: the PMU description '%.40s' is for hardware registers: omit it",
			conf->pmu);
	perf_trial_init(&pb->trial);
	first = &pb->trial.kinds[0];
	rc = sysfs_cpu_limit(&pb->cpu_limit, e);
	if (rc == 0)
		rc = perf_event_probe(first->cpu, e);
	if (rc < 0)
		return err_prefix(e, "perf");
	perf_describe(&pb->pmu, &first->src);
	pb->be.ops = &perf_backend_ops;
	pb->be.pmu = &pb->pmu;
	*out = &take_ptr(&pb)->be;
	return 0;
}

const struct backend_ops perf_backend_ops = {
	.name = "perf",
	.open = perf_open,
	.check = perf_check,
	.cpu_open = perf_cpu_open,
	.run = perf_run,
	.try_selector = perf_try_selector,
	.cpu_close = perf_cpu_close,
	.cpu_limit = perf_cpu_limit,
	.cpu_online = perf_cpu_online,
	.pmu_owner = perf_pmu_owner,
	.now = perf_now,
	.close = perf_close,
};

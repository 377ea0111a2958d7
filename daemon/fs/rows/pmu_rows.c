// SPDX-License-Identifier: MIT
/* pmu/: the logical PMU (specification 3.1.13, 3.1.14). */
#include "daemon/fs/fs_i.h"

#include <inttypes.h>

static const struct pmu *pmu_of(const struct call *call)
{
	return call->fs->be->pmu;
}

static const char *space_name(const struct pmu *pmu)
{
	return pmu->space == PMU_SPACE_MSR ? "msr" : "perf";
}

int pmu_name_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	text_printf(out, "%s\n", pmu_of(call)->name);
	return 0;
}

int pmu_model_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	text_printf(out, "%s\n", pmu_of(call)->model);
	return 0;
}

int pmu_backend_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	text_printf(out, "%s\n", call->fs->be->ops->name);
	return 0;
}

int pmu_width_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	text_printf(out, "%u\n", pmu_of(call)->counter_width);
	return 0;
}

int pmu_pmcs_show(struct call *call, struct text *out, struct err *e)
{
	const struct pmu *pmu = pmu_of(call);

	(void)e;
	for (const struct pmu_pmc *p = pmu->pmcs; p < pmu->pmcs + pmu->npmcs; p++)
		text_printf(out, "%u %s %s 0x%x 0x%016" PRIx64 " 0x%016" PRIx64 "\n", p->num,
			p->name, space_name(pmu), p->addr, p->def, p->rsvd);
	return 0;
}

int pmu_pmds_show(struct call *call, struct text *out, struct err *e)
{
	const struct pmu *pmu = pmu_of(call);

	(void)e;
	for (const struct pmu_pmd *d = pmu->pmds; d < pmu->pmds + pmu->npmds; d++)
		text_printf(out, "%u %s %s 0x%x 0x%016x 0x%016x\n", d->num, d->name,
			space_name(pmu), d->addr, PMD_DEFAULT, PMD_RESERVED);
	for (const struct pmu_virtual *v = pmu->virtuals; v < pmu->virtuals + pmu->nvirtuals; v++)
		text_printf(out, "%u %s virtual 0x0 0x%016x 0x%016" PRIx64 "\n", v->num, v->name,
			PMD_DEFAULT, VIRTUAL_RESERVED);
	return 0;
}

int pmu_events_show(struct call *call, struct text *out, struct err *e)
{
	const struct pmu *pmu = pmu_of(call);

	(void)e;
	for (const struct pmu_event *ev = pmu->events; ev < pmu->events + pmu->nevents; ev++)
		text_printf(out, "%s 0x%016" PRIx64 " %s\n", ev->name, ev->value, ev->desc);
	return 0;
}

/* perfmon2's own form of 2006; there the mask is inverted: 0 means reserved. */
int pmu_mappings_show(struct call *call, struct text *out, struct err *e)
{
	const struct pmu *pmu = pmu_of(call);

	(void)e;
	for (const struct pmu_pmc *p = pmu->pmcs; p < pmu->pmcs + pmu->npmcs; p++)
		text_printf(out, "PMC%u:0x%" PRIx64 ":0x%" PRIx64 ":%s\n", p->num, p->def, ~p->rsvd,
			p->name);
	for (const struct pmu_pmd *d = pmu->pmds; d < pmu->pmds + pmu->npmds; d++)
		text_printf(out, "PMD%u:0x%x:0x%" PRIx64 ":%s\n", d->num, PMD_DEFAULT,
			~(uint64_t)PMD_RESERVED, d->name);
	for (const struct pmu_virtual *v = pmu->virtuals; v < pmu->virtuals + pmu->nvirtuals; v++)
		text_printf(out, "PMD%u:0x%x:0x%" PRIx64 ":%s\n", v->num, PMD_DEFAULT,
			~VIRTUAL_RESERVED, v->name);
	return 0;
}

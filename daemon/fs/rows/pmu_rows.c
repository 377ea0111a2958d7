// SPDX-License-Identifier: MIT
/* pmu/: the logical PMU (specification 3.1.13, 3.1.14). */
#include "daemon/fs/rows/pmu_rows.h"

#include <inttypes.h>

#include "daemon/fs/rows/pmu_json.h"
#include "daemon/fs/rows/rows.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/node.h"

/* The PMU of the type whose directory the file is in, or the registers of all types. */
static const struct pmu *pmu_of_call(const struct call *call)
{
	if (call->node.row->in == DIR_PMU_TYPE)
		return &call->fs->be->types->of[1U << call->node.reg];
	return call->fs->be->pmu;
}

static bool pmu_lacks_pmc(const struct pmu *pmu, const struct pmu_pmc *p)
{
	return pmu->by_type.lacks_pmcs >> (p - pmu->pmcs) & 1;
}

static bool pmu_lacks_pmd(const struct pmu *pmu, const struct pmu_pmd *d)
{
	return pmu->by_type.lacks_pmds >> (d - pmu->pmds) & 1;
}

/* Adds to a register's line which CPUs share the register. */
static void pmu_show_scope(struct text *out, enum pmu_scope scope)
{
	if (scope != PMU_SCOPE_THREAD)
		text_printf(out, " %s", pmu_scope_word(scope));
}

/* Prints the ESCRs of a CCCR in the form of a description. */
static void pmu_show_escrs(struct text *out, const struct pmu *pmu, const struct pmu_pmc *p)
{
	if (!p->escr_select)
		return;
	text_printf(out, " escr=0x%" PRIx64, p->escr_select);
	for (unsigned i = 0; i < PMU_ESCRS; i++)
		if (p->escr[i] == PMU_NO_ROW)
			text_printf(out, "%c-", i ? ',' : ':');
		else
			text_printf(out, "%c%u", i ? ',' : ':', pmu->pmcs[p->escr[i]].num);
}

static void pmu_show_name(const struct call *call, struct text *out)
{
	text_printf(out, "%s\n", pmu_of_call(call)->name);
}

static void pmu_show_model(const struct call *call, struct text *out)
{
	text_printf(out, "%s\n", pmu_of_call(call)->model);
}

static void pmu_show_backend(const struct call *call, struct text *out)
{
	text_printf(out, "%s\n", call->fs->be->ops->name);
}

static void pmu_show_width(const struct call *call, struct text *out)
{
	text_printf(out, "%u\n", pmu_of_call(call)->counter_width);
}

static void pmu_show_pmcs(const struct call *call, struct text *out)
{
	const struct pmu *pmu = pmu_of_call(call);

	for (const struct pmu_pmc *p = pmu->pmcs; p < pmu->pmcs + pmu->npmcs; p++) {
		if (pmu_lacks_pmc(pmu, p))
			continue;
		text_printf(out, "%u %s %s 0x%x 0x%016" PRIx64 " 0x%016" PRIx64, p->num, p->name,
			pmu_reg_type(pmu, p->addr), pmu_reg_index(pmu, p->addr), p->def, p->rsvd);
		pmu_show_scope(out, p->scope);
		pmu_show_escrs(out, pmu, p);
		text_printf(out, "\n");
	}
}

static void pmu_show_pmds(const struct call *call, struct text *out)
{
	const struct pmu *pmu = pmu_of_call(call);

	for (const struct pmu_pmd *d = pmu->pmds; d < pmu->pmds + pmu->npmds; d++) {
		if (pmu_lacks_pmd(pmu, d))
			continue;
		text_printf(out, "%u %s %s 0x%x 0x%016x 0x%016x", d->num, d->name,
			pmu_reg_type(pmu, d->addr), pmu_reg_index(pmu, d->addr), PMD_DEFAULT,
			PMD_RESERVED);
		text_printf(out, "%s", d->buffer ? " buffer" : "");
		pmu_show_scope(out, d->scope);
		if (d->umc)
			text_printf(out, " umc=%u", d->umc - 1);
		text_printf(out, "\n");
	}
	for (const struct pmu_virtual *v = pmu->virtuals; v < pmu->virtuals + pmu->nvirtuals; v++)
		text_printf(out, "%u %s virtual 0x0 0x%016x 0x%016" PRIx64 "\n", v->num, v->name,
			PMD_DEFAULT, VIRTUAL_RESERVED);
}

static void pmu_show_events(const struct call *call, struct text *out)
{
	const struct pmu *pmu = pmu_of_call(call);

	for (const struct pmu_event *ev = pmu->events; ev < pmu->events + pmu->nevents; ev++)
		text_printf(out, "%s 0x%016" PRIx64 " %s\n", ev->name, ev->value, ev->desc);
}

void pmu_show_mappings(const struct call *call, struct text *out)
{
	const struct pmu *pmu = pmu_of_call(call);

	for (const struct pmu_pmc *p = pmu->pmcs; p < pmu->pmcs + pmu->npmcs; p++)
		if (!pmu_lacks_pmc(pmu, p))
			text_printf(out, "PMC%u:0x%" PRIx64 ":0x%" PRIx64 ":%s\n", p->num, p->def,
				~p->rsvd, p->name);
	for (const struct pmu_pmd *d = pmu->pmds; d < pmu->pmds + pmu->npmds; d++)
		if (!pmu_lacks_pmd(pmu, d))
			text_printf(out, "PMD%u:0x%x:0x%" PRIx64 ":%s\n", d->num, PMD_DEFAULT,
				~(uint64_t)PMD_RESERVED, d->name);
	for (const struct pmu_virtual *v = pmu->virtuals; v < pmu->virtuals + pmu->nvirtuals; v++)
		text_printf(out, "PMD%u:0x%x:0x%" PRIx64 ":%s\n", v->num, PMD_DEFAULT,
			~VIRTUAL_RESERVED, v->name);
}

static void pmu_show_json(const struct call *call, struct text *out)
{
	pmu_json_print(pmu_of_call(call), call->fs->be->ops->name, out);
}

const struct row rows_pmu[] = {
	{DIR_ROW(DIR_ROOT, DIR_PMU, "pmu", 0555)},
	{FILE_ROW(DIR_PMU, "name", 0444), .show = pmu_show_name},
	{FILE_ROW(DIR_PMU, "model", 0444), .show = pmu_show_model},
	{FILE_ROW(DIR_PMU, "backend", 0444), .show = pmu_show_backend},
	{FILE_ROW(DIR_PMU, "counter_width", 0444), .show = pmu_show_width},
	{FILE_ROW(DIR_PMU, "pmcs", 0444), .length = LINES_OF_REGISTERS, .show = pmu_show_pmcs},
	{FILE_ROW(DIR_PMU, "pmds", 0444), .length = LINES_OF_REGISTERS, .show = pmu_show_pmds},
	{FILE_ROW(DIR_PMU, "events", 0444), .length = LINES_OF_MACHINE, .show = pmu_show_events},
	{FILE_ROW(DIR_PMU, "mappings", 0444), .length = LINES_OF_REGISTERS,
		.show = pmu_show_mappings},
	{FILE_ROW(DIR_PMU, "pmu.json", 0444), .length = LINES_OF_MACHINE, .show = pmu_show_json},
	{DIR_ROW(DIR_PMU, DIR_PMU_TYPE, NULL, 0555)},
	{FILE_ROW(DIR_PMU_TYPE, "name", 0444), .show = pmu_show_name},
	{FILE_ROW(DIR_PMU_TYPE, "model", 0444), .show = pmu_show_model},
	{FILE_ROW(DIR_PMU_TYPE, "counter_width", 0444), .show = pmu_show_width},
	{FILE_ROW(DIR_PMU_TYPE, "pmcs", 0444), .length = LINES_OF_REGISTERS, .show = pmu_show_pmcs},
	{FILE_ROW(DIR_PMU_TYPE, "pmds", 0444), .length = LINES_OF_REGISTERS, .show = pmu_show_pmds},
	{FILE_ROW(DIR_PMU_TYPE, "events", 0444), .length = LINES_OF_MACHINE,
		.show = pmu_show_events},
	{FILE_ROW(DIR_PMU_TYPE, "mappings", 0444), .length = LINES_OF_REGISTERS,
		.show = pmu_show_mappings},
	{FILE_ROW(DIR_PMU_TYPE, "pmu.json", 0444), .length = LINES_OF_MACHINE,
		.show = pmu_show_json},
	ROW_END,
};

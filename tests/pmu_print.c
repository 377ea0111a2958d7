// SPDX-License-Identifier: MIT
/* The text form of a description in canonical order; backend/pmu/parse.c has the grammar. */
#include "tests/pmu_print.h"

#include <inttypes.h>

static const char *scope_text(enum pmu_scope scope)
{
	static const char *const texts[] = {"", " scope=core", " scope=ccx", " scope=package"};

	return texts[scope];
}

static void print_pmc(const struct pmu *pmu, unsigned row, struct text *out)
{
	const struct pmu_pmc *pmc = &pmu->pmcs[row];

	text_printf(out,
		"pmc %u %s addr=%#" PRIx32 " default=%#" PRIx64 " reserved=%#" PRIx64
		" enable=%#" PRIx64 " kernel=%#" PRIx64,
		pmc->num, pmc->name, pmc->addr, pmc->def, pmc->rsvd, pmc->enable, pmc->kernel);
	if (pmc->user)
		text_printf(out, " user=%#" PRIx64, pmc->user);
	if (pmc->wide)
		text_printf(out, " wide=%#" PRIx64 "%s", pmc->wide, pmc->node ? " node" : "");
	if (pmc->gate != row)
		text_printf(out, " gate=%u", pmu->pmcs[pmc->gate].num);
	if (pmc->escr_select)
		text_printf(out, " escr=%#" PRIx64 ":", pmc->escr_select);
	for (unsigned i = 0; pmc->escr_select && i < PMU_ESCRS; i++)
		if (pmc->escr[i] == PMU_NO_ROW)
			text_printf(out, "%s-", i ? "," : "");
		else
			text_printf(out, "%s%u", i ? "," : "", pmu->pmcs[pmc->escr[i]].num);
	if (pmc->ovf)
		text_printf(out, " ovf=%#" PRIx64, pmc->ovf);
	if (pmc->second)
		text_printf(out, " second=%#" PRIx64, pmc->second);
	if (pmc->with)
		text_printf(out, " with=%u", pmu->pmcs[pmc->with - 1].num);
	if (pmc->busy)
		text_printf(out, " busy=%#" PRIx64, pmc->busy);
	if (pmc->latched)
		text_printf(out, " latched=%#" PRIx64, pmc->latched);
	text_printf(out, "%s%s%s\n", pmc->restricts ? " restricts" : "",
		pmc->shared ? " shared" : "", scope_text(pmc->scope));
}

static void print_pmd(const struct pmu *pmu, const struct pmu_pmd *pmd, struct text *out)
{
	text_printf(out, "pmd %u %s addr=%#" PRIx32, pmd->num, pmd->name, pmd->addr);
	if (pmd->waddr != pmd->addr)
		text_printf(out, " waddr=%#" PRIx32, pmd->waddr);
	text_printf(out, " width=%u wmask=%#" PRIx64 " pmc=%u", pmd->width, pmd->wmask,
		pmu->pmcs[pmd->pmc].num);
	if (pmd->field != UINT64_MAX)
		text_printf(out, " field=%#" PRIx64, pmd->field);
	if (pmd->global >= 0)
		text_printf(out, " global=%d", pmd->global);
	if (pmd->rdpmc >= 0)
		text_printf(out, " rdpmc=%#" PRIx64, (uint64_t)pmd->rdpmc);
	text_printf(out, "%s%s%s\n", pmd->buffer ? " buffer" : "", scope_text(pmd->scope),
		pmd->twice ? " twice" : "");
}

static void print_require(const struct pmu *pmu, const struct pmu_require *r, struct text *out)
{
	text_printf(out, "require");
	for (unsigned i = 0; i < r->n; i++)
		text_printf(out, " %u:%#" PRIx64, pmu->pmcs[r->pmc[i]].num, r->bits[i]);
	text_printf(out, "\n");
}

static void print_constraint(const struct pmu_constraint *c, struct text *out)
{
	const char *comma = " ";

	text_printf(out, "constraint");
	for (unsigned i = 0; i < PMU_MAX_PMCS; i++)
		if (c->pmcs >> i & 1) {
			text_printf(out, "%s%u", comma, i);
			comma = ",";
		}
	text_printf(out, " %#x", c->first);
	if (c->last != c->first)
		text_printf(out, "-%#x", c->last);
	text_printf(out, "\n");
}

/* pmu_parse() adds the built-in ones. */
static void print_virtual(const struct pmu_virtual *v, struct text *out)
{
	if (v->kind == PMU_VIRTUAL_FILE)
		text_printf(out, "virtual %u %s file=%s\n", v->num, v->name, v->path);
}

void pmu_print(const struct pmu *pmu, struct text *out)
{
	text_printf(out, "pmu %s %s\n", pmu->name, pmu->model);
	if (pmu->space == PMU_SPACE_IPF)
		text_printf(out, "space ipf\n");
	text_printf(out, "rate %" PRIu64 "\n", pmu->max_rate);
	if (pmu->global_ctrl) {
		text_printf(out, "global ctrl=%#" PRIx32, pmu->global_ctrl);
		if (pmu->inuse)
			text_printf(out, " inuse=%#" PRIx32, pmu->inuse);
		if (pmu->status)
			text_printf(out, " status=%#" PRIx32 " clear=%#" PRIx32, pmu->status,
				pmu->clear);
		text_printf(out, "\n");
	}
	for (unsigned i = 0; i < pmu->npmcs; i++)
		print_pmc(pmu, i, out);
	for (unsigned i = 0; i < pmu->npmds; i++)
		print_pmd(pmu, &pmu->pmds[i], out);
	for (unsigned i = 0; i < pmu->nrequires; i++)
		print_require(pmu, &pmu->requires[i], out);
	for (unsigned i = 0; i < pmu->nconstraints; i++)
		print_constraint(&pmu->constraints[i], out);
	for (unsigned i = 0; i < pmu->nvirtuals; i++)
		print_virtual(&pmu->virtuals[i], out);
}

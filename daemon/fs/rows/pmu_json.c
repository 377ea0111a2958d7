// SPDX-License-Identifier: MIT
/* pmu/pmu.json: the registers and events of pmu/ in one file for bindings. Masks are strings, since
 * numbers of JSON have 53 bits in some languages. */
#include "daemon/fs/rows/pmu_json.h"

#include <inttypes.h>

/* The title of a description may have any printable characters. */
static void pmu_json_title(struct text *out, const char *s)
{
	for (; *s; s++)
		text_printf(out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
}

/* Begins the object of a register, and says how the hardware has it. */
static void pmu_json_register(
	const struct pmu *pmu, unsigned num, const char *name, uint32_t addr, struct text *out)
{
	text_printf(out, "%s\n{\"num\":%u,\"name\":\"%s\",\"type\":\"%s\",\"address\":%" PRIu32,
		out->n && out->p[out->n - 1] == '[' ? "" : ",", num, name, pmu_reg_type(pmu, addr),
		pmu_reg_index(pmu, addr));
}

static void pmu_json_pmcs(const struct pmu *pmu, struct text *out)
{
	text_printf(out, ",\n\"pmcs\":[");
	for (unsigned i = 0; i < pmu->npmcs; i++) {
		const struct pmu_pmc *p = &pmu->pmcs[i];

		if (pmu->by_type.lacks_pmcs >> i & 1)
			continue;
		pmu_json_register(pmu, p->num, p->name, p->addr, out);
		text_printf(out,
			",\"default\":\"0x%" PRIx64 "\",\"reserved\":\"0x%" PRIx64
			"\",\"enable\":\"0x%" PRIx64 "\",\"user\":\"0x%" PRIx64
			"\",\"kernel\":\"0x%" PRIx64 "\",\"scope\":\"%s\",\"events\":%s}",
			p->def, p->rsvd, p->enable, p->user, p->kernel, pmu_scope_word(p->scope),
			pmu_names_events(pmu, i) ? "true" : "false");
	}
	text_printf(out, "\n]");
}

static void pmu_json_pmds(const struct pmu *pmu, struct text *out)
{
	text_printf(out, ",\n\"pmds\":[");
	for (unsigned i = 0; i < pmu->npmds; i++) {
		const struct pmu_pmd *d = &pmu->pmds[i];

		if (pmu->by_type.lacks_pmds >> i & 1)
			continue;
		pmu_json_register(pmu, d->num, d->name, d->addr, out);
		text_printf(out, ",\"width\":%u,\"pmc\":%u,\"scope\":\"%s\"", d->width,
			pmu->pmcs[d->pmc].num, pmu_scope_word(d->scope));
		if (d->umc)
			text_printf(out, ",\"umc\":%u", d->umc - 1U);
		text_printf(out, ",\"buffer\":%s}", d->buffer ? "true" : "false");
	}
	text_printf(out, "\n],\n\"virtual_pmds\":[");
	for (unsigned i = 0; i < pmu->nvirtuals; i++)
		text_printf(out, "%s{\"num\":%u,\"name\":\"%s\"}", i ? "," : "",
			pmu->virtuals[i].num, pmu->virtuals[i].name);
	text_printf(out, "]");
}

void pmu_json_print(const struct pmu *pmu, const char *backend, struct text *out)
{
	text_printf(out, "{\"name\":\"%s\",\"model\":\"", pmu->name);
	pmu_json_title(out, pmu->model);
	text_printf(out, "\",\"backend\":\"%s\",\"counter_width\":%u", backend, pmu->counter_width);
	pmu_json_pmcs(pmu, out);
	pmu_json_pmds(pmu, out);
	text_printf(out, ",\n\"events\":[");
	for (unsigned i = 0; i < pmu->nevents; i++)
		text_printf(out,
			"%s\n{\"name\":\"%s\",\"value\":\"0x%" PRIx64 "\",\"description\":\"%s\"}",
			i ? "," : "", pmu->events[i].name, pmu->events[i].value,
			pmu->events[i].desc);
	text_printf(out, "\n]}\n");
}

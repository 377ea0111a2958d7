// SPDX-License-Identifier: MIT
/* Lines "free", about free-running registers: in a description, and in free.pmu, where they also
 * say which processors have the register. */
#include "backend/pmu/parse_i.h"

#include <errno.h>

#include "backend/pmu/key.h"
#include "backend/pmu/known.h"

static const char *const free_features[] = {[FEATURE_NONE] = "none",
	[FEATURE_TSC] = "tsc",
	[FEATURE_APERFMPERF] = "aperfmperf",
	[FEATURE_THERMAL] = "thermal",
	[FEATURE_PACKAGE_THERMAL] = "package_thermal",
	[FEATURE_IRPERF] = "irperf",
	[FEATURE_RAPL] = "rapl",
	NULL};

/* The keys of a description's line, then the keys for free.pmu only. */
enum {
	FREE_ADDR,
	FREE_WIDTH,
	FREE_SHIFT,
	FREE_VALID,
	FREE_UNIT,
	FREE_SCOPE,
	FREE_KEYS,
	FREE_VENDOR = FREE_KEYS,
	FREE_FAMILY,
	FREE_MODELS,
	FREE_IF,
	FREE_BARE,
	FREE_ALL_KEYS
};

int parse_free_line(struct slice line, bool conditions, struct free_line *f, struct err *e)
{
	struct key keys[FREE_ALL_KEYS] = {
		[FREE_ADDR] = {"addr", KEY_NUMBER, UINT32_MAX, true},
		[FREE_WIDTH] = {"width", KEY_NUMBER, 64, true},
		[FREE_SHIFT] = {"shift", KEY_NUMBER, 63},
		[FREE_VALID] = {"valid", KEY_NUMBER, UINT64_MAX},
		[FREE_UNIT] = {"unit", KEY_WORD, .required = true, .words = known_units},
		[FREE_SCOPE] = {"scope", KEY_WORD, .required = true, .words = parse_scope_words},
		[FREE_VENDOR] = {"vendor", KEY_WORD, .words = parse_vendor_words},
		[FREE_FAMILY] = {"family", KEY_LIST},
		[FREE_MODELS] = {"models", KEY_LIST},
		[FREE_IF] = {"if", KEY_WORD, .words = free_features},
		[FREE_BARE] = {"bare", KEY_FLAG},
	};
	int rc;

	*f = (struct free_line){0};
	rc = text_parse(slice_word(&line), "register's name", "free NAME KEY=VALUE...", f->reg.name,
		PMU_NAME, e);
	if (rc == 0)
		rc = key_parse_line(line, keys, conditions ? FREE_ALL_KEYS : FREE_KEYS, e);
	if (rc < 0)
		return rc;
	f->reg.addr = (uint32_t)keys[FREE_ADDR].value;
	f->reg.width = (uint8_t)keys[FREE_WIDTH].value;
	f->reg.shift = (uint8_t)keys[FREE_SHIFT].value;
	f->reg.valid = keys[FREE_VALID].value;
	f->reg.unit = (enum pmu_unit)keys[FREE_UNIT].value;
	f->reg.scope = (enum pmu_scope)keys[FREE_SCOPE].value;
	f->by_vendor = keys[FREE_VENDOR].seen;
	f->vendor = (enum pmu_vendor)keys[FREE_VENDOR].value;
	f->feature = (enum free_feature)keys[FREE_IF].value;
	f->match = (struct pmu_match){
		.given = true,
		.bare = keys[FREE_BARE].seen,
		.by_family = keys[FREE_FAMILY].seen,
		.by_model = keys[FREE_MODELS].seen,
	};
	if (f->match.by_family)
		rc = list_parse(&keys[FREE_FAMILY], f->match.families, PMU_FAMILY_WORDS, e);
	if (rc == 0 && f->match.by_model)
		rc = list_parse(&keys[FREE_MODELS], f->match.models, PMU_CPU_MODEL_WORDS, e);
	return rc;
}

int parse_free_add(struct pmu *pmu, const struct pmu_free *reg, struct err *e)
{
	if (pmu->nfrees == PMU_MAX_FREES)
		return err_set(e, EINVAL, "there are more than %d free registers: leave some out",
			PMU_MAX_FREES);
	pmu->frees[pmu->nfrees++] = *reg;
	return 0;
}

int parse_free(struct parse *p, struct slice line, struct err *e)
{
	struct free_line f;
	int rc = parse_free_line(line, false, &f, e);

	if (rc < 0)
		return rc;
	p->free_line[p->pmu.nfrees < PMU_MAX_FREES ? p->pmu.nfrees : 0] = p->line;
	return parse_free_add(&p->pmu, &f.reg, e);
}

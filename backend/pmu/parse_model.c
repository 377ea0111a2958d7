// SPDX-License-Identifier: MIT
/* Lines about the PMU as a whole: its name, the CPUs that have it, and a simulated one. */
#include "backend/pmu/parse_i.h"

#include <errno.h>

#include "backend/pmu/key.h"
#include "base/num.h"

int parse_pmu(struct parse *p, struct slice line, struct err *e)
{
	int rc = text_parse(
		slice_word(&line), "PMU's name", "pmu NAME TITLE", p->pmu.name, PMU_NAME, e);

	if (rc < 0)
		return rc;
	return text_parse(slice_trim(line), "title", "pmu NAME TITLE", p->pmu.model, PMU_MODEL, e);
}

int parse_space(struct parse *p, struct slice line, struct err *e)
{
	struct slice word = slice_word(&line);

	if (slice_word(&line).n || (!slice_is(word, "msr") && !slice_is(word, "ipf")))
		return err_set(e, EINVAL,
			"the space is msr or ipf: write 'space msr', or leave the line out");
	p->pmu.space = slice_is(word, "ipf") ? PMU_SPACE_IPF : PMU_SPACE_MSR;
	return 0;
}

int parse_rate(struct parse *p, struct slice line, struct err *e)
{
	if (num_u64(slice_trim(line), &p->pmu.max_rate, e) < 0)
		return err_prefix(e, "rate");
	if (!p->pmu.max_rate)
		return err_set(
			e, EINVAL, "rate 0: write the events per second that no counter exceeds");
	return 0;
}

const char *const parse_vendor_words[] = {[PMU_INTEL] = "intel", [PMU_AMD] = "amd", NULL};

int parse_detect(struct parse *p, struct slice line, struct err *e)
{
	enum { VENDOR, VERSION, MAX_VERSION, FAMILY, MODELS, BARE, N };
	struct key keys[N] = {
		[VENDOR] = {"vendor", KEY_WORD, .required = true, .words = parse_vendor_words},
		[VERSION] = {"version", KEY_NUMBER, 255, true},
		[MAX_VERSION] = {"max_version", KEY_NUMBER, 255},
		[FAMILY] = {"family", KEY_LIST},
		[MODELS] = {"models", KEY_LIST},
		[BARE] = {"bare", KEY_FLAG},
	};
	struct pmu_match *d = &p->model.detect;
	int rc = key_parse_line(line, keys, N, e);

	if (rc < 0)
		return rc;
	if (keys[MODELS].seen && !keys[FAMILY].seen)
		return err_set(
			e, EINVAL, "models= needs family=: write the family of these models, too");
	p->model.vendor = (enum pmu_vendor)keys[VENDOR].value;
	d->given = true;
	d->version = (unsigned)keys[VERSION].value;
	d->max_version = keys[MAX_VERSION].seen ? (unsigned)keys[MAX_VERSION].value : 255;
	if (d->max_version < d->version)
		return err_set(e, EINVAL,
			"max_version=%u is below version=%u, so that no CPU fits: write the higher "
			"one in max_version=",
			d->max_version, d->version);
	d->by_family = keys[FAMILY].seen;
	d->bare = keys[BARE].seen;
	d->by_model = keys[MODELS].seen;
	if (d->by_family)
		rc = list_parse(&keys[FAMILY], d->families, PMU_FAMILY_WORDS, e);
	if (rc == 0 && d->by_model)
		rc = list_parse(&keys[MODELS], d->models, PMU_CPU_MODEL_WORDS, e);
	return rc;
}

static int parse_feature_keys(struct slice line, struct pmu_features *to, struct err *e)
{
	enum { VERSION, GP, GP_WIDTH, FIXED, FIXED_WIDTH, FULL_WIDTH, L3, DF, UMC, UMCS, N };
	struct key keys[N] = {
		[VERSION] = {"version", KEY_NUMBER, 255, true},
		[GP] = {"gp", KEY_NUMBER, 32, true},
		[GP_WIDTH] = {"gp_width", KEY_NUMBER, 63, true},
		[FIXED] = {"fixed", KEY_NUMBER, UINT32_MAX},
		[FIXED_WIDTH] = {"fixed_width", KEY_NUMBER, 63},
		[FULL_WIDTH] = {"full_width", KEY_FLAG},
		[L3] = {"l3", KEY_NUMBER, 32},
		[DF] = {"df", KEY_NUMBER, 32},
		[UMC] = {"umc", KEY_NUMBER, 63},
		[UMCS] = {"umcs", KEY_NUMBER, 32},
	};
	int rc = key_parse_line(line, keys, N, e);

	if (rc < 0)
		return rc;
	*to = (struct pmu_features){
		.version = (unsigned)keys[VERSION].value,
		.gp = (unsigned)keys[GP].value,
		.gp_width = (unsigned)keys[GP_WIDTH].value,
		.fixed = (uint32_t)keys[FIXED].value,
		.fixed_width = (unsigned)keys[FIXED_WIDTH].value,
		.full_width = keys[FULL_WIDTH].seen,
		.l3 = (unsigned)keys[L3].value,
		.df = (unsigned)keys[DF].value,
		.umc = (unsigned)keys[UMC].value,
		.umcs = (unsigned)keys[UMCS].value,
	};
	return 0;
}

int parse_features(struct parse *p, struct slice line, struct err *e)
{
	int rc = parse_feature_keys(line, &p->model.features, e);

	if (rc == 0 && !p->features)
		p->features = &p->model.features;
	return rc;
}

int parse_atom(struct parse *p, struct slice line, struct err *e)
{
	return parse_feature_keys(line, &p->model.atom, e);
}

int parse_sim(struct parse *p, struct slice line, struct err *e)
{
	struct pmu_processor *sim = &p->model.sim;
	int rc = text_parse(
		slice_word(&line), "simulator's name", "sim NAME COUNTERS", sim->name, PMU_NAME, e);

	if (rc < 0)
		return rc;
	return text_parse(slice_trim(line), "counters' summary", "sim NAME COUNTERS", sim->counters,
		PMU_MODEL, e);
}

int parse_cpuid(struct parse *p, struct slice line, struct err *e)
{
	enum { SIGNATURE, MAX_LEAF, MAX_EXT, SELECTOR, N };
	struct key keys[N] = {
		[SIGNATURE] = {"signature", KEY_NUMBER, UINT32_MAX, true},
		[MAX_LEAF] = {"max_leaf", KEY_NUMBER, UINT32_MAX, true},
		[MAX_EXT] = {"max_ext", KEY_NUMBER, UINT32_MAX},
		[SELECTOR] = {"selector", KEY_NUMBER, UINT64_MAX, true},
	};
	struct pmu_processor *sim = &p->model.sim;
	int rc = key_parse_line(line, keys, N, e);

	if (rc < 0)
		return rc;
	if (!keys[MAX_LEAF].value)
		return err_set(
			e, EINVAL, "max_leaf=0: write the number of the last leaf, from 1 on");
	sim->signature = (uint32_t)keys[SIGNATURE].value;
	sim->max_leaf = (uint32_t)keys[MAX_LEAF].value;
	sim->max_ext = (uint32_t)keys[MAX_EXT].value;
	sim->selector_bits = keys[SELECTOR].value;
	return 0;
}

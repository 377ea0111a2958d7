// SPDX-License-Identifier: MIT
/*
 * The text form of a description. Each line describes one item; "#" starts a comment, empty lines
 * are skipped, numbers are decimal or 0x hex, keys are in any order, [] is optional:
 *
 *   pmu NAME TITLE...             one word, then free text
 *   rate N                        upper limit of events per second of any counter
 *   global ctrl=ADDR [inuse=ADDR] [status=ADDR clear=ADDR]
 *   pmc NUM NAME addr=ADDR default=BITS reserved=BITS enable=BITS kernel=BITS [user=BITS]
 *                [wide=BITS] [gate=NUM] [shared]
 *   pmd NUM NAME addr=ADDR [waddr=ADDR] width=N wmask=BITS pmc=NUM [field=BITS] [global=BIT]
 *                [rdpmc=INDEX]
 *   virtual NUM NAME file=PATH    a number in a file; NUM is 272 or greater
 *
 * NUM are logical numbers in rising order; gate= and pmc= refer to lines above. perfmonfs/pmu.h
 * explains the fields. A text that parses is also valid, according to pmu_validate().
 */
#include "perfmonfs/pmu.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"

/* key=NUMBER, or a key without value if max is 0. */
struct key {
	const char *name;
	uint64_t max;
	bool required;
	bool seen;
	uint64_t value;
};

static int parse_key(struct slice word, struct key *keys, unsigned n, struct err *e)
{
	struct slice value = word;
	struct slice name = slice_cut(&value, '=');
	struct key *k = NULL;

	for (unsigned i = 0; i < n; i++)
		if (slice_is(name, keys[i].name))
			k = &keys[i];
	if (!k)
		return err_set(e, EINVAL, "'%.*s' is not a key of this line", SLICE_ARG(word));
	if (k->seen)
		return err_set(e, EINVAL, "%s is given twice", k->name);
	k->seen = true;
	if (k->max)
		return num_max(value, k->max, &k->value, e);
	if (name.n != word.n)
		return err_set(e, EINVAL, "%s takes no value", k->name);
	k->value = 1;
	return 0;
}

static int parse_keys(struct slice line, struct key *keys, unsigned n, struct err *e)
{
	for (struct slice word = slice_word(&line); word.n; word = slice_word(&line)) {
		int rc = parse_key(word, keys, n, e);

		if (rc < 0)
			return rc;
	}
	for (unsigned i = 0; i < n; i++)
		if (keys[i].required && !keys[i].seen)
			return err_set(e, EINVAL, "%s= is missing", keys[i].name);
	return 0;
}

/* pmu_validate() checks the characters. */
static int parse_text(struct slice s, const char *what, char *to, size_t room, struct err *e)
{
	if (!s.n)
		return err_set(e, EINVAL, "the %s is missing", what);
	if (s.n >= room)
		return err_set(e, EINVAL, "the %s '%.*s' is longer than %zu characters", what,
			SLICE_ARG(s), room - 1);
	memcpy(to, s.p, s.n);
	to[s.n] = '\0';
	return 0;
}

static int parse_num_name(struct slice *line, uint16_t *num, char *name, struct err *e)
{
	uint64_t v;
	int rc = num_max(slice_word(line), PMU_MAX_NUM - 1, &v, e);

	if (rc < 0)
		return rc;
	*num = (uint16_t)v;
	return parse_text(slice_word(line), "register's name", name, PMU_NAME, e);
}

static int parse_pmu(struct pmu *pmu, struct slice line, struct err *e)
{
	int rc = parse_text(slice_word(&line), "PMU's name", pmu->name, PMU_NAME, e);

	if (rc < 0)
		return rc;
	return parse_text(slice_trim(line), "model", pmu->model, PMU_MODEL, e);
}

static int parse_rate(struct pmu *pmu, struct slice line, struct err *e)
{
	return num_u64(slice_trim(line), &pmu->max_rate, e);
}

static int parse_global(struct pmu *pmu, struct slice line, struct err *e)
{
	enum { CTRL, INUSE, STATUS, CLEAR, N };
	struct key keys[N] = {
		[CTRL] = {"ctrl", UINT32_MAX, true},
		[INUSE] = {"inuse", UINT32_MAX},
		[STATUS] = {"status", UINT32_MAX},
		[CLEAR] = {"clear", UINT32_MAX},
	};
	int rc = parse_keys(line, keys, N, e);

	if (rc < 0)
		return rc;
	pmu->global_ctrl = (uint32_t)keys[CTRL].value;
	pmu->inuse = (uint32_t)keys[INUSE].value;
	pmu->status = (uint32_t)keys[STATUS].value;
	pmu->clear = (uint32_t)keys[CLEAR].value;
	return 0;
}

static int parse_find_above(
	const struct pmu *pmu, const struct key *k, uint16_t *row, struct err *e)
{
	int i = pmu_find_pmc(pmu, (unsigned)k->value);

	if (i < 0)
		return err_set(e, EINVAL, "%s=%u: no line above describes this PMC", k->name,
			(unsigned)k->value);
	*row = (uint16_t)i;
	return 0;
}

static int parse_pmc(struct pmu *pmu, struct slice line, struct err *e)
{
	enum { ADDR, DEFAULT, RESERVED, ENABLE, KERNEL, USER, WIDE, GATE, SHARED, N };
	struct key keys[N] = {
		[ADDR] = {"addr", UINT32_MAX, true},
		[DEFAULT] = {"default", UINT64_MAX, true},
		[RESERVED] = {"reserved", UINT64_MAX, true},
		[ENABLE] = {"enable", UINT64_MAX, true},
		[KERNEL] = {"kernel", UINT64_MAX, true},
		[USER] = {"user", UINT64_MAX},
		[WIDE] = {"wide", UINT64_MAX},
		[GATE] = {"gate", PMU_MAX_NUM - 1},
		[SHARED] = {"shared", 0},
	};
	struct pmu_pmc pmc = {.gate = pmu->npmcs};
	int rc;

	if (pmu->npmcs == PMU_MAX_PMCS)
		return err_set(e, EINVAL, "more than %d PMCs", PMU_MAX_PMCS);
	rc = parse_num_name(&line, &pmc.num, pmc.name, e);
	if (rc == 0)
		rc = parse_keys(line, keys, N, e);
	if (rc < 0)
		return rc;
	pmc.addr = (uint32_t)keys[ADDR].value;
	pmc.def = keys[DEFAULT].value;
	pmc.rsvd = keys[RESERVED].value;
	pmc.enable = keys[ENABLE].value;
	pmc.kernel = keys[KERNEL].value;
	pmc.user = keys[USER].value;
	pmc.wide = keys[WIDE].value;
	pmc.shared = keys[SHARED].seen;
	if (keys[GATE].seen && keys[GATE].value != pmc.num) {
		rc = parse_find_above(pmu, &keys[GATE], &pmc.gate, e);
		if (rc < 0)
			return rc;
	}
	pmu->pmcs[pmu->npmcs++] = pmc;
	return 0;
}

static int parse_pmd(struct pmu *pmu, struct slice line, struct err *e)
{
	enum { ADDR, WADDR, WIDTH, WMASK, PMC, FIELD, GLOBAL, RDPMC, N };
	struct key keys[N] = {
		[ADDR] = {"addr", UINT32_MAX, true},
		[WADDR] = {"waddr", UINT32_MAX},
		[WIDTH] = {"width", 64, true},
		[WMASK] = {"wmask", UINT64_MAX, true},
		[PMC] = {"pmc", PMU_MAX_NUM - 1, true},
		[FIELD] = {"field", UINT64_MAX},
		[GLOBAL] = {"global", 63},
		[RDPMC] = {"rdpmc", UINT32_MAX},
	};
	struct pmu_pmd pmd = {0};
	int rc;

	if (pmu->npmds == PMU_MAX_PMDS)
		return err_set(e, EINVAL, "more than %d PMDs", PMU_MAX_PMDS);
	rc = parse_num_name(&line, &pmd.num, pmd.name, e);
	if (rc == 0)
		rc = parse_keys(line, keys, N, e);
	if (rc == 0)
		rc = parse_find_above(pmu, &keys[PMC], &pmd.pmc, e);
	if (rc < 0)
		return rc;
	pmd.addr = (uint32_t)keys[ADDR].value;
	pmd.waddr = keys[WADDR].seen ? (uint32_t)keys[WADDR].value : pmd.addr;
	pmd.width = (uint8_t)keys[WIDTH].value;
	pmd.rdpmc = keys[RDPMC].seen ? (int64_t)keys[RDPMC].value : -1;
	pmd.wmask = keys[WMASK].value;
	pmd.field = keys[FIELD].seen ? keys[FIELD].value : UINT64_MAX;
	pmd.global = keys[GLOBAL].seen ? (int8_t)keys[GLOBAL].value : -1;
	if (pmd.width < pmu->counter_width)
		pmu->counter_width = pmd.width;
	pmu->pmds[pmu->npmds++] = pmd;
	return 0;
}

static int parse_virtual(struct pmu *pmu, struct slice line, struct err *e)
{
	struct pmu_virtual v = {.kind = PMU_VIRTUAL_FILE};
	struct slice path, key;
	int rc;

	if (pmu->nvirtuals == PMU_MAX_VIRTUALS)
		return err_set(e, EINVAL, "more than %d virtual PMDs, with those of every PMU",
			PMU_MAX_VIRTUALS);
	rc = parse_num_name(&line, &v.num, v.name, e);
	if (rc < 0)
		return rc;
	path = slice_word(&line);
	key = slice_cut(&path, '=');
	if (!slice_is(key, "file"))
		return err_set(e, EINVAL, "file=PATH is missing");
	if (slice_word(&line).n)
		return err_set(e, EINVAL,
			"nothing may follow file=PATH, and PATH must not contain blanks");
	rc = parse_text(path, "path", v.path, PMU_PATH, e);
	if (rc == 0)
		pmu->virtuals[pmu->nvirtuals++] = v;
	return rc;
}

static const struct {
	const char *word;
	int (*parse)(struct pmu *pmu, struct slice line, struct err *e);
	bool once;
} parse_kinds[] = {
	{"pmu", parse_pmu, true},
	{"rate", parse_rate, true},
	{"global", parse_global, true},
	{"pmc", parse_pmc, false},
	{"pmd", parse_pmd, false},
	{"virtual", parse_virtual, false},
};

/* @seen has a bit for each row of parse_kinds. */
static int pmu_parse_line(struct pmu *pmu, unsigned *seen, struct slice line, struct err *e)
{
	struct slice word = slice_word(&line);

	if (!word.n)
		return 0;
	for (unsigned i = 0; i < sizeof(parse_kinds) / sizeof(parse_kinds[0]); i++) {
		if (!slice_is(word, parse_kinds[i].word))
			continue;
		if (parse_kinds[i].once && *seen & 1u << i)
			return err_set(e, EINVAL, "a second line '%s'", parse_kinds[i].word);
		*seen |= 1u << i;
		return parse_kinds[i].parse(pmu, line, e);
	}
	return err_set(e, EINVAL,
		"a line begins with pmu, rate, global, pmc, pmd or virtual, not with '%.*s'",
		SLICE_ARG(word));
}

int pmu_parse(struct slice text, struct pmu *pmu, struct err *e)
{
	struct pmu new = {.space = PMU_SPACE_MSR, .counter_width = 64};
	unsigned seen = 0, nr = 0;
	int rc;

	pmu_add_virtuals(&new);
	if (text.n && memchr(text.p, '\0', text.n))
		return err_set(e, EINVAL, "a PMU description is text, without NUL characters");

	while (text.n) {
		struct slice line = slice_cut(&text, '\n');

		nr++;
		rc = pmu_parse_line(&new, &seen, slice_cut(&line, '#'), e);
		if (rc < 0)
			return err_prefix(e, "line %u", nr);
	}
	rc = pmu_validate(&new, e);
	if (rc < 0)
		return rc;
	*pmu = new;
	return 0;
}

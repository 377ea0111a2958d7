// SPDX-License-Identifier: MIT
/* The value of a PMD, and its options: what happens when it overflows. */
#include "daemon/command/command_i.h"

#include <errno.h>
#include <inttypes.h>

#include "base/num.h"

enum { PMD_OPTION_LONG, PMD_OPTION_SHORT };

/* In the order of printing. */
static const struct pmd_option {
	const char *name;
	enum { VALUE, MASK, THRESH, SEED, FLAG, LIST, READ_ONLY } kind;
	/* The offset in struct pmd_conf. Unused for FLAG, and for READ_ONLY: writing such an option
	 * has no effect, so that a saved PMD can be restored. */
	size_t at;
	/* FLAG only. */
	unsigned flag;
} pmd_options[] = {
	[PMD_OPTION_LONG] = {"long", VALUE, offsetof(struct pmd_conf, long_reset)},
	[PMD_OPTION_SHORT] = {"short", VALUE, offsetof(struct pmd_conf, short_reset)},
	{"thresh", THRESH, offsetof(struct pmd_conf, thresh)},
	{"mask", MASK, offsetof(struct pmd_conf, mask)},
	{"seed", SEED, offsetof(struct pmd_conf, seed)},
	{"notify", FLAG, .flag = PMD_NOTIFY},
	{"random", FLAG, .flag = PMD_RANDOM},
	{"no64", FLAG, .flag = PMD_NO64},
	{"smpl", LIST, offsetof(struct pmd_conf, smpl)},
	{"reset", LIST, offsetof(struct pmd_conf, reset)},
	{"eventid", VALUE, offsetof(struct pmd_conf, eventid)},
	{"gaps", READ_ONLY},
	{"uncertain", READ_ONLY},
};

enum { NOPTIONS = sizeof(pmd_options) / sizeof(pmd_options[0]) };

static const struct pmd_option *pmd_find_option(struct slice name)
{
	for (const struct pmd_option *o = pmd_options; o < pmd_options + NOPTIONS; o++)
		if (slice_is(name, o->name))
			return o;
	return NULL;
}

static int pmd_parse_thresh(struct slice s, uint64_t *thresh, struct err *e)
{
	int rc = num_u64(s, thresh, e);

	if (rc == 0 && !*thresh)
		return err_set(
			e, EINVAL, "0 would never switch sets: write 1 or more, or leave it out");
	return rc;
}

static int pmd_parse_seed(struct slice s, uint32_t *seed, struct err *e)
{
	uint64_t n = 0;
	int rc = num_max(s, UINT32_MAX, &n, e);

	*seed = (uint32_t)n;
	return rc;
}

static int pmd_set_option(
	struct slice value, const struct pmd_option *o, struct pmd_conf *conf, struct err *e)
{
	void *at = (char *)conf + o->at;
	uint64_t ignored;

	switch (o->kind) {
	case VALUE:
	case MASK:
		return num_value(value, at, e);
	case THRESH:
		return pmd_parse_thresh(value, at, e);
	case SEED:
		return pmd_parse_seed(value, at, e);
	case LIST:
		return regset_parse(value, at, e);
	case READ_ONLY:
		return num_u64(value, &ignored, e);
	case FLAG:
		conf->flags |= o->flag;
		break;
	}
	return 0;
}

static int pmd_parse_option(
	struct slice word, struct pmd_conf *conf, unsigned *given, struct err *e)
{
	struct slice value = word, name = slice_cut(&value, '=');
	const struct pmd_option *o = pmd_find_option(name);
	bool bare = name.n == word.n;

	if (!o)
		return err_set(e, EINVAL,
			"'%.*s' is not an option: the options are short= long= reset= notify "
			"random mask= "
			"seed= thresh= no64 smpl= eventid=",
			SLICE_ARG(name));
	if (*given & 1u << (o - pmd_options))
		return err_set(e, EINVAL, "'%s' is given twice: leave one out", o->name);
	*given |= 1u << (o - pmd_options);
	if (o->kind == FLAG && !bare)
		return err_set(e, EINVAL, "'%s' takes no value: write the word alone", o->name);
	if (o->kind != FLAG && !value.n)
		return err_set(e, EINVAL, "'%s' lacks its value: write '%s=%s'", o->name, o->name,
			o->kind == LIST ? "LIST" : "N");
	if (pmd_set_option(value, o, conf, e) < 0)
		return err_prefix(e, "%s", o->name);
	return 0;
}

/* The likely mistake: options without a value, to change them and keep the count. */
static int pmd_parse_value(struct slice word, uint64_t *value, struct err *e)
{
	struct slice rest = word;

	if (!word.n || pmd_find_option(slice_cut(&rest, '=')))
		return err_set(e, EINVAL, "the value is missing: write it first, then options");
	return num_value(word, value, e);
}

/* True if the PMD needs a period: with a reset value of 0, it would not overflow again for 2^64
 * events. */
static bool pmd_has_period(const struct pmd_conf *conf)
{
	return (conf->flags & PMD_NOTIFY) || conf->thresh || !regset_empty(&conf->smpl);
}

int command_parse_pmd(struct slice text, struct cmd_reg *r, struct err *e)
{
	unsigned given = 0;
	struct slice word;
	int rc = pmd_parse_value(slice_word(&text), &r->value, e);

	r->conf = (struct pmd_conf){0};
	r->gaps = (struct gaps){0};
	while (rc == 0 && (word = slice_word(&text)).n)
		rc = pmd_parse_option(word, &r->conf, &given, e);
	if (pmd_has_period(&r->conf) && !(given & 1u << PMD_OPTION_LONG))
		r->conf.long_reset = r->value;
	if (pmd_has_period(&r->conf) && !(given & 1u << PMD_OPTION_SHORT))
		r->conf.short_reset = r->value;
	if (!pmd_has_period(&r->conf) &&
		!(given & (1u << PMD_OPTION_LONG | 1u << PMD_OPTION_SHORT)))
		r->conf.flags |= PMD_BARE;
	return rc;
}

void command_print_pmd(uint64_t value, struct text *out)
{
	text_printf(out, "%" PRIu64 "\n", value);
}

/* True if reset option @o defaults to the PMD's value when it is left out. A value that a sampling
 * format would take for a period needs one reset option to say that it is none. */
static bool pmd_resets_to_value(const struct pmd_option *o, const struct cmd_reg *r)
{
	const struct pmd_conf *conf = &r->conf;

	if (o > &pmd_options[PMD_OPTION_SHORT])
		return false;
	return pmd_has_period(conf) || (o == &pmd_options[PMD_OPTION_SHORT] && !conf->long_reset &&
					       r->value >> 63 && !(conf->flags & PMD_BARE));
}

/* Prints an option, unless it reads back as 0 when it is left out. */
static void pmd_print_number(
	const struct pmd_option *o, uint64_t n, const struct cmd_reg *r, struct text *out)
{
	if (n && o->kind == MASK)
		text_printf(out, " %s=0x%" PRIx64, o->name, n);
	else if (n || pmd_resets_to_value(o, r))
		text_printf(out, " %s=%" PRIu64, o->name, n);
}

static void pmd_print_list(const struct pmd_option *o, const struct regset *set, struct text *out)
{
	if (regset_empty(set))
		return;
	text_printf(out, " %s=", o->name);
	regset_print(set, out);
}

static void pmd_print_option(const struct pmd_option *o, const struct cmd_reg *r, struct text *out)
{
	const void *at = (const char *)&r->conf + o->at;

	switch (o->kind) {
	case LIST:
		pmd_print_list(o, at, out);
		break;
	case FLAG:
		if (r->conf.flags & o->flag)
			text_printf(out, " %s", o->name);
		break;
	case READ_ONLY:
		break;
	case SEED:
		pmd_print_number(o, *(const uint32_t *)at, r, out);
		break;
	default:
		pmd_print_number(o, *(const uint64_t *)at, r, out);
	}
}

void pmd_options_print(const struct cmd_reg *r, struct text *out)
{
	for (const struct pmd_option *o = pmd_options; o < pmd_options + NOPTIONS; o++)
		pmd_print_option(o, r, out);
}

void command_print_gaps(const struct gaps *g, struct text *out)
{
	if (g->n)
		text_printf(out, " gaps=%" PRIu64 " uncertain=%" PRIu64, g->n, g->ns);
}

void command_print_overflows(const struct command *cmd, struct text *out)
{
	for (unsigned i = 0; i < cmd->vector.nregs; i++) {
		const struct cmd_reg *r = &cmd->vector.regs[i];

		if (r->pmd)
			text_printf(out,
				"pmd%u overflows=%" PRIu64 " last_reset=%" PRIu64
				" thresh_left=%" PRIu64 "\n",
				r->num, r->overflows, r->last_reset, r->thresh_left);
	}
}

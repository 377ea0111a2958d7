// SPDX-License-Identifier: MIT
#include "daemon/command/command_i.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/num.h"

int command_parse_pmc(
	struct slice text, const struct pmu *pmu, unsigned num, uint64_t *value, struct err *e)
{
	text = slice_trim(text);
	return event_is_name(text) ? event_parse(text, pmu, num, value, e)
				   : num_u64(text, value, e);
}

static int regs_parse_line(
	struct slice line, const struct pmu *pmu, uint16_t set, struct cmd_reg *r, struct err *e)
{
	struct slice name = slice_word(&line), number = name;
	uint64_t num;
	int rc;

	*r = (struct cmd_reg){.pmd = slice_starts(name, "pmd"), .set = set};
	if (!r->pmd && !slice_starts(name, "pmc"))
		return err_set(e, EINVAL,
			"'%.*s' is not a register: write 'pmcN VALUE' or 'pmdN VALUE [OPTION...]'",
			SLICE_ARG(name));
	number.p += 3;
	number.n -= 3;
	rc = num_max(number, UINT16_MAX, &num, e);
	if (rc < 0)
		return rc;
	r->num = (uint16_t)num;
	return r->pmd ? command_parse_pmd(line, r, e)
		      : command_parse_pmc(line, pmu, r->num, &r->value, e);
}

static unsigned regs_count_lines(struct slice text)
{
	unsigned n = 1;

	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == '\n';
	return n;
}

int command_parse_regs(
	struct slice text, const struct pmu *pmu, uint16_t set, struct command *cmd, struct err *e)
{
	cmd->verb = CMD_WRITE;
	cmd->vector.first_line = 1;
	cmd->vector.nregs = 0;
	if (!text.n)
		return err_set(e, EINVAL, "the text has no lines: write one per register");
	cmd->vector.regs = calloc(regs_count_lines(text), sizeof(*cmd->vector.regs));
	if (!cmd->vector.regs)
		return err_set(e, ENOMEM, "no memory for the vector");
	while (text.n) {
		if (regs_parse_line(slice_cut(&text, '\n'), pmu, set,
			    &cmd->vector.regs[cmd->vector.nregs], &cmd->vector.cut) < 0) {
			err_prefix(&cmd->vector.cut, "line %u", cmd->vector.nregs + 1);
			break;
		}
		cmd->vector.nregs++;
	}
	return 0;
}

void command_print_pmc(uint64_t value, struct text *out)
{
	text_printf(out, "0x%016" PRIx64 "\n", value);
}

void command_print_regs(const struct command *cmd, struct text *out)
{
	for (unsigned i = 0; i < cmd->vector.nregs; i++) {
		const struct cmd_reg *r = &cmd->vector.regs[i];

		if (r->pmd) {
			text_printf(out, "pmd%u %" PRIu64, r->num, r->value);
			pmd_options_print(r, out);
			command_print_gaps(&r->gaps, out);
			text_printf(out, "\n");
		} else {
			text_printf(out, "pmc%u ", r->num);
			command_print_pmc(r->value, out);
		}
	}
}

static struct regset regs_numbers(const struct pmu *pmu, bool pmd)
{
	struct regset nums = {0};

	for (unsigned p = 0; !pmd && p < pmu->npmcs; p++)
		regset_add(&nums, pmu->pmcs[p].num);
	for (unsigned d = 0; pmd && d < pmu->npmds; d++)
		regset_add(&nums, pmu->pmds[d].num);
	for (unsigned i = 0; pmd && i < pmu->nvirtuals; i++)
		regset_add(&nums, pmu->virtuals[i].num);
	return nums;
}

int command_no_register(const struct pmu *pmu, bool pmd, struct slice name, struct err *e)
{
	const struct regset nums = regs_numbers(pmu, pmd);
	const char *kind = pmd ? "pmd" : "pmc";
	TEXT_CLEANUP struct text list = {0};

	regset_print(&nums, &list);
	if (!text_ok(&list))
		return err_set(e, ENOMEM, "no memory");
	return err_set(e, ENOENT, "there is no %s%.*s: this PMU has %s, see pmu/%ss", kind,
		SLICE_ARG(name), list.p, kind);
}

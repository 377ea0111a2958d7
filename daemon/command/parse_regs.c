// SPDX-License-Identifier: MIT
#include "daemon/command/command_i.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/num.h"

int command_parse_pmc(struct slice text, uint64_t *value, struct err *e)
{
	return num_u64(slice_trim(text), value, e);
}

static int parse_line(struct slice line, uint16_t set, struct cmd_reg *r, struct err *e)
{
	struct slice name = slice_word(&line), number = name;
	uint64_t num;
	int rc;

	*r = (struct cmd_reg){.pmd = slice_starts(name, "pmd"), .set = set};
	if (!r->pmd && !slice_starts(name, "pmc"))
		return err_set(e, EINVAL,
			"'%.*s' is no register: write 'pmcN VALUE' or 'pmdN VALUE [OPTION...]'",
			SLICE_ARG(name));
	number.p += 3;
	number.n -= 3;
	rc = num_max(number, UINT16_MAX, &num, e);
	if (rc < 0)
		return rc;
	r->num = (uint16_t)num;
	return r->pmd ? command_parse_pmd(line, r, e) : command_parse_pmc(line, &r->value, e);
}

static unsigned count_lines(struct slice text)
{
	unsigned n = 1;

	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == '\n';
	return n;
}

int command_parse_regs(struct slice text, uint16_t set, struct command *cmd, struct err *e)
{
	cmd->verb = CMD_WRITE;
	cmd->first_line = 1;
	cmd->nregs = 0;
	if (!text.n)
		return err_set(e, EINVAL, "nothing was written: write a line per register");
	cmd->regs = calloc(count_lines(text), sizeof(*cmd->regs));
	if (!cmd->regs)
		return err_set(e, ENOMEM, "no memory for the vector");
	while (text.n) {
		if (parse_line(slice_cut(&text, '\n'), set, &cmd->regs[cmd->nregs], &cmd->cut) <
			0) {
			err_prefix(&cmd->cut, "line %u", cmd->nregs + 1);
			break;
		}
		cmd->nregs++;
	}
	return 0;
}

void command_print_pmc(uint64_t value, struct text *out)
{
	text_printf(out, "0x%016" PRIx64 "\n", value);
}

void command_print_regs(const struct command *cmd, struct text *out)
{
	for (unsigned i = 0; i < cmd->nregs; i++) {
		const struct cmd_reg *r = &cmd->regs[i];

		if (r->pmd) {
			text_printf(out, "pmd%u %" PRIu64, r->num, r->value);
			pmd_conf_print(&r->conf, out);
			text_printf(out, "\n");
		} else {
			text_printf(out, "pmc%u ", r->num);
			command_print_pmc(r->value, out);
		}
	}
}

void command_free(struct command *cmd)
{
	free(cmd->regs);
	free(cmd->msgs);
	free(cmd->shown);
	free(cmd->cpus);
	cmd->regs = NULL;
	cmd->msgs = NULL;
	cmd->shown = NULL;
	cmd->cpus = NULL;
}

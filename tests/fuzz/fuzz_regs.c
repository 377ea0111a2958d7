// SPDX-License-Identifier: MIT
/*
 * Register vectors: the elements up to the first invalid line are kept, and print as text that
 * parses to the same; so does the value of a PMC.
 */
#include "tests/fuzz/fuzz.h"

#include "daemon/command/command.h"

enum { SET = 7 };

static const struct pmu pmu = {
	.npmcs = 1,
	.pmcs = {{.user = EVTSEL_USR, .kernel = EVTSEL_OS, .enable = EVTSEL_EN}},
	.nevents = 2,
	.events = {{"clock", 0x430001, "time", true}, {"page-faults", 0x430003, "", false}},
};

static unsigned lines_of(struct slice s)
{
	unsigned n = 0;

	while (s.n) {
		slice_cut(&s, '\n');
		n++;
	}
	return n;
}

static void check_cut(const struct command *cmd, struct slice text)
{
	char where[32];

	if (!cmd->vector.cut.no) {
		CHECK(cmd->vector.nregs == lines_of(text));
		return;
	}
	check_syntax_or_range(-cmd->vector.cut.no, &cmd->vector.cut);
	CHECK(cmd->vector.nregs < lines_of(text));
	snprintf(where, sizeof(where), "line %u: ", cmd->vector.nregs + 1);
	CHECK(strncmp(cmd->vector.cut.text, where, strlen(where)) == 0);
}

static void check_same(const struct command *a, const struct command *b)
{
	CHECK(a->vector.nregs == b->vector.nregs && !b->vector.cut.no);
	for (unsigned i = 0; i < a->vector.nregs; i++) {
		const struct cmd_reg *x = &a->vector.regs[i], *y = &b->vector.regs[i];

		CHECK(x->set == SET && x->pmd == y->pmd && x->num == y->num &&
			x->value == y->value && memcmp(&x->conf, &y->conf, sizeof(x->conf)) == 0);
	}
}

static void check_vector(struct slice text)
{
	TEXT_CLEANUP struct text printed = {0};
	struct command cmd = {0}, again = {0};
	struct err e;
	int rc = command_parse_regs(text, &pmu, SET, &cmd, &e);

	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		CHECK(!text.n);
	} else {
		CHECK(text.n && cmd.verb == CMD_WRITE && cmd.vector.first_line == 1);
		check_cut(&cmd, text);
		command_print_regs(&cmd, &printed);
	}
	if (rc == 0 && cmd.vector.nregs) {
		struct slice s = slice_of_text(&printed);

		CHECK(slice_text(&s, true));
		CHECK(command_parse_regs(s, &pmu, SET, &again, &e) == 0);
		check_same(&cmd, &again);
	}
	command_free(&cmd);
	command_free(&again);
}

static void check_pmc(struct slice text)
{
	TEXT_CLEANUP struct text printed = {0};
	struct slice s;
	uint64_t value, again;
	struct err e;
	int rc = command_parse_pmc(text, &pmu, 0, &value, &e);

	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		return;
	}
	command_print_pmc(value, &printed);
	s = slice_of_text(&printed);
	CHECK(slice_text(&s, false));
	CHECK(command_parse_pmc(s, &pmu, 0, &again, &e) == 0 && again == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice vector = slice_of_input(data, size), line = vector;

	if (slice_text(&vector, true))
		check_vector(vector);
	if (slice_text(&line, false))
		check_pmc(line);
	return 0;
}

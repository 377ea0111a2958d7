// SPDX-License-Identifier: MIT
/*
 * The text of a PMD: parsing sets all fields, whatever they were before, and printed text parses
 * and prints the same again.
 */
#include "tests/fuzz/fuzz.h"

#include "daemon/command/command.h"

/* Compares bytes: struct pmd_conf has no padding. */
static bool same(const struct cmd_reg *a, const struct cmd_reg *b)
{
	return a->value == b->value && memcmp(&a->conf, &b->conf, sizeof(a->conf)) == 0;
}

static struct cmd_reg dirty(int byte)
{
	struct cmd_reg r;

	memset(&r, byte, sizeof(r));
	r.pmd = true;
	r.num = 5;
	return r;
}

static void print(struct cmd_reg *r, struct text *out)
{
	struct command cmd = {.vector.regs = r, .vector.nregs = 1};

	command_print_regs(&cmd, out);
}

static void check_value(uint64_t value)
{
	TEXT_CLEANUP struct text printed = {0};
	struct cmd_reg r = dirty(0xff);
	struct slice s;
	struct err e;

	command_print_pmd(value, &printed);
	s = slice_of_text(&printed);
	CHECK(slice_text(&s, false));
	CHECK(command_parse_pmd(s, &r, &e) == 0 && r.value == value);
}

static void check_printed(struct cmd_reg *r)
{
	TEXT_CLEANUP struct text printed = {0}, twice = {0};
	struct cmd_reg again = dirty(0xff);
	struct slice s;
	struct err e;

	print(r, &printed);
	s = slice_of_text(&printed);
	CHECK(slice_text(&s, false));
	CHECK(slice_is(slice_word(&s), "pmd5"));
	CHECK(command_parse_pmd(s, &again, &e) == 0 && same(r, &again));
	print(&again, &twice);
	CHECK(text_equal(&printed, &twice));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cmd_reg r = dirty(0), other = dirty(0xff);
	struct slice s = slice_of_input(data, size);
	struct err e, same_e;
	int rc;

	if (!slice_text(&s, false))
		return 0;
	rc = command_parse_pmd(s, &r, &e);
	CHECK(command_parse_pmd(s, &other, &same_e) == rc);
	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		CHECK(strcmp(e.text, same_e.text) == 0);
		return 0;
	}
	CHECK(same(&r, &other) && r.num == 5 && r.pmd);
	CHECK(!(r.conf.flags & ~(PMD_NOTIFY | PMD_RANDOM | PMD_NO64 | PMD_BARE)));
	check_value(r.value);
	check_printed(&r);
	return 0;
}

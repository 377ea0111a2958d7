// SPDX-License-Identifier: MIT
/* Context flags: only known ones are set, and printed text can be parsed. */
#include "tests/fuzz/fuzz.h"

#include "daemon/command/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TEXT_CLEANUP struct text printed = {0};
	struct slice s = slice_of_input(data, size);
	unsigned flags, again;
	struct err e;
	int rc;

	if (!slice_text(&s, false))
		return 0;
	rc = command_parse_flags(s, &flags, &e);
	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		return 0;
	}
	CHECK(!(flags & ~(CTX_SYSTEM_WIDE | CTX_NOTIFY_BLOCK | CTX_OVFL_NO_MSG | CTX_RAW |
				CTX_GAPS | CTX_BACKGROUND)));
	command_print_flags(flags, &printed);
	s = slice_of_text(&printed);
	CHECK(slice_text(&s, false));
	CHECK(command_parse_flags(s, &again, &e) == 0 && again == flags);
	return 0;
}

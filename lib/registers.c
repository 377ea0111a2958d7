// SPDX-License-Identifier: MIT
#include "lib/registers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/lib_i.h"
#include "perfmon/perfmon_v06.h"

static uint16_t registers_type(const char *word)
{
	static const char *const words[] = {[PFM_REG_TYPE_PMC] = "pmc",
		[PFM_REG_TYPE_PMD] = "pmd",
		[PFM_REG_TYPE_MSR] = "msr",
		[PFM_REG_TYPE_IBR] = "ibr",
		[PFM_REG_TYPE_DBR] = "dbr"};

	for (uint16_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i] && strcmp(word, words[i]) == 0)
			return i;
	return PFM_REG_TYPE_NONE;
}

/* Lines begin with: INDEX NAME TYPE ADDRESS DEFAULT RESERVED-MASK. */
bool registers_next(struct lines *l, struct reg_info *r)
{
	char *line = lines_next(l), *word[6];

	for (int i = 0; i < 6; i++) {
		word[i] = lines_word(&line);
		if (!word[i])
			return false;
	}
	r->num = (unsigned)strtoul(word[0], NULL, 10);
	r->type = registers_type(word[2]);
	r->addr = strtoull(word[3], NULL, 16);
	r->def = strtoull(word[4], NULL, 16);
	r->rsvd = strtoull(word[5], NULL, 16);
	return true;
}

int registers_find(const char *table, unsigned num, struct reg_info *r)
{
	struct lines l;
	bool found = false;

	if (mount_open_lines(&l, table) < 0)
		return lib_fail(errno == ENOENT ? ENOSYS : errno);
	while (!found && registers_next(&l, r))
		found = r->num == num;
	lines_close(&l);
	return found ? 0 : lib_fail(EINVAL);
}

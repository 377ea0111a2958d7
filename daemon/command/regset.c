// SPDX-License-Identifier: MIT
/* Sets of register numbers, as lists. */
#include "daemon/command/command_i.h"

#include <string.h>

#include "base/number_list.h"

int regset_parse(struct slice list, struct regset *set, struct err *e)
{
	*set = (struct regset){0};
	return number_list_parse(list, set->bits, PMU_MAX_NUM, e);
}

bool regset_empty(const struct regset *set)
{
	static const struct regset none;

	return memcmp(set, &none, sizeof(none)) == 0;
}

void regset_print(const struct regset *set, struct text *out)
{
	number_list_print(set->bits, PMU_MAX_NUM, out);
}

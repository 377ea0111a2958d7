// SPDX-License-Identifier: MIT
/* Names, numbers and titles. */
#include "backend/pmu/validate_i.h"

#include <errno.h>
#include <string.h>

bool validate_is_word(const char *s)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.-";

	return *s && s[strspn(s, chars)] == '\0';
}

bool validate_is_line(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (s[i] < ' ' || s[i] > '~' || s[i] == '#')
			return false;
	return n && s[0] != ' ' && s[n - 1] != ' ';
}

bool validate_terminated(const char *s, size_t room)
{
	return memchr(s, '\0', room);
}

int validate_name_num(const char *name, unsigned num, int before, struct err *e)
{
	if (!validate_terminated(name, PMU_NAME) || !validate_is_word(name))
		return err_set(e, EINVAL,
			"the name of register %u is not a plain word: write letters, digits, '_', "
			"'.' and '-'",
			num);
	if ((int)num <= before)
		return err_set(e, EINVAL,
			"%s: its number %u is not above the previous one, %d: write the lines in "
			"the order of their numbers",
			name, num, before);
	if (num >= PMU_MAX_NUM)
		return err_set(e, EINVAL, "%s: its number %u is not below %d: write a lower one",
			name, num, PMU_MAX_NUM);
	return 0;
}

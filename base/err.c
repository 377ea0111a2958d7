// SPDX-License-Identifier: MIT
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Replaces unprintable bytes, so that a user's text can neither control a terminal nor end the
 * line. */
static void err_make_printable(char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
}

int err_set(struct err *e, int no, const char *fmt, ...)
{
	va_list ap;

	e->no = no;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	err_make_printable(e->text);
	return -no;
}

int err_prefix(struct err *e, const char *fmt, ...)
{
	char old[sizeof(e->text)];
	va_list ap;
	size_t n;

	memcpy(old, e->text, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", old);
	err_make_printable(e->text);
	return -e->no;
}

const char *err_name(int no)
{
	const char *name = strerrorname_np(no);

	return name ? name : "unknown error";
}

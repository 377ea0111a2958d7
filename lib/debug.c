// SPDX-License-Identifier: MIT
#include "lib/debug.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The model is initial-exec so that a first use in a signal handler does not allocate memory. */
static __thread __attribute__((tls_model("initial-exec"))) struct debug_cause cause;

bool debug_is_on(void)
{
	const char *s = secure_getenv("PERFMONFS_DEBUG");

	return s && strcmp(s, "1") == 0;
}

void debug_daemon_refused(void)
{
	cause.daemon_refused = true;
}

int debug_fail(int err, const char *reason)
{
	cause.reason = reason;
	return lib_fail(err);
}

struct debug_cause debug_take_cause(void)
{
	struct debug_cause taken = cause;

	cause = (struct debug_cause){0};
	return taken;
}

void debug_begin(struct debug_line *l, const char *what)
{
	l->n = 0;
	debug_add(l, "perfmonfs: ");
	debug_add(l, what);
	debug_add(l, ": ");
}

void debug_add(struct debug_line *l, const char *s)
{
	while (*s && *s != '\n' && l->n < sizeof(l->text) - 1)
		l->text[l->n++] = *s++;
}

void debug_end(struct debug_line *l)
{
	int err = errno;

	l->text[l->n++] = '\n';
	nocancel_write(STDERR_FILENO, l->text, l->n);
	errno = err;
}

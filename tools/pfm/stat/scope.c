// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/scope.h"

#include <stdio.h>

bool scope_same(const struct scope *a, const struct scope *b)
{
	return a->kind == b->kind && a->id == b->id && a->socket == b->socket &&
	       a->context == b->context && a->line == b->line;
}

bool scope_same_thread(const struct scope *a, const struct scope *b)
{
	return a->kind == SCOPE_THREAD && b->kind == SCOPE_THREAD && a->id == b->id && a->began &&
	       a->began == b->began;
}

void scope_label(const struct scope *s, char label[SCOPE_LABEL])
{
	static const char *const names[] = {"CPU", "tid ", "core ", "socket "};

	snprintf(label, SCOPE_LABEL, "%s%d", names[s->kind],
		s->kind == SCOPE_SOCKET ? s->socket : s->id);
}

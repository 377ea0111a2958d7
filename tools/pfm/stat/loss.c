// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/loss.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static int loss_compare(const void *one, const void *other)
{
	const struct err *a = one, *b = other;

	return a->no != b->no ? (a->no < b->no ? -1 : 1) : strcmp(a->text, b->text);
}

const struct err *loss_keep(const struct err *e)
{
	static const struct err no_memory = {
		ENOMEM, "a count was lost, and there is no memory for the reason"};
	static void *tree; /* of tsearch() */
	const struct err **found = tfind(e, &tree, loss_compare);
	struct err *copy;

	if (found)
		return *found;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return &no_memory;
	*copy = *e;
	if (tsearch(copy, &tree, loss_compare))
		return copy;
	free(copy);
	return &no_memory;
}

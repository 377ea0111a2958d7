// SPDX-License-Identifier: MIT
/* The kernel's functions: lines ADDRESS TYPE NAME [MODULE] of /proc/kallsyms. */
#include "tools/pfm/samples/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct kallsym {
	uint64_t address;
	char *name;   /* owned */
	char *module; /* part of @name's memory; NULL: the kernel itself */
};

struct kallsyms {
	struct kallsym *sym; /* sorted by address */
	size_t n;
	size_t room;
};

void kallsyms_close(struct kallsyms *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->n; i++)
		free(k->sym[i].name);
	free(k->sym);
	free(k);
}

static bool kallsyms_add(struct kallsyms *k, uint64_t address, const char *text)
{
	char *name, *module;

	if (k->n == k->room) {
		size_t room = k->room ? 2 * k->room : 1 << 16;
		struct kallsym *sym = realloc(k->sym, room * sizeof(*sym));

		if (!sym)
			return false;
		k->sym = sym;
		k->room = room;
	}
	name = strdup(text);
	if (!name)
		return false;
	name[strcspn(name, "\n")] = '\0';
	module = strchr(name, '\t');
	if (module)
		*module++ = '\0';
	k->sym[k->n++] = (struct kallsym){address, name, module};
	return true;
}

/* Adds a function: types t, T, w and W. False: no memory. */
static bool kallsyms_line(struct kallsyms *k, const char *line)
{
	char *end;
	uint64_t address = strtoull(line, &end, 16);

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !strchr("tTwW", end[1]) ||
		!address)
		return true;
	return kallsyms_add(k, address, end + 3);
}

static int kallsyms_compare(const void *a, const void *b)
{
	const struct kallsym *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int kallsyms_read(struct kallsyms *k, const char *path, struct err *e)
{
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");
	CLEANUP_FREE char *line = NULL;
	size_t room = 0;

	if (!f)
		return err_set(e, errno, "%s: %s", path, err_name(errno));
	while (getline(&line, &room, f) > 0)
		if (!kallsyms_line(k, line))
			return err_set(e, ENOMEM, "no memory for %s", path);
	if (!k->n)
		return err_set(e, EACCES,
			"%s hides the kernel's addresses from you (kernel.kptr_restrict): report "
			"as root",
			path);
	qsort(k->sym, k->n, sizeof(*k->sym), kallsyms_compare);
	return 0;
}

struct kallsyms *kallsyms_open(const char *path, struct err *e)
{
	struct kallsyms *k = calloc(1, sizeof(*k));

	if (!k) {
		err_set(e, ENOMEM, "no memory for %s", path);
		return NULL;
	}
	if (kallsyms_read(k, path, e) == 0)
		return k;
	kallsyms_close(k);
	return NULL;
}

struct symbol kallsyms_find(const struct kallsyms *k, uint64_t ip, const char **module)
{
	size_t low = 0, high = k->n;

	*module = NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (k->sym[middle].address <= ip)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return (struct symbol){.address = ip};
	*module = k->sym[low - 1].module;
	return (struct symbol){.name = k->sym[low - 1].name,
		.address = ip,
		.offset = ip - k->sym[low - 1].address,
		.rest = low < k->n ? k->sym[low].address - ip : 0};
}

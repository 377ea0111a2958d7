// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/cpu_types.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "tools/pfm/tree/file.h"

int cpu_types_list(const struct tree *t, char types[CPU_TYPES_MAX][CPU_TYPES_NAME], struct err *e)
{
	int fd = openat(t->dir, "pmu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;
	int n = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return err_set(e, errno, "pmu: %s", err_name(errno));
	}
	while ((d = readdir(dir)))
		if (d->d_type == DT_DIR && d->d_name[0] != '.' && n < CPU_TYPES_MAX)
			snprintf(types[n++], CPU_TYPES_NAME, "%.*s", CPU_TYPES_NAME - 1, d->d_name);
	return n;
}

/* A line of pmcs or pmds: INDEX NAME TYPE ADDRESS DEFAULT RESERVED-MASK [WORD...] */
struct cpu_types_line {
	struct slice index, address;
	struct slice before, after; /* what precedes the mask, and what follows it */
	uint64_t reserved;
};

static bool cpu_types_parse(struct slice line, struct cpu_types_line *l)
{
	struct slice rest = line, mask;
	struct err e;

	l->index = slice_word(&rest);
	slice_word(&rest);
	slice_word(&rest);
	l->address = slice_word(&rest);
	slice_word(&rest);
	mask = slice_word(&rest);
	l->before = (struct slice){line.p, (size_t)(mask.p - line.p)};
	l->after = rest;
	return mask.n && num_u64(mask, &l->reserved, &e) == 0;
}

static bool cpu_types_equal(struct slice a, struct slice b)
{
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

/* Finds the line of the same register in @text. False: there is none. */
static bool cpu_types_find(
	struct slice text, const struct cpu_types_line *l, struct cpu_types_line *out)
{
	while (text.n)
		if (cpu_types_parse(slice_cut(&text, '\n'), out) &&
			cpu_types_equal(out->index, l->index) &&
			cpu_types_equal(out->address, l->address))
			return true;
	return false;
}

void cpu_types_meet(struct text *acc, struct slice other)
{
	struct text both = {0};
	struct slice rest = {acc->p, acc->n};

	while (rest.n) {
		struct cpu_types_line l, o;

		if (!cpu_types_parse(slice_cut(&rest, '\n'), &l) || !cpu_types_find(other, &l, &o))
			continue;
		text_append(&both, l.before.p, l.before.n);
		text_printf(&both, "0x%016" PRIx64, l.reserved | o.reserved);
		text_append(&both, l.after.p, l.after.n);
		text_append(&both, "\n", 1);
	}
	text_free(acc);
	*acc = both;
}

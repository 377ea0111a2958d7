// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tools/pfm/samples/reports.h"
#include "tools/pfm/samples/stacks.h"

struct folded {
	struct stacks st;
	double scale;     /* for weights before */
	struct text path; /* names of the current node and of those above it */
	FILE *out;
};

/* Appends a frame's name. ';' separates frames and is replaced; the marks of the kernel and of
 * inlined functions are flamegraph.pl's. */
static void folded_append(struct text *path, const struct stack_name *k)
{
	size_t begin = path->n;

	text_printf(path, "%s%s", k->name, k->kernel ? "_[k]" : k->inlined ? "_[i]" : "");
	for (char *p = path->p ? path->p + begin : NULL; p && *p; p++)
		*p = *p == ';' ? ':' : *p;
}

static void folded_write_line(const struct folded *f, const struct stack_node *s)
{
	const struct stack_before *before = f->st.before ? &f->st.before[s - f->st.nodes] : NULL;
	uint64_t self = stack_self(&f->st, s);

	if (!self && !(before && before->self))
		return;
	fprintf(f->out, "%s", f->path.p ? f->path.p : "");
	if (before)
		fprintf(f->out, " %.0f", f->scale * (double)before->self);
	fprintf(f->out, " %" PRIu64 "\n", self);
}

/* Shortens the path to its first @n names. */
static void folded_cut(struct text *path, unsigned depth, unsigned n)
{
	for (; depth > n && path->p; depth--) {
		const char *end = n ? memrchr(path->p, ';', path->n) : NULL;

		path->n = end ? (size_t)(end - path->p) : 0;
	}
}

static void folded_write_lines(struct folded *f)
{
	struct stack_walk w = {0};
	unsigned depth = 0;

	while (stacks_walk(&f->st, &w, true)) {
		const struct stack_node *s = &f->st.nodes[w.at];

		folded_cut(&f->path, depth, w.depth - 1);
		text_append(&f->path, ";", w.depth > 1);
		folded_append(&f->path, stack_name(&f->st, s));
		folded_write_line(f, s);
		depth = w.depth;
	}
}

/* Writes the lines, and frees the tree, whose making returned @rc. */
static int folded_finish(struct folded *f, int rc, struct err *e)
{
	if (rc == 0)
		folded_write_lines(f);
	rc = text_ok(&f->path) ? rc : -ENOMEM;
	stacks_free(&f->st);
	text_free(&f->path);
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the stacks") : 0;
}

int folded_write(const struct recording *r, FILE *out, struct err *e)
{
	struct folded f = {.out = out};

	return folded_finish(&f, stacks_build(&f.st, r, STACKS_BY_NAME), e);
}

int folded_write_diff(const struct recording *const r[2], FILE *out, struct err *e)
{
	struct folded f = {.out = out};

	if (r[0]->weight)
		f.scale = (double)r[1]->weight / (double)r[0]->weight;
	return folded_finish(&f, stacks_build_diff(&f.st, r, STACKS_BY_NAME), e);
}

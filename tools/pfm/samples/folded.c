// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>

#include "tools/pfm/samples/reports.h"
#include "tools/pfm/samples/stacks.h"

struct folded {
	struct stacks st;
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

	if (!s->self && !(before && before->self))
		return;
	fprintf(f->out, "%s", f->path.p ? f->path.p : "");
	if (before)
		fprintf(f->out, " %" PRIu64, before->self);
	fprintf(f->out, " %" PRIu64 "\n", s->self);
}

static void folded_write_below(struct folded *f, const struct stack_node *s)
{
	size_t above = f->path.n;

	for (uint32_t i = s->child; i; i = f->st.nodes[i].next) {
		const struct stack_node *c = &f->st.nodes[i];

		text_append(&f->path, ";", s == f->st.nodes ? 0 : 1);
		folded_append(&f->path, stack_name(&f->st, c));
		folded_write_line(f, c);
		folded_write_below(f, c);
		f->path.n = above;
	}
}

/* Writes the lines, and frees the tree, whose making returned @rc. */
static int folded_finish(struct folded *f, int rc, struct err *e)
{
	if (rc == 0)
		folded_write_below(f, f->st.nodes);
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

	return folded_finish(&f, stacks_build_diff(&f.st, r, STACKS_BY_NAME), e);
}

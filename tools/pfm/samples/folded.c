// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>

#include "tools/pfm/samples/reports.h"
#include "tools/pfm/samples/stacks.h"

/*
 * Writes a frame's name. ';' separates frames and is replaced; the marks of the
 * kernel and of inlined functions are flamegraph.pl's.
 */
static void folded_write_name(const struct stack_node *s, FILE *out)
{
	for (const char *p = s->name; *p; p++)
		fputc(*p == ';' ? ':' : *p, out);
	if (s->kernel)
		fputs("_[k]", out);
	else if (s->inlined)
		fputs("_[i]", out);
}

static void folded_write_path(const struct stack_node *s, FILE *out)
{
	if (s->parent && s->parent->parent) {
		folded_write_path(s->parent, out);
		fputc(';', out);
	}
	folded_write_name(s, out);
}

static void folded_write_below(const struct stack_node *s, FILE *out)
{
	for (const struct stack_node *c = s->child; c; c = c->next) {
		if (c->self) {
			folded_write_path(c, out);
			fprintf(out, " %" PRIu64 "\n", c->self);
		}
		folded_write_below(c, out);
	}
}

int folded_write(const struct recording *r, FILE *out, struct err *e)
{
	struct stacks st;
	int rc = stacks_build(&st, r, STACKS_BY_NAME);

	if (rc == 0)
		folded_write_below(&st.root, out);
	stacks_free(&st);
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the stacks") : 0;
}

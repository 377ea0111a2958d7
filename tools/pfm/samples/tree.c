// SPDX-License-Identifier: MIT
/* The call tree as text. Deep functions are not indented further: a number before the name gives
 * their level. */
#include <errno.h>
#include <string.h>

#include "tools/pfm/samples/reports.h"
#include "tools/pfm/samples/stacks.h"
#include "tools/pfm/text/utf8.h"

enum { TREE_COLUMNS = 80, TREE_SHARES = 18, TREE_LEVELS = 20, TREE_INDENT = 2 };

struct tree {
	const struct tree_options *options;
	double total; /* overflows */
	FILE *out;
	struct stacks st;
};

static double tree_percent(const struct tree *t, uint64_t weight)
{
	return 100.0 * (double)weight / t->total;
}

/* Cuts @name to @room columns. */
static void tree_write_name(const struct tree *t, const char *name, int room)
{
	size_t length = strlen(name);

	if ((int)length <= room)
		fprintf(t->out, "%s", name);
	else
		fprintf(t->out, "%.*s..", (int)utf8_cut(name, (size_t)room - 2), name);
}

static void tree_write_line(const struct tree *t, const struct stack_node *s, unsigned level)
{
	const struct stack_name *k = stack_name(&t->st, s);
	const char *mark = k->kernel ? " [k]" : k->inlined ? " [i]" : "";
	int indent = TREE_INDENT * (int)(level < TREE_LEVELS ? level : TREE_LEVELS);

	if (t->options->callers)
		fprintf(t->out, "%7.2f%%          ", tree_percent(t, s->weight));
	else
		fprintf(t->out, "%7.2f%%%7.2f%%  ", tree_percent(t, s->weight),
			tree_percent(t, stack_self(&t->st, s)));
	fprintf(t->out, "%*s", indent, "");
	if (level > TREE_LEVELS)
		indent += fprintf(t->out, "%u: ", level);
	tree_write_name(t, k->name, TREE_COLUMNS - TREE_SHARES - indent - (int)strlen(mark));
	fprintf(t->out, "%s\n", mark);
}

static void tree_write_lines(const struct tree *t)
{
	struct stack_walk w = {0};
	bool shown = true;

	while (stacks_walk(&t->st, &w, shown)) {
		const struct stack_node *s = &t->st.nodes[w.at];

		shown = tree_percent(t, s->weight) >= t->options->at_least;
		if (shown)
			tree_write_line(t, s, w.depth - 1);
	}
}

int tree_write(
	const struct recording *r, const struct tree_options *options, FILE *out, struct err *e)
{
	struct tree t = {
		.options = options, .total = r->weight ? (double)r->weight : 1, .out = out};
	int rc = stacks_build(&t.st, r, options->callers ? STACKS_CALLERS : STACKS_BY_WEIGHT);

	if (rc == 0) {
		report_write_head(r, out);
		fprintf(out, options->callers ? "#\n#  share          function, its callers\n"
					      : "#\n#  total   self  function\n");
		tree_write_lines(&t);
	}
	stacks_free(&t.st);
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the stacks") : 0;
}

// SPDX-License-Identifier: MIT
/*
 * The tree that is served and the tree that fs-layout.md documents are the same. Each of the
 * document's tables has rows that begin "| `PATH` | MODE |". FS_LAYOUT names another document.
 */
#include "base/cleanup.h"
#include "base/slice.h"
#include "daemon/fs/rows/rows.h"
#include "tests/unit/unit.h"

/* Lines "PATH MODE". */
struct tree {
	struct text text;
	const char *what;
};

static const struct row_table *table(void)
{
	static struct row_table t;

	if (!t.n)
		rows_collect(&t);
	return &t;
}

static void read_table(struct text *out)
{
	for (const struct row *r = table()->row; r < table()->row + table()->n; r++) {
		rows_print_path(table(), r, out);
		text_printf(out, " %04o\n", (unsigned)(r->mode & 07777));
	}
}

static const char *document(void)
{
	const char *path = getenv("FS_LAYOUT");

	return path ? path : SOURCE_ROOT "/fs-layout.md";
}

/* "| `/ctx/NAME/ctl` | 0600 | ..." */
static void add_row(struct text *out, struct slice line)
{
	struct slice path, mode;

	if (!slice_starts(line, "| `/"))
		return;
	slice_cut(&line, '`');
	path = slice_cut(&line, '`');
	slice_cut(&line, '|');
	mode = slice_trim(slice_cut(&line, '|'));
	text_printf(out, "%.*s %.*s\n", (int)path.n, path.p, (int)mode.n, mode.p);
}

static void read_document(struct text *out)
{
	CLEANUP_FCLOSE FILE *f = fopen(document(), "re");
	CLEANUP_FREE char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (!f)
		fail_msg("%s cannot be opened", document());
	while ((n = getline(&line, &room, f)) > 0)
		add_row(out, (struct slice){line, (size_t)n});
}

static unsigned times_in(const struct text *t, struct slice line)
{
	struct slice rest = {t->p, t->n};
	unsigned n = 0;

	while (rest.n) {
		struct slice l = slice_cut(&rest, '\n');

		n += l.n == line.n && memcmp(l.p, line.p, l.n) == 0;
	}
	return n;
}

/* Names every difference before it fails. */
static unsigned missing(const struct tree *from, const struct tree *in)
{
	struct slice rest = {from->text.p, from->text.n};
	unsigned n = 0;

	while (rest.n) {
		struct slice line = slice_cut(&rest, '\n');

		if (times_in(&in->text, line) == 1)
			continue;
		print_error("%.*s: %s has it, %s %u times\n", (int)line.n, line.p, from->what,
			in->what, times_in(&in->text, line));
		n++;
	}
	return n;
}

TEST(layout)
{
	struct tree served = {.what = "the daemon"}, documented = {.what = "fs-layout.md"};
	unsigned differences;

	read_table(&served.text);
	read_document(&documented.text);
	assert_true(text_ok(&served.text) && text_ok(&documented.text));
	assert_true(served.text.n > 0);
	differences = missing(&served, &documented) + missing(&documented, &served);
	text_free(&served.text);
	text_free(&documented.text);
	assert_int_equal(differences, 0);
}

// SPDX-License-Identifier: MIT
#include "tools/pfm/top/browser.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "tools/pfm/samples/reports.h"
#include "tools/pfm/samples/stacks.h"
#include "tools/pfm/top/screen.h"
#include "tools/pfm/top/table.h"

enum browser_view { BROWSER_FUNCTIONS, BROWSER_CALLEES, BROWSER_CALLERS, BROWSER_VIEWS };

/* Keys besides characters. */
enum {
	KEY_ENTER = '\r',
	KEY_ESCAPE = 0x1b,
	KEY_ERASE = 0x7f,
	KEY_CTRL_C = 3,
	KEY_UP = 256,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_FIRST,
	KEY_LAST,
	KEY_RESIZED,
	KEY_LEAVE
};

enum {
	BROWSER_AROUND = 3,           /* lines of the screen that are not rows */
	BROWSER_SEARCH = 64,          /* bytes of a name that is searched, with a NUL */
	BROWSER_ESCAPE_NS = 50000000, /* a key that sends a sequence sends it within this time */
	BROWSER_INDENT = 2,
	BROWSER_LEVELS = 24, /* deeper functions are not indented further */
};
#define BROWSER_LONG (3600 * (uint64_t)NSEC_PER_SEC)

/* A line of a view: of the functions the index, of a tree the node, of a text the position. */
struct browser_row {
	uint32_t what;
	unsigned level; /* in a tree */
};

struct browser_list {
	struct browser_row *rows;
	uint32_t n, room;
	uint32_t cursor;
	uint32_t top; /* the first row on the screen */
};

struct browser_function {
	uint32_t name; /* in the tree of callees */
	uint64_t self, total;
};

struct browser {
	struct recording *r;
	unsigned event;
	enum browser_view view;
	struct browser_list lists[BROWSER_VIEWS];
	struct stacks trees[BROWSER_VIEWS]; /* of callees and of callers */
	bool *unfolded[BROWSER_VIEWS];      /* by node */
	struct browser_function *functions; /* the heaviest first */
	uint32_t nfunctions;
	char *text;        /* shown instead of the view; NULL: none is */
	const char *title; /* of the text */
	struct browser_list lines;
	char search[BROWSER_SEARCH];
	bool typing; /* a name to search */
	char message[sizeof(((struct err *)NULL)->text)];
	struct screen screen;
	struct signals signals;
};

static int browser_add(struct browser_list *l, uint32_t what, unsigned level)
{
	struct browser_row *rows = indexed_room(l->rows, l->n, &l->room, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	l->rows = rows;
	rows[l->n++] = (struct browser_row){what, level};
	return 0;
}

/* --- Functions */

static int browser_compare_functions(const void *a, const void *b)
{
	const struct browser_function *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Gives each name the number of its function, which is the same if it is inlined. A command is
 * none. */
static void browser_number(struct browser *b, uint32_t *of, uint32_t *by_rank)
{
	const struct stacks *st = &b->trees[BROWSER_CALLEES];
	const struct stack_name *last = NULL;

	for (uint32_t i = 0; i < st->nnames; i++)
		by_rank[st->names[i].rank] = i;
	for (uint32_t i = 0; i < st->nnames; i++) {
		const struct stack_name *k = &st->names[by_rank[i]];

		of[by_rank[i]] = INDEXED_NONE;
		if (k->command)
			continue;
		if (!last || strcmp(last->name, k->name) != 0 || last->kernel != k->kernel ||
			strcmp(last->object, k->object) != 0)
			b->functions[b->nfunctions++].name = by_rank[i];
		of[by_rank[i]] = b->nfunctions - 1;
		last = k;
	}
}

/* Whether a caller of the node @i is of the same function. */
static bool browser_is_inner(const struct stacks *st, const uint32_t *of, uint32_t i)
{
	uint32_t function = of[st->nodes[i].name];

	for (uint32_t at = st->nodes[i].parent; at; at = st->nodes[at].parent)
		if (of[st->nodes[at].name] == function)
			return true;
	return false;
}

static int browser_list_functions(struct browser *b)
{
	const struct stacks *st = &b->trees[BROWSER_CALLEES];
	CLEANUP_FREE uint32_t *of = calloc(st->nnames + 1UL, sizeof(*of));
	CLEANUP_FREE uint32_t *by_rank = calloc(st->nnames + 1UL, sizeof(*by_rank));

	b->functions = calloc(st->nnames + 1UL, sizeof(*b->functions));
	if (!of || !by_rank || !b->functions)
		return -ENOMEM;
	browser_number(b, of, by_rank);
	for (uint32_t i = 1; i < st->n; i++) {
		uint32_t n = of[st->nodes[i].name];

		if (n == INDEXED_NONE)
			continue;
		b->functions[n].self += stack_self(st, &st->nodes[i]);
		if (!browser_is_inner(st, of, i))
			b->functions[n].total += st->nodes[i].weight;
	}
	qsort(b->functions, b->nfunctions, sizeof(*b->functions), browser_compare_functions);
	for (uint32_t i = 0; i < b->nfunctions; i++)
		if (browser_add(&b->lists[BROWSER_FUNCTIONS], i, 0) < 0)
			return -ENOMEM;
	return 0;
}

/* --- Trees */

static int browser_list_below(struct browser *b, uint32_t node, unsigned level)
{
	const struct stacks *st = &b->trees[b->view];

	for (uint32_t i = st->nodes[node].child; i; i = st->nodes[i].next) {
		if (browser_add(&b->lists[b->view], i, level) < 0)
			return -ENOMEM;
		if (b->unfolded[b->view][i] && browser_list_below(b, i, level + 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Lists the nodes of the tree that is shown, and puts the cursor on @node. */
static int browser_list_tree(struct browser *b, uint32_t node)
{
	struct browser_list *l = &b->lists[b->view];
	int rc;

	l->n = 0;
	rc = browser_list_below(b, 0, 0);
	for (uint32_t i = 0; i < l->n; i++)
		if (l->rows[i].what == node)
			l->cursor = i;
	return rc;
}

/* Shows a view, which is made when it is shown first. */
static int browser_show_view(struct browser *b, enum browser_view view)
{
	struct stacks *st = &b->trees[view];

	b->view = view;
	if (view == BROWSER_FUNCTIONS || b->unfolded[view])
		return 0;
	if (stacks_build_by_object(
		    st, b->r, view == BROWSER_CALLERS ? STACKS_CALLERS : STACKS_BY_WEIGHT) < 0)
		return -ENOMEM;
	b->unfolded[view] = calloc(st->n, sizeof(bool));
	return b->unfolded[view] ? browser_list_tree(b, 0) : -ENOMEM;
}

/* Unfolds a node and, as long as one below it has nearly all of its weight, that one. */
static int browser_unfold(struct browser *b, uint32_t node)
{
	const struct stack_node *nodes = b->trees[b->view].nodes;

	for (uint32_t i = node; nodes[i].child; i = nodes[i].child) {
		b->unfolded[b->view][i] = true;
		if (nodes[nodes[i].child].weight < nodes[i].weight / 10 * 9)
			break;
	}
	return browser_list_tree(b, node);
}

/* Folds a node; if it is folded, its caller. */
static int browser_fold(struct browser *b, uint32_t node)
{
	bool *unfolded = b->unfolded[b->view];
	uint32_t at = unfolded[node] ? node : b->trees[b->view].nodes[node].parent;

	unfolded[at] = false;
	return browser_list_tree(b, at ? at : node);
}

/* --- The screen */

static struct browser_list *browser_shown(struct browser *b)
{
	return b->text ? &b->lines : &b->lists[b->view];
}

static const struct stack_name *browser_name(const struct browser *b, const struct browser_row *row)
{
	if (b->view == BROWSER_FUNCTIONS)
		return &b->trees[BROWSER_CALLEES].names[b->functions[row->what].name];
	return stack_name(&b->trees[b->view], &b->trees[b->view].nodes[row->what]);
}

static double browser_percent(const struct browser *b, uint64_t weight)
{
	return b->r->weight ? 100.0 * (double)weight / (double)b->r->weight : 0;
}

static void browser_write_node(struct browser *b, struct text *t, const struct browser_row *row)
{
	const struct stack_node *s = &b->trees[b->view].nodes[row->what];
	unsigned level = row->level < BROWSER_LEVELS ? row->level : BROWSER_LEVELS;

	text_printf(t, "%7.2f%%", browser_percent(b, s->weight));
	if (b->view == BROWSER_CALLEES)
		text_printf(t, "%8.2f%%", browser_percent(b, stack_self(&b->trees[b->view], s)));
	text_printf(t, "  %*s%s ", (int)level * BROWSER_INDENT, "",
		!s->child                         ? " "
		: b->unfolded[b->view][row->what] ? "-"
						  : "+");
}

static void browser_write_row(struct browser *b, struct text *t, const struct browser_row *row)
{
	const struct stack_name *k;

	if (b->text) {
		text_printf(t, "%s", b->text + row->what);
		return;
	}
	k = browser_name(b, row);
	if (b->view == BROWSER_FUNCTIONS)
		text_printf(t, "%7.2f%%%8.2f%%  ", browser_percent(b, b->functions[row->what].self),
			browser_percent(b, b->functions[row->what].total));
	else
		browser_write_node(b, t, row);
	text_printf(t, "%s%s", k->name,
		k->kernel                                    ? " [k]"
		: k->inlined && b->view != BROWSER_FUNCTIONS ? " [i]"
							     : "");
	if (k->object && !k->command && b->view == BROWSER_FUNCTIONS)
		text_printf(t, "  (%s)", k->object);
}

/* Ends a line, which begins at @begin. */
static void browser_end_line(const struct browser *b, struct text *t, size_t begin)
{
	table_cut(t, begin, b->screen.columns);
	text_printf(t, "\n");
}

static void browser_write_title(const struct browser *b, struct text *t)
{
	static const char *const titles[] = {
		"functions", "callees below their callers", "callers below what they call"};
	static const char *const columns[] = {
		"    self    total  function", "   total     self  function", "   share  function"};
	size_t begin = t->n;

	text_printf(t, "%s: %" PRIu64 " %s, %s", recording_event(b->r), b->r->weight,
		report_unit(b->r), b->text ? b->title : titles[b->view]);
	browser_end_line(b, t, begin);
	begin = t->n;
	text_printf(t, " %s", b->text ? "" : columns[b->view]);
	browser_end_line(b, t, begin);
}

static void browser_write_keys(const struct browser *b, struct text *t)
{
	size_t begin = t->n;

	if (b->typing)
		text_printf(t, "/%s", b->search);
	else if (b->message[0])
		text_printf(t, "%s", b->message);
	else if (b->text)
		text_printf(t, "q: back, arrows: scroll, /, n: search");
	else
		text_printf(t, "q: quit, tab: view, %ss: source, /, n: search, i: about%s",
			b->view == BROWSER_FUNCTIONS ? "" : "arrows: unfold, ",
			b->r->nevents > 1 ? ", e: event" : "");
	browser_end_line(b, t, begin);
}

/* Moves the rows so that the cursor is among @body of them. */
static void browser_scroll(struct browser_list *l, uint32_t body)
{
	if (l->cursor >= l->n)
		l->cursor = l->n ? l->n - 1 : 0;
	if (l->top > l->cursor)
		l->top = l->cursor;
	if (l->cursor - l->top >= body)
		l->top = l->cursor - body + 1;
}

static uint32_t browser_body(const struct browser *b)
{
	return b->screen.lines > BROWSER_AROUND ? b->screen.lines - BROWSER_AROUND : 1;
}

/* Writes the row @i, or an empty line. The one at the cursor is marked, and inverted. */
static void browser_write_line(
	struct browser *b, struct text *t, const struct browser_list *l, uint32_t i)
{
	const bool here = l->n && i == l->cursor;
	size_t begin;

	text_printf(t, here ? "\033[7m" : "");
	begin = t->n;
	text_printf(t, here ? ">" : " ");
	if (i < l->n)
		browser_write_row(b, t, &l->rows[i]);
	table_cut(t, begin, b->screen.columns);
	text_printf(t, here ? "\033[m\n" : "\n");
}

static int browser_draw(struct browser *b, struct err *e)
{
	TEXT_CLEANUP struct text t = {0};
	struct browser_list *l = browser_shown(b);
	uint32_t body;

	screen_size(&b->screen);
	body = browser_body(b);
	browser_scroll(l, body);
	browser_write_title(b, &t);
	for (uint32_t i = l->top; i < l->top + body; i++)
		browser_write_line(b, &t, l, i);
	browser_write_keys(b, &t);
	return text_ok(&t) ? screen_show(&b->screen, &t, e) : err_set(e, ENOMEM, "no memory");
}

/* --- Search */

static bool browser_matches(const struct browser *b, const char *name)
{
	return strcasestr(name, b->search);
}

/* The node after @node, callers before what they call, and the first one after the last. */
static uint32_t browser_next_node(const struct stacks *st, uint32_t node)
{
	if (st->nodes[node].child)
		return st->nodes[node].child;
	while (node && !st->nodes[node].next)
		node = st->nodes[node].parent;
	return node ? st->nodes[node].next : st->nodes[0].child;
}

/* Finds the next node, folded or not, with such a name. */
static int browser_search_tree(struct browser *b)
{
	const struct browser_list *l = &b->lists[b->view];
	const struct stacks *st = &b->trees[b->view];
	uint32_t from = l->n ? l->rows[l->cursor].what : 0, at = from;

	for (uint32_t i = 0; i < st->n && from; i++) {
		at = browser_next_node(st, at);
		if (!browser_matches(b, stack_name(st, &st->nodes[at])->name))
			continue;
		for (uint32_t up = st->nodes[at].parent; up; up = st->nodes[up].parent)
			b->unfolded[b->view][up] = true;
		return browser_list_tree(b, at);
	}
	return -ENOENT;
}

static int browser_search_rows(struct browser *b)
{
	struct browser_list *l = browser_shown(b);

	for (uint32_t i = 1; i <= l->n; i++) {
		uint32_t at = (l->cursor + i) % l->n;
		const char *text =
			b->text ? b->text + l->rows[at].what : browser_name(b, &l->rows[at])->name;

		if (!browser_matches(b, text))
			continue;
		l->cursor = at;
		return 0;
	}
	return -ENOENT;
}

static int browser_search(struct browser *b)
{
	int rc;

	if (!b->search[0])
		return 0;
	rc = b->text || b->view == BROWSER_FUNCTIONS ? browser_search_rows(b)
						     : browser_search_tree(b);
	if (rc == -ENOENT)
		snprintf(b->message, sizeof(b->message), "not found: %s", b->search);
	return rc == -ENOENT ? 0 : rc;
}

/* Adds a key to the name that is searched. */
static int browser_type(struct browser *b, int key)
{
	size_t n = strlen(b->search);

	if (key == KEY_ENTER || key == '\n') {
		b->typing = false;
		return browser_search(b);
	}
	if (key == KEY_ESCAPE) {
		b->typing = false;
		b->search[0] = '\0';
	} else if ((key == KEY_ERASE || key == '\b') && n) {
		b->search[n - 1] = '\0';
	} else if (key < KEY_UP && isprint(key) && n + 1 < sizeof(b->search)) {
		b->search[n] = (char)key;
		b->search[n + 1] = '\0';
	}
	return 0;
}

/* --- Texts */

static int browser_list_lines(struct browser *b)
{
	char *end;

	b->lines.n = b->lines.cursor = b->lines.top = 0;
	for (char *at = b->text; *at; at = end + 1) {
		if (browser_add(&b->lines, (uint32_t)(at - b->text), 0) < 0)
			return -ENOMEM;
		end = strchr(at, '\n');
		if (!end)
			break;
		*end = '\0';
	}
	return 0;
}

/* Writes the annotated source of the function at the cursor. */
static int browser_write_source(const struct browser *b, FILE *f, struct err *e)
{
	const struct browser_list *l = &b->lists[b->view];
	const struct stack_name *k = l->n ? browser_name(b, &l->rows[l->cursor]) : NULL;

	if (!k || k->command)
		return err_set(e, EINVAL, "a command has no source: choose a function");
	return annotate_write(b->r, k->name, true, f, e);
}

/* Writes how the recording was made, and what it lacks. */
static int browser_write_head(const struct browser *b, FILE *f, struct err *e)
{
	(void)e;
	report_write_head(b->r, f);
	return 0;
}

/* Shows a text instead of the view, or a sentence in the last line. */
static int browser_show_text(struct browser *b, const char *title,
	int (*write)(const struct browser *b, FILE *f, struct err *e))
{
	char *text = NULL;
	size_t size = 0;
	struct err why = {0};
	FILE *f = open_memstream(&text, &size);
	int rc;

	if (!f)
		return -ENOMEM;
	rc = write(b, f, &why);
	if (fclose(f) != 0 || size > UINT32_MAX)
		rc = err_set(&why, ENOMEM, "no memory for the text");
	if (rc == 0) {
		b->text = text;
		b->title = title;
		return browser_list_lines(b);
	}
	free(text);
	snprintf(b->message, sizeof(b->message), "%s", why.text);
	return 0;
}

static void browser_leave_text(struct browser *b)
{
	free(b->text);
	b->text = NULL;
}

/* --- Keys */

/* The key of a sequence that begins with ESC. */
static int browser_sequence(struct browser *b)
{
	static const struct {
		const char *text;
		int key;
	} known[] = {{"[A", KEY_UP}, {"OA", KEY_UP}, {"[B", KEY_DOWN}, {"OB", KEY_DOWN},
		{"[C", KEY_RIGHT}, {"OC", KEY_RIGHT}, {"[D", KEY_LEFT}, {"OD", KEY_LEFT},
		{"[H", KEY_FIRST}, {"OH", KEY_FIRST}, {"[1~", KEY_FIRST}, {"[F", KEY_LAST},
		{"OF", KEY_LAST}, {"[4~", KEY_LAST}, {"[5~", KEY_PAGE_UP}, {"[6~", KEY_PAGE_DOWN}};
	char text[8] = "";

	for (unsigned n = 0; n + 1 < sizeof(text); n++) {
		if (screen_wait(&b->screen, &b->signals,
			    nsec_now(CLOCK_MONOTONIC) + BROWSER_ESCAPE_NS, &text[n]) != SCREEN_KEY)
			return n ? KEY_RESIZED : KEY_ESCAPE;
		if (n && (isalpha(text[n]) || text[n] == '~'))
			break;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(text, known[i].text) == 0)
			return known[i].key;
	return KEY_RESIZED;
}

static int browser_read_key(struct browser *b)
{
	enum screen_event event;
	char key = '\0';

	do
		event = screen_wait(
			&b->screen, &b->signals, nsec_now(CLOCK_MONOTONIC) + BROWSER_LONG, &key);
	while (event == SCREEN_TIME);
	if (event == SCREEN_END || (event == SCREEN_KEY && key == KEY_CTRL_C))
		return KEY_LEAVE;
	if (event == SCREEN_RESIZED)
		return KEY_RESIZED;
	return key == KEY_ESCAPE ? browser_sequence(b) : (unsigned char)key;
}

/* Moves the cursor. False: the key does not. */
static bool browser_move(struct browser *b, int key)
{
	struct browser_list *l = browser_shown(b);
	uint32_t page = browser_body(b);

	if (key == KEY_UP || key == 'k')
		l->cursor -= l->cursor > 0;
	else if (key == KEY_DOWN || key == 'j')
		l->cursor++;
	else if (key == KEY_PAGE_UP || key == 'b')
		l->cursor -= l->cursor < page ? l->cursor : page;
	else if (key == KEY_PAGE_DOWN || key == ' ')
		l->cursor += page;
	else if (key == KEY_FIRST || key == 'g')
		l->cursor = 0;
	else if (key == KEY_LAST || key == 'G')
		l->cursor = l->n;
	else
		return false;
	browser_scroll(l, page);
	return true;
}

static void browser_forget(struct browser *b)
{
	browser_leave_text(b);
	for (int i = 0; i < BROWSER_VIEWS; i++) {
		if (b->unfolded[i])
			stacks_free(&b->trees[i]);
		free(b->unfolded[i]);
		free(b->lists[i].rows);
		b->unfolded[i] = NULL;
		b->lists[i] = (struct browser_list){.n = 0};
	}
	free(b->functions);
	b->functions = NULL;
	b->nfunctions = 0;
}

/* Shows the functions of the event that is chosen. */
static int browser_begin(struct browser *b)
{
	return browser_show_view(b, BROWSER_CALLEES) < 0 || browser_list_functions(b) < 0
		       ? -ENOMEM
		       : browser_show_view(b, BROWSER_FUNCTIONS);
}

static int browser_next_event(struct browser *b)
{
	if (b->r->nevents < 2)
		return 0;
	browser_forget(b);
	b->event = (b->event + 1) % b->r->nevents;
	recording_choose(b->r, b->event);
	return browser_begin(b);
}

/* A key in a tree or among the functions. */
static int browser_view_key(struct browser *b, int key)
{
	const struct browser_list *l = &b->lists[b->view];
	uint32_t what = l->n ? l->rows[l->cursor].what : 0;
	const bool tree = b->view != BROWSER_FUNCTIONS && l->n;

	switch (key) {
	case 'q':
		return 1;
	case '\t':
		return browser_show_view(b, (b->view + 1) % BROWSER_VIEWS);
	case 'e':
		return browser_next_event(b);
	case 's':
		return browser_show_text(b, "source", browser_write_source);
	case 'i':
		return browser_show_text(b, "about the recording", browser_write_head);
	case KEY_ENTER:
	case '\n':
		if (!tree)
			return browser_show_text(b, "source", browser_write_source);
		return b->unfolded[b->view][what] ? browser_fold(b, what) : browser_unfold(b, what);
	case KEY_RIGHT:
	case 'l':
		return tree ? browser_unfold(b, what) : 0;
	case KEY_LEFT:
	case 'h':
		return tree ? browser_fold(b, what) : 0;
	default:
		return 0;
	}
}

/* Returns 1 to end. */
static int browser_key(struct browser *b, int key)
{
	if (key == KEY_LEAVE)
		return 1;
	if (key == KEY_RESIZED)
		return 0;
	b->message[0] = '\0';
	if (b->typing)
		return browser_type(b, key);
	if (browser_move(b, key))
		return 0;
	if (key == '/') {
		b->typing = true;
		b->search[0] = '\0';
		return 0;
	}
	if (key == 'n')
		return browser_search(b);
	if (!b->text)
		return browser_view_key(b, key);
	if (key == 'q' || key == KEY_ESCAPE || key == KEY_LEFT || key == 'h')
		browser_leave_text(b);
	return 0;
}

int browser_run(struct recording *r, struct err *e)
{
	struct browser b = {
		.r = r, .signals = SIGNALS_NONE, .event = (unsigned)(r->event - r->events)};
	int rc = browser_begin(&b);

	if (r->notes.n)
		snprintf(b.message, sizeof(b.message), "i: what the recording lacks");
	if (rc == 0 && signals_open(&b.signals, e) < 0)
		rc = -e->no;
	else if (rc < 0)
		err_set(e, ENOMEM, "no memory for the stacks");
	if (rc == 0)
		rc = screen_open(&b.screen, e);
	while (rc == 0) {
		rc = browser_draw(&b, e);
		if (rc == 0) {
			rc = browser_key(&b, browser_read_key(&b));
			if (rc < 0)
				err_set(e, -rc, "no memory for the profile");
		}
	}
	screen_close(&b.screen);
	signals_close(&b.signals);
	browser_forget(&b);
	free(b.lines.rows);
	return rc < 0 ? rc : 0;
}

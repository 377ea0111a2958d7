// SPDX-License-Identifier: MIT
/* The flat profile: a line for each combination of the user's sort keys. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/slice.h"
#include "base/text.h"
#include "tools/pfm/samples/pairs.h"
#include "tools/pfm/samples/reports.h"

struct flat_row {
	struct hash_node node;
	uint64_t weight;
	char *text; /* the columns, with a newline after each */
};

struct flat_table {
	const struct flat_keys *keys;
	struct hash hash;
	struct flat_row **rows;
	size_t n;
	struct text column; /* columns of the current row */
	int width[FLAT_KEYS];
};

/* Samples that have what the keys need in common. The others are 0. */
struct flat_sample {
	const struct recorded_thread *thread;
	uint32_t cpu;
	const struct location *at;
};

static const struct {
	const char *name;
	const char *alias;
} flat_names[FLAT_KEYS] = {
	[FLAT_COMMAND] = {"command", "comm"},
	[FLAT_PID] = {"pid", "process"},
	[FLAT_TID] = {"tid", "thread"},
	[FLAT_CPU] = {"cpu", "cpu"},
	[FLAT_OBJECT] = {"object", "dso"},
	[FLAT_FUNCTION] = {"function", "symbol"},
	[FLAT_LINE] = {"line", "srcline"},
};

static int flat_key_of(struct slice word)
{
	for (int k = 0; k < FLAT_KEYS; k++)
		if (slice_is(word, flat_names[k].name) || slice_is(word, flat_names[k].alias))
			return k;
	return -1;
}

bool flat_has_key(const struct flat_keys *keys, enum flat_key key)
{
	for (unsigned i = 0; i < keys->n; i++)
		if (keys->key[i] == key)
			return true;
	return false;
}

int flat_parse_keys(struct flat_keys *keys, const char *list, struct err *e)
{
	struct slice rest = slice_of(list);

	keys->n = 0;
	do {
		struct slice word = slice_cut(&rest, ',');
		int k = flat_key_of(word);

		if (k < 0)
			return err_set(e, EINVAL,
				"--sort: '%.*s' is not a key: give command, pid, tid, cpu, object, "
				"function, line",
				SLICE_ARG(word));
		if (flat_has_key(keys, (enum flat_key)k))
			return err_set(e, EINVAL, "--sort: %s is there twice", flat_names[k].name);
		keys->key[keys->n++] = (enum flat_key)k;
	} while (rest.n);
	return 0;
}

static void flat_line(struct text *t, const struct symbol_line *at)
{
	if (at->file)
		text_printf(t, "%s:%u", at->file, at->line);
	else
		text_printf(t, "[unknown]");
}

static void flat_column(struct text *t, enum flat_key key, const struct flat_sample *s)
{
	char room[LOCATION_ROOM];

	switch (key) {
	case FLAT_COMMAND:
		text_printf(t, "%s", s->thread->comm ? s->thread->comm : "[unknown]");
		break;
	case FLAT_PID:
		text_printf(t, "%u", s->thread->pid);
		break;
	case FLAT_TID:
		text_printf(t, "%u", s->thread->tid);
		break;
	case FLAT_CPU:
		text_printf(t, "%u", s->cpu);
		break;
	case FLAT_OBJECT:
		text_printf(t, "%s", location_object(s->at));
		break;
	case FLAT_FUNCTION:
		text_printf(t, "%s", location_function(s->at, room));
		break;
	case FLAT_LINE:
		flat_line(t, &s->at->line);
		break;
	case FLAT_KEYS:
		break;
	}
}

/* Writes the columns of samples, the key of its row, into table->column. */
static void flat_columns(struct flat_table *table, const struct flat_sample *s)
{
	text_clear(&table->column);
	for (unsigned i = 0; i < table->keys->n; i++) {
		size_t begin = table->column.n;
		int width;

		flat_column(&table->column, table->keys->key[i], s);
		width = (int)(table->column.n - begin);
		if (width > table->width[i])
			table->width[i] = width;
		text_printf(&table->column, "\n");
	}
}

static struct flat_row *flat_find(const struct flat_table *table, uint64_t key)
{
	for (struct hash_node *n = hash_find(&table->hash, key); n; n = hash_find_next(n)) {
		struct flat_row *row = container_of(n, struct flat_row, node);

		if (strcmp(row->text, table->column.p) == 0)
			return row;
	}
	return NULL;
}

/* Finds the row of samples, or adds it. NULL: no memory. */
static struct flat_row *flat_row(struct flat_table *table, const struct flat_sample *s)
{
	struct flat_row *row;
	uint64_t key;

	flat_columns(table, s);
	if (!text_ok(&table->column))
		return NULL;
	key = hash_name(table->column.p);
	row = flat_find(table, key);
	if (row)
		return row;
	row = calloc(1, sizeof(*row));
	if (!row || !(row->text = strdup(table->column.p))) {
		free(row);
		return NULL;
	}
	hash_add(&table->hash, &row->node, key);
	table->rows[table->n++] = row;
	return row;
}

static int flat_compare(const void *a, const void *b)
{
	const struct flat_row *x = *(struct flat_row *const *)a, *y = *(struct flat_row *const *)b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return strcmp(x->text, y->text);
}

/* Adds up the samples that are alike, before any text is made of them. */
static int flat_count(struct pairs *alike, const struct recording *r, const struct flat_keys *keys)
{
	bool threads = flat_has_key(keys, FLAT_COMMAND) || flat_has_key(keys, FLAT_PID) ||
		       flat_has_key(keys, FLAT_TID);
	bool cpus = flat_has_key(keys, FLAT_CPU);

	for (size_t i = 0; i < r->nsamples; i++) {
		const struct recorded_sample *s = &r->samples[i];
		uint64_t thread = threads ? s->thread : 0, cpu = cpus ? s->cpu : 0;

		if (pairs_weigh(alike, thread << 32 | cpu, recording_first(r, s)->number,
			    s->weight) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int flat_fill(struct flat_table *table, const struct recording *r, const struct pairs *alike)
{
	table->rows = calloc(alike->n + 1UL, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < alike->n; i++) {
		const struct pair *p = &alike->list[i];
		struct flat_row *row = flat_row(table,
			&(struct flat_sample){
				.thread = interned_get(&r->threads, (uint32_t)(p->a >> 32)).p,
				.cpu = (uint32_t)p->a,
				.at = r->by_number[p->b]});

		if (!row)
			return -ENOMEM;
		row->weight += p->weight;
	}
	if (table->n)
		qsort(table->rows, table->n, sizeof(*table->rows), flat_compare);
	return 0;
}

/* Writes the columns of a line. The last one is not padded. */
static void flat_write_columns(const struct flat_table *table, const char *text, FILE *out)
{
	struct slice rest = slice_of(text);

	for (unsigned i = 0; i < table->keys->n; i++) {
		struct slice column = slice_cut(&rest, '\n');
		int width = i + 1 < table->keys->n ? table->width[i] : 0;

		fprintf(out, "  %-*.*s", width, (int)column.n, column.p);
	}
	fputc('\n', out);
}

static void flat_write_titles(struct flat_table *table, const char *unit, FILE *out)
{
	fprintf(out, "#\n#  share  %10s", unit);
	for (unsigned i = 0; i < table->keys->n; i++) {
		const char *name = flat_names[table->keys->key[i]].name;
		int length = (int)strlen(name);

		table->width[i] = length > table->width[i] ? length : table->width[i];
		fprintf(out, "  %-*s", i + 1 < table->keys->n ? table->width[i] : 0, name);
	}
	fputc('\n', out);
}

static void flat_write_rows(
	struct flat_table *table, const struct recording *r, double at_least, FILE *out)
{
	report_write_head(r, out);
	if (flat_has_key(table->keys, FLAT_LINE) && !r->nlines)
		fputs("# no source lines: the programs were compiled without -g, or their debug "
		      "files are not here\n",
			out);
	flat_write_titles(table, report_unit(r), out);
	for (size_t i = 0; i < table->n; i++) {
		double percent = 100.0 * (double)table->rows[i]->weight / (double)r->weight;

		if (percent < at_least)
			break;
		fprintf(out, "%6.2f%%  %10" PRIu64, percent, table->rows[i]->weight);
		flat_write_columns(table, table->rows[i]->text, out);
	}
}

static void flat_free(struct flat_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		free(table->rows[i]->text);
		free(table->rows[i]);
	}
	free(table->rows);
	hash_free(&table->hash);
	text_free(&table->column);
}

int flat_write(const struct recording *r, const struct flat_keys *keys, double at_least, FILE *out,
	struct err *e)
{
	struct flat_table table = {.keys = keys};
	struct pairs alike;
	int rc = hash_init(&table.hash);

	pairs_init(&alike);
	if (rc == 0)
		rc = flat_count(&alike, r, keys);
	if (rc == 0)
		rc = flat_fill(&table, r, &alike);
	pairs_free(&alike);
	if (rc == 0)
		flat_write_rows(&table, r, at_least, out);
	flat_free(&table);
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the profile") : 0;
}

// SPDX-License-Identifier: MIT
#include "tools/pfm/top_functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/pfm/samples/reports.h"

static const struct {
	const char *name, *keys;
} functions_tables[] = {
	{"function", "object,function"},
	{"command and function", "command,object,function"},
	{"object", "object"},
	{"command", "command"},
	{"process", "pid,command"},
	{"CPU", "cpu"},
};
enum { FUNCTIONS_TABLES = sizeof(functions_tables) / sizeof(functions_tables[0]) };

const char *functions_by(const struct functions *f)
{
	return functions_tables[f->by].name;
}

static int functions_open(struct functions *f, const struct tree *t, struct err *e)
{
	TEXT_CLEANUP struct text info = {0};

	text_printf(&info, "pmu %s, backend %s\ntick_ns %" PRIu64 "\n", t->pmu, t->backend,
		f->plan.tick_ns);
	record_plan_add_machine(&info);
	if (!text_ok(&info))
		return err_set(e, ENOMEM, "no memory");
	if (recorder_open(&f->recorder, NULL, &f->plan.sampling, info.p, e) < 0)
		return -e->no;
	f->begun = true;
	return recorder_add_event(
		&f->recorder, 0, f->plan.events[0].code, f->plan.events[0].name, e);
}

int functions_begin(struct functions *f, const struct tree *t, struct err *e)
{
	f->title = (struct slice){"", 0};
	if (record_plan_make(&f->plan, &f->wanted, t, e) < 0 || functions_open(f, t, e) < 0 ||
		record_plan_add_list(&f->recorder, t, &f->wanted, e) < 0)
		return -e->no;
	return recorder_start(&f->recorder, e);
}

static void functions_free_table(struct functions *f)
{
	free(f->text);
	free(f->rows);
	f->text = NULL;
	f->rows = NULL;
	f->title = (struct slice){"", 0};
	f->n = 0;
}

static void functions_free_recording(struct functions *f)
{
	if (f->taken)
		recording_close(&f->recording);
	f->taken = false;
}

void functions_end(struct functions *f)
{
	functions_free_table(f);
	functions_free_recording(f);
	if (f->begun)
		recorder_close(&f->recorder, false, &(struct err){0});
	f->begun = false;
}

int functions_poll(struct functions *f, struct err *e)
{
	int rc = recorder_poll(&f->recorder, e);

	f->ended = rc == RECORDER_ENDED;
	return f->ended ? 0 : rc;
}

/* Finds the lines of the text: comments, the last of which is the title, then rows. */
static int functions_find_rows(struct functions *f, struct err *e)
{
	struct slice rest = {f->text, f->size};

	f->rows = calloc(f->size + 1, sizeof(*f->rows));
	if (!f->rows)
		return err_set(e, ENOMEM, "no memory for the functions");
	while (rest.n) {
		struct slice line = slice_cut(&rest, '\n');

		if (line.p[0] == '#')
			f->title = (struct slice){line.p + 1, line.n - 1};
		else
			f->rows[f->n++] = line;
	}
	return 0;
}

static int functions_make_table(struct functions *f, struct err *e)
{
	struct flat_keys keys;
	FILE *out;
	int rc;

	functions_free_table(f);
	out = open_memstream(&f->text, &f->size);
	if (!out)
		return err_set(e, ENOMEM, "no memory for the functions");
	rc = flat_parse_keys(&keys, functions_tables[f->by].keys, e);
	if (rc == 0)
		rc = flat_write(&f->recording, &keys, 0, out, e);
	if (fclose(out) != 0 && rc == 0)
		rc = err_set(e, ENOMEM, "no memory for the functions");
	return rc < 0 ? rc : functions_find_rows(f, e);
}

int functions_read(struct functions *f, struct err *e)
{
	struct data_file records;

	functions_free_recording(f);
	if (recorder_cut(&f->recorder, &records, e) < 0 ||
		recording_take(&f->recording, records, RECORDING_DEFAULT, e) < 0)
		return -e->no;
	f->taken = true;
	if (functions_make_table(f, e) < 0)
		return -e->no;
	return f->ended ? -ESRCH : 0;
}

int functions_choose_next(struct functions *f, struct err *e)
{
	f->by = (f->by + 1) % FUNCTIONS_TABLES;
	return f->taken ? functions_make_table(f, e) : 0;
}

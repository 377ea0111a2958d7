// SPDX-License-Identifier: MIT
/*
 * An inode number contains a row's index in the table. It means nothing to the next daemon, so
 * lists and rows may be in any order, except that the root is first.
 */
#include "daemon/fs/rows/rows.h"

#include <assert.h>

static const struct row *const rows_lists[] = {
	rows_root,
	rows_clone,
	rows_smpl,
	rows_pmu,
	rows_readings,
	rows_config,
	rows_sim,
	rows_sys,
	rows_context,
	rows_message,
	rows_metrics,
	rows_readings_metrics,
	rows_total,
	rows_threads,
	rows_evtset,
	rows_live,
	rows_register,
};

static const struct row *rows_of_dir(const struct row_table *table, enum dir d)
{
	const struct row *r = table->row;

	while (r->is != d)
		r++;
	return r;
}

static void rows_print_parts(const struct row_table *table, const struct row *r, struct text *out)
{
	static const char *const member[DIR_KINDS] = {[DIR_CTXS] = "NAME",
		[DIR_PMU] = "TYPE",
		[DIR_CHILDREN] = "TID",
		[DIR_SETS] = "ID",
		[DIR_PMCS] = "N",
		[DIR_PMDS] = "N",
		[DIR_SYS_FORMATS] = "NAME",
		[DIR_SYS_DESC] = "REG"};

	if (r->in == DIR_NONE)
		return;
	rows_print_parts(table, rows_of_dir(table, r->in), out);
	text_printf(out, "/%s", r->name ? r->name : row_has(r, ROW_VIRTUAL) ? "V" : member[r->in]);
}

void rows_print_path(const struct row_table *table, const struct row *r, struct text *out)
{
	rows_print_parts(table, r, out);
	if (r->in == DIR_NONE)
		text_printf(out, "/");
}

void rows_collect(struct row_table *table)
{
	table->n = 0;
	for (size_t i = 0; i < sizeof(rows_lists) / sizeof(rows_lists[0]); i++) {
		for (const struct row *r = rows_lists[i]; r->mode; r++) {
			assert(table->n < ROWS_MAX);
			table->row[table->n++] = *r;
		}
	}
}

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
	rows_evtset,
	rows_live,
	rows_register,
};

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

/* SPDX-License-Identifier: MIT */
/* The rows of the tree. Each list is in the file of the same name, with the callbacks of its
 * rows. */
#ifndef FS_ROWS_H
#define FS_ROWS_H

#include "daemon/fs/tree/row.h"

extern const struct row rows_clone[], rows_config[], rows_context[], rows_evtset[], rows_live[],
	rows_message[], rows_metrics[], rows_pmu[], rows_readings[], rows_readings_metrics[],
	rows_register[], rows_root[], rows_sim[], rows_smpl[], rows_sys[], rows_threads[],
	rows_total[];

/* The version of the interface, which fs-layout.md describes. */
enum { ROWS_INTERFACE = 3 };

/* Combines all lists into one table. */
void rows_collect(struct row_table *table);

/* Prints the path of the files of @r, with fs-layout.md's names for members of directories:
 * /ctx/NAME/ctl. */
void rows_print_path(const struct row_table *table, const struct row *r, struct text *out);

#endif

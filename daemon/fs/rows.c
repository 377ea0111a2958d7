// SPDX-License-Identifier: MIT
/*
 * The tree. A row is a file; adding one here, and its line to fs-layout.md, is all it takes.
 * Inode numbers carry a row's place in this table: they mean nothing to the next daemon, so rows
 * may stand in any order. The root stays first.
 */
#include "daemon/fs/fs_i.h"

#define DIR_ROW(where, what, nm, md) .in = where, .name = nm, .mode = S_IFDIR | (md), .is = what
#define FILE_ROW(where, nm, md)      .in = where, .name = nm, .mode = S_IFREG | (md)
#define LINK_ROW(where, nm, to)      .in = where, .name = nm, .mode = S_IFLNK | 0777, .target = to

const struct row rows[] = {
	{DIR_ROW(DIR_NONE, DIR_ROOT, "/", 0755)},
	{FILE_ROW(DIR_ROOT, "version", 0444), .show = version_show},
	{FILE_ROW(DIR_ROOT, "clone", 0666), .clone = true, .open = clone_open, .ask = msg_ask,
		.give = msg_give, .news = msg_news, .store = clone_store},
	{FILE_ROW(DIR_ROOT, "last_error", 0444), .show = last_error_show},
	{FILE_ROW(DIR_ROOT, "cpus", 0444), .show = cpus_show},
	{FILE_ROW(DIR_ROOT, "stats", 0444), .show = stats_show},
	{FILE_ROW(DIR_ROOT, "formats", 0444), .show = formats_show},

	{DIR_ROW(DIR_ROOT, DIR_PMU, "pmu", 0555)},
	{FILE_ROW(DIR_PMU, "name", 0444), .show = pmu_name_show},
	{FILE_ROW(DIR_PMU, "model", 0444), .show = pmu_model_show},
	{FILE_ROW(DIR_PMU, "backend", 0444), .show = pmu_backend_show},
	{FILE_ROW(DIR_PMU, "counter_width", 0444), .show = pmu_width_show},
	{FILE_ROW(DIR_PMU, "pmcs", 0444), .show = pmu_pmcs_show},
	{FILE_ROW(DIR_PMU, "pmds", 0444), .show = pmu_pmds_show},
	{FILE_ROW(DIR_PMU, "events", 0444), .show = pmu_events_show},
	{FILE_ROW(DIR_PMU, "mappings", 0444), .show = pmu_mappings_show},

	{DIR_ROW(DIR_ROOT, DIR_CONFIG, "config", 0555)},
	{FILE_ROW(DIR_CONFIG, "sys_group", 0644), .show = config_row_show,
		.store = config_row_store},
	{FILE_ROW(DIR_CONFIG, "thread_group", 0644), .show = config_row_show,
		.store = config_row_store},
	{FILE_ROW(DIR_CONFIG, "allow_kernel", 0644), .show = config_row_show,
		.store = config_row_store},
	{FILE_ROW(DIR_CONFIG, "arg_size_max", 0644), .show = config_row_show,
		.store = config_row_store},
	{FILE_ROW(DIR_CONFIG, "smpl_buf_size_max", 0644), .show = config_row_show,
		.store = config_row_store},
	{FILE_ROW(DIR_CONFIG, "tick_us", 0644), .show = config_row_show, .store = config_row_store},
	{FILE_ROW(DIR_CONFIG, "overflow_rate_max", 0644), .show = config_row_show,
		.store = config_row_store},

	{DIR_ROW(DIR_ROOT, DIR_SIM, "sim", 0500)},
	{FILE_ROW(DIR_SIM, "advance", 0600), .show = knob_show, .store = knob_store},
	{FILE_ROW(DIR_SIM, "offline", 0600), .show = knob_show, .store = knob_store},
	{FILE_ROW(DIR_SIM, "fault", 0600), .show = knob_show, .store = knob_store},
	{FILE_ROW(DIR_SIM, "poke", 0600), .show = knob_show, .store = knob_store},

	{DIR_ROW(DIR_ROOT, DIR_SYS, "sys", 0555)},
	{FILE_ROW(DIR_SYS, "version", 0444), .show = sys_version_show},
	{FILE_ROW(DIR_SYS, "syscall", 0444), .show = sys_syscall_show},
	{FILE_ROW(DIR_SYS, "arg_mem_max", 0444), .show = sys_arg_max_show},
	{FILE_ROW(DIR_SYS, "smpl_buffer_mem_max", 0444), .show = sys_buffer_max_show},
	{FILE_ROW(DIR_SYS, "smpl_buffer_mem_cur", 0444), .show = sys_buffer_cur_show},
	{FILE_ROW(DIR_SYS, "sys_group", 0444), .show = sys_sys_group_show},
	{FILE_ROW(DIR_SYS, "task_group", 0444), .show = sys_task_group_show},
	{FILE_ROW(DIR_SYS, "sys_sessions_count", 0444), .show = sys_sys_sessions_show},
	{FILE_ROW(DIR_SYS, "task_sessions_count", 0444), .show = sys_task_sessions_show},
	{DIR_ROW(DIR_SYS, DIR_SYS_FORMATS, "formats", 0555)},
	{DIR_ROW(DIR_SYS_FORMATS, DIR_SYS_FORMAT, NULL, 0555)},
	{FILE_ROW(DIR_SYS_FORMAT, "arg_size", 0444), .show = sys_format_arg_size_show},
	{FILE_ROW(DIR_SYS_FORMAT, "version", 0444), .show = sys_format_version_show},
	{DIR_ROW(DIR_SYS, DIR_SYS_DESC, "pmu_desc", 0555)},
	{FILE_ROW(DIR_SYS_DESC, "model", 0444), .show = sys_model_show},
	{DIR_ROW(DIR_SYS_DESC, DIR_SYS_REG, NULL, 0555)},
	{FILE_ROW(DIR_SYS_REG, "name", 0444), .show = sys_reg_show},
	{FILE_ROW(DIR_SYS_REG, "dfl_val", 0444), .show = sys_reg_show},
	{FILE_ROW(DIR_SYS_REG, "rsvd_msk", 0444), .show = sys_reg_show},
	{FILE_ROW(DIR_SYS_REG, "addr", 0444), .show = sys_reg_show},
	{FILE_ROW(DIR_SYS_REG, "width", 0444), .show = sys_reg_show},

	{DIR_ROW(DIR_ROOT, DIR_CTXS, "ctx", 01777)},
	{DIR_ROW(DIR_CTXS, DIR_CTX, NULL, 0700)},
	{FILE_ROW(DIR_CTX, "ctl", 0600), .show = ctl_show, .parse = ctl_parse, .keep = ctl_keep},
	{FILE_ROW(DIR_CTX, "state", 0400), .ask = info_ask, .print = state_print,
		.news = state_news},
	{FILE_ROW(DIR_CTX, "flags", 0600), .ask = info_ask, .print = ctx_flags_print,
		.parse = ctx_flags_parse, .keep = ctx_flags_keep},
	{FILE_ROW(DIR_CTX, "last_error", 0400), .show = ctx_error_show},
	{FILE_ROW(DIR_CTX, "msg", 0400), .ask = msg_ask, .give = msg_give, .news = msg_news},
	{FILE_ROW(DIR_CTX, "events", 0400), .ask = events_ask, .give = events_give,
		.news = events_news},
	{FILE_ROW(DIR_CTX, "format", 0600), .show = format_show, .store = format_store},
	{FILE_ROW(DIR_CTX, "buffer", 0400), .memory = buffer_memory},
	{LINK_ROW(DIR_CTX, "pmc", "set/0/pmc")},
	{LINK_ROW(DIR_CTX, "pmd", "set/0/pmd")},
	{LINK_ROW(DIR_CTX, "regs", "set/0/regs")},
	{FILE_ROW(DIR_CTX, "total", 0400), .show = total_show},
	{DIR_ROW(DIR_CTX, DIR_CHILDREN, "children", 0700)},
	{DIR_ROW(DIR_CHILDREN, DIR_CTX, NULL, 0700)},
	{DIR_ROW(DIR_CTX, DIR_SETS, "set", 0700)},
	{DIR_ROW(DIR_SETS, DIR_SET, NULL, 0500)},
	{FILE_ROW(DIR_SET, "flags", 0600), .ask = evtset_ask, .print = command_print_evtset_flags,
		.parse = evtset_flags_parse},
	{FILE_ROW(DIR_SET, "timeout_ns", 0600), .ask = evtset_ask,
		.print = command_print_evtset_timeout, .parse = evtset_timeout_parse},
	{FILE_ROW(DIR_SET, "next", 0600), .ask = evtset_ask, .print = command_print_evtset_next,
		.parse = evtset_next_parse},
	{FILE_ROW(DIR_SET, "runs", 0400), .ask = evtset_ask, .print = command_print_evtset_runs},
	{FILE_ROW(DIR_SET, "active_ns", 0400), .ask = evtset_ask,
		.print = command_print_evtset_active_ns},
	{FILE_ROW(DIR_SET, "remaining_ns", 0400), .ask = evtset_ask,
		.print = command_print_evtset_remaining_ns},
	{FILE_ROW(DIR_SET, "switch_pmds", 0400), .ask = evtset_ask,
		.print = command_print_evtset_switch_pmds},
	{FILE_ROW(DIR_SET, "available", 0400), .ask = evtset_ask,
		.print = command_print_evtset_available},
	{FILE_ROW(DIR_SET, "overflows", 0400), .ask = pmds_ask, .print = command_print_overflows},
	{FILE_ROW(DIR_SET, "live", 0400), .open = live_open, .ask = live_ask, .print = live_print},
	{FILE_ROW(DIR_SET, "regs", 0600), .lines = true, .ask = regs_ask,
		.print = command_print_regs, .parse = regs_parse},
	{DIR_ROW(DIR_SET, DIR_PMCS, "pmc", 0500)},
	{DIR_ROW(DIR_SET, DIR_PMDS, "pmd", 0500)},
	{FILE_ROW(DIR_PMCS, NULL, 0600), .ask = pmc_ask, .print = pmc_print, .parse = pmc_parse},
	{FILE_ROW(DIR_PMDS, NULL, 0600), .ask = pmd_ask, .print = pmd_print, .parse = pmd_parse},
	{FILE_ROW(DIR_PMDS, NULL, 0400), .virtual = true, .ask = pmd_ask, .print = pmd_print},
};

const unsigned nrows = sizeof(rows) / sizeof(rows[0]);

static const struct row *row_of_dir(enum dir d)
{
	const struct row *r = rows;

	while (r->is != d)
		r++;
	return r;
}

static void print_path(const struct row *r, struct text *out)
{
	static const char *const member[] = {[DIR_CTXS] = "NAME",
		[DIR_CHILDREN] = "TID",
		[DIR_SETS] = "ID",
		[DIR_PMCS] = "N",
		[DIR_PMDS] = "N",
		[DIR_SYS_FORMATS] = "NAME",
		[DIR_SYS_DESC] = "REG"};

	if (r->in == DIR_NONE)
		return;
	print_path(row_of_dir(r->in), out);
	text_printf(out, "/%s", r->name ? r->name : r->virtual ? "V" : member[r->in]);
}

void fs_print_tree(struct text *out)
{
	for (const struct row *r = rows; r < rows + nrows; r++) {
		print_path(r, out);
		if (r->in == DIR_NONE)
			text_printf(out, "/");
		text_printf(out, " %04o\n", (unsigned)(r->mode & 07777));
	}
}

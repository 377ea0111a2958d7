// SPDX-License-Identifier: MIT
/*
 * sys/: the files that perfmon2 kernels have in /sys/kernel/perfmon, in the same formats, for
 * programs that need them. Other files of the tree show everything in them, too.
 */
#include "daemon/fs/rows/rows.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/format/format.h"
#include "daemon/fs/rows/pmu_rows.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/node.h"

enum {
	/*
	 * The number of the first system call: far above any that exists, so that programs with
	 * wrappers of their own, instead of libperfmonfs, get ENOSYS. Without the file, libpfm
	 * assumes 0 on kernels that are not 2.6, and would call read, write and open.
	 */
	NO_SYSCALLS = 65536,
	MODEL_MAX = 31, /* characters that fit in programs' buffers */
	NOT_A_COUNTER = 64,
};

static void sys_show_version(const struct call *call, struct text *out)
{
	(void)call;
	text_printf(out, "2.81\n"); /* libpfm's buffer holds 7 characters */
}

static void sys_show_syscall(const struct call *call, struct text *out)
{
	(void)call;
	text_printf(out, "%d\n", NO_SYSCALLS);
}

static void sys_show_arg_max(const struct call *call, struct text *out)
{
	config_show(&call->fs->config, "arg_size_max", out);
}

static void sys_show_buffer_max(const struct call *call, struct text *out)
{
	config_show(&call->fs->config, "smpl_buf_size_max", out);
}

static void sys_show_buffer_cur(const struct call *call, struct text *out)
{
	shared_sweep(&call->fs->memory); /* updates the number */
	text_printf(out, "%llu\n", atomic_load(&call->fs->memory.all.bytes));
}

/* Prints a group number, or -1 for all users. There is no number for root only: root's group is the
 * closest. */
static void sys_print_group(const struct group_rule *rule, struct text *out)
{
	if (rule->kind == GROUP_ANY)
		text_printf(out, "-1\n");
	else
		text_printf(out, "%u\n", rule->kind == GROUP_GID ? (unsigned)rule->gid : 0);
}

static void sys_show_sys_group(const struct call *call, struct text *out)
{
	sys_print_group(&call->fs->config.sys_group, out);
}

static void sys_show_task_group(const struct call *call, struct text *out)
{
	sys_print_group(&call->fs->config.thread_group, out);
}

static void sys_show_sys_sessions(const struct call *call, struct text *out)
{
	text_printf(out, "%u\n", engine_on_cpus(call->fs->eng));
}

static void sys_show_task_sessions(const struct call *call, struct text *out)
{
	text_printf(out, "%u\n", engine_stats(call->fs->eng)->threads);
}

static void sys_show_format_arg_size(const struct call *call, struct text *out)
{
	text_printf(out, "%zu\n", format_by_id(call->node.serial)->fmt_arg_size);
}

static void sys_show_format_version(const struct call *call, struct text *out)
{
	uint32_t version = format_by_id(call->node.serial)->fmt_version;

	text_printf(out, "%u.%u\n", version >> 16, version & 0xffff);
}

static void sys_show_model(const struct call *call, struct text *out)
{
	text_printf(out, "%.*s\n", MODEL_MAX, call->fs->be->pmu->model);
}

/* A register from any of the three tables. */
struct sys_reg {
	const char *name;
	uint64_t def, rsvd;
	uint32_t addr;
	unsigned width;
};

static struct sys_reg sys_find_reg(const struct call *call)
{
	const struct pmu *pmu = call->fs->be->pmu;
	unsigned reg = call->node.reg;

	if (reg < pmu->npmcs) {
		const struct pmu_pmc *p = &pmu->pmcs[reg];

		return (struct sys_reg){
			p->name, p->def, p->rsvd, pmu_reg_index(pmu, p->addr), NOT_A_COUNTER};
	}
	reg -= pmu->npmcs;
	if (reg < pmu->npmds) {
		const struct pmu_pmd *d = &pmu->pmds[reg];

		return (struct sys_reg){
			d->name, PMD_DEFAULT, PMD_RESERVED, pmu_reg_index(pmu, d->addr), d->width};
	}
	reg -= pmu->npmds;
	return (struct sys_reg){
		pmu->virtuals[reg].name, PMD_DEFAULT, VIRTUAL_RESERVED, 0, NOT_A_COUNTER};
}

static void sys_show_reg(const struct call *call, struct text *out)
{
	const char *what = call->node.row->name;
	struct sys_reg d = sys_find_reg(call);

	if (strcmp(what, "name") == 0)
		text_printf(out, "%s\n", d.name);
	else if (strcmp(what, "dfl_val") == 0)
		text_printf(out, "0x%" PRIx64 "\n", d.def);
	else if (strcmp(what, "rsvd_msk") == 0)
		text_printf(out, "0x%" PRIx64 "\n", d.rsvd);
	else if (strcmp(what, "addr") == 0)
		text_printf(out, "0x%" PRIx32 "\n", d.addr);
	else
		text_printf(out, "%u\n", d.width);
}

const struct row rows_sys[] = {
	{DIR_ROW(DIR_ROOT, DIR_SYS, "sys", 0555)},
	{FILE_ROW(DIR_SYS, "version", 0444), .show = sys_show_version},
	{FILE_ROW(DIR_SYS, "syscall", 0444), .show = sys_show_syscall},
	{FILE_ROW(DIR_SYS, "arg_mem_max", 0444), .show = sys_show_arg_max},
	{FILE_ROW(DIR_SYS, "smpl_buffer_mem_max", 0444), .show = sys_show_buffer_max},
	{FILE_ROW(DIR_SYS, "smpl_buffer_mem_cur", 0444), .show = sys_show_buffer_cur},
	{FILE_ROW(DIR_SYS, "sys_group", 0444), .show = sys_show_sys_group},
	{FILE_ROW(DIR_SYS, "task_group", 0444), .show = sys_show_task_group},
	{FILE_ROW(DIR_SYS, "sys_sessions_count", 0444), .show = sys_show_sys_sessions},
	{FILE_ROW(DIR_SYS, "task_sessions_count", 0444), .show = sys_show_task_sessions},
	{DIR_ROW(DIR_SYS, DIR_SYS_FORMATS, "formats", 0555)},
	{DIR_ROW(DIR_SYS_FORMATS, DIR_SYS_FORMAT, NULL, 0555)},
	{FILE_ROW(DIR_SYS_FORMAT, "arg_size", 0444), .show = sys_show_format_arg_size},
	{FILE_ROW(DIR_SYS_FORMAT, "version", 0444), .show = sys_show_format_version},
	{DIR_ROW(DIR_SYS, DIR_SYS_DESC, "pmu_desc", 0555)},
	{FILE_ROW(DIR_SYS_DESC, "model", 0444), .show = sys_show_model},
	{FILE_ROW(DIR_SYS_DESC, "mappings", 0444), .length = LINES_OF_REGISTERS,
		.show = pmu_show_mappings},
	{DIR_ROW(DIR_SYS_DESC, DIR_SYS_REG, NULL, 0555)},
	{FILE_ROW(DIR_SYS_REG, "name", 0444), .show = sys_show_reg},
	{FILE_ROW(DIR_SYS_REG, "dfl_val", 0444), .show = sys_show_reg},
	{FILE_ROW(DIR_SYS_REG, "rsvd_msk", 0444), .show = sys_show_reg},
	{FILE_ROW(DIR_SYS_REG, "addr", 0444), .show = sys_show_reg},
	{FILE_ROW(DIR_SYS_REG, "width", 0444), .show = sys_show_reg},
	ROW_END,
};

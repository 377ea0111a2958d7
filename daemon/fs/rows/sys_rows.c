// SPDX-License-Identifier: MIT
/*
 * sys/: what perfmon2 kernels exported at /sys/kernel/perfmon, in their formats, for programs that
 * look there. All of it stands elsewhere in the tree, too.
 */
#include "daemon/fs/fs_i.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/format/format.h"

enum {
	/*
	 * Where the system calls would begin: far above any there is, so that a program whose own
	 * wrappers come before libperfmonfs gets ENOSYS. Without the file, libpfm on a kernel that
	 * is not called 2.6 begins at 0: with read, write and open.
	 */
	NO_SYSCALLS = 65536,
	MODEL_MAX = 31, /* characters that programs have room for */
	NOT_A_COUNTER = 64,
};

int sys_version_show(struct call *call, struct text *out, struct err *e)
{
	(void)call, (void)e;
	text_printf(out, "2.81\n"); /* libpfm has room for 7 characters */
	return 0;
}

int sys_syscall_show(struct call *call, struct text *out, struct err *e)
{
	(void)call, (void)e;
	text_printf(out, "%d\n", NO_SYSCALLS);
	return 0;
}

int sys_arg_max_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	config_show(&call->fs->config, "arg_size_max", out);
	return 0;
}

int sys_buffer_max_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	config_show(&call->fs->config, "smpl_buf_size_max", out);
	return 0;
}

int sys_buffer_cur_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	shared_sweep(&call->fs->memory); /* then it is as of now */
	text_printf(out, "%llu\n", atomic_load(&call->fs->memory.all.bytes));
	return 0;
}

/* A number, with -1 for everybody; nobody besides root comes nearest to root's group. */
static void print_group(const struct group_rule *rule, struct text *out)
{
	if (rule->kind == GROUP_ANY)
		text_printf(out, "-1\n");
	else
		text_printf(out, "%u\n", rule->kind == GROUP_GID ? (unsigned)rule->gid : 0);
}

int sys_sys_group_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	print_group(&call->fs->config.sys_group, out);
	return 0;
}

int sys_task_group_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	print_group(&call->fs->config.thread_group, out);
	return 0;
}

int sys_sys_sessions_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	text_printf(out, "%u\n", engine_on_cpus(call->fs->eng));
	return 0;
}

int sys_task_sessions_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	text_printf(out, "%u\n", engine_stats(call->fs->eng)->threads);
	return 0;
}

int sys_format_arg_size_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	text_printf(out, "%zu\n", format_at(call->node.reg)->fmt_arg_size);
	return 0;
}

int sys_format_version_show(struct call *call, struct text *out, struct err *e)
{
	uint32_t version = format_at(call->node.reg)->fmt_version;

	(void)e;
	text_printf(out, "%u.%u\n", version >> 16, version & 0xffff);
	return 0;
}

int sys_model_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	text_printf(out, "%.*s\n", MODEL_MAX, call->fs->be->pmu->model);
	return 0;
}

/* What the three kinds have to say. */
struct described {
	const char *name;
	uint64_t def, rsvd;
	uint32_t addr;
	unsigned width;
};

static struct described describe(const struct call *call)
{
	const struct pmu *pmu = call->fs->be->pmu;
	unsigned reg = call->node.reg;

	if (reg < pmu->npmcs) {
		const struct pmu_pmc *p = &pmu->pmcs[reg];

		return (struct described){p->name, p->def, p->rsvd, p->addr, NOT_A_COUNTER};
	}
	reg -= pmu->npmcs;
	if (reg < pmu->npmds) {
		const struct pmu_pmd *d = &pmu->pmds[reg];

		return (struct described){d->name, PMD_DEFAULT, PMD_RESERVED, d->addr, d->width};
	}
	reg -= pmu->npmds;
	return (struct described){
		pmu->virtuals[reg].name, PMD_DEFAULT, VIRTUAL_RESERVED, 0, NOT_A_COUNTER};
}

int sys_reg_show(struct call *call, struct text *out, struct err *e)
{
	const char *what = call->node.row->name;
	struct described d = describe(call);

	(void)e;
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
	return 0;
}

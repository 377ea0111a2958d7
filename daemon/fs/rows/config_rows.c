// SPDX-License-Identifier: MIT
/* config/: each file is the key of the same name. */
#include "daemon/fs/rows/rows.h"

#include "daemon/fs/requests/audit.h"
#include "daemon/fs/requests/grant_table.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/node.h"

static void config_rows_show(const struct call *call, struct text *out)
{
	config_show(&call->fs->config, call->node.row->name, out);
}

static int config_rows_store(struct call *call, struct slice text, struct err *e)
{
	bool audited = call->fs->config.audit;

	if (config_store(&call->fs->config, call->node.row->name, text, e) < 0)
		return -e->no;
	user_quotas_configure(&call->fs->objects.quotas, &call->fs->config);
	audit_config(call, audited);
	return 0;
}

#define CONFIG_ROW(name)                                                                           \
	FILE_ROW(DIR_CONFIG, name, 0644), .show = config_rows_show, .store = config_rows_store

const struct row rows_config[] = {
	{DIR_ROW(DIR_ROOT, DIR_CONFIG, "config", 0555)},
	{CONFIG_ROW("sys_group")},
	{CONFIG_ROW("thread_group")},
	{CONFIG_ROW("allow_kernel")},
	{CONFIG_ROW("arg_size_max")},
	{CONFIG_ROW("smpl_buf_size_max")},
	{CONFIG_ROW("user_contexts_max")},
	{CONFIG_ROW("user_memory_max")},
	{CONFIG_ROW("memory_max")},
	{CONFIG_ROW("tick_us")},
	{CONFIG_ROW("overflow_rate_max")},
	{CONFIG_ROW("ctxsw_budget")},
	{CONFIG_ROW("energy_group")},
	{CONFIG_ROW("audit")},
	{FILE_ROW(DIR_CONFIG, "grants", 0644), .flags = ROW_LINES | ROW_WAITS,
		.length = LINES_OF_MACHINE, .show = grant_table_show, .store = grant_table_store},
	ROW_END,
};

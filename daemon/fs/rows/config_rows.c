// SPDX-License-Identifier: MIT
/* config/: each file is the key of its name. */
#include "daemon/fs/fs_i.h"

int config_row_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	config_show(&call->fs->config, call->node.row->name, out);
	return 0;
}

int config_row_store(struct call *call, struct slice text, struct err *e)
{
	return config_store(&call->fs->config, call->node.row->name, text, e);
}

// SPDX-License-Identifier: MIT
#include "daemon/authz/supplementary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/authz/proc.h"

/* The last of the four ids in a line "Uid:" or "Gid:". */
static bool supplementary_is_fsid(const char *line, uint32_t id)
{
	uint32_t fsid;

	return sscanf(line, "%*u %*u %*u %" SCNu32, &fsid) == 1 && fsid == id;
}

static void supplementary_note(gid_t gid, struct group_answers *groups)
{
	for (unsigned i = 0; i < groups->n; i++)
		groups->member[i] |= groups->gid[i] == gid;
}

/* "\t4 24 27 \n" */
static void supplementary_parse(const char *p, struct group_answers *groups)
{
	while (*p == '\t' || *p == ' ') {
		char *end;
		unsigned long gid = strtoul(p + 1, &end, 10);

		if (end == p + 1 || *p == '\n')
			break;
		supplementary_note((gid_t)gid, groups);
		p = end;
	}
}

void supplementary_read(pid_t tid, uid_t uid, gid_t gid, struct group_answers *groups)
{
	struct err ignored;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_CLOSE int dir = proc_open(tid, &ignored);

	if (dir < 0 || proc_status_text(dir, &text, &ignored) < 0 ||
		!supplementary_is_fsid(proc_after(text, "\nUid:"), uid) ||
		!supplementary_is_fsid(proc_after(text, "\nGid:"), gid))
		return;
	supplementary_parse(proc_after(text, "\nGroups:"), groups);
}

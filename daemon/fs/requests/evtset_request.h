/* SPDX-License-Identifier: MIT */
/* Making and removing event sets. */
#ifndef FS_EVTSET_REQUEST_H
#define FS_EVTSET_REQUEST_H

#include "daemon/fs/requests/command_request.h"

/* mkdir and rmdir of an event set. */
extern const struct command_kind evtset_mkdir, evtset_rmdir;

/* Submits CMD_EVTSET_NEW; kind->follow must be evtset_follow_new(). If it returns a negative errno,
 * @cmd is neither submitted nor answered. */
int evtset_submit_new(
	struct call *call, struct command *cmd, const struct command_kind *kind, struct err *e);

/* command_kind.follow: the tree gets or loses the set. */
void evtset_follow_new(struct command_request *r);
void evtset_follow_delete(struct command_request *r);

#endif

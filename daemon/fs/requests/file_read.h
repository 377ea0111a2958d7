/* SPDX-License-Identifier: MIT */
/*
 * Reads of virtual PMDs that are numbers in files. A device may take long to deliver one, or never
 * do so. Therefore the engine's workqueue for work that may hang reads the files, as work of the
 * caller, before the command is submitted.
 */
#ifndef FS_FILE_READ_H
#define FS_FILE_READ_H

#include "daemon/fs/requests/command_request.h"

/* Like command_submit(), without its arg. */
void file_read_submit(struct call *call, struct command *cmd, const struct command_kind *kind);

#endif

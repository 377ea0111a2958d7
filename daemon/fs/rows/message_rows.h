/* SPDX-License-Identifier: MIT */
/* Messages as records, which clone's reads return as well. */
#ifndef FS_MESSAGE_ROWS_H
#define FS_MESSAGE_ROWS_H

#include "daemon/fs/tree/row.h"

int message_room(const struct call *call, struct err *e);
/* Answers with @msgs, all as PFM_MSG_OVFL except PFM_MSG_END. */
void message_reply_clone(struct call *call, const struct pfm_msg *msgs, unsigned n);
unsigned message_poll(const struct file *f);

#endif

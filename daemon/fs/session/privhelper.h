/* SPDX-License-Identifier: MIT */
/*
 * The process that keeps CAP_SYS_ADMIN and no other capability. It is forked while the daemon still
 * has all capabilities, so that the daemon can give them up. It unmounts when the daemon has ended,
 * so that a daemon that is killed leaves no mount behind. Until then it registers memory for
 * passthrough. It only waits for messages from the other end of a socket.
 */
#ifndef FS_PRIVHELPER_H
#define FS_PRIVHELPER_H

#include "base/err.h"

struct privhelper;

/* Forks the helper, which unmounts @mountpoint when this process ends for any reason. */
int privhelper_start(const char *mountpoint, struct privhelper **out, struct err *e);
/* Unmounts now, unless the user already has, and ends the helper. */
void privhelper_end(struct privhelper *p);
/* Registers @fd for passthrough with the connection @fuse. Returns an id from 1 up, or -errno. */
int privhelper_backing_open(struct privhelper *p, int fuse, int fd);
void privhelper_backing_close(struct privhelper *p, int fuse, int id);

#endif

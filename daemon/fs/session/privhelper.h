/* SPDX-License-Identifier: MIT */
/*
 * The process that keeps CAP_SYS_ADMIN, and no other capability. It is forked while the daemon
 * still has all capabilities, so that the daemon can give them up. It unmounts when the daemon has
 * ended: no mount stays behind a daemon that was killed. Until then it registers memory for
 * passthrough. It does nothing but wait for messages from the other end of a socket.
 */
#ifndef FS_PRIVHELPER_H
#define FS_PRIVHELPER_H

#include "base/err.h"

struct privhelper;

/* Forks the process, which unmounts @mountpoint when this one ends for any reason. */
int privhelper_start(const char *mountpoint, struct privhelper **out, struct err *e);
/* Unmounts now, unless the user already has, and ends the process. */
void privhelper_end(struct privhelper *p);
/* Registers @fd for passthrough with the connection @fuse: an id from 1 on, or -errno. */
int privhelper_backing_open(struct privhelper *p, int fuse, int fd);
void privhelper_backing_close(struct privhelper *p, int fuse, int id);

#endif

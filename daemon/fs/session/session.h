/* SPDX-License-Identifier: MIT */
/* The session with the kernel. */
#ifndef FS_SESSION_H
#define FS_SESSION_H

#include "daemon/fs/fs.h"
#include "daemon/fs/session/passthrough.h"
#include "daemon/fs/session/watchdog.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/fuse_api.h"

struct privhelper;

struct session {
	/* libfuse's user data. */
	struct fs fs;
	struct fuse_session *se;
	const struct fs_options *opts;
	struct shared_ops memory_ops;
	struct passthrough passthrough;
	/* NULL before the mount and after its end. */
	struct privhelper *privhelper;
	struct watchdog watchdog;
};

static inline struct session *session_of(struct fs *fs)
{
	return container_of(fs, struct session, fs);
}

#endif

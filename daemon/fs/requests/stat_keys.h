/* SPDX-License-Identifier: MIT */
/* The daemon's counts about itself: the lines of `stats`, and perfmonfs_daemon_* in metrics/. */
#ifndef FS_STAT_KEYS_H
#define FS_STAT_KEYS_H

#include <stdbool.h>
#include <stdint.h>

struct fs;

struct stat_key {
	const char *name;
	/* The value never falls while the daemon lives. */
	bool counter;
	const char *help;
	uint64_t (*value)(struct fs *fs);
};

/* Keys in the order of `stats`; a NULL name ends the list. */
extern const struct stat_key stat_keys[];

#endif

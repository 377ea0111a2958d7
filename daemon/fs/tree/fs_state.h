/* SPDX-License-Identifier: MIT */
/* The state of the filesystem, which all its layers share. It belongs to the session thread. */
#ifndef FS_FS_STATE_H
#define FS_FS_STATE_H

#include <pthread.h>
#include <time.h>

#include "base/hash.h"
#include "base/list.h"
#include "daemon/config/config.h"
#include "daemon/fs/tree/fuse_api.h"
#include "daemon/fs/tree/object.h"
#include "daemon/fs/tree/row.h"
#include "daemon/mem/shared.h"
#include "perfmonfs/backend.h"

struct audit_log;
struct grant_table;
struct metrics;
struct readings;

/* Requests that are answered later; see pending_request.c. */
struct pending_requests {
	/* A leaf: guards @by_unique, because workers answer requests, too. */
	pthread_mutex_t lock;
	struct hash by_unique;
	/* Long requests that are processed later. Session thread. */
	struct hash delayed;
	/* The kernel's number for the request that is being handled. */
	uint64_t unique;
	/* Requests to answer with EINTR; there is memory for @room of them. */
	fuse_req_t *interrupted;
	size_t ninterrupted, room;
};

struct fs {
	struct engine *eng;
	struct backend *be;
	struct config config;
	struct row_table rows;
	struct objects objects;
	struct shared_pool memory;
	/* The kernel and the daemon have agreed to pass files through to memory. */
	bool passthrough;
	/* Resolution of the timer, ns. */
	uint64_t timer_ns;
	/* The owner of all files outside of contexts. */
	uid_t owner;
	gid_t group;
	struct timespec born;

	/* Open files, and those of them that are memory or clones, by inode number. */
	struct list_head files;
	struct hash memory_files;
	struct pending_requests pending;
	struct audit_log *audit;
	/* See grant_table.c. */
	struct grant_table *grants;
	/* See metrics_scan.h. */
	struct metrics *metrics;
	/* See readings.h in daemon/percpu. */
	struct readings *readings;
	/* Users with long work under way (user_quota.deferred_link); see deferred.c. */
	struct list_head deferred;
	/* Requests since the daemon started. */
	unsigned long long requests;
};

static inline struct fs *fs_of(const struct fs_context *ctx)
{
	return container_of(ctx->objs, struct fs, objects);
}

/* The groups with which the rows of rows.h are shared. */
static inline const struct group_rule *fs_sys_group(const struct fs *fs)
{
	return &fs->config.sys_group;
}

static inline const struct group_rule *fs_energy_group(const struct fs *fs)
{
	return &fs->config.energy_group;
}

#endif

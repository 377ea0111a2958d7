/* SPDX-License-Identifier: MIT */
/*
 * The directories that come and go: contexts, their children (contexts of threads that they follow)
 * and event sets. Each object has a serial number that is never used again, from which inode
 * numbers are made (node.c): an inode number names its object for ever, and no count of lookups is
 * needed.
 *
 * The tables belong to the session thread. A context outlives its directory while a request or an
 * open file refers to it.
 */
#ifndef FS_OBJECT_H
#define FS_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/text.h"
#include "daemon/engine/engine.h"
#include "daemon/fs/tree/deferred.h"
#include "daemon/fs/tree/user_quota.h"
#include "daemon/mem/shared.h"

enum {
	CTX_NAME_MAX = 64,
	/* All contexts, and how many of them are for root and members of sys_group alone. */
	CTX_TOTAL = 65536,
	CTX_RESERVED = 4096,
	MAPPED_SETS = 256, /* event sets of one clone that have live pages */
};

struct ctx_metrics;
struct fs_context;
struct objects;
struct notifier;
struct smpl;

/* A context or one of its sets. */
struct object {
	/* 0: this is in no table. */
	uint64_t serial;
	struct fs_context *ctx;
	/* -1: the context itself. */
	int set;
	/* The set's page of live counts; NULL: there is none of its own. */
	struct shared *live;
	/* The context's owner updates @live. */
	bool live_active;
	/* Offset of the set's live page in its context's region; 0: there is none. */
	uint64_t cookie;
	/* In objects.by_serial. */
	struct hash_node hash;
};

struct context_identity {
	/* Path below ctx/. */
	char *path;
	/* The last part of @path. */
	const char *name;
	/* The number of a clone, which is its name; 0: made by mkdir. */
	uint64_t number;
	uid_t uid;
	gid_t gid;
	struct timespec born;
	struct user_quota *quota;
	/* The context and its sets, and what it takes while it is loaded; the session thread's, and
	 * then the last reference's. */
	struct charge charge, loaded_charge;
};

/* The event sets of a context besides set 0. */
struct context_sets {
	/* By rising id. */
	struct object **set;
	unsigned n;
	/* Sets that the context's owner is about to make. */
	unsigned reserved;
	/* Sets that @set has memory for, at least @n + @reserved. */
	unsigned room;
	/* Bytes that each one is charged. */
	size_t each;
};

/* The memory that clients can map of a clone. */
struct clone_memory {
	/* Referenced; NULL: clients can map the buffer alone. */
	struct shared *region;
	/* Bytes that the process which opened the clone may lock. */
	uint64_t memlock;
	/* Event sets get live pages in the region. */
	bool map_sets;
	/* Offset of the first live page; 0: there is none yet. */
	size_t first;
	/* Live pages in the region. */
	unsigned npages;
	bool used[MAPPED_SETS];
};

/* Counts of engine_ctx's events. */
struct watermark {
	unsigned long long notified, changes;
};

/* How far clients have learned of events; see watermarks.c and notify.c. */
struct notify_state {
	/* The pollers have been woken for these. */
	struct watermark delivered;
	/* Clients can see the data that led to these. */
	struct watermark visible;
	/* Become visible when @fence is done. */
	struct watermark pending;
	struct sync_fence fence;
	bool under_way;
	/* Open files with a poll handle, the newest first. */
	struct list_head pollers;
	unsigned npollers;
	/* NULL: no signal is wanted. */
	struct notifier *notifier;
};

/* How a note begins in last_error. */
#define NOTE_WORD "note: "

/* The files of a context that show what happened; any thread writes them. */
struct context_log {
	/* A leaf: guards this struct. */
	pthread_mutex_t lock;
	char last_error[sizeof(NOTE_WORD) + sizeof(((struct err *)0)->text)];
	/* The last command that took effect, with its newline; empty: there was none. */
	struct text last_ctl;
};

/* What a context is loaded on: a thread, all threads of a process, or a CPU if @tid is 0. */
struct audit_target {
	bool process;
	pid_t tid;
	unsigned cpu;
};

/* What the audit record tells when a context is unloaded; the session thread's. See audit.c. */
struct audit_trail {
	/* Its load is in the record, and its unload is not. */
	bool loaded;
	struct audit_target target;
	/* The last request that was to unload it, a constant. */
	const char *cause;
	/* Its process, if @by_process. */
	bool by_process;
	uid_t uid;
	pid_t pid;
};

struct fs_context {
	struct engine_ctx ec;
	struct objects *objs;
	struct context_identity id;
	struct object self, set0;
	/* Has the serial number of the context's buffer; each buffer gets another. */
	struct object buffer;
	/* Has the serial number of the open clone. */
	struct object clone;
	/* Held by the tree, open files, requests under way and children. */
	atomic_uint refs;

	/* In objects.top or the parent's children. */
	struct list_head sibling;
	/* In objects.by_name. */
	struct hash_node name_hash;
	/* Its threads are followed, with a reference; NULL: this context is in ctx/. */
	struct fs_context *parent;
	/* By rising serial number. */
	struct list_head children;
	/* Followed threads that got no context since the last load. */
	atomic_uint missed;
	/* Out of the tree, or the daemon is ending: no request may wait for it. */
	bool closed;
	/* Frees its sets, with a reference; see context_life.c. */
	struct deferred end;

	struct context_sets sets;
	struct clone_memory map;
	/* Reads of messages, first come first served; see msg_reader.c. */
	struct list_head readers;
	struct notify_state notify;
	/* NULL: no format was ever chosen. See smpl.c. */
	struct smpl *smpl;
	/* NULL: no count has a name. See ctx_metrics.h. */
	struct ctx_metrics *metrics;
	/* As last written; a load may add to them. */
	atomic_uint flags;
	struct audit_trail audit;
	struct context_log log;
};

struct objects {
	struct engine *eng;
	const struct engine_ctx_ops *ops;
	uint64_t last_serial;
	/* The last number that a clone was named by. */
	uint64_t last_number;
	/* Contexts in ctx/, by rising serial number. */
	struct list_head top;
	/* Contexts in the tree. */
	unsigned count;
	struct user_quotas quotas;
	struct hash by_serial, by_name;
};

/* ENOMEM. */
int objects_init(
	struct objects *objs, struct engine *eng, const struct engine_ctx_ops *ops, struct err *e);
/* When no context is left. */
void objects_free(struct objects *objs);

/* True: what is left may soon be for root and members of sys_group alone. */
bool objects_are_short(const struct objects *objs);

/* The object with that serial number; NULL: it is gone. */
struct object *object_find(struct objects *objs, uint64_t serial);

/* The context @name among the children of @parent (NULL: in ctx/); NULL: there is none. */
struct fs_context *object_context(
	struct objects *objs, const struct fs_context *parent, const char *name);

/* The first context there whose serial number is over @serial; NULL: there is none. */
struct fs_context *object_context_after(
	struct objects *objs, const struct fs_context *parent, uint64_t serial);

/* Walks all contexts, children after their parents: the first if @ctx is NULL; NULL at the end. */
struct fs_context *object_walk(const struct objects *objs, const struct fs_context *ctx);

/* A new serial number. */
uint64_t object_serial(struct objects *objs);

/* EEXIST, EINVAL (name), ENOSPC (too many), ENOMEM. */
int object_make(struct objects *objs, const char *name, uid_t uid, gid_t gid,
	struct fs_context **out, struct err *e);

/* Makes the context of an open clone, named by a free number. @serial is from object_serial(). */
int object_make_clone(struct objects *objs, uint64_t serial, uid_t uid, gid_t gid,
	struct fs_context **out, struct err *e);
/* The clone is closed. */
void object_drop_clone(struct objects *objs, struct fs_context *ctx);

/* Makes a child of @parent, with its owner, named @tid or the first free of @tid.1, @tid.2, ...
 * ENOSPC, ENOMEM. */
int object_make_child(struct fs_context *parent, int tid, struct fs_context **out, struct err *e);

/* Takes @ctx out of the tree; then its children must follow. Its memory goes with its last
 * reference. */
void object_remove(struct objects *objs, struct fs_context *ctx);

/* The set with that id, or the next higher one; NULL: there is none. */
struct object *object_set_from(struct fs_context *ctx, unsigned id);

/*
 * A set enters the tree after the context's owner has made it, when nothing may fail any more. So
 * all that it takes is reserved first; insert or cancel follows. ENOMEM.
 */
int object_set_reserve(struct fs_context *ctx, uint16_t id, struct object **out, struct err *e);
void object_set_insert(struct objects *objs, struct object *set);
void object_set_cancel(struct object *set);

void object_set_remove(struct objects *objs, struct object *set);

/* Frees up to @n sets of a context that is removed and has no owner. True: some are left. */
bool object_free_sets(struct fs_context *ctx, unsigned n);

/* Gives the context's new buffer a serial number; @there is false if there is no buffer. */
void object_set_buffer(struct objects *objs, struct fs_context *ctx, bool there);

void context_ref(struct fs_context *ctx);
/* NULL is fine. */
void context_unref(struct fs_context *ctx);

/* last_error of a context: a failure, or a note of a success (errno 0); "ok" if @e is NULL or
 * empty. Any thread. */
void context_set_error(struct fs_context *ctx, const struct err *e);
void context_show_error(struct fs_context *ctx, struct text *out);
/* Copies its sentence to @e->text. False: it is no failure. */
bool context_get_failure(struct fs_context *ctx, struct err *e);

/* The last command that took effect. Swaps @line for the one before. Any thread. */
void context_set_ctl(struct fs_context *ctx, struct text *line);
void context_show_ctl(struct fs_context *ctx, struct text *out);

#endif

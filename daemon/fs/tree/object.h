/* SPDX-License-Identifier: MIT */
/*
 * The directories that are made and removed at run time: contexts, their children (contexts of
 * threads that they follow) and event sets. Each object has a serial number that is never reused
 * and from which inode numbers are made (node.c). So an inode number always names the same object,
 * and no lookup count is needed.
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
	/* The limit on contexts, and the part of it reserved for root and members of sys_group. */
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
	/* The object's serial number; 0 if it is in no table. */
	uint64_t serial;
	struct fs_context *ctx;
	/* The id of the set; -1 for the context itself. */
	int set;
	/* The set's page of live counts; NULL if it has no page of its own. */
	struct shared *live;
	/* The context's owner updates @live. */
	bool live_active;
	/* Offset of the set's live page in its context's region; 0 if it has none. */
	uint64_t cookie;
	/* Link in objects.by_serial. */
	struct hash_node hash;
};

struct context_identity {
	/* Path below ctx/. */
	char *path;
	/* The last part of @path. */
	const char *name;
	/* The number of a clone, which is its name; 0 if the context was made by mkdir. */
	uint64_t number;
	uid_t uid;
	gid_t gid;
	struct timespec born;
	struct user_quota *quota;
	/* @charge: the context and its sets. @loaded_charge: memory used while it is loaded. Both
	 * belong to the session thread, then to the last reference. */
	struct charge charge, loaded_charge;
};

/* The event sets of a context except set 0. */
struct context_sets {
	/* Sets by ascending id. */
	struct object **set;
	unsigned n;
	/* Sets that the context's owner is about to make. */
	unsigned reserved;
	/* Sets for which @set has memory, at least @n + @reserved. */
	unsigned room;
	/* Bytes charged for each set. */
	size_t each;
};

/* The memory of a clone that clients can map. */
struct clone_memory {
	/* Referenced; NULL if clients can map only the buffer. */
	struct shared *region;
	/* Bytes that the process that opened the clone may lock. */
	uint64_t memlock;
	/* Event sets get live pages in the region. */
	bool map_sets;
	/* Offset of the first live page; 0 if there is none yet. */
	size_t first;
	/* Live pages in the region. */
	unsigned npages;
	bool used[MAPPED_SETS];
};

/* Counts of an engine_ctx's events. */
struct watermark {
	unsigned long long notified, changes;
};

/* How far clients have learned of events; see watermarks.c and notify.c. */
struct notify_state {
	/* Events for which the pollers have been woken. */
	struct watermark delivered;
	/* Events whose data clients can see. */
	struct watermark visible;
	/* Events that become visible when @fence is done. */
	struct watermark pending;
	struct sync_fence fence;
	bool under_way;
	/* Open files with a poll handle, newest first. */
	struct list_head pollers;
	unsigned npollers;
	/* NULL: no signal is wanted. */
	struct notifier *notifier;
};

/* The prefix of a note in last_error. */
#define NOTE_WORD "note: "

/* The files of a context that show what happened; any thread writes them. */
struct context_log {
	/* A leaf: guards this struct. */
	pthread_mutex_t lock;
	char last_error[sizeof(NOTE_WORD) + sizeof(((struct err *)0)->text)];
	/* The last command that took effect, with its newline; empty if there was none. */
	struct text last_ctl;
};

/* What a context is loaded on: a thread, all threads of a process, or a CPU if @tid is 0. */
struct audit_target {
	bool process;
	pid_t tid;
	unsigned cpu;
};

/* What the audit record says when a context is unloaded. Belongs to the session thread. See
 * audit.c. */
struct audit_trail {
	/* The record has the context's load but not yet its unload. */
	bool loaded;
	struct audit_target target;
	/* Name of the last request that asked for the unload, a constant. */
	const char *cause;
	/* The process that sent the request, if @by_process. */
	bool by_process;
	uid_t uid;
	pid_t pid;
};

struct fs_context {
	struct engine_ctx ec;
	struct objects *objs;
	struct context_identity id;
	struct object self, set0;
	/* Holds the serial number of the context's buffer; each buffer gets a new one. */
	struct object buffer;
	/* Holds the serial number of the open clone. */
	struct object clone;
	/* Held by the tree, open files, requests under way and children. */
	atomic_uint refs;

	/* Link in objects.top or the parent's children. */
	struct list_head sibling;
	/* Link in objects.by_name. */
	struct hash_node name_hash;
	/* The context whose threads are followed, with a reference; NULL if this context is in
	 * ctx/. */
	struct fs_context *parent;
	/* Children by ascending serial number. */
	struct list_head children;
	/* Followed threads that got no context since the last load. */
	atomic_uint missed;
	/* The context is out of the tree, or the daemon is ending: no request may wait for it. */
	bool closed;
	/* A reader of its messages has been told the end: no message follows. */
	bool msgs_ended;
	/* Frees the context's sets, with a reference; see context_life.c. */
	struct deferred end;

	struct context_sets sets;
	struct clone_memory map;
	/* Reads of messages, in order of arrival; see msg_reader.c. */
	struct list_head readers;
	struct notify_state notify;
	/* NULL if no format was ever chosen. See smpl.c. */
	struct smpl *smpl;
	/* NULL if no count has a name. See ctx_metrics.h. */
	struct ctx_metrics *metrics;
	/* CTX_* flags as last written; a load may add to them. */
	atomic_uint flags;
	struct audit_trail audit;
	struct context_log log;
};

struct objects {
	struct engine *eng;
	const struct engine_ctx_ops *ops;
	uint64_t last_serial;
	/* The last number used to name a clone. */
	uint64_t last_number;
	/* Contexts in ctx/, by ascending serial number. */
	struct list_head top;
	/* Contexts in the tree. */
	unsigned count;
	struct user_quotas quotas;
	struct hash by_serial, by_name;
};

/* ENOMEM. */
int objects_init(
	struct objects *objs, struct engine *eng, const struct engine_ctx_ops *ops, struct err *e);
/* Call when no context is left. */
void objects_free(struct objects *objs);

/* Whether the contexts or the memory_max that are left may soon be reserved for root and members of
 * sys_group. */
bool objects_are_short(const struct objects *objs);

/* The object with that serial number; NULL if it is gone. */
struct object *object_find(struct objects *objs, uint64_t serial);

/* The context @name among the children of @parent (NULL: in ctx/); NULL if there is none. */
struct fs_context *object_context(
	struct objects *objs, const struct fs_context *parent, const char *name);

/* The first context among the children of @parent (NULL: in ctx/) whose serial number is above
 * @serial; NULL if there is none. */
struct fs_context *object_context_after(
	struct objects *objs, const struct fs_context *parent, uint64_t serial);

/* Walks all contexts, children after their parents. @ctx is the previous context, or NULL for the
 * first; returns NULL at the end. */
struct fs_context *object_walk(const struct objects *objs, const struct fs_context *ctx);

/* A new serial number. */
uint64_t object_serial(struct objects *objs);

/* Makes a context in ctx/. EEXIST, EINVAL (name), ENOSPC (too many), ENOMEM. */
int object_make(struct objects *objs, const char *name, uid_t uid, gid_t gid,
	struct fs_context **out, struct err *e);

/* Makes the context of an open clone, named by an unused number. @serial: from object_serial(). */
int object_make_clone(struct objects *objs, uint64_t serial, uid_t uid, gid_t gid,
	struct fs_context **out, struct err *e);
/* Call when the clone is closed. */
void object_drop_clone(struct objects *objs, struct fs_context *ctx);

/* Makes a child of @parent with the same owner, named @tid or the first unused of @tid.1, @tid.2,
 * ... ENOSPC, ENOMEM. */
int object_make_child(struct fs_context *parent, int tid, struct fs_context **out, struct err *e);

/* Takes @ctx out of the tree; its children must be removed next. Its memory is freed with its last
 * reference. */
void object_remove(struct objects *objs, struct fs_context *ctx);

/* The set with that id, or the next higher one; NULL if there is none. */
struct object *object_set_from(struct fs_context *ctx, unsigned id);

/* A set enters the tree after the context's owner has made it, when nothing may fail any more. So
 * everything it needs is reserved first; insert or cancel must follow. ENOMEM. */
int object_set_reserve(struct fs_context *ctx, uint16_t id, struct object **out, struct err *e);
void object_set_insert(struct objects *objs, struct object *set);
void object_set_cancel(struct object *set);

void object_set_remove(struct objects *objs, struct object *set);

/* Frees up to @n sets of a removed context that has no owner. Returns true if some are left. */
bool object_free_sets(struct fs_context *ctx, unsigned n);

/* Gives the context's new buffer a serial number. @there is false if there is no buffer. */
void object_set_buffer(struct objects *objs, struct fs_context *ctx, bool there);

void context_ref(struct fs_context *ctx);
/* @ctx may be NULL. */
void context_unref(struct fs_context *ctx);

/* Sets a context's last_error: a failure, or a note of a success (errno 0); "ok" if @e is NULL or
 * empty. Any thread. */
/* ENODEV: @ctx is being removed. */
int context_check_closed(const struct fs_context *ctx, struct err *e);
void context_set_error(struct fs_context *ctx, const struct err *e);
void context_show_error(struct fs_context *ctx, struct text *out);
/* Copies last_error to @e->text. Returns false if it is not a failure. */
bool context_get_failure(struct fs_context *ctx, struct err *e);

/* Sets the last command that took effect by swapping @line with the previous one. Any thread. */
void context_set_ctl(struct fs_context *ctx, struct text *line);
void context_show_ctl(struct fs_context *ctx, struct text *out);

#endif

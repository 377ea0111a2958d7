/* SPDX-License-Identifier: MIT */
/*
 * What directories stand for and come and go: contexts, those of threads that they follow (their
 * children, which are contexts like any other) and event sets. Each has a serial
 * number that is never used again, from which inode numbers are made (node.c): an inode number
 * names its object for ever, and no count of lookups has to be kept.
 *
 * The table belongs to the session thread. A context outlives its directory while a request or
 * an open file still refers to it.
 */
#ifndef FS_OBJECT_H
#define FS_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#include "base/text.h"
#include "daemon/cpu/engine.h"
#include "daemon/fs/shared.h"

enum {
	CTX_NAME_MAX = 64,
	/* What a user other than root may have at a time: */
	CTX_PER_USER = 1024,
	SETS_PER_USER = 131072, /* besides each context's set 0 */
	SIGNALS_PER_USER = 64,  /* contexts that notify by signal */
	BUFFERS_PER_USER = 256, /* each takes a descriptor of the daemon's */
	MAPPED_SETS = 256,      /* of one clone that have live pages, at most */
	CTX_TOTAL = 65536,
	NAME_BUCKETS = 4096,
};

struct fs_context;
struct objects;
struct file;
struct notifier;
struct reader;
struct smpl;

/* A context or one of its sets, found by its serial number. */
struct object {
	uint64_t serial;
	struct fs_context *ctx;
	int set;             /* -1: the context itself */
	struct shared *live; /* of a set: its page of live counts, if there is one, */
	bool live_kept;      /* which the context's owner keeps; */
	uint64_t cookie;     /* or where it is in its context's area, which it has then */
	struct object *hash_next;
};

/* The contexts of a directory, by rising serial. */
struct members {
	struct fs_context *first, *last;
};

struct fs_context {
	struct tenant tenant;
	struct objects *objs;
	struct object self, set0;
	struct object buffer; /* serial 0: there is none. Each buffer has another */
	struct object clone;  /* serial 0: it was made by mkdir; see clone.c */
	uint64_t number;      /* of a clone: its name, */
	struct shared *area;  /* what can be mapped of it, held; NULL: its buffer alone, */
	bool map_sets;        /* and sets get live pages there: */
	struct {
		size_t first; /* where they begin; 0: there is none yet */
		unsigned n;   /* so many */
		bool used[MAPPED_SETS];
	} pages;
	uint64_t memlock; /* if who has opened it may lock so many bytes */
	char *path;       /* below ctx/ */
	const char *name; /* the end of it: what its directory calls it */
	struct owner *owner;
	uid_t uid;
	gid_t gid;
	struct timespec born;
	atomic_uint refs;               /* the tree, open files, requests under way, children */
	struct fs_context *prev, *next; /* in its directory */
	struct fs_context *name_next;
	struct fs_context *parent; /* whose threads are followed; NULL: it stands in ctx/ */
	struct members children;
	atomic_uint missed; /* threads it follows that found no context, since it was loaded */
	bool closed;        /* out of the tree, or the daemon is ending: nobody may wait for it */

	struct object **sets; /* those besides set 0, by rising id; */
	unsigned nsets;       /* so many, */
	unsigned sets_coming; /* and that many more that their owner has yet to make: */
	unsigned sets_room;   /* there is room for all of them */

	/* See messages.c. */
	struct reader *readers, **readers_end; /* those who wait, first come, first served */
	bool asking;                           /* the first one asks for messages, */
	bool dry;                              /* or has been told that there are none */
	bool pumping;                          /* somebody sees to it that they ask */

	/* See poll.c. */
	struct file *pollers; /* open files that somebody may poll */
	unsigned long long told_notified, told_changes;
	unsigned long long known_notified, known_changes; /* what may be told, see event.c; */
	unsigned long long announced_notified, announced_changes; /* and what will be, */
	struct publication announcement;                          /* when this is done */
	bool announcing;
	struct notifier *notifier; /* see signal.c */
	struct smpl *smpl;         /* see smpl.c */
	atomic_uint flags;         /* as last written, which load may add to */

	pthread_mutex_t lock; /* a leaf: guards what is below, against workers that answer */
	char last_error[sizeof(((struct err *)0)->text)];
	struct text last_ctl; /* with its newline; empty: there was none yet */
};

/*
 * How much a user has, that included which is removed but still open somewhere: it takes as much
 * memory.
 */
struct owner {
	uid_t uid;
	atomic_uint contexts, sets;
	struct shared_account buffers;
	unsigned notifiers;
	struct owner *next;
};

/* What every context's tenant is given. */
struct tenant_ops {
	void (*event)(struct tenant *t);
	struct tenant *(*child)(struct tenant *t, int tid, struct err *e);
	void (*unfollowed)(struct tenant *t, int tid, const struct err *e);
	void (*trouble)(struct tenant *t, const struct err *e);
	/* It has no tenant any more; before the last reference goes. */
	void (*gone)(struct fs_context *ctx);
};

struct objects {
	struct engine *eng;
	const struct tenant_ops *ops;
	uint64_t last_serial;
	uint64_t last_number; /* that a clone was called by */
	struct members top;   /* in ctx/ */
	unsigned count;       /* contexts in the tree */
	struct owner *owners;
	struct object **hash;
	size_t buckets, nhashed;
	struct fs_context *names[NAME_BUCKETS];
};

/* ENOMEM. */
int objects_init(
	struct objects *objs, struct engine *eng, const struct tenant_ops *ops, struct err *e);

/* The object with that serial, or NULL if it is gone. */
struct object *object_find(struct objects *objs, uint64_t serial);

/* The context of that name among the children of @parent, or in ctx/ if that is NULL; or NULL. */
struct fs_context *object_context(
	struct objects *objs, const struct fs_context *parent, const char *name);

/* The first context there whose serial is over @serial, or NULL. */
struct fs_context *object_context_after(
	struct objects *objs, const struct fs_context *parent, uint64_t serial);

/* All contexts, children after their parents: the first if @ctx is NULL; NULL at the end. */
struct fs_context *object_walk(const struct objects *objs, const struct fs_context *ctx);

/* EEXIST, EINVAL (name), ENOSPC (too many), ENOMEM. */
int object_make(struct objects *objs, const char *name, uid_t uid, gid_t gid,
	struct fs_context **out, struct err *e);

/* The same for an open clone, named by a number that is free. @serial: object_serial()'s. */
int object_make_clone(struct objects *objs, uint64_t serial, uid_t uid, gid_t gid,
	struct fs_context **out, struct err *e);
/* Its file is open no more. */
void object_drop_clone(struct objects *objs, struct fs_context *ctx);

/* A serial number that is nobody's yet. */
uint64_t object_serial(struct objects *objs);

/* A child of @parent, called @tid or, if there is one, @tid.1, @tid.2 and so on; the parent's owner
 * has it. ENOSPC, ENOMEM. */
int object_make_child(struct fs_context *parent, int tid, struct fs_context **out, struct err *e);

/* When no context is left. */
void objects_free(struct objects *objs);

/* Takes @ctx, which has no children any more, out of the tree; its memory goes with its last
 * reference. */
void object_remove(struct objects *objs, struct fs_context *ctx);

/* The set with that id, or the next higher one; NULL if there is none. */
struct object *object_set_from(struct fs_context *ctx, unsigned id);

/*
 * A set comes into the tree when the context's owner has made it, and then nothing may fail: so
 * all that it takes is put aside first. ENOSPC (too many), ENOMEM. Then one of the two.
 */
int object_set_reserve(struct fs_context *ctx, uint16_t id, struct object **out, struct err *e);
void object_set_insert(struct objects *objs, struct object *set);
void object_set_cancel(struct object *set);

void object_set_remove(struct objects *objs, struct object *set);

/* The context has no owner any more who would keep live pages. */
void object_drop_live(struct fs_context *ctx);

/* The context has another buffer, or none any more. */
void object_set_buffer(struct objects *objs, struct fs_context *ctx, bool there);

void context_ref(struct fs_context *ctx);
void context_unref(struct fs_context *ctx);

/* last_error of a context: "ok" if @e is NULL. From any thread. */
void context_set_error(struct fs_context *ctx, const struct err *e);
void context_show_error(struct fs_context *ctx, struct text *out);

/* The last command that took effect; @line becomes another. From any thread. */
void context_set_ctl(struct fs_context *ctx, struct text *line);
void context_show_ctl(struct fs_context *ctx, struct text *out);

#endif

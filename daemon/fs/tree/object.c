// SPDX-License-Identifier: MIT
#include "daemon/fs/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { FEWEST_BUCKETS = 1024 };

static struct object **bucket(struct objects *objs, uint64_t serial)
{
	return &objs->hash[serial % objs->buckets];
}

static struct fs_context **name_bucket(
	struct objects *objs, const struct fs_context *parent, const char *name)
{
	uint64_t h = 14695981039346656037ULL; /* FNV-1a */

	if (parent)
		h ^= parent->self.serial * 1099511628211ULL;
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 1099511628211ULL;
	return &objs->names[h % NAME_BUCKETS];
}

struct object *object_find(struct objects *objs, uint64_t serial)
{
	struct object *o = *bucket(objs, serial);

	while (o && o->serial != serial)
		o = o->hash_next;
	return o;
}

struct fs_context *object_context(
	struct objects *objs, const struct fs_context *parent, const char *name)
{
	struct fs_context *c = *name_bucket(objs, parent, name);

	while (c && (c->parent != parent || strcmp(c->name, name) != 0))
		c = c->name_next;
	return c;
}

static struct members *members_of(struct objects *objs, struct fs_context *parent)
{
	return parent ? &parent->children : &objs->top;
}

/* Most often the one with that very serial is still there. */
struct fs_context *object_context_after(
	struct objects *objs, const struct fs_context *parent, uint64_t serial)
{
	const struct object *o = object_find(objs, serial);
	struct fs_context *c = parent ? parent->children.first : objs->top.first;

	if (o && o == &o->ctx->self && o->ctx->parent == parent)
		return o->ctx->next;
	while (c && c->self.serial <= serial)
		c = c->next;
	return c;
}

struct fs_context *object_walk(const struct objects *objs, const struct fs_context *ctx)
{
	if (!ctx)
		return objs->top.first;
	if (ctx->children.first)
		return ctx->children.first;
	return ctx->parent && !ctx->next ? ctx->parent->next : ctx->next;
}

static void hash(struct objects *objs, struct object *o)
{
	struct object **b = bucket(objs, o->serial);

	o->hash_next = *b;
	*b = o;
}

/* Serials are consecutive: as many buckets as objects are hardly any in the same. */
static void grow(struct objects *objs)
{
	struct object **old = objs->hash, **more;
	size_t n = objs->buckets;

	more = calloc(2 * n, sizeof(struct object *));
	if (!more)
		return; /* slower, then */
	objs->hash = more;
	objs->buckets = 2 * n;
	for (size_t i = 0; i < n; i++) {
		while (old[i]) {
			struct object *o = old[i];

			old[i] = o->hash_next;
			hash(objs, o);
		}
	}
	free(old);
}

uint64_t object_serial(struct objects *objs)
{
	return ++objs->last_serial;
}

static void insert_as(
	struct objects *objs, struct object *o, uint64_t serial, struct fs_context *ctx, int set)
{
	o->serial = serial;
	o->ctx = ctx;
	o->set = set;
	if (++objs->nhashed > objs->buckets)
		grow(objs);
	hash(objs, o);
}

static void insert(struct objects *objs, struct object *o, struct fs_context *ctx, int set)
{
	insert_as(objs, o, object_serial(objs), ctx, set);
}

static void drop(struct objects *objs, struct object *o)
{
	struct object **at = bucket(objs, o->serial);

	while (*at != o)
		at = &(*at)->hash_next;
	*at = o->hash_next;
	objs->nhashed--;
}

/* Names go into lines of cpus and of sentences: no blanks, nothing that hides. */
static bool name_ok(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				"_-+@:,.");

	return n && n <= CTX_NAME_MAX && !name[n] && name[0] != '.';
}

static struct owner *owner_of(struct objects *objs, uid_t uid)
{
	struct owner *o = objs->owners;

	while (o && o->uid != uid)
		o = o->next;
	if (o)
		return o;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->uid = uid;
	o->next = objs->owners;
	objs->owners = o;
	return o;
}

int objects_init(
	struct objects *objs, struct engine *eng, const struct tenant_ops *ops, struct err *e)
{
	objs->eng = eng;
	objs->ops = ops;
	objs->buckets = FEWEST_BUCKETS;
	objs->hash = calloc(objs->buckets, sizeof(struct object *));
	return objs->hash ? 0 : err_set(e, ENOMEM, "no memory");
}

void objects_free(struct objects *objs)
{
	free(objs->hash);
	while (objs->owners) {
		struct owner *o = objs->owners;

		objs->owners = o->next;
		free(o);
	}
}

static void tenant_gone(struct tenant *t)
{
	struct fs_context *ctx = link_entry(t, struct fs_context, tenant);

	ctx->objs->ops->gone(ctx);
	context_unref(ctx);
}

static int check_limits(const struct objects *objs, const struct owner *owner, struct err *e)
{
	if (objs->count < CTX_TOTAL &&
		(!owner->uid || atomic_load(&owner->contexts) < CTX_PER_USER))
		return 0;
	return err_set(e, ENOSPC,
		"too many contexts: rmdir some, and close what is open of them (limits: %d a "
		"user, %d in all)",
		CTX_PER_USER, CTX_TOTAL);
}

static bool set_path(struct fs_context *ctx, const struct fs_context *parent, const char *name)
{
	int n = asprintf(
		&ctx->path, "%s%s%s", parent ? parent->path : "", parent ? "/children/" : "", name);

	if (n >= 0)
		ctx->name = ctx->path + n - strlen(name);
	return n >= 0;
}

static struct fs_context *context_new(
	struct objects *objs, struct owner *owner, struct fs_context *parent, const char *name)
{
	struct fs_context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx || !set_path(ctx, parent, name)) {
		free(ctx);
		return NULL;
	}
	if (engine_tenant_init(objs->eng, &ctx->tenant) < 0) {
		free(ctx->path);
		free(ctx);
		return NULL;
	}
	ctx->objs = objs;
	if (parent)
		context_ref(parent);
	ctx->parent = parent;
	ctx->tenant.name = ctx->path;
	ctx->tenant.uid = owner->uid;
	ctx->tenant.gone = tenant_gone;
	ctx->tenant.event = objs->ops->event;
	ctx->tenant.child = objs->ops->child;
	ctx->tenant.unfollowed = objs->ops->unfollowed;
	ctx->tenant.trouble = objs->ops->trouble;
	ctx->owner = owner;
	ctx->uid = owner->uid;
	atomic_fetch_add(&owner->contexts, 1);
	clock_gettime(CLOCK_REALTIME, &ctx->born);
	atomic_init(&ctx->refs, 1);
	pthread_mutex_init(&ctx->lock, NULL);
	snprintf(ctx->last_error, sizeof(ctx->last_error), "ok");
	ctx->readers_end = &ctx->readers;
	return ctx;
}

/* Puts it into the tree: among the children of its parent, or into ctx/. */
static void list(struct objects *objs, struct fs_context *ctx)
{
	struct fs_context **same_name = name_bucket(objs, ctx->parent, ctx->name);
	struct members *m = members_of(objs, ctx->parent);

	insert(objs, &ctx->self, ctx, -1);
	insert(objs, &ctx->set0, ctx, 0);
	ctx->name_next = *same_name;
	*same_name = ctx;
	ctx->prev = m->last;
	*(m->last ? &m->last->next : &m->first) = ctx;
	m->last = ctx;
	objs->count++;
}

static int make(struct objects *objs, uid_t uid, struct fs_context *parent, const char *name,
	struct fs_context **out, struct err *e)
{
	struct owner *owner = owner_of(objs, uid);
	struct fs_context *ctx;

	if (!owner)
		return err_set(e, ENOMEM, "no memory for a context");
	if (check_limits(objs, owner, e) < 0)
		return -e->no;
	ctx = context_new(objs, owner, parent, name);
	if (!ctx)
		return err_set(e, ENOMEM, "no memory for a context");
	list(objs, ctx);
	*out = ctx;
	return 0;
}

int object_make(struct objects *objs, const char *name, uid_t uid, gid_t gid,
	struct fs_context **out, struct err *e)
{
	int rc;

	if (!name_ok(name))
		return err_set(e, EINVAL,
			"a context's name has 1 to %d letters, digits or _-+@:,. and does not "
			"begin with a dot",
			CTX_NAME_MAX);
	if (object_context(objs, NULL, name))
		return err_set(e, EEXIST, "there is a context '%s' already", name);
	rc = make(objs, uid, NULL, name, out, e);
	if (rc == 0)
		(*out)->gid = gid;
	return rc;
}

int object_make_clone(struct objects *objs, uint64_t serial, uid_t uid, gid_t gid,
	struct fs_context **out, struct err *e)
{
	char name[24];
	int rc;

	do
		snprintf(name, sizeof(name), "%" PRIu64, ++objs->last_number);
	while (object_context(objs, NULL, name));
	rc = object_make(objs, name, uid, gid, out, e);
	if (rc < 0)
		return rc;
	(*out)->number = objs->last_number;
	insert_as(objs, &(*out)->clone, serial, *out, -1);
	return 0;
}

void object_drop_clone(struct objects *objs, struct fs_context *ctx)
{
	drop(objs, &ctx->clone);
}

int object_make_child(struct fs_context *parent, int tid, struct fs_context **out, struct err *e)
{
	struct objects *objs = parent->objs;
	char name[24];
	int rc;

	snprintf(name, sizeof(name), "%d", tid);
	for (unsigned n = 1; object_context(objs, parent, name); n++)
		snprintf(name, sizeof(name), "%d.%u", tid, n);
	rc = make(objs, parent->uid, parent, name, out, e);
	if (rc == 0)
		(*out)->gid = parent->gid;
	return rc;
}

void object_remove(struct objects *objs, struct fs_context *ctx)
{
	struct fs_context **at = name_bucket(objs, ctx->parent, ctx->name);
	struct members *m = members_of(objs, ctx->parent);

	while (*at != ctx)
		at = &(*at)->name_next;
	*at = ctx->name_next;
	drop(objs, &ctx->self);
	drop(objs, &ctx->set0);
	for (unsigned i = 0; i < ctx->nsets; i++)
		drop(objs, ctx->sets[i]);
	object_set_buffer(objs, ctx, false);
	*(ctx->prev ? &ctx->prev->next : &m->first) = ctx->next;
	*(ctx->next ? &ctx->next->prev : &m->last) = ctx->prev;
	objs->count--;
}

void object_set_buffer(struct objects *objs, struct fs_context *ctx, bool there)
{
	if (ctx->buffer.serial)
		drop(objs, &ctx->buffer);
	ctx->buffer.serial = 0;
	if (there)
		insert(objs, &ctx->buffer, ctx, -1);
}

/* The index of the first set whose id is not below @id. */
static unsigned set_index(const struct fs_context *ctx, int id)
{
	unsigned from = 0, to = ctx->nsets;

	while (from < to) {
		unsigned mid = (from + to) / 2;

		if (ctx->sets[mid]->set < id)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

struct object *object_set_from(struct fs_context *ctx, unsigned id)
{
	unsigned i;

	if (id == 0)
		return &ctx->set0;
	i = set_index(ctx, (int)id);
	return i < ctx->nsets ? ctx->sets[i] : NULL;
}

static bool make_room(struct fs_context *ctx)
{
	unsigned room = ctx->sets_room ? 2 * ctx->sets_room : 8;
	struct object **more;

	if (ctx->nsets + ctx->sets_coming < ctx->sets_room)
		return true;
	more = realloc(ctx->sets, room * sizeof(struct object *));
	if (!more)
		return false;
	ctx->sets = more;
	ctx->sets_room = room;
	return true;
}

int object_set_reserve(struct fs_context *ctx, uint16_t id, struct object **out, struct err *e)
{
	struct object *o;

	if (ctx->uid && atomic_load(&ctx->owner->sets) >= SETS_PER_USER)
		return err_set(e, ENOSPC,
			"too many event sets: rmdir some (limit: %d in all of a user's contexts)",
			SETS_PER_USER);
	o = make_room(ctx) ? calloc(1, sizeof(*o)) : NULL;
	if (!o)
		return err_set(e, ENOMEM, "no memory for an event set");
	o->ctx = ctx;
	o->set = id;
	ctx->sets_coming++;
	atomic_fetch_add(&ctx->owner->sets, 1);
	*out = o;
	return 0;
}

void object_set_insert(struct objects *objs, struct object *set)
{
	struct fs_context *ctx = set->ctx;
	unsigned i = set_index(ctx, set->set);

	insert(objs, set, ctx, set->set);
	memmove(ctx->sets + i + 1, ctx->sets + i, (ctx->nsets - i) * sizeof(struct object *));
	ctx->sets[i] = set;
	ctx->nsets++;
	ctx->sets_coming--;
}

void object_set_cancel(struct object *set)
{
	set->ctx->sets_coming--;
	atomic_fetch_sub(&set->ctx->owner->sets, 1);
	free(set);
}

void object_set_remove(struct objects *objs, struct object *set)
{
	struct fs_context *ctx = set->ctx;
	unsigned i = set_index(ctx, set->set);

	drop(objs, set);
	ctx->nsets--;
	memmove(ctx->sets + i, ctx->sets + i + 1, (ctx->nsets - i) * sizeof(struct object *));
	atomic_fetch_sub(&ctx->owner->sets, 1);
	shared_unref(set->live);
	free(set);
}

void object_drop_live(struct fs_context *ctx)
{
	shared_unref(take_ptr(&ctx->set0.live));
	for (unsigned i = 0; i < ctx->nsets; i++)
		shared_unref(take_ptr(&ctx->sets[i]->live));
}

void context_ref(struct fs_context *ctx)
{
	atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
}

void context_unref(struct fs_context *ctx)
{
	if (!ctx || atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
		return;
	atomic_fetch_sub(&ctx->owner->contexts, 1);
	atomic_fetch_sub(&ctx->owner->sets, ctx->nsets);
	for (unsigned i = 0; i < ctx->nsets; i++)
		free(ctx->sets[i]);
	free(ctx->sets);
	text_free(&ctx->last_ctl);
	engine_tenant_free(&ctx->tenant);
	pthread_mutex_destroy(&ctx->lock);
	context_unref(ctx->parent);
	free(ctx->path);
	free(ctx);
}

void context_set_error(struct fs_context *ctx, const struct err *e)
{
	pthread_mutex_lock(&ctx->lock);
	snprintf(ctx->last_error, sizeof(ctx->last_error), "%s", e ? e->text : "ok");
	pthread_mutex_unlock(&ctx->lock);
}

void context_show_error(struct fs_context *ctx, struct text *out)
{
	char copy[sizeof(ctx->last_error)];

	pthread_mutex_lock(&ctx->lock);
	memcpy(copy, ctx->last_error, sizeof(copy));
	pthread_mutex_unlock(&ctx->lock);
	text_printf(out, "%s\n", copy);
}

void context_set_ctl(struct fs_context *ctx, struct text *line)
{
	struct text old;

	pthread_mutex_lock(&ctx->lock);
	old = ctx->last_ctl;
	ctx->last_ctl = *line;
	*line = old;
	pthread_mutex_unlock(&ctx->lock);
}

void context_show_ctl(struct fs_context *ctx, struct text *out)
{
	pthread_mutex_lock(&ctx->lock);
	if (ctx->last_ctl.n)
		text_printf(out, "%s", ctx->last_ctl.p);
	pthread_mutex_unlock(&ctx->lock);
}

// SPDX-License-Identifier: MIT
#include "daemon/fs/tree/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/percpu/thread.h"

static uint64_t object_name_key(const struct fs_context *parent, const char *name)
{
	return (uint32_t)hash_string(name) ^ (parent ? parent->self.serial : 0);
}

struct object *object_find(struct objects *objs, uint64_t serial)
{
	struct hash_node *node = hash_find(&objs->by_serial, serial);

	return node ? container_of(node, struct object, hash) : NULL;
}

struct fs_context *object_context(
	struct objects *objs, const struct fs_context *parent, const char *name)
{
	struct hash_node *node = hash_find(&objs->by_name, object_name_key(parent, name));

	for (; node; node = hash_find_next(node)) {
		struct fs_context *c = container_of(node, struct fs_context, name_hash);

		if (c->parent == parent && strcmp(c->id.name, name) == 0)
			return c;
	}
	return NULL;
}

/* The list of the directory of @parent's children, or of ctx/. */
static const struct list_head *object_directory(
	const struct objects *objs, const struct fs_context *parent)
{
	return parent ? &parent->children : &objs->top;
}

/* The context after @ctx in its directory, or NULL. */
static struct fs_context *object_next(const struct objects *objs, const struct fs_context *ctx)
{
	if (ctx->sibling.next == object_directory(objs, ctx->parent))
		return NULL;
	return list_entry(ctx->sibling.next, struct fs_context, sibling);
}

/* Usually the context with @serial itself is still there. */
struct fs_context *object_context_after(
	struct objects *objs, const struct fs_context *parent, uint64_t serial)
{
	const struct object *o = object_find(objs, serial);
	struct fs_context *c;

	if (o && o == &o->ctx->self && o->ctx->parent == parent)
		return object_next(objs, o->ctx);
	list_for_each_entry (c, object_directory(objs, parent), sibling)
		if (c->self.serial > serial)
			return c;
	return NULL;
}

struct fs_context *object_walk(const struct objects *objs, const struct fs_context *ctx)
{
	struct fs_context *next;

	if (!ctx)
		return list_first_entry_or_null(&objs->top, struct fs_context, sibling);
	if (!list_empty(&ctx->children))
		return list_entry(ctx->children.next, struct fs_context, sibling);
	next = object_next(objs, ctx);
	return next || !ctx->parent ? next : object_next(objs, ctx->parent);
}

uint64_t object_serial(struct objects *objs)
{
	return ++objs->last_serial;
}

static void object_insert_as(
	struct objects *objs, struct object *o, uint64_t serial, struct fs_context *ctx, int set)
{
	assert_session_thread();
	o->serial = serial;
	o->ctx = ctx;
	o->set = set;
	hash_add(&objs->by_serial, &o->hash, serial);
}

static void object_insert(struct objects *objs, struct object *o, struct fs_context *ctx, int set)
{
	object_insert_as(objs, o, object_serial(objs), ctx, set);
}

static void object_drop(struct objects *objs, struct object *o)
{
	assert_session_thread();
	hash_remove(&objs->by_serial, &o->hash);
}

/* Names appear in lines of cpus and in sentences, so they have no blanks; nor are they hidden
 * files. */
static bool object_name_ok(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				"_-+@:,.");

	return n && n <= CTX_NAME_MAX && !name[n] && name[0] != '.';
}

int objects_init(
	struct objects *objs, struct engine *eng, const struct engine_ctx_ops *ops, struct err *e)
{
	objs->eng = eng;
	objs->ops = ops;
	list_init(&objs->top);
	if (hash_init(&objs->by_serial) < 0 || hash_init(&objs->by_name) < 0 ||
		user_quotas_init(&objs->quotas) < 0)
		return err_set(e, ENOMEM, "no memory");
	return 0;
}

void objects_free(struct objects *objs)
{
	hash_free(&objs->by_serial);
	hash_free(&objs->by_name);
	user_quotas_free(&objs->quotas);
}

bool objects_are_short(const struct objects *objs)
{
	return objs->count >= CTX_TOTAL - CTX_RESERVED || user_quotas_are_short(&objs->quotas);
}

static int object_check_limits(
	const struct objects *objs, const struct user_quota *quota, struct err *e)
{
	bool reserve = !quota->uid || atomic_load(&quota->reserve);

	if (quota->uid && atomic_load(&quota->contexts) >= objs->quotas.contexts_max)
		return err_set(e, ENOSPC,
			"uid %u has too many contexts: rmdir some and close their files, or have "
			"root raise config/user_contexts_max, %" PRIu64,
			(unsigned)quota->uid, objs->quotas.contexts_max);
	if (objs->count < (reserve ? CTX_TOTAL : CTX_TOTAL - CTX_RESERVED))
		return 0;
	return err_set(e, ENOSPC,
		"all users together have too many contexts (of %d, %d are for root and sys_group): "
		"have root look for their owners in ctx/",
		CTX_TOTAL, CTX_RESERVED);
}

/* A context is charged at once for what it may need later: its messages, a load on a thread, the
 * lines that it shows, and its removal. */
static size_t object_context_bytes(const struct fs_context *ctx)
{
	enum { LATER = 4096 };

	return sizeof(*ctx) + strlen(ctx->id.path) + evtset_size(ctx->ec.ctx.pmu) +
	       MESSAGES_DEPTH * sizeof(struct message_slot) + LATER;
}

/* A set is in a hash and in two tables, which double in size when full. */
static size_t object_set_bytes(const struct fs_context *ctx)
{
	return sizeof(struct object) + evtset_size(ctx->ec.ctx.pmu) + 2 * CHARGE_PIECE +
	       6 * sizeof(void *);
}

static void object_free_context(struct fs_context *ctx)
{
	text_free(&ctx->log.last_ctl);
	engine_ctx_free(&ctx->ec);
	pthread_mutex_destroy(&ctx->log.lock);
	free(ctx->id.path);
	free(ctx);
}

static bool object_set_path(
	struct context_identity *id, const struct fs_context *parent, const char *name)
{
	int n = asprintf(&id->path, "%s%s%s", parent ? parent->id.path : "",
		parent ? "/children/" : "", name);

	if (n >= 0)
		id->name = id->path + n - strlen(name);
	return n >= 0;
}

/* Allocates a context with its own memory and nothing else; NULL if there is no memory. */
static struct fs_context *object_allocate_context(
	struct objects *objs, const struct fs_context *parent, const char *name)
{
	struct fs_context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx || !object_set_path(&ctx->id, parent, name)) {
		free(ctx);
		return NULL;
	}
	if (engine_ctx_init(objs->eng, &ctx->ec) < 0) {
		free(ctx->id.path);
		free(ctx);
		return NULL;
	}
	pthread_mutex_init(&ctx->log.lock, NULL);
	return ctx;
}

static struct fs_context *object_new_context(struct objects *objs, struct user_quota *quota,
	struct fs_context *parent, const char *name, struct err *e)
{
	struct fs_context *ctx = object_allocate_context(objs, parent, name);

	if (!ctx) {
		err_set(e, ENOMEM, "no memory for a context");
		return NULL;
	}
	ctx->id.charge = (struct charge){.quota = quota, .leaves = QUOTA_SPARE};
	ctx->id.loaded_charge = ctx->id.charge;
	if (charge_set(&ctx->id.charge, object_context_bytes(ctx), e) < 0) {
		object_free_context(ctx);
		return NULL;
	}
	ctx->sets.each = object_set_bytes(ctx);
	ctx->objs = objs;
	if (parent)
		context_ref(parent);
	ctx->parent = parent;
	ctx->id.quota = quota;
	ctx->id.uid = quota->uid;
	atomic_fetch_add(&quota->contexts, 1);
	clock_gettime(CLOCK_REALTIME, &ctx->id.born);
	ctx->ec.name = ctx->id.path;
	ctx->ec.uid = ctx->id.uid;
	ctx->ec.user_workers = &ctx->id.quota->workers;
	ctx->ec.ops = objs->ops;
	atomic_init(&ctx->refs, 1);
	snprintf(ctx->log.last_error, sizeof(ctx->log.last_error), "ok");
	list_init(&ctx->children);
	list_init(&ctx->readers);
	list_init(&ctx->notify.pollers);
	return ctx;
}

/* Puts @ctx into the tree: among the children of its parent, or into ctx/. */
static void object_link(struct objects *objs, struct fs_context *ctx)
{
	object_insert(objs, &ctx->self, ctx, -1);
	object_insert(objs, &ctx->set0, ctx, 0);
	hash_add(&objs->by_name, &ctx->name_hash, object_name_key(ctx->parent, ctx->id.name));
	list_add_tail(&ctx->sibling, ctx->parent ? &ctx->parent->children : &objs->top);
	objs->count++;
}

static int object_make_context(struct objects *objs, uid_t uid, struct fs_context *parent,
	const char *name, struct fs_context **out, struct err *e)
{
	struct user_quota *quota = user_quota_get(&objs->quotas, uid);
	struct fs_context *ctx;

	if (!quota)
		return err_set(e, ENOMEM, "no memory for a context");
	if (object_check_limits(objs, quota, e) < 0)
		return -e->no;
	ctx = object_new_context(objs, quota, parent, name, e);
	if (!ctx)
		return -e->no;
	object_link(objs, ctx);
	*out = ctx;
	return 0;
}

int object_make(struct objects *objs, const char *name, uid_t uid, gid_t gid,
	struct fs_context **out, struct err *e)
{
	int rc;

	if (!object_name_ok(name))
		return err_set(e, EINVAL,
			"a context's name has 1 to %d letters, digits or _-+@:,. and does not "
			"begin with a dot",
			CTX_NAME_MAX);
	if (object_context(objs, NULL, name))
		return err_set(e, EEXIST, "context '%s' exists already: choose another name", name);
	rc = object_make_context(objs, uid, NULL, name, out, e);
	if (rc == 0)
		(*out)->id.gid = gid;
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
	(*out)->id.number = objs->last_number;
	object_insert_as(objs, &(*out)->clone, serial, *out, -1);
	return 0;
}

void object_drop_clone(struct objects *objs, struct fs_context *ctx)
{
	object_drop(objs, &ctx->clone);
}

int object_make_child(struct fs_context *parent, int tid, struct fs_context **out, struct err *e)
{
	struct objects *objs = parent->objs;
	char name[24];
	int rc;

	snprintf(name, sizeof(name), "%d", tid);
	for (unsigned n = 1; object_context(objs, parent, name); n++)
		snprintf(name, sizeof(name), "%d.%u", tid, n);
	rc = object_make_context(objs, parent->id.uid, parent, name, out, e);
	if (rc == 0)
		(*out)->id.gid = parent->id.gid;
	return rc;
}

void object_remove(struct objects *objs, struct fs_context *ctx)
{
	hash_remove(&objs->by_name, &ctx->name_hash);
	object_drop(objs, &ctx->self);
	object_drop(objs, &ctx->set0);
	for (unsigned i = 0; i < ctx->sets.n; i++)
		object_drop(objs, ctx->sets.set[i]);
	object_set_buffer(objs, ctx, false);
	list_del(&ctx->sibling);
	objs->count--;
}

void object_set_buffer(struct objects *objs, struct fs_context *ctx, bool there)
{
	if (ctx->buffer.serial)
		object_drop(objs, &ctx->buffer);
	ctx->buffer.serial = 0;
	if (there)
		object_insert(objs, &ctx->buffer, ctx, -1);
}

/* The index of the first set whose id is at least @id. */
static unsigned object_set_index(const struct fs_context *ctx, int id)
{
	unsigned from = 0, to = ctx->sets.n;

	while (from < to) {
		unsigned mid = (from + to) / 2;

		if (ctx->sets.set[mid]->set < id)
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
	i = object_set_index(ctx, (int)id);
	return i < ctx->sets.n ? ctx->sets.set[i] : NULL;
}

static bool object_make_room(struct fs_context *ctx)
{
	unsigned room = ctx->sets.room ? 2 * ctx->sets.room : 8;
	struct object **more;

	if (ctx->sets.n + ctx->sets.reserved < ctx->sets.room)
		return true;
	more = realloc(ctx->sets.set, room * sizeof(struct object *));
	if (!more)
		return false;
	ctx->sets.set = more;
	ctx->sets.room = room;
	return true;
}

/* Removes the charge for one set. */
static void object_uncharge_set(struct fs_context *ctx)
{
	struct err never;

	charge_set(&ctx->id.charge, ctx->id.charge.bytes - ctx->sets.each, &never);
}

int object_set_reserve(struct fs_context *ctx, uint16_t id, struct object **out, struct err *e)
{
	struct object *o;

	if (charge_set(&ctx->id.charge, ctx->id.charge.bytes + ctx->sets.each, e) < 0)
		return -e->no;
	o = object_make_room(ctx) ? calloc(1, sizeof(*o)) : NULL;
	if (!o) {
		object_uncharge_set(ctx);
		return err_set(e, ENOMEM, "no memory for an event set");
	}
	o->ctx = ctx;
	o->set = id;
	ctx->sets.reserved++;
	*out = o;
	return 0;
}

void object_set_insert(struct objects *objs, struct object *set)
{
	struct fs_context *ctx = set->ctx;
	unsigned i = object_set_index(ctx, set->set);

	object_insert(objs, set, ctx, set->set);
	memmove(ctx->sets.set + i + 1, ctx->sets.set + i,
		(ctx->sets.n - i) * sizeof(struct object *));
	ctx->sets.set[i] = set;
	ctx->sets.n++;
	ctx->sets.reserved--;
}

void object_set_cancel(struct object *set)
{
	set->ctx->sets.reserved--;
	object_uncharge_set(set->ctx);
	free(set);
}

void object_set_remove(struct objects *objs, struct object *set)
{
	struct fs_context *ctx = set->ctx;
	unsigned i = object_set_index(ctx, set->set);

	object_drop(objs, set);
	ctx->sets.n--;
	memmove(ctx->sets.set + i, ctx->sets.set + i + 1,
		(ctx->sets.n - i) * sizeof(struct object *));
	object_uncharge_set(ctx);
	shared_unref(set->live);
	free(set);
}

bool object_free_sets(struct fs_context *ctx, unsigned n)
{
	ctx_free_sets(&ctx->ec.ctx, n);
	for (; n && ctx->sets.n; n--) {
		struct object *set = ctx->sets.set[--ctx->sets.n];

		shared_unref(set->live);
		free(set);
		object_uncharge_set(ctx);
	}
	return ctx->sets.n;
}

void context_ref(struct fs_context *ctx)
{
	atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
}

void context_unref(struct fs_context *ctx)
{
	if (!ctx || atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(ctx->sets.set);
	context_unref(ctx->parent);
	atomic_fetch_sub(&ctx->id.quota->contexts, 1);
	charge_clear(&ctx->id.loaded_charge);
	charge_clear(&ctx->id.charge);
	object_free_context(ctx);
}

int context_check_closed(const struct fs_context *ctx, struct err *e)
{
	return ctx->closed ? err_set(e, ENODEV, "the context is being removed") : 0;
}

void context_set_error(struct fs_context *ctx, const struct err *e)
{
	bool ok = !e || !e->text[0];

	pthread_mutex_lock(&ctx->log.lock);
	snprintf(ctx->log.last_error, sizeof(ctx->log.last_error), "%s%s",
		ok || e->no ? "" : NOTE_WORD, ok ? "ok" : e->text);
	pthread_mutex_unlock(&ctx->log.lock);
}

void context_show_error(struct fs_context *ctx, struct text *out)
{
	char copy[sizeof(ctx->log.last_error)];

	pthread_mutex_lock(&ctx->log.lock);
	memcpy(copy, ctx->log.last_error, sizeof(copy));
	pthread_mutex_unlock(&ctx->log.lock);
	text_printf(out, "%s\n", copy);
}

bool context_get_failure(struct fs_context *ctx, struct err *e)
{
	pthread_mutex_lock(&ctx->log.lock);
	snprintf(e->text, sizeof(e->text), "%.*s", (int)sizeof(e->text) - 1, ctx->log.last_error);
	pthread_mutex_unlock(&ctx->log.lock);
	return strcmp(e->text, "ok") != 0 &&
	       strncmp(e->text, NOTE_WORD, sizeof(NOTE_WORD) - 1) != 0;
}

void context_set_ctl(struct fs_context *ctx, struct text *line)
{
	struct text old;

	pthread_mutex_lock(&ctx->log.lock);
	old = ctx->log.last_ctl;
	ctx->log.last_ctl = *line;
	*line = old;
	pthread_mutex_unlock(&ctx->log.lock);
}

void context_show_ctl(struct fs_context *ctx, struct text *out)
{
	pthread_mutex_lock(&ctx->log.lock);
	if (ctx->log.last_ctl.n)
		text_printf(out, "%s", ctx->log.last_ctl.p);
	pthread_mutex_unlock(&ctx->log.lock);
}

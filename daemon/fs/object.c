// SPDX-License-Identifier: MIT
#include "daemon/fs/object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static struct object **bucket(struct objects *objs, uint64_t serial)
{
	return &objs->hash[serial % OBJECT_BUCKETS];
}

static struct fs_context **name_bucket(struct objects *objs, const char *name)
{
	uint64_t h = 14695981039346656037ULL; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 1099511628211ULL;
	return &objs->names[h % OBJECT_BUCKETS];
}

struct object *object_find(struct objects *objs, uint64_t serial)
{
	struct object *o = *bucket(objs, serial);

	while (o && o->serial != serial)
		o = o->hash_next;
	return o;
}

struct fs_context *object_context(struct objects *objs, const char *name)
{
	struct fs_context *c = *name_bucket(objs, name);

	while (c && strcmp(c->name, name) != 0)
		c = c->name_next;
	return c;
}

static void insert(struct objects *objs, struct object *o, struct fs_context *ctx, int set)
{
	struct object **b;

	o->serial = ++objs->last_serial;
	o->ctx = ctx;
	o->set = set;
	b = bucket(objs, o->serial);
	o->hash_next = *b;
	*b = o;
}

static void drop(struct objects *objs, struct object *o)
{
	struct object **at = bucket(objs, o->serial);

	while (*at != o)
		at = &(*at)->hash_next;
	*at = o->hash_next;
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

void objects_free(struct objects *objs)
{
	while (objs->owners) {
		struct owner *o = objs->owners;

		objs->owners = o->next;
		free(o);
	}
}

static void tenant_gone(struct tenant *t)
{
	context_unref(
		(struct fs_context *)(void *)((char *)t - offsetof(struct fs_context, tenant)));
}

int object_make(struct objects *objs, const char *name, uid_t uid, gid_t gid,
	struct fs_context **out, struct err *e)
{
	struct fs_context *ctx, **same_name;
	struct owner *owner;

	if (!name_ok(name))
		return err_set(e, EINVAL,
			"a context's name has 1 to %d letters, digits or _-+@:,. and does not "
			"begin "
			"with a dot",
			CTX_NAME_MAX);
	if (object_context(objs, name))
		return err_set(e, EEXIST, "there is a context '%s' already", name);
	owner = owner_of(objs, uid);
	if (!owner)
		return err_set(e, ENOMEM, "no memory for a context");
	if (objs->count >= CTX_TOTAL || (uid && atomic_load(&owner->contexts) >= CTX_PER_USER))
		return err_set(e, ENOSPC,
			"too many contexts: rmdir some, and close what is open of them (limits: %d "
			"a "
			"user, %d in all)",
			CTX_PER_USER, CTX_TOTAL);
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return err_set(e, ENOMEM, "no memory for a context");
	atomic_fetch_add(&owner->contexts, 1);
	ctx->owner = owner;
	engine_tenant_init(objs->eng, &ctx->tenant);
	memcpy(ctx->name, name, strlen(name));
	ctx->tenant.name = ctx->name;
	ctx->tenant.uid = uid;
	ctx->tenant.gone = tenant_gone;
	ctx->uid = uid;
	ctx->gid = gid;
	clock_gettime(CLOCK_REALTIME, &ctx->born);
	atomic_init(&ctx->refs, 1);
	pthread_mutex_init(&ctx->lock, NULL);
	snprintf(ctx->last_error, sizeof(ctx->last_error), "ok");

	insert(objs, &ctx->self, ctx, -1);
	insert(objs, &ctx->set0, ctx, 0);
	same_name = name_bucket(objs, name);
	ctx->name_next = *same_name;
	*same_name = ctx;
	ctx->prev = objs->last;
	*(objs->last ? &objs->last->next : &objs->first) = ctx;
	objs->last = ctx;
	objs->count++;
	*out = ctx;
	return 0;
}

void object_remove(struct objects *objs, struct fs_context *ctx)
{
	struct fs_context **at = name_bucket(objs, ctx->name);

	while (*at != ctx)
		at = &(*at)->name_next;
	*at = ctx->name_next;
	drop(objs, &ctx->self);
	drop(objs, &ctx->set0);
	*(ctx->prev ? &ctx->prev->next : &objs->first) = ctx->next;
	*(ctx->next ? &ctx->next->prev : &objs->last) = ctx->prev;
	objs->count--;
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
	pthread_mutex_destroy(&ctx->lock);
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

void context_set_ctl(struct fs_context *ctx, const char *line)
{
	pthread_mutex_lock(&ctx->lock);
	snprintf(ctx->last_ctl, sizeof(ctx->last_ctl), "%s", line);
	pthread_mutex_unlock(&ctx->lock);
}

void context_show_ctl(struct fs_context *ctx, struct text *out)
{
	pthread_mutex_lock(&ctx->lock);
	text_printf(out, "%s", ctx->last_ctl);
	pthread_mutex_unlock(&ctx->lock);
}

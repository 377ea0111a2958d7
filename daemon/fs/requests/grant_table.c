// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/grant_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "daemon/authz/grants_file.h"
#include "daemon/fs/requests/audit.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/file.h"

struct grant_table {
	struct grants grants;
	const char *run_dir, *mountpoint;
	/* A timer of CLOCK_REALTIME; set while @expires is not 0. */
	int timer;
	/* When the timer expires (Unix time, s); 0 means never. */
	uint64_t expires;
	/* How far CLOCK_REALTIME is ahead of CLOCK_BOOTTIME, ns. */
	int64_t offset;
};

static uint64_t grant_table_now(void)
{
	return nsec_now(CLOCK_REALTIME) / NSEC_PER_SEC;
}

/* The clocks are read one after the other: the reading that took the least time is the best. */
static int64_t grant_table_offset(void)
{
	uint64_t least = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 5; i++) {
		uint64_t before = nsec_now(CLOCK_BOOTTIME), wall = nsec_now(CLOCK_REALTIME);
		uint64_t took = nsec_now(CLOCK_BOOTTIME) - before;

		if (took >= least)
			continue;
		least = took;
		offset = (int64_t)(wall - before - took / 2);
	}
	return offset;
}

/* Setting the clock makes the timer readable, too. */
static void grant_table_set_timer(struct grant_table *t, uint64_t at)
{
	const struct itimerspec when = {.it_value.tv_sec = (time_t)at};

	t->expires = at;
	timerfd_settime(t->timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL);
}

int grant_table_open(struct fs *fs, const char *run_dir, const char *mountpoint, struct err *e)
{
	CLEANUP_FREE struct grant_table *t = calloc(1, sizeof(*t));

	if (!t)
		return err_set(e, ENOMEM, "no memory");
	t->run_dir = run_dir;
	t->mountpoint = mountpoint;
	t->offset = grant_table_offset();
	if (grants_file_load(run_dir, mountpoint, grant_table_now(), &t->grants, e) < 0)
		return -e->no;
	t->timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (t->timer < 0) {
		grants_free(&t->grants);
		return err_set(e, errno, "timerfd_create: %s", err_name(errno));
	}
	grant_table_set_timer(t, grants_next_expiry(&t->grants));
	engine_set_grants(fs->eng, &t->grants);
	fs->grants = take_ptr(&t);
	return 0;
}

void grant_table_close(struct fs *fs)
{
	struct grant_table *t = fs->grants;

	if (!t)
		return;
	close(t->timer);
	grants_free(&t->grants);
	free(t);
	fs->grants = NULL;
}

int grant_table_fd(const struct fs *fs)
{
	return fs->grants->expires ? fs->grants->timer : -1;
}

const struct grants *grant_table_grants(const struct fs *fs)
{
	return &fs->grants->grants;
}

static void grant_table_ignore_done(void *arg)
{
	(void)arg;
}

/* If saving fails, a daemon that is started later applies the unshifted expiry times. */
static void grant_table_follow_clock(struct grant_table *t)
{
	struct err ignored;

	if (grants_follow_clock(&t->grants, &t->offset, grant_table_offset())) {
		t->expires = grants_next_expiry(&t->grants);
		grants_file_save(t->run_dir, t->mountpoint, &t->grants, &ignored);
	}
}

/* Without memory, this is tried again in a second; no load is allowed meanwhile. */
void grant_table_expire(struct fs *fs)
{
	struct grant_table *t = fs->grants;
	uint64_t now = grant_table_now();
	struct revocation *r;
	struct err ignored;

	grant_table_follow_clock(t);
	if (!t->expires || t->expires > now) {
		grant_table_set_timer(t, t->expires);
		return;
	}
	r = revocation_new(fs->eng);
	if (!r) {
		grant_table_set_timer(t, now + 1);
		return;
	}
	grants_expire(&t->grants, now);
	grant_table_set_timer(t, grants_next_expiry(&t->grants));
	/* What is left in the file has expired as well. */
	grants_file_save(t->run_dir, t->mountpoint, &t->grants, &ignored);
	engine_revoke(fs->eng, r, now, grant_table_ignore_done, NULL);
}

/* Shows root all grants, and other users only their own. */
void grant_table_show(const struct call *call, struct text *out)
{
	const struct grants *g = grant_table_grants(call->fs);

	if (call->file->uid)
		grants_show_user(g, call->file->uid, out);
	else
		grants_show(g, out);
}

/* A write to config/grants. */
struct grant_change {
	/* The new grants. */
	struct grants grants;
	/* Lines for the audit record. */
	struct text lines;
	/* NULL: the engine frees it. */
	struct revocation *revocation;
	/* Ends when contexts that lack a grant now are unloaded. */
	struct fiber_wait revoked;
};

static void grant_change_free(struct grant_change *c)
{
	grants_free(&c->grants);
	text_free(&c->lines);
	free(c->revocation);
}

/* Checks the CPUs that the lines grant. The table itself may have more, from a time when the
 * backend had more CPUs. */
static int grant_change_check_cpus(
	const struct call *call, struct slice text, uint64_t now, struct err *e)
{
	unsigned limit = call->fs->be->ops->cpu_limit(call->fs->be);
	struct grants granted = {0};
	int rc = grants_apply(&granted, text, now, NULL, e);

	if (rc == 0 && !grants_below(&granted, limit))
		rc = err_set(e, EINVAL, "there are %u CPUs, from 0: see cpus", limit);
	grants_free(&granted);
	return rc;
}

static int grant_change_prepare(
	struct grant_change *c, struct call *call, struct slice text, uint64_t now, struct err *e)
{
	struct fs *fs = call->fs;
	struct grant_table *t = fs->grants;

	grant_table_follow_clock(t);
	if (grants_copy(&t->grants, &c->grants, e) < 0)
		return -e->no;
	grants_expire(&c->grants, now);
	if (grants_apply(&c->grants, text, now, &c->lines, e) < 0 ||
		grant_change_check_cpus(call, text, now, e) < 0)
		return -e->no;
	c->revocation = revocation_new(fs->eng);
	if (!c->revocation)
		return err_set(e, ENOMEM, "no memory");
	return grants_file_save(t->run_dir, t->mountpoint, &c->grants, e);
}

static void grant_change_apply(
	struct grant_change *c, struct call *call, uint64_t now, struct err *e)
{
	struct grant_table *t = call->fs->grants;
	struct grants before = t->grants;

	t->grants = c->grants;
	c->grants = before;
	grant_table_set_timer(t, grants_next_expiry(&t->grants));
	audit_grants(call, &c->lines);
	await_ignore_interrupts(call);
	engine_revoke(call->fs->eng, take_ptr(&c->revocation), now, await_wake, &c->revoked);
	await_event(call, &c->revoked, e);
}

int grant_table_store(struct call *call, struct slice text, struct err *e)
{
	struct grant_change c = {0};
	uint64_t now = grant_table_now();
	int rc = grant_change_prepare(&c, call, text, now, e);

	if (rc == 0)
		grant_change_apply(&c, call, now, e);
	grant_change_free(&c);
	return rc;
}

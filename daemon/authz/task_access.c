// SPDX-License-Identifier: MIT
/*
 * Whether a user may trace a thread: the steps of the kernel's __ptrace_may_access(),
 * cap_ptrace_access_check() and yama_ptrace_access_check(), in their order, from what /proc shows.
 */
#include "daemon/authz/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "daemon/authz/identity.h"

/* Everything that decides on access to a thread, read at one time. */
struct subject {
	struct identity is;
	struct proc_user_ns ns[PROC_NS_MAX]; /* its own first, the daemon's last */
	unsigned nns;
	bool dumpable;
	unsigned memory_ns; /* index of the one in which CAP_SYS_PTRACE overrides !dumpable */
};

int credentials_of(pid_t tid, struct credentials *out, struct err *e)
{
	CLEANUP_CLOSE int dir = -1;
	CLEANUP_CLOSE int process = -1;
	CLEANUP_CLOSE int ns = -1;
	struct identity s;
	struct stat ours = {0};
	int rc;

	if (tid <= 0)
		return err_set(e, ESRCH,
			"the daemon cannot see your PID namespace: load from the one that the "
			"daemon runs in");
	dir = proc_open(tid, e);
	rc = dir < 0 ? dir : identity_of(dir, &s, e);
	if (rc == 0)
		rc = process = proc_open(s.tgid, e);
	if (rc >= 0)
		ns = proc_ns_open(dir, "ns/user", e);
	if (rc >= 0 && ns < 0 && ns != -ESRCH)
		rc = ns;
	/* Read again: if the thread is alive now, it was when the others were opened. */
	if (rc >= 0)
		rc = identity_of(dir, &s, e);
	if (rc < 0)
		return err_prefix(e, "the caller, thread %d", (int)tid);
	stat("/proc/self/ns/user", &ours);
	*out = (struct credentials){.tid = tid,
		.tgid = s.tgid,
		.uid = s.uid[PROC_REAL],
		.euid = s.uid[PROC_EFFECTIVE],
		.gid = s.gid[PROC_REAL],
		.permitted = s.permitted,
		.effective = s.effective,
		.user_ns = ns < 0 ? 0 : proc_ns_id(ns)};
	out->process = take_fd(&process);
	out->elsewhere = ns >= 0 && out->user_ns != ours.st_ino;
	out->user_ns_fd = out->elsewhere ? take_fd(&ns) : -1;
	return 0;
}

int credentials_limit(struct credentials *c, const struct capabilities *opener, struct err *e)
{
	if (c->user_ns != opener->user_ns)
		return err_set(e, EPERM,
			"this file was opened in another user namespace: open it yourself to load "
			"on a thread");
	c->permitted &= opener->permitted;
	c->effective &= opener->effective;
	return 0;
}

void credentials_drop(struct credentials *c)
{
	cleanup_close(&c->process);
	cleanup_close(&c->user_ns_fd);
	c->process = c->user_ns_fd = -1;
}

bool credentials_trace_all(const struct credentials *c)
{
	return !c->elsewhere && c->effective >> CAP_SYS_PTRACE & 1;
}

int credentials_hide(const struct credentials *c, pid_t named, struct err *e)
{
	if (credentials_trace_all(c) || !proc_hides(c->process))
		return -e->no;
	return err_set(e, ESRCH,
		"thread %d does not exist, or /proc hides it from you: choose one that you may "
		"trace",
		(int)named);
}

/* True if the requester's process exists, so that no other process has its tgid. */
static bool access_is_alive(const struct credentials *cred)
{
	struct identity s;
	struct err ignored;

	return identity_of(cred->process, &s, &ignored) == 0;
}

/*
 * Before Linux 6.16, the owner of a thread's files shows whether it is dumpable: the files belong
 * to its effective ids if it is, and otherwise to the root of the user namespace of its memory. If
 * these may be the same, the thread counts as not dumpable, so that no user gets access by mistake.
 */
static bool access_guess_dumpable(
	const struct target *t, const struct subject *s, const struct stat *own)
{
	if (own->st_uid != s->is.uid[PROC_EFFECTIVE] || own->st_gid != s->is.gid[PROC_EFFECTIVE])
		return false;
	if ((own->st_uid == 0 && own->st_gid == 0) || s->nns > 2)
		return false;
	return s->nns == 1 || !proc_may_be_root(t->dir, "uid_map", own->st_uid) ||
	       !proc_may_be_root(t->dir, "gid_map", own->st_gid);
}

/*
 * The index of the outermost namespace that may be the user namespace of the thread's memory. That
 * is the thread's own or one that contains it; the owner of the thread's files, the root of that
 * namespace, shows only whether it is the daemon's.
 */
static unsigned access_memory_ns(const struct subject *s, const struct stat *own)
{
	return own->st_uid == 0 || s->nns == 1 ? s->nns - 1 : s->nns - 2;
}

/* Checks last that the thread is alive: if so, it was alive and had its id when the rest was read.
 */
static int access_read_subject(const struct target *t, struct subject *s, struct err *e)
{
	struct stat own;
	int rc;

	memset(s, 0, sizeof(*s));
	rc = proc_user_ns(t->dir, s->ns, &s->nns, e);
	if (rc == 0)
		rc = proc_owner(t->dir, &own, e);
	if (rc == 0)
		rc = identity_of(t->dir, &s->is, e);
	if (rc < 0)
		return rc;
	s->dumpable = s->is.dumpable == DUMPABLE_UNKNOWN ? access_guess_dumpable(t, s, &own)
							 : s->is.dumpable == DUMPABLE_YES;
	s->memory_ns = access_memory_ns(s, &own);
	return proc_alive(t->dir, e);
}

static bool access_same_subject(const struct subject *a, const struct subject *b)
{
	if (!identity_same(&a->is, &b->is) || a->nns != b->nns || a->dumpable != b->dumpable ||
		a->memory_ns != b->memory_ns)
		return false;
	/* The owner of the last one is not set. */
	for (unsigned i = 0; i < a->nns; i++)
		if (a->ns[i].id != b->ns[i].id ||
			(i + 1 < a->nns && a->ns[i].owner != b->ns[i].owner))
			return false;
	return true;
}

/* Reads until two reads agree: after an exec in between, half of the data would be of the old
 * program. */
static int access_read_stable(const struct target *t, struct subject *s, struct err *e)
{
	enum { TRIES = 10 };
	struct subject again;
	int rc = access_read_subject(t, s, e);

	for (int i = 0; rc == 0 && i < TRIES; i++) {
		rc = access_read_subject(t, &again, e);
		if (rc == 0 && access_same_subject(s, &again))
			return 0;
		*s = again;
	}
	if (rc == 0)
		err_set(e, EAGAIN, "it is executing another program: try again");
	return err_prefix(e, "thread %d", (int)t->named);
}

/*
 * Whether @cred has CAP_SYS_PTRACE over namespace @i of @s, as in the kernel's cap_capable():
 * effective capabilities hold in the requester's own namespace and those within it; and the creator
 * of a namespace has all capabilities in it, if it is in the namespace that contains it.
 */
static bool access_may_ptrace(const struct credentials *cred, const struct subject *s, unsigned i)
{
	for (; i < s->nns; i++) {
		if (s->ns[i].id == cred->user_ns)
			return cred->effective >> CAP_SYS_PTRACE & 1;
		if (i + 1 < s->nns && s->ns[i + 1].id == cred->user_ns &&
			s->ns[i].owner == cred->euid)
			return true;
	}
	return false;
}

static bool access_same_user(const struct credentials *cred, const struct identity *s)
{
	for (int i = 0; i < PROC_IDS; i++)
		if (s->uid[i] != cred->uid)
			return false;
	return true;
}

static bool access_same_group(const struct credentials *cred, const struct identity *s)
{
	for (int i = 0; i < PROC_IDS; i++)
		if (s->gid[i] != cred->gid)
			return false;
	return true;
}

/* The first of @ids that differs from @mine. */
static uint32_t access_other_id(const uint32_t ids[PROC_IDS], uint32_t mine)
{
	for (int i = 0; i < PROC_IDS; i++)
		if (ids[i] != mine)
			return ids[i];
	return mine;
}

static int access_check_credentials(
	const struct subject *s, const struct credentials *cred, struct err *e)
{
	const struct identity *of = &s->is;
	bool all = access_may_ptrace(cred, s, 0);

	if (!all && !access_same_user(cred, of))
		return err_set(e, EPERM, "belongs to uid %u: load a thread of your own, or as root",
			access_other_id(of->uid, cred->uid));
	if (!all && !access_same_group(cred, of))
		return err_set(e, EPERM,
			"runs with gid %u, but you with %u: load a thread of your group, or as "
			"root",
			access_other_id(of->gid, cred->gid), cred->gid);
	if (!s->dumpable && !access_may_ptrace(cred, s, s->memory_ns))
		return err_set(e, EPERM,
			"is not dumpable (PR_SET_DUMPABLE in prctl(2)), or is root's and Linux is "
			"older than 6.16, which does not tell: load with CAP_SYS_PTRACE");
	if (!all && s->ns[0].id != cred->user_ns)
		return err_set(
			e, EPERM, "is in another user namespace: load from there, or as root");
	if (!all && (of->permitted & ~cred->permitted))
		return err_set(e, EPERM,
			"has capabilities that you lack (CapPrm in /proc/PID/status): load as "
			"root");
	return 0;
}

/*
 * Whether the target is in the requester's process or a descendant of it. Each parent is opened by
 * its id, which was not reused if it is still the child's parent afterwards.
 */
static bool access_descends(const struct target *t, const struct credentials *cred)
{
	CLEANUP_CLOSE int dir = fcntl(t->dir, F_DUPFD_CLOEXEC, 0);
	struct identity s, again;
	struct err ignored;

	if (dir < 0 || identity_of(dir, &s, &ignored) < 0)
		return false;
	while (s.tgid != cred->tgid) {
		pid_t parent = s.parent;
		CLEANUP_CLOSE int up = parent ? proc_open(parent, &ignored) : -1;

		if (up < 0 || identity_of(up, &s, &ignored) < 0 ||
			identity_of(dir, &again, &ignored) < 0 || again.parent != parent)
			return false;
		close(dir);
		dir = take_fd(&up);
	}
	return access_is_alive(cred);
}

/* Stricter than the kernel where the target has made an exception with PR_SET_PTRACER, which is not
 * visible. A requester that has exited has no descendants. */
static int access_check_yama(const struct target *t, const struct subject *s,
	const struct credentials *cred, struct err *e)
{
	switch (proc_yama_scope()) {
	case 0:
		return 0;
	case 1:
		if (access_may_ptrace(cred, s, 0) || access_descends(t, cred))
			return 0;
		return err_set(e, EPERM,
			"is not a descendant of your process, and kernel.yama.ptrace_scope is 1: "
			"load "
			"a descendant, or as root");
	case 2:
		if (access_may_ptrace(cred, s, 0))
			return 0;
		return err_set(e, EPERM,
			"requires CAP_SYS_PTRACE, as kernel.yama.ptrace_scope is 2: load as root");
	}
	return err_set(e, EPERM,
		"cannot be traced, as kernel.yama.ptrace_scope is 3: load on a CPU instead");
}

static int access_refused(const struct target *t, const struct subject *s, struct err *e)
{
	char rest[sizeof(e->text)];

	memcpy(rest, e->text, sizeof(rest));
	return err_set(e, e->no, "thread %d (%s) %s", (int)t->named, s->is.name, rest);
}

int target_check_again(const struct target *t, const struct credentials *cred, struct err *e)
{
	struct subject s;
	int rc = access_read_stable(t, &s, e);

	if (rc < 0)
		return rc;
	rc = access_check_credentials(&s, cred, e);
	return rc < 0 ? access_refused(t, &s, e) : 0;
}

/* A thread that passes this is not hidden by hidepid. */
static int access_check_visible(const struct target *t, const struct subject *s,
	const struct credentials *cred, struct err *e)
{
	if (access_check_credentials(s, cred, e) == 0)
		return 0;
	access_refused(t, s, e);
	return credentials_hide(cred, t->named, e);
}

int target_check(const struct target *t, const struct credentials *cred, struct err *e)
{
	struct subject s;

	if (access_read_stable(t, &s, e) < 0)
		return credentials_hide(cred, t->named, e);
	if (s.is.tgid == cred->tgid && access_is_alive(cred))
		return 0;
	if (access_check_visible(t, &s, cred, e) < 0)
		return -e->no;
	return access_check_yama(t, &s, cred, e) < 0 ? access_refused(t, &s, e) : 0;
}

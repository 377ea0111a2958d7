// SPDX-License-Identifier: MIT
/*
 * May he trace it? The steps are those of the kernel's __ptrace_may_access(),
 * cap_ptrace_access_check() and yama_ptrace_access_check(), in their order, worked out from /proc.
 */
#include "daemon/track/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "daemon/track/proc.h"

/* From linux/pidfd.h, by other names: older headers lack it, newer ones have more of it. */
struct pidfd_info_1 {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code;
	uint32_t coredump_mask, coredump_signal;
};
enum { THREAD = O_EXCL, INFO_COREDUMP = 1 << 4, COREDUMP_SKIP = 2, COREDUMP_USER = 4 };
enum { COREDUMP_ROOT = 8, COREDUMP_ANY = COREDUMP_SKIP | COREDUMP_USER | COREDUMP_ROOT };
#define GET_INFO _IOWR(0xff, 11, struct pidfd_info_1)

/* What is asked of a thread, all of it at one time. */
struct subject {
	struct proc_status status;
	struct proc_user_ns ns[PROC_NS_MAX]; /* its own first, ours last */
	unsigned nns;
	bool dumpable;
	unsigned memory_ns; /* which of them decides over what is not dumpable */
};

int credentials_of(pid_t tid, struct credentials *out, struct err *e)
{
	CLEANUP_CLOSE int dir = -1;
	CLEANUP_CLOSE int process = -1;
	CLEANUP_CLOSE int ns = -1;
	struct proc_status s;
	struct stat ours = {0};
	int rc;

	if (tid <= 0)
		return err_set(e, ESRCH,
			"the daemon does not see your PID namespace: load from the one that the "
			"daemon runs in");
	dir = proc_open(tid, e);
	rc = dir < 0 ? dir : proc_status(dir, &s, e);
	if (rc == 0)
		rc = process = proc_open(s.tgid, e);
	if (rc >= 0)
		ns = proc_ns_open(dir, "ns/user", e);
	if (rc >= 0 && ns < 0 && ns != -ESRCH)
		rc = ns;
	/* Read again: if it is there now, it was when the others were opened. */
	if (rc >= 0)
		rc = proc_status(dir, &s, e);
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
	out->held_user_ns = ns < 0 || out->user_ns == ours.st_ino ? -1 : take_fd(&ns);
	return 0;
}

void credentials_drop(struct credentials *c)
{
	cleanup_close(&c->process);
	cleanup_close(&c->held_user_ns);
}

bool credentials_trace_all(const struct credentials *c)
{
	return c->held_user_ns < 0 && c->effective >> CAP_SYS_PTRACE & 1;
}

/* Nobody else has his tgid as long as this holds. */
static bool still_there(const struct credentials *who)
{
	struct proc_status s;
	struct err ignored;

	return proc_status(who->process, &s, &ignored) == 0;
}

/* Since Linux 6.16 the kernel says whether a thread is dumpable; false: it does not. */
static bool ask_dumpable(const struct target *t, bool *dumpable)
{
	CLEANUP_CLOSE int fd = (int)syscall(SYS_pidfd_open, t->tid, THREAD);
	struct pidfd_info_1 info = {.mask = INFO_COREDUMP};

	if (fd < 0 || ioctl(fd, GET_INFO, &info) < 0 || !(info.mask & INFO_COREDUMP) ||
		!(info.coredump_mask & COREDUMP_ANY))
		return false;
	*dumpable = info.coredump_mask & COREDUMP_USER;
	return true;
}

/* Is @id what 0 inside its user namespace is outside? It is our root if nothing is. */
static bool may_be_root(int dir, const char *map, unsigned id)
{
	CLEANUP_CLOSE int fd = openat(dir, map, O_RDONLY | O_CLOEXEC);
	CLEANUP_FCLOSE FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned inside, outside;

	if (!f)
		return true;
	take_fd(&fd);
	while (fscanf(f, "%u %u %*u", &inside, &outside) == 2)
		if (inside == 0)
			return outside == id;
	return id == 0;
}

/*
 * Before that, by the owner of its files: its effective ids if it is dumpable, else the root of the
 * user namespace that its memory belongs to. When these are the same there is no telling, and
 * nobody may be let in who might not: so it counts as not dumpable.
 */
static bool guess_dumpable(const struct target *t, const struct subject *s, const struct stat *own)
{
	if (own->st_uid != s->status.uid[PROC_EFFECTIVE] ||
		own->st_gid != s->status.gid[PROC_EFFECTIVE])
		return false;
	if ((own->st_uid == 0 && own->st_gid == 0) || s->nns > 2)
		return false;
	return s->nns == 1 || !may_be_root(t->dir, "uid_map", own->st_uid) ||
	       !may_be_root(t->dir, "gid_map", own->st_gid);
}

/*
 * The user namespace of its memory is its own, or one that contains that; the owner of its files,
 * being that one's root, only tells whether it is ours. So the outermost that it may be is taken.
 */
static unsigned memory_ns(const struct subject *s, const struct stat *own)
{
	return own->st_uid == 0 || s->nns == 1 ? s->nns - 1 : s->nns - 2;
}

/* That it lives comes last: then it did when the rest was read, and the number was its own. */
static int read_subject(const struct target *t, struct subject *s, struct err *e)
{
	struct stat own;
	int rc;

	memset(s, 0, sizeof(*s));
	rc = proc_user_ns(t->dir, s->ns, &s->nns, e);
	if (rc == 0)
		rc = proc_owner(t->dir, &own, e);
	if (rc == 0)
		rc = proc_status(t->dir, &s->status, e);
	if (rc < 0)
		return rc;
	if (!ask_dumpable(t, &s->dumpable))
		s->dumpable = guess_dumpable(t, s, &own);
	s->memory_ns = memory_ns(s, &own);
	return proc_alive(t->dir, e);
}

/* It may become another meanwhile, and would then be let in by half of what it was and half of what
 * it is. */
static int read_steady(const struct target *t, struct subject *s, struct err *e)
{
	enum { TRIES = 10 };
	struct subject again;
	int rc = read_subject(t, s, e);

	for (int i = 0; rc == 0 && i < TRIES; i++) {
		rc = read_subject(t, &again, e);
		if (rc == 0 && memcmp(s, &again, sizeof(*s)) == 0)
			return 0;
		memcpy(s, &again, sizeof(*s));
	}
	if (rc == 0)
		err_set(e, EAGAIN, "it is just executing another program: try again");
	return err_prefix(e, "thread %d", (int)t->named);
}

/*
 * Does he have CAP_SYS_PTRACE over the namespace @i of those of @s? As the kernel's cap_capable():
 * by his capabilities, if it is his own or contained in it; and whoever made a namespace has all
 * capabilities in there, if he is in the one that contains it.
 */
static bool may_ptrace(const struct credentials *who, const struct subject *s, unsigned i)
{
	for (; i < s->nns; i++) {
		if (s->ns[i].id == who->user_ns)
			return who->effective >> CAP_SYS_PTRACE & 1;
		if (i + 1 < s->nns && s->ns[i + 1].id == who->user_ns &&
			s->ns[i].owner == who->euid)
			return true;
	}
	return false;
}

static bool same_user(const struct credentials *who, const struct proc_status *s)
{
	for (int i = 0; i < PROC_IDS; i++)
		if (s->uid[i] != who->uid)
			return false;
	return true;
}

static bool same_group(const struct credentials *who, const struct proc_status *s)
{
	for (int i = 0; i < PROC_IDS; i++)
		if (s->gid[i] != who->gid)
			return false;
	return true;
}

/* Of several ids, the one that stands in the way. */
static uint32_t other(const uint32_t ids[PROC_IDS], uint32_t mine)
{
	for (int i = 0; i < PROC_IDS; i++)
		if (ids[i] != mine)
			return ids[i];
	return mine;
}

static int check_credentials(const struct subject *s, const struct credentials *who, struct err *e)
{
	const struct proc_status *of = &s->status;
	bool all = may_ptrace(who, s, 0);

	if (!all && !same_user(who, of))
		return err_set(e, EPERM, "belongs to uid %u: load your own, or as root",
			other(of->uid, who->uid));
	if (!all && !same_group(who, of))
		return err_set(e, EPERM,
			"runs with gid %u, and you with %u: load one of your own group, or as root",
			other(of->gid, who->gid), who->gid);
	if (!s->dumpable && !may_ptrace(who, s, s->memory_ns))
		return err_set(e, EPERM,
			"is not dumpable (PR_SET_DUMPABLE in prctl(2)), or is root's, where that "
			"cannot be told before Linux 6.16: load with CAP_SYS_PTRACE");
	if (!all && s->ns[0].id != who->user_ns)
		return err_set(e, EPERM,
			"is in another user namespace than you: load from there, or as root");
	if (!all && (of->permitted & ~who->permitted))
		return err_set(e, EPERM,
			"has capabilities that you do not have (CapPrm in /proc/PID/status): load "
			"as root");
	return 0;
}

/*
 * Is it of his process, or a child of that, or a child of such? Each parent is looked up by its
 * number: that was not another's by then if it is still the child's parent afterwards.
 */
static bool descends(const struct target *t, const struct credentials *who)
{
	CLEANUP_CLOSE int dir = fcntl(t->dir, F_DUPFD_CLOEXEC, 0);
	struct proc_status s, again;
	struct err ignored;

	if (dir < 0 || proc_status(dir, &s, &ignored) < 0)
		return false;
	while (s.tgid != who->tgid) {
		pid_t parent = s.parent;
		CLEANUP_CLOSE int up = parent ? proc_open(parent, &ignored) : -1;

		if (up < 0 || proc_status(up, &s, &ignored) < 0 ||
			proc_status(dir, &again, &ignored) < 0 || again.parent != parent)
			return false;
		close(dir);
		dir = take_fd(&up);
	}
	return still_there(who);
}

static int yama_scope(void)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope;

	return f && fscanf(f, "%d", &scope) == 1 ? scope : 0;
}

/* An exception that the target allows by PR_SET_PTRACER is not shown anywhere: to those whom it
 * would let in we are stricter than the kernel. One who has gone has no descendants. */
static int check_yama(const struct target *t, const struct subject *s,
	const struct credentials *who, struct err *e)
{
	switch (yama_scope()) {
	case 0:
		return 0;
	case 1:
		if (may_ptrace(who, s, 0) || descends(t, who))
			return 0;
		return err_set(e, EPERM,
			"was not started by you, and kernel.yama.ptrace_scope is 1: load what your "
			"process has started, or as root");
	case 2:
		if (may_ptrace(who, s, 0))
			return 0;
		return err_set(e, EPERM,
			"is for CAP_SYS_PTRACE, as kernel.yama.ptrace_scope is 2: load as root");
	}
	return err_set(
		e, EPERM, "is for nobody, as kernel.yama.ptrace_scope is 3: load on a CPU instead");
}

static int refused(const struct target *t, const struct subject *s, struct err *e)
{
	char rest[sizeof(e->text)];

	memcpy(rest, e->text, sizeof(rest));
	return err_set(e, e->no, "thread %d (%s) %s", (int)t->named, s->status.name, rest);
}

int target_check_again(const struct target *t, const struct credentials *who, struct err *e)
{
	struct subject s;
	int rc = read_steady(t, &s, e);

	if (rc < 0)
		return rc;
	rc = check_credentials(&s, who, e);
	return rc < 0 ? refused(t, &s, e) : 0;
}

int target_check(const struct target *t, const struct credentials *who, struct err *e)
{
	struct subject s;
	int rc = read_steady(t, &s, e);

	if (rc < 0)
		return rc;
	if (s.status.tgid == who->tgid && still_there(who))
		return 0;
	rc = check_credentials(&s, who, e);
	if (rc == 0)
		rc = check_yama(t, &s, who, e);
	return rc < 0 ? refused(t, &s, e) : 0;
}

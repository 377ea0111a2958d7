// SPDX-License-Identifier: MIT
#include "daemon/track/proc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"

/* The kernel's PF_EXITING and PF_KTHREAD: /proc/TID/stat shows them, no header has them. */
enum { EXITING = 0x4, KERNEL_THREAD = 0x200000 };

/* A thread that has gone shows as one or the other, by what the kernel remembers of its files. */
static int failed(const char *file, int no, struct err *e)
{
	if (no == ENOENT || no == ESRCH)
		return err_set(e, ESRCH, "it has ended: name one that is listed in /proc/PID/task");
	if (no == EACCES || no == EPERM)
		return err_set(e, EPERM,
			"/proc/TID/%s: %s: the daemon may not look at it: it lacks CAP_SYS_PTRACE, "
			"or a security module protects that thread",
			file, err_name(no));
	return err_set(e, no, "/proc/TID/%s: %s", file, err_name(no));
}

int proc_open(pid_t tid, struct err *e)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)tid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? failed("", errno, e) : fd;
}

/* All of a file: a status is as long as the list of supplementary groups. */
static int slurp(int dir, const char *file, char **text, struct err *e)
{
	CLEANUP_CLOSE int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	CLEANUP_FCLOSE FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	size_t room = 0;

	if (!f)
		return failed(file, errno, e);
	take_fd(&fd);
	errno = 0;
	if (getdelim(text, &room, '\0', f) < 0)
		return failed(file, errno ? errno : EIO, e);
	return 0;
}

/* What comes after @key; "" if it is not there. */
static const char *after(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? p + strlen(key) : "";
}

/* Programs choose it: it must neither end the line nor command a terminal. */
static void take_name(const char *text, char name[64])
{
	if (sscanf(text, "Name:%*1[\t]%63[^\n]", name) != 1)
		name[0] = '\0';
	for (char *p = name; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
}

static void take_numbers(const char *p, struct proc_status *s)
{
	char *end;

	for (s->depth = 0; *p == '\t' && s->depth < PROC_NS_MAX; p = end)
		s->number[s->depth++] = (pid_t)strtol(p + 1, &end, 10);
}

static bool take_ids(const char *p, uint32_t ids[PROC_IDS])
{
	return sscanf(p, "%" SCNu32 "%" SCNu32 "%" SCNu32, &ids[PROC_REAL], &ids[PROC_EFFECTIVE],
		       &ids[PROC_SAVED]) == PROC_IDS;
}

static bool take_status(const char *text, struct proc_status *s)
{
	take_name(text, s->name);
	take_numbers(after(text, "\nNSpid:"), s);
	return sscanf(after(text, "\nPid:"), "%d", &s->tid) == 1 &&
	       sscanf(after(text, "\nTgid:"), "%d", &s->tgid) == 1 &&
	       sscanf(after(text, "\nPPid:"), "%d", &s->parent) == 1 &&
	       sscanf(after(text, "\nTracerPid:"), "%d", &s->tracer) == 1 &&
	       take_ids(after(text, "\nUid:"), s->uid) && take_ids(after(text, "\nGid:"), s->gid) &&
	       sscanf(after(text, "\nCapPrm:"), "%" SCNx64, &s->permitted) == 1 &&
	       sscanf(after(text, "\nCapEff:"), "%" SCNx64, &s->effective) == 1;
}

int proc_status(int dir, struct proc_status *out, struct err *e)
{
	CLEANUP_FREE char *text = NULL;
	int rc = slurp(dir, "status", &text, e);

	if (rc == 0 && !take_status(text, out))
		return err_set(
			e, EIO, "/proc/TID/status lacks a line: this kernel is not supported");
	return rc;
}

int proc_owner(int dir, struct stat *st, struct err *e)
{
	return fstatat(dir, "status", st, 0) < 0 ? failed("status", errno, e) : 0;
}

static int read_flags(int dir, unsigned *flags, struct err *e)
{
	CLEANUP_FREE char *text = NULL;
	int rc = slurp(dir, "stat", &text, e);
	const char *p = rc == 0 ? strrchr(text, ')') : NULL; /* the name may have some itself */

	if (rc == 0 && (!p || sscanf(p, ") %*c %*d %*d %*d %*d %*d %u", flags) != 1))
		return err_set(
			e, EIO, "/proc/TID/stat lacks a number: this kernel is not supported");
	return rc;
}

int proc_is_kernel(int dir, struct err *e)
{
	unsigned flags;
	int rc = read_flags(dir, &flags, e);

	return rc < 0 ? rc : (flags & KERNEL_THREAD) != 0;
}

int proc_alive(int dir, struct err *e)
{
	unsigned flags;
	int rc = read_flags(dir, &flags, e);

	return rc == 0 && flags & EXITING ? failed("stat", ESRCH, e) : rc;
}

int proc_ns_open(int dir, const char *ns, struct err *e)
{
	int fd = openat(dir, ns, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? failed(ns, errno, e) : fd;
}

int proc_ns_parent(int ns)
{
	int fd = ioctl(ns, NS_GET_PARENT);

	return fd < 0 ? -errno : fd;
}

uint64_t proc_ns_id(int ns)
{
	struct stat st;

	return fstat(ns, &st) == 0 ? st.st_ino : 0;
}

/* One step up; false at ours, and with what went wrong in @rc. */
static bool climb(int *ns, struct proc_user_ns *here, int *rc, struct err *e)
{
	int parent = proc_ns_parent(*ns);

	if (parent == -EPERM)
		return false;
	if (parent < 0 || ioctl(*ns, NS_GET_OWNER_UID, &here->owner) < 0) {
		*rc = failed("ns/user", parent < 0 ? -parent : errno, e);
		cleanup_close(&parent);
		return false;
	}
	close(*ns);
	*ns = parent;
	return true;
}

int proc_user_ns(int dir, struct proc_user_ns out[PROC_NS_MAX], unsigned *n, struct err *e)
{
	CLEANUP_CLOSE int ns = -1;
	int rc = 0;

	ns = proc_ns_open(dir, "ns/user", e);
	*n = 1;
	out[0].id = 0;
	/* Either this kernel has none, or the thread has gone: so read something else after this.
	 */
	if (ns == -ESRCH)
		return 0;
	if (ns < 0)
		return ns;
	out[0].id = proc_ns_id(ns);
	while (*n < PROC_NS_MAX && climb(&ns, &out[*n - 1], &rc, e))
		out[(*n)++].id = proc_ns_id(ns);
	return rc;
}

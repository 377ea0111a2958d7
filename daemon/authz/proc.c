// SPDX-License-Identifier: MIT
#include "daemon/authz/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The kernel's PF_EXITING and PF_KTHREAD in /proc/TID/stat, which are in no header. */
enum { PROC_FLAG_EXITING = 0x4, PROC_FLAG_KTHREAD = 0x200000 };

/* For a thread that is gone, the kernel returns ENOENT or ESRCH, depending on the file. */
static int proc_failed(const char *file, int no, struct err *e)
{
	if (no == ENOENT || no == ESRCH)
		return err_set(e, ESRCH,
			"it does not exist or has ended: choose a thread that is listed in "
			"/proc/PID/task");
	if (no == EACCES || no == EPERM)
		return err_set(e, EPERM,
			"/proc/TID/%s: %s: the daemon may not read it, as it lacks CAP_SYS_PTRACE "
			"or a security module protects that thread",
			file, err_name(no));
	if (no == EFBIG)
		return err_set(e, EFBIG,
			"it has thousands of supplementary groups, and Linux before 6.13 takes too "
			"long to show its ids: reduce them with setgroups()");
	return err_set(e, no, "/proc/TID/%s: %s", file, err_name(no));
}

/* Opens the directory below task/. In /proc/TID itself, stat adds up the times of all threads of
 * the process, which takes a millisecond for some thousand, and a thread is read several times. */
int proc_open(pid_t tid, struct err *e)
{
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)tid, (int)tid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? proc_failed("", errno, e) : fd;
}

/* Reads up to the end of the file into *@text, which the caller frees, on errors too, unless it is
 * NULL. EFBIG: there are more than @most bytes. */
static int proc_read_fd(int fd, size_t most, char **text)
{
	size_t room = 0, n = 0;
	ssize_t got;

	do {
		if (n + 1 >= room) {
			char *bigger = realloc(*text, room ? 2 * room : 4096);

			if (!bigger)
				return -ENOMEM;
			*text = bigger;
			room = room ? 2 * room : 4096;
		}
		got = read(fd, *text + n, room - 1 - n);
		if (got < 0)
			return -errno;
		n += (size_t)got;
		if (n > most)
			return -EFBIG;
	} while (got > 0);
	(*text)[n] = '\0';
	return n ? 0 : -EIO;
}

static int proc_read_most(int dir, const char *file, size_t most, char **text, struct err *e)
{
	CLEANUP_FREE char *buf = NULL;
	CLEANUP_CLOSE int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : proc_read_fd(fd, most, &buf);

	if (rc < 0)
		return proc_failed(file, -rc, e);
	*text = take_ptr(&buf);
	return 0;
}

/* The content of a file, NUL-terminated; the caller frees it. EIO: it is empty. */
static int proc_read_file(int dir, const char *file, char **text, struct err *e)
{
	return proc_read_most(dir, file, PROC_FILE_MAX, text, e);
}

const char *proc_after(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? p + strlen(key) : "";
}

static void proc_parse_name(const char *text, char name[64])
{
	if (sscanf(text, "Name:%*1[\t]%63[^\n]", name) != 1)
		name[0] = '\0';
}

static void proc_parse_numbers(const char *p, struct proc_status *s)
{
	char *end;

	for (s->depth = 0; *p == '\t' && s->depth < PROC_NS_MAX; p = end)
		s->number[s->depth++] = (pid_t)strtol(p + 1, &end, 10);
}

static bool proc_parse_ids(const char *p, uint32_t ids[PROC_IDS])
{
	return sscanf(p, "%" SCNu32 "%" SCNu32 "%" SCNu32, &ids[PROC_REAL], &ids[PROC_EFFECTIVE],
		       &ids[PROC_SAVED]) == PROC_IDS;
}

static bool proc_parse_status(const char *text, struct proc_status *s)
{
	proc_parse_name(text, s->name);
	proc_parse_numbers(proc_after(text, "\nNSpid:"), s);
	return sscanf(proc_after(text, "\nPid:"), "%d", &s->tid) == 1 &&
	       sscanf(proc_after(text, "\nTgid:"), "%d", &s->tgid) == 1 &&
	       sscanf(proc_after(text, "\nPPid:"), "%d", &s->parent) == 1 &&
	       sscanf(proc_after(text, "\nTracerPid:"), "%d", &s->tracer) == 1 &&
	       proc_parse_ids(proc_after(text, "\nUid:"), s->uid) &&
	       proc_parse_ids(proc_after(text, "\nGid:"), s->gid) &&
	       sscanf(proc_after(text, "\nCapPrm:"), "%" SCNx64, &s->permitted) == 1 &&
	       sscanf(proc_after(text, "\nCapEff:"), "%" SCNx64, &s->effective) == 1;
}

int proc_status_text(int dir, char **text, struct err *e)
{
	return proc_read_file(dir, "status", text, e);
}

int proc_status(int dir, size_t most, struct proc_status *out, struct err *e)
{
	CLEANUP_FREE char *text = NULL;
	int rc = proc_read_most(dir, "status", most, &text, e);

	if (rc == 0 && !proc_parse_status(text, out))
		return err_set(
			e, EIO, "/proc/TID/status lacks a line: this kernel is not supported");
	return rc;
}

int proc_owner(int dir, struct stat *st, struct err *e)
{
	return fstatat(dir, "status", st, 0) < 0 ? proc_failed("status", errno, e) : 0;
}

/* Numbers of fields of a stat file, see proc(5). */
enum { PROC_STAT_STATE = 3, PROC_STAT_BEGAN = 22, PROC_STAT_CPU = 39 };

/* Field 3 and later of a stat file; field 2, the name, may contain anything. NULL: malformed. */
static const char *proc_stat_state(const char *text)
{
	const char *p = strrchr(text, ')');

	return p && p[1] == ' ' ? p + 2 : NULL;
}

/* "TID (NAME) S ...": NAME may contain anything. */
static bool proc_parse_stat_name(char *text, pid_t *tid, char name[64])
{
	char *from = strchr(text, '('), *to = strrchr(text, ')');

	if (!from || !to || to < from || sscanf(text, "%d", tid) != 1)
		return false;
	*to = '\0';
	snprintf(name, 64, "%s", from + 1);
	return true;
}

int proc_name(int dir, pid_t *tid, char name[64], struct err *e)
{
	CLEANUP_FREE char *text = NULL;
	int rc = proc_read_file(dir, "stat", &text, e);

	if (rc == 0 && !proc_parse_stat_name(text, tid, name))
		return err_set(e, EIO, "/proc/TID/stat lacks a name: this kernel is not supported");
	return rc;
}

static int proc_read_flags(int dir, unsigned *flags, struct err *e)
{
	CLEANUP_FREE char *text = NULL;
	int rc = proc_read_file(dir, "stat", &text, e);
	const char *p = rc == 0 ? proc_stat_state(text) : NULL;

	if (rc == 0 && (!p || sscanf(p, "%*c %*d %*d %*d %*d %*d %u", flags) != 1))
		return err_set(
			e, EIO, "/proc/TID/stat lacks a number: this kernel is not supported");
	return rc;
}

int proc_is_kernel(int dir, struct err *e)
{
	unsigned flags;
	int rc = proc_read_flags(dir, &flags, e);

	return rc < 0 ? rc : (flags & PROC_FLAG_KTHREAD) != 0;
}

uint64_t proc_runtime(int dir)
{
	struct err ignored;
	CLEANUP_FREE char *text = NULL;

	return proc_read_file(dir, "schedstat", &text, &ignored) < 0 ? 0 : strtoull(text, NULL, 10);
}

int proc_alive(int dir, struct err *e)
{
	unsigned flags;
	int rc = proc_read_flags(dir, &flags, e);

	return rc == 0 && flags & PROC_FLAG_EXITING ? proc_failed("stat", ESRCH, e) : rc;
}

static uint64_t proc_stat_number(int dir, int number)
{
	struct err ignored;
	CLEANUP_FREE char *text = NULL;
	const char *p =
		proc_read_file(dir, "stat", &text, &ignored) < 0 ? NULL : proc_stat_state(text);

	for (int field = PROC_STAT_STATE; p && field < number; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p ? strtoull(p, NULL, 10) : 0;
}

uint64_t proc_began(int dir)
{
	return proc_stat_number(dir, PROC_STAT_BEGAN);
}

unsigned proc_cpu(int dir)
{
	return (unsigned)proc_stat_number(dir, PROC_STAT_CPU);
}

bool proc_is_zombie(pid_t tid)
{
	struct err ignored;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_CLOSE int dir = proc_open(tid, &ignored);
	const char *p;

	if (dir < 0 || proc_read_file(dir, "stat", &text, &ignored) < 0)
		return false;
	p = proc_stat_state(text);
	return p && *p == 'Z';
}

bool proc_is_thread_of(pid_t tid, pid_t pid)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return access(path, F_OK) == 0;
}

uint64_t proc_memlock(pid_t pid)
{
	struct err ignored;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_CLOSE int dir = proc_open(pid, &ignored);
	char soft[32];

	if (dir < 0 || proc_read_file(dir, "limits", &text, &ignored) < 0 ||
		sscanf(proc_after(text, "\nMax locked memory"), "%31s", soft) != 1)
		return 0;
	return strcmp(soft, "unlimited") == 0 ? UINT64_MAX : strtoull(soft, NULL, 10);
}

unsigned proc_threads(void)
{
	struct err ignored;
	CLEANUP_FREE char *text = NULL;
	unsigned n;

	if (proc_read_file(AT_FDCWD, "/proc/loadavg", &text, &ignored) < 0 ||
		sscanf(proc_after(text, "/"), "%u", &n) != 1)
		return UINT_MAX;
	return n;
}

int proc_yama_scope(void)
{
	struct err ignored;
	CLEANUP_FREE char *text = NULL;
	int scope;

	if (proc_read_file(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", &text, &ignored) < 0)
		return 0;
	return sscanf(text, "%d", &scope) == 1 ? scope : 0;
}

/* In another mount namespace, /proc may be another mount, with other options. */
bool proc_hides(int dir)
{
	struct err ignored;
	CLEANUP_FREE char *text = NULL;
	struct stat theirs, ours;

	if (stat("/proc/self/ns/mnt", &ours) < 0 || fstatat(dir, "ns/mnt", &theirs, 0) < 0 ||
		theirs.st_ino != ours.st_ino)
		return true;
	return proc_read_file(AT_FDCWD, "/proc/self/mountinfo", &text, &ignored) < 0 ||
	       strstr(text, "hidepid=");
}

bool proc_may_be_root(int dir, const char *map, unsigned id)
{
	struct err ignored;
	CLEANUP_FREE char *text = NULL;
	int rc = proc_read_file(dir, map, &text, &ignored), n = 0;
	unsigned inside, outside;

	/* A namespace without a mapping has an empty file. */
	if (rc < 0 && rc != -EIO)
		return true;
	for (const char *p = rc < 0 ? "" : text;
		sscanf(p, "%u %u %*u%n", &inside, &outside, &n) == 2 && n; p += n, n = 0)
		if (inside == 0)
			return outside == id;
	return id == 0;
}

int proc_ns_open(int dir, const char *ns, struct err *e)
{
	int fd = openat(dir, ns, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? proc_failed(ns, errno, e) : fd;
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

/* Replaces @ns with its parent. False: @ns is the daemon's, or @rc is an error. */
static bool proc_user_ns_up(int *ns, struct proc_user_ns *current, int *rc, struct err *e)
{
	int parent = proc_ns_parent(*ns);

	if (parent == -EPERM)
		return false;
	if (parent < 0 || ioctl(*ns, NS_GET_OWNER_UID, &current->owner) < 0) {
		*rc = proc_failed("ns/user", parent < 0 ? -parent : errno, e);
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
	/* The kernel has no user namespaces, or the thread is gone: the caller reads more of it,
	 * which then fails. */
	if (ns == -ESRCH)
		return 0;
	if (ns < 0)
		return ns;
	out[0].id = proc_ns_id(ns);
	while (*n < PROC_NS_MAX && proc_user_ns_up(&ns, &out[*n - 1], &rc, e))
		out[(*n)++].id = proc_ns_id(ns);
	return rc;
}

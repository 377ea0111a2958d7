// SPDX-License-Identifier: MIT
#include "daemon/authz/identity.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* As in linux/pidfd.h, under other names: older headers lack these, and newer ones have more
 * fields. */
struct pidfd_info_1 {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8]; /* real, effective, saved, filesystem: uid, gid of each */
	int32_t exit_code;
	uint32_t coredump_mask, coredump_signal;
};
enum { PIDFD_THREAD_FLAG = O_EXCL };
enum { PIDFD_INFO_CREDS_1 = 1 << 1, PIDFD_INFO_COREDUMP_1 = 1 << 4 };
enum { COREDUMP_SKIP = 2, COREDUMP_USER = 4, COREDUMP_ROOT = 8 };
enum { COREDUMP_ANY = COREDUMP_SKIP | COREDUMP_USER | COREDUMP_ROOT };
#define PIDFD_GET_INFO_1 _IOWR(0xff, 11, struct pidfd_info_1)

int identity_open(pid_t tid)
{
	return (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD_FLAG);
}

static bool identity_query_fd(int fd, struct pidfd_info_1 *info)
{
	*info = (struct pidfd_info_1){.mask = PIDFD_INFO_CREDS_1 | PIDFD_INFO_COREDUMP_1};
	return fd >= 0 && ioctl(fd, PIDFD_GET_INFO_1, info) == 0 && info->mask & PIDFD_INFO_CREDS_1;
}

bool identity_real_uid(int pidfd, uid_t *uid)
{
	struct pidfd_info_1 info;

	if (!identity_query_fd(pidfd, &info))
		return false;
	*uid = info.ids[2 * PROC_REAL];
	return true;
}

static bool identity_query_info(pid_t tid, struct pidfd_info_1 *info)
{
	CLEANUP_CLOSE int fd = identity_open(tid);

	return identity_query_fd(fd, info) && info->pid == (uint32_t)tid;
}

static bool identity_query_capabilities(pid_t tid, struct capabilities *out)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, tid};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return false;
	out->permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	out->effective = (uint64_t)data[1].effective << 32 | data[0].effective;
	return true;
}

struct capabilities capabilities_of(pid_t tid)
{
	struct capabilities c = {0};
	char path[48];
	struct stat ns;

	/* For thread 0, capget() returns the daemon's own. */
	if (tid <= 0 || !identity_query_capabilities(tid, &c))
		return (struct capabilities){0};
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)tid);
	if (stat(path, &ns) == 0)
		c.user_ns = ns.st_ino;
	return c;
}

static void identity_take_info(const struct pidfd_info_1 *info, struct identity *out)
{
	out->tgid = (pid_t)info->tgid;
	out->parent = (pid_t)info->ppid;
	for (int i = 0; i < PROC_IDS; i++) {
		out->uid[i] = info->ids[2 * i];
		out->gid[i] = info->ids[2 * i + 1];
	}
	out->dumpable = DUMPABLE_UNKNOWN;
	if (info->mask & PIDFD_INFO_COREDUMP_1 && info->coredump_mask & COREDUMP_ANY)
		out->dumpable = info->coredump_mask & COREDUMP_USER ? DUMPABLE_YES : DUMPABLE_NO;
}

/* False: this kernel does not support the query. The thread keeps its id until it has been waited
 * for; the last step checks that it has not been. */
static bool identity_query(int dir, struct identity *out)
{
	struct capabilities caps;
	struct pidfd_info_1 info;
	struct err ignored;

	if (proc_name(dir, &out->tid, out->name, &ignored) < 0 ||
		!identity_query_info(out->tid, &info) ||
		!identity_query_capabilities(out->tid, &caps))
		return false;
	out->permitted = caps.permitted;
	out->effective = caps.effective;
	identity_take_info(&info, out);
	return faccessat(dir, "stat", F_OK, 0) == 0;
}

static int identity_read(int dir, struct identity *out, struct err *e)
{
	struct proc_status s;
	int rc = proc_status(dir, PROC_STATUS_SHORT, &s, e);

	if (rc < 0)
		return rc;
	memcpy(out->name, s.name, sizeof(out->name));
	memcpy(out->uid, s.uid, sizeof(out->uid));
	memcpy(out->gid, s.gid, sizeof(out->gid));
	out->tid = s.tid;
	out->tgid = s.tgid;
	out->parent = s.parent;
	out->permitted = s.permitted;
	out->effective = s.effective;
	out->dumpable = DUMPABLE_UNKNOWN;
	return 0;
}

int identity_of(int dir, struct identity *out, struct err *e)
{
	return identity_query(dir, out) ? 0 : identity_read(dir, out, e);
}

/* The whole cannot be compared with memcmp(), as the bytes after the end of a name are undefined.
 */
bool identity_same(const struct identity *a, const struct identity *b)
{
	return a->tid == b->tid && a->tgid == b->tgid && a->parent == b->parent &&
	       memcmp(a->uid, b->uid, sizeof(a->uid)) == 0 &&
	       memcmp(a->gid, b->gid, sizeof(a->gid)) == 0 && a->permitted == b->permitted &&
	       a->effective == b->effective && a->dumpable == b->dumpable;
}

bool identity_in_our_pid_ns(int dir)
{
	struct stat theirs, ours;
	struct proc_status s;
	struct err ignored;

	if (stat("/proc/self/ns/pid", &ours) == 0 && fstatat(dir, "ns/pid", &theirs, 0) == 0)
		return theirs.st_ino == ours.st_ino;
	/* There are no namespaces, or the daemon has no CAP_SYS_PTRACE (backend sim). */
	return proc_status(dir, PROC_STATUS_SHORT, &s, &ignored) == 0 && s.depth <= 1;
}

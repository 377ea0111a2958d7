// SPDX-License-Identifier: MIT
/* One-line files of /proc and /sys. A missing file means a kernel without the feature. */
#include "backend/msr/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"

/* The first line of @path, truncated to @room; empty if it cannot be read. */
static void kernel_read_line(const char *path, char *line, size_t room)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, room - 1);

	line[n < 0 ? 0 : n] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

/*
 * The active mode is in brackets: "none [integrity] confidentiality". If the file is missing, the
 * mode is unknown: securityfs may not be mounted.
 */
struct kernel_word kernel_lockdown(void)
{
	struct kernel_word mode = {"unknown"};
	char line[64];
	char *at, *end;

	kernel_read_line(KERNEL_LOCKDOWN, line, sizeof(line));
	at = strchr(line, '[');
	end = at ? strchr(at, ']') : NULL;
	if (end && end - at <= (ssize_t)sizeof(mode.s)) {
		memcpy(mode.s, at + 1, (size_t)(end - at - 1));
		mode.s[end - at - 1] = '\0';
	}
	return mode;
}

struct kernel_word kernel_allow_writes(void)
{
	struct kernel_word w;

	kernel_read_line(KERNEL_ALLOW_WRITES, w.s, sizeof(w.s));
	return w;
}

bool kernel_nmi_watchdog(void)
{
	char line[8];

	kernel_read_line(KERNEL_NMI_WATCHDOG, line, sizeof(line));
	return strcmp(line, "1") == 0;
}

int kernel_refusal(const char *what, struct err *e)
{
	struct kernel_word lockdown = kernel_lockdown();
	bool known = strcmp(lockdown.s, "unknown") != 0;

	if (known && strcmp(lockdown.s, "none") != 0)
		return err_set(e, EPERM,
			"%s: EPERM: the kernel is locked down (%s in " KERNEL_LOCKDOWN
			") and refuses MSR writes: boot without lockdown (Secure Boot implies it), "
			"or "
			"use --backend=perf",
			what, lockdown.s);
	if (strcmp(kernel_allow_writes().s, "off") == 0)
		return err_set(e, EPERM,
			"%s: EPERM: the msr driver forbids writing: "
			"'echo on > " KERNEL_ALLOW_WRITES "', or use --backend=perf",
			what);
	if (!known)
		return err_set(e, EPERM,
			"%s: EPERM: the kernel may be locked down; to see " KERNEL_LOCKDOWN
			": mount -t securityfs securityfs /sys/kernel/security, or use "
			"--backend=perf",
			what);
	return err_set(e, EPERM,
		"%s: EPERM: neither lockdown nor allow_writes forbids it (another security "
		"module?): see the kernel log, or use --backend=perf",
		what);
}

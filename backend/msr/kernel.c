// SPDX-License-Identifier: MIT
/* Reads one-line files of /proc and /sys. A missing file means a kernel without the feature. */
#include "backend/msr/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/sysfs/sysfs.h"

/*
 * The active mode is in brackets: "none [integrity] confidentiality". If the file is missing, the
 * mode is unknown: securityfs may not be mounted.
 */
struct kernel_word kernel_lockdown(void)
{
	struct kernel_word mode = {"unknown"};
	char room[SYSFS_LINE];
	struct slice line = sysfs_line(KERNEL_LOCKDOWN, room), word;

	slice_cut(&line, '[');
	word = slice_cut(&line, ']');
	if (word.n)
		snprintf(mode.s, sizeof(mode.s), "%.*s", SLICE_ARG(word));
	return mode;
}

struct kernel_word kernel_allow_writes(void)
{
	char room[SYSFS_LINE];
	struct slice line = sysfs_line(KERNEL_ALLOW_WRITES, room);
	struct kernel_word w;

	snprintf(w.s, sizeof(w.s), "%.*s", SLICE_ARG(line));
	return w;
}

bool kernel_nmi_watchdog(void)
{
	char room[SYSFS_LINE];

	return slice_is(sysfs_line(KERNEL_NMI_WATCHDOG, room), "1");
}

int kernel_refusal(const char *what, struct err *e)
{
	struct kernel_word lockdown = kernel_lockdown();
	bool known = strcmp(lockdown.s, "unknown") != 0;

	if (known && strcmp(lockdown.s, "none") != 0)
		return err_set(e, EPERM,
			"%s: EPERM: the kernel is locked down (%s in " KERNEL_LOCKDOWN
			") and refuses MSR writes: boot without lockdown (Secure Boot implies it), "
			"or use perfmonfs --backend=perf",
			what, lockdown.s);
	if (strcmp(kernel_allow_writes().s, "off") == 0)
		return err_set(e, EPERM,
			"%s: EPERM: the msr driver forbids writing: "
			"'echo on > " KERNEL_ALLOW_WRITES "', or use perfmonfs --backend=perf",
			what);
	if (!known)
		return err_set(e, EPERM,
			"%s: EPERM: the kernel may be locked down; to see " KERNEL_LOCKDOWN
			": mount -t securityfs securityfs /sys/kernel/security, or use "
			"perfmonfs --backend=perf",
			what);
	return err_set(e, EPERM,
		"%s: EPERM: neither lockdown nor allow_writes forbids it (another security "
		"module?): see the kernel log, or use perfmonfs --backend=perf",
		what);
}

/* SPDX-License-Identifier: MIT */
/* Settings of the running kernel that affect MSR writes and the kernel's own use of the PMU. */
#ifndef BACKEND_MSR_KERNEL_H
#define BACKEND_MSR_KERNEL_H

#include <stdbool.h>

#include "base/err.h"

#define KERNEL_LOCKDOWN     "/sys/kernel/security/lockdown"
#define KERNEL_ALLOW_WRITES "/sys/module/msr/parameters/allow_writes"
#define KERNEL_NMI_WATCHDOG "/proc/sys/kernel/nmi_watchdog"

/* One word of such a file. */
struct kernel_word {
	char s[32];
};

/* The lockdown mode; "unknown" if its file cannot be read. */
struct kernel_word kernel_lockdown(void);

/* "on", "off" or "default"; "" if unknown (older kernel, no driver). */
struct kernel_word kernel_allow_writes(void);

/* Whether the NMI watchdog is on, which occupies a counter of each CPU. */
bool kernel_nmi_watchdog(void);

/* Sets EPERM, with the reason in the sentence, for a write to @what that the kernel refused. */
int kernel_refusal(const char *what, struct err *e);

#endif

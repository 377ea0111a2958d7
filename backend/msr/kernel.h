/* SPDX-License-Identifier: MIT */
/* What the running kernel says about writing MSRs and about the PMU it may be using itself. */
#ifndef BACKEND_MSR_KERNEL_H
#define BACKEND_MSR_KERNEL_H

#include <stdbool.h>

#include "base/err.h"

#define KERNEL_LOCKDOWN     "/sys/kernel/security/lockdown"
#define KERNEL_ALLOW_WRITES "/sys/module/msr/parameters/allow_writes"
#define KERNEL_NMI_WATCHDOG "/proc/sys/kernel/nmi_watchdog"

struct kernel_word {
	char s[32];
};

/* The lockdown mode, "none" also if the kernel has no lockdown. */
struct kernel_word kernel_lockdown(void);

/* "on", "off", "default"; "" if it cannot be told (older kernels, no driver). */
struct kernel_word kernel_allow_writes(void);

bool kernel_nmi_watchdog(void);

/* EPERM for a write to @what that the kernel refused: the sentence says which switch it was. */
int kernel_refusal(const char *what, struct err *e);

#endif

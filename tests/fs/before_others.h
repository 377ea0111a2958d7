/* SPDX-License-Identifier: MIT */
/* For programs whose profile is known. */
#ifndef TESTS_FS_BEFORE_OTHERS_H
#define TESTS_FS_BEFORE_OTHERS_H

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Other programs shall not have much of the CPU, where it is sessions that share it, either. */
static inline void before_others(void)
{
	FILE *f;

	setsid(); /* of its own, so that ours does not change */
	f = fopen("/proc/self/autogroup", "w");
	if (f) {
		fputs("-20", f);
		fclose(f);
	}
	setpriority(PRIO_PROCESS, 0, -20);
}

#endif

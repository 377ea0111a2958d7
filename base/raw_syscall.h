/* SPDX-License-Identifier: MIT */
/*
 * System calls without the C library's wrapper. Use them where a worker executes on a CPU with
 * running user-level counters, which would count each instruction of the wrapper. They return the
 * kernel's result, -errno on failure, and do not change errno.
 */
#ifndef BASE_RAW_SYSCALL_H
#define BASE_RAW_SYSCALL_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long raw_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#else
	long ret = syscall(nr, a, b, c, d, e, f);

	return ret < 0 ? -errno : ret;
#endif
}

static inline long raw_syscall4(long nr, long a, long b, long c, long d)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
#else
	return raw_syscall6(nr, a, b, c, d, 0, 0);
#endif
}

#endif

// SPDX-License-Identifier: MIT
/* ptrace(2) as on a busy machine: the stop of a thread comes 30 ms after it was asked for. */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/ptrace.h>
#include <time.h>

#include "base/nsec.h"

enum { STALL_NS = 30000000 };

long ptrace(enum __ptrace_request request, ...)
{
	long (*next)(enum __ptrace_request, ...);
	struct timespec ns = nsec_timespec(STALL_NS);
	void *addr, *data;
	va_list args;
	pid_t pid;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	*(void **)&next = dlsym(RTLD_NEXT, "ptrace");
	if (request == PTRACE_INTERRUPT)
		nanosleep(&ns, NULL);
	return next(request, pid, addr, data);
}

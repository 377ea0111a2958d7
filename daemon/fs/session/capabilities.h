/* SPDX-License-Identifier: MIT */
/* What the daemon may still do once it serves. */
#ifndef FS_CAPABILITIES_H
#define FS_CAPABILITIES_H

#include "base/err.h"

/*
 * Gives up, for good, every capability but those that the backend needs while it serves:
 *
 *   CAP_SYS_RAWIO  msr: the kernel asks for it when /dev/cpu/N/msr is opened, at each load
 *   CAP_PERFMON    perf, msr: CPU-wide and kernel-level events; msr opens them when it samples
 *   CAP_SYS_ADMIN  perf, msr: in place of CAP_PERFMON before Linux 5.8, and only while
 *                  kernel.perf_event_paranoid is over 2: Debian's kernels then ask for it where
 *                  others are content with CAP_PERFMON
 *   CAP_SYS_PTRACE perf, msr: to look at threads that are to be followed, and to trace them; who
 *                  may have that done, track/target.h decides by his own credentials
 *   CAP_BPF        perf, msr: the program that tells when they come to run
 *   CAP_SYS_NICE   workers run before ordinary threads, so that a busy CPU can be stopped in time;
 *                  carriers before all others, so that nobody else is counted
 *
 * The bounding set goes with them and nothing executed later gets any back. CAP_SYS_ADMIN, which
 * mounting needed, otherwise stays only with the guard process that unmounts.
 */
int capabilities_drop(const char *backend, struct err *e);

#endif

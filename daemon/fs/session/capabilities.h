/* SPDX-License-Identifier: MIT */
#ifndef FS_CAPABILITIES_H
#define FS_CAPABILITIES_H

#include "base/err.h"
#include "perfmonfs/backend.h"

/*
 * Permanently drops every capability except those that the backend needs while serving:
 *
 *   CAP_SYS_RAWIO  msr: opening /dev/cpu/N/msr, at each load
 *   CAP_PERFMON    perf, msr: CPU-wide and kernel-level perf events, which msr uses to sample
 *   CAP_SYS_ADMIN  perf, msr: in place of CAP_PERFMON before Linux 5.8, and where
 *                  kernel.perf_event_paranoid is over 2, as Debian's kernels then require it
 *   CAP_SYS_PTRACE perf, msr: inspecting and tracing threads; daemon/authz permits it by the
 *                  user's own credentials
 *   CAP_BPF        perf, msr: the program that reports context switches
 *   CAP_SYS_NICE   workers run before ordinary threads, so that a busy CPU can be stopped in time;
 *                  ctxsw threads run before all others, so that no other thread is counted
 *
 * They leave the bounding set as well, so no program executed later gets any back. Unless listed
 * above, CAP_SYS_ADMIN, which mounting needed, stays only with the privhelper process.
 */
int capabilities_drop(const struct backend_ops *ops, struct err *e);

#endif

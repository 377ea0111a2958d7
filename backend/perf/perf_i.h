/* SPDX-License-Identifier: MIT */
/* Shared by the files of the perf backend only. */
#ifndef BACKEND_PERF_PERF_I_H
#define BACKEND_PERF_PERF_I_H

#include "perfmonfs/backend.h"

/* backend_ops.check */
void perf_check(const struct backend_conf *conf, check_report *report, void *arg);

#endif

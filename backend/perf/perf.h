/* SPDX-License-Identifier: MIT */
/* The perf backend: counters of the kernel's perf events. */
#ifndef BACKEND_PERF_PERF_H
#define BACKEND_PERF_PERF_H

#include "perfmonfs/backend.h"

extern const struct backend_ops perf_backend_ops;

#endif

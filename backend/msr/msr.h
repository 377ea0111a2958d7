/* SPDX-License-Identifier: MIT */
/* The msr backend: the PMU's registers through the kernel's msr driver. */
#ifndef BACKEND_MSR_MSR_H
#define BACKEND_MSR_MSR_H

#include "perfmonfs/backend.h"

extern const struct backend_ops msr_backend_ops;

#endif

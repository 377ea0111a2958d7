/* SPDX-License-Identifier: MIT */
/* For old sources that include it. perfmon.h has everything for x86_64. */
#ifndef PERFMON_X86_64_H
#define PERFMON_X86_64_H

#include <perfmon/perfmon.h>

#endif

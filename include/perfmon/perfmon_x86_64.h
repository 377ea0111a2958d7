/* SPDX-License-Identifier: MIT */
/* Only for old programs that include this header. perfmon.h has everything for x86_64. */
#ifndef PERFMON_X86_64_H
#define PERFMON_X86_64_H

#include <perfmon/perfmon.h>

#endif

/* SPDX-License-Identifier: MIT */
/* Only for old programs that include this header. perfmon.h has everything for i386. */
#ifndef PERFMON_I386_H
#define PERFMON_I386_H

#include <perfmon/perfmon.h>

#endif

/* SPDX-License-Identifier: MIT */
/* For old sources that include it. perfmon.h has everything for i386. */
#ifndef PERFMON_I386_H
#define PERFMON_I386_H

#include <perfmon/perfmon.h>

#endif

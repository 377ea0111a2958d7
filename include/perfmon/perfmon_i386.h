/* SPDX-License-Identifier: MIT */
/* Old sources include it; perfmon2 for i386 has nothing of its own that perfmon.h does not say. */
#ifndef PERFMON_I386_H
#define PERFMON_I386_H

#include <perfmon/perfmon.h>

#endif

/* SPDX-License-Identifier: MIT */
/* Old sources include it; perfmon2 for x86_64 has nothing of its own that perfmon.h does not say.
 */
#ifndef PERFMON_X86_64_H
#define PERFMON_X86_64_H

#include <perfmon/perfmon.h>

#endif

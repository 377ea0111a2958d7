/* SPDX-License-Identifier: MIT */
/* Common to perfmonctl(2) of 2.0 and of the specification, with the numbers of 2.0. */
#ifndef PERFMON_CTL_H
#define PERFMON_CTL_H

#include <unistd.h>

#define PFM_FL_OVFL_NO_MSG 0x80 /* no messages for overflows */

#define PFM_WRITE_PMCS     0x01
#define PFM_WRITE_PMDS     0x02
#define PFM_READ_PMDS      0x03
#define PFM_STOP           0x04
#define PFM_START          0x05
#define PFM_CREATE_CONTEXT 0x08
#define PFM_RESTART        0x0a
#define PFM_LOAD_CONTEXT   0x10
#define PFM_UNLOAD_CONTEXT 0x11

typedef unsigned char pfm_uuid_t[16];

#endif

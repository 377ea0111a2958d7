/* SPDX-License-Identifier: MIT */
/* The FUSE filesystem of msrsim: N/msr, N/cpuid and sim/KNOB of a hardware model. */
#ifndef TOOLS_MSRSIM_FS_H
#define TOOLS_MSRSIM_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "perfmonfs/sim.h"

struct fuse_lowlevel_ops;

struct msrsim {
	struct hw *hw;
	bool real_clock;      /* Model time follows CLOCK_MONOTONIC. */
	uint64_t clock_seen;  /* msrsim_clock() of the model's last update. */
	FILE *log;            /* NULL: none. */
	struct text log_text; /* Lines of the current request. */
};

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t msrsim_clock(void);

/* The session's user data is a struct msrsim. All handlers run in one thread. */
extern const struct fuse_lowlevel_ops *const msrsim_ops;

#endif

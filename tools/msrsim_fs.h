/* SPDX-License-Identifier: MIT */
/* The tree of msrsim: N/msr, N/cpuid and sim/KNOB over a hardware model, served through FUSE. */
#ifndef TOOLS_MSRSIM_FS_H
#define TOOLS_MSRSIM_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "perfmonfs/sim.h"

struct fuse_lowlevel_ops;

struct msrsim {
	struct hw *hw;
	bool real_clock;      /* model time follows CLOCK_MONOTONIC */
	uint64_t clock_seen;  /* the clock up to which it has */
	FILE *log;            /* NULL: none */
	struct text log_text; /* lines of the access being served */
};

uint64_t msrsim_clock(void);

/* All handlers take a struct msrsim as the session's user data, and run in one thread. */
extern const struct fuse_lowlevel_ops *const msrsim_ops;

#endif

/* SPDX-License-Identifier: MIT */
/* The sim backend: a model of the PMU of several processors, without threads. */
#ifndef BACKEND_SIM_SIM_H
#define BACKEND_SIM_SIM_H

#include "perfmonfs/backend.h"

extern const struct backend_ops sim_backend_ops;

#endif

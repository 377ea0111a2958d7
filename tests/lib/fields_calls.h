/* SPDX-License-Identifier: MIT */
/*
 * The part of fields.h that versions before 2008 share. TARGET is what a system-wide
 * context is loaded on, as the version says it.
 */
#ifndef TESTS_LIB_FIELDS_CALLS_H
#define TESTS_LIB_FIELDS_CALLS_H

#define NOTIFY     PFM_REGFL_OVFL_NOTIFY
#define RANDOM     PFM_REGFL_RANDOM
#define ALWAYS     0
#define write_pmcs pfm_write_pmcs
#define write_pmds pfm_write_pmds
#define read_pmds  pfm_read_pmds
#define restart    pfm_restart
#define unload     pfm_unload_context

#include "tests/lib/fields.h"

static bool set_seed(pmd_t *pmd, uint32_t seed)
{
	pmd->reg_random_seed = seed;
	return true;
}

static uint16_t load(int fd, uint16_t set)
{
	pfarg_load_t load = {.load_pid = TARGET, .load_set = set};

	OK(pfm_load_context(fd, &load));
	return set;
}

static void start(int fd, uint16_t set)
{
	pfarg_start_t start = {.start_set = set};

	OK(pfm_start(fd, &start));
}

static void stop(int fd)
{
	OK(pfm_stop(fd));
}

static void cannot_load_start_stop(int fd, int error)
{
	pfarg_load_t load = {0};
	pfarg_start_t start = {0};

	FAILS(pfm_load_context(fd, &load), error);
	FAILS(pfm_start(fd, &start), error);
	FAILS(pfm_stop(fd), error);
}

#endif

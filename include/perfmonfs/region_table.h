/* SPDX-License-Identifier: MIT */
/*
 * Memory in which `pfm stat --regions` tells a program what to count, and in which the program's
 * threads store their counts. PFM_REGIONS in the environment names the file. Counts are stored as
 * soon as a region ends, so they survive a program that is killed.
 *
 * Private to libperfmonfs and pfm of the same version: not an interface for other programs.
 */
#ifndef PERFMONFS_REGION_TABLE_H
#define PERFMONFS_REGION_TABLE_H

#include <stdint.h>

#define PFM_REGION_ENV "PFM_REGIONS"

enum {
	PFM_REGION_VERSION = 2,
	PFM_REGION_NAME = 64,      /* bytes of a name, with its NUL */
	PFM_REGION_PMDS = 32,      /* counts of a region */
	PFM_REGION_REGS = 4096,    /* bytes of the registers */
	PFM_REGION_SENTENCE = 248, /* bytes of a reason */
	PFM_REGION_MAX = 64,       /* regions of a thread */
	PFM_REGION_THREADS = 1024, /* threads that have regions at a time */
};

/* Why there is no count. The errno is written last. */
struct pfm_region_loss {
	uint32_t no; /* errno; 0: nothing is lost */
	char sentence[PFM_REGION_SENTENCE];
};

/* A region in one thread, or in several threads, one after another. */
struct pfm_region {
	char name[PFM_REGION_NAME];
	uint64_t calls;     /* calls that have ended */
	uint64_t open;      /* 1: it has begun and not ended */
	uint64_t abandoned; /* calls during which the thread ended */
	uint64_t time_ns;   /* CLOCK_MONOTONIC time of the calls that have ended */
	uint64_t counts[PFM_REGION_PMDS];
	uint64_t begin_ns;
	uint64_t begin[PFM_REGION_PMDS];
	struct pfm_region_loss loss; /* in any call, ended or not */
};

/* The regions of a thread. When the thread ends, another thread goes on with them. */
struct pfm_region_thread {
	uint32_t taken;
	uint32_t used; /* elements of regions[] */
	struct pfm_region regions[PFM_REGION_MAX];
};

/* The kernel's event that a PMD counts, in terms of struct perf_event_attr. */
struct pfm_region_event {
	uint32_t type;
	uint8_t exclude_user, exclude_kernel;
	uint64_t config;
};

struct pfm_region_table {
	/* Written by pfm before the program starts. */
	uint32_t version;
	uint32_t npmds;
	uint16_t pmds[PFM_REGION_PMDS]; /* logical numbers in set 0 */
	uint32_t live;                  /* RDPMC may be possible */
	uint32_t own;                   /* threads may count themselves by @events */
	struct pfm_region_event events[PFM_REGION_PMDS];
	char mount[PFM_REGION_NAME]; /* path of the mount for the program */
	char regs[PFM_REGION_REGS];  /* for the file `regs` */
	/* Written by the program: the first failure of a thread that has no counts. */
	uint32_t failing; /* 1: @failure is taken */
	struct pfm_region_loss failure;
	struct pfm_region_thread threads[PFM_REGION_THREADS];
};

#endif

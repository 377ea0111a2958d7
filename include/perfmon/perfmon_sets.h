/* SPDX-License-Identifier: MIT */
/* Event sets and messages of 2.6 to 2.81 and of the revision of 2008. Do not include this header
 * directly. */
#ifndef PERFMON_SETS_H
#define PERFMON_SETS_H

#include <perfmon/perfmon_common.h>

typedef struct pfarg_setdesc {
	uint16_t set_id;
	uint16_t set_reserved1;
	uint32_t set_flags;   /* PFM_SETFL_* */
	uint64_t set_timeout; /* ns; output: the effective one */
	uint64_t reserved[6];
} pfarg_setdesc_t;

typedef struct pfarg_setinfo {
	uint16_t set_id;
	uint16_t set_reserved1;
	uint32_t set_flags;
	uint64_t set_ovfl_pmds[PFM_PMD_BV]; /* PMDs that caused the last switch */
	uint64_t set_runs;
	uint64_t set_timeout;      /* ns left */
	uint64_t set_act_duration; /* ns active */
	uint64_t set_avail_pmcs[PFM_PMC_BV];
	uint64_t set_avail_pmds[PFM_PMD_BV];
	__extension__ union {
		uint64_t set_reserved3[6];
		uint64_t reserved[6]; /* in early headers of libpfm */
	};
} pfarg_setinfo_t;

/* The result of read(2) */
typedef struct pfarg_ovfl_msg {
	uint32_t msg_type; /* PFM_MSG_OVFL */
	uint32_t msg_ovfl_pid;
	uint16_t msg_active_set;
	uint16_t msg_ovfl_cpu;
	uint32_t msg_ovfl_tid;
	uint64_t msg_ovfl_ip;
	uint64_t msg_ovfl_pmds[PFM_PMD_BV];
} pfarg_ovfl_msg_t;

typedef union pfarg_msg {
	uint32_t type;
	pfarg_ovfl_msg_t pfm_ovfl_msg;
} pfarg_msg_t;

#endif

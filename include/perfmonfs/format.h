/* SPDX-License-Identifier: MIT */
/*
 * Sampling formats (specification 3.5): what is recorded when a counter overflows, and how. A
 * format is a structure of call-backs. Those that come with the daemon are linked in; others are
 * shared objects in its directory of formats, each of which exports
 *
 *	const pfm_buffer_fmt_t perfmonfs_format;
 *
 * Call-backs run in the daemon, as root, in the thread that monitors a CPU: they must not block,
 * and see nothing but what they are given. They return 0 or a positive errno. One that fails
 * masks the context it was called for, and nothing else; one that crashes takes the daemon with
 * it, whose next start puts the registers back.
 */
#ifndef PERFMONFS_FORMAT_H
#define PERFMONFS_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum {
	PFM_FMT_API = 2, /* of this header; a format made for another is refused */
	PFM_FMT_MAX_PMDS = 320,
	PFM_FMT_BV = PFM_FMT_MAX_PMDS / 64,
};

typedef unsigned char pfm_uuid_t[16];

/* What is to happen when a call-back returns (3.5.14, 3.5.15). All 0 when it is called. */
typedef struct {
	unsigned notify_user : 1;     /* a message, if the PMD asks for notification */
	unsigned reset_ovfl_pmds : 1; /* the PMD and its reset list: short values (restart: long) */
	unsigned block_thread : 1;    /* for threads with notify_block */
	unsigned mask_monitoring : 1; /* nothing counts until restart; cancels reset_ovfl_pmds */
} pfm_ovfl_ctrl_t;

/* An overflow. Of several at the same time, the PMDs come in increasing order. */
typedef struct {
	uint16_t ovfl_pmd;
	uint16_t active_set;
	pfm_ovfl_ctrl_t ovfl_ctrl;                   /* out */
	uint64_t pmd_last_reset;                     /* value last loaded into the PMD */
	uint64_t smpl_pmds_values[PFM_FMT_MAX_PMDS]; /* of the PMDs in smpl_pmds, contiguous */
	uint64_t pmd_value;                          /* what it has counted past the wrap */
	uint64_t pmd_eventid;
	uint64_t smpl_pmds[PFM_FMT_BV]; /* PMDs of interest */
	uint16_t ovfl_notify;           /* 1: the PMD asks for notification */
	/* Of perfmonfs: overflow is found by looking, so one call stands for as many overflows of
	 * this PMD as there were since the last look; at least 1. */
	uint32_t ovfl_count;
} pfm_ovfl_arg_t;

/* Who was running where: fmt_handler's @data. */
typedef struct {
	uint64_t ip;  /* 0: not known, or in the kernel for those who may not know */
	uint32_t pid; /* process; 0: idle */
	uint32_t tid;
	uint16_t cpu;
	uint16_t known; /* 0: nothing is known of it, all is 0 but the CPU */
} pfm_smpl_where_t;

/* What happens to processes between samples, for formats with fmt_event. */
enum pfm_smpl_event_type { PFM_EVENT_EXEC, PFM_EVENT_MMAP, PFM_EVENT_COMM, PFM_EVENT_EXIT };
typedef struct {
	enum pfm_smpl_event_type type;
	uint32_t pid, tid;
	uint64_t tstamp;
	uint64_t addr, len, pgoff; /* MMAP */
	const char *name;          /* MMAP: of the file; COMM, EXEC: of the command; else "" */
} pfm_smpl_event_t;

/* A parameter "name=value" of a format's argument structure, or a word that sets a flag. */
typedef struct {
	const char *name;
	size_t offset;
	unsigned size; /* 4 or 8 bytes; of the member */
	uint32_t flag; /* not 0: a word without value, that sets these bits of the member */
	uint64_t def;  /* unless given; of the first of several flags in one member */
} pfm_fmt_param_t;

enum { PFM_FMTFL_NOSET = 1 }; /* it cannot tell event sets: only set 0 */

typedef struct {
	unsigned fmt_api;     /* PFM_FMT_API */
	const char *fmt_name; /* one word */
	pfm_uuid_t fmt_uuid;
	size_t fmt_arg_size; /* of the argument structure; 0: none */
	size_t fmt_msgq_depth;
	uint32_t fmt_flags;
	uint32_t fmt_version;              /* of the buffer's layout: major << 16 | minor */
	const pfm_fmt_param_t *fmt_params; /* ends with a name NULL; NULL: none */

	/* Is @arg good, for this context? */
	int (*fmt_validate)(uint32_t ctx_flags, uint16_t num_pmds, void *arg);
	/* How large a buffer does it need? NULL or 0: none. */
	int (*fmt_getsize)(uint32_t ctx_flags, void *arg, size_t *size);
	/* Prepares the buffer, which is all zero. */
	int (*fmt_init)(uint32_t ctx_flags, void *arg, void *buf);
	/* A PMD has overflowed. @tstamp: CLOCK_MONOTONIC ns, the same for all of one look and
	 * increasing from one to the next; @data: a pfm_smpl_where_t. Required. */
	int (*fmt_handler)(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data);
	/* The tool has written "restart". @is_active: monitoring is not masked. */
	int (*fmt_restart)(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl);
	/* The buffer is about to be freed. */
	int (*fmt_exit)(void *buf);
	/* Of perfmonfs: something has happened to a process on this CPU. */
	int (*fmt_event)(void *buf, const pfm_smpl_event_t *event);
} pfm_buffer_fmt_t;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Sampling formats (specification 3.5): what to record when a counter overflows. A format is a
 * structure of callbacks. Some formats are linked into the daemon. Others are shared objects, in
 * the daemon's directory of formats or registered by root while it runs, which export
 *
 *	const pfm_buffer_fmt_t perfmonfs_format;
 *
 * It must not change until the object is closed: when the daemon ends, or after root has removed
 * the format, when no context uses it any more.
 *
 * Callbacks run in the daemon as root, in the thread that monitors a CPU. They must not block, and
 * may use only their arguments. They return 0 or a positive errno. An error masks monitoring of the
 * context. A crash ends the daemon, whose next start restores the registers.
 */
#ifndef PERFMONFS_FORMAT_H
#define PERFMONFS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfmonfs/smpl_file.h"
#include "perfmonfs/smpl_source.h"

enum {
	/* version of this header; the daemon refuses formats with a different one */
	PFM_FMT_API = 6,
	PFM_FMT_MAX_PMDS = 320,
	PFM_FMT_BV = PFM_FMT_MAX_PMDS / 64,
};

typedef unsigned char pfm_uuid_t[16];

/* What to do after a callback (3.5.14, 3.5.15). All are 0 before the call. */
typedef struct {
	unsigned notify_user : 1;     /* send a message, if the PMD asks for notification */
	unsigned reset_ovfl_pmds : 1; /* reset the PMD and its list; short (restart: long) values */
	unsigned block_thread : 1;    /* stop the thread, in contexts with notify_block */
	unsigned mask_monitoring : 1; /* stop counting until restart; ignores reset_ovfl_pmds */
} pfm_ovfl_ctrl_t;

/* An overflow. Simultaneous overflows are reported in increasing order of PMDs. */
typedef struct {
	uint16_t ovfl_pmd;
	uint16_t active_set;
	pfm_ovfl_ctrl_t ovfl_ctrl; /* output */
	uint64_t pmd_last_reset;   /* value loaded last into the PMD */
	/* values of the PMDs in smpl_pmds, contiguous */
	uint64_t smpl_pmds_values[PFM_FMT_MAX_PMDS];
	uint64_t pmd_value; /* events since the overflow */
	uint64_t pmd_eventid;
	uint64_t smpl_pmds[PFM_FMT_BV]; /* PMDs to record */
	uint16_t ovfl_notify;           /* 1: the PMD asks for notification */
	/* Only in perfmonfs: number of overflows of this PMD since the last poll, 1 or more. */
	uint32_t ovfl_count;
} pfm_ovfl_arg_t;

/* The registers and the top of the stack of a thread at user level: see smpl_stack.h. */
typedef struct {
	const uint64_t *regs; /* PFM_STACK_REGS of them; NULL: not recorded */
	const void *stack;
	uint32_t stack_size; /* bytes, a multiple of 8 */
	uint32_t abi;
} pfm_smpl_user_t;

/* The @data of fmt_handler: what the CPU was executing. */
typedef struct {
	/* 0 if unknown, or if in the kernel and secret; see @precise */
	uint64_t ip;
	uint32_t pid; /* process; 0: idle */
	uint32_t tid;
	uint16_t cpu;
	uint16_t known;   /* 0: only cpu and precise are valid, and the rest is 0 */
	uint16_t precise; /* PFM_SMPL_*: how the address was found */
	uint16_t nframes; /* 0: there is no call chain, or none was requested */
	/* The call chain with its markers as in smpl_stack.h; valid during the call only. */
	const uint64_t *frames;
	pfm_smpl_user_t user; /* valid during the call only, too */
} pfm_smpl_where_t;

/* An event of a process, for formats with fmt_event. */
enum pfm_smpl_event_type {
	PFM_EVENT_EXEC,
	PFM_EVENT_MMAP,
	PFM_EVENT_COMM,
	PFM_EVENT_EXIT,
	PFM_EVENT_WAIT, /* only with fmt_waits */
};
typedef struct {
	enum pfm_smpl_event_type type;
	uint32_t pid, tid;
	uint64_t tstamp;
	uint64_t addr, len, pgoff; /* only for MMAP and, as in smpl_correlate.h, for WAIT */
	const char *name;          /* MMAP: file; COMM, EXEC: command; else "" */
	pfm_smpl_file_t file;      /* only for MMAP */
} pfm_smpl_event_t;

/* A member of the argument structure that users set with "name=value", or a flag that a word
 * sets. */
typedef struct {
	const char *name;
	size_t offset;
	unsigned size; /* bytes of the member: 4 or 8 */
	uint32_t flag; /* if not 0, a word without value sets these bits of the member */
	uint64_t def;  /* default of the member; if flags share a member, the first flag has it */
} pfm_fmt_param_t;

enum {
	PFM_FMTFL_NOSET = 1,  /* the format supports only event set 0 */
	PFM_FMTFL_STACKS = 2, /* the format wants call chains */
};

typedef struct {
	unsigned fmt_api;     /* PFM_FMT_API */
	const char *fmt_name; /* letters, digits, '_', '.', '-' */
	pfm_uuid_t fmt_uuid;
	size_t fmt_arg_size;   /* bytes of the argument structure; 0 for none */
	size_t fmt_msgq_depth; /* messages that a context's queue has room for; 32 if less */
	uint32_t fmt_flags;    /* PFM_FMTFL_* */
	uint32_t fmt_version;  /* version of the buffer's layout: major << 16 | minor */
	const pfm_fmt_param_t *fmt_params; /* ends with the name NULL; NULL for none */

	/* Checks @arg for a context. */
	int (*fmt_validate)(uint32_t ctx_flags, uint16_t num_pmds, void *arg);
	/* Sets *@size to the size of the buffer in bytes. NULL or 0: no buffer. */
	int (*fmt_getsize)(uint32_t ctx_flags, void *arg, size_t *size);
	/* Initializes the buffer, which is zero. */
	int (*fmt_init)(uint32_t ctx_flags, void *arg, void *buf);
	/* Handles an overflow. @tstamp: CLOCK_MONOTONIC, ns, the same for all overflows of a poll;
	 * @data: a pfm_smpl_where_t. Required. */
	int (*fmt_handler)(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data);
	/* Handles restart by the tool. @is_active: whether monitoring is not masked. */
	int (*fmt_restart)(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl);
	/* Called before the buffer is freed. */
	int (*fmt_exit)(void *buf);
	/* Only in perfmonfs: handles an event of a process on this CPU. */
	int (*fmt_event)(void *buf, const pfm_smpl_event_t *event);
	/* Only in perfmonfs: the counts of @pmds of set @set are lost. They are not sampled, and do
	 * not overflow, until they are written. */
	void (*fmt_lost)(void *buf, uint16_t set, const uint64_t pmds[PFM_FMT_BV]);
	/* Only in perfmonfs: receives how overflows are found, each time this changes. */
	void (*fmt_source)(void *buf, const pfm_smpl_source_t *source);
	/* Only in perfmonfs: the bytes of the user's stack that samples are to have, together with
	 * the user's registers. NULL or 0: none. */
	uint32_t (*fmt_user_stack)(const void *arg);
	/* Only in perfmonfs: whether fmt_event is to be called at the end of each wait of a thread.
	 * NULL: it is not. */
	bool (*fmt_waits)(const void *arg);
} pfm_buffer_fmt_t;

#endif

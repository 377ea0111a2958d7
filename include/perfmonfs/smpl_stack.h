/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "stack": the samples of "default", each with the call chain of the
 * interrupted thread. The buffer is a header and hdr_count samples up to hdr_cur_offs. A sample is
 * an entry, the 64-bit values of npmds PMDs in increasing order, and nframes frames. The next
 * sample follows directly: see pfm_stack_smpl_size().
 *
 * Frames are addresses, from the innermost function to the outermost, except that values from
 * PFM_STACK_MARKER on are markers. A marker gives the level of the frames after it, up to the next
 * marker; the values are the kernel's PERF_CONTEXT_*. The first frame is a marker, the second is
 * the instruction pointer. The frames after that are return addresses: look up ADDRESS - 1. The
 * kernel's part comes before the user's. User frames are found by frame pointers: programs compiled
 * without frame pointers have few frames or wrong ones, and a function that has not yet set up its
 * frame, or has none, hides its caller.
 *
 * With user_stack, which needs a context on a thread of the perf backend, the frames have no user
 * part. Instead, a sample that an interrupt has found ends with a pfm_stack_smpl_user_t and
 * stack_size bytes, the thread's registers and the top of its stack at user level, from which a
 * tool unwinds the call chain. PFM_STACK_USER_STATE marks it.
 *
 * Kernel addresses and their marker are left out unless the user that loaded the context may count
 * at kernel level.
 *
 * A full buffer and restart work as in "default". Load hdr_count first, with acquire semantics.
 */
#ifndef PERFMONFS_SMPL_STACK_H
#define PERFMONFS_SMPL_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "perfmonfs/smpl_dfl.h"
#include "perfmonfs/smpl_source.h"

#define PFM_STACK_SMPL_NAME "stack"
#define PFM_STACK_SMPL_UUID                                                                        \
	{                                                                                          \
		0x0e, 0x9d, 0x5c, 0x31, 0x8b, 0x5a, 0x4c, 0x1f, 0x9f, 0x07, 0x2a, 0x66, 0xd1,      \
			0x3e, 0x94, 0xb8                                                           \
	}
#define PFM_STACK_SMPL_VERSION (1U << 16)
#define PFM_STACK_SMPL_TAG     0x63617473U /* "stac" */

enum {
	PFM_STACK_MAX_FRAMES = 127, /* most frames of a sample, without markers */
	PFM_STACK_MAX_MARKERS = 4,
	PFM_STACK_USER_STACK_MAX = 65528, /* most bytes of the user's stack in a sample */
};

/* Markers are the values from PFM_STACK_MARKER on. */
#define PFM_STACK_MARKER     ((uint64_t)-4095)
#define PFM_STACK_HYPERVISOR ((uint64_t)-32)
#define PFM_STACK_KERNEL     ((uint64_t)-128)
#define PFM_STACK_USER       ((uint64_t)-512)

/* buf_flags */
enum {
	PFM_STACK_SMPL_NO_KERNEL = 1, /* without kernel frames */
	PFM_STACK_SMPL_NO_USER = 2,   /* without user frames; not together with NO_KERNEL */
	/* Only in "profile", for a context on a thread of the perf backend: with a record
	 * PFM_CORRELATE_WAIT each time the thread runs again. */
	PFM_STACK_SMPL_WAITS = 4,
};

typedef struct pfm_stack_smpl_arg {
	uint64_t buf_size; /* bytes, with the header */
	uint32_t buf_flags;
	/* most frames of a sample, without markers: 1 to PFM_STACK_MAX_FRAMES */
	uint32_t max_frames;
	uint32_t num_pmds; /* set by fmt_validate */
	/* most bytes of the user's stack, a multiple of 8 up to PFM_STACK_USER_STACK_MAX; 0: user
	 * frames instead. Not with NO_USER. */
	uint32_t user_stack;
	uint32_t parts; /* only in "profile": see smpl_correlate.h */
	uint32_t reserved1;
	uint64_t reserved[4];
} pfm_stack_smpl_arg_t;

typedef struct pfm_stack_smpl_hdr {
	uint64_t hdr_count;     /* samples in the buffer */
	uint64_t hdr_cur_offs;  /* offset of the next sample in the buffer */
	uint64_t hdr_overflows; /* how often the buffer became full */
	uint64_t hdr_buf_size;  /* bytes, with this header */
	/* bytes of the largest sample; with less left, the buffer is full */
	uint64_t hdr_min_buf_space;
	uint32_t hdr_version; /* PFM_STACK_SMPL_VERSION */
	uint32_t hdr_buf_flags;
	uint64_t hdr_lost;            /* overflows lost because the buffer was full */
	uint64_t hdr_counts_lost;     /* counts lost: from then on, samples are missing */
	pfm_smpl_source_t hdr_source; /* how overflows and stacks are found */
	uint32_t hdr_max_frames;      /* most frames of a sample, without markers */
	uint32_t hdr_num_pmds;        /* most values of a sample */
	uint64_t hdr_gap;             /* as in "default" */
	uint64_t hdr_reserved[1];
	uint32_t hdr_tag;        /* PFM_STACK_SMPL_TAG */
	uint32_t hdr_user_stack; /* most bytes of the user's stack in a sample */
} pfm_stack_smpl_hdr_t;

/* flags */
enum {
	PFM_STACK_CUT = 1,        /* the stack has more frames than max_frames */
	PFM_STACK_USER_STATE = 2, /* a pfm_stack_smpl_user_t follows the frames */
};

typedef struct pfm_stack_smpl_entry {
	pfm_dfl_smpl_entry_t dfl; /* as in "default"; ovfl_count may be more than 1 */
	uint16_t npmds;           /* values */
	uint16_t nframes;         /* frames, with markers; 0: the stack is unknown */
	uint16_t source;          /* PFM_SMPL_*: how the sample was found */
	uint16_t flags;           /* PFM_STACK_CUT, PFM_STACK_USER_STATE */
} pfm_stack_smpl_entry_t;

/* indexes of regs */
enum {
	PFM_STACK_AX,
	PFM_STACK_BX,
	PFM_STACK_CX,
	PFM_STACK_DX,
	PFM_STACK_SI,
	PFM_STACK_DI,
	PFM_STACK_BP,
	PFM_STACK_SP,
	PFM_STACK_IP,
	PFM_STACK_R8, /* R9 to R15 follow */
	PFM_STACK_REGS = PFM_STACK_R8 + 8
};

/* The thread at user level. stack_size bytes of its stack follow, from the stack pointer on. */
typedef struct pfm_stack_smpl_user {
	uint32_t abi;        /* 1: a program of 32 bits; 2: of 64 bits */
	uint32_t stack_size; /* a multiple of 8 */
	uint64_t regs[PFM_STACK_REGS];
} pfm_stack_smpl_user_t;

/* The user's registers and stack, which exist only with PFM_STACK_USER_STATE. */
static inline const pfm_stack_smpl_user_t *pfm_stack_smpl_user(const pfm_stack_smpl_entry_t *e)
{
	return (const pfm_stack_smpl_user_t *)((const uint64_t *)(e + 1) + e->npmds + e->nframes);
}

/* Bytes of a sample, a multiple of 8. */
static inline size_t pfm_stack_smpl_size(const pfm_stack_smpl_entry_t *e)
{
	size_t n = sizeof(*e) + ((size_t)e->npmds + e->nframes) * sizeof(uint64_t);

	if (e->flags & PFM_STACK_USER_STATE)
		n += sizeof(pfm_stack_smpl_user_t) + pfm_stack_smpl_user(e)->stack_size;
	return n;
}

#endif

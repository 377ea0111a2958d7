/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "correlate" (specification 6.3.2): the samples of "default" and, between
 * them, events of processes, so that a tool can attribute samples of processes that have ended. The
 * buffer is a header and hdr_count records up to hdr_cur_offs. Each record begins with its type and
 * its size, a multiple of 8. Skip records of unknown types.
 *
 * A full buffer and restart work as in "default". An event is lost if it would leave no room for
 * the largest sample; then the next sample makes the buffer full. Events are also lost while the
 * buffer is full. If hdr_lost_events has grown, read /proc. A gap (see hdr_source) is an event,
 * too.
 *
 * With several parts, counting goes on while the tool reads a full part. The last record of such a
 * part, PFM_CORRELATE_NEXT, has the offset of the record that follows it, in the next part;
 * hdr_count counts on. Each restart frees the oldest full part: restart once for each
 * PFM_CORRELATE_NEXT that has been read. The buffer is full when the last free part is.
 */
#ifndef PERFMONFS_SMPL_CORRELATE_H
#define PERFMONFS_SMPL_CORRELATE_H

#include <stdint.h>

#include "perfmonfs/smpl_dfl.h"
#include "perfmonfs/smpl_file.h"

#define PFM_CORRELATE_SMPL_NAME "correlate"
#define PFM_CORRELATE_SMPL_UUID                                                                    \
	{                                                                                          \
		0x6d, 0x75, 0xf0, 0x78, 0x17, 0x01, 0x49, 0xb8, 0x91, 0x45, 0x65, 0xb3, 0x09,      \
			0x27, 0x66, 0x07                                                           \
	}
#define PFM_CORRELATE_SMPL_VERSION (1U << 16)
#define PFM_CORRELATE_SMPL_TAG     0x72726f63U /* "corr" */

enum { PFM_CORRELATE_NAME_MAX = 4096 }; /* bytes, with the NUL; longer names are truncated */

enum {
	PFM_CORRELATE_SAMPLE = 1, /* pfm_dfl_smpl_entry_t and its body */
	PFM_CORRELATE_EXEC,       /* from here on, pfm_correlate_smpl_event_t and a name */
	PFM_CORRELATE_MMAP,
	PFM_CORRELATE_COMM,
	PFM_CORRELATE_EXIT,
	PFM_CORRELATE_STACK, /* only in "profile": pfm_stack_smpl_entry_t, values and frames */
	PFM_CORRELATE_GAP,   /* pfm_correlate_smpl_gap_t */
	PFM_CORRELATE_FILE,  /* pfm_smpl_file_t: the file that the next record, an MMAP, maps */
	PFM_CORRELATE_WAIT,  /* pfm_correlate_smpl_event_t; only in "profile", with "waits" */
	PFM_CORRELATE_NEXT,  /* uint64_t: the offset in the buffer of the next record */
};

enum { PFM_CORRELATE_MAX_PARTS = 64 };

typedef struct pfm_correlate_smpl_arg {
	uint64_t buf_size; /* bytes, with the header */
	uint32_t num_pmds; /* set by fmt_validate */
	uint32_t parts;    /* up to PFM_CORRELATE_MAX_PARTS; 0 is the same as 1 */
	uint64_t reserved[6];
} pfm_correlate_smpl_arg_t;

/* hdr_state */
enum {
	PFM_CORRELATE_OPEN,
	PFM_CORRELATE_ENDING, /* an event was lost: the next sample makes the buffer full */
	PFM_CORRELATE_FULL,
	PFM_CORRELATE_TURNED, /* an event has begun a part: the next sample notifies */
};

typedef struct pfm_correlate_smpl_hdr {
	uint64_t hdr_count;           /* records in the buffer, of any type */
	uint64_t hdr_cur_offs;        /* offset of the next record in the buffer */
	uint64_t hdr_overflows;       /* how often the buffer became full */
	uint64_t hdr_buf_size;        /* bytes, with this header */
	uint64_t hdr_min_buf_space;   /* bytes of the largest sample's record */
	uint32_t hdr_version;         /* PFM_CORRELATE_SMPL_VERSION */
	uint32_t hdr_state;           /* PFM_CORRELATE_OPEN, _ENDING, _FULL or _TURNED */
	uint64_t hdr_lost;            /* overflows lost because the buffer was full */
	uint64_t hdr_lost_events;     /* events lost because there was no room */
	uint64_t hdr_counts_lost;     /* counts lost: from then on, samples are missing */
	pfm_smpl_source_t hdr_source; /* how overflows are found */
	/* PFM_STACK_SMPL_*; this and the next three only in "profile" */
	uint32_t hdr_buf_flags;
	uint32_t hdr_max_frames; /* most frames of a sample, without markers */
	uint32_t hdr_num_pmds;   /* most values of a sample */
	uint32_t hdr_user_stack; /* most bytes of the user's stack in a sample */
	uint32_t hdr_tag;        /* PFM_CORRELATE_SMPL_TAG, PFM_PROFILE_SMPL_TAG */
	uint16_t hdr_parts;      /* 1 or more */
	uint16_t hdr_full_parts; /* full parts that no restart has freed */
} pfm_correlate_smpl_hdr_t;

typedef struct pfm_correlate_smpl_rec {
	uint32_t rec_type; /* PFM_CORRELATE_* */
	uint32_t rec_size; /* bytes, with this structure */
} pfm_correlate_smpl_rec_t;

typedef struct pfm_correlate_smpl_event {
	uint32_t pid; /* process */
	uint32_t tid;
	uint64_t tstamp; /* CLOCK_MONOTONIC, ns */
	/* For MMAP; otherwise 0. WAIT: the thread has run from tstamp on, after len ns in which it
	 * did not run; 0: it is not known how long, as records are missing or the thread is new.
	 * addr is 1 if it was preempted: it did not wait for anything but a CPU. */
	uint64_t addr, len, pgoff;
	/* C++ has no arrays without a length. */
#ifndef __cplusplus
	char name[]; /* padded with one or more NULs up to rec_size */
#endif
} pfm_correlate_smpl_event_t;

typedef struct pfm_correlate_smpl_gap {
	/* hdr_source.gaps; samples may be missing between the previous record and this one */
	uint64_t gaps;
} pfm_correlate_smpl_gap_t;

#endif

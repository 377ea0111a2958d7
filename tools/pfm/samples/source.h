/* SPDX-License-Identifier: MIT */
/* A context with the sampling format "correlate" or "profile", and the position in its buffer. */
#ifndef TOOLS_PFM_SAMPLES_SOURCE_H
#define TOOLS_PFM_SAMPLES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "perfmonfs/smpl_profile.h"
#include "tools/pfm/samples/track.h"
#include "tools/pfm/tree/ctx.h"

enum { SOURCE_NAME = 32, SAMPLING_EVENTS = 16 };

struct sampled_event {
	unsigned pmd; /* it overflows */
	uint64_t period;
	uint32_t hz; /* the period follows the event, to have so many samples a second; 0: fixed */
};

/* Parameters of sampling. */
struct sampling {
	struct sampled_event events[SAMPLING_EVENTS]; /* as in the file */
	unsigned n;
	const char *pmcs; /* lines for regs that select the events */
	size_t buf_size;  /* bytes of a buffer */
	bool stacks;      /* record call chains */
	/* The last event counts switches, each of which is a sample of a thread that stops running.
	 * The file has one event for all samples, which counts ns: those that a thread has run,
	 * until an overflow of the other event if there is one, and those that it has waited. */
	bool waits;
	/* bytes of stacks from which chains are unwound; 0: the kernel finds chains */
	uint32_t user_stack;
};

/* The rate of an event whose period follows it. */
struct source_rate {
	uint64_t period;   /* as last written; 0: that of the sampling */
	uint64_t since;    /* ns of counting, as source_time(): when it was last examined */
	uint64_t partial;  /* events that were counted when the period was changed */
	uint64_t last;     /* time of the last sample */
	uint64_t interval; /* ns from one overflow to the next, smoothed */
	unsigned n;        /* intervals since the period was written */
};

/* The wait of a thread. */
struct source_wait {
	/* A copy of the sample of its beginning, and the bytes there is room for. */
	pfm_stack_smpl_entry_t *at;
	size_t room;
	bool open;  /* The thread waits, since the sample. */
	bool lost;  /* The buffer had no room for an event, perhaps the end of the wait. */
	bool known; /* Since sampling began, a sample or a wait has come. */
	/* When sampling of a thread began that was there then; 0: the thread is younger. */
	uint64_t begun;
};

struct source {
	const struct sampling *sampling;
	struct source_rate rates[SAMPLING_EVENTS];
	char name[SOURCE_NAME]; /* below children/; "" for the context of a clone */
	int dir;                /* the context's directory */
	int msg;
	const pfm_correlate_smpl_hdr_t *buf; /* mapped; NULL: not mapped */
	size_t size;
	uint64_t taken; /* records read since the last restart */
	size_t at;      /* offset of the next record */
	uint64_t lost;  /* hdr_lost, hdr_lost_events, hdr_source.dropped as last recorded */
	uint64_t lost_events;
	uint64_t dropped;
	pfm_smpl_file_t mapped; /* of the next record, an MMAP; all 0: not known */
	struct source_wait wait;
	bool ended; /* the thread or process has ended */
};

#define SOURCE_NONE                                                                                \
	{                                                                                          \
		.dir = -1, .msg = -1, .at = sizeof(pfm_correlate_smpl_hdr_t)                       \
	}

/* Sets up @ctx for @sampling, and opens it. It is neither loaded nor started. */
int source_open(
	struct source *s, struct tree_ctx *ctx, const struct sampling *sampling, struct err *e);
/* Opens the child @name of the context in directory @parent. */
int source_open_child(struct source *s, int parent, const char *name,
	const struct sampling *sampling, struct err *e);
/* Also accepts SOURCE_NONE. */
void source_close(struct source *s);

/* Records what is new in the buffer, and restarts the context if the buffer is full. */
int source_drain(struct source *s, struct track *t, struct err *e);
/* Handles all messages: restores lost counts, and notes the end in @s. Then drains the buffer. */
int source_handle(struct source *s, struct track *t, struct err *e);
/* Records the wait of a thread that waited when sampling ended. */
int source_end_wait(struct source *s, struct track *t, struct err *e);
/* Adapts the periods that follow their events. What is in the buffer must have been drained. */
int source_adapt(struct source *s, struct track *t, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* A recording in progress: contexts, their children, and the file. */
#ifndef TOOLS_PFM_SAMPLES_RECORDER_H
#define TOOLS_PFM_SAMPLES_RECORDER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/text.h"
#include "tools/pfm/samples/data.h"
#include "tools/pfm/samples/pieces.h"
#include "tools/pfm/samples/source.h"
#include "tools/pfm/samples/track.h"
#include "tools/pfm/tree/ctx.h"

/* A context that the recording has created, and its children. */
struct recorder_root {
	struct tree_ctx ctx;
	struct source source;
	uint32_t pid;         /* its process or thread, whose children it has; 0: it is on a CPU */
	struct hash children; /* struct recorder_child, by name */
};

struct recorder_child {
	struct hash_node node;
	struct source source;
};

struct recorder {
	const struct sampling *sampling;
	struct data_writer out;
	struct track track;
	struct recorder_root **roots;
	unsigned nroots;
	bool stopping;
	bool attached;         /* what is sampled was running before, and may wait already */
	bool progress;         /* show progress while recording */
	uint64_t delay_ns;     /* from recorder_start() until sampling begins; 0: none */
	uint64_t duration_ns;  /* of sampling; 0: there is no limit */
	struct pieces *pieces; /* NULL: the recording is one file */
	bool no_names;         /* store addresses without names */
	bool in_memory;
	uint64_t begun_ns;   /* CLOCK_MONOTONIC: when sampling began; 0: not yet */
	uint64_t file_ns;    /* when that of the present file began */
	uint64_t stopped_ns; /* when it ended; 0: not yet */
	uint64_t head_bytes; /* with which the present piece began */
	uint64_t shown_ns;   /* when progress was last shown */
	struct text head;    /* the records with which each piece begins */
	int epoll;
	int timer;
	int alarm; /* a timer for the end of the delay, then for that of the duration */
};

/* The reason why recorder_run() returned. */
enum recorder_end {
	RECORDER_ENDED = 1, /* all threads have ended */
	RECORDER_WAITED,    /* the descriptor has become readable */
	RECORDER_SIGNALLED,
	RECORDER_ELAPSED, /* the duration is over */
};

/* Begins the file @path, with the lines KEY VALUE of @info. recorder_start() renames an older file
 * to PATH.old. NULL: in memory, for recorder_cut(). */
int recorder_open(struct recorder *r, const char *path, const struct sampling *sampling,
	const char *info, struct err *e);
/* Records the event @number of the sampling, each in turn. */
int recorder_add_event(
	struct recorder *r, unsigned number, uint64_t code, const char *name, struct err *e);
/* Creates a context and loads it by @load, a command of ctl. @pid: process or thread; 0: a CPU.
 * -ESRCH: it has ended, and nothing is added. */
int recorder_add(
	struct recorder *r, const struct tree *t, const char *load, uint32_t pid, struct err *e);
/* Creates the file, and begins to sample or, if there is a delay, waits for that in recorder_run().
 */
int recorder_start(struct recorder *r, struct err *e);
/* Records until the duration is over, all threads have ended, the descriptor @signals reports a
 * signal, or @wait becomes readable; -1: no such descriptor. Returns enum recorder_end, or -errno.
 */
int recorder_run(struct recorder *r, int signals, int wait, struct err *e);
/* Records what is there now, without waiting. Returns 0, RECORDER_ENDED, or -errno. */
int recorder_poll(struct recorder *r, struct err *e);
/* Gives what was recorded in memory since the last call, with its names, to the caller. */
int recorder_cut(struct recorder *r, struct data_file *f, struct err *e);
/* Stops, and records what is left. */
int recorder_stop(struct recorder *r, struct err *e);
/* Removes the contexts and closes the file, even after a failure. @ended: stores the names of the
 * sampled code, and marks the end of the recording. */
int recorder_close(struct recorder *r, bool ended, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* The state of processes while pfm record runs: the mappings that it has written to the file, so
 * that each precedes the samples that need it. */
#ifndef TOOLS_PFM_SAMPLES_TRACK_H
#define TOOLS_PFM_SAMPLES_TRACK_H

#include "base/err.h"
#include "perfmonfs/smpl_file.h"
#include "perfmonfs/smpl_source.h"
#include "tools/pfm/samples/chains.h"
#include "tools/pfm/samples/data.h"
#include "tools/pfm/samples/image.h"

struct track {
	struct data_writer *out;
	struct image image; /* its objects have open files, as long as there are descriptors */
	struct hash names;  /* of threads: struct track_name, by tid */
	uint64_t round;     /* counts calls of track_round(), from 1 */
	uint64_t samples;   /* samples written */
	uint64_t until;     /* when sampling ended, CLOCK_MONOTONIC; 0: it goes on */
	bool losses;        /* something was lost */
	uint32_t precise;   /* bits 1 << PFM_SMPL_* that are in the file */
	unsigned files;     /* that may still be kept open */
	bool foreign; /* the daemon is in another PID namespace, and samples have its numbers */
	struct chains *chains; /* samples whose chains are being unwound; NULL: none are */
};

/* Functions that return int return 0, or the errno of writing to @out. */
int track_init(struct track *t, struct data_writer *out, struct err *e);
void track_free(struct track *t);

/* Records in an empty file what is known of the processes that have not ended, and forgets the
 * others. */
int track_renew(struct track *t, struct err *e);

/* From this call on, the mappings of each process may be read once more. */
void track_round(struct track *t);

/* Records a mapping @m that the kernel has reported, of @file at the path @name. */
int track_map(struct track *t, struct data_map *m, const char *name, const pfm_smpl_file_t *file,
	struct err *e);
/* Records a name of a thread. c->exec: its process executes another program. */
int track_comm(struct track *t, const struct data_comm *c, const char *name, struct err *e);
/* Records the end of a thread. */
int track_exit(struct track *t, const struct data_exit *x, struct err *e);
/* Records the mappings, and the names of the threads, that process @own has before the recording
 * begins. The daemon has loaded it, or one of its threads, as thread @tid. */
int track_target(struct track *t, uint32_t own, uint32_t tid, struct err *e);
/* Records that @count things of @kind are missing; 0: none. @tid: the thread, or 0. */
int track_loss(struct track *t, enum data_loss kind, uint64_t count, uint32_t tid, const char *why,
	struct err *e);
/* Records how overflows are found. */
int track_source(struct track *t, const pfm_smpl_source_t *source, struct err *e);
/* Call it before a sample: it reads the mappings of the process if none is known at the address. */
int track_sample(struct track *t, const struct data_sample *s, struct err *e);
/* Call it before a stack. @ip is the first address in the program; 0: the stack has none. */
int track_stack(struct track *t, uint32_t pid, uint64_t time, uint64_t ip, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* A sample file, with names for the code that the samples interrupted. */
#ifndef TOOLS_PFM_SAMPLES_RECORDING_H
#define TOOLS_PFM_SAMPLES_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"
#include "tools/pfm/samples/data.h"
#include "tools/pfm/samples/image.h"
#include "tools/pfm/samples/interned.h"
#include "tools/pfm/samples/locations.h"
#include "tools/pfm/samples/stored.h"

/* A thread, for as long as it and its process have the same names. */
struct recorded_thread {
	uint32_t pid;
	uint32_t tid;
	unsigned life, thread_life; /* of the process and the thread: image_life() */
	const char *comm;           /* NULL: not known */
	const char *process;        /* name of the process; NULL: not known */
};

/* Threads, stacks and chains are numbers, which recording_thread() and others look up. */
struct recorded_sample {
	uint64_t time;   /* CLOCK_MONOTONIC, ns */
	uint64_t weight; /* overflows */
	uint32_t cpu;
	uint32_t thread;
	uint32_t stack;
	uint32_t chain; /* the addresses of the stack, as in the file */
};

/* The locations of the interrupted function and of its callers, by number; 1 at least. Functions
 * that are inlined there are not listed: see location.into. */
struct recorded_stack {
	const uint32_t *locations;
	uint32_t n;
};

struct recorded_event {
	const char *name;
	uint64_t period;                 /* events that a weight of 1 stands for */
	uint32_t hz;                     /* samples a second; 0: a sample each period */
	struct recorded_sample *samples; /* sorted by time */
	size_t nsamples;
	size_t nstacks;  /* of these, those with a call chain */
	uint64_t weight; /* of all samples */
};

struct recorded_loss {
	uint32_t kind; /* enum data_loss */
	uint64_t count;
	const char *why;
};

/* How functions are named: a sum of these. */
enum recording_names {
	RECORDING_ADDRESSES = 0, /* by addresses */
	RECORDING_SYMBOLS = 1,
	RECORDING_DEMANGLE = 2, /* names of C++ and Rust as in the source */
	RECORDING_INLINED = 4,  /* inlined functions are frames */
	RECORDING_LINES = 8,    /* names have source lines, as in "a prog.c:12" */
	RECORDING_PLACES = 16,  /* for find_names(): only the places of samples, without names */
	RECORDING_DEFAULT = RECORDING_SYMBOLS | RECORDING_DEMANGLE | RECORDING_INLINED,
};

struct recording {
	struct data_file file;
	struct image image;
	struct text info; /* lines KEY VALUE */
	struct recorded_event events[DATA_EVENTS_MAX];
	unsigned nevents;
	/* The event that is shown, and its samples: recording_choose(). */
	const struct recorded_event *event;
	struct recorded_sample *samples; /* sorted by time */
	size_t nsamples;
	uint64_t weight;             /* of these samples */
	struct recorded_sample *all; /* of all events, one event after the other */
	struct interned threads;
	struct interned stacks;
	struct interned chains;
	struct stored stored;
	size_t ncut; /* samples whose call chains lack the outermost callers */
	struct hash locations;
	const struct location **by_number; /* the locations */
	uint32_t nlocations;
	uint32_t locations_room;
	unsigned nlines;       /* locations whose position in the source is known */
	unsigned names;        /* enum recording_names */
	struct hash demangled; /* demangled names of functions, by the mangled name's address */
	struct recorded_loss *losses; /* sorted by kind and reason */
	uint32_t nlosses;
	uint32_t losses_room;
	struct text notes; /* lines about what is missing from the recording, and why */
	bool ended;        /* the recording ended properly */
	uint64_t end_ns;   /* CLOCK_MONOTONIC, if it ended */
};

/* Opens a file. Names that it lacks are found in the files of this machine. */
int recording_open(struct recording *r, const char *path, unsigned names, struct err *e);
/* Reads a file in memory, which the recording takes over, and no other file. */
int recording_take(struct recording *r, struct data_file file, unsigned names, struct err *e);
/* Frees what only perf_script_write() needs, the addresses of samples. */
void recording_drop_addresses(struct recording *r);
void recording_close(struct recording *r);

static inline const struct recorded_thread *recording_thread(
	const struct recording *r, const struct recorded_sample *s)
{
	return interned_get(&r->threads, s->thread).p;
}

static inline struct recorded_stack recording_stack(const struct recording *r, uint32_t number)
{
	const struct interned_sequence s = interned_get(&r->stacks, number);

	return (struct recorded_stack){s.p, (uint32_t)(s.size / sizeof(uint32_t))};
}

/* The interrupted function of a sample, the innermost one if it is inlined. */
static inline const struct location *recording_first(
	const struct recording *r, const struct recorded_sample *s)
{
	return r->by_number[recording_stack(r, s->stack).locations[0]];
}

/* The overflows at each location, by its number, which the caller frees. NULL: no memory. */
uint64_t *recording_self(const struct recording *r);

/* The value of @key in the file's information, up to the end of its line; empty: none. */
struct slice recording_info(const struct recording *r, const char *key);
/* Whether the file's information has a line with @key and @value. */
bool recording_has_info(const struct recording *r, const char *key, const char *value);
/* The time for which it was sampled, ns; 0: not known. */
uint64_t recording_sampled_ns(const struct recording *r);
/* Shows the event with that index. At first, it is event 0. */
void recording_choose(struct recording *r, unsigned event);
/* The name and the period of the event that is shown. */
const char *recording_event(const struct recording *r);
uint64_t recording_period(const struct recording *r);
/* Whether the event with the name @event counts ns, at any level. */
bool recording_counts_time(const char *event);
/* Whether the recording's event counts ns. */
bool recording_is_time(const struct recording *r);
/* Whether the weights are ns, as those of waits. */
bool recording_is_ns(const struct recording *r);

#endif

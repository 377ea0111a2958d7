/* SPDX-License-Identifier: MIT */
/*
 * The sample file, pfm-data(5): a head, then records in the byte order of the machine. Records of
 * different threads are not ordered by time. A file may end after any record. If it ends within a
 * record, it was cut, and the preceding records are valid.
 */
#ifndef TOOLS_PFM_SAMPLES_DATA_H
#define TOOLS_PFM_SAMPLES_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DATA_MAGIC "PFMDATA\n"
enum {
	DATA_VERSION = 2, /* versions from 1 on are read */
	DATA_ORDER = 0x01020304,
	DATA_SIZE_MAX = 1 << 20, /* bytes of a record */
	DATA_FRAMES_MAX = 1024,
	DATA_EVENTS_MAX = 64,
	DATA_INLINED_MAX = 64,   /* functions at one place */
	DATA_CODE_MAX = 1 << 16, /* bytes of a function whose code is stored */
	DATA_BUILD_ID_MAX = 20,
};

struct data_head {
	char magic[8];
	uint32_t version;
	uint32_t order; /* DATA_ORDER */
};

/* A reader skips types that it does not know. */
enum data_type {
	DATA_INFO = 1,
	DATA_EVENT,
	DATA_COMM,
	DATA_MAP,
	DATA_SAMPLE,
	DATA_LOST,
	DATA_END,
	DATA_STACK,
	DATA_EXIT,
	DATA_RATE,
	DATA_OBJECT,
	DATA_STRINGS,
	DATA_PLACES,
	DATA_CODE,
};

/* Each record begins with this, and is followed by the structure of its type. */
struct data_rec {
	uint32_t type;
	uint32_t size; /* bytes with this structure, a multiple of 8 */
};

/* Times are CLOCK_MONOTONIC in ns. Strings end with a NUL, and fill the record with NULs. */

/* DATA_INFO is text: lines KEY VALUE. */

/* An event that overflows. Its records precede the samples, which name an event by its number: the
 * first is 0. Version 1 has one. */
struct data_event {
	uint64_t period; /* events that a weight of 1 stands for */
	uint64_t code;   /* of the PMC */
	char name[1];
};

struct data_comm {
	uint64_t time;
	uint32_t pid;
	uint32_t tid;
	uint32_t exec; /* 1: the process executes another program, which ends its mappings */
	char name[1];
};

/* The end of a thread, whose number may be used again. */
struct data_exit {
	uint64_t time;
	uint32_t pid;
	uint32_t tid;
};

/* An executable mapping. */
struct data_map {
	uint64_t time;
	uint64_t addr;
	uint64_t len;
	uint64_t pgoff; /* offset in the file, in bytes */
	uint32_t pid;
	uint8_t id_size; /* bytes of the file's build ID; 0: none, or not known */
	/* The build ID, padded with 0. Without a build ID, the file's identity
	 * (regular_identity()); all 0: the file is not known, as its process had ended. */
	uint8_t id[DATA_BUILD_ID_MAX];
	char name[1];
};

struct data_sample {
	uint64_t time;
	uint64_t weight; /* overflows that the sample stands for */
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	uint16_t nframes; /* 1 or more */
	uint16_t event;   /* its number */
	uint64_t ip[1]; /* the instruction, then return addresses; 0: not known, or not permitted */
};

/* Frames from DATA_MARKER on are markers: they give the level of the frames after them, except
 * those of DATA_WAITING and DATA_PREEMPTED, which are functions in which a thread does not run. */
#define DATA_MARKER        ((uint64_t)-4095)
#define DATA_MARKER_KERNEL ((uint64_t)-128)
#define DATA_MARKER_USER   ((uint64_t)-512)
#define DATA_WAITING       ((uint64_t)-1024)
#define DATA_PREEMPTED     ((uint64_t)-1025)

static inline bool data_is_marker(uint64_t frame)
{
	return frame >= DATA_MARKER && frame != DATA_WAITING && frame != DATA_PREEMPTED;
}

enum data_stack_flag {
	DATA_STACK_CUT = 1, /* the stack has more frames, those of outer functions */
};

/* A sample with its call chain, from the innermost function on. */
struct data_stack {
	uint64_t time;
	uint64_t weight;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	uint16_t nframes; /* with markers; 0: the stack is not known */
	uint16_t event;   /* its number */
	uint32_t flags;   /* enum data_stack_flag */
	/* In memory: the distance in 8 bytes to the frames, which are those of an earlier stack.
	 * In a file: 0. The frames follow. */
	uint32_t back;
};

/* The frames of @s: after a marker the instruction, then return addresses; 0: not permitted. */
static inline const uint64_t *data_frames(const struct data_stack *s)
{
	return s->back ? (const uint64_t *)s - s->back : (const uint64_t *)(s + 1);
}

enum data_loss {
	DATA_LOST_OVERFLOWS = 1, /* no room in the buffer */
	DATA_LOST_COUNT,         /* a count was lost: samples are missing until it was restored */
	DATA_LOST_EVENTS,        /* mappings and names of programs */
	DATA_LOST_THREAD,        /* threads that could not be followed */
	DATA_LOST_THROTTLED,     /* pauses because of too many overflows a second */
	DATA_LOST_DROPPED,       /* samples that the counter's next samples stand for */
	DATA_LOST_NAMES,         /* the search for names was broken off */
	DATA_LOST_WAITS,         /* waits of a length or a place that is not known */
};

struct data_lost {
	uint64_t time;
	uint64_t count;
	uint32_t kind; /* enum data_loss */
	uint32_t tid;  /* 0: on a CPU */
	char why[1];
};

/* The samples a second that were asked for. The event's period is 1, and the weight of a sample is
 * the number of events since the previous one. */
struct data_rate {
	uint32_t event;
	uint32_t hz;
};

/*
 * The names of the code that was sampled, found when the recording ended: objects, strings, and
 * places, each numbered from 0 on in the order of the file. A place refers to objects and strings
 * before it. String 0 is empty: there is none.
 */
enum data_object_flag {
	DATA_OBJECT_KERNEL = 1,  /* the kernel or a module: its offsets are addresses */
	DATA_OBJECT_PROCESS = 2, /* code that a process has made: its offsets are addresses there */
};

struct data_object {
	uint32_t flags;  /* enum data_object_flag */
	uint32_t pid;    /* with DATA_OBJECT_PROCESS */
	uint32_t life;   /* number of processes that had this pid before */
	uint32_t why;    /* string: why its functions have no names */
	uint8_t id_size; /* as in struct data_map */
	uint8_t id[DATA_BUILD_ID_MAX];
	char name[1]; /* of a file, that of its mappings */
};

struct data_strings {
	uint32_t n; /* strings that follow, each with its NUL */
	uint32_t reserved;
};

/* A function at a byte of an object. At one byte there may be several, the innermost first. */
struct data_place {
	uint64_t offset;
	uint64_t address;         /* for people: in the object's own addresses */
	uint32_t function;        /* string, as the linker has it */
	uint32_t function_offset; /* from the function's beginning, unless it is inlined */
	uint32_t file;            /* string: the source file; 0: line is 0, too */
	uint32_t dir;             /* string: directory of compilation, if @file is relative to it */
	uint32_t line;
	uint32_t inlined; /* 1: it is inlined into the function of the next place */
};

struct data_places {
	uint32_t object;
	uint32_t n;
};

/* The places, which follow @p. */
static inline const struct data_place *data_places(const struct data_places *p)
{
	return (const struct data_place *)(p + 1);
}

/* The instructions of a function that is in no file which pfm report could read. */
struct data_code {
	uint32_t object;
	uint32_t machine;  /* EM_X86_64 of elf.h or another */
	uint64_t offset;   /* of the first one, in the object */
	uint64_t address;  /* the same for people, as in a place */
	uint32_t size;     /* bytes that follow, from 1 to DATA_CODE_MAX */
	uint32_t reserved; /* 0 */
};

static inline const uint8_t *data_code_bytes(const struct data_code *c)
{
	return (const uint8_t *)(c + 1);
}

/* The last record: the recording ended properly. @time: when sampling ended. */
struct data_end {
	uint64_t time;
};

/* Writes a file. The first error is kept, and each later call returns it. */
struct data_writer {
	const char *path; /* also used in sentences */
	bool to_stdout;
	int fd;           /* -1: not opened yet */
	int failed;       /* the errno that ended writing; 0: none */
	int copy;         /* what was written, if the file is a pipe or a device; -1: none */
	uint64_t written; /* bytes before those in buf, a whole number of records */
	size_t n;         /* bytes in buf */
	char *buf;
};

/* Begins the file @path, "-" for stdout, with its head. The first flush creates or replaces the
 * file. */
int data_create(struct data_writer *w, const char *path, struct err *e);
/* Begins a file in the empty file @fd, which stays the caller's. */
int data_create_in(struct data_writer *w, int fd, struct err *e);
/* Appends a record: @n bytes of @fixed, then @text with its NUL. Both may be NULL. */
int data_put(struct data_writer *w, enum data_type type, const void *fixed, size_t n,
	const char *text, struct err *e);
/* Appends @n bytes of records. */
int data_put_records(struct data_writer *w, const char *records, size_t n, struct err *e);
/* Appends the records of the file @fd, which begins with a head. */
int data_copy(struct data_writer *w, int fd, struct err *e);
/* Writes the buffer. After a failure, the file ends with the last whole record. */
int data_flush(struct data_writer *w, struct err *e);
/* Flushes and closes the file. If it was never flushed, an older file stays as it is. */
int data_close(struct data_writer *w, struct err *e);

/* The content of a file in memory. Each call chain is kept once. */
struct data_file {
	char *p; /* aligned for any record */
	size_t n;
	size_t at;
	size_t packed; /* up to there, frames may be those of an earlier stack */
	bool cut;      /* the file ends within a record */
	bool named;    /* it has objects */
};

/* Reads back what @w has written. */
int data_reread(const struct data_writer *w, struct data_file *f, struct err *e);
/* Reads the file @path, "-" for stdin. */
int data_load(struct data_file *f, const char *path, struct err *e);
/* Takes over @p, which has @n bytes from malloc, and checks it. */
int data_take(struct data_file *f, char *p, size_t n, const char *path, struct err *e);
/* Appends the records of @fd, a file with a head. */
int data_append(struct data_file *f, int fd, struct err *e);
/* Frees the memory of samples and stacks of the records that have been read. They cannot be read
 * again. */
void data_drop_samples(struct data_file *f);
void data_unload(struct data_file *f);

/* Gets the next record, after checking it. Returns 1, 0 at the end, or -EINVAL. */
int data_next(struct data_file *f, const struct data_rec **rec, struct err *e);
/* The structure after the record's head. */
const void *data_body(const struct data_rec *rec);

#endif

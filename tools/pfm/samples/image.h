/* SPDX-License-Identifier: MIT */
/* The executable mappings of processes and the names of threads, as they change over time. */
#ifndef TOOLS_PFM_SAMPLES_IMAGE_H
#define TOOLS_PFM_SAMPLES_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "perfmonfs/smpl_file.h"
#include "tools/pfm/samples/data.h"

/* A mapped file, or a mapping without a file, such as [vdso]. */
struct object {
	struct hash_node node;    /* in image.objects, by path and id */
	struct hash_node by_file; /* in image.files, if the device and inode of @fd are known */
	char *path;
	uint8_t id[DATA_BUILD_ID_MAX]; /* as in struct data_map */
	uint8_t id_size;
	unsigned number; /* counts from 0 */
	int fd;          /* pfm record: the file, which may be gone from its path; -1: not open */
	pfm_smpl_file_t file; /* device and inode of @fd; all 0: not known */
	uint32_t pid;  /* the process that has made this code; 0: it is a file's, or the kernel's */
	unsigned life; /* processes that had this pid before */
	bool is_dump;  /* its path is that of a jitdump, jit-PID.dump */
	/* pfm record: the process whose code this jitdump describes; 0: it is none */
	uint32_t dump_of;
};

/* Whether @path is that of a jitdump. */
bool object_is_dump(const char *path);
/* Whether it is memory that a process may have filled with code, neither a file nor like [vdso]. */
bool object_is_made(const struct object *o);

struct image_map {
	uint64_t addr;
	uint64_t len;
	uint64_t pgoff;
	struct object *object;
};

struct image_maps {
	struct image_map *all;
	size_t n;
	size_t room;
	size_t sorted; /* of codes: the first ones, which do not overlap, by address */
};

struct image_process {
	struct hash_node node; /* in image.processes, by pid */
	struct image_maps maps;
	struct image_maps codes; /* functions that a jitdump describes: parts of that file */
	uint64_t changed;        /* number of the image's change that added the last of them */
	/* pfm record: the rounds in which its mappings were last read, and the file with the names
	 * of the code that it makes was last looked for; 0: never. */
	uint64_t read_at;
	uint64_t named_at;
	bool makes_code; /* pfm record: it has memory that is executed */
	uint64_t execs;  /* how often its mappings were forgotten */
	uint64_t files;  /* mappings of files that were added or dropped */
};

struct image_thread {
	struct hash_node node; /* in image.threads, by tid */
	const char *comm;      /* the caller's string, which must stay; NULL: not known */
	unsigned life;         /* threads that have had this number before */
	bool exited;
};

struct image {
	struct hash processes;
	struct hash threads;
	struct hash objects;
	struct hash files; /* open files of objects, by device and inode */
	unsigned nobjects;
	uint64_t changes; /* mappings that have been added */
};

/* Functions that return int return 0 or -ENOMEM. */
int image_init(struct image *im);
void image_free(struct image *im);

/* Finds the process. NULL: it is not known. */
struct image_process *image_known(const struct image *im, uint32_t pid);
/* Finds the process, or adds it. NULL: no memory. */
struct image_process *image_process(struct image *im, uint32_t pid);
/*
 * Finds the object with that path and identity, as in struct data_map, or adds it. NULL: no memory.
 */
struct object *image_object(
	struct image *im, const char *path, const uint8_t id[DATA_BUILD_ID_MAX], uint8_t id_size);
/* The same, but adds none. NULL: there is none. */
struct object *image_find_object(const struct image *im, const char *path,
	const uint8_t id[DATA_BUILD_ID_MAX], uint8_t id_size);
/* Gives an object the open file @fd, which it closes. @file: its device and inode; all 0: not
 * known. */
void image_set_file(struct image *im, struct object *o, int fd, const pfm_smpl_file_t *file);
/* The object with that path and that open file; NULL: none. */
const struct object *image_find_file(
	const struct image *im, const char *path, const pfm_smpl_file_t *file);
/* Finds the object of the code that process @pid has made, or adds it. NULL: no memory. */
struct object *image_made(struct image *im, uint32_t pid, unsigned life);
/* The same, but adds none. NULL: there is none. */
struct object *image_find_made(const struct image *im, uint32_t pid, unsigned life);
/* All objects, by number. The caller frees the array. NULL: no memory. */
const struct object **image_objects(const struct image *im);
/* Forgets the mappings of a process that executes another program. */
void image_exec(struct image *im, uint32_t pid);
/*
 * Adds a mapping of the file @name, which replaces older ones at its addresses. It drops those of
 * which no address is left. One of a jitdump's
 * functions counts where the process has memory that it may have filled with code. The one of the
 * jitdump's beginning, by which the process tells that it writes one, has no code.
 */
int image_add(struct image *im, const struct data_map *m, const char *name);
/* Sets the name of a thread. Keeps the pointer, not a copy. */
int image_name_thread(struct image *im, uint32_t tid, const char *comm);
/* Notes the end of a thread. */
int image_exit(struct image *im, uint32_t tid);
/* Call it when thread @tid of process @pid is alive. If a thread with that number has ended, this
 * is another one; of a new process, the mappings are not known yet. */
void image_live(struct image *im, uint32_t pid, uint32_t tid);
/* Whether the thread with that number has ended, and no other one has been seen. */
bool image_has_exited(const struct image *im, uint32_t tid);
/* The number of objects whose file is open. */
unsigned image_open_files(const struct image *im);
/* How many threads have had this number before the present one. */
unsigned image_life(const struct image *im, uint32_t tid);
/* The name of the thread or of its process; NULL: not known. */
const char *image_comm(const struct image *im, uint32_t pid, uint32_t tid);

/* A number of the process's mappings, which no others had before; 0: none are known. */
uint64_t image_version(const struct image *im, uint32_t pid);
/* The mapping at @ip; NULL: none is known. */
const struct image_map *image_find(const struct image *im, uint32_t pid, uint64_t ip);
/*
 * For a process without known mappings: it was forked, has not executed another program, and ended
 * before its mappings could be read. It has the mappings of the process that forked it. If all
 * processes with a mapping at @ip have the same file and offset there, returns that mapping, and
 * @from is one of these processes.
 */
const struct image_map *image_find_forked(
	const struct image *im, uint32_t pid, uint64_t ip, uint32_t *from);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the files of libperfmonfs share. Calls on an existing context take no lock and no memory,
 * so that they can be made in signal handlers, as perfmon2's system calls could.
 */
#ifndef PERFMONFS_LIB_LIB_I_H
#define PERFMONFS_LIB_LIB_I_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "perfmonfs/ioctl.h"

/* Calls are no cancellation points either; those that read messages are, as read(2) is. */

#define API __attribute__((visibility("default")))

/* Sets errno, for `return fail(EINVAL)`. */
int fail(int err);

/* ---- mount.c: where perfmonfs is ---- */
struct device {
	unsigned major, minor;
};
/* Opens @path below the mount. -1: errno, ENOSYS if there is no mount. */
int mount_open(const char *path, int flags);
/* The same of the mount that is that device. */
int mount_open_on(const struct device *d, const char *path, int flags);
/* 0: files of that device are perfmonfs's; -1: EBADF, they are not, or why that cannot be told. */
int mount_check(const struct device *d);

/* ---- file.c: as open(2) and the like, but that a thread is not cancelled there ---- */
int file_open(const char *path, int flags);
ssize_t file_read(int fd, void *to, size_t size);
ssize_t file_write(int fd, const void *from, size_t size);
/* Keeps errno. */
void file_close(int fd);

/* ---- copy.c: the caller's memory, EFAULT instead of a signal ---- */
int copy_in(void *to, const void *theirs, size_t size);
int copy_out(void *theirs, const void *from, size_t size);
/* Whether all of that, which is not nothing, can be read: a byte of each page is. */
int copy_check(const void *theirs, size_t size);
/* A name with its NUL: EINVAL if it is empty, or longer than @size. */
int copy_string(char *to, const char *theirs, size_t size);

/* ---- known.c: what this process knows of its contexts ---- */
enum { KNOWN_NO_CPU = -1 };
#define KNOWN_NO_NUMBER UINT64_MAX
struct known {
	uint64_t number; /* what the context is called in ctx/ */
	int cpu;         /* that it is loaded on, or KNOWN_NO_CPU */
	bool system_wide;
	bool async; /* O_ASYNC is set: signals are asked for */
};
/* False: nothing is known, it is another file of the mount or not open for reading; @k says so. */
struct target;
bool known_get(const struct target *t, struct known *k);
void known_add(const struct target *t, const struct known *k);
void known_set_cpu(const struct target *t, int cpu);
void known_set_async(const struct target *t, bool async);

/* ---- context.c: descriptors that are contexts ---- */
struct target {
	int fd;
	struct device device;
	uint64_t inode;
};
/* EBADF if @fd is no context. It may still be another file of the mount: commands say so. */
int target_get(struct target *t, int fd);
/* The same, and EBUSY if the context is loaded on a CPU that the caller does not run on. */
int target_here(struct target *t, int fd);
/* One command; @arg is the caller's memory, or ours. */
int target_command(const struct target *t, unsigned long cmd, void *arg);
/* The same, unless monitoring is masked: then anybody may read (specification 3.1.4). */
int target_to_read(struct target *t, int fd);
/* What the daemon says of it now. False: it cannot be told, or it is another file of the mount. */
bool target_info(const struct target *t, struct pfm_ioc_info *info);
/* Whether there is no context of that number any more on that mount, as far as that can be told. */
bool target_is_gone(const struct device *d, uint64_t number);
/* The commands without an argument. */
int target_plain(int fd, unsigned long cmd);
/* Whether it is known not to be loaded. */
bool target_is_unloaded(const struct target *t);
/* @rc of a command that is EINVAL of what is not loaded, where a version has EBUSY for that. */
int target_busy_if_unloaded(const struct target *t, int rc);
/* In all versions it is EBUSY wherever there is nothing to go on from. */
int target_restart(const struct target *t);

/* ---- create.c ---- */
struct creation {
	uint32_t flags;     /* PFM_IOC_FL_* */
	const char *format; /* its name or UUID; NULL: none */
	const void *arg;    /* of our own memory */
	size_t arg_size;
	uint64_t buf_size; /* out */
};
/* The descriptor, or -1. */
int create_context(struct creation *c);
enum { CREATE_ARG_MAX = 4096 };
/* Gives the caller the structure @copy for his new context @fd, which is closed if that fails. */
int create_hand_out(int fd, void *theirs, const void *copy, size_t size);

/* ---- load.c ---- */
/*
 * A system-wide context wants the caller's CPU for its target: EINVAL. @taken: the error if the
 * thread has a context already, in which versions differ.
 */
int load_context(const struct target *t, uint32_t target, uint16_t set, int taken);
/* Whether the context is known to be system-wide. */
bool load_is_system_wide(const struct target *t);
/* The CPU that the caller runs on. */
int load_this_cpu(void);
/* PERFMONFS_ANYCPU=1: callers may run anywhere. */
bool load_from_anywhere(void);
int unload_context(const struct target *t);

/* ---- vector.c ---- */
/* Structures laid out as the command's. */
int vector_direct(const struct target *t, unsigned long cmd, void *elements, int n);

/* Structures of other versions, and a flag that none has. */
enum { FLAG_INVALID = 0x8000 };

struct shape {
	unsigned long cmd;
	size_t theirs; /* bytes of an element */
	size_t ours;
	/*
	 * From theirs to the command's, which is all 0. What is wrong with it is for the daemon to
	 * find, which stops there, and says so in the element.
	 */
	void (*to)(const struct target *t, const void *theirs, void *ours);
	void (*from)(const void *ours, void *theirs);
};
int vector_shaped(const struct target *t, const struct shape *s, void *theirs, int n);

/* ---- format.c: sampling formats of versions that name them by UUID ---- */
struct format {
	char name[PFM_IOC_FORMAT_MAX]; /* "": none */
	bool is_default;
};
void format_of(const unsigned char uuid[16], struct format *f);
/* Bytes of its argument, as perfmonfs has it. 0 where there is no such format, which the daemon
 * will say. */
size_t format_arg_size(const struct format *f);

/* ---- message.c ---- */
struct pfm_msg;
/* read(2), but that a context gives one message, of @msg_size bytes, as @convert makes it. */
ssize_t message_read(int fd, void *buf, size_t size, size_t msg_size,
	void (*convert)(int fd, const struct pfm_msg *m, void *theirs));

#endif

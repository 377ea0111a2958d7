/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the files of libperfmonfs share. Calls on an existing context take no lock and
 * allocate no memory, so signal handlers can make them, as they could make perfmon2's system calls.
 * They are not cancellation points either, except reading a message, which is one like read(2).
 *
 * "user" is a structure of the caller, in the layout of the version of perfmon2 in use; "ioc" is
 * the same structure in the layout of perfmonfs/ioctl.h. Unless stated otherwise, functions return
 * 0, or -1 with errno.
 */
#ifndef PERFMONFS_LIB_LIB_I_H
#define PERFMONFS_LIB_LIB_I_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "perfmonfs/ioctl.h"

#define API __attribute__((visibility("default")))

/* Sets errno and returns -1, for `return lib_fail(EINVAL)`. */
static inline int lib_fail(int err)
{
	errno = err;
	return -1;
}

/* ---- nocancel.c: open(2), read(2), write(2) and close(2) without cancellation points ---- */
int nocancel_open(const char *path, int flags);
ssize_t nocancel_read(int fd, void *to, size_t size);
ssize_t nocancel_write(int fd, const void *from, size_t size);
/* Preserves errno. */
void nocancel_close(int fd);

/* ---- copy.c: memory of the caller; a wrong address fails with EFAULT ---- */
int copy_in(void *to, const void *user, size_t size);
int copy_out(void *user, const void *from, size_t size);
/* Checks that @size bytes, at least 1, are readable, by reading a byte of each page. */
int copy_check(const void *user, size_t size);
/* Copies a string with its NUL. EINVAL if it is empty, or longer than @size. */
int copy_string(char *to, const char *user, size_t size);

/* ---- mount.c: the mount of perfmonfs ---- */
struct device {
	unsigned major, minor;
};
/* Opens @path below the mount. ENOSYS if there is no mount. */
int mount_open(const char *path, int flags);
/* Writes to stderr which mount is used, and which others there are, unless PERFMONFS names one. */
void mount_tell_choice(void);
/* Like mount_open(), below the mount whose device is @d. */
int mount_open_on(const struct device *d, const char *path, int flags);
/* Opens @path below the mount for lines_next(). */
struct lines;
int mount_open_lines(struct lines *l, const char *path);
/* Checks that @d is a mount of perfmonfs. EBADF if not; other errors if it is unknown. */
int mount_check(const struct device *d);

/* ---- ctx_fd.c: descriptors of contexts ---- */
struct ctx_fd {
	int fd;
	struct device device;
	uint64_t inode;
};
/*
 * Identifies the file behind @fd. EBADF if it is not on a mount of perfmonfs. Any other file of the
 * mount passes; commands on it fail with EBADF.
 */
int ctx_fd_get(struct ctx_fd *t, int fd);
/* Like ctx_fd_get(), except that the file may be on any file system. */
int ctx_fd_stat(struct ctx_fd *t, int fd);
/* Executes the ioctl @cmd, again after EINTR. @arg is memory of the caller or of the library. */
int ctx_fd_command(const struct ctx_fd *t, unsigned long cmd, void *arg);
/* Gets the current state from the daemon. False if it is unknown. Preserves errno. */
bool ctx_fd_info(const struct ctx_fd *t, struct pfm_ioc_info *info);
/* True if the daemon says that the context is unloaded. */
bool ctx_fd_is_unloaded(const struct ctx_fd *t);
/*
 * Passes on @rc, the result of a command. If it failed with EINVAL because the context is unloaded,
 * fails with EBUSY instead, for versions that have this error.
 */
int ctx_fd_busy_if_unloaded(const struct ctx_fd *t, int rc);
/* PFM_IOC_RESTART; EBUSY if the context is unloaded, as in all versions. */
int ctx_fd_restart(const struct ctx_fd *t);
/* True if the mount @d has no context @number, or @number is CTX_CACHE_NO_NUMBER. Preserves
 * errno. */
bool ctx_fd_is_gone(const struct device *d, uint64_t number);

/* ---- ctx_cache.c: properties of contexts that this process has used ---- */
enum { CTX_CACHE_NO_CPU = -1 };
#define CTX_CACHE_NO_NUMBER UINT64_MAX
enum ctx_creator { CREATED_ELSEWHERE, CREATED_BY_KERNEL_ABI, CREATED_BY_V06 };
struct ctx_cache {
	uint64_t number;   /* name in ctx/, or CTX_CACHE_NO_NUMBER */
	uint64_t buf_size; /* bytes of the sampling buffer; 0 for none, or if created elsewhere */
	/* version of the call of this process, or of its parent, that created it */
	enum ctx_creator created;
	int cpu; /* CPU on which it is loaded, or CTX_CACHE_NO_CPU */
	bool system_wide;
	bool async; /* O_ASYNC is set: messages raise a signal */
};
/*
 * Gets the properties, from the daemon if they are not cached. If they are unknown (another file of
 * the mount, or not open for reading), returns false, with the values of an unloaded context.
 */
bool ctx_cache_get(const struct ctx_fd *t, struct ctx_cache *c);
/* Gets the properties of a context that a call of this library has created. False: it is not such a
 * context. */
bool ctx_cache_find_created(const struct ctx_fd *t, struct ctx_cache *c);
void ctx_cache_add(const struct ctx_fd *t, const struct ctx_cache *c);
void ctx_cache_set_cpu(const struct ctx_fd *t, int cpu);
void ctx_cache_set_async(const struct ctx_fd *t, bool async);
/* True if the context is known to be system-wide. */
bool ctx_cache_is_system_wide(const struct ctx_fd *t);

/* ---- cpu.c: the CPU on which callers have to run ---- */
/* The CPU on which the caller runs. */
int cpu_current(void);
/* True if PERFMONFS_ANYCPU=1 lets callers run on any CPU. */
bool cpu_check_disabled(void);
/* Like ctx_fd_get(), but fails with EBUSY if the context is loaded on a CPU different from the
 * caller's. */
int cpu_get_ctx(struct ctx_fd *t, int fd);
/* Like cpu_get_ctx(), except that a masked context can be read on any CPU (specification 3.1.4). */
int cpu_get_ctx_to_read(struct ctx_fd *t, int fd);
/* Executes cpu_get_ctx() and a command without argument. */
int cpu_command(int fd, unsigned long cmd);

/* ---- create.c: new contexts ---- */
enum { CREATE_ARG_MAX = 4096 };
struct creation {
	uint32_t flags;     /* PFM_IOC_FL_* */
	const char *format; /* name or UUID; NULL for none */
	const void *arg;    /* argument of the format, in memory of the library */
	size_t arg_size;    /* bytes, up to CREATE_ARG_MAX */
	bool v06;           /* a call of the specification creates it */
	uint64_t buf_size;  /* output: bytes of the sampling buffer */
};
/* Returns the descriptor. */
int create_context(struct creation *c);
/* Copies @copy to the caller's structure. If that fails, closes the new context @fd: EFAULT. */
int create_hand_out(int fd, void *user, const void *copy, size_t size);

/* ---- load.c ---- */
/*
 * Loads on the thread or CPU @target. EINVAL if a system-wide context is not loaded on the caller's
 * CPU. If the thread already has a context, fails with @taken, because versions differ in that
 * error.
 */
int load_context(const struct ctx_fd *t, uint32_t target, uint16_t set, int taken);
int unload_context(const struct ctx_fd *t);

/* ---- vector.c: commands on a vector of @n elements ---- */
struct abi_conv;
/*
 * Checks the size of the whole vector against config/arg_size_max of the mount @d (NULL: of the
 * mount that mount_open() chooses), since the daemon sees only pieces of it, or nothing. E2BIG.
 */
int vector_check(const struct device *d, int n, size_t element_size);
/* Executes @cmd on elements that have the command's layout. */
int vector_pass(const struct ctx_fd *t, unsigned long cmd, void *elements, int n);
/* Executes a command on elements in the layout of @conv, in order, a few at a time. */
int vector_convert(const struct ctx_fd *t, const struct abi_conv *conv, void *user, int n);
/* Calls conv->get() for @fd, then vector_convert(). */
int vector_convert_fd(int fd, const struct abi_conv *conv, void *user, int n);

/* ---- format.c: sampling formats of versions that name them by UUID ---- */
struct format {
	char name[PFM_IOC_FORMAT_MAX]; /* name or UUID; "" for none */
	bool is_default;
};
void format_from_uuid(const unsigned char uuid[16], struct format *f);
/* Bytes of the format's argument in perfmonfs; 0 if the daemon does not have the format. */
size_t format_arg_size(const struct format *f);

/* ---- message.c ---- */
struct pfm_msg;
/*
 * Like read(2), except that a context returns one message of @msg_size bytes in the layout of
 * @convert. EINVAL if @size is not a multiple of @msg_size.
 */
ssize_t message_read(int fd, void *buf, size_t size, size_t msg_size,
	void (*convert)(int fd, const struct pfm_msg *m, void *user));

#endif

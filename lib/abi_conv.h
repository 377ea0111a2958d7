/* SPDX-License-Identifier: MIT */
/* Conversion between the structures of perfmon2's versions and the structures of
 * perfmonfs/ioctl.h. */
#ifndef PERFMONFS_LIB_ABI_CONV_H
#define PERFMONFS_LIB_ABI_CONV_H

#include "lib/lib_i.h"

/* A flag that no version has and that makes the daemon refuse the element. */
enum { ABI_FLAG_INVALID = PFM_IOC_FL_REFUSED };

/* How the elements of one call are converted. */
struct abi_conv {
	int (*get)(struct ctx_fd *t, int fd); /* ctx_fd_get() or one of cpu.c */
	unsigned long cmd;                    /* PFM_IOC_* */
	size_t user_size;                     /* bytes of an element */
	/* Fills @ioc, which is zero. Does not check values: the daemon does, and marks a wrong
	 * element. */
	void (*to)(const void *user, void *ioc);
	/* Returns results, or the error flags, to the caller's element. */
	void (*from)(const void *ioc, void *user);
};

/* The first fields of the structures of sets and, in all versions except 2.0, of registers. */
struct abi_head {
	uint16_t id; /* number of the set or register */
	uint16_t id_next;
	uint32_t flags;
};

/* @user without the error flags, PFM_IOC_RETFL_*, that an earlier call may have set. */
uint32_t abi_clear_errors(uint32_t user);
/* Like abi_clear_errors(), but returns ABI_FLAG_INVALID if @user has flags that are not in
 * @allowed. */
uint32_t abi_check_flags(uint32_t user, uint32_t allowed);
/* @user with the error flags of @ioc. */
uint32_t abi_merge_errors(uint32_t user, uint32_t ioc);
/* A `from` that returns only the error flags, in struct abi_head. */
void abi_copy_errors(const void *ioc, void *user);
/* True if the daemon has set an error flag. If so, no other field is valid. */
bool abi_has_error(const void *ioc);

/* Converts the head of a set to be created. */
void abi_setdesc_head_in(const void *user, struct pfm_ioc_setdesc *to);
/*
 * A `to` and a `from` for pfarg_setdesc_t in 2.6 and later. It has the command's layout. The next
 * set, the command's other flags and reserved fields are not passed.
 */
void abi_setdesc_in(const void *user, void *ioc);
void abi_setdesc_out(const void *ioc, void *user);
/* A `to` that passes only the set's number: getinfo and delete. */
void abi_set_id_in(const void *user, void *ioc);

#endif

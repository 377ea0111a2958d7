/* SPDX-License-Identifier: MIT */
/*
 * Converts the data of one ioctl of an open clone (include/perfmonfs/ioctl.h) to commands, and
 * their results back. Knows no file and no context: the caller takes one command after the other,
 * executes it, and returns its result.
 *
 * A malformed packet is refused as a whole with ENOTTY or EINVAL. An invalid element of a vector is
 * refused when the elements before it are done.
 */
#ifndef COMMAND_IOCTL_H
#define COMMAND_IOCTL_H

#include "base/slice.h"
#include "base/text.h"
#include "daemon/core/request.h"

struct packet_kind;

struct packet {
	const struct packet_kind *kind;
	/* The number of elements, and how many of them are done. */
	unsigned n, done;
	/* Size of @bytes. */
	size_t size;
	/* 0, or the -errno that ends the packet. */
	int rc;
	/* The first note of its commands, or empty. */
	struct err note;
	/* Flags in @bytes differ from those that came. */
	bool flags_changed;

	/* In: a load's target is a CPU, as the context is for CPUs. */
	bool system_wide;
	/* In: properties of the context, for the results that contain them. */
	uint64_t buf_size, number, cookie;

	/* The data as it came, then as it is returned. */
	_Alignas(uint64_t) unsigned char bytes[];
};

/*
 * @nr: the ioctl's number, with its size. The caller frees the packet with free(). Returns NULL,
 * with @e: ENOTTY if there is no such ioctl, EINVAL if the size is wrong, or ENOMEM.
 */
struct packet *packet_new(unsigned nr, const void *bytes, size_t size, struct err *e);

/* True if it needs a file open for writing, false if for reading. */
bool packet_writes(const struct packet *p);

/*
 * Sets @cmd to the next command. Returns 1, 0 if there is none left, or -errno. The caller frees
 * @cmd with command_free(), even after a failure.
 */
int packet_next(struct packet *p, struct command *cmd, struct err *e);

/* The sampling format that CMD_SETUP names, and its argument. Empty @format: none. */
void packet_setup(const struct packet *p, struct slice *format, struct slice *arg);

/* Takes the result of @cmd: @rc, and @e if that is < 0. After an error there is no next command. */
void packet_take(struct packet *p, const struct command *cmd, int rc, struct err *e);

/* The bytes to return, also after an error; empty if nothing changed. */
struct slice packet_answer(const struct packet *p);

/* Prints the ioctls as a member of an object in JSON. */
void packet_describe_kinds(struct text *out);

#endif

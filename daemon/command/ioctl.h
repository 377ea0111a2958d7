/* SPDX-License-Identifier: MIT */
/*
 * What one ioctl of an open clone carries (include/perfmonfs/ioctl.h) into commands, and what came
 * of them back into it. Knows no file and no context: who executes the commands asks for the next
 * one, and says what came of it, until there is none.
 *
 * A packet is refused as a whole with ENOTTY or EINVAL. An element of a vector that cannot be
 * understood is refused when it is its turn.
 */
#ifndef COMMAND_IOCTL_H
#define COMMAND_IOCTL_H

#include "base/slice.h"
#include "daemon/core/request.h"

struct packet_kind;

struct packet {
	const struct packet_kind *kind;
	unsigned n, done; /* elements, and those that have been dealt with */
	size_t size;      /* bytes of it */
	int rc;           /* what came of it so far: 0 or -errno */
	bool told;        /* flags are others than they were */

	/* Of the context: */
	bool system_wide;                  /* a load's target is a CPU */
	uint64_t buf_size, number, cookie; /* what it answers, if it does */

	_Alignas(uint64_t) unsigned char bytes[]; /* as they came; as they go back */
};

/* NULL with its sentence: ENOTTY, no such command; EINVAL, not of that size; ENOMEM. @nr: the
 * ioctl's whole number. Freed by free(). */
struct packet *packet_new(unsigned nr, const void *bytes, size_t size, struct err *e);

/* It changes something: the file must be open for writing. Otherwise, for reading. */
bool packet_writes(const struct packet *p);

/* The next command, which is freed by command_free(), even if this fails (< 0). 0: there is none
 * any more. */
int packet_next(struct packet *p, struct command *cmd, struct err *e);

/* What CMD_SETUP says of the sampling format: none, if @format is empty. */
void packet_setup(const struct packet *p, struct slice *format, struct slice *arg);

/* What came of it: @rc, and @e if that is < 0. After an error there is no next command. */
void packet_take(struct packet *p, const struct command *cmd, int rc, struct err *e);

/* What is given back, also after an error: nothing, if nothing is new. */
struct slice packet_answer(const struct packet *p);

#endif

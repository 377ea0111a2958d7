/* SPDX-License-Identifier: MIT */
/* The kinds of packets: how structures become commands, and results structures. */
#ifndef COMMAND_IOCTL_I_H
#define COMMAND_IOCTL_I_H

#include "daemon/command/ioctl.h"
#include "perfmonfs/ioctl.h"

/* The flags of an element that report its result. */
#define IOCTL_RETFLS (PFM_IOC_RETFL_NOTAVAIL | PFM_IOC_RETFL_EINVAL | PFM_IOC_RETFL_NOSET)

enum packet_shape {
	PACKET_ONE,    /* One structure, or none. */
	PACKET_TAILED, /* One structure, and bytes after it. */
	PACKET_REGS,   /* A vector of registers: one command for all. */
	PACKET_SETS,   /* A vector of event sets: one command for each. */
};

struct packet_kind {
	/* The ioctl's number without its size. */
	unsigned nr;
	/* Size of one structure. */
	size_t size;
	enum packet_shape shape;
	/* Changes something: the file must be open for writing. */
	bool writes;
	enum cmd_verb verb;
	/* Its macro, and the tag of its structure or NULL, for packet_describe_kinds(). */
	const char *name, *type;
	/* Turns structure @i into @cmd. NULL: there are no arguments. */
	int (*decode)(const struct packet *p, unsigned i, struct command *cmd, struct err *e);
	/* Turns the result into structure @i. NULL: only flags are returned. */
	void (*encode)(struct packet *p, unsigned i, const struct command *cmd);
};

/* Returns NULL if there is no such ioctl. */
const struct packet_kind *ioctl_find_kind(unsigned nr);

#endif

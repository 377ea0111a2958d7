/* SPDX-License-Identifier: MIT */
/* Event sets of versions whose structures differ from the commands'. */
#ifndef PERFMONFS_LIB_SETS_H
#define PERFMONFS_LIB_SETS_H

#include "lib/lib_i.h"

/* What all structures of sets begin with, and those of registers but for 2.0's. */
struct head {
	uint16_t id; /* of the set, or the register */
	uint16_t id_next;
	uint32_t flags;
};

/* Flags as the caller gives them, which may have what an earlier call told in them; back: with what
 * this call tells. */
uint32_t flags_to(uint32_t theirs);
/* The same where the version has only the flags @known: FLAG_INVALID if there are others. */
uint32_t flags_of(uint32_t theirs, uint32_t known);
uint32_t flags_back(uint32_t theirs, uint32_t ours);
/* The same for a structure with that head, and nothing else: struct shape's from. */
void errors_from(const void *ours, void *theirs);
/* Whether the command has found something wrong with that element: nothing else of it is known. */
bool has_error(const void *ours);

/* The head of a set to be made. */
void set_head_to(const struct target *t, const void *theirs, struct pfm_ioc_setdesc *to);
/* Sets to be made by pfarg_setdesc_t of 2.6 and later, which has the command's layout, but neither
 * a next set nor what else the command has flags for. */
void setdesc_plain_to(const struct target *t, const void *theirs, void *ours);
void setdesc_plain_from(const void *ours, void *theirs);
/* The set that getinfo or delete is about: struct shape's to. */
void set_id_to(const struct target *t, const void *theirs, void *ours);
/* @n sets. */
int set_vector(int fd, const struct shape *s, void *theirs, int n);

#endif

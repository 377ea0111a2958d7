/* SPDX-License-Identifier: MIT */
/*
 * A sampling format in use: its buffer between canaries, and a reader of samples that knows the
 * layout by its numbers, not by the structures that the format itself is compiled with.
 */
#ifndef TESTS_UNIT_SMPL_H
#define TESTS_UNIT_SMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfmonfs/format.h"

struct smpl {
	const pfm_buffer_fmt_t *fmt;
	unsigned char *memory; /* canary, buffer, canary */
	unsigned char *buf;
	size_t size;
};

/* A sample or, with a type of the format correlate's that says so, an event. */
enum { SMPL_VALUES = 24, SMPL_NAME = 64 };
struct smpl_rec {
	uint32_t type;
	uint32_t pid, tid;
	uint16_t pmd, set, cpu, count;
	uint64_t last_reset, ip, tstamp;
	unsigned nvalues;
	uint64_t values[SMPL_VALUES];
	uint64_t addr, len, pgoff;
	char name[SMPL_NAME];
};

/* Goes through validate, getsize and init; returns what the first to refuse does. */
int smpl_open(struct smpl *s, const pfm_buffer_fmt_t *fmt, void *arg, uint16_t num_pmds);
void smpl_close(struct smpl *s);

/* Each checks the canaries. */
int smpl_overflow(struct smpl *s, pfm_ovfl_arg_t *arg, uint64_t tstamp, pfm_smpl_where_t *where);
void smpl_event(struct smpl *s, const pfm_smpl_event_t *event);
pfm_ovfl_ctrl_t smpl_restart(struct smpl *s, bool active);

uint64_t smpl_u64(const struct smpl *s, size_t offs);
uint32_t smpl_u32(const struct smpl *s, size_t offs);
uint16_t smpl_u16(const struct smpl *s, size_t offs);

/* An entry of the format default at @offs, with @nvalues in its body; returns its size. */
size_t smpl_entry(const struct smpl *s, size_t offs, unsigned nvalues, struct smpl_rec *rec);

bool smpl_ctrl_is(pfm_ovfl_ctrl_t ctrl, bool notify, bool reset, bool mask);

#endif

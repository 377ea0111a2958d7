/* SPDX-License-Identifier: MIT */
/* Shared by the formats that record events of processes between their samples, like "correlate",
 * with its header and records. */
#ifndef FORMATS_RECORDS_H
#define FORMATS_RECORDS_H

#include "formats/sample.h"
#include "perfmonfs/smpl_correlate.h"

/* Returns 0 if a buffer of @size bytes has room in each of @parts parts for a record of @largest
 * bytes; otherwise EINVAL. */
int records_check_size(uint64_t size, uint32_t parts, size_t largest);

/* Writes the head of a record of @size bytes, and returns where the rest goes. */
void *records_begin(pfm_correlate_smpl_hdr_t *hdr, uint32_t type, size_t size);
/* Completes the record of @size bytes. */
void records_end(pfm_correlate_smpl_hdr_t *hdr, size_t size);

/* A fmt_handler; @put records a sample of at most hdr_min_buf_space bytes. */
int records_handle(pfm_correlate_smpl_hdr_t *hdr, struct sample *s, pfm_ovfl_ctrl_t *ctrl,
	void (*put)(pfm_correlate_smpl_hdr_t *hdr, struct sample *s));

/* The remaining callbacks of such a format. */
int records_event(void *buf, const pfm_smpl_event_t *event);
int records_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl);
void records_lost(void *buf, uint16_t set, const uint64_t pmds[PFM_FMT_BV]);
void records_source(void *buf, const pfm_smpl_source_t *source);

#endif

/* SPDX-License-Identifier: MIT */
/* The identity of a mapped file, as the kernel has recorded it: paths may name other files later.
 */
#ifndef PERFMONFS_SMPL_FILE_H
#define PERFMONFS_SMPL_FILE_H

#include <stdint.h>

/* The GNU build ID or, without one, the device and the inode as /proc/PID/maps has them. All 0: not
 * known. */
typedef struct pfm_smpl_file {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint8_t build_id_size; /* bytes; 0: no build ID */
	uint8_t build_id[20];
	uint8_t reserved[3];
} pfm_smpl_file_t;

#endif

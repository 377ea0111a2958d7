/* SPDX-License-Identifier: MIT */
/*
 * Counts of named regions of a program, which `pfm stat --regions` shows: see pfm_region_begin(3).
 * Link with -lperfmonfs. Without pfm, both functions do nothing and return 0.
 */
#ifndef PERFMONFS_REGION_H
#define PERFMONFS_REGION_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Make the calling thread enter and leave region @name, of up to 63 bytes. Regions may be nested or
 * overlap. Both return 0, or -1 with errno:
 *   EBUSY         begin: the thread is already in that region
 *   EINVAL        end: the thread is not in that region; both: @name is empty
 *   ENAMETOOLONG  the name is too long
 *   ENOSPC        the thread has 64 regions already, or 1024 threads have regions
 *   EIO           the counts are lost
 *   others        the thread cannot be counted
 * For the last three, pfm shows the reason.
 */
int pfm_region_begin(const char *name);
int pfm_region_end(const char *name);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Values of PMCs by the names of events, for bindings and programs that write to the files of the
 * tree: see pfm_encode_event(3). pfm-events(5) explains names. Link with -lpfmfs.
 */
#ifndef PERFMONFS_EVENTS_H
#define PERFMONFS_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PFM_ENCODE_MAX = 32 }; /* the most events of one call */

/*
 * Finds the value of a PMC that counts @event on the CPUs of the mount at @mount. An event without
 * a level is counted at user and kernel level. *@pmc is the lowest event select that can count it,
 * or the PMC of the only counter that can. Returns 0; -1 with errno:
 *   ENOENT      no such event, or no such mount
 *   EINVAL      syntax
 *   ERANGE      a number out of range
 *   EOPNOTSUPP  the PMU lacks a counter or register for it, or it needs several PMCs: use
 *               pfm_encode_regs()
 *   others      the mount cannot be read
 */
int pfm_encode_event(const char *mount, const char *event, unsigned *pmc, uint64_t *value);

/*
 * Chooses a counter for each of @n events, 1 to PFM_ENCODE_MAX, so that all count at once. @regs
 * gets lines for the file regs of an event set, at most @room bytes with the NUL, and pmds[i] the
 * number of the PMD that counts events[i]. Returns 0; -1 with errno as above, and:
 *   ENOSPC   there are too few counters for all of them
 *   ENOBUFS  @room is too small
 */
int pfm_encode_regs(const char *mount, const char *const events[], unsigned n, unsigned pmds[],
	char *regs, size_t room);

/*
 * Calls @each with each event that the mount's PMU can count: its name, as the functions above take
 * it, and its description, which may be empty. On a processor with CPUs of several types, these are
 * the events that all types have. Returns 0; -1 with errno if the mount cannot be read.
 */
typedef void pfm_event_fn(void *arg, const char *name, const char *description);
int pfm_list_events(const char *mount, pfm_event_fn *each, void *arg);

/* The sentence about the calling thread's last failure of these functions. It says what to do, and
 * is valid until the thread's next call. */
const char *pfm_encode_error(void);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The original values of reserved registers, in RUN_DIR/journal.PID: if a daemon is killed, the
 * next one restores them. The file is locked while its daemon runs. It need not survive a reboot,
 * so it is not synced to disk.
 *
 * journal_put() requires no lock: callers use different slots, and a record is one pwrite.
 */
#ifndef BACKEND_MSR_JOURNAL_H
#define BACKEND_MSR_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct journal;

struct journal_entry {
	uint32_t cpu, addr;
	uint64_t orig;
	uint64_t mask; /* 0: the reservation has ended. */
};

/*
 * Restores the registers in a killed daemon's journal; may sort @entries. If it fails, so does
 * journal_open(), and the journal is kept for the next start.
 */
typedef int journal_recover(void *arg, struct journal_entry *entries, size_t n, struct err *e);

/*
 * Recovers from journals in @run_dir whose daemon is dead and which belong to this boot and to
 * device directory @dev. Removes these, and journals of earlier boots. Then creates this daemon's.
 */
int journal_open(const char *run_dir, const char *dev, journal_recover *recover, void *arg,
	struct journal **out, struct err *e);

int journal_put(struct journal *j, unsigned slot, const struct journal_entry *entry, struct err *e);

/* Closes the journal; with @keep, the file stays for the next daemon. @j may be NULL. */
void journal_close(struct journal *j, bool keep);

/* The number of journals of dead daemons in @run_dir; changes nothing. */
unsigned journal_unfinished(const char *run_dir);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the registers in use held before, kept in RUN_DIR/journal.PID for a daemon that cannot
 * tidy up after this one was killed. A journal belongs to the living: its file is locked as long
 * as its daemon runs. It need not outlive the boot, so nothing is synced.
 *
 * journal_put() needs no lock: each caller has slots of its own, and a record is one pwrite.
 */
#ifndef BACKEND_MSR_JOURNAL_H
#define BACKEND_MSR_JOURNAL_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct journal;

struct journal_entry {
	uint32_t cpu, addr;
	uint64_t orig;
	uint64_t mask; /* 0: nothing is claimed (any more) */
};

/*
 * Puts back what the journal of a killed daemon says, in an order of its own choosing. If it
 * fails, opening fails, and the journal stays for the next start.
 */
typedef int journal_recover(void *arg, struct journal_entry *entries, size_t n, struct err *e);

/*
 * Recovers from the journals in @run_dir that are of this boot, of the device directory @dev and
 * of no living daemon, removes them and those of earlier boots, and starts one of our own.
 */
int journal_open(const char *run_dir, const char *dev, journal_recover *recover, void *arg,
	struct journal **out, struct err *e);

int journal_put(struct journal *j, unsigned slot, const struct journal_entry *entry, struct err *e);

/* Removes the file, unless it is to be kept for the next daemon. @j may be NULL. */
void journal_close(struct journal *j, bool keep);

/* How many journals in @run_dir no living daemon holds; changes nothing. */
unsigned journal_unfinished(const char *run_dir);

#endif

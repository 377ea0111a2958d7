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
#include <sys/types.h>

#include "base/err.h"

struct journal;

struct journal_entry {
	uint32_t cpu, addr;
	uint64_t orig;
	uint64_t mask;   /* 0: the reservation has ended. */
	bool unrestored; /* Restoring it was tried and failed. */
};

struct journal_ops {
	/*
	 * Restores the registers in a dead daemon's journal; may sort @entries. If it fails, so
	 * does journal_open(), and all journals are kept for the next start.
	 */
	int (*recover)(void *arg, struct journal_entry *entries, size_t n, struct err *e);
	/*
	 * Writes the registers that recover() could not restore into @j, this daemon's journal,
	 * which then replaces the journals that they come from.
	 */
	int (*transfer)(void *arg, struct journal *j, struct err *e);
};

/*
 * Recovers from the journals in @run_dir that belong to this boot and to device directory @dev and
 * whose daemon is dead. Creates this daemon's journal. Then removes the recovered journals and
 * journals of earlier boots.
 */
int journal_open(const char *run_dir, const char *dev, const struct journal_ops *ops, void *arg,
	struct journal **out, struct err *e);

int journal_put(struct journal *j, unsigned slot, const struct journal_entry *entry, struct err *e);

/*
 * The pid of another running daemon that has reserved register @addr of @cpu; 0: none. @j may be
 * NULL. Takes no lock: a daemon that starts meanwhile must not find a journal locked.
 */
pid_t journal_owner(const struct journal *j, uint32_t cpu, uint32_t addr);

/* Closes the journal; with @keep, the file stays for the next daemon. @j may be NULL. */
void journal_close(struct journal *j, bool keep);

/* Summary of the journals in a directory that belong to this boot and to a device directory. */
struct journal_summary {
	unsigned unfinished; /* Journals of dead daemons. */
	unsigned unrestored; /* Registers that could not be restored. */
};

/* Summarizes the journals in @run_dir for device directory @dev. Changes nothing. */
void journal_summary(const char *run_dir, const char *dev, struct journal_summary *out);

#endif

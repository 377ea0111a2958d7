/* SPDX-License-Identifier: MIT */
/*
 * Grants: CPUs on which a user may load beyond what its groups allow (config/grants). For each CPU,
 * a user has one grant at most. The table has no lock and no clock: the caller passes the time
 * (Unix time, s).
 */
#ifndef AUTHZ_GRANTS_H
#define AUTHZ_GRANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"
#include "daemon/core/request.h"

enum { GRANTS_MAX = 1024 };

/* The latest time at which a grant may expire (Unix time, s). */
#define GRANT_EXPIRES_MAX (1ULL << 40)

struct grant {
	uid_t uid;
	struct cpus cpus; /* one at least */
	bool kernel;      /* counting at kernel level is granted, too */
	uint64_t expires; /* Unix time, s; 0: never */
};

/* Initially all zero. Two grants of a user differ in @kernel or @expires. */
struct grants {
	struct grant *grant;
	unsigned n;
};

void grants_free(struct grants *g);
/* ENOMEM. Replaces the contents of @to. */
int grants_copy(const struct grants *from, struct grants *to, struct err *e);

/*
 * Applies lines to the table, at the time @now:
 *
 *   [+]uid=N cpus=LIST [kernel] [expires=TIME|+SECONDS]   replaces what N has on these CPUs
 *   -uid=N [cpus=LIST]                                    takes these CPUs, or all, from N
 *
 * If the text has several lines, errors name the line. EINVAL: bad syntax, or a time that has
 * passed; ERANGE; ENOSPC: more than GRANTS_MAX; ENOMEM. After an error, the table may have changed,
 * so apply lines to a copy. @changes, unless it is NULL, gets each line as it was understood, with
 * its sign.
 */
int grants_apply(
	struct grants *g, struct slice text, uint64_t now, struct text *changes, struct err *e);

/* Prints the lines that make up the table, or only the lines of one user. */
void grants_show(const struct grants *g, struct text *out);
void grants_show_user(const struct grants *g, uid_t uid, struct text *out);

/* True if the CPUs of all grants are below @limit. */
bool grants_below(const struct grants *g, unsigned limit);

/* Removes grants that have expired. True: there were some. */
bool grants_expire(struct grants *g, uint64_t now);
/*
 * Keeps grants from lasting longer when the clock is set back. @offset is how far (ns) the clock
 * was ahead of one that is never set, @now_offset how far it is now. If the clock was set back by a
 * second or more, all grants expire earlier by as much. Updates @offset. True: the table has
 * changed.
 */
bool grants_follow_clock(struct grants *g, int64_t *offset, int64_t now_offset);
/* When the next grant expires (Unix time, s); 0: none does. */
uint64_t grants_next_expiry(const struct grants *g);

/* Values for the CPU on which a right is needed, in place of its number. */
enum {
	GRANT_ANY_CPU = -1, /* any CPU: a grant for one of them is sufficient */
	GRANT_NO_CPU = -2,  /* no CPU: grants do not help */
};

/* Adds to @r the rights that it lacks and that grants give @uid on @cpu, and marks them as granted.
 */
void grants_add_rights(const struct grants *g, uid_t uid, int cpu, uint64_t now, struct rights *r);
/* The rights that both of two processes have, as neither may lend its own to the other. */
struct rights grants_common_rights(const struct rights *a, const struct rights *b);
/* True if all that @r has by grants is still granted on @cpu. */
bool grants_cover(const struct grants *g, const struct rights *r, unsigned cpu, uint64_t now);

#endif

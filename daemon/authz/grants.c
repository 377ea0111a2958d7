// SPDX-License-Identifier: MIT
#include "daemon/authz/grants.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/nsec.h"
#include "base/num.h"
#include "base/number_list.h"

enum { CPU_WORDS = CPUS_MAX / 64 };

/* One line: what it grants or revokes. */
struct grant_line {
	struct grant grant;
	bool revoke, has_uid, has_cpus;
};

void grants_free(struct grants *g)
{
	free(g->grant);
	*g = (struct grants){0};
}

int grants_copy(const struct grants *from, struct grants *to, struct err *e)
{
	struct grant *copy = malloc((from->n + 1) * sizeof(*copy));

	if (!copy)
		return err_set(e, ENOMEM, "no memory for the grants");
	if (from->n)
		memcpy(copy, from->grant, from->n * sizeof(*copy));
	grants_free(to);
	*to = (struct grants){copy, from->n};
	return 0;
}

static bool grant_is_empty(const struct grant *grant)
{
	for (unsigned i = 0; i < CPU_WORDS; i++)
		if (grant->cpus.bits[i])
			return false;
	return true;
}

static void grants_remove(struct grants *g, unsigned i)
{
	g->n--;
	memmove(&g->grant[i], &g->grant[i + 1], (g->n - i) * sizeof(g->grant[0]));
}

static void grants_revoke(struct grants *g, uid_t uid, const struct cpus *cpus)
{
	for (unsigned i = g->n; i-- > 0;) {
		struct grant *grant = &g->grant[i];

		if (grant->uid != uid)
			continue;
		for (unsigned w = 0; w < CPU_WORDS; w++)
			grant->cpus.bits[w] &= ~cpus->bits[w];
		if (grant_is_empty(grant))
			grants_remove(g, i);
	}
}

static int grants_add(struct grants *g, const struct grant *new, struct err *e)
{
	struct grant *grown;

	grants_revoke(g, new->uid, &new->cpus);
	for (unsigned i = 0; i < g->n; i++) {
		struct grant *grant = &g->grant[i];

		if (grant->uid != new->uid || grant->kernel != new->kernel ||
			grant->expires != new->expires)
			continue;
		for (unsigned w = 0; w < CPU_WORDS; w++)
			grant->cpus.bits[w] |= new->cpus.bits[w];
		return 0;
	}
	if (g->n >= GRANTS_MAX)
		return err_set(e, ENOSPC, "there are more than %d grants: revoke some", GRANTS_MAX);
	grown = realloc(g->grant, (g->n + 1) * sizeof(*grown));
	if (!grown)
		return err_set(e, ENOMEM, "no memory for the grants");
	g->grant = grown;
	g->grant[g->n++] = *new;
	return 0;
}

/* Refuses a second @word, before its value is parsed. */
static int grant_refuse_twice(bool given, const char *word, struct err *e)
{
	return given ? err_set(e, EINVAL, "%s is given twice", word) : 0;
}

static int grant_parse_uid(struct slice value, struct grant_line *line, struct err *e)
{
	uint64_t uid;

	if (grant_refuse_twice(line->has_uid, "uid", e) < 0)
		return -e->no;
	/* (uid_t)-1 means "no change" to the kernel and is not a user. */
	if (num_max(value, (uid_t)-2, &uid, e) < 0)
		return err_prefix(e, "uid");
	if (!uid)
		return err_set(e, EINVAL, "root may load everywhere: name another uid");
	line->has_uid = true;
	line->grant.uid = (uid_t)uid;
	return 0;
}

static int grant_parse_cpus(struct slice value, struct grant_line *line, struct err *e)
{
	if (grant_refuse_twice(line->has_cpus, "cpus", e) < 0)
		return -e->no;
	if (number_list_parse(value, line->grant.cpus.bits, CPUS_MAX, e) < 0)
		return err_prefix(e, "cpus");
	line->has_cpus = true;
	return 0;
}

static int grant_parse_expires(
	struct slice value, uint64_t now, struct grant_line *line, struct err *e)
{
	bool relative = slice_starts(value, "+");
	uint64_t at;

	if (grant_refuse_twice(line->grant.expires, "expires", e) < 0)
		return -e->no;
	if (relative)
		value = (struct slice){value.p + 1, value.n - 1};
	if (num_max(value, GRANT_EXPIRES_MAX, &at, e) < 0)
		return err_prefix(e, "expires");
	if (relative)
		at += now;
	if (at <= now || at > GRANT_EXPIRES_MAX)
		return err_set(e, at <= now ? EINVAL : ERANGE,
			"expires: the time is now %" PRIu64 ": write a later one (date +%%s), or "
			"+SECONDS",
			now);
	line->grant.expires = at;
	return 0;
}

static int grant_parse_word(struct slice word, uint64_t now, struct grant_line *line, struct err *e)
{
	struct slice value = word, key = slice_cut(&value, '=');
	bool has_value = key.n < word.n;

	if (slice_is(key, "uid") && has_value)
		return grant_parse_uid(value, line, e);
	if (slice_is(key, "cpus") && has_value)
		return grant_parse_cpus(value, line, e);
	if (slice_is(key, "expires") && has_value && !line->revoke)
		return grant_parse_expires(value, now, line, e);
	if (slice_is(word, "kernel") && !line->revoke) {
		if (grant_refuse_twice(line->grant.kernel, "kernel", e) < 0)
			return -e->no;
		line->grant.kernel = true;
		return 0;
	}
	return err_set(e, EINVAL,
		"'%.*s' is not a grant: write 'uid=N cpus=LIST [kernel] [expires=TIME]' to grant, "
		"'-uid=N [cpus=LIST]' to revoke",
		SLICE_ARG(word));
}

static int grant_parse_line(struct slice text, uint64_t now, struct grant_line *line, struct err *e)
{
	struct slice word;

	line->revoke = slice_starts(text, "-");
	if (line->revoke || slice_starts(text, "+"))
		text = (struct slice){text.p + 1, text.n - 1};
	for (word = slice_word(&text); word.n; word = slice_word(&text))
		if (grant_parse_word(word, now, line, e) < 0)
			return -e->no;
	if (!line->has_uid)
		return err_set(e, EINVAL, "uid is missing");
	if (!line->has_cpus && !line->revoke)
		return err_set(e, EINVAL, "cpus is missing");
	return 0;
}

static void grant_print(const struct grant *grant, struct text *out)
{
	text_printf(out, "uid=%u cpus=", (unsigned)grant->uid);
	number_list_print(grant->cpus.bits, CPUS_MAX, out);
	if (grant->kernel)
		text_printf(out, " kernel");
	if (grant->expires)
		text_printf(out, " expires=%" PRIu64, grant->expires);
	text_printf(out, "\n");
}

static int grants_apply_line(
	struct grants *g, struct slice text, uint64_t now, struct text *changes, struct err *e)
{
	struct grant_line line = {0};

	if (grant_parse_line(text, now, &line, e) < 0)
		return -e->no;
	if (!line.has_cpus)
		memset(&line.grant.cpus, 0xff, sizeof(line.grant.cpus));
	if (changes) {
		text_printf(changes, "%c", line.revoke ? '-' : '+');
		grant_print(&line.grant, changes);
	}
	if (!line.revoke)
		return grants_add(g, &line.grant, e);
	grants_revoke(g, line.grant.uid, &line.grant.cpus);
	return 0;
}

int grants_apply(
	struct grants *g, struct slice text, uint64_t now, struct text *changes, struct err *e)
{
	bool several = text.n && memchr(text.p, '\n', text.n);

	for (unsigned n = 1; text.n; n++) {
		struct slice line = slice_trim(slice_cut(&text, '\n'));

		if (line.n && grants_apply_line(g, line, now, changes, e) < 0)
			return several ? err_prefix(e, "line %u", n) : -e->no;
	}
	return 0;
}

void grants_show(const struct grants *g, struct text *out)
{
	for (unsigned i = 0; i < g->n; i++)
		grant_print(&g->grant[i], out);
}

void grants_show_user(const struct grants *g, uid_t uid, struct text *out)
{
	for (unsigned i = 0; i < g->n; i++)
		if (g->grant[i].uid == uid)
			grant_print(&g->grant[i], out);
}

bool grants_below(const struct grants *g, unsigned limit)
{
	for (unsigned i = 0; i < g->n; i++)
		for (unsigned cpu = limit; cpu < CPUS_MAX; cpu++)
			if (cpus_has(&g->grant[i].cpus, cpu))
				return false;
	return true;
}

static bool grant_has_expired(const struct grant *grant, uint64_t now)
{
	return grant->expires && grant->expires <= now;
}

bool grants_expire(struct grants *g, uint64_t now)
{
	unsigned before = g->n;

	for (unsigned i = g->n; i-- > 0;)
		if (grant_has_expired(&g->grant[i], now))
			grants_remove(g, i);
	return g->n < before;
}

bool grants_follow_clock(struct grants *g, int64_t *offset, int64_t now_offset)
{
	uint64_t back;
	bool changed = false;

	if (now_offset >= *offset) {
		*offset = now_offset;
		return false;
	}
	back = (uint64_t)(*offset - now_offset) / NSEC_PER_SEC;
	*offset -= (int64_t)(back * NSEC_PER_SEC);
	for (unsigned i = 0; back && i < g->n; i++) {
		uint64_t *expires = &g->grant[i].expires;

		if (!*expires)
			continue;
		*expires = *expires > back ? *expires - back : 1;
		changed = true;
	}
	return changed;
}

uint64_t grants_next_expiry(const struct grants *g)
{
	uint64_t next = 0;

	for (unsigned i = 0; i < g->n; i++) {
		uint64_t at = g->grant[i].expires;

		if (at && (!next || at < next))
			next = at;
	}
	return next;
}

/* The rights that grants give @uid on @cpu. */
static struct rights grants_of(const struct grants *g, uid_t uid, int cpu, uint64_t now)
{
	struct rights r = {0};

	for (unsigned i = 0; i < g->n; i++) {
		const struct grant *grant = &g->grant[i];

		if (grant->uid != uid || grant_has_expired(grant, now) ||
			(cpu != GRANT_ANY_CPU &&
				(cpu < 0 || !cpus_has(&grant->cpus, (unsigned)cpu))))
			continue;
		r.system = true;
		r.kernel |= grant->kernel;
	}
	return r;
}

void grants_add_rights(const struct grants *g, uid_t uid, int cpu, uint64_t now, struct rights *r)
{
	struct rights given = grants_of(g, uid, cpu, now);

	r->by_grant = (struct rights_by_grant){
		.system = given.system && !r->system,
		.kernel = given.kernel && !r->kernel,
		.uid = uid,
	};
	r->system |= given.system;
	r->kernel |= given.kernel;
}

static bool grants_are_needed(const struct rights *r)
{
	return r->by_grant.system || r->by_grant.kernel;
}

struct rights grants_common_rights(const struct rights *a, const struct rights *b)
{
	const struct rights *granted = grants_are_needed(a) ? a : b;
	struct rights r = {
		.system = a->system && b->system,
		.thread = a->thread && b->thread,
		.kernel = a->kernel && b->kernel,
	};

	/* A right that depended on grants of two users could not say which of them is revoked. */
	if (grants_are_needed(a) && grants_are_needed(b) && a->by_grant.uid != b->by_grant.uid) {
		r.system &= !a->by_grant.system && !b->by_grant.system;
		r.kernel &= !a->by_grant.kernel && !b->by_grant.kernel;
		return r;
	}
	r.by_grant = (struct rights_by_grant){
		.system = r.system && (a->by_grant.system || b->by_grant.system),
		.kernel = r.kernel && (a->by_grant.kernel || b->by_grant.kernel),
		.uid = granted->by_grant.uid,
	};
	return r;
}

bool grants_cover(const struct grants *g, const struct rights *r, unsigned cpu, uint64_t now)
{
	struct rights given;

	if (!grants_are_needed(r))
		return true;
	given = grants_of(g, r->by_grant.uid, (int)cpu, now);
	return (given.system || !r->by_grant.system) && (given.kernel || !r->by_grant.kernel);
}

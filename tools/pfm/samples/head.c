// SPDX-License-Identifier: MIT
/* Writes the lines about the recording that precede a text for people. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/slice.h"
#include "tools/pfm/samples/reports.h"

static void head_write_info(
	const struct recording *r, const char *title, const char *key, FILE *out)
{
	struct slice s = recording_info(r, key);

	if (s.n)
		fprintf(out, "# %s: %.*s\n", title, (int)s.n, s.p);
}

/* The skew of polling is in the file; the skew of an interrupt is not measured. */
static void head_write_precision(const struct recording *r, FILE *out)
{
	uint64_t skew = 0;
	struct err e;

	if (recording_has_info(r, "addresses", "interrupt"))
		fprintf(out, "# addresses: of the overflow's interrupt, some instructions late at "
			     "most\n");
	if (!recording_has_info(r, "addresses", "poll"))
		return;
	fprintf(out, "# addresses: found by polling");
	if (num_u64(recording_info(r, "skew_ns"), &skew, &e) == 0 && skew)
		fprintf(out, ", up to %.2f ms late", (double)skew / 1e6);
	fprintf(out, "; the shares are right\n");
	head_write_info(r, "ns between polls, at least", "tick_ns", out);
}

static void head_write_time(const struct recording *r, FILE *out)
{
	uint64_t sampled = recording_sampled_ns(r), delay = 0;
	struct err e;

	if (!sampled)
		return;
	fprintf(out, "# sampled for %.3f s", (double)sampled / 1e9);
	if (num_u64(recording_info(r, "delay_ns"), &delay, &e) == 0)
		fprintf(out, ", after a delay of %.3f s", (double)delay / 1e9);
	fprintf(out, "\n");
}

static void head_write_notes(const struct recording *r, FILE *out)
{
	struct slice notes = {r->notes.p, r->notes.n};

	while (notes.n) {
		struct slice line = slice_cut(&notes, '\n');

		fprintf(out, "# %.*s\n", (int)line.n, line.p);
	}
}

/* A number that the recording has for @key; 0: it has none. */
static uint64_t head_number(const struct recording *r, const char *key)
{
	uint64_t n = 0;
	struct err ignored;

	(void)num_u64(recording_info(r, key), &n, &ignored);
	return n;
}

static void head_write_cut(const struct recording *r, const char *key, const char *why, FILE *out)
{
	uint64_t n = head_number(r, key);

	if (n)
		fprintf(out, "# call chains: %" PRIu64 " cut: %s\n", n, why);
}

static void head_write_chains(const struct recording *r, FILE *out)
{
	struct slice how = recording_info(r, "call_graph");

	if (!slice_is(slice_cut(&how, ' '), "dwarf")) {
		fprintf(out, "# call chains: by frame pointers; code without them hides callers\n");
		return;
	}
	fprintf(out, "# call chains: from %.*s bytes of stack, %" PRIu64 " of them whole%s\n",
		(int)how.n, how.p, head_number(r, "chains_whole"),
		r->nevents > 1 ? ", with those of other events" : "");
	head_write_cut(r, "chains_cut_stack",
		"the stack is deeper than these bytes: record more of it", out);
	head_write_cut(r, "chains_cut_code", "the code has no call frame information", out);
	head_write_cut(r, "chains_cut_deep", "they have more functions than are recorded", out);
	head_write_cut(
		r, "chains_cut_broken", "a file is damaged, or unwinding took too long", out);
	if (head_number(r, "chains_refused"))
		fprintf(out,
			"# call chains: those of process %" PRIu64
			" broke the unwinding and were left out: record other processes alone\n",
			head_number(r, "chains_refused"));
	if (head_number(r, "chains_unchecked"))
		fprintf(out,
			"# call chains: the debug files of %" PRIu64
			" programs were left out, as checking others took long: record fewer "
			"processes\n",
			head_number(r, "chains_unchecked"));
}

const char *report_unit(const struct recording *r)
{
	if (recording_is_ns(r))
		return "ns";
	return r->event->hz ? "events" : "overflows";
}

void report_write_head(const struct recording *r, FILE *out)
{
	head_write_info(r, "command", "command", out);
	head_write_info(r, "counted by", "pmu", out);
	if (r->event->hz)
		fprintf(out, "# event: %s, about %u samples a second of each thread or CPU\n",
			recording_event(r), r->event->hz);
	else if (recording_is_ns(r))
		fprintf(out, "# event: %s\n", recording_event(r));
	else
		fprintf(out, "# event: %s, an overflow each %" PRIu64 "\n", recording_event(r),
			recording_period(r));
	head_write_precision(r, out);
	head_write_time(r, out);
	fprintf(out, "# %" PRIu64 " %s in %zu samples", r->weight, report_unit(r), r->nsamples);
	if (r->event->nstacks)
		fprintf(out, ", %zu with call chains", r->event->nstacks);
	fprintf(out, "\n");
	if (r->event->nstacks)
		head_write_chains(r, out);
	head_write_notes(r, out);
}

int report_parse_limit(double *at_least, const char *text, struct err *e)
{
	char *end;

	*at_least = strtod(text, &end);
	if (end == text || *end || !(*at_least >= 0 && *at_least <= 100))
		return err_set(
			e, EINVAL, "--percent-limit: '%s' is not a number from 0 to 100", text);
	return 0;
}

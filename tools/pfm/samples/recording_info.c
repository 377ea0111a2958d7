// SPDX-License-Identifier: MIT
/* Information about a recording. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/slice.h"
#include "tools/pfm/samples/recording.h"

struct slice recording_info(const struct recording *r, const char *key)
{
	struct slice text = {r->info.p, r->info.n};

	while (text.n) {
		struct slice line = slice_cut(&text, '\n');

		if (slice_is(slice_cut(&line, ' '), key))
			return line;
	}
	return (struct slice){"", 0};
}

bool recording_has_info(const struct recording *r, const char *key, const char *value)
{
	struct slice text = {r->info.p, r->info.n};

	while (text.n) {
		struct slice line = slice_cut(&text, '\n');

		if (slice_is(slice_cut(&line, ' '), key) && slice_is(line, value))
			return true;
	}
	return false;
}

uint64_t recording_sampled_ns(const struct recording *r)
{
	uint64_t start = 0;
	struct err e;

	if (num_u64(recording_info(r, "start_ns"), &start, &e) < 0 || start > r->end_ns)
		return 0;
	return r->end_ns - start;
}

const char *recording_event(const struct recording *r)
{
	return r->event->name;
}

uint64_t recording_period(const struct recording *r)
{
	return r->event->period;
}

bool recording_counts_time(const char *event)
{
	static const char *const clocks[] = {"cpu-clock", "task-clock", "off-cpu", "wall-clock"};
	const struct slice name = {event, strcspn(event, ":")};

	for (unsigned i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (slice_is(name, clocks[i]))
			return true;
	return false;
}

bool recording_is_time(const struct recording *r)
{
	return recording_counts_time(recording_event(r));
}

bool recording_is_ns(const struct recording *r)
{
	return recording_is_time(r) && recording_period(r) == 1;
}

uint64_t *recording_self(const struct recording *r)
{
	uint64_t *self = calloc(r->nlocations + 1UL, sizeof(*self));

	for (size_t i = 0; self && i < r->nsamples; i++)
		self[recording_first(r, &r->samples[i])->number] += r->samples[i].weight;
	return self;
}

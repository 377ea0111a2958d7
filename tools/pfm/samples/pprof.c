// SPDX-License-Identifier: MIT
/*
 * profile.proto of pprof (github.com/google/pprof), version of 2024. Locations, mappings and
 * functions are numbered from 1; strings from 0, where the first is empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/slice.h"
#include "tools/pfm/samples/pairs.h"
#include "tools/pfm/samples/protobuf.h"
#include "tools/pfm/samples/reports.h"

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

/* Fields of the messages, by their names there. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING_TABLE,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,

	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT,

	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE,
	SAMPLE_LABEL,

	LABEL_KEY = 1,
	LABEL_STR,
	LABEL_NUM,

	MAPPING_ID = 1,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILENAMES,
	MAPPING_HAS_LINE_NUMBERS,
	MAPPING_HAS_INLINE_FRAMES,

	LOCATION_ID = 1,
	LOCATION_MAPPING_ID,
	LOCATION_ADDRESS,
	LOCATION_LINE,

	LINE_FUNCTION_ID = 1,
	LINE_LINE,

	FUNCTION_ID = 1,
	FUNCTION_NAME,
	FUNCTION_SYSTEM_NAME,
	FUNCTION_FILENAME,
};

struct pprof {
	const struct recording *r;
	struct text profile;
	struct text message; /* a message in the profile */
	struct text inner;   /* a message in that message */
	struct text strings; /* fields of the profile's string table */
	struct interned table;
	bool failed;
};

/* The index of a string, which is added if it is new. */
static uint64_t pprof_string(struct pprof *p, const char *s)
{
	uint32_t known = p->table.index.n, number = 0;

	if (interned_number(&p->table, s, strlen(s) + 1, &number) < 0)
		p->failed = true;
	else if (number == known)
		protobuf_string(&p->strings, PROFILE_STRING_TABLE, s);
	return number;
}

static void pprof_value_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	protobuf_number(&p->message, VALUE_TYPE_TYPE, pprof_string(p, type));
	protobuf_number(&p->message, VALUE_TYPE_UNIT, pprof_string(p, unit));
	protobuf_message(&p->profile, field, &p->message);
}

static const char *pprof_unit(const struct recording *r)
{
	return recording_is_time(r) ? "nanoseconds" : "count";
}

static void pprof_mapping(struct pprof *p, const struct object *o)
{
	char id[2 * DATA_BUILD_ID_MAX + 1] = "";

	for (unsigned i = 0; i < o->id_size; i++)
		snprintf(id + 2 * i, 3, "%02x", o->id[i]);
	protobuf_number(&p->message, MAPPING_ID, o->number + 1);
	protobuf_number(&p->message, MAPPING_MEMORY_LIMIT, UINT64_MAX);
	protobuf_number(&p->message, MAPPING_FILENAME, pprof_string(p, o->path));
	protobuf_number(&p->message, MAPPING_BUILD_ID, pprof_string(p, id));
	for (unsigned has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINE_FRAMES; has++)
		protobuf_number(&p->message, has, 1);
	protobuf_message(&p->profile, PROFILE_MAPPING, &p->message);
}

/* Writes a location, with the lines of the functions there, the innermost first. */
static void pprof_location(struct pprof *p, const struct location *at)
{
	protobuf_number(&p->message, LOCATION_ID, at->number + 1);
	protobuf_number(&p->message, LOCATION_MAPPING_ID, at->object ? at->object->number + 1 : 0);
	protobuf_number(&p->message, LOCATION_ADDRESS, at->address);
	for (; at; at = at->into) {
		if (!at->function)
			continue;
		protobuf_number(&p->inner, LINE_FUNCTION_ID, at->number + 1);
		protobuf_number(&p->inner, LINE_LINE, at->line.line);
		protobuf_message(&p->message, LOCATION_LINE, &p->inner);
	}
	protobuf_message(&p->profile, PROFILE_LOCATION, &p->message);
}

/* Writes the function of a location: pprof adds up functions of the same name. */
static void pprof_function(struct pprof *p, const struct location *at)
{
	protobuf_number(&p->message, FUNCTION_ID, at->number + 1);
	protobuf_number(&p->message, FUNCTION_NAME, pprof_string(p, at->function));
	protobuf_number(&p->message, FUNCTION_SYSTEM_NAME, pprof_string(p, at->function));
	if (at->line.file)
		protobuf_number(&p->message, FUNCTION_FILENAME, pprof_string(p, at->line.file));
	protobuf_message(&p->profile, PROFILE_FUNCTION, &p->message);
}

static void pprof_label(struct pprof *p, const char *key, const char *str, uint64_t num)
{
	protobuf_number(&p->inner, LABEL_KEY, pprof_string(p, key));
	if (str)
		protobuf_number(&p->inner, LABEL_STR, pprof_string(p, str));
	else
		protobuf_number(&p->inner, LABEL_NUM, num);
	protobuf_message(&p->message, SAMPLE_LABEL, &p->inner);
}

static void pprof_sample(struct pprof *p, const struct recorded_thread *t,
	const struct recorded_stack *stack, uint64_t weight)
{
	for (uint32_t i = 0; i < stack->n; i++)
		protobuf_pack(&p->inner, stack->locations[i] + 1);
	protobuf_message(&p->message, SAMPLE_LOCATION_ID, &p->inner);
	protobuf_pack(&p->inner, weight);
	protobuf_pack(&p->inner, weight * recording_period(p->r));
	protobuf_message(&p->message, SAMPLE_VALUE, &p->inner);
	pprof_label(p, "command", t->comm ? t->comm : "[unknown]", 0);
	pprof_label(p, "pid", NULL, t->pid);
	pprof_label(p, "tid", NULL, t->tid);
	protobuf_message(&p->profile, PROFILE_SAMPLE, &p->message);
}

/* pprof does not distinguish samples that differ only in time and CPU. */
static void pprof_samples(struct pprof *p)
{
	const struct recording *r = p->r;
	struct pairs alike;

	pairs_init(&alike);
	for (size_t i = 0; i < r->nsamples && !p->failed; i++)
		p->failed = pairs_weigh(&alike, r->samples[i].thread, r->samples[i].stack,
				    r->samples[i].weight) < 0;
	for (uint32_t i = 0; i < alike.n; i++) {
		const struct recorded_stack stack = recording_stack(r, (uint32_t)alike.list[i].b);

		pprof_sample(p, interned_get(&r->threads, (uint32_t)alike.list[i].a).p, &stack,
			alike.list[i].weight);
	}
	pairs_free(&alike);
}

/* Writes the objects. pprof takes the first one for the main program, which is mapped first. */
static void pprof_objects(struct pprof *p)
{
	const struct object **all = image_objects(&p->r->image);

	p->failed = p->failed || !all;
	for (unsigned i = 0; all && i < p->r->image.nobjects; i++)
		pprof_mapping(p, all[i]);
	free(all);
}

static void pprof_locations(struct pprof *p)
{
	for (uint32_t i = 0; i < p->r->nlocations; i++) {
		const struct location *at = p->r->by_number[i];

		if (at->depth == 0)
			pprof_location(p, at);
		if (at->function)
			pprof_function(p, at);
	}
}

static void pprof_number(struct pprof *p, unsigned field, const char *key)
{
	uint64_t v;
	struct err e;

	if (num_u64(recording_info(p->r, key), &v, &e) == 0)
		protobuf_number(&p->profile, field, v);
}

static void pprof_build(struct pprof *p)
{
	const struct recording *r = p->r;
	uint64_t duration = recording_sampled_ns(r);

	pprof_string(p, "");
	pprof_value_type(p, PROFILE_SAMPLE_TYPE, report_unit(r),
		recording_is_ns(r) ? pprof_unit(r) : "count");
	pprof_value_type(p, PROFILE_SAMPLE_TYPE, recording_event(r), pprof_unit(r));
	pprof_samples(p);
	pprof_objects(p);
	pprof_locations(p);
	pprof_number(p, PROFILE_TIME_NANOS, "start_realtime_ns");
	if (!duration && r->nsamples)
		duration = r->samples[r->nsamples - 1].time - r->samples[0].time;
	protobuf_number(&p->profile, PROFILE_DURATION_NANOS, duration);
	pprof_value_type(p, PROFILE_PERIOD_TYPE, recording_event(r), pprof_unit(r));
	protobuf_number(&p->profile, PROFILE_PERIOD, recording_period(r));
	if (r->notes.n)
		protobuf_number(&p->profile, PROFILE_COMMENT, pprof_string(p, r->notes.p));
}

static void pprof_free(struct pprof *p)
{
	interned_free(&p->table);
	text_free(&p->profile);
	text_free(&p->message);
	text_free(&p->inner);
	text_free(&p->strings);
}

#ifdef HAVE_ZLIB
/* Writes the profile, compressed. False: no memory. */
static bool pprof_write_out(const struct text *t, FILE *out)
{
	z_stream z = {0};
	unsigned char *to;
	uLong room;
	bool ok;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
		Z_OK)
		return false;
	room = deflateBound(&z, t->n);
	to = malloc(room);
	z.next_in = (unsigned char *)t->p;
	z.avail_in = (uInt)t->n;
	z.next_out = to;
	z.avail_out = (uInt)room;
	ok = to && deflate(&z, Z_FINISH) == Z_STREAM_END;
	if (ok)
		fwrite(to, 1, room - z.avail_out, out);
	deflateEnd(&z);
	free(to);
	return ok;
}
#else
static bool pprof_write_out(const struct text *t, FILE *out)
{
	fwrite(t->p, 1, t->n, out);
	return true;
}
#endif

int pprof_write(const struct recording *r, FILE *out, struct err *e)
{
	struct pprof p = {.r = r};
	bool ok;

	interned_init(&p.table);
	pprof_build(&p);
	protobuf_append(&p.profile, &p.strings);
	ok = !p.failed && text_ok(&p.profile) && pprof_write_out(&p.profile, out);
	pprof_free(&p);
	return ok ? 0 : err_set(e, ENOMEM, "no memory for the profile");
}

// SPDX-License-Identifier: MIT
/*
 * Sample files of pfm record. The input is what follows the head, since mutation would mostly break
 * that. A file is refused with a sentence, or everything that pfm report makes of it can be made,
 * and all samples are in it.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

#include "tools/pfm/samples/recording.h"
#include "tools/pfm/samples/reports.h"

static int write_flat(const struct recording *r, FILE *out, struct err *e)
{
	struct flat_keys keys;

	CHECK(flat_parse_keys(&keys, "command,pid,tid,cpu,object,function", e) == 0);
	return flat_write(r, &keys, 0, out, e);
}

static int write_flamegraph(const struct recording *r, FILE *out, struct err *e)
{
	return flamegraph_write(r, 0, out, e);
}

static int write_tree(const struct recording *r, FILE *out, struct err *e)
{
	const struct tree_options options = {.at_least = 0};

	return tree_write(r, &options, out, e);
}

static int write_callers(const struct recording *r, FILE *out, struct err *e)
{
	const struct tree_options options = {.callers = true, .at_least = 1};

	return tree_write(r, &options, out, e);
}

static int (*const writers[])(const struct recording *r, FILE *out, struct err *e) = {write_flat,
	write_tree, write_callers, folded_write, write_flamegraph, html_write, perf_script_write,
	pprof_write, firefox_write};

static char *with_head(const uint8_t *data, size_t size)
{
	struct data_head head = {.version = DATA_VERSION, .order = DATA_ORDER};
	char *p = malloc(sizeof(head) + size);

	CHECK(p);
	memcpy(head.magic, DATA_MAGIC, sizeof(head.magic));
	memcpy(p, &head, sizeof(head));
	if (size)
		memcpy(p + sizeof(head), data, size);
	return p;
}

static void check_output(const struct recording *r, FILE *out)
{
	struct err e;

	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		rewind(out);
		CHECK(writers[i](r, out, &e) == 0);
		CHECK(fflush(out) == 0 && !ferror(out));
	}
}

static void check_samples(const struct recording *r)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < r->nsamples; i++) {
		weight += r->samples[i].weight;
		CHECK(recording_stack(r, r->samples[i].stack).n);
		CHECK(recording_first(r, &r->samples[i]));
	}
	CHECK(weight == r->weight);
}

static void check_with(const uint8_t *data, size_t size, unsigned names, FILE *out)
{
	struct recording r;
	struct data_file f;
	struct err e;
	int rc;

	rc = data_take(&f, with_head(data, size), sizeof(struct data_head) + size, "it", &e);
	if (rc == 0)
		rc = recording_take(&r, f, names, &e);
	if (rc < 0) {
		check_refusal(rc, &e);
		return;
	}
	for (unsigned i = 0; !(names & RECORDING_PLACES) && i < r.nevents; i++) {
		recording_choose(&r, i);
		check_samples(&r);
		check_output(&r, out);
	}
	recording_drop_addresses(&r);
	recording_close(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *out;

	if (!out)
		out = fopen("/dev/null", "we");
	CHECK(out);
	check_with(data, size, RECORDING_ADDRESSES, out);
	check_with(data, size, RECORDING_PLACES, out);
	check_with(data, size, RECORDING_DEFAULT | RECORDING_LINES, out);
	return 0;
}

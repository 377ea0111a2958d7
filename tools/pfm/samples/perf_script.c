// SPDX-License-Identifier: MIT
/* The text of `perf script`, as stackcollapse-perf.pl and speedscope read it. */
#include <inttypes.h>

#include "tools/pfm/samples/reports.h"

static void script_write_frame(const struct location *p, uint64_t ip, FILE *out)
{
	const char *object = p->object ? p->object->path : "[unknown]";

	if (p->function && p->into)
		fprintf(out, "\t%16" PRIx64 " %s (inlined)\n", ip, p->function);
	else if (p->function)
		fprintf(out, "\t%16" PRIx64 " %s+0x%" PRIx64 " (%s)\n", ip, p->function,
			p->function_offset, object);
	else
		fprintf(out, "\t%16" PRIx64 " [unknown] (%s)\n", ip, object);
}

/* Writes the frames of a stack. Its addresses are those of the chain that are no markers. */
static void script_write_stack(
	const struct recording *r, const struct recorded_sample *s, FILE *out)
{
	const struct interned_sequence chain = interned_get(&r->chains, s->chain);
	const struct recorded_stack stack = recording_stack(r, s->stack);
	const uint64_t *ip = chain.p, *end = ip + chain.size / sizeof(*ip);

	for (uint32_t i = 0; i < stack.n; i++) {
		while (ip < end && data_is_marker(*ip))
			ip++;
		for (const struct location *at = r->by_number[stack.locations[i]]; at;
			at = at->into)
			script_write_frame(at, ip < end ? *ip : 0, out);
		ip += ip < end;
	}
}

static void script_write_sample(
	const struct recording *r, const struct recorded_sample *s, FILE *out)
{
	const struct recorded_thread *t = recording_thread(r, s);

	fprintf(out, "%s %u/%u [%03u] %" PRIu64 ".%06u: %10" PRIu64 " %s: \n",
		t->comm ? t->comm : ":unknown", t->pid, t->tid, s->cpu, s->time / 1000000000,
		(unsigned)(s->time % 1000000000 / 1000), s->weight * recording_period(r),
		recording_event(r));
	script_write_stack(r, s, out);
	fputc('\n', out);
}

int perf_script_write(const struct recording *r, FILE *out, struct err *e)
{
	(void)e;
	for (size_t i = 0; i < r->nsamples; i++)
		script_write_sample(r, &r->samples[i], out);
	return 0;
}

// SPDX-License-Identifier: MIT
#include "daemon/percpu/perf_records.h"

#include <stddef.h>
#include <string.h>

/* The layout for PERF_RECORDS_SAMPLE_TYPE: see perf_event_open(2). */
struct sample_record {
	struct perf_event_header head;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

/* The part of a sample that has its call chain. */
struct chain {
	uint64_t n;
	uint64_t frames[];
};

struct lost_record {
	struct perf_event_header head;
	uint64_t id, lost;
};

struct perf_parser {
	struct perf_records *r;
	pfm_smpl_where_t *newest;
	void (*event)(void *arg, const pfm_smpl_event_t *);
	void *arg;
};

/* Takes the frames that fit. */
static void perf_parse_chain(const struct perf_parser *p, const struct sample_record *s)
{
	const struct chain *c = (const struct chain *)(s + 1);
	size_t room = s->head.size - sizeof(*s);
	uint64_t n = room < sizeof(*c) ? 0 : c->n;

	if (n > room / sizeof(uint64_t) - 1) {
		p->r->lost++;
		return;
	}
	if (n > PERF_RECORDS_FRAMES_MAX)
		n = PERF_RECORDS_FRAMES_MAX;
	memcpy(p->r->frames, c->frames, n * sizeof(uint64_t));
	p->newest->frames = p->r->frames;
	p->newest->nframes = (uint16_t)n;
}

static void perf_parse_sample(const struct perf_parser *p, const struct sample_record *s)
{
	if (s->head.size < sizeof(*s)) {
		p->r->lost++;
		return;
	}
	if (s->tid == p->r->self)
		return;
	p->r->sample_time = s->time;
	*p->newest = (pfm_smpl_where_t){.cpu = (uint16_t)s->cpu};
	/* The thread is exiting and has no number any more. */
	if (s->pid == UINT32_MAX)
		return;
	p->newest->ip = s->ip;
	p->newest->pid = s->pid;
	p->newest->tid = s->tid;
	p->newest->known = 1;
	if (p->r->stacks)
		perf_parse_chain(p, s);
}

static void perf_parse_lost(const struct perf_parser *p, const struct lost_record *l)
{
	p->r->lost += l->head.size < sizeof(*l) ? 1 : l->lost;
}

/*
 * Passes an event on. Times never decrease, as readers of events expect, although a record whose
 * writing was interrupted by another record follows that one with a time that is earlier by
 * microseconds.
 */
static void perf_parse_event(const struct perf_parser *p)
{
	struct perf_records *r = p->r;
	pfm_smpl_event_t ev;
	int rc = p->event ? perf_events_parse(&r->ring, &ev) : 0;

	r->lost += rc < 0;
	if (rc <= 0)
		return;
	r->event_time = ev.tstamp > r->event_time ? ev.tstamp : r->event_time;
	ev.tstamp = r->event_time;
	p->event(p->arg, &ev);
}

static void perf_parse(const struct perf_parser *p)
{
	const void *rec = p->r->ring.rec;

	switch (p->r->ring.rec->type) {
	case PERF_RECORD_SAMPLE:
		perf_parse_sample(p, rec);
		break;
	case PERF_RECORD_LOST:
		perf_parse_lost(p, rec);
		break;
	default:
		perf_parse_event(p);
	}
}

void perf_records_read(struct perf_records *r, uint64_t head, pfm_smpl_where_t *newest,
	void (*event)(void *arg, const pfm_smpl_event_t *), void *arg)
{
	const struct perf_parser p = {r, newest, event, arg};

	while (perf_ring_next(&r->ring, head))
		perf_parse(&p);
}

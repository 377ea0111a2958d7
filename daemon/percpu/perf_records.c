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

/* What follows in a sample with its call chain. */
struct chain {
	uint64_t n;
	uint64_t frames[];
};

/* The end of all other records: attr.sample_id_all. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

struct mmap_record {
	struct perf_event_header head;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	char name[];
};

struct comm_record {
	struct perf_event_header head;
	uint32_t pid, tid;
	char name[];
};

struct exit_record {
	struct perf_event_header head;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
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

/* The frames that fit. */
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
 * Passes on @ev with its time and name, if events are wanted and the record is not malformed.
 * @fixed is the size of the record without its name and trailer. Times never decrease, as readers
 * of events expect, although a record whose writing was interrupted by that of another one follows
 * it with a time that is earlier by microseconds.
 */
static void perf_pass_event(const struct perf_parser *p, size_t fixed, pfm_smpl_event_t ev)
{
	struct perf_records *r = p->r;
	size_t size = r->ring.rec.head.size;
	struct trailer t;

	if (!p->event)
		return;
	if (size < fixed + sizeof(t)) {
		r->lost++;
		return;
	}
	memcpy(&t, r->ring.rec.bytes + size - sizeof(t), sizeof(t));
	r->event_time = t.time > r->event_time ? t.time : r->event_time;
	ev.tstamp = r->event_time;
	ev.name = "";
	if (ev.type != PFM_EVENT_EXIT && fixed < size - sizeof(t)) {
		r->ring.rec.bytes[size - sizeof(t) - 1] = '\0';
		ev.name = (const char *)r->ring.rec.bytes + fixed;
	}
	p->event(p->arg, &ev);
}

static void perf_parse_mmap(const struct perf_parser *p, const struct mmap_record *m)
{
	perf_pass_event(p, sizeof(*m),
		(pfm_smpl_event_t){
			.type = PFM_EVENT_MMAP,
			.pid = m->pid,
			.tid = m->tid,
			.addr = m->addr,
			.len = m->len,
			.pgoff = m->pgoff,
		});
}

static void perf_parse_comm(const struct perf_parser *p, const struct comm_record *c)
{
	bool exec = c->head.misc & PERF_RECORD_MISC_COMM_EXEC;

	perf_pass_event(p, sizeof(*c),
		(pfm_smpl_event_t){
			.type = exec ? PFM_EVENT_EXEC : PFM_EVENT_COMM,
			.pid = c->pid,
			.tid = c->tid,
		});
}

static void perf_parse_exit(const struct perf_parser *p, const struct exit_record *x)
{
	perf_pass_event(p, sizeof(*x),
		(pfm_smpl_event_t){.type = PFM_EVENT_EXIT, .pid = x->pid, .tid = x->tid});
}

static void perf_parse(const struct perf_parser *p)
{
	const void *rec = &p->r->ring.rec;

	switch (p->r->ring.rec.head.type) {
	case PERF_RECORD_SAMPLE:
		perf_parse_sample(p, rec);
		break;
	case PERF_RECORD_LOST:
		perf_parse_lost(p, rec);
		break;
	case PERF_RECORD_MMAP:
		perf_parse_mmap(p, rec);
		break;
	case PERF_RECORD_COMM:
		perf_parse_comm(p, rec);
		break;
	case PERF_RECORD_EXIT:
		perf_parse_exit(p, rec);
		break;
	}
}

void perf_records_read(struct perf_records *r, uint64_t head, pfm_smpl_where_t *newest,
	void (*event)(void *arg, const pfm_smpl_event_t *), void *arg)
{
	const struct perf_parser p = {r, newest, event, arg};

	while (perf_ring_next(&r->ring, head))
		perf_parse(&p);
}

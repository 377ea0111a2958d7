// SPDX-License-Identifier: MIT
#include "daemon/cpu/records.h"

#include <stddef.h>
#include <string.h>

/* As RECORDS_SAMPLE_TYPE lays them out (perf_event_open(2)). */
struct sample {
	struct perf_event_header head;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

/* At the end of all other records, for sample_id_all. */
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

struct reader {
	struct records *r;
	pfm_smpl_where_t *newest;
	void (*event)(void *arg, const pfm_smpl_event_t *);
	void *arg;
};

/* @n bytes at @at, in one piece: what reaches the ring's end goes on at its beginning. */
static void copy_out(const struct records *r, uint64_t at, void *to, size_t n)
{
	size_t from = at & (r->size - 1), first = r->size - from < n ? r->size - from : n;

	memcpy(to, r->data + from, first);
	memcpy((char *)to + first, r->data, n - first);
}

static void take_sample(const struct reader *rd, const struct sample *s)
{
	if (s->head.size < sizeof(*s)) {
		rd->r->lost++;
		return;
	}
	if (s->tid == rd->r->self)
		return;
	rd->r->time = s->time;
	*rd->newest = (pfm_smpl_where_t){.cpu = (uint16_t)s->cpu};
	/* It has lost its numbers already, by which anyone could know it. */
	if (s->pid == UINT32_MAX)
		return;
	rd->newest->ip = s->ip;
	rd->newest->pid = s->pid;
	rd->newest->tid = s->tid;
	rd->newest->known = 1;
}

static void take_lost(const struct reader *rd, const struct lost_record *l)
{
	rd->r->lost += l->head.size < sizeof(*l) ? 1 : l->lost;
}

/*
 * Fills in what all events have; @fixed is the size of the record without its name and trailer.
 * A record whose writing was interrupted by that of another may come after it with an earlier
 * time, by microseconds: whoever reads events is promised that times do not go back.
 */
static bool event_common(const struct reader *rd, size_t fixed, pfm_smpl_event_t *ev)
{
	struct records *r = rd->r;
	size_t size = r->rec.head.size;
	struct trailer t;

	if (size < fixed + sizeof(t)) {
		r->lost++;
		return false;
	}
	memcpy(&t, r->rec.bytes + size - sizeof(t), sizeof(t));
	r->last = t.time > r->last ? t.time : r->last;
	ev->tstamp = r->last;
	ev->name = "";
	if (fixed < size - sizeof(t)) {
		r->rec.bytes[size - sizeof(t) - 1] = '\0';
		ev->name = (const char *)r->rec.bytes + fixed;
	}
	return true;
}

static void take_mmap(const struct reader *rd, const struct mmap_record *m)
{
	pfm_smpl_event_t ev = {.type = PFM_EVENT_MMAP};

	if (!event_common(rd, sizeof(*m), &ev))
		return;
	ev.pid = m->pid;
	ev.tid = m->tid;
	ev.addr = m->addr;
	ev.len = m->len;
	ev.pgoff = m->pgoff;
	rd->event(rd->arg, &ev);
}

static void take_comm(const struct reader *rd, const struct comm_record *c)
{
	bool exec = c->head.misc & PERF_RECORD_MISC_COMM_EXEC;
	pfm_smpl_event_t ev = {.type = exec ? PFM_EVENT_EXEC : PFM_EVENT_COMM};

	if (!event_common(rd, sizeof(*c), &ev))
		return;
	ev.pid = c->pid;
	ev.tid = c->tid;
	rd->event(rd->arg, &ev);
}

static void take_exit(const struct reader *rd, const struct exit_record *x)
{
	pfm_smpl_event_t ev = {.type = PFM_EVENT_EXIT};

	if (!event_common(rd, sizeof(*x), &ev))
		return;
	ev.pid = x->pid;
	ev.tid = x->tid;
	ev.name = "";
	rd->event(rd->arg, &ev);
}

static void take(const struct reader *rd)
{
	const void *rec = &rd->r->rec;

	switch (rd->r->rec.head.type) {
	case PERF_RECORD_SAMPLE:
		take_sample(rd, rec);
		return;
	case PERF_RECORD_LOST:
		take_lost(rd, rec);
		return;
	}
	if (!rd->event)
		return;
	switch (rd->r->rec.head.type) {
	case PERF_RECORD_MMAP:
		take_mmap(rd, rec);
		return;
	case PERF_RECORD_COMM:
		take_comm(rd, rec);
		return;
	case PERF_RECORD_EXIT:
		take_exit(rd, rec);
		return;
	}
}

void records_read(struct records *r, uint64_t head, pfm_smpl_where_t *newest,
	void (*event)(void *arg, const pfm_smpl_event_t *), void *arg)
{
	const struct reader rd = {r, newest, event, arg};

	/* The kernel does not write more than there is room for. */
	if (head - r->tail > r->size) {
		r->lost++;
		r->tail = head;
	}
	while (r->tail != head) {
		uint64_t left = head - r->tail;
		size_t n = sizeof(r->rec.head);

		if (left >= n) {
			copy_out(r, r->tail, &r->rec.head, n);
			n = r->rec.head.size;
		}
		/* Where the next one begins is not known then. */
		if (n < sizeof(r->rec.head) || n > left) {
			r->lost++;
			r->tail = head;
			return;
		}
		if (n <= sizeof(r->rec)) {
			copy_out(r, r->tail, &r->rec, n);
			r->rec.head.size = (uint16_t)n; /* whatever the second look has found */
			take(&rd);
		} else {
			r->lost++;
		}
		r->tail += n;
	}
}

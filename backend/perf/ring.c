// SPDX-License-Identifier: MIT
#include "backend/perf/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/perf_events.h"
#include "perfmonfs/smpl_stack.h"

enum {
	/* Pages of a ring at least: 128 KiB, enough for 1800 samples, or for 110 of the largest
	 * call chains. For larger buffers, as many bytes as those have, up to 2 MiB. */
	RING_PAGES = 32,
	RING_PAGES_MAX = 512,
	/* Samples with a piece of the user's stack that a ring has room for, and the bytes of each
	 * without the stack. */
	RING_USER_SAMPLES = 32,
	RING_USER_SAMPLE = 2048,
};

/* Pages of the records, a power of 2. */
static unsigned ring_pages(const struct interrupt_conf *conf)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), want = conf->buffer;
	unsigned pages = RING_PAGES;

	if (want > RING_PAGES_MAX * page)
		want = RING_PAGES_MAX * page;
	if (conf->user_stack)
		want = RING_USER_SAMPLES * ((size_t)conf->user_stack + RING_USER_SAMPLE);
	while (pages * page < want)
		pages *= 2;
	return pages;
}

static size_t ring_record(const struct interrupt_conf *conf)
{
	return PERF_RING_RECORD_MAX + (size_t)conf->user_stack;
}

/* The copy of a large record takes memory, too. */
size_t ring_bytes(const struct interrupt_conf *conf)
{
	return (1 + ring_pages(conf)) * (size_t)sysconf(_SC_PAGESIZE) + ring_record(conf);
}

static int ring_refused(const char *what, size_t size, int no, struct err *e)
{
	return err_set(e, no,
		"%s: %s: the ring buffer of interrupts needs %zu KiB of locked memory "
		"(kernel.perf_event_mlock_kb, LimitMEMLOCK)",
		what, err_name(no), size / 1024);
}

static void ring_cleanup(struct perf_interrupts **p)
{
	ring_free(*p);
}

/* Where memory that may be locked is short, a smaller ring has to do. */
static int ring_map(
	struct perf_interrupts *p, unsigned pages, const struct interrupt_conf *conf, struct err *e)
{
	int rc = perf_ring_map(&p->ring, p->fd, pages, ring_record(conf));

	while (rc == -EPERM && !conf->user_stack && pages > RING_PAGES) {
		pages /= 2;
		perf_ring_unmap(&p->ring);
		rc = perf_ring_map(&p->ring, p->fd, pages, ring_record(conf));
	}
	return rc < 0 ? ring_refused("mmap of a perf event", pages * (size_t)sysconf(_SC_PAGESIZE),
				-rc, e)
		      : 0;
}

int ring_new(int fd, const struct interrupt_conf *conf, struct perf_interrupts **out, struct err *e)
{
	__attribute__((cleanup(ring_cleanup))) struct perf_interrupts *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(e, ENOMEM, "ENOMEM: no memory for interrupts");
	p->events = -1;
	p->fd = fd;
	if (ring_map(p, ring_pages(conf), conf, e) < 0)
		return -e->no;
	*out = take_ptr(&p);
	return 0;
}

void ring_free(struct perf_interrupts *p)
{
	if (!p)
		return;
	cleanup_close(&p->events);
	perf_ring_unmap(&p->ring);
	free(p);
}

int ring_attach(const struct perf_interrupts *p, int fd, uint64_t *id, struct err *e)
{
	if (ioctl(fd, PERF_EVENT_IOC_ID, id) < 0)
		return ring_refused("PERF_EVENT_IOC_ID", p->ring.size, errno, e);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, p->fd) < 0)
		return ring_refused("PERF_EVENT_IOC_SET_OUTPUT", p->ring.size, errno, e);
	return 0;
}

int ring_open_events(struct perf_interrupts *p, pid_t tid, bool waits, struct err *e)
{
	if (p->events >= 0)
		return 0;
	p->events = perf_events_new(tid, p->fd, waits, e);
	if (p->events < 0)
		return p->events;
	p->events_dropped = 0;
	if (ring_attach(p, p->events, &p->events_id, e) == 0)
		return 0;
	cleanup_close(&p->events);
	p->events = -1;
	return -e->no;
}

struct perf_sampling ring_sampling(const struct perf_interrupts *p, uint64_t period)
{
	if (!p || !period)
		return (struct perf_sampling){0};
	return (struct perf_sampling){.period = period,
		.batch = p->conf.batch,
		.stacks = p->conf.stacks,
		.user_stack = p->conf.user_stack};
}

/* The rest of a record, in 64-bit words. */
struct ring_words {
	const uint64_t *at;
	uint64_t left;
};

/* Takes the next @n words; NULL: there are fewer. */
static const uint64_t *ring_take(struct ring_words *w, uint64_t n)
{
	const uint64_t *p = w->at;

	if (n > w->left)
		return NULL;
	w->at += n;
	w->left -= n;
	return p;
}

/* Parses the counts of a group and its times. */
static bool ring_take_counts(struct ring_words *w, struct perf_record *r)
{
	const uint64_t *head = ring_take(w, 3);

	if (!head)
		return false;
	r->ncounts = head[0];
	r->enabled = head[1];
	r->running = head[2];
	/* Compared before multiplying, so that the size in words does not overflow. */
	r->counts = r->ncounts <= w->left ? ring_take(w, 2 * r->ncounts) : NULL;
	return r->counts != NULL;
}

static void ring_take_frames(struct ring_words *w, struct perf_record *r)
{
	const uint64_t *n = ring_take(w, 1);

	r->frames = n ? ring_take(w, *n) : NULL;
	r->nframes = r->frames ? *n : 0;
}

/* Parses what follows the frames if it was asked for: the registers with their ABI, which is 0 if
 * there are none, and the stack: its size, as many bytes, and how many of them are valid. */
static void ring_take_user(struct ring_words *w, struct perf_record *r)
{
	const uint64_t *abi = ring_take(w, 1), *regs, *size, *stack, *valid;

	if (!abi || !*abi)
		return;
	regs = ring_take(w, PFM_STACK_REGS);
	size = ring_take(w, 1);
	stack = size ? ring_take(w, *size / sizeof(uint64_t)) : NULL;
	valid = stack && *size ? ring_take(w, 1) : NULL;
	if (!regs || !stack || (valid && *valid > *size))
		return;
	r->user = (pfm_smpl_user_t){
		.regs = regs,
		.stack = stack,
		.stack_size = valid ? (uint32_t)*valid / 8 * 8 : 0,
		.abi = (uint32_t)*abi,
	};
}

/* Fields are in the order of perf_event_open(2), for the sample_type in event.c. */
static bool ring_parse_sample(struct ring_words w, struct perf_record *r)
{
	const uint64_t *head = ring_take(&w, 5);

	if (!head)
		return false;
	*r = (struct perf_record){
		.kind = INTERRUPT_OVERFLOW,
		.id = head[0],
		.ip = head[1],
		.pid = (uint32_t)head[2],
		.tid = (uint32_t)(head[2] >> 32),
		.time = head[3],
		.cpu = (uint32_t)head[4],
	};
	if (!ring_take_counts(&w, r))
		return false;
	ring_take_frames(&w, r);
	ring_take_user(&w, r);
	return true;
}

/* Parses an event of the thread. A malformed record counts as a missing one. */
static bool ring_parse_event(struct perf_ring *ring, struct perf_record *r)
{
	pfm_smpl_event_t ev;
	int rc = perf_events_parse(ring, &ev);

	if (rc > 0)
		*r = (struct perf_record){.kind = INTERRUPT_EVENT, .time = ev.tstamp, .event = ev};
	else if (rc < 0)
		*r = (struct perf_record){.kind = INTERRUPT_DROPPED, .dropped = 1};
	return rc != 0;
}

bool ring_parse(struct perf_ring *ring, struct perf_record *r)
{
	struct ring_words w = {
		.at = (const uint64_t *)(ring->rec + 1),
		.left = (ring->rec->size - sizeof(*ring->rec)) / sizeof(uint64_t),
	};
	const uint64_t *body;

	switch (ring->rec->type) {
	case PERF_RECORD_SAMPLE:
		return ring_parse_sample(w, r);
	case PERF_RECORD_LOST:
		body = ring_take(&w, 2);
		if (body)
			*r = (struct perf_record){.kind = INTERRUPT_DROPPED, .dropped = body[1]};
		return body;
	case PERF_RECORD_THROTTLE:
		body = ring_take(&w, 2);
		if (body)
			*r = (struct perf_record){
				.kind = INTERRUPT_THROTTLED, .time = body[0], .id = body[1]};
		return body;
	}
	return ring_parse_event(ring, r);
}

/* Keeps times from decreasing: a record whose writing was interrupted by another record follows
 * that one. */
static void ring_order_event(struct perf_interrupts *p, struct perf_record *r)
{
	if (r->kind != INTERRUPT_EVENT)
		return;
	p->event_time = r->time > p->event_time ? r->time : p->event_time;
	r->time = r->event.tstamp = p->event_time;
}

/* The kernel tells of each lost record twice, in either order: with the next record, and in the
 * count of its event. */
static bool ring_report_lost(struct perf_interrupts *p, struct perf_record *r)
{
	uint64_t lost = p->lost_recorded > p->lost_counted ? p->lost_recorded : p->lost_counted;

	*r = (struct perf_record){.kind = INTERRUPT_DROPPED, .dropped = lost - p->lost_reported};
	p->lost_reported = lost;
	return r->dropped;
}

bool ring_lost(struct perf_interrupts *p, uint64_t n, struct perf_record *r)
{
	p->lost_counted += n;
	return ring_report_lost(p, r);
}

/*
 * Makes a wait of a switch out and the next switch in. False: @r is a switch out, which is passed
 * on with the switch in. The length of a wait is known only if no record is missing between the
 * sample of its switch out and its end: then that sample is where the wait began.
 */
static bool ring_take_switch(struct perf_interrupts *p, struct perf_record *r)
{
	const uint16_t misc = p->ring.rec->misc;

	if (r->kind != INTERRUPT_EVENT || r->event.type != PFM_EVENT_WAIT) {
		p->holes =
			r->kind == INTERRUPT_DROPPED || (p->holes && r->kind != INTERRUPT_OVERFLOW);
		p->out = p->holes ? 0 : p->out;
		return true;
	}
	if (misc & PERF_RECORD_MISC_SWITCH_OUT) {
		p->out = p->holes ? 0 : r->time;
		p->preempted = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
		return false;
	}
	r->event.len = p->out && p->out < r->time ? r->time - p->out : 0;
	r->event.addr = p->out && p->preempted;
	p->out = 0;
	return true;
}

/* Parses the current record. False: there is nothing to report. */
static bool ring_take_record(struct perf_interrupts *p, struct perf_record *r)
{
	if (!ring_parse(&p->ring, r))
		return false;
	ring_order_event(p, r);
	if (!ring_take_switch(p, r))
		return false;
	if (p->ring.rec->type != PERF_RECORD_LOST)
		return true;
	p->lost_recorded += r->dropped;
	return ring_report_lost(p, r);
}

bool ring_next(struct perf_interrupts *p, struct perf_record *r)
{
	uint64_t head = perf_ring_head(&p->ring);
	bool found = false;

	while (!found && perf_ring_next(&p->ring, head))
		found = ring_take_record(p, r);
	perf_ring_release(&p->ring);
	if (found)
		return true;
	/* Records that are too long count as dropped. */
	*r = (struct perf_record){
		.kind = INTERRUPT_DROPPED, .dropped = p->ring.malformed - p->malformed};
	p->malformed = p->ring.malformed;
	return r->dropped;
}

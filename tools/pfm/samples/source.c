// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "perfmonfs/ioctl.h"
#include "perfmonfs/msg.h"
#include "tools/pfm/tree/file.h"
#include "tools/pfm/tree/proc.h"

enum {
	SOURCE_PARTS = 2,     /* One is filled while the other is read. */
	SOURCE_INTERVALS = 8, /* that are measured before a period is changed */
	SOURCE_LONG = 4,
	SOURCE_STATE = 128,         /* bytes of the line of state */
	SOURCE_RARE_NS = 100000000, /* of counting without a sample */
	SOURCE_STEP = 10, /* by which a period is divided at most, as the next moment may differ */
};
#define SOURCE_PERIOD_MAX 0x1p62

/* Reads the line of the file state; an empty one if there is none any more. */
static void source_read_state(const struct source *s, char line[SOURCE_STATE])
{
	struct err ignored;

	if (file_read_line(s->dir, "state", line, SOURCE_STATE, &ignored) < 0)
		line[0] = '\0';
}

/* The thread in a line of the file state; 0: none. */
static uint32_t source_tid(const char *line)
{
	const char *at = strstr(line, " tid=");

	return at ? (uint32_t)strtoul(at + strlen(" tid="), NULL, 10) : 0;
}

static int source_open_messages(struct source *s, struct err *e)
{
	s->msg = openat(s->dir, "msg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return s->msg >= 0 ? 0 : file_sentence(s->dir, "msg", errno, e);
}

/* MAP_POPULATE: after the end of the daemon, a page fault would kill this process. Without
 * passthrough, a clone can only be mapped MAP_PRIVATE. */
static int source_map(struct source *s, int fd, size_t size, struct err *e)
{
	void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);

	if (p == MAP_FAILED)
		return file_sentence(s->dir, "buffer", errno, e);
	s->buf = p;
	s->size = size;
	/* An older daemon does not know of user stacks, and ignores that they are wanted. */
	if (s->buf->hdr_user_stack == s->sampling->user_stack &&
		(pfm_smpl_has_tag(p, PFM_CORRELATE_SMPL_TAG) ||
			pfm_smpl_has_tag(p, PFM_PROFILE_SMPL_TAG)))
		return 0;
	return err_set(e, EPROTO,
		"the context's buffer is not of the format correlate or profile, with what was "
		"asked for: install pfm and perfmonfs of one version");
}

/* The kernel records PFM_STACK_MAX_FRAMES by default: asking for one less shows what is cut. */
enum { SOURCE_FRAMES = PFM_STACK_MAX_FRAMES - 1 };

/* Sets up the context. The arguments of both formats have the same size. */
static int source_set_up(struct tree_ctx *ctx, const struct sampling *sampling, struct err *e)
{
	struct {
		struct pfm_ioc_setup setup;
		union {
			pfm_correlate_smpl_arg_t correlate;
			pfm_stack_smpl_arg_t profile;
		} arg;
	} a = {.setup = {.arg_size = sizeof(a.arg), .format = PFM_CORRELATE_SMPL_NAME}};

	if (sampling->stacks) {
		strcpy(a.setup.format, PFM_PROFILE_SMPL_NAME);
		a.arg.profile.buf_size = sampling->buf_size;
		a.arg.profile.parts = sampling->user_stack ? 1 : SOURCE_PARTS;
		a.arg.profile.max_frames = SOURCE_FRAMES;
		a.arg.profile.user_stack = sampling->user_stack;
		a.arg.profile.buf_flags = sampling->waits ? PFM_STACK_SMPL_WAITS : 0;
	} else {
		a.arg.correlate.buf_size = sampling->buf_size;
		a.arg.correlate.parts = SOURCE_PARTS;
	}
	if (ioctl(ctx->clone, PFM_IOC_TAILED(PFM_IOC_SETUP, sizeof(a.arg)), &a) < 0)
		return file_sentence(ctx->dir, "clone", errno, e);
	return 0;
}

/* The period of an event. */
static uint64_t source_period(const struct source *s, unsigned event)
{
	uint64_t written = s->rates[event].period;

	return written ? written : s->sampling->events[event].period;
}

/* Writes the line of regs that begins the counter's next period. @also: " notify" before the load,
 * which is kept. */
static int source_write_pmd(const struct source *s, unsigned event, const char *also, struct err *e)
{
	uint64_t period = source_period(s, event);

	return file_writef(s->dir, "regs", e,
		"pmd%u -%" PRIu64 " short=-%" PRIu64 " long=-%" PRIu64 "%s",
		s->sampling->events[event].pmd, period, period, period, also);
}

static int source_write_pmds(const struct source *s, struct err *e)
{
	for (unsigned i = 0; i < s->sampling->n; i++)
		if (source_write_pmd(s, i, " notify", e) < 0)
			return -e->no;
	return 0;
}

int source_open(
	struct source *s, struct tree_ctx *ctx, const struct sampling *sampling, struct err *e)
{
	*s = (struct source)SOURCE_NONE;
	s->sampling = sampling;
	if (source_set_up(ctx, sampling, e) < 0)
		return -e->no;
	s->dir = fcntl(ctx->dir, F_DUPFD_CLOEXEC, 3);
	if (s->dir < 0)
		return err_set(e, errno, "no descriptor for a context: %s", err_name(errno));
	if (file_write(s->dir, "regs", sampling->pmcs, e) < 0 || source_write_pmds(s, e) < 0 ||
		source_open_messages(s, e) < 0 ||
		source_map(s, ctx->clone, sampling->buf_size, e) < 0)
		source_close(s);
	else
		return 0;
	return -e->no;
}

static int source_map_file(struct source *s, struct err *e)
{
	int fd = openat(s->dir, "buffer", O_RDONLY | O_CLOEXEC);
	struct stat st;
	int rc;

	if (fd < 0)
		return file_sentence(s->dir, "buffer", errno, e);
	if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(*s->buf))
		rc = err_set(e, EIO, "%s: no buffer", s->name);
	else
		rc = source_map(s, fd, (size_t)st.st_size, e);
	close(fd);
	return rc;
}

int source_open_child(struct source *s, int parent, const char *name,
	const struct sampling *sampling, struct err *e)
{
	char path[SOURCE_NAME + 16];

	*s = (struct source)SOURCE_NONE;
	s->sampling = sampling;
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(path, sizeof(path), "children/%s", s->name);
	s->dir = openat(parent, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->dir < 0)
		return file_sentence(parent, path, errno, e);
	if (source_open_messages(s, e) < 0 || source_map_file(s, e) < 0)
		source_close(s);
	else
		return 0;
	return -e->no;
}

void source_close(struct source *s)
{
	free(s->wait.at);
	if (s->buf)
		munmap((void *)(uintptr_t)s->buf, s->size);
	if (s->msg >= 0)
		close(s->msg);
	if (s->dir >= 0)
		close(s->dir);
	*s = (struct source)SOURCE_NONE;
}

static uint16_t source_event(const struct source *s, const pfm_dfl_smpl_entry_t *entry)
{
	for (uint16_t i = 0; i < s->sampling->n && !s->sampling->waits; i++)
		if (s->sampling->events[i].pmd == entry->ovfl_pmd)
			return i;
	return 0;
}

static uint64_t source_overflows(const pfm_dfl_smpl_entry_t *entry)
{
	return entry->ovfl_count ? entry->ovfl_count : 1;
}

/* Overflows or, if the event has a rate, the events that they stand for: also those that were
 * counted before the period was changed. */
static uint64_t source_weight(struct source *s, const pfm_dfl_smpl_entry_t *entry)
{
	unsigned event = source_event(s, entry);
	uint64_t partial = s->rates[event].partial;

	if (s->sampling->waits)
		return source_overflows(entry) * s->sampling->events[0].period;
	if (!s->sampling->events[event].hz)
		return source_overflows(entry);
	s->rates[event].partial = 0;
	return source_overflows(entry) * -entry->last_reset_val + partial;
}

/* Measures how often an event with a rate overflows. A thread that sleeps does not overflow, so
 * that long intervals count as @SOURCE_LONG of the wanted ones. */
static void source_measure(struct source *s, const pfm_dfl_smpl_entry_t *entry)
{
	const struct sampled_event *event = &s->sampling->events[source_event(s, entry)];
	struct source_rate *r = &s->rates[source_event(s, entry)];
	uint64_t interval, longest, before = r->last;

	r->last = entry->tstamp;
	/* A child begins with the period that its parent has at that moment. */
	if (event->hz && !r->period)
		r->period = -entry->last_reset_val;
	if (!event->hz || !before || entry->tstamp <= before ||
		-entry->last_reset_val != source_period(s, source_event(s, entry)))
		return;
	longest = SOURCE_LONG * NSEC_PER_SEC / event->hz;
	interval = (entry->tstamp - before) / source_overflows(entry);
	interval = interval < longest ? interval : longest;
	r->interval = r->n++ ? (7 * r->interval + interval) / 8 : interval;
}

/* Restarts a context whose records have all been taken, or those of a part. If this fails, because
 * the context has ended, the buffer stays as it is, and so does the position in it. */
static void source_restart(struct source *s)
{
	struct err e;

	if ((file_write(s->dir, "ctl", "restart", &e) < 0 &&
		    __atomic_load_n(&s->buf->hdr_count, __ATOMIC_ACQUIRE) >= s->taken) ||
		s->buf->hdr_parts > 1)
		return;
	s->taken = 0;
	s->at = sizeof(*s->buf);
}

static int source_take_sample(
	struct source *from, struct track *t, const pfm_dfl_smpl_entry_t *entry, struct err *e)
{
	struct data_sample s = {
		.event = source_event(from, entry),
		.time = entry->tstamp,
		.weight = source_weight(from, entry),
		.pid = entry->tgid,
		.tid = entry->pid,
		.cpu = entry->cpu,
		.nframes = 1,
		.ip = {entry->ip},
	};

	source_measure(from, entry);
	if (s.ip[0] && !(s.ip[0] >> 63))
		image_live(&t->image, s.pid, s.tid);
	if (track_sample(t, &s, e) < 0)
		return -e->no;
	t->samples++;
	return data_put(t->out, DATA_SAMPLE, &s, sizeof(s), NULL, e);
}

static void source_add_frame(struct chain *c, uint64_t frame)
{
	c->frames[c->s.nframes++] = frame;
}

static const uint64_t *source_frames(const pfm_stack_smpl_entry_t *entry)
{
	return (const uint64_t *)(entry + 1) + entry->npmds;
}

/* Copies the frames. Those of the kernel may have been left out: the interrupted function is then
 * unknown, and the first of the other frames is its caller. */
static void source_copy_frames(struct chain *c, const pfm_stack_smpl_entry_t *entry)
{
	const uint64_t *frames = source_frames(entry);

	if (!entry->dfl.ip && (!entry->nframes || frames[0] == PFM_STACK_USER)) {
		source_add_frame(c, DATA_MARKER_KERNEL);
		source_add_frame(c, 0);
	}
	for (unsigned i = 0; i < entry->nframes; i++)
		source_add_frame(c, frames[i]);
}

/* The user's registers and stack; NULL: there are none. */
static const pfm_stack_smpl_user_t *source_user(const pfm_stack_smpl_entry_t *entry)
{
	return entry->flags & PFM_STACK_USER_STATE ? pfm_stack_smpl_user(entry) : NULL;
}

/* The first address in the program, which decides whether its mappings are known; 0: none. */
static uint64_t source_user_ip(const pfm_stack_smpl_entry_t *entry)
{
	const uint64_t *frames = source_frames(entry);

	if (source_user(entry))
		return source_user(entry)->regs[PFM_STACK_IP];
	for (uint32_t i = 1; i < entry->nframes; i++)
		if (frames[i - 1] == DATA_MARKER_USER)
			return frames[i];
	return 0;
}

/* A stack that is not known is a sample. An address of an earlier time slice is not where the
 * thread was. */
static int source_take_no_stack(
	struct source *s, struct track *t, const pfm_stack_smpl_entry_t *entry, struct err *e)
{
	pfm_dfl_smpl_entry_t sample = entry->dfl;

	if (entry->source == PFM_SMPL_EARLIER)
		sample.ip = 0;
	return source_take_sample(s, t, &sample, e);
}

/* Records @c with the frames of @entry. */
static int source_put_stack(
	struct track *t, struct chain *c, const pfm_stack_smpl_entry_t *entry, struct err *e)
{
	const pfm_stack_smpl_user_t *user = t->chains ? source_user(entry) : NULL;

	source_copy_frames(c, entry);
	if (!c->s.nframes || c->frames[0] == DATA_MARKER_USER)
		image_live(&t->image, c->s.pid, c->s.tid);
	if (track_stack(t, c->s.pid, c->s.time, source_user_ip(entry), e) < 0)
		return -e->no;
	t->samples++;
	if (user)
		return chains_add(t->chains, c, &t->image, user, e);
	return data_put(
		t->out, DATA_STACK, c, sizeof(c->s) + c->s.nframes * sizeof(uint64_t), NULL, e);
}

static int source_take_stack(
	struct source *s, struct track *t, const pfm_stack_smpl_entry_t *entry, struct err *e)
{
	struct chain c = {.s = {
				  .event = source_event(s, &entry->dfl),
				  .time = entry->dfl.tstamp,
				  .weight = source_weight(s, &entry->dfl),
				  .pid = entry->dfl.tgid,
				  .tid = entry->dfl.pid,
				  .cpu = entry->dfl.cpu,
				  .flags = entry->flags & PFM_STACK_CUT ? DATA_STACK_CUT : 0,
			  }};

	if (!entry->nframes && !(t->chains && source_user(entry)))
		return source_take_no_stack(s, t, entry, e);
	source_measure(s, &entry->dfl);
	return source_put_stack(t, &c, entry, e);
}

/* --- Waits */

/* A wait that has ended. */
struct source_waited {
	uint64_t end, ns;
	bool preempted;
};

static bool source_is_switch(const struct source *s, const pfm_stack_smpl_entry_t *entry)
{
	return s->sampling->waits &&
	       entry->dfl.ovfl_pmd == s->sampling->events[s->sampling->n - 1].pmd;
}

/* Records a wait at the place of @at. Its time is that of its end: the mappings that the file has
 * are known then. */
static int source_put_wait(struct track *t, const pfm_stack_smpl_entry_t *at,
	const struct source_waited *w, struct err *e)
{
	struct chain c = {.s = {
				  .time = w->end,
				  .weight = w->ns,
				  .pid = at->dfl.tgid,
				  .tid = at->dfl.pid,
				  .cpu = at->dfl.cpu,
				  .flags = at->flags & PFM_STACK_CUT ? DATA_STACK_CUT : 0,
			  }};

	if (!w->ns)
		return 0;
	source_add_frame(&c, w->preempted ? DATA_PREEMPTED : DATA_WAITING);
	return source_put_stack(t, &c, at, e);
}

static int source_lose_wait(struct source *s, struct track *t, struct err *e)
{
	s->wait.open = false;
	return track_loss(t, DATA_LOST_WAITS, 1, 0, "", e);
}

/* Keeps the sample of a switch out until the thread runs again. */
static int source_begin_wait(
	struct source *s, struct track *t, const pfm_stack_smpl_entry_t *entry, struct err *e)
{
	const size_t size = pfm_stack_smpl_size(entry);

	if (s->wait.open && source_lose_wait(s, t, e) < 0)
		return -e->no;
	if (size > s->wait.room) {
		pfm_stack_smpl_entry_t *more = realloc(s->wait.at, size);

		if (!more)
			return err_set(e, ENOMEM, "no memory for the stack of a thread");
		s->wait.at = more;
		s->wait.room = size;
	}
	memcpy(s->wait.at, entry, size);
	s->wait.open = true;
	return 0;
}

/* Leaves of a wait the part in which the thread was sampled. */
static void source_cut_wait(const struct source *s, const struct track *t, struct source_waited *w)
{
	uint64_t from = w->end - w->ns, to = t->until && t->until < w->end ? t->until : w->end;

	from = from > s->wait.begun ? from : s->wait.begun;
	*w = (struct source_waited){to, from < to ? to - from : 0, w->preempted};
}

/* Takes the end of a wait. Where the thread has waited is known by the sample of the switch out, if
 * there is one. */
static int source_take_wait(
	struct source *s, struct track *t, const pfm_correlate_smpl_event_t *event, struct err *e)
{
	pfm_stack_smpl_entry_t somewhere = {.dfl = {.pid = event->tid, .tgid = event->pid}};
	struct source_waited w = {event->tstamp, event->len, event->addr};
	const bool known = s->wait.known, open = s->wait.open;

	if (event->tstamp <= s->wait.begun)
		return 0;
	s->wait.known = true;
	if (!w.ns && !known && s->wait.begun)
		w.ns = w.end - s->wait.begun;
	if (!w.ns)
		return known ? source_lose_wait(s, t, e) : 0;
	s->wait.open = false;
	source_cut_wait(s, t, &w);
	return source_put_wait(t, open ? s->wait.at : &somewhere, &w, e);
}

int source_end_wait(struct source *s, struct track *t, struct err *e)
{
	pfm_stack_smpl_entry_t somewhere = {.flags = 0};
	struct source_waited w = {.end = t->until};
	char line[SOURCE_STATE];

	/* The last switch out of a thread is its end. */
	if (s->ended)
		return 0;
	if (s->wait.open) {
		if (t->until > s->wait.at->dfl.tstamp)
			w.ns = t->until - s->wait.at->dfl.tstamp;
		return source_put_wait(t, s->wait.at, &w, e);
	}
	source_read_state(s, line);
	if (s->wait.known || !s->wait.begun || !source_tid(line))
		return 0;
	somewhere.dfl.pid = source_tid(line);
	somewhere.dfl.tgid = (uint32_t)proc_of_thread((int)somewhere.dfl.pid);
	w.ns = t->until - s->wait.begun;
	return source_put_wait(t, &somewhere, &w, e);
}

static int source_take_map(
	struct source *s, struct track *t, const pfm_correlate_smpl_event_t *event, struct err *e)
{
	const pfm_smpl_file_t file = s->mapped;
	struct data_map m = {
		.time = event->tstamp,
		.addr = event->addr,
		.len = event->len,
		.pgoff = event->pgoff,
		.pid = event->pid,
	};

	s->mapped = (pfm_smpl_file_t){0};
	if (!m.len || m.addr + m.len <= m.addr)
		return 0;
	return track_map(t, &m, event->name, &file, e);
}

static int source_take_comm(
	struct track *t, const pfm_correlate_smpl_event_t *event, bool exec, struct err *e)
{
	struct data_comm c = {
		.time = event->tstamp, .pid = event->pid, .tid = event->tid, .exec = exec};

	return track_comm(t, &c, event->name, e);
}

static int source_take_exit(struct track *t, const pfm_correlate_smpl_event_t *event, struct err *e)
{
	const struct data_exit x = {.time = event->tstamp, .pid = event->pid, .tid = event->tid};

	return track_exit(t, &x, e);
}

static int source_take(
	struct source *s, struct track *t, const pfm_correlate_smpl_rec_t *rec, struct err *e)
{
	const void *body = rec + 1;

	s->wait.known |= rec->rec_type == PFM_CORRELATE_STACK;
	switch (rec->rec_type) {
	case PFM_CORRELATE_SAMPLE:
		return source_take_sample(s, t, body, e);
	case PFM_CORRELATE_STACK:
		return source_is_switch(s, body) ? source_begin_wait(s, t, body, e)
						 : source_take_stack(s, t, body, e);
	case PFM_CORRELATE_WAIT:
		return source_take_wait(s, t, body, e);
	case PFM_CORRELATE_FILE:
		s->mapped = *(const pfm_smpl_file_t *)body;
		return 0;
	case PFM_CORRELATE_MMAP:
		return source_take_map(s, t, body, e);
	case PFM_CORRELATE_EXEC:
	case PFM_CORRELATE_COMM:
		return source_take_comm(t, body, rec->rec_type == PFM_CORRELATE_EXEC, e);
	case PFM_CORRELATE_EXIT:
		return source_take_exit(t, body, e);
	default:
		return 0;
	}
}

static int source_take_losses(struct source *s, struct track *t, struct err *e)
{
	uint64_t lost = s->buf->hdr_lost - s->lost;
	uint64_t events = s->buf->hdr_lost_events - s->lost_events;
	uint64_t dropped = s->buf->hdr_source.dropped - s->dropped;

	s->lost += lost;
	s->lost_events += events;
	s->dropped += dropped;
	if (track_loss(t, DATA_LOST_OVERFLOWS, lost, 0, "a buffer was full", e) < 0 ||
		track_loss(t, DATA_LOST_DROPPED, dropped, 0, "the kernel had no room", e) < 0)
		return -e->no;
	s->wait.lost = events;
	return track_loss(t, DATA_LOST_EVENTS, events, 0, "a buffer was full", e);
}

static bool source_stack_fits(const pfm_correlate_smpl_rec_t *rec)
{
	const pfm_stack_smpl_entry_t *entry = (const void *)(rec + 1);
	size_t room = rec->rec_size - sizeof(*rec), size = sizeof(*entry);

	if (room < size || entry->nframes > CHAIN_KERNEL_FRAMES)
		return false;
	size += ((size_t)entry->npmds + entry->nframes) * sizeof(uint64_t);
	if (entry->flags & PFM_STACK_USER_STATE)
		size += sizeof(pfm_stack_smpl_user_t);
	return room >= size && room >= pfm_stack_smpl_size(entry);
}

/* Records one after the other, in the buffer or in a copy of a buffer without parts. */
struct source_records {
	const char *at;
	uint64_t n;
	const pfm_correlate_smpl_hdr_t *buf;
	unsigned full_parts; /* that have been left behind */
};

static const pfm_correlate_smpl_rec_t *source_next(struct source_records *r)
{
	const pfm_correlate_smpl_rec_t *rec = (const void *)r->at;

	r->at += rec->rec_size;
	r->n--;
	if (rec->rec_type == PFM_CORRELATE_NEXT) {
		r->at = (const char *)r->buf + *(const uint64_t *)(rec + 1);
		r->full_parts++;
	}
	return rec;
}

static bool source_fits(const pfm_correlate_smpl_rec_t *rec, size_t room, size_t size)
{
	if (room < sizeof(*rec) || rec->rec_size < sizeof(*rec) || rec->rec_size > room)
		return false;
	if (rec->rec_type == PFM_CORRELATE_NEXT)
		return rec->rec_size == sizeof(*rec) + sizeof(uint64_t) &&
		       *(const uint64_t *)(rec + 1) <= size;
	return rec->rec_type != PFM_CORRELATE_STACK || source_stack_fits(rec);
}

/* Takes what is new out of the buffer: @n records. */
static int source_find(struct source *s, uint64_t n, struct source_records *found, struct err *e)
{
	struct source_records r = {.at = (const char *)s->buf + s->at, .n = n, .buf = s->buf};

	*found = r;
	while (r.n) {
		if (!source_fits((const void *)r.at, s->size - s->at, s->size))
			return err_set(e, EIO, "the buffer of a context is not consistent");
		source_next(&r);
		s->at = (size_t)(r.at - (const char *)s->buf);
	}
	s->taken += n;
	return 0;
}

/* Restarts a full buffer, unless records have come since those that were taken: they are next. */
static bool source_restart_full(struct source *s)
{
	bool full = s->buf->hdr_parts < 2 && s->buf->hdr_state == PFM_CORRELATE_FULL && !s->ended &&
		    __atomic_load_n(&s->buf->hdr_count, __ATOMIC_ACQUIRE) == s->taken;

	if (full)
		source_restart(s);
	return full;
}

/* To unwind stacks takes longer than to copy them: a full buffer is used again meanwhile. */
static void source_free_early(struct source *s, struct chains *chains, struct source_records *r)
{
	size_t n = (size_t)((const char *)s->buf + s->at - r->at);
	const char *copy =
		s->buf->hdr_state == PFM_CORRELATE_FULL ? chains_copy(chains, r->at, n) : NULL;

	if (copy && source_restart_full(s))
		r->at = copy;
}

int source_drain(struct source *s, struct track *t, struct err *e)
{
	uint64_t n = __atomic_load_n(&s->buf->hdr_count, __ATOMIC_ACQUIRE) - s->taken;
	struct source_records r;

	if (track_source(t, &s->buf->hdr_source, e) < 0 || source_find(s, n, &r, e) < 0 ||
		source_take_losses(s, t, e) < 0)
		return -e->no;
	if (t->chains)
		source_free_early(s, t->chains, &r);
	while (r.n)
		if (source_take(s, t, source_next(&r), e) < 0)
			return -e->no;
	if (s->wait.lost && s->wait.open && source_lose_wait(s, t, e) < 0)
		return -e->no;
	if (t->chains && chains_flush(t->chains, e) < 0)
		return -e->no;
	while (r.full_parts-- && !s->ended)
		source_restart(s);
	source_restart_full(s);
	return 0;
}

/* The events that the stopped counter has counted since its last overflow; 0: not known. */
static uint64_t source_partial(const struct source *s, unsigned event)
{
	uint64_t value, period = source_period(s, event);
	struct err ignored;
	char path[16];

	snprintf(path, sizeof(path), "pmd/%u", s->sampling->events[event].pmd);
	if (file_read_u64(s->dir, path, &value, &ignored) < 0 || value + period >= period)
		return 0;
	return value + period;
}

static int source_set_period(
	struct source *s, unsigned event, uint64_t period, struct track *t, struct err *e)
{
	struct source_rate *r = &s->rates[event];
	struct err why;

	/* Only a start arms the counter with the new period. */
	if (file_write(s->dir, "ctl", "stop", &why) < 0)
		return 0;
	if (source_drain(s, t, e) < 0)
		return -e->no;
	r->partial += source_partial(s, event);
	r->period = period ? period : 1;
	r->n = 0;
	r->since = 0;
	(void)source_write_pmd(s, event, "", &why);
	if (file_write(s->dir, "ctl", "start", &why) == 0 || why.no == EINVAL ||
		file_is_gone(why.no))
		return 0;
	return track_loss(t, DATA_LOST_COUNT, 1, 0, why.text, e);
}

/* The time for which the event could be counted: of a thread, its CPU time. Returns 0 if that is
 * not known. */
static uint64_t source_time(const struct source *s)
{
	CLEANUP_FCLOSE FILE *f = NULL;
	char line[SOURCE_STATE], path[48];
	uint64_t ns = 0;

	source_read_state(s, line);
	if (!source_tid(line))
		return strstr(line, " cpu=") ? nsec_now(CLOCK_MONOTONIC) : 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/schedstat", source_tid(line));
	f = fopen(path, "re");
	return f && fscanf(f, "%" SCNu64, &ns) == 1 ? ns : 0;
}

/* Gets the period with which the context of a child began. */
static void source_learn_period(struct source *s, unsigned event)
{
	TEXT_CLEANUP struct text t = {0};
	struct err ignored;
	const char *at;
	char key[16];

	snprintf(key, sizeof(key), "pmd%u ", s->sampling->events[event].pmd);
	if (file_read(s->dir, "set/0/overflows", &t, &ignored) < 0 || !text_ok(&t))
		return;
	at = strstr(t.p, key);
	at = at ? strstr(at, "last_reset=") : NULL;
	if (at)
		s->rates[event].period = -strtoull(at + strlen("last_reset="), NULL, 10);
}

/* Chooses a shorter period if the event is too rare for the present one. */
static int source_adapt_rare(struct source *s, unsigned i, struct track *t, struct err *e)
{
	struct source_rate *r = &s->rates[i];
	uint64_t now = source_time(s), count, period;
	double want;

	if (!r->period && *s->name)
		source_learn_period(s, i);
	period = source_period(s, i);
	if (!r->since || now < r->since)
		r->since = now;
	if (now - r->since < SOURCE_RARE_NS)
		return 0;
	count = source_partial(s, i);
	want = (double)count * NSEC_PER_SEC / s->sampling->events[i].hz / (double)(now - r->since);
	r->since = now;
	if (!count || want >= (double)period / 2)
		return 0;
	return source_set_period(s, i,
		want > (double)period / (double)SOURCE_STEP ? (uint64_t)want : period / SOURCE_STEP,
		t, e);
}

int source_adapt(struct source *s, struct track *t, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < s->sampling->n && !s->ended; i++) {
		const struct sampled_event *event = &s->sampling->events[i];
		struct source_rate *r = &s->rates[i];
		double period = (double)source_period(s, i), want;

		if (r->n)
			r->since = 0;
		else if (event->hz)
			rc = source_adapt_rare(s, i, t, e);
		if (rc < 0 || !event->hz || r->n < SOURCE_INTERVALS)
			continue;
		want = period * NSEC_PER_SEC / event->hz / (double)(r->interval ? r->interval : 1);
		if (want < period * 3 / 4 || want > period * 4 / 3)
			rc = source_set_period(s, i,
				(uint64_t)(want < SOURCE_PERIOD_MAX ? want : SOURCE_PERIOD_MAX), t,
				e);
	}
	return rc;
}

/* Reading a lost counter gives the reason of the loss. Writing it makes it count again. A counter
 * that can be read is written, too, if it is the only one: it may have been lost. */
static int source_restore(const struct source *s, uint32_t tid, struct track *t, struct err *e)
{
	for (unsigned i = 0; i < s->sampling->n; i++) {
		struct err why = {0};
		char path[16];
		uint64_t v;

		snprintf(path, sizeof(path), "pmd/%u", s->sampling->events[i].pmd);
		if (file_read_u64(s->dir, path, &v, &why) == 0 && s->sampling->n > 1)
			continue;
		(void)source_write_pmd(s, i, "", &(struct err){0});
		if (track_loss(t, DATA_LOST_COUNT, 1, tid, why.text, e) < 0)
			return -e->no;
	}
	return 0;
}

static bool source_is_masked(const struct source *s)
{
	char line[SOURCE_STATE];

	source_read_state(s, line);
	return strncmp(line, "masked", strlen("masked")) == 0;
}

static int source_message(struct source *s, const struct pfm_msg *m, struct track *t, struct err *e)
{
	switch (m->type) {
	case PFM_MSG_END:
		s->ended = true;
		return 0;
	case PFM_MSG_COUNT_LOST:
		return source_restore(s, m->tid, t, e);
	case PFM_MSG_THROTTLE:
		if (source_drain(s, t, e) < 0)
			return -e->no;
		/* The next drain restarts for a full part that has not been read yet. */
		if (source_is_masked(s) && !s->buf->hdr_full_parts)
			source_restart(s);
		return track_loss(t, DATA_LOST_THROTTLED, 1, m->tid, "choose a longer period", e);
	default:
		return 0;
	}
}

int source_handle(struct source *s, struct track *t, struct err *e)
{
	struct pfm_msg m;
	ssize_t n;

	while ((n = read(s->msg, &m, sizeof(m))) == sizeof(m))
		if (source_message(s, &m, t, e) < 0)
			return -e->no;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return file_sentence(s->dir, "msg", errno, e);
	return source_drain(s, t, e);
}

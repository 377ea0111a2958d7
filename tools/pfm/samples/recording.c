// SPDX-License-Identifier: MIT
/* Puts records in order of time: in the file, their order is that of reading buffers. */
#include "tools/pfm/samples/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/pfm/text/names.h"

/* A record with a time, and its position in the file, which orders equal times. */
struct timed {
	uint64_t time;
	const struct data_rec *rec;
	uint32_t chain; /* of a sample: its number */
};

struct timeline {
	struct timed *t;
	uint32_t n;
	uint32_t room;
};

/* The stack of a chain in the mappings with the number @version (image_version()). */
struct chain_memo {
	uint64_t version;
	uint32_t stack;
};

/* The state of putting samples together. */
struct replay {
	struct recording *r;
	struct chain_memo *memo; /* by chain */
	uint32_t *locations;     /* of the current stack */
	uint32_t n;
	uint32_t thread; /* the last one's number */
};

static int recording_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for the recording");
}

static int recording_compare(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->rec < y->rec ? -1 : x->rec > y->rec;
}

static int recording_add_timed(
	struct timeline *l, const struct data_rec *rec, uint32_t chain, struct err *e)
{
	struct timed *t = indexed_room(l->t, l->n, &l->room, sizeof(*t));

	if (!t)
		return recording_no_memory(e);
	l->t = t;
	l->t[l->n].rec = rec;
	l->t[l->n].chain = chain;
	memcpy(&l->t[l->n++].time, data_body(rec), sizeof(uint64_t));
	return 0;
}

static const char *recording_loss(uint32_t kind)
{
	switch (kind) {
	case DATA_LOST_OVERFLOWS:
		return "overflows have no sample";
	case DATA_LOST_COUNT:
		return "counts were lost, and with them samples";
	case DATA_LOST_EVENTS:
		return "mappings, names of programs or ends of waits are missing";
	case DATA_LOST_THREAD:
		return "threads were not followed";
	case DATA_LOST_THROTTLED:
		return "pauses because of too many overflows a second";
	case DATA_LOST_DROPPED:
		return "samples were dropped, the next ones stand for them";
	case DATA_LOST_NAMES:
		return "search for names was broken off";
	case DATA_LOST_WAITS:
		return "waits are missing, as records of their switches were lost";
	default:
		return "losses of an unknown kind";
	}
}

static int recording_add_loss(struct recording *r, const struct data_lost *lost, struct err *e)
{
	struct recorded_loss *more =
		indexed_room(r->losses, r->nlosses, &r->losses_room, sizeof(*more));

	if (!more)
		return recording_no_memory(e);
	r->losses = more;
	r->losses[r->nlosses++] = (struct recorded_loss){lost->kind, lost->count, lost->why};
	return 0;
}

static int recording_compare_losses(const void *a, const void *b)
{
	const struct recorded_loss *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return strcmp(x->why, y->why);
}

static void recording_note_loss(struct recording *r, const struct recorded_loss *l, uint64_t count)
{
	text_printf(&r->notes, "lost: %" PRIu64 " %s%s%s\n", count, recording_loss(l->kind),
		l->why[0] ? ": " : "", l->why);
}

/* Notes the losses, one line for each kind and reason. */
static void recording_note_losses(struct recording *r)
{
	uint64_t count = 0;

	if (r->nlosses)
		qsort(r->losses, r->nlosses, sizeof(*r->losses), recording_compare_losses);
	for (size_t i = 0; i < r->nlosses; i++) {
		const struct recorded_loss *l = &r->losses[i];

		count += l->count;
		if (i + 1 < r->nlosses && recording_compare_losses(l, l + 1) == 0)
			continue;
		recording_note_loss(r, l, count);
		count = 0;
	}
}

/* Cleans a string in the file's memory, which belongs to the recording. */
static void recording_clean(const char *s)
{
	name_clean((char *)(uintptr_t)s);
}

/* Cleans each line of the information. Newlines separate the lines. */
static void recording_clean_info(const char *text)
{
	char *line = (char *)(uintptr_t)text, *end;

	while ((end = strchr(line, '\n')) != NULL) {
		*end = '\0';
		name_clean(line);
		*end = '\n';
		line = end + 1;
	}
	name_clean(line);
}

static void recording_clean_names(const struct data_rec *rec)
{
	const void *body = data_body(rec);

	if (rec->type == DATA_INFO)
		recording_clean_info(body);
	else if (rec->type == DATA_EVENT)
		recording_clean(((const struct data_event *)body)->name);
	else if (rec->type == DATA_COMM)
		recording_clean(((const struct data_comm *)body)->name);
	else if (rec->type == DATA_MAP)
		recording_clean(((const struct data_map *)body)->name);
	else if (rec->type == DATA_LOST)
		recording_clean(((const struct data_lost *)body)->why);
	else if (rec->type == DATA_OBJECT)
		recording_clean(((const struct data_object *)body)->name);
}

static int recording_damaged(const char *what, struct err *e)
{
	return err_set(e, EINVAL, "the file is damaged: %s: record it again", what);
}

static int recording_add_event(struct recording *r, const struct data_event *from, struct err *e)
{
	if (r->nevents == DATA_EVENTS_MAX)
		return recording_damaged("it has more than 64 events", e);
	r->events[r->nevents++] =
		(struct recorded_event){.name = from->name, .period = from->period};
	return 0;
}

static int recording_add_rate(struct recording *r, const struct data_rate *rate, struct err *e)
{
	if (rate->event >= r->nevents)
		return recording_damaged("a rate without its event", e);
	r->events[rate->event].hz = rate->hz;
	return 0;
}

/* Numbers the addresses of a sample or a stack. They stay in the file's memory. */
static int recording_number_chain(
	struct recording *r, const struct data_rec *rec, uint32_t *chain, struct err *e)
{
	const struct data_stack *s = data_body(rec);
	const uint64_t *frames = rec->type == DATA_STACK
					 ? data_frames(s)
					 : ((const struct data_sample *)data_body(rec))->ip;

	return interned_borrow(&r->chains, frames, s->nframes * sizeof(*frames), chain) < 0
		       ? recording_no_memory(e)
		       : 0;
}

/* Counts a sample or a stack. */
static int recording_count(
	struct recording *r, struct timeline *l, const struct data_rec *rec, struct err *e)
{
	const struct data_stack *s = data_body(rec);
	uint32_t chain;

	if (s->event >= r->nevents)
		return recording_damaged("a sample without its event", e);
	r->events[s->event].nsamples++;
	r->nsamples++;
	if (rec->type == DATA_STACK) {
		r->events[s->event].nstacks++;
		r->ncut += s->flags & DATA_STACK_CUT ? 1 : 0;
	}
	return recording_number_chain(r, rec, &chain, e) < 0
		       ? -e->no
		       : recording_add_timed(l, rec, chain, e);
}

static int recording_sort_out(
	struct recording *r, struct timeline *l, const struct data_rec *rec, struct err *e)
{
	if (!(r->names & RECORDING_PLACES))
		recording_clean_names(rec);
	switch (rec->type) {
	case DATA_INFO:
		text_printf(&r->info, "%s", (const char *)data_body(rec));
		return 0;
	case DATA_EVENT:
		return recording_add_event(r, data_body(rec), e);
	case DATA_RATE:
		return recording_add_rate(r, data_body(rec), e);
	case DATA_SAMPLE:
	case DATA_STACK:
		return recording_count(r, l, rec, e);
	case DATA_COMM:
	case DATA_MAP:
	case DATA_EXIT:
		return recording_add_timed(l, rec, 0, e);
	case DATA_LOST:
		return recording_add_loss(r, data_body(rec), e);
	case DATA_OBJECT:
	case DATA_STRINGS:
	case DATA_PLACES:
	case DATA_CODE:
		return stored_add(&r->stored, rec, e);
	case DATA_END:
		r->ended = true;
		r->end_ns = ((const struct data_end *)data_body(rec))->time;
		return 0;
	default:
		return 0;
	}
}

static int recording_read(struct recording *r, struct timeline *l, struct err *e)
{
	const struct data_rec *rec;
	int rc;

	while ((rc = data_next(&r->file, &rec, e)) > 0)
		if (recording_sort_out(r, l, rec, e) < 0)
			return -e->no;
	if (rc < 0)
		return rc;
	if (!r->nevents)
		return err_set(e, EINVAL, "the file ends before its event: record it again");
	if (l->n)
		qsort(l->t, l->n, sizeof(*l->t), recording_compare);
	recording_note_losses(r);
	if (r->ncut)
		text_printf(&r->notes, "%zu stacks are cut: their outermost callers are missing\n",
			r->ncut);
	if (r->file.cut)
		text_printf(&r->notes, "the file has been cut: its last record is not whole\n");
	else if (!r->ended)
		text_printf(&r->notes, "the recording broke off: the file has no end\n");
	return 0;
}

static bool recording_is_kernel(uint64_t ip)
{
	return ip >> 63;
}

/* Adds a frame to the current stack. @returns: @ip is a return address, which is after the call,
 * perhaps in the next function. */
static int recording_replay_frame(
	struct replay *p, const struct recorded_thread *t, uint64_t ip, bool kernel, bool returns)
{
	const struct location *at = locations_find(p->r, t, ip - (returns && ip), kernel);

	if (!at)
		return -ENOMEM;
	p->locations[p->n++] = at->number;
	return 0;
}

static bool recording_is_kernel_frame(uint64_t marker, uint64_t ip)
{
	if (marker == DATA_MARKER_KERNEL || marker == DATA_MARKER_USER)
		return marker == DATA_MARKER_KERNEL;
	return recording_is_kernel(ip);
}

/* Finds the locations of a chain. One without addresses gets an unknown one. */
static int recording_replay_chain(struct replay *p, const struct recorded_thread *t,
	const struct interned_sequence *chain, uint32_t *stack)
{
	const uint64_t *ips = chain->p;
	uint64_t marker = 0;
	bool returns = false;

	p->n = 0;
	for (size_t i = 0; i < chain->size / sizeof(*ips); i++) {
		if (data_is_marker(ips[i]))
			marker = ips[i];
		else if (recording_replay_frame(p, t, ips[i],
				 recording_is_kernel_frame(marker, ips[i]), returns) < 0)
			return -ENOMEM;
		returns = ips[i] < DATA_MARKER;
	}
	if (!p->n && recording_replay_frame(p, t, 0, false, false) < 0)
		return -ENOMEM;
	return interned_number(&p->r->stacks, p->locations, p->n * sizeof(*p->locations), stack);
}

/* The stack of a chain in the thread's process. It is looked up if the mappings are not those of
 * the last time. */
static int recording_replay_stack(
	struct replay *p, const struct recorded_thread *t, uint32_t chain, uint32_t *stack)
{
	const struct interned_sequence ips = interned_get(&p->r->chains, chain);
	uint64_t version = image_version(&p->r->image, t->pid);
	struct chain_memo *memo = &p->memo[chain];

	if (!version || memo->version != version) {
		if (recording_replay_chain(p, t, &ips, &memo->stack) < 0)
			return -ENOMEM;
		memo->version = version;
	}
	*stack = memo->stack;
	return 0;
}

_Static_assert(offsetof(struct data_stack, nframes) == offsetof(struct data_sample, nframes),
	"a stack begins as a sample does");

/* Adds @weight. Sums of overflows, and of the events that they stand for, must fit in 64 bits. */
static int recording_add_weight(struct recorded_event *event, uint64_t weight, struct err *e)
{
	uint64_t most = event->period ? UINT64_MAX / event->period : UINT64_MAX;

	if (weight > most - event->weight)
		return recording_damaged("more than 2^64 events", e);
	event->weight += weight;
	return 0;
}

/* Whether the sample interrupted a program. A thread that ends may have samples in the kernel after
 * the event of its end. */
static bool recording_is_user(const struct data_rec *rec)
{
	const struct data_stack *stack = data_body(rec);
	uint64_t first = rec->type == DATA_SAMPLE ? ((const struct data_sample *)stack)->ip[0]
			 : stack->nframes         ? data_frames(stack)[0]
						  : 0;

	return first == DATA_MARKER_USER || (first && !recording_is_kernel(first));
}

/* The number of a thread in its present state. Most samples have the thread of the one before. */
static int recording_replay_thread(struct replay *p, struct recorded_thread *t, uint32_t *number)
{
	struct recording *r = p->r;

	t->life = image_life(&r->image, t->pid);
	t->thread_life = image_life(&r->image, t->tid);
	t->comm = image_comm(&r->image, t->pid, t->tid); /* finding its mappings may set it */
	t->process = image_comm(&r->image, t->pid, t->pid);
	if (!r->threads.index.n ||
		memcmp(interned_get(&r->threads, p->thread).p, t, sizeof(*t)) != 0)
		if (interned_number(&r->threads, t, sizeof(*t), &p->thread) < 0)
			return -ENOMEM;
	*number = p->thread;
	return 0;
}

/* Adds a sample or a stack. */
static int recording_replay_sample(struct replay *p, const struct timed *timed, struct err *e)
{
	const struct data_sample *from = data_body(timed->rec);
	struct recorded_event *event = &p->r->events[from->event];
	struct recorded_sample *s = &event->samples[event->nsamples++];
	struct recorded_thread t = {.pid = from->pid, .tid = from->tid};

	*s = (struct recorded_sample){
		.time = from->time,
		.weight = from->weight,
		.cpu = from->cpu,
		.chain = timed->chain,
	};
	if (recording_is_user(timed->rec))
		image_live(&p->r->image, t.pid, t.tid);
	if (recording_replay_stack(p, &t, s->chain, &s->stack) < 0 ||
		recording_replay_thread(p, &t, &s->thread) < 0)
		return recording_no_memory(e);
	return recording_add_weight(event, s->weight, e);
}

static int recording_apply_comm(struct recording *r, const struct data_comm *c, struct err *e)
{
	image_live(&r->image, c->pid, c->tid);
	if (c->exec)
		image_exec(&r->image, c->pid);
	return image_name_thread(&r->image, c->tid, c->name) < 0 ? recording_no_memory(e) : 0;
}

static int recording_replay_record(struct replay *p, const struct timed *timed, struct err *e)
{
	const struct data_rec *rec = timed->rec;
	const struct data_map *map = data_body(rec);
	struct recording *r = p->r;

	switch (rec->type) {
	case DATA_COMM:
		return recording_apply_comm(r, data_body(rec), e);
	case DATA_EXIT:
		return image_exit(&r->image, ((const struct data_exit *)data_body(rec))->tid) < 0
			       ? recording_no_memory(e)
			       : 0;
	case DATA_MAP:
		return image_add(&r->image, map, map->name) < 0 ? recording_no_memory(e) : 0;
	default:
		return recording_replay_sample(p, timed, e);
	}
}

/* Counts the samples whose function has no name, by object. */
static void recording_count_unnamed(const struct recording *r, size_t *unnamed)
{
	for (unsigned i = 0; i < r->nevents; i++)
		for (size_t k = 0; k < r->events[i].nsamples; k++) {
			const struct location *at = recording_first(r, &r->events[i].samples[k]);

			if (!at->function && at->object)
				unnamed[at->object->number]++;
		}
}

/* Notes how many samples have addresses instead of names, a line for each reason. */
static int recording_note_unnamed(struct recording *r)
{
	CLEANUP_FREE size_t *unnamed = calloc(r->image.nobjects + 1U, sizeof(*unnamed));

	if (!unnamed)
		return -ENOMEM;
	recording_count_unnamed(r, unnamed);
	for (size_t i = 0; r->names && i < r->stored.nobjects; i++) {
		const struct stored_object *o = &r->stored.objects[i];
		size_t *n = &unnamed[o->object->number];

		if (o->why && *n)
			text_printf(&r->notes, "addresses instead of names: %s (%zu samples)\n",
				o->why, *n);
		*n = 0;
	}
	return 0;
}

/* Gives each event its part of the samples, which the replay fills. */
static void recording_divide(struct recording *r)
{
	struct recorded_sample *at = r->all;

	for (unsigned i = 0; i < r->nevents; i++) {
		r->events[i].samples = at;
		at += r->events[i].nsamples;
		r->events[i].nsamples = 0;
	}
}

static int recording_replay(struct recording *r, const struct timeline *l, struct err *e)
{
	uint32_t locations[DATA_FRAMES_MAX];
	CLEANUP_FREE struct chain_memo *memo = calloc(r->chains.index.n + 1UL, sizeof(*memo));
	struct replay p = {.r = r, .memo = memo, .locations = locations};

	if (!memo)
		return recording_no_memory(e);
	recording_divide(r);
	for (size_t i = 0; i < l->n; i++)
		if (recording_replay_record(&p, &l->t[i], e) < 0)
			return -e->no;
	recording_choose(r, 0);
	return 0;
}

static int recording_build(struct recording *r, struct timeline *l, struct err *e)
{
	int rc;

	interned_init(&r->threads);
	interned_init(&r->stacks);
	interned_init(&r->chains);
	rc = recording_read(r, l, e);
	if (rc < 0)
		return rc;
	r->all = calloc(r->nsamples + 1, sizeof(*r->all));
	if (!r->all || image_init(&r->image) < 0 || locations_init(r) < 0 ||
		stored_index(&r->stored, &r->image) < 0)
		return recording_no_memory(e);
	rc = recording_replay(r, l, e);
	if (rc == 0 && recording_note_unnamed(r) < 0)
		return recording_no_memory(e);
	return rc < 0 || (text_ok(&r->notes) && text_ok(&r->info)) ? rc : recording_no_memory(e);
}

int recording_take(struct recording *r, struct data_file file, unsigned names, struct err *e)
{
	struct timeline l = {0};
	int rc;

	*r = (struct recording){.file = file, .names = names};
	rc = recording_build(r, &l, e);
	free(l.t);
	if (rc < 0)
		recording_close(r);
	return rc;
}

void recording_choose(struct recording *r, unsigned event)
{
	r->event = &r->events[event];
	r->samples = r->event->samples;
	r->nsamples = r->event->nsamples;
	r->weight = r->event->weight;
}

void recording_drop_addresses(struct recording *r)
{
	interned_free(&r->chains);
	data_drop_samples(&r->file);
}

void recording_close(struct recording *r)
{
	locations_free(r);
	stored_free(&r->stored);
	image_free(&r->image);
	free(r->losses);
	free(r->all);
	interned_free(&r->threads);
	interned_free(&r->stacks);
	interned_free(&r->chains);
	text_free(&r->info);
	text_free(&r->notes);
	data_unload(&r->file);
}

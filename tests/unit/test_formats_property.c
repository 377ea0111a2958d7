// SPDX-License-Identifier: MIT
/*
 * Random overflows, simultaneous ones, events, gaps and restarts in buffers of random sizes,
 * against a slow and obvious model of each format: a list of what should be in the buffer. What a
 * reader parses is that list, no more and no less, after every step; so are the counters in the
 * header, and what the format asks the daemon to do.
 *
 * PROPERTY_SEEDS=N runs seeds 0 to N-1 instead of the first few.
 */
#include "formats/formats.h"
#include "perfmonfs/smpl_correlate.h"
#include "perfmonfs/smpl_dfl.h"
#include "perfmonfs/smpl_hist.h"
#include "perfmonfs/smpl_nway.h"
#include "tests/unit/smpl.h"
#include "tests/unit/unit.h"

enum { SEEDS = 10, STEPS = 150, LIST_MAX = 1024, NSETS = 3, NPMDS_MAX = 20, NKEYS_MAX = 4096 };

static unsigned seeds(void)
{
	const char *env = getenv("PROPERTY_SEEDS");

	return env ? (unsigned)strtoul(env, NULL, 10) : SEEDS;
}

struct list {
	struct smpl_rec *recs;
	unsigned n;
	size_t bytes;
	unsigned gap; /* the number of the first record after the last gap, from 1; 0: none */
};

static void list_clear(struct list *l)
{
	l->n = 0;
	l->bytes = 0;
	l->gap = 0;
}

static void list_swap(struct list *a, struct list *b)
{
	struct list old = *a;

	*a = *b;
	*b = old;
}

/* A run of one format, and what the tool has configured: bodies by set and PMD. */
struct play {
	uint64_t rnd, now;
	struct smpl s;
	unsigned npmds;
	size_t room, largest; /* for samples, in the buffer or in a part */
	struct {
		uint64_t smpl_pmds[PFM_FMT_BV];
		unsigned nvalues;
	} conf[NSETS][NPMDS_MAX];
	unsigned nsets, nused; /* that overflow */

	struct list in[PFM_NWAY_SMPL_MAX_PARTS]; /* [0]: being filled */
	unsigned nfull;                          /* nway: in[1..nfull] are full, the oldest first */
	bool full, ending;                       /* nothing more gets in; nway: it is late */
	bool gap;                                /* no record has come since the last one */
	pfm_smpl_source_t source;
	uint64_t overflows, lost, lost_parts, lost_samples, lost_events;
	char seen[96];
};

static void list_add(struct play *p, const struct smpl_rec *rec, size_t bytes)
{
	struct list *l = &p->in[0];

	assert_true(l->n < LIST_MAX);
	l->recs[l->n++] = *rec;
	l->bytes += bytes;
	if (p->gap)
		l->gap = l->n;
	p->gap = false;
}

/* Where the last gap of in[0] is, also if no record has come after it. */
static unsigned last_gap(const struct play *p)
{
	return p->gap ? p->in[0].n + 1 : p->in[0].gap;
}

/* The first report is that of gaps before the buffer. */
static void random_gap(struct play *p)
{
	p->gap = p->source.precise;
	p->source.precise = PFM_SMPL_POLL;
	p->source.gaps += 1 + below(&p->rnd, 2);
	p->s.fmt->fmt_source(p->s.buf, &p->source);
}

static void open_lists(struct play *p)
{
	for (unsigned i = 0; i < PFM_NWAY_SMPL_MAX_PARTS; i++) {
		p->in[i] = (struct list){.recs = calloc(LIST_MAX, sizeof(struct smpl_rec))};
		assert_non_null(p->in[i].recs);
	}
}

/* No PMD has more values in its body than there are PMDs, but their numbers may be any. */
static void configure(struct play *p, bool one_size)
{
	p->nsets = one_size ? 1 : 1 + below(&p->rnd, NSETS);
	p->nused = one_size ? 1 : 1 + below(&p->rnd, p->npmds);
	for (unsigned set = 0; set < p->nsets; set++) {
		for (unsigned pmd = 0; pmd < p->nused; pmd++) {
			unsigned n = below(&p->rnd, p->npmds + 1);

			if (below(&p->rnd, 4) == 0 || (one_size && !n))
				n = p->npmds;
			for (unsigned i = 0; i < n; i++) {
				unsigned bit = below(&p->rnd, PFM_FMT_MAX_PMDS);

				p->conf[set][pmd].smpl_pmds[bit / 64] |= 1ULL << bit % 64;
			}
			for (unsigned i = 0; i < PFM_FMT_BV; i++)
				p->conf[set][pmd].nvalues += (unsigned)__builtin_popcountll(
					p->conf[set][pmd].smpl_pmds[i]);
		}
	}
}

static void play_open(struct play *p, uint64_t seed, const char *what)
{
	*p = (struct play){.rnd = seed * 0x100000001b3 + 1};
	p->npmds = 1 + below(&p->rnd, NPMDS_MAX);
	p->now = random_bits(&p->rnd) >> 2;
	snprintf(p->seen, sizeof(p->seen), "%s, seed %" PRIu64, what, seed);
	open_lists(p);
}

static void play_close(struct play *p)
{
	smpl_close(&p->s);
	for (unsigned i = 0; i < PFM_NWAY_SMPL_MAX_PARTS; i++)
		free(p->in[i].recs);
}

static uint32_t random_count(struct play *p)
{
	switch (below(&p->rnd, 24)) {
	case 0:
		return 65535;
	case 1:
		return 65536;
	case 2:
		return 1 + below(&p->rnd, 300000);
	case 3:
	case 4:
		return 2 + below(&p->rnd, 50);
	default:
		return 1;
	}
}

/* An overflow as the daemon describes it and as the sample of it should read. */
static uint32_t random_overflow(struct play *p, unsigned set, unsigned pmd, pfm_ovfl_arg_t *arg,
	pfm_smpl_where_t *where, struct smpl_rec *rec)
{
	uint32_t count = random_count(p);

	memset(arg, 0xee, sizeof(*arg)); /* unset members must not matter */
	*where = (pfm_smpl_where_t){
		.ip = random_bits(&p->rnd),
		.pid = 100 + below(&p->rnd, 5),
		.tid = 200 + below(&p->rnd, 5),
		.cpu = (uint16_t)below(&p->rnd, 1024),
		.known = 1,
	};
	arg->ovfl_pmd = (uint16_t)pmd;
	arg->active_set = (uint16_t)set;
	arg->ovfl_count = count;
	arg->ovfl_notify = (uint16_t)below(&p->rnd, 2);
	arg->pmd_last_reset = random_bits(&p->rnd);
	memcpy(arg->smpl_pmds, p->conf[set][pmd].smpl_pmds, sizeof(arg->smpl_pmds));
	*rec = (struct smpl_rec){
		.type = 1,
		.pid = where->pid,
		.tid = where->tid,
		.pmd = (uint16_t)pmd,
		.set = (uint16_t)set,
		.cpu = where->cpu,
		.ip = where->ip,
		.tstamp = p->now,
		.last_reset = arg->pmd_last_reset,
		.nvalues = p->conf[set][pmd].nvalues,
	};
	for (unsigned i = 0; i < rec->nvalues; i++)
		rec->values[i] = arg->smpl_pmds_values[i] = random_bits(&p->rnd);
	return count;
}

static void check_rec(const struct play *p, const struct smpl_rec *a, const struct smpl_rec *b)
{
	if (memcmp(a, b, sizeof(*a)) != 0)
		fail_msg("%s: a record differs: type %u %u tstamp %" PRIu64 " %" PRIu64
			 " count %u %u",
			p->seen, a->type, b->type, a->tstamp, b->tstamp, a->count, b->count);
}

static void check_u64(const struct play *p, size_t offs, uint64_t value)
{
	uint64_t is = smpl_u64(&p->s, offs);

	if (is != value)
		fail_msg("%s: offset %zu has %" PRIu64 " instead of %" PRIu64, p->seen, offs, is,
			value);
}

static void check_ctrl(
	const struct play *p, pfm_ovfl_ctrl_t ctrl, bool notify, bool reset, bool mask)
{
	if (!smpl_ctrl_is(ctrl, notify, reset, mask))
		fail_msg("%s: asks for notify %u reset %u mask %u", p->seen, ctrl.notify_user,
			ctrl.reset_ovfl_pmds, ctrl.mask_monitoring);
}

static size_t random_room(struct play *p)
{
	/* Odd sizes, too, and often next to nothing. */
	return below(&p->rnd, below(&p->rnd, 2) ? 4096 : 200);
}

/* --- default, in its four forms, and correlate --- */

static size_t dfl_entry(unsigned flags)
{
	return flags & PFM_DFL_SMPL_NO_HDR ? 0 : flags & PFM_DFL_SMPL_IIP_HDR ? 8 : 40;
}

static void list_model(
	struct play *p, struct smpl_rec *rec, uint32_t left, uint32_t most, size_t bytes)
{
	bool was_full = p->full;

	while (left && !p->full) {
		uint32_t count = left < most ? left : most;

		rec->count = (uint16_t)count;
		list_add(p, rec, bytes);
		left -= count;
		p->full = p->room - p->in[0].bytes < p->largest;
	}
	p->full = p->full || p->ending;
	p->lost += left;
	p->overflows += p->full && !was_full;
}

static void list_restart(struct play *p)
{
	bool active = !p->full && below(&p->rnd, 2);
	pfm_ovfl_ctrl_t ctrl = smpl_restart(&p->s, active);

	check_ctrl(p, ctrl, false, true, false);
	list_clear(&p->in[0]);
	p->full = p->ending = false;
}

static void list_check_header(const struct play *p)
{
	check_u64(p, 0, p->in[0].n);
	check_u64(p, 8, 128 + p->in[0].bytes);
	check_u64(p, 16, p->overflows);
	check_u64(p, 24, p->s.size);
	check_u64(p, 32, p->largest);
	check_u64(p, 48, p->lost);
	assert_int_equal(smpl_u32(&p->s, 40), 0x10000);
}

/* Without the entry, or all but the ip of it, the rest is not there to be compared. */
static size_t dfl_read(const struct play *p, unsigned flags, size_t offs,
	const struct smpl_rec *expected, struct smpl_rec *rec)
{
	size_t entry = dfl_entry(flags);

	if (entry == 40) {
		const struct smpl_rec *x = expected;

		return smpl_entry(&p->s, offs, p->conf[x->set][x->pmd].nvalues, rec);
	}
	*rec = *expected;
	if (entry)
		rec->ip = smpl_u64(&p->s, offs);
	for (unsigned i = 0; i < rec->nvalues; i++)
		rec->values[i] = smpl_u64(&p->s, offs + entry + i * 8);
	return entry + rec->nvalues * 8;
}

static void dfl_check(const struct play *p, unsigned flags)
{
	size_t offs = 128;

	list_check_header(p);
	check_u64(p, 96, last_gap(p));
	assert_int_equal(smpl_u32(&p->s, 44), flags);
	for (unsigned i = 0; i < p->in[0].n; i++) {
		struct smpl_rec rec;

		offs += dfl_read(p, flags, offs, &p->in[0].recs[i], &rec);
		check_rec(p, &rec, &p->in[0].recs[i]);
	}
	assert_int_equal(offs, 128 + p->in[0].bytes);
}

/* The overflows of one reading: increasing PMDs, one time stamp, one set. */
static void dfl_overflow(struct play *p, unsigned flags)
{
	unsigned set = below(&p->rnd, p->nsets);
	size_t prefix = p->s.fmt == &format_correlate ? 8 : 0;
	uint32_t most = prefix || (flags & PFM_DFL_SMPL_COMPACT) ? 65535 : 1;

	p->now += 1 + below(&p->rnd, 1000000);
	for (unsigned pmd = below(&p->rnd, p->nused); pmd < p->nused;
		pmd += 1 + below(&p->rnd, 4)) {
		pfm_ovfl_arg_t arg;
		pfm_smpl_where_t where;
		struct smpl_rec rec;
		uint32_t count = random_overflow(p, set, pmd, &arg, &where, &rec);
		size_t bytes = prefix + dfl_entry(flags) + rec.nvalues * 8;

		assert_int_equal(smpl_overflow(&p->s, &arg, p->now, &where), 0);
		list_model(p, &rec, count, most, bytes);
		check_ctrl(p, arg.ovfl_ctrl, p->full, !p->full, p->full);
	}
}

static void play_dfl(unsigned flags, uint64_t seed)
{
	pfm_dfl_smpl_arg_t arg = {.buf_flags = flags};
	struct play p;

	play_open(&p, seed, flags & 1 ? "no_hdr" : flags & 2 ? "iip_hdr" : "default");
	configure(&p, flags & 3);
	p.largest = dfl_entry(flags) + p.npmds * 8;
	p.room = p.largest + random_room(&p);
	arg.buf_size = 128 + p.room;
	assert_int_equal(smpl_open(&p.s, &format_dfl, &arg, (uint16_t)p.npmds), 0);
	dfl_check(&p, flags);
	for (unsigned step = 0; step < STEPS; step++) {
		if (below(&p.rnd, p.full ? 2 : 30) == 0)
			list_restart(&p);
		else if (below(&p.rnd, 10) == 0)
			random_gap(&p);
		else
			dfl_overflow(&p, flags);
		dfl_check(&p, flags);
	}
	play_close(&p);
}

TEST(dfl)
{
	static const unsigned flags[] = {
		0, PFM_DFL_SMPL_NO_HDR, PFM_DFL_SMPL_IIP_HDR, PFM_DFL_SMPL_COMPACT};

	for (unsigned seed = 0; seed < seeds(); seed++)
		for (unsigned i = 0; i < COUNT(flags); i++)
			play_dfl(flags[i], seed);
}

static void correlate_check(const struct play *p)
{
	size_t offs = 128;

	list_check_header(p);
	check_u64(p, 56, p->lost_events);
	for (unsigned i = 0; i < p->in[0].n; i++) {
		const struct smpl_rec *x = &p->in[0].recs[i];
		struct smpl_rec rec = {.type = smpl_u32(&p->s, offs)};
		size_t size = smpl_u32(&p->s, offs + 4);

		assert_int_equal(size % 8, 0);
		if (rec.type == 1) {
			assert_int_equal(smpl_entry(&p->s, offs + 8, x->nvalues, &rec), size - 8);
		} else {
			rec.pid = smpl_u32(&p->s, offs + 8);
			rec.tid = smpl_u32(&p->s, offs + 12);
			rec.tstamp = smpl_u64(&p->s, offs + 16);
			rec.addr = smpl_u64(&p->s, offs + 24);
			rec.len = smpl_u64(&p->s, offs + 32);
			rec.pgoff = smpl_u64(&p->s, offs + 40);
			assert_int_equal(p->s.buf[offs + size - 1], 0);
			assert_true(size - 48 - strlen((char *)p->s.buf + offs + 48) <= 8);
			strncpy(rec.name, (char *)p->s.buf + offs + 48, SMPL_NAME - 1);
		}
		check_rec(p, &rec, x);
		offs += size;
	}
	assert_int_equal(offs, 128 + p->in[0].bytes);
}

static void correlate_event(struct play *p)
{
	static const uint32_t types[] = {[PFM_EVENT_EXEC] = PFM_CORRELATE_EXEC,
		[PFM_EVENT_MMAP] = PFM_CORRELATE_MMAP,
		[PFM_EVENT_COMM] = PFM_CORRELATE_COMM,
		[PFM_EVENT_EXIT] = PFM_CORRELATE_EXIT,
		[PFM_EVENT_WAIT] = PFM_CORRELATE_WAIT};
	enum pfm_smpl_event_type type = below(&p->rnd, COUNT(types));
	struct smpl_rec rec = {.type = types[type], .pid = below(&p->rnd, 9), .tstamp = ++p->now};
	size_t bytes, n = below(&p->rnd, SMPL_NAME);

	rec.tid = 7;
	rec.addr = random_bits(&p->rnd);
	rec.len = random_bits(&p->rnd);
	rec.pgoff = 3;
	memset(rec.name, 'x', n);
	bytes = 48 + (n / 8 + 1) * 8;
	smpl_event(&p->s, &(pfm_smpl_event_t){.type = type,
				  .pid = rec.pid,
				  .tid = 7,
				  .tstamp = p->now,
				  .addr = rec.addr,
				  .len = rec.len,
				  .pgoff = 3,
				  .name = rec.name});
	if (!p->full && !p->ending && p->room - p->in[0].bytes >= bytes + p->largest) {
		list_add(p, &rec, bytes);
		return;
	}
	p->lost_events++;
	p->ending = !p->full && p->in[0].n > 0;
}

static void play_correlate(uint64_t seed)
{
	pfm_correlate_smpl_arg_t arg = {0};
	struct play p;

	play_open(&p, seed, "correlate");
	configure(&p, false);
	p.largest = 48 + p.npmds * 8;
	p.room = p.largest + random_room(&p);
	arg.buf_size = 128 + p.room;
	assert_int_equal(smpl_open(&p.s, &format_correlate, &arg, (uint16_t)p.npmds), 0);
	for (unsigned step = 0; step < STEPS; step++) {
		if (below(&p.rnd, p.full ? 2 : 30) == 0)
			list_restart(&p);
		else if (below(&p.rnd, 2))
			correlate_event(&p);
		else
			dfl_overflow(&p, 0);
		correlate_check(&p);
	}
	play_close(&p);
}

TEST(correlate)
{
	for (unsigned seed = 0; seed < seeds(); seed++)
		play_correlate(seed);
}

/* --- nway: the model has a queue of full parts where the format has a ring --- */

struct nway {
	unsigned nparts;
	bool mask;
};

static void nway_push(struct play *p)
{
	p->in[0].gap = last_gap(p);
	list_swap(&p->in[0], &p->in[++p->nfull]);
	list_clear(&p->in[0]);
}

static void nway_model(
	struct play *p, const struct nway *w, struct smpl_rec *rec, uint32_t left, bool *notify)
{
	while (left && !(p->full && w->mask)) {
		rec->count = (uint16_t)(left < 65535 ? left : 65535);
		left -= rec->count;
		if (p->full) {
			p->lost_parts++;
			p->lost_samples += p->in[0].n;
			list_clear(&p->in[0]);
			p->full = false;
		}
		list_add(p, rec, 40 + rec->nvalues * 8);
		if (p->room - p->in[0].bytes >= p->largest)
			continue;
		p->overflows++;
		*notify = true;
		if (p->nfull < w->nparts - 1)
			nway_push(p);
		else
			p->full = true;
	}
	p->lost += left;
}

static void nway_overflow(struct play *p, const struct nway *w)
{
	unsigned set = below(&p->rnd, p->nsets);

	p->now += 1 + below(&p->rnd, 1000000);
	for (unsigned pmd = below(&p->rnd, p->nused); pmd < p->nused;
		pmd += 1 + below(&p->rnd, 4)) {
		pfm_ovfl_arg_t arg;
		pfm_smpl_where_t where;
		struct smpl_rec rec;
		uint32_t count = random_overflow(p, set, pmd, &arg, &where, &rec);
		bool notify = false, mask;

		assert_int_equal(smpl_overflow(&p->s, &arg, p->now, &where), 0);
		nway_model(p, w, &rec, count, &notify);
		mask = p->full && w->mask;
		check_ctrl(p, arg.ovfl_ctrl, notify || mask, !mask, mask);
	}
}

static void nway_restart(struct play *p, const struct nway *w)
{
	bool active = !(p->full && w->mask) && below(&p->rnd, 2);
	pfm_ovfl_ctrl_t ctrl = smpl_restart(&p->s, active);

	check_ctrl(p, ctrl, false, true, false);
	if (p->nfull) {
		list_clear(&p->in[1]);
		for (unsigned i = 1; i < p->nfull; i++)
			list_swap(&p->in[i], &p->in[i + 1]);
		p->nfull--;
	}
	if (p->full)
		nway_push(p);
	p->full = false;
}

static void nway_check_part(
	const struct play *p, unsigned part, const struct list *expected, unsigned gap)
{
	size_t row = 128 + part * 32, start, offs;

	start = offs = smpl_u64(&p->s, 40) + part * smpl_u64(&p->s, 48);
	check_u64(p, row + 8, expected->n);
	check_u64(p, row + 16, expected->bytes);
	assert_int_equal(smpl_u32(&p->s, row + 28), gap);
	for (unsigned i = 0; i < expected->n; i++) {
		struct smpl_rec rec;

		offs += smpl_entry(&p->s, offs, expected->recs[i].nvalues, &rec);
		check_rec(p, &rec, &expected->recs[i]);
	}
	assert_int_equal(offs, start + expected->bytes);
	assert_true(offs <= start + p->room && offs <= p->s.size);
}

/* As a tool does it: the oldest full part is the one with the lowest sequence number. */
static int nway_find(const struct play *p, const struct nway *w, uint32_t state, uint64_t above)
{
	int found = -1;

	for (unsigned i = 0; i < w->nparts; i++) {
		uint64_t seq = smpl_u64(&p->s, 128 + i * 32);

		if (smpl_u32(&p->s, 128 + i * 32 + 24) == state && seq > above &&
			(found < 0 || seq < smpl_u64(&p->s, 128 + (unsigned)found * 32)))
			found = (int)i;
	}
	return found;
}

static void nway_check(const struct play *p, const struct nway *w)
{
	bool masked = p->full && w->mask;
	uint64_t above = 0;
	int part;

	check_u64(p, 0, p->overflows);
	check_u64(p, 8, p->lost_parts);
	check_u64(p, 16, p->lost_samples);
	check_u64(p, 24, p->lost);
	for (unsigned i = 0; i < w->nparts; i++)
		if (smpl_u32(&p->s, 128 + i * 32 + 24) == PFM_NWAY_PART_FREE)
			nway_check_part(p, i, &(struct list){0}, 0);
	for (unsigned i = 1; i <= p->nfull + masked; i++) {
		part = nway_find(p, w, PFM_NWAY_PART_FULL, above);
		assert_true(part >= 0);
		assert_true(i > 1 || (uint32_t)part == smpl_u32(&p->s, 80));
		if (i <= p->nfull)
			nway_check_part(p, (unsigned)part, &p->in[i], p->in[i].gap);
		else
			nway_check_part(p, (unsigned)part, &p->in[0], last_gap(p));
		above = smpl_u64(&p->s, 128 + (unsigned)part * 32);
	}
	assert_int_equal(nway_find(p, w, PFM_NWAY_PART_FULL, above), -1);
	if (!masked) {
		part = nway_find(p, w, p->full ? PFM_NWAY_PART_HELD : PFM_NWAY_PART_FILLING, above);
		assert_true(part >= 0);
		nway_check_part(p, (unsigned)part, &p->in[0], last_gap(p));
		/* Every filling has had a number of its own. */
		check_u64(p, 128 + (unsigned)part * 32, p->overflows + !p->full);
	}
}

static void play_nway(uint64_t seed)
{
	pfm_nway_smpl_arg_t arg = {0};
	struct nway w;
	struct play p;

	play_open(&p, seed, "nway");
	configure(&p, false);
	w.nparts = 2 + (below(&p.rnd, 3) ? 0 : below(&p.rnd, 63));
	w.mask = below(&p.rnd, 2);
	p.largest = 40 + p.npmds * 8;
	p.room = p.largest + random_room(&p) / 8 * 8;
	arg.parts = w.nparts;
	arg.buf_flags = w.mask;
	arg.buf_size = 128 + 32 * w.nparts + w.nparts * p.room + below(&p.rnd, 8);
	assert_int_equal(smpl_open(&p.s, &format_nway, &arg, (uint16_t)p.npmds), 0);
	check_u64(&p, 48, p.room);
	for (unsigned step = 0; step < STEPS; step++) {
		if (below(&p.rnd, p.full ? 3 : 8) == 0)
			nway_restart(&p, &w);
		else if (below(&p.rnd, 10) == 0)
			random_gap(&p);
		else
			nway_overflow(&p, &w);
		nway_check(&p, &w);
	}
	play_close(&p);
}

TEST(nway)
{
	for (unsigned seed = 0; seed < 3 * seeds(); seed++)
		play_nway(seed);
}

/* --- hist: the model is a list that is searched from the start --- */

struct hist {
	struct {
		uint64_t weight, samples, ip;
		uint32_t pid;
		uint16_t set, pmd;
	} keys[NKEYS_MAX];
	unsigned n, max;
	uint64_t weight, dropped;
	bool notified;
};

static void hist_model(struct hist *h, const struct smpl_rec *rec, uint32_t count)
{
	unsigned i = 0;

	while (i < h->n && (h->keys[i].ip != rec->ip || h->keys[i].pid != rec->pid ||
				   h->keys[i].set != rec->set || h->keys[i].pmd != rec->pmd))
		i++;
	if (i == h->max) {
		h->dropped += count;
		return;
	}
	if (i == h->n) {
		h->keys[i].weight = h->keys[i].samples = 0;
		h->keys[i].ip = rec->ip;
		h->keys[i].pid = rec->pid;
		h->keys[i].set = rec->set;
		h->keys[i].pmd = rec->pmd;
		h->n++;
	}
	h->keys[i].weight += count;
	h->keys[i].samples++;
	h->weight += count;
}

static void hist_overflow(struct play *p, struct hist *h)
{
	pfm_smpl_where_t where;
	struct smpl_rec rec;
	pfm_ovfl_arg_t arg;
	uint32_t count;
	bool notify;

	count = random_overflow(
		p, below(&p->rnd, p->nsets), below(&p->rnd, p->nused), &arg, &where, &rec);
	rec.ip = where.ip = below(&p->rnd, 4) ? below(&p->rnd, 16) : where.ip;
	assert_int_equal(smpl_overflow(&p->s, &arg, ++p->now, &where), 0);
	hist_model(h, &rec, count);
	notify = h->n >= h->max - h->max / 8 && arg.ovfl_notify && !h->notified;
	h->notified = h->notified || notify;
	check_ctrl(p, arg.ovfl_ctrl, notify, true, false);
}

static void hist_check(const struct play *p, const struct hist *h)
{
	uint64_t slots = smpl_u64(&p->s, 8), used = 0;

	check_u64(p, 0, h->n);
	check_u64(p, 16, h->max);
	check_u64(p, 32, h->weight);
	check_u64(p, 40, h->dropped);
	assert_true(128 + slots * 32 <= p->s.size);
	for (uint64_t slot = 0; slot < slots; slot++) {
		size_t at = 128 + slot * 32;
		unsigned i = 0;

		if (!smpl_u64(&p->s, at))
			continue;
		used++;
		while (i < h->n && (h->keys[i].ip != smpl_u64(&p->s, at + 16) ||
					   h->keys[i].pid != smpl_u32(&p->s, at + 24) ||
					   h->keys[i].set != smpl_u16(&p->s, at + 28) ||
					   h->keys[i].pmd != smpl_u16(&p->s, at + 30)))
			i++;
		assert_true(i < h->n);
		check_u64(p, at, h->keys[i].weight);
		check_u64(p, at + 8, h->keys[i].samples);
	}
	assert_int_equal(used, h->n);
}

static void hist_restart(struct play *p, struct hist *h)
{
	bool active = below(&p->rnd, 2);
	uint64_t clears = smpl_u64(&p->s, 48);

	check_ctrl(p, smpl_restart(&p->s, active), false, true, false);
	check_u64(p, 48, clears + 2);
	h->n = 0;
	h->weight = 0;
	h->notified = false;
}

static void play_hist(struct hist *h, uint64_t seed)
{
	pfm_hist_smpl_arg_t arg = {0};
	unsigned slots;
	struct play p;

	play_open(&p, seed, "hist");
	configure(&p, false);
	arg.buf_size = 128 + 32 + random_room(&p);
	slots = (unsigned)(arg.buf_size - 128) / 32;
	*h = (struct hist){.max = slots - slots / 16};
	assert_int_equal(smpl_open(&p.s, &format_hist, &arg, (uint16_t)p.npmds), 0);
	for (unsigned step = 0; step < 2 * STEPS; step++) {
		if (below(&p.rnd, 100) == 0)
			hist_restart(&p, h);
		else
			hist_overflow(&p, h);
		hist_check(&p, h);
	}
	play_close(&p);
}

TEST(hist)
{
	struct hist *h = malloc(sizeof(*h));

	assert_non_null(h);
	for (unsigned seed = 0; seed < seeds(); seed++)
		play_hist(h, seed);
	free(h);
}

/* The argument that `format` fills in if only the format's name is written. */
static void fill_defaults(const pfm_buffer_fmt_t *fmt, void *arg)
{
	uint64_t set = 0;

	for (const pfm_fmt_param_t *p = fmt->fmt_params; p && p->name; p++)
		if (!(set & 1ULL << p->offset / 4)) {
			memcpy((char *)arg + p->offset, &p->def, p->size);
			set |= 1ULL << p->offset / 4;
		}
}

/* One call of a format without a model: it must not fail nor write outside of its buffer. */
static void play_any(struct smpl *s, uint64_t *rnd, uint64_t now)
{
	static pfm_ovfl_arg_t arg;
	pfm_smpl_where_t where = {.ip = random_bits(rnd), .pid = below(rnd, 100), .known = 1};
	const pfm_smpl_event_t event = {below(rnd, 4), 1, 2, now, 3, 4, 5, "a name"};
	unsigned kind = below(rnd, 20);

	if (kind == 0) {
		smpl_restart(s, below(rnd, 2));
	} else if (kind == 1 && s->fmt->fmt_event) {
		smpl_event(s, &event);
	} else {
		arg = (pfm_ovfl_arg_t){.ovfl_pmd = (uint16_t)below(rnd, 8), .ovfl_count = 1};
		arg.smpl_pmds[0] = random_bits(rnd) & 0xff;
		arg.ovfl_count += below(rnd, 3);
		assert_int_equal(smpl_overflow(s, &arg, now, &where), 0);
		assert_false(arg.ovfl_ctrl.mask_monitoring && arg.ovfl_ctrl.reset_ovfl_pmds);
	}
}

TEST(each_builtin)
{
	for (size_t i = 0; builtin_formats[i]; i++) {
		_Alignas(8) unsigned char arg[256] = {0};
		uint64_t rnd = 1 + i;
		struct smpl s;

		assert_true(builtin_formats[i]->fmt_arg_size <= sizeof(arg));
		fill_defaults(builtin_formats[i], arg);
		assert_int_equal(smpl_open(&s, builtin_formats[i], arg, 8), 0);
		for (unsigned step = 0; step < 4 * STEPS; step++)
			play_any(&s, &rnd, step);
		smpl_close(&s);
	}
}

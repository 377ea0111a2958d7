// SPDX-License-Identifier: MIT
/*
 * The built-in sampling formats: layouts by their numbers, what they refuse, and readers in another
 * thread. test_formats_property.c goes over the rest.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "formats/formats.h"
#include "perfmonfs/smpl_correlate.h"
#include "perfmonfs/smpl_dfl.h"
#include "perfmonfs/smpl_hist.h"
#include "perfmonfs/smpl_nway.h"
#include "perfmonfs/smpl_profile.h"
#include "perfmonfs/smpl_stack.h"
#include "tests/unit/smpl.h"
#include "tests/unit/unit.h"

enum { NPMDS = 4 };

#define ASSERT_AT(t, m, offs) assert_int_equal(offsetof(t, m), offs)

/* Where fs-layout.md says that they are; what perfmon2 had already is in tests/lib/layout_v2.c. */
TEST(source_layout)
{
	assert_int_equal(sizeof(pfm_smpl_source_t), 32);
	ASSERT_AT(pfm_smpl_source_t, precise, 0);
	ASSERT_AT(pfm_smpl_source_t, skew_ns, 4);
	ASSERT_AT(pfm_smpl_source_t, dropped, 8);
	ASSERT_AT(pfm_smpl_source_t, throttled, 16);
	ASSERT_AT(pfm_smpl_source_t, gaps, 24);
	ASSERT_AT(pfm_dfl_smpl_hdr_t, hdr_source, 64);
	ASSERT_AT(pfm_dfl_smpl_hdr_t, hdr_gap, 96);
	ASSERT_AT(pfm_dfl_smpl_hdr_t, hdr_reserved, 104);
	ASSERT_AT(pfm_nway_smpl_hdr_t, hdr_source, 96);
	ASSERT_AT(pfm_nway_smpl_hdr_t, hdr_parts, 128);
	ASSERT_AT(pfm_nway_smpl_part_t, part_gap, 28);
	ASSERT_AT(pfm_hist_smpl_hdr_t, hdr_source, 80);
	ASSERT_AT(pfm_hist_smpl_hdr_t, hdr_reserved, 112);
	ASSERT_AT(pfm_stack_smpl_hdr_t, hdr_source, 64);
	ASSERT_AT(pfm_stack_smpl_hdr_t, hdr_gap, 104);
	ASSERT_AT(pfm_stack_smpl_hdr_t, hdr_reserved, 112);
	ASSERT_AT(pfm_correlate_smpl_hdr_t, hdr_source, 72);
	ASSERT_AT(pfm_correlate_smpl_hdr_t, hdr_buf_flags, 104);
}

/* The first four letters of each format's name are in its buffer, where readers look for them. */
TEST(tags)
{
	for (unsigned i = 0; builtin_formats[i]; i++) {
		const pfm_buffer_fmt_t *f = builtin_formats[i];
		/* The sizes, and the parts of nway. */
		uint64_t arg[32] = {4096, 2ULL << 32}, buf[512] = {0};
		size_t at = f == &format_nway ? offsetof(pfm_nway_smpl_hdr_t, hdr_tag)
					      : PFM_SMPL_TAG_OFFSET;

		assert_int_equal(f->fmt_init(0, arg, buf), 0);
		assert_memory_equal((char *)buf + at, f->fmt_name, 4);
	}
	ASSERT_AT(pfm_dfl_smpl_hdr_t, hdr_tag, PFM_SMPL_TAG_OFFSET);
	assert_int_equal(PFM_PROFILE_SMPL_TAG, 0x666f7270);
}

static int validate(const pfm_buffer_fmt_t *fmt, uint64_t size, uint32_t flags, uint32_t parts)
{
	pfm_dfl_smpl_arg_t dfl = {.buf_size = size, .buf_flags = flags};
	pfm_nway_smpl_arg_t nway = {.buf_size = size, .buf_flags = flags, .parts = parts};
	pfm_hist_smpl_arg_t hist = {.buf_size = size};
	pfm_correlate_smpl_arg_t correlate = {.buf_size = size, .parts = parts};
	pfm_stack_smpl_arg_t stack = {
		.buf_size = size, .buf_flags = flags, .max_frames = 10, .parts = parts};
	void *arg = fmt == &format_dfl                               ? (void *)&dfl
		    : fmt == &format_nway                            ? (void *)&nway
		    : fmt == &format_hist                            ? (void *)&hist
		    : fmt == &format_stack || fmt == &format_profile ? (void *)&stack
								     : (void *)&correlate;

	return fmt->fmt_validate(0, NPMDS, arg);
}

TEST(validate)
{
	static const struct {
		const pfm_buffer_fmt_t *fmt;
		uint64_t size; /* the least that will do */
		uint32_t flags, parts;
	} least[] = {
		{&format_dfl, 128 + 40 + NPMDS * 8},
		{&format_dfl, 128 + NPMDS * 8, PFM_DFL_SMPL_NO_HDR},
		{&format_dfl, 128 + 8 + NPMDS * 8, PFM_DFL_SMPL_IIP_HDR},
		{&format_dfl, 128 + 40 + NPMDS * 8, PFM_DFL_SMPL_COMPACT},
		{&format_nway, 128 + 2 * (32 + 40 + NPMDS * 8), 0, 2},
		{&format_nway, 128 + 64 * (32 + 40 + NPMDS * 8), PFM_NWAY_SMPL_MASK_WHEN_FULL, 64},
		{&format_hist, 128 + 32},
		{&format_correlate, 128 + 8 + 40 + NPMDS * 8},
		{&format_stack, 128 + 48 + (NPMDS + 10 + 4) * 8},
		{&format_stack, 128 + 48 + (NPMDS + 10 + 4) * 8, PFM_STACK_SMPL_NO_USER},
		{&format_profile, 128 + 8 + 48 + (NPMDS + 10 + 4) * 8},
		{&format_correlate, 128 + 64 * (16 + 8 + 40 + NPMDS * 8), 0, 64},
		{&format_profile, 128 + 2 * (16 + 8 + 48 + (NPMDS + 10 + 4) * 8), 0, 2},
	};

	for (unsigned i = 0; i < COUNT(least); i++) {
		const pfm_buffer_fmt_t *fmt = least[i].fmt;
		uint32_t flags = least[i].flags, parts = least[i].parts;

		assert_int_equal(validate(fmt, 0, flags, parts), EINVAL);
		assert_int_equal(validate(fmt, 1, flags, parts), EINVAL);
		assert_int_equal(validate(fmt, least[i].size - 1, flags, parts), EINVAL);
		assert_int_equal(validate(fmt, least[i].size, flags, parts), 0);
		assert_int_equal(
			validate(fmt, UINT64_MAX, flags, parts), 0); /* over other limits */
		assert_int_equal(fmt->fmt_validate(0, NPMDS, NULL), EINVAL);
	}
	assert_int_equal(validate(&format_dfl, 65536, 3, 0), EINVAL);
	assert_int_equal(validate(&format_dfl, 65536, 5, 0), EINVAL);
	assert_int_equal(validate(&format_dfl, 65536, 6, 0), EINVAL);
	assert_int_equal(validate(&format_dfl, 65536, 8, 0), EINVAL);
	assert_int_equal(validate(&format_stack, 65536, 3, 0), EINVAL);
	assert_int_equal(validate(&format_profile, 65536, 3, 0), EINVAL);
	assert_int_equal(validate(&format_nway, 65536, 2, 2), EINVAL);
	for (unsigned parts = 0; parts < 80; parts++)
		assert_int_equal(validate(&format_nway, 65536, 0, parts),
			parts < 2 || parts > 64 ? EINVAL : 0);
	assert_int_equal(validate(&format_nway, 65536, 0, UINT32_MAX), EINVAL);
	assert_int_equal(validate(&format_correlate, UINT64_MAX, 0, 65), EINVAL);
	assert_int_equal(validate(&format_profile, UINT64_MAX, 0, UINT32_MAX), EINVAL);
}

/* PMDs 1 and 70 go into samples. */
static pfm_ovfl_arg_t some_overflow(uint32_t count)
{
	return (pfm_ovfl_arg_t){.ovfl_pmd = 2,
		.active_set = 5,
		.pmd_last_reset = (uint64_t)-1000,
		.smpl_pmds = {2, 1 << 6},
		.smpl_pmds_values = {11, 70},
		.ovfl_count = count,
		.ovfl_notify = 1};
}

static pfm_smpl_where_t some_where(void)
{
	return (pfm_smpl_where_t){.ip = 0x401000, .pid = 100, .tid = 101, .cpu = 3, .known = 1};
}

static void overflow(struct smpl *s, uint32_t count, bool notify, bool reset, bool mask)
{
	pfm_ovfl_arg_t arg = some_overflow(count);
	pfm_smpl_where_t where = some_where();

	assert_int_equal(smpl_overflow(s, &arg, 1234, &where), 0);
	assert_true(smpl_ctrl_is(arg.ovfl_ctrl, notify, reset, mask));
}

static void open_dfl(struct smpl *s, uint32_t flags, size_t room)
{
	pfm_dfl_smpl_arg_t arg = {.buf_size = 128 + room, .buf_flags = flags};

	assert_int_equal(smpl_open(s, &format_dfl, &arg, NPMDS), 0);
}

/* The address of an earlier time slice is marked in stacks, and left out where there is no mark. */
TEST(earlier_address)
{
	pfm_hist_smpl_arg_t hist = {.buf_size = 4096};
	pfm_stack_smpl_arg_t stack = {.buf_size = 4096, .max_frames = 1};
	pfm_ovfl_arg_t arg = some_overflow(0x8001);
	pfm_smpl_where_t where = some_where();
	pfm_stack_smpl_entry_t e;
	struct smpl s;

	where.precise = PFM_SMPL_EARLIER;
	open_dfl(&s, PFM_DFL_SMPL_COMPACT, 4096);
	assert_int_equal(smpl_overflow(&s, &arg, 1, &where), 0);
	assert_int_equal(smpl_u64(&s, 0), 1);
	memcpy(&e.dfl, s.buf + 128, sizeof(e.dfl));
	assert_int_equal(e.dfl.ovfl_count, 0x8001);
	assert_int_equal(e.dfl.ip, 0);
	smpl_close(&s);
	assert_int_equal(smpl_open(&s, &format_hist, &hist, NPMDS), 0);
	assert_int_equal(smpl_overflow(&s, &arg, 1, &where), 0);
	for (size_t at = 128; at < 4096; at += 8)
		assert_true(smpl_u64(&s, at) != 0x401000);
	smpl_close(&s);
	assert_int_equal(smpl_open(&s, &format_stack, &stack, NPMDS), 0);
	assert_int_equal(smpl_overflow(&s, &arg, 1, &where), 0);
	memcpy(&e, s.buf + 128, sizeof(e));
	assert_int_equal(e.dfl.ovfl_count, 0x8001);
	assert_int_equal(e.dfl.ip, 0x401000);
	assert_int_equal(e.source, PFM_SMPL_EARLIER);
	smpl_close(&s);
}

/* A sample of nothing at all can be counted only, however many there are. */
TEST(dfl_nothing)
{
	pfm_ovfl_arg_t arg = {.ovfl_count = UINT32_MAX};
	pfm_smpl_where_t where = some_where();
	struct smpl s;

	open_dfl(&s, PFM_DFL_SMPL_NO_HDR, NPMDS * 8);
	assert_int_equal(smpl_overflow(&s, &arg, 1, &where), 0);
	assert_true(smpl_ctrl_is(arg.ovfl_ctrl, false, true, false));
	assert_int_equal(smpl_u64(&s, 0), UINT32_MAX);
	assert_int_equal(smpl_u64(&s, 8), 128);
	smpl_close(&s);
}

static pfm_dfl_smpl_arg_t any_dfl = {.buf_size = 4096};
static pfm_nway_smpl_arg_t any_nway = {.buf_size = 4096, .parts = 2};
static pfm_hist_smpl_arg_t any_hist = {.buf_size = 4096};
static pfm_correlate_smpl_arg_t any_correlate = {.buf_size = 4096};
static pfm_stack_smpl_arg_t any_stack = {.buf_size = 4096, .max_frames = 5};

/* Each format, and where its header has the number of lost counts. How overflows are found follows.
 */
static const struct {
	const pfm_buffer_fmt_t *fmt;
	void *arg;
	size_t lost;
} formats[] = {
	{&format_dfl, &any_dfl, 56},
	{&format_nway, &any_nway, 88},
	{&format_hist, &any_hist, 72},
	{&format_correlate, &any_correlate, 64},
	{&format_stack, &any_stack, 56},
	{&format_profile, &any_stack, 64},
};

static struct smpl open_format(unsigned i)
{
	struct smpl s;

	assert_int_equal(smpl_open(&s, formats[i].fmt, formats[i].arg, NPMDS), 0);
	return s;
}

/* More values than there are PMDs would not fit into what is kept free for a sample. */
TEST(too_large)
{
	pfm_smpl_where_t where = some_where();

	for (unsigned i = 0; i < COUNT(formats); i++) {
		pfm_ovfl_arg_t arg = {.smpl_pmds = {0x1f}, .ovfl_count = 1};
		unsigned char before[4096];
		struct smpl s;

		if (formats[i].fmt == &format_hist) /* It has no values. */
			continue;
		s = open_format(i);
		memcpy(before, s.buf, sizeof(before));
		assert_int_equal(smpl_overflow(&s, &arg, 1, &where), EINVAL);
		assert_memory_equal(before, s.buf, sizeof(before));
		smpl_close(&s);
	}
}

/* A lost count is in the header at once, and stays there. */
TEST(counts_lost)
{
	static const uint64_t two[PFM_FMT_BV] = {1, 0, 0, 0, 1}, one[PFM_FMT_BV] = {2};

	for (unsigned i = 0; i < COUNT(formats); i++) {
		struct smpl s = open_format(i);

		assert_int_equal(smpl_u64(&s, formats[i].lost), 0);
		s.fmt->fmt_lost(s.buf, 0, two);
		assert_int_equal(smpl_u64(&s, formats[i].lost), 2);
		smpl_restart(&s, true);
		s.fmt->fmt_lost(s.buf, 0, one);
		assert_int_equal(smpl_u64(&s, formats[i].lost), 3);
		smpl_close(&s);
	}
}

/* How overflows are found is in each header, after the number of lost counts. */
TEST(source)
{
	static const pfm_smpl_source_t source = {.precise = PFM_SMPL_INTERRUPT,
		.skew_ns = 5,
		.dropped = 6,
		.throttled = 7,
		.gaps = 8};

	for (unsigned i = 0; i < COUNT(formats); i++) {
		struct smpl s = open_format(i);
		size_t offs = formats[i].lost + 8;

		assert_int_equal(smpl_u64(&s, offs), 0);
		s.fmt->fmt_source(s.buf, &source);
		smpl_restart(&s, true);
		assert_int_equal(smpl_u64(&s, offs), 5ULL << 32 | PFM_SMPL_INTERRUPT);
		assert_int_equal(smpl_u64(&s, offs + 8), 6);
		assert_int_equal(smpl_u64(&s, offs + 16), 7);
		assert_int_equal(smpl_u64(&s, offs + 24), 8);
		smpl_close(&s);
	}
}

/* A gap is a record between samples, which is lost where there is no room for it and a sample. */
TEST(gaps)
{
	const pfm_buffer_fmt_t *series[] = {&format_correlate, &format_profile};

	for (unsigned i = 0; i < COUNT(series); i++) {
		pfm_stack_smpl_arg_t stack = {.buf_size = 1024, .max_frames = 1};
		pfm_correlate_smpl_arg_t correlate = {.buf_size = 1024};
		pfm_smpl_source_t source = {.gaps = 3};
		pfm_ovfl_arg_t arg = some_overflow(1);
		pfm_smpl_where_t where = some_where();
		uint64_t at, n;
		struct smpl s;

		assert_int_equal(
			smpl_open(&s, series[i], i ? (void *)&stack : (void *)&correlate, NPMDS),
			0);
		source.precise = PFM_SMPL_POLL;
		s.fmt->fmt_source(s.buf, &source); /* of an earlier buffer */
		assert_int_equal(smpl_u64(&s, 0), 0);
		smpl_overflow(&s, &arg, 77, &where);
		at = smpl_u64(&s, 8);
		s.fmt->fmt_source(s.buf, &source);
		assert_int_equal(smpl_u64(&s, 8), at);
		source.gaps++;
		s.fmt->fmt_source(s.buf, &source);
		assert_int_equal(smpl_u64(&s, 0), 2);
		assert_int_equal(smpl_u32(&s, at), PFM_CORRELATE_GAP);
		assert_int_equal(smpl_u32(&s, at + 4), 16);
		assert_int_equal(smpl_u64(&s, at + 8), 4);
		assert_int_equal(smpl_u64(&s, 8), at + 16);
		do {
			n = smpl_u64(&s, 0);
			source.gaps++;
			s.fmt->fmt_source(s.buf, &source);
		} while (smpl_u64(&s, 0) > n);
		assert_true(smpl_u64(&s, 8) + smpl_u64(&s, 32) <= 1024);
		assert_true(smpl_u64(&s, 8) + smpl_u64(&s, 32) + 16 > 1024);
		assert_int_equal(smpl_u64(&s, 56), 1);
		assert_int_equal(smpl_u64(&s, 72 + 24), source.gaps);
		smpl_close(&s);
	}
}

static void gap_is_at(struct smpl *s, pfm_smpl_source_t *source, size_t offs, uint64_t place)
{
	source->gaps++;
	s->fmt->fmt_source(s->buf, source);
	assert_int_equal(smpl_u64(s, offs), place);
	source->dropped++; /* not a gap */
	s->fmt->fmt_source(s->buf, source);
	assert_int_equal(smpl_u64(s, offs), place);
}

/* The header has the place of the last gap, as the number of the sample that follows it. */
TEST(gap_place)
{
	pfm_dfl_smpl_arg_t dfl = {.buf_size = 4096}, ip = dfl;
	pfm_stack_smpl_arg_t stack = {.buf_size = 4096, .max_frames = 5};
	const struct {
		const pfm_buffer_fmt_t *fmt;
		void *arg;
		size_t offs;
	} cases[] = {{&format_dfl, &dfl, 96}, {&format_dfl, &ip, 96}, {&format_stack, &stack, 104}};

	ip.buf_flags = PFM_DFL_SMPL_IIP_HDR;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		pfm_smpl_source_t source = {.precise = PFM_SMPL_POLL, .gaps = 3};
		size_t offs = cases[i].offs;
		struct smpl s;

		assert_int_equal(smpl_open(&s, cases[i].fmt, cases[i].arg, NPMDS), 0);
		s.fmt->fmt_source(s.buf, &source); /* of an earlier buffer */
		assert_int_equal(smpl_u64(&s, offs), 0);
		overflow(&s, 1, false, true, false);
		overflow(&s, 1, false, true, false);
		gap_is_at(&s, &source, offs, 3);
		overflow(&s, 1, false, true, false);
		assert_int_equal(smpl_u64(&s, offs), 3);
		gap_is_at(&s, &source, offs, 4);
		overflow(&s, 1, false, true, false);
		smpl_restart(&s, true);
		assert_int_equal(smpl_u64(&s, offs), 0);
		overflow(&s, 1, false, true, false);
		gap_is_at(&s, &source, offs, 2);
		smpl_restart(&s, true);
		assert_int_equal(smpl_u64(&s, offs), 1);
		smpl_restart(&s, true);
		assert_int_equal(smpl_u64(&s, offs), 1);
		overflow(&s, 1, false, true, false);
		smpl_restart(&s, true);
		assert_int_equal(smpl_u64(&s, offs), 0);
		smpl_close(&s);
	}
}

/* An overflow with this stack, of which the first @want frames are to be left, and @flags. */
static void stack_of_is(const pfm_buffer_fmt_t *fmt, size_t at, uint32_t buf_flags,
	uint32_t max_frames, unsigned from, unsigned want, uint16_t flags)
{
	static const uint64_t frames[] = {PFM_STACK_KERNEL, ~0xffULL << 32, ~0xfeULL << 32,
		PFM_STACK_USER, 0x401000, 0x402000, 0x403000};
	pfm_stack_smpl_arg_t stack = {
		.buf_size = 4096, .buf_flags = buf_flags, .max_frames = max_frames};
	pfm_ovfl_arg_t arg = some_overflow(3);
	pfm_smpl_where_t where = some_where();
	pfm_stack_smpl_entry_t e;
	struct smpl s;

	where.precise = PFM_SMPL_INTERRUPT;
	where.nframes = COUNT(frames);
	where.frames = frames;
	assert_int_equal(smpl_open(&s, fmt, &stack, NPMDS), 0);
	assert_int_equal(smpl_overflow(&s, &arg, 77, &where), 0);
	assert_int_equal(smpl_u64(&s, 0), 1);
	memcpy(&e, s.buf + at, sizeof(e));
	assert_int_equal(smpl_u64(&s, 8), at + pfm_stack_smpl_size(&e));
	assert_int_equal(e.dfl.ovfl_count, 3);
	assert_int_equal(e.dfl.tstamp, 77);
	assert_int_equal(e.dfl.ip, where.ip);
	assert_int_equal(e.npmds, 2);
	assert_int_equal(e.source, PFM_SMPL_INTERRUPT);
	assert_int_equal(e.flags, flags);
	assert_int_equal(e.nframes, want);
	assert_int_equal(smpl_u64(&s, at + 48), 11);
	assert_int_equal(smpl_u64(&s, at + 48 + 8), 70);
	for (unsigned i = 0; i < want; i++)
		assert_int_equal(smpl_u64(&s, at + 48 + 16 + 8 * i), frames[from + i]);
	if (fmt == &format_profile) {
		assert_int_equal(smpl_u32(&s, 128), PFM_CORRELATE_STACK);
		assert_int_equal(smpl_u32(&s, 132), 8 + pfm_stack_smpl_size(&e));
	}
	smpl_close(&s);
}

static void stack_is(
	uint32_t buf_flags, uint32_t max_frames, unsigned from, unsigned want, uint16_t flags)
{
	stack_of_is(&format_stack, 128, buf_flags, max_frames, from, want, flags);
	stack_of_is(&format_profile, 128 + 8, buf_flags, max_frames, from, want, flags);
}

TEST(stack)
{
	stack_is(0, 127, 0, 7, 0);
	stack_is(0, 5, 0, 7, 0);
	stack_is(0, 4, 0, 6, PFM_STACK_CUT);
	stack_is(0, 2, 0, 4, PFM_STACK_CUT);
	stack_is(0, 1, 0, 2, PFM_STACK_CUT);
	stack_is(PFM_STACK_SMPL_NO_KERNEL, 127, 3, 4, 0);
	stack_is(PFM_STACK_SMPL_NO_KERNEL, 2, 3, 3, PFM_STACK_CUT);
	stack_is(PFM_STACK_SMPL_NO_USER, 127, 0, 3, 0);
}

/* The user's registers and stack, of which a sample has as much as was asked for. */
static void user_state_of_is(
	const pfm_buffer_fmt_t *fmt, size_t at, uint32_t user_stack, uint32_t size, uint32_t want)
{
	uint64_t frames[] = {PFM_STACK_KERNEL, ~0xffULL << 32}, regs[PFM_STACK_REGS], words[8];
	pfm_stack_smpl_arg_t stack = {.buf_size = 4096, .max_frames = 5, .user_stack = user_stack};
	pfm_ovfl_arg_t arg = some_overflow(1);
	pfm_smpl_where_t where = some_where();
	const pfm_stack_smpl_user_t *user;
	pfm_stack_smpl_entry_t *e;
	struct smpl s;

	for (unsigned i = 0; i < PFM_STACK_REGS; i++)
		regs[i] = 1000 + i;
	for (unsigned i = 0; i < COUNT(words); i++)
		words[i] = 2000 + i;
	where.nframes = COUNT(frames);
	where.frames = frames;
	where.user = (pfm_smpl_user_t){regs, words, size, 2};
	assert_int_equal(fmt->fmt_user_stack(&stack), user_stack);
	assert_int_equal(smpl_open(&s, fmt, &stack, NPMDS), 0);
	assert_int_equal(smpl_overflow(&s, &arg, 77, &where), 0);
	e = (void *)(s.buf + at);
	user = pfm_stack_smpl_user(e);
	assert_int_equal(smpl_u64(&s, 8), at + pfm_stack_smpl_size(e));
	assert_int_equal(e->flags, user_stack ? PFM_STACK_USER_STATE : 0);
	if (user_stack) {
		assert_int_equal(pfm_stack_smpl_size(e), 48 + 16 + 16 + 144 + want);
		assert_int_equal(user->abi, 2);
		assert_int_equal(user->stack_size, want);
		assert_memory_equal(user->regs, regs, sizeof(regs));
		assert_memory_equal(user + 1, words, want);
	}
	where.user.regs = NULL;
	at = smpl_u64(&s, 8) + (fmt == &format_profile ? 8 : 0);
	assert_int_equal(smpl_overflow(&s, &arg, 78, &where), 0);
	assert_int_equal(((pfm_stack_smpl_entry_t *)(s.buf + at))->flags, 0);
	smpl_close(&s);
}

static void user_state_is(uint32_t user_stack, uint32_t size, uint32_t want)
{
	user_state_of_is(&format_stack, 128, user_stack, size, want);
	user_state_of_is(&format_profile, 128 + 8, user_stack, size, want);
}

TEST(user_state)
{
	pfm_stack_smpl_arg_t arg = {.buf_size = 1 << 20, .max_frames = 5, .user_stack = 65528};

	user_state_is(0, 64, 0);
	user_state_is(64, 64, 64);
	user_state_is(64, 24, 24);
	user_state_is(16, 64, 16);
	user_state_is(64, 0, 0);
	assert_int_equal(format_stack.fmt_validate(0, NPMDS, &arg), 0);
	arg.user_stack = 65536;
	assert_int_equal(format_stack.fmt_validate(0, NPMDS, &arg), EINVAL);
	arg.user_stack = 12;
	assert_int_equal(format_profile.fmt_validate(0, NPMDS, &arg), EINVAL);
	arg.user_stack = 16;
	arg.buf_flags = PFM_STACK_SMPL_NO_USER;
	assert_int_equal(format_profile.fmt_validate(0, NPMDS, &arg), EINVAL);
	arg.buf_flags = PFM_STACK_SMPL_NO_KERNEL;
	assert_int_equal(format_profile.fmt_validate(0, NPMDS, &arg), 0);
}

/* The largest sample fits, whatever is in the stack; then the buffer is full. */
static void stack_fills(const pfm_buffer_fmt_t *fmt, size_t at)
{
	pfm_stack_smpl_arg_t stack = {
		.buf_size = at + 48 + (NPMDS + 5 + PFM_STACK_MAX_MARKERS) * 8 + 144 + 64,
		.max_frames = 5,
		.user_stack = 64};
	uint64_t frames[200], words[20] = {0};
	pfm_ovfl_arg_t arg = {.smpl_pmds = {0xf}, .ovfl_count = 1};
	pfm_smpl_where_t where = {.nframes = COUNT(frames),
		.frames = frames,
		.user = {words, words, sizeof(words), 2}};
	struct smpl s;

	for (unsigned i = 0; i < COUNT(frames); i++)
		frames[i] = i % 2 ? i : PFM_STACK_USER;
	assert_int_equal(smpl_open(&s, fmt, &stack, NPMDS), 0);
	assert_int_equal(smpl_overflow(&s, &arg, 1, &where), 0);
	assert_int_equal(smpl_u64(&s, 0), 1);
	assert_int_equal(smpl_overflow(&s, &arg, 2, &where), 0);
	assert_true(arg.ovfl_ctrl.mask_monitoring && arg.ovfl_ctrl.notify_user);
	smpl_restart(&s, false);
	assert_int_equal(smpl_u64(&s, 0), 0);
	smpl_close(&s);
}

TEST(stack_full)
{
	stack_fills(&format_stack, 128);
	stack_fills(&format_profile, 128 + 8);
}

TEST(correlate_events)
{
	pfm_correlate_smpl_arg_t arg = {.buf_size = 128 + 10000};
	pfm_smpl_event_t event = {.type = PFM_EVENT_MMAP,
		.pid = 1,
		.tid = 2,
		.tstamp = 3,
		.addr = 4,
		.len = 5,
		.pgoff = 6};
	char name[5001];
	struct smpl s;

	memset(name, 'n', 5000);
	name[5000] = '\0';
	assert_int_equal(smpl_open(&s, &format_correlate, &arg, NPMDS), 0);
	event.name = name;
	smpl_event(&s, &event); /* cut to 4095 */
	assert_int_equal(smpl_u32(&s, 128), PFM_CORRELATE_MMAP);
	assert_int_equal(smpl_u32(&s, 132), 48 + 4096);
	assert_int_equal(strlen((char *)s.buf + 128 + 48), 4095);
	smpl_event(&s, &event);
	smpl_event(&s, &event); /* no room: the next sample is the last */
	assert_int_equal(smpl_u64(&s, 0), 2);
	assert_int_equal(smpl_u64(&s, 56), 1);
	event.name = "";
	smpl_event(&s, &event);
	assert_int_equal(smpl_u64(&s, 56), 2);
	overflow(&s, 1, true, false, true);
	assert_int_equal(smpl_u64(&s, 0), 3);
	assert_int_equal(smpl_u64(&s, 16), 1);
	smpl_event(&s, &event);
	assert_int_equal(smpl_u64(&s, 0), 3);
	assert_int_equal(smpl_u64(&s, 56), 3);
	smpl_restart(&s, false);
	smpl_event(&s, &event);
	assert_int_equal(smpl_u64(&s, 0), 1);
	assert_int_equal(smpl_u32(&s, 132), 48 + 8);
	smpl_close(&s);
}

/* A file comes before its mapping, and never without it. */
TEST(correlate_files)
{
	enum { FILE_SIZE = 8 + 40, MMAP_SIZE = 48 + 8 };
	pfm_correlate_smpl_arg_t arg = {.buf_size = 128 + 1000};
	pfm_smpl_event_t event = {.type = PFM_EVENT_MMAP, .addr = 4, .name = "/x"};
	struct smpl s;

	event.file = (pfm_smpl_file_t){.build_id_size = 2, .build_id = {7, 8}};
	assert_int_equal(smpl_open(&s, &format_correlate, &arg, NPMDS), 0);
	smpl_event(&s, &event);
	assert_int_equal(smpl_u64(&s, 0), 2);
	assert_int_equal(smpl_u32(&s, 128), PFM_CORRELATE_FILE);
	assert_int_equal(smpl_u32(&s, 132), FILE_SIZE);
	assert_memory_equal((char *)s.buf + 128 + 8, &event.file, sizeof(event.file));
	assert_int_equal(smpl_u32(&s, 128 + FILE_SIZE), PFM_CORRELATE_MMAP);
	while (!smpl_u64(&s, 56))
		smpl_event(&s, &event);
	assert_int_equal(smpl_u64(&s, 0) % 2, 0);
	assert_int_equal(smpl_u64(&s, 8), 128 + smpl_u64(&s, 0) / 2 * (FILE_SIZE + MMAP_SIZE));
	smpl_close(&s);
}

/* A reader of a buffer with parts: what it has taken, and where it goes on. */
struct parts_reader {
	uint64_t taken, at;
	uint64_t last; /* time stamp of the latest record */
	uint64_t samples, events;
};

/* Reads all records; one restart for each full part. */
static void parts_read(struct smpl *s, struct parts_reader *r)
{
	unsigned full = 0;

	for (; r->taken < smpl_u64(s, 0); r->taken++) {
		uint32_t type = smpl_u32(s, r->at);

		if (type == PFM_CORRELATE_NEXT) {
			assert_int_equal(smpl_u32(s, r->at + 4), 16);
			r->at = smpl_u64(s, r->at + 8);
			full++;
			continue;
		}
		if (type == PFM_CORRELATE_SAMPLE || type == PFM_CORRELATE_STACK) {
			assert_true(smpl_u64(s, r->at + 8 + 24) > r->last);
			r->last = smpl_u64(s, r->at + 8 + 24);
			r->samples++;
		} else {
			assert_true(smpl_u64(s, r->at + 16) > r->last);
			r->last = smpl_u64(s, r->at + 16);
			r->events++;
		}
		r->at += smpl_u32(s, r->at + 4);
	}
	assert_int_equal(r->at, smpl_u64(s, 8));
	assert_int_equal(smpl_u16(s, 126), full);
	while (full--)
		assert_true(smpl_ctrl_is(smpl_restart(s, true), false, true, false));
}

/* As random as in other property tests, and always read before the last part is full: nothing is
 * lost, and the context is never masked. */
static void parts_lose_nothing(const pfm_buffer_fmt_t *fmt, void *arg, unsigned parts)
{
	struct parts_reader r = {.at = 128};
	uint64_t now = 0, samples = 0, events = 0, random = parts;
	pfm_smpl_event_t event = {.type = PFM_EVENT_COMM, .name = "name"};
	struct smpl s;

	assert_int_equal(smpl_open(&s, fmt, arg, NPMDS), 0);
	for (unsigned i = 0; i < 20000; i++) {
		pfm_ovfl_arg_t ovfl = some_overflow(1);
		pfm_smpl_where_t where = some_where();
		bool was_turned = smpl_u32(&s, 44) == PFM_CORRELATE_TURNED;
		unsigned full = smpl_u16(&s, 126);

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		event.tstamp = ++now;
		if (random >> 62 == 0) {
			smpl_event(&s, &event);
			events++;
		} else {
			assert_int_equal(smpl_overflow(&s, &ovfl, now, &where), 0);
			samples++;
			assert_true(smpl_ctrl_is(ovfl.ovfl_ctrl,
				was_turned || smpl_u16(&s, 126) > full, true, false));
		}
		if (smpl_u16(&s, 126) + 1U == parts)
			parts_read(&s, &r);
	}
	parts_read(&s, &r);
	assert_int_equal(r.samples, samples);
	assert_int_equal(r.events, events);
	assert_int_equal(smpl_u64(&s, 16) + smpl_u64(&s, 48) + smpl_u64(&s, 56), 0);
	smpl_close(&s);
}

TEST(parts)
{
	for (unsigned parts = 2; parts < 6; parts++) {
		pfm_correlate_smpl_arg_t correlate = {.buf_size = 3003, .parts = parts};
		pfm_stack_smpl_arg_t profile = {.buf_size = 3500, .parts = parts, .max_frames = 1};

		parts_lose_nothing(&format_correlate, &correlate, parts);
		parts_lose_nothing(&format_profile, &profile, parts);
	}
}

/* A tool that does not read: the last part masks, and a restart goes on in the part that it
 * frees. Events are lost meanwhile, and no record is overwritten before it was read. */
TEST(parts_full)
{
	pfm_correlate_smpl_arg_t arg = {.buf_size = 128 + 2 * 1000, .parts = 2};
	pfm_smpl_event_t event = {.type = PFM_EVENT_COMM, .name = "", .tstamp = 1};
	struct parts_reader r = {.at = 128};
	struct smpl s;
	uint64_t n = 0;

	assert_int_equal(smpl_open(&s, &format_correlate, &arg, NPMDS), 0);
	for (unsigned masked = 0; masked < 5; masked++) {
		while (smpl_u32(&s, 44) != PFM_CORRELATE_FULL) {
			pfm_ovfl_arg_t ovfl = some_overflow(1);
			pfm_smpl_where_t where = some_where();

			assert_int_equal(smpl_overflow(&s, &ovfl, 10 + n++, &where), 0);
			assert_int_equal(ovfl.ovfl_ctrl.mask_monitoring,
				smpl_u32(&s, 44) == PFM_CORRELATE_FULL);
		}
		assert_int_equal(smpl_u64(&s, 16), masked + 1);
		smpl_event(&s, &event);
		assert_int_equal(smpl_u64(&s, 56), masked + 1);
		parts_read(&s, &r);
		assert_int_equal(r.samples, n);
		assert_int_equal(smpl_u32(&s, 44), PFM_CORRELATE_OPEN);
	}
	smpl_close(&s);
}

/*
 * Readers in another thread. A sample's fields all follow from its number, so that any mixture of
 * two shows; as in the daemon, the thread that records also carries out the restarts.
 */
enum { SAMPLES = 60000, PARTS = 400 };

static void record(struct smpl *s, uint64_t n, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_ovfl_arg_t arg = {.ovfl_count = 1, .pmd_last_reset = n, .ovfl_notify = 1};
	pfm_smpl_where_t where = {.ip = n, .pid = (uint32_t)n, .tid = (uint32_t)n};
	unsigned values = (unsigned)(n % 5);

	arg.smpl_pmds[0] = (1ULL << values) - 1;
	for (unsigned i = 0; i < values; i++)
		arg.smpl_pmds_values[i] = n;
	arg.ovfl_pmd = (uint16_t)values;
	assert_int_equal(s->fmt->fmt_handler(s->buf, &arg, n, &where), 0);
	*ctrl = arg.ovfl_ctrl;
}

/* Returns the size, 0: not a sample of one number. */
static size_t read_sample(const void *at, uint64_t *n)
{
	const pfm_dfl_smpl_entry_t *e = at;
	const uint64_t *values = (const uint64_t *)(e + 1);

	*n = e->tstamp;
	if (e->ip != *n || e->last_reset_val != *n || e->pid != (uint32_t)*n ||
		e->tgid != (uint32_t)*n || e->ovfl_pmd != *n % 5)
		return 0;
	for (unsigned i = 0; i < *n % 5; i++)
		if (values[i] != *n)
			return 0;
	return sizeof(*e) + e->ovfl_pmd * sizeof(uint64_t);
}

struct shared {
	struct smpl s;
	sem_t full, restart;
	int restarts, done; /* nway: asked for; atomic */
	/* What the reader has found. */
	uint64_t seen, bad, last, parts, gaps;
};

/* @count samples at @at, each newer than those before. */
static void read_samples(struct shared *sh, const char *at, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t n;
		size_t size = read_sample(at, &n);

		if (!size || n <= sh->last) {
			sh->bad++;
			return;
		}
		sh->last = n;
		sh->seen++;
		at += size;
	}
}

static void *dfl_reader(void *arg)
{
	struct shared *sh = arg;
	const pfm_dfl_smpl_hdr_t *hdr = (const void *)sh->s.buf;

	for (;;) {
		sem_wait(&sh->full);
		if (__atomic_load_n(&sh->done, __ATOMIC_ACQUIRE))
			return NULL;
		read_samples(sh, (const char *)(hdr + 1), hdr->hdr_count);
		sh->parts++;
		sem_post(&sh->restart);
	}
}

TEST(dfl_reader)
{
	struct shared sh = {0};
	pfm_ovfl_ctrl_t ctrl;
	pthread_t reader;
	uint64_t left;

	open_dfl(&sh.s, 0, 10000);
	sem_init(&sh.full, 0, 0);
	sem_init(&sh.restart, 0, 0);
	pthread_create(&reader, NULL, dfl_reader, &sh);
	for (uint64_t n = 1; n <= SAMPLES; n++) {
		record(&sh.s, n, &ctrl);
		if (!ctrl.mask_monitoring)
			continue;
		sem_post(&sh.full);
		sem_wait(&sh.restart);
		smpl_restart(&sh.s, false);
	}
	__atomic_store_n(&sh.done, 1, __ATOMIC_RELEASE);
	sem_post(&sh.full);
	pthread_join(reader, NULL);
	left = smpl_u64(&sh.s, 0);
	assert_int_equal(sh.bad, 0);
	assert_int_equal(sh.seen + left, SAMPLES);
	assert_int_equal(sh.parts, smpl_u64(&sh.s, 16));
	smpl_close(&sh.s);
}

/* A reader that does not wait: the first hdr_count samples are complete at any time. */
static void *live_reader(void *arg)
{
	struct shared *sh = arg;
	const pfm_dfl_smpl_hdr_t *hdr = (const void *)sh->s.buf;
	bool done;

	do {
		done = __atomic_load_n(&sh->done, __ATOMIC_ACQUIRE);
		sh->last = 0;
		read_samples(sh, (const char *)(hdr + 1),
			__atomic_load_n(&hdr->hdr_count, __ATOMIC_ACQUIRE));
	} while (!done);
	return NULL;
}

TEST(dfl_live_reader)
{
	struct shared sh = {0};
	pfm_ovfl_ctrl_t ctrl;
	pthread_t reader;

	open_dfl(&sh.s, 0, 1 << 17);
	pthread_create(&reader, NULL, live_reader, &sh);
	for (uint64_t n = 1; n <= 2000; n++)
		record(&sh.s, n, &ctrl);
	__atomic_store_n(&sh.done, 1, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
	assert_int_equal(sh.bad, 0);
	assert_int_equal(sh.last, smpl_u64(&sh.s, 0));
	smpl_close(&sh.s);
}

static const pfm_nway_smpl_part_t *full_part(const pfm_nway_smpl_hdr_t *hdr)
{
	const pfm_nway_smpl_part_t *part =
		&hdr->hdr_parts[__atomic_load_n(&hdr->hdr_tool, __ATOMIC_ACQUIRE)];
	uint32_t part_state = __atomic_load_n(&part->part_state, __ATOMIC_ACQUIRE);

	return part_state == PFM_NWAY_PART_FULL ? part : NULL;
}

/* Slower at times than what is recorded, so that parts are lost. */
static void *nway_reader(void *arg)
{
	struct shared *sh = arg;
	const pfm_nway_smpl_hdr_t *hdr = (const void *)sh->s.buf;
	uint64_t seq = 0;

	while (!__atomic_load_n(&sh->done, __ATOMIC_ACQUIRE)) {
		/* A part that is about to be freed is not to be taken for the next. */
		bool busy = __atomic_load_n(&sh->restarts, __ATOMIC_ACQUIRE);
		const pfm_nway_smpl_part_t *part = busy ? NULL : full_part(hdr);

		if (!part) {
			sched_yield();
			continue;
		}
		read_samples(sh,
			(const char *)hdr + hdr->hdr_parts_offs +
				(size_t)(part - hdr->hdr_parts) * hdr->hdr_part_size,
			part->part_count);
		sh->gaps += part->part_seq - seq - 1;
		seq = part->part_seq;
		__atomic_store_n(&sh->parts, sh->parts + 1, __ATOMIC_RELEASE);
		if (sh->parts % 4 == 0)
			for (unsigned i = 0; i < 10; i++)
				sched_yield();
		__atomic_store_n(&sh->restarts, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void nway_do_restart(struct shared *sh, bool active)
{
	if (!__atomic_load_n(&sh->restarts, __ATOMIC_ACQUIRE))
		return;
	smpl_restart(&sh->s, active);
	__atomic_store_n(&sh->restarts, 0, __ATOMIC_RELEASE);
}

static void read_nway(uint32_t parts, uint32_t flags)
{
	pfm_nway_smpl_arg_t arg = {.buf_size = 4096 * parts, .parts = parts, .buf_flags = flags};
	struct shared sh = {0};
	pfm_nway_smpl_hdr_t *hdr;
	pfm_ovfl_ctrl_t ctrl;
	pthread_t reader;

	assert_int_equal(smpl_open(&sh.s, &format_nway, &arg, NPMDS), 0);
	hdr = (void *)sh.s.buf;
	pthread_create(&reader, NULL, nway_reader, &sh);
	/* As long as it takes the reader to get going: there may be one CPU for both. */
	for (uint64_t n = 1; __atomic_load_n(&sh.parts, __ATOMIC_ACQUIRE) < PARTS; n++) {
		record(&sh.s, n, &ctrl);
		while (ctrl.mask_monitoring &&
			hdr->hdr_parts[hdr->hdr_cur].part_state == PFM_NWAY_PART_FULL) {
			nway_do_restart(&sh, false);
			sched_yield();
		}
		nway_do_restart(&sh, true);
		if (n % 300 == 0)
			sched_yield();
	}
	__atomic_store_n(&sh.done, 1, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
	assert_int_equal(sh.bad, 0);
	assert_true(sh.gaps <= hdr->hdr_lost_parts);
	if (flags)
		assert_int_equal(hdr->hdr_lost_parts + hdr->hdr_lost + sh.gaps, 0);
	smpl_close(&sh.s);
}

TEST(nway_reader)
{
	read_nway(2, 0);
	read_nway(5, 0);
	read_nway(2, PFM_NWAY_SMPL_MASK_WHEN_FULL);
	read_nway(3, PFM_NWAY_SMPL_MASK_WHEN_FULL);
}

// SPDX-License-Identifier: MIT
#include "tests/unit/smpl.h"
#include "tests/unit/unit.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum { CANARY = 1024, CANARY_BYTE = 0xa5 };

/* Canaries check the end to the byte: ASan cannot poison an arbitrary number of bytes. */
static void protect(struct smpl *s)
{
	ASAN_POISON_MEMORY_REGION(s->memory, CANARY);
	ASAN_POISON_MEMORY_REGION(s->buf + s->size, CANARY);
}

static void check_canaries(struct smpl *s)
{
	unsigned char canary[CANARY];

	memset(canary, CANARY_BYTE, CANARY);
	ASAN_UNPOISON_MEMORY_REGION(s->memory, CANARY);
	ASAN_UNPOISON_MEMORY_REGION(s->buf + s->size, CANARY);
	assert_memory_equal(s->memory, canary, CANARY);
	assert_memory_equal(s->buf + s->size, canary, CANARY);
}

int smpl_open(struct smpl *s, const pfm_buffer_fmt_t *fmt, void *arg, uint16_t num_pmds)
{
	int no = fmt->fmt_validate ? fmt->fmt_validate(0, num_pmds, arg) : 0;

	*s = (struct smpl){.fmt = fmt};
	if (!no && fmt->fmt_getsize)
		no = fmt->fmt_getsize(0, arg, &s->size);
	if (no)
		return no;
	s->memory = malloc(CANARY + s->size + CANARY);
	assert_non_null(s->memory);
	s->buf = s->memory + CANARY;
	memset(s->memory, CANARY_BYTE, CANARY + s->size + CANARY);
	memset(s->buf, 0, s->size);
	protect(s);
	no = fmt->fmt_init ? fmt->fmt_init(0, arg, s->buf) : 0;
	check_canaries(s);
	return no;
}

void smpl_close(struct smpl *s)
{
	check_canaries(s);
	if (s->fmt->fmt_exit)
		assert_int_equal(s->fmt->fmt_exit(s->buf), 0);
	free(s->memory);
}

int smpl_overflow(struct smpl *s, pfm_ovfl_arg_t *arg, uint64_t tstamp, pfm_smpl_where_t *where)
{
	int no;

	protect(s);
	arg->ovfl_ctrl = (pfm_ovfl_ctrl_t){0};
	no = s->fmt->fmt_handler(s->buf, arg, tstamp, where);
	check_canaries(s);
	return no;
}

void smpl_event(struct smpl *s, const pfm_smpl_event_t *event)
{
	protect(s);
	assert_int_equal(s->fmt->fmt_event(s->buf, event), 0);
	check_canaries(s);
}

pfm_ovfl_ctrl_t smpl_restart(struct smpl *s, bool active)
{
	pfm_ovfl_ctrl_t ctrl = {0};

	protect(s);
	assert_int_equal(s->fmt->fmt_restart(s->buf, active, &ctrl), 0);
	check_canaries(s);
	return ctrl;
}

uint64_t smpl_u64(const struct smpl *s, size_t offs)
{
	uint64_t v;

	assert_true(offs + 8 <= s->size);
	memcpy(&v, s->buf + offs, 8);
	return v;
}

uint32_t smpl_u32(const struct smpl *s, size_t offs)
{
	uint32_t v;

	assert_true(offs + 4 <= s->size);
	memcpy(&v, s->buf + offs, 4);
	return v;
}

uint16_t smpl_u16(const struct smpl *s, size_t offs)
{
	uint16_t v;

	assert_true(offs + 2 <= s->size);
	memcpy(&v, s->buf + offs, 2);
	return v;
}

size_t smpl_entry(const struct smpl *s, size_t offs, unsigned nvalues, struct smpl_rec *rec)
{
	*rec = (struct smpl_rec){
		.type = 1,
		.tid = smpl_u32(s, offs),
		.pmd = smpl_u16(s, offs + 4),
		.count = smpl_u16(s, offs + 6),
		.last_reset = smpl_u64(s, offs + 8),
		.ip = smpl_u64(s, offs + 16),
		.tstamp = smpl_u64(s, offs + 24),
		.cpu = smpl_u16(s, offs + 32),
		.set = smpl_u16(s, offs + 34),
		.pid = smpl_u32(s, offs + 36),
		.nvalues = nvalues,
	};
	for (unsigned i = 0; i < nvalues; i++)
		rec->values[i] = smpl_u64(s, offs + 40 + i * 8);
	return 40 + nvalues * 8;
}

bool smpl_ctrl_is(pfm_ovfl_ctrl_t ctrl, bool notify, bool reset, bool mask)
{
	return ctrl.notify_user == notify && ctrl.reset_ovfl_pmds == reset &&
	       ctrl.mask_monitoring == mask && !ctrl.block_thread;
}

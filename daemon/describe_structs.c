// SPDX-License-Identifier: MIT
/*
 * The structures that cross the border to programs. Their sizes and the offsets in them never
 * change: a new field takes reserved space. An array without a length follows its structure.
 */
#include "daemon/describe.h"

#include <stddef.h>

#include "perfmonfs/ioctl.h"
#include "perfmonfs/live.h"
#include "perfmonfs/msg.h"
#include "perfmonfs/smpl_correlate.h"
#include "perfmonfs/smpl_hist.h"
#include "perfmonfs/smpl_nway.h"
#include "perfmonfs/smpl_stack.h"

struct describe_field {
	const char *name, *type;
	size_t offset, size;
};

static void describe_struct(struct text *out, const char *name, size_t size,
	const struct describe_field *fields, size_t n)
{
	text_printf(out, "%s\n{\"name\":\"%s\",\"size\":%zu,\"fields\":[",
		out->p[out->n - 1] == '[' ? "" : ",", name, size);
	for (size_t i = 0; i < n; i++)
		text_printf(out, "%s{\"name\":\"%s\",\"type\":\"%s\",\"offset\":%zu,\"size\":%zu}",
			i ? "," : "", fields[i].name, fields[i].type, fields[i].offset,
			fields[i].size);
	text_printf(out, "]}");
}

/* The type of a member, or of the elements of an array. */
#define TYPE(member)                                                                               \
	_Generic((member), uint8_t: "u8", uint16_t: "u16", uint32_t: "u32", uint64_t: "u64",       \
		int32_t: "i32", char *: "char", uint8_t *: "u8", uint64_t *: "u64",                                \
		pfm_smpl_source_t: "pfm_smpl_source",                                              \
		pfm_dfl_smpl_entry_t: "pfm_dfl_smpl_entry", struct pfm_live_pmd *: "pfm_live_pmd")

/* Describes a structure. It does not compile with a wrong size or offset. */
#define F(member, at)                                                                              \
	{                                                                                          \
#member, TYPE(((T *)0)->member),                                                   \
			(at) + 0 * sizeof(char[offsetof(T, member) == (at) ? 1 : -1]),             \
			sizeof(((T *)0)->member)                                                   \
	}
#define S(tag, bytes, ...)                                                                         \
	do {                                                                                       \
		typedef struct tag T;                                                              \
		static const struct describe_field fields[] = {__VA_ARGS__};                       \
		_Static_assert(sizeof(T) == (bytes), #tag);                                        \
		describe_struct(out, #tag, bytes, fields, sizeof(fields) / sizeof(fields[0]));     \
	} while (0)

static void describe_ioctl_structs(struct text *out)
{
	S(pfm_ioc_setup, 128, F(flags, 0), F(arg_size, 4), F(format, 8), F(buf_size, 72),
		F(number, 80), F(reserved, 88));
	S(pfm_ioc_pmc, 48, F(num, 0), F(set, 2), F(flags, 4), F(value, 8), F(reserved, 16));
	S(pfm_ioc_pmd, 176, F(num, 0), F(set, 2), F(flags, 4), F(value, 8), F(long_reset, 16),
		F(short_reset, 24), F(last_reset_val, 32), F(ovfl_switch_cnt, 40),
		F(reset_pmds, 48), F(smpl_pmds, 88), F(smpl_eventid, 128), F(random_mask, 136),
		F(random_seed, 144), F(reserved32, 148), F(reserved, 152));
	S(pfm_ioc_load, 32, F(target, 0), F(set, 4), F(reserved16, 6), F(flags, 8),
		F(reserved32, 12), F(reserved, 16));
	S(pfm_ioc_start, 32, F(set, 0), F(reserved16, 2), F(reserved32, 4), F(reserved, 8));
	S(pfm_ioc_setdesc, 64, F(id, 0), F(id_next, 2), F(flags, 4), F(timeout, 8),
		F(reserved, 16));
	S(pfm_ioc_setinfo, 200, F(id, 0), F(id_next, 2), F(flags, 4), F(ovfl_pmds, 8), F(runs, 48),
		F(timeout, 56), F(act_duration, 64), F(avail_pmcs, 72), F(avail_pmds, 112),
		F(cookie, 152), F(reserved, 160));
	S(pfm_ioc_info, 32, F(number, 0), F(flags, 8), F(state, 12), F(tid, 16), F(cpu, 20),
		F(set, 24), F(reserved16, 26), F(reserved32, 28));
	S(pfm_ioc_signal, 32, F(sig, 0), F(type, 4), F(owner, 8), F(fd, 12), F(reserved, 16));
}

static void describe_shared_structs(struct text *out)
{
	S(pfm_msg, 64, F(type, 0), F(pid, 4), F(set, 8), F(cpu, 10), F(tid, 12), F(ip, 16),
		F(count, 16), F(pmds, 24));
	S(pfm_live_pmd, 24, F(value, 0), F(hw, 8), F(index, 16), F(num, 20), F(width, 22),
		F(flags, 23));
	S(pfm_live, 1568, F(seq, 0), F(version, 4), F(active, 8), F(cpu, 12), F(npmds, 16),
		F(reserved, 20), F(time, 24), F(pmd, 32));
}

static void describe_smpl_structs(struct text *out)
{
	S(pfm_smpl_source, 32, F(precise, 0), F(skew_ns, 4), F(dropped, 8), F(throttled, 16),
		F(gaps, 24));
	S(pfm_dfl_smpl_arg, 64, F(buf_size, 0), F(buf_flags, 8), F(num_pmds, 12), F(reserved, 16));
	S(pfm_dfl_smpl_hdr, 128, F(hdr_count, 0), F(hdr_cur_offs, 8), F(hdr_overflows, 16),
		F(hdr_buf_size, 24), F(hdr_min_buf_space, 32), F(hdr_version, 40),
		F(hdr_buf_flags, 44), F(hdr_lost, 48), F(hdr_counts_lost, 56), F(hdr_source, 64),
		F(hdr_gap, 96), F(hdr_reserved, 104), F(hdr_tag, 120), F(hdr_reserved1, 124));
	S(pfm_dfl_smpl_entry, 40, F(pid, 0), F(ovfl_pmd, 4), F(ovfl_count, 6), F(last_reset_val, 8),
		F(ip, 16), F(tstamp, 24), F(cpu, 32), F(set, 34), F(tgid, 36));
	S(pfm_nway_smpl_arg, 64, F(buf_size, 0), F(buf_flags, 8), F(parts, 12), F(num_pmds, 16),
		F(reserved1, 20), F(reserved, 24));
	S(pfm_nway_smpl_part, 32, F(part_seq, 0), F(part_count, 8), F(part_bytes, 16),
		F(part_state, 24), F(part_gap, 28));
	S(pfm_nway_smpl_hdr, 128, F(hdr_overflows, 0), F(hdr_lost_parts, 8),
		F(hdr_lost_samples, 16), F(hdr_lost, 24), F(hdr_buf_size, 32),
		F(hdr_parts_offs, 40), F(hdr_part_size, 48), F(hdr_min_buf_space, 56),
		F(hdr_version, 64), F(hdr_buf_flags, 68), F(hdr_nparts, 72), F(hdr_cur, 76),
		F(hdr_tool, 80), F(hdr_tag, 84), F(hdr_counts_lost, 88), F(hdr_source, 96));
	S(pfm_hist_smpl_arg, 64, F(buf_size, 0), F(reserved, 8));
	S(pfm_hist_smpl_hdr, 128, F(hdr_used, 0), F(hdr_slots, 8), F(hdr_max_used, 16),
		F(hdr_notify_at, 24), F(hdr_weight, 32), F(hdr_dropped, 40), F(hdr_clears, 48),
		F(hdr_buf_size, 56), F(hdr_version, 64), F(hdr_notified, 68),
		F(hdr_counts_lost, 72), F(hdr_source, 80), F(hdr_reserved, 112), F(hdr_tag, 120),
		F(hdr_reserved1, 124));
	S(pfm_hist_smpl_entry, 32, F(weight, 0), F(samples, 8), F(ip, 16), F(pid, 24), F(set, 28),
		F(ovfl_pmd, 30));
	S(pfm_correlate_smpl_arg, 64, F(buf_size, 0), F(num_pmds, 8), F(parts, 12),
		F(reserved, 16));
	S(pfm_correlate_smpl_hdr, 128, F(hdr_count, 0), F(hdr_cur_offs, 8), F(hdr_overflows, 16),
		F(hdr_buf_size, 24), F(hdr_min_buf_space, 32), F(hdr_version, 40), F(hdr_state, 44),
		F(hdr_lost, 48), F(hdr_lost_events, 56), F(hdr_counts_lost, 64), F(hdr_source, 72),
		F(hdr_buf_flags, 104), F(hdr_max_frames, 108), F(hdr_num_pmds, 112),
		F(hdr_user_stack, 116), F(hdr_tag, 120), F(hdr_parts, 124), F(hdr_full_parts, 126));
	S(pfm_correlate_smpl_rec, 8, F(rec_type, 0), F(rec_size, 4));
	S(pfm_correlate_smpl_event, 40, F(pid, 0), F(tid, 4), F(tstamp, 8), F(addr, 16), F(len, 24),
		F(pgoff, 32));
	S(pfm_correlate_smpl_gap, 8, F(gaps, 0));
	S(pfm_smpl_file, 40, F(inode, 0), F(dev_major, 8), F(dev_minor, 12), F(build_id_size, 16),
		F(build_id, 17), F(reserved, 37));
	S(pfm_stack_smpl_arg, 64, F(buf_size, 0), F(buf_flags, 8), F(max_frames, 12),
		F(num_pmds, 16), F(user_stack, 20), F(parts, 24), F(reserved1, 28),
		F(reserved, 32));
	S(pfm_stack_smpl_hdr, 128, F(hdr_count, 0), F(hdr_cur_offs, 8), F(hdr_overflows, 16),
		F(hdr_buf_size, 24), F(hdr_min_buf_space, 32), F(hdr_version, 40),
		F(hdr_buf_flags, 44), F(hdr_lost, 48), F(hdr_counts_lost, 56), F(hdr_source, 64),
		F(hdr_max_frames, 96), F(hdr_num_pmds, 100), F(hdr_gap, 104), F(hdr_reserved, 112),
		F(hdr_tag, 120), F(hdr_user_stack, 124));
	S(pfm_stack_smpl_entry, 48, F(dfl, 0), F(npmds, 40), F(nframes, 42), F(source, 44),
		F(flags, 46));
	S(pfm_stack_smpl_user, 144, F(abi, 0), F(stack_size, 4), F(regs, 8));
}

void describe_structs(struct text *out)
{
	text_printf(out, "\"structs\":[");
	describe_ioctl_structs(out);
	describe_shared_structs(out);
	describe_smpl_structs(out);
	text_printf(out, "\n]");
}

/* The plain numbers of the ioctls are those of the macros. */
#define SAME(name) _Static_assert(PFM_IOC_NUMBER_##name == PFM_IOC_##name, #name)
SAME(WRITE_PMCS);
SAME(WRITE_PMDS);
SAME(READ_PMDS);
SAME(LOAD);
SAME(START);
SAME(START_SET);
SAME(STOP);
SAME(RESTART);
SAME(CREATE_EVTSETS);
SAME(GETINFO_EVTSETS);
SAME(DELETE_EVTSETS);
SAME(UNLOAD);
SAME(SETUP);
SAME(SIGNAL);
SAME(WRITE_PMCS_V06);
SAME(INFO);
SAME(READ_RESET_PMDS);

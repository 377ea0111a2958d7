// SPDX-License-Identifier: MIT
/* perfmon2 2.6 to 2.81, as programs of that time were compiled; compiled for 32 bits, too. */
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_dfl_smpl.h>

#include "tests/lib/pin.h"

_Static_assert(PFM_MAX_PMCS == 320 && PFM_MAX_PMDS == 320, "registers");
_Static_assert(PFM_PMC_BV == 5 && PFM_PMD_BV == 5, "bit vectors");
_Static_assert(PFM_BVSIZE(64) == 1 && PFM_BVSIZE(65) == 2, "PFM_BVSIZE");
_Static_assert(
	PFM_VERSION_MAJOR(PFM_VERSION) == 2 && PFM_VERSION_MINOR(PFM_VERSION) == 81, "version");
_Static_assert(
	PFM_FL_NOTIFY_BLOCK == 1 && PFM_FL_SYSTEM_WIDE == 2 && PFM_FL_OVFL_NO_MSG == 0x80, "");
_Static_assert(PFM_REGFL_OVFL_NOTIFY == 1 && PFM_REGFL_RANDOM == 2 && PFM_REGFL_NO_EMUL64 == 4, "");
_Static_assert(PFM_FL_MAP_SETS == 0x10, "");
_Static_assert(PFM_SETFL_OVFL_SWITCH == 1 && PFM_SETFL_TIME_SWITCH == 2, "");
_Static_assert(PFM_MSG_OVFL == 1 && PFM_MSG_END == 2, "");

LAYOUT(pfarg_ctx_t, 64,
	F(ctx_flags, 0) F(ctx_reserved1, 4) F(ctx_reserved2, 8) F(ctx_reserved3, 8));
LAYOUT(pfarg_pmc_t, 48,
	F(reg_num, 0) F(reg_set, 2) F(reg_flags, 4) F(reg_value, 8) F(reg_reserved2, 16));
LAYOUT(pfarg_pmd_t, 176,
	F(reg_num, 0) F(reg_set, 2) F(reg_flags, 4) F(reg_value, 8) F(reg_long_reset, 16)
		F(reg_short_reset, 24) F(reg_last_reset_val, 32) F(reg_ovfl_switch_cnt, 40)
			F(reg_reset_pmds, 48) F(reg_smpl_pmds, 88) F(reg_smpl_eventid, 128)
				F(reg_random_mask, 136) F(reg_random_seed, 144));
LAYOUT(pfarg_load_t, 32, F(load_pid, 0) F(load_set, 4));
LAYOUT(pfarg_start_t, 32, F(start_set, 0) F(reserved3, 8));
LAYOUT(pfarg_setdesc_t, 64, F(set_id, 0) F(set_flags, 4) F(set_timeout, 8) F(reserved, 16));
LAYOUT(pfarg_setinfo_t, 200,
	F(set_id, 0) F(set_flags, 4) F(set_ovfl_pmds, 8) F(set_runs, 48) F(set_timeout, 56)
		F(set_act_duration, 64) F(set_avail_pmcs, 72) F(set_avail_pmds, 112)
			F(set_reserved3, 152) F(reserved, 152));
SIZE(pfarg_msg_t, 64);
LAYOUT(pfarg_ovfl_msg_t, 64,
	F(msg_type, 0) F(msg_ovfl_pid, 4) F(msg_active_set, 8) F(msg_ovfl_cpu, 10)
		F(msg_ovfl_tid, 12) F(msg_ovfl_ip, 16) F(msg_ovfl_pmds, 24));
_Static_assert(PFM_DFL_SMPL_VERSION == 0x10000, "PFM_DFL_SMPL_VERSION");
LAYOUT(pfm_dfl_smpl_arg_t, 64, F(buf_size, 0) F(buf_flags, 8));
LAYOUT(pfm_dfl_smpl_hdr_t, 128,
	F(hdr_count, 0) F(hdr_cur_offs, 8) F(hdr_overflows, 16) F(hdr_buf_size, 24)
		F(hdr_min_buf_space, 32) F(hdr_version, 40) F(hdr_buf_flags, 44));
LAYOUT(pfm_dfl_smpl_entry_t, 40,
	F(pid, 0) F(ovfl_pmd, 4) F(ovfl_count, 6) F(last_reset_val, 8) F(ip, 16) F(tstamp, 24)
		F(cpu, 32) F(set, 34) F(tgid, 36));

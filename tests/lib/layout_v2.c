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

SIZE(pfarg_ctx_t, 64);
AT(pfarg_ctx_t, ctx_flags, 0);
AT(pfarg_ctx_t, ctx_reserved1, 4);
AT(pfarg_ctx_t, ctx_reserved2, 8);
AT(pfarg_ctx_t, ctx_reserved3, 8);

SIZE(pfarg_pmc_t, 48);
AT(pfarg_pmc_t, reg_num, 0);
AT(pfarg_pmc_t, reg_set, 2);
AT(pfarg_pmc_t, reg_flags, 4);
AT(pfarg_pmc_t, reg_value, 8);
AT(pfarg_pmc_t, reg_reserved2, 16);

SIZE(pfarg_pmd_t, 176);
AT(pfarg_pmd_t, reg_num, 0);
AT(pfarg_pmd_t, reg_set, 2);
AT(pfarg_pmd_t, reg_flags, 4);
AT(pfarg_pmd_t, reg_value, 8);
AT(pfarg_pmd_t, reg_long_reset, 16);
AT(pfarg_pmd_t, reg_short_reset, 24);
AT(pfarg_pmd_t, reg_last_reset_val, 32);
AT(pfarg_pmd_t, reg_ovfl_switch_cnt, 40);
AT(pfarg_pmd_t, reg_reset_pmds, 48);
AT(pfarg_pmd_t, reg_smpl_pmds, 88);
AT(pfarg_pmd_t, reg_smpl_eventid, 128);
AT(pfarg_pmd_t, reg_random_mask, 136);
AT(pfarg_pmd_t, reg_random_seed, 144);

SIZE(pfarg_load_t, 32);
AT(pfarg_load_t, load_pid, 0);
AT(pfarg_load_t, load_set, 4);

SIZE(pfarg_start_t, 32);
AT(pfarg_start_t, start_set, 0);
AT(pfarg_start_t, reserved3, 8);

SIZE(pfarg_setdesc_t, 64);
AT(pfarg_setdesc_t, set_id, 0);
AT(pfarg_setdesc_t, set_flags, 4);
AT(pfarg_setdesc_t, set_timeout, 8);
AT(pfarg_setdesc_t, reserved, 16);

SIZE(pfarg_setinfo_t, 200);
AT(pfarg_setinfo_t, set_id, 0);
AT(pfarg_setinfo_t, set_flags, 4);
AT(pfarg_setinfo_t, set_ovfl_pmds, 8);
AT(pfarg_setinfo_t, set_runs, 48);
AT(pfarg_setinfo_t, set_timeout, 56);
AT(pfarg_setinfo_t, set_act_duration, 64);
AT(pfarg_setinfo_t, set_avail_pmcs, 72);
AT(pfarg_setinfo_t, set_avail_pmds, 112);
AT(pfarg_setinfo_t, set_reserved3, 152);
AT(pfarg_setinfo_t, reserved, 152);

SIZE(pfarg_msg_t, 64);
SIZE(pfarg_ovfl_msg_t, 64);
AT(pfarg_ovfl_msg_t, msg_type, 0);
AT(pfarg_ovfl_msg_t, msg_ovfl_pid, 4);
AT(pfarg_ovfl_msg_t, msg_active_set, 8);
AT(pfarg_ovfl_msg_t, msg_ovfl_cpu, 10);
AT(pfarg_ovfl_msg_t, msg_ovfl_tid, 12);
AT(pfarg_ovfl_msg_t, msg_ovfl_ip, 16);
AT(pfarg_ovfl_msg_t, msg_ovfl_pmds, 24);

_Static_assert(PFM_DFL_SMPL_VERSION == 0x10000, "PFM_DFL_SMPL_VERSION");
SIZE(pfm_dfl_smpl_arg_t, 64);
AT(pfm_dfl_smpl_arg_t, buf_size, 0);
AT(pfm_dfl_smpl_arg_t, buf_flags, 8);

SIZE(pfm_dfl_smpl_hdr_t, 128);
AT(pfm_dfl_smpl_hdr_t, hdr_count, 0);
AT(pfm_dfl_smpl_hdr_t, hdr_cur_offs, 8);
AT(pfm_dfl_smpl_hdr_t, hdr_overflows, 16);
AT(pfm_dfl_smpl_hdr_t, hdr_buf_size, 24);
AT(pfm_dfl_smpl_hdr_t, hdr_min_buf_space, 32);
AT(pfm_dfl_smpl_hdr_t, hdr_version, 40);
AT(pfm_dfl_smpl_hdr_t, hdr_buf_flags, 44);

SIZE(pfm_dfl_smpl_entry_t, 40);
AT(pfm_dfl_smpl_entry_t, pid, 0);
AT(pfm_dfl_smpl_entry_t, ovfl_pmd, 4);
AT(pfm_dfl_smpl_entry_t, last_reset_val, 8);
AT(pfm_dfl_smpl_entry_t, ip, 16);
AT(pfm_dfl_smpl_entry_t, tstamp, 24);
AT(pfm_dfl_smpl_entry_t, cpu, 32);
AT(pfm_dfl_smpl_entry_t, set, 34);
AT(pfm_dfl_smpl_entry_t, tgid, 36);

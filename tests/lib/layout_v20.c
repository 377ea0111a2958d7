// SPDX-License-Identifier: MIT
/* perfmon2 2.0, in 64-bit programs: others it never had. */
#include <perfmon/perfmon_compat.h>
#include <perfmon/perfmon_default_smpl.h>

#include "tests/lib/pin.h"

_Static_assert(PFM_WRITE_PMCS == 1 && PFM_WRITE_PMDS == 2 && PFM_READ_PMDS == 3, "");
_Static_assert(PFM_STOP == 4 && PFM_START == 5 && PFM_CREATE_CONTEXT == 8, "");
_Static_assert(PFM_RESTART == 0xa && PFM_GET_FEATURES == 0xc && PFM_DEBUG == 0xd, "");
_Static_assert(PFM_GET_PMC_RESET_VAL == 0xf, "");
_Static_assert(PFM_LOAD_CONTEXT == 0x10 && PFM_UNLOAD_CONTEXT == 0x11, "");
_Static_assert(PFM_ENABLE == 6 && PFM_DISABLE == 7 && PFM_DESTROY_CONTEXT == 9, "");
_Static_assert(PFM_PROTECT_CONTEXT == 0xb && PFM_UNPROTECT_CONTEXT == 0xe, "");
_Static_assert(PFM_SETFL_EXCL_IDLE == 1, "");
#ifdef PFM_SETFL_OVFL_SWITCH
#error "that bit had another meaning in 2.0"
#endif

LAYOUT(pfarg_context_t, 128,
	F(ctx_smpl_buf_id, 0) F(ctx_flags, 16) F(ctx_nextra_sets, 24) F(ctx_fd, 28)
		F(ctx_smpl_vaddr, 32));
LAYOUT(pfarg_reg_t, 160,
	F(reg_num, 0) F(reg_set, 4) F(reg_value, 8) F(reg_flags, 16) F(reg_long_reset, 24)
		F(reg_short_reset, 32) F(reg_reset_pmds, 40) F(reg_random_seed, 72)
			F(reg_random_mask, 80) F(reg_last_reset_val, 88) F(reg_smpl_pmds, 96)
				F(reg_smpl_eventid, 128) F(reg_ovfl_switch_cnt, 136));
LAYOUT(pfarg_load_t, 32, F(load_pid, 0) F(load_set, 4));
LAYOUT(pfarg_start_t, 32, F(start_set, 0));
LAYOUT(pfarg_features_t, 40, F(reserved, 8));
SIZE(pfm_msg_t, 56);
SIZE(pfm_end_msg_t, 16);
LAYOUT(pfm_gen_msg_t, 16, F(msg_tstamp, 8));
LAYOUT(pfarg_dbreg_t, 32, F(dbreg_value, 8));
_Static_assert(PFM_WRITE_IBRS == 0x20 && PFM_WRITE_DBRS == 0x21, "");
_Static_assert(PMU_MAX_PMCS == 256 && PMU_MAX_PMDS == 256 && PMU_FIRST_COUNTER == 0, "");
FIELDS(pfm_ovfl_msg_t, F(msg_type, 0) F(msg_ctx_fd, 4) F(msg_ovfl_pmds, 8) F(msg_active_set, 40)
			       F(msg_tstamp, 48));
SIZE(pfm_default_smpl_arg_t, 32);
FIELDS(pfm_default_smpl_ctx_arg_t, F(buf_arg, 128));
/* Where the daemon writes them. */
LAYOUT(pfm_default_smpl_hdr_t, sizeof(pfm_dfl_smpl_hdr_t),
	F(hdr_count, offsetof(pfm_dfl_smpl_hdr_t, hdr_count))
		F(hdr_cur_offs, offsetof(pfm_dfl_smpl_hdr_t, hdr_cur_offs))
			F(hdr_overflows, offsetof(pfm_dfl_smpl_hdr_t, hdr_overflows))
				F(hdr_buf_size, offsetof(pfm_dfl_smpl_hdr_t, hdr_buf_size))
					F(hdr_version, offsetof(pfm_dfl_smpl_hdr_t, hdr_version)));
LAYOUT(pfm_default_smpl_entry_t, sizeof(pfm_dfl_smpl_entry_t),
	F(pid, offsetof(pfm_dfl_smpl_entry_t, pid)) F(ovfl_pmd,
		offsetof(pfm_dfl_smpl_entry_t, ovfl_pmd)) F(ip, offsetof(pfm_dfl_smpl_entry_t, ip))
		F(tgid, offsetof(pfm_dfl_smpl_entry_t, tgid)));

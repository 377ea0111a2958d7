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

SIZE(pfarg_context_t, 128);
AT(pfarg_context_t, ctx_smpl_buf_id, 0);
AT(pfarg_context_t, ctx_flags, 16);
AT(pfarg_context_t, ctx_nextra_sets, 24);
AT(pfarg_context_t, ctx_fd, 28);
AT(pfarg_context_t, ctx_smpl_vaddr, 32);

SIZE(pfarg_reg_t, 160);
AT(pfarg_reg_t, reg_num, 0);
AT(pfarg_reg_t, reg_set, 4);
AT(pfarg_reg_t, reg_value, 8);
AT(pfarg_reg_t, reg_flags, 16);
AT(pfarg_reg_t, reg_long_reset, 24);
AT(pfarg_reg_t, reg_short_reset, 32);
AT(pfarg_reg_t, reg_reset_pmds, 40);
AT(pfarg_reg_t, reg_random_seed, 72);
AT(pfarg_reg_t, reg_random_mask, 80);
AT(pfarg_reg_t, reg_last_reset_val, 88);
AT(pfarg_reg_t, reg_smpl_pmds, 96);
AT(pfarg_reg_t, reg_smpl_eventid, 128);
AT(pfarg_reg_t, reg_ovfl_switch_cnt, 136);

SIZE(pfarg_load_t, 32);
AT(pfarg_load_t, load_pid, 0);
AT(pfarg_load_t, load_set, 4);
SIZE(pfarg_start_t, 32);
AT(pfarg_start_t, start_set, 0);

SIZE(pfarg_features_t, 40);
AT(pfarg_features_t, reserved, 8);

SIZE(pfm_msg_t, 56);
SIZE(pfm_end_msg_t, 16);
SIZE(pfm_gen_msg_t, 16);
AT(pfm_gen_msg_t, msg_tstamp, 8);
SIZE(pfarg_dbreg_t, 32);
AT(pfarg_dbreg_t, dbreg_value, 8);
_Static_assert(PFM_WRITE_IBRS == 0x20 && PFM_WRITE_DBRS == 0x21, "");
_Static_assert(PMU_MAX_PMCS == 256 && PMU_MAX_PMDS == 256 && PMU_FIRST_COUNTER == 0, "");
AT(pfm_ovfl_msg_t, msg_type, 0);
AT(pfm_ovfl_msg_t, msg_ctx_fd, 4);
AT(pfm_ovfl_msg_t, msg_ovfl_pmds, 8);
AT(pfm_ovfl_msg_t, msg_active_set, 40);
AT(pfm_ovfl_msg_t, msg_tstamp, 48);

SIZE(pfm_default_smpl_arg_t, 32);
AT(pfm_default_smpl_ctx_arg_t, buf_arg, 128);

/* Where the daemon writes them. */
SIZE(pfm_default_smpl_hdr_t, sizeof(pfm_dfl_smpl_hdr_t));
AT(pfm_default_smpl_hdr_t, hdr_count, offsetof(pfm_dfl_smpl_hdr_t, hdr_count));
AT(pfm_default_smpl_hdr_t, hdr_cur_offs, offsetof(pfm_dfl_smpl_hdr_t, hdr_cur_offs));
AT(pfm_default_smpl_hdr_t, hdr_overflows, offsetof(pfm_dfl_smpl_hdr_t, hdr_overflows));
AT(pfm_default_smpl_hdr_t, hdr_buf_size, offsetof(pfm_dfl_smpl_hdr_t, hdr_buf_size));
AT(pfm_default_smpl_hdr_t, hdr_version, offsetof(pfm_dfl_smpl_hdr_t, hdr_version));
SIZE(pfm_default_smpl_entry_t, sizeof(pfm_dfl_smpl_entry_t));
AT(pfm_default_smpl_entry_t, pid, offsetof(pfm_dfl_smpl_entry_t, pid));
AT(pfm_default_smpl_entry_t, ovfl_pmd, offsetof(pfm_dfl_smpl_entry_t, ovfl_pmd));
AT(pfm_default_smpl_entry_t, ip, offsetof(pfm_dfl_smpl_entry_t, ip));
AT(pfm_default_smpl_entry_t, tgid, offsetof(pfm_dfl_smpl_entry_t, tgid));

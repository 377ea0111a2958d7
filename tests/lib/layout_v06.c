// SPDX-License-Identifier: MIT
/* The specification's structures, and the layout of what the daemon writes. */
#define PERFMON_ABI 6
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_default_smpl.h>

#include "tests/lib/pin.h"

_Static_assert(PFM_MAX_PMC_BITVECTOR == 5 && PFM_MAX_PMD_BITVECTOR == 5, "");

FIELDS(pfarg_ctx_t, F(ctx_flags, 0) F(ctx_fd, 4) F(ctx_smpl_buf_id, 8) F(ctx_smpl_buf_size, 24));
/* Its size is a multiple of 8, so that the format's argument follows at once (3.5.3). */
SIZE(pfarg_ctx_t, 32);
LAYOUT(pfarg_pmc_t, 104,
	F(reg_value, 8) F(reg_reset_pmds, 16) F(reg_smpl_pmds, 56) F(reg_smpl_eventid, 96));
LAYOUT(pfarg_pmd_t, 64,
	F(reg_value, 8) F(reg_last_reset_val, 32) F(reg_ovflsw_thres, 40) F(reg_random_mask, 48)
		F(reg_random_seed, 56));
LAYOUT(pfarg_load_t, 8, F(load_pid, 0) F(load_set, 4));
SIZE(pfarg_start_t, 2);
LAYOUT(pfarg_config_t, 120,
	F(cf_version, 0) F(cf_flags, 4) F(cf_impl_pmcs, 8) F(cf_impl_pmds, 48) F(cf_sys_gid, 88)
		F(cf_thread_gid, 92) F(cf_arg_size_max, 96) F(cf_smpl_buf_size_max, 104)
			F(cf_counter_width, 112));
SIZE(pfarg_setdesc_t, 24);
SIZE(pfarg_setinfo_t, 88);
SIZE(pfarg_pmcinfo_t, 32);
SIZE(pfm_msg_t, 48);
SIZE(pfm_default_smpl_hdr_t, sizeof(pfm_dfl_smpl_hdr_t));
LAYOUT(pfm_default_smpl_entry_t, sizeof(pfm_dfl_smpl_entry_t),
	F(tid, offsetof(pfm_dfl_smpl_entry_t, pid)) F(pid, offsetof(pfm_dfl_smpl_entry_t, tgid)));

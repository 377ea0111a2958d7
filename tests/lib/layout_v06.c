// SPDX-License-Identifier: MIT
/* The specification's structures, as this compiler lays them out, and where the daemon writes. */
#define PERFMON_ABI 6
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_default_smpl.h>

#include "tests/lib/pin.h"

_Static_assert(PFM_MAX_PMC_BITVECTOR == 5 && PFM_MAX_PMD_BITVECTOR == 5, "");

AT(pfarg_ctx_t, ctx_flags, 0);
AT(pfarg_ctx_t, ctx_fd, 4);
AT(pfarg_ctx_t, ctx_smpl_buf_id, 8);
AT(pfarg_ctx_t, ctx_smpl_buf_size, 24);
/* Its size is a multiple of 8, so that the format's argument follows at once (3.5.3). */
SIZE(pfarg_ctx_t, 32);

SIZE(pfarg_pmc_t, 104);
AT(pfarg_pmc_t, reg_value, 8);
AT(pfarg_pmc_t, reg_reset_pmds, 16);
AT(pfarg_pmc_t, reg_smpl_pmds, 56);
AT(pfarg_pmc_t, reg_smpl_eventid, 96);

SIZE(pfarg_pmd_t, 64);
AT(pfarg_pmd_t, reg_value, 8);
AT(pfarg_pmd_t, reg_last_reset_val, 32);
AT(pfarg_pmd_t, reg_ovflsw_thres, 40);
AT(pfarg_pmd_t, reg_random_mask, 48);
AT(pfarg_pmd_t, reg_random_seed, 56);

SIZE(pfarg_load_t, 8);
AT(pfarg_load_t, load_pid, 0);
AT(pfarg_load_t, load_set, 4);
SIZE(pfarg_start_t, 2);

SIZE(pfarg_config_t, 120);
AT(pfarg_config_t, cf_version, 0);
AT(pfarg_config_t, cf_flags, 4);
AT(pfarg_config_t, cf_impl_pmcs, 8);
AT(pfarg_config_t, cf_impl_pmds, 48);
AT(pfarg_config_t, cf_sys_gid, 88);
AT(pfarg_config_t, cf_thread_gid, 92);
AT(pfarg_config_t, cf_arg_size_max, 96);
AT(pfarg_config_t, cf_smpl_buf_size_max, 104);
AT(pfarg_config_t, cf_counter_width, 112);

SIZE(pfarg_setdesc_t, 24);
SIZE(pfarg_setinfo_t, 88);
SIZE(pfarg_pmcinfo_t, 32);
SIZE(pfm_msg_t, 48);

SIZE(pfm_default_smpl_hdr_t, sizeof(pfm_dfl_smpl_hdr_t));
SIZE(pfm_default_smpl_entry_t, sizeof(pfm_dfl_smpl_entry_t));
AT(pfm_default_smpl_entry_t, tid, offsetof(pfm_dfl_smpl_entry_t, pid));
AT(pfm_default_smpl_entry_t, pid, offsetof(pfm_dfl_smpl_entry_t, tgid));

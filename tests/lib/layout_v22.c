// SPDX-License-Identifier: MIT
/* perfmon2 2.2; what it shares with 2.81 is in layout_v2.c. */
#define PERFMON_ABI 202
#include <perfmon/perfmon.h>

#include "tests/lib/pin.h"

_Static_assert(PFM_VERSION_MAJOR(PFM_VERSION) == 2 && PFM_VERSION_MINOR(PFM_VERSION) == 2, "");
_Static_assert(PFM_SETFL_EXPL_NEXT == 4 && PFM_SETFL_EXCL_IDLE == 8, "");

SIZE(pfarg_ctx_t, 128);
AT(pfarg_ctx_t, ctx_smpl_buf_id, 0);
AT(pfarg_ctx_t, ctx_flags, 16);
AT(pfarg_ctx_t, ctx_fd, 20);
AT(pfarg_ctx_t, ctx_smpl_buf_size, 24);

SIZE(pfarg_pmc_t, 48);
SIZE(pfarg_pmd_t, 176);
SIZE(pfarg_load_t, 32);
SIZE(pfarg_start_t, 32);

SIZE(pfarg_setdesc_t, 64);
AT(pfarg_setdesc_t, set_id, 0);
AT(pfarg_setdesc_t, set_id_next, 2);
AT(pfarg_setdesc_t, set_flags, 4);
AT(pfarg_setdesc_t, set_timeout, 8);
AT(pfarg_setdesc_t, reserved, 24);

SIZE(pfarg_setinfo_t, 192);
AT(pfarg_setinfo_t, set_id, 0);
AT(pfarg_setinfo_t, set_id_next, 2);
AT(pfarg_setinfo_t, set_flags, 4);
AT(pfarg_setinfo_t, set_ovfl_pmds, 8);
AT(pfarg_setinfo_t, set_runs, 48);
AT(pfarg_setinfo_t, set_timeout, 56);
AT(pfarg_setinfo_t, set_act_duration, 64);
AT(pfarg_setinfo_t, set_mmap_offset, 72);
AT(pfarg_setinfo_t, set_avail_pmcs, 80);
AT(pfarg_setinfo_t, set_avail_pmds, 120);
AT(pfarg_setinfo_t, reserved, 160);

SIZE(pfm_msg_t, 56);
SIZE(pfm_end_msg_t, 16);
AT(pfm_ovfl_msg_t, msg_type, 0);
AT(pfm_ovfl_msg_t, msg_ovfl_pid, 4);
AT(pfm_ovfl_msg_t, msg_ovfl_pmds, 8);
AT(pfm_ovfl_msg_t, msg_active_set, 40);
AT(pfm_ovfl_msg_t, msg_ovfl_cpu, 42);
AT(pfm_ovfl_msg_t, msg_ovfl_tid, 44);
AT(pfm_ovfl_msg_t, msg_ovfl_ip, 48);

// SPDX-License-Identifier: MIT
/* perfmon2 2.2; what it shares with 2.81 is in layout_v2.c. */
#define PERFMON_ABI 202
#include <perfmon/perfmon.h>

#include "tests/lib/pin.h"

_Static_assert(PFM_VERSION_MAJOR(PFM_VERSION) == 2 && PFM_VERSION_MINOR(PFM_VERSION) == 2, "");
_Static_assert(PFM_SETFL_EXPL_NEXT == 4 && PFM_SETFL_EXCL_IDLE == 8, "");

LAYOUT(pfarg_ctx_t, 128,
	F(ctx_smpl_buf_id, 0) F(ctx_flags, 16) F(ctx_fd, 20) F(ctx_smpl_buf_size, 24));
SIZE(pfarg_pmc_t, 48);
SIZE(pfarg_pmd_t, 176);
SIZE(pfarg_load_t, 32);
SIZE(pfarg_start_t, 32);
LAYOUT(pfarg_setdesc_t, 64,
	F(set_id, 0) F(set_id_next, 2) F(set_flags, 4) F(set_timeout, 8) F(reserved, 24));
LAYOUT(pfarg_setinfo_t, 192,
	F(set_id, 0) F(set_id_next, 2) F(set_flags, 4) F(set_ovfl_pmds, 8) F(set_runs, 48)
		F(set_timeout, 56) F(set_act_duration, 64) F(set_mmap_offset, 72)
			F(set_avail_pmcs, 80) F(set_avail_pmds, 120) F(reserved, 160));
SIZE(pfm_msg_t, 56);
SIZE(pfm_end_msg_t, 16);
FIELDS(pfm_ovfl_msg_t, F(msg_type, 0) F(msg_ovfl_pid, 4) F(msg_ovfl_pmds, 8) F(msg_active_set, 40)
			       F(msg_ovfl_cpu, 42) F(msg_ovfl_tid, 44) F(msg_ovfl_ip, 48));

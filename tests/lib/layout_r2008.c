// SPDX-License-Identifier: MIT
/* The revision of July 2008. */
#define PERFMON_ABI 2008
#include <perfmon/perfmon.h>

#include "tests/lib/pin.h"

_Static_assert(PFM_FL_SMPL_FMT == 4 && PFM_FL_OVFL_NO_MSG == 8, "");
_Static_assert(PFM_PMDFL_SMPL == 1 && PFM_PMDFL_SWITCH == 2, "");
_Static_assert(PFM_PMDFL_OVFL_NOTIFY == 4 && PFM_PMDFL_RANDOM == 8, "");
_Static_assert(PFM_STARTFL_SET == 1 && PFM_STARTFL_RESTART == 2, "");

LAYOUT(pfarg_pmc_t, 48, F(reg_value, 8));
LAYOUT(pfarg_pmd_t, 176,
	F(reg_reset_pmds, 48) F(reg_smpl_pmds, 88) F(reg_smpl_eventid, 128) F(reg_random_mask, 136)
		F(reg_reserved2, 144));
SIZE(pfarg_setdesc_t, 64);
SIZE(pfarg_setinfo_t, 200);
SIZE(pfarg_msg_t, 64);
SIZE(union pfarg_msg, 64);

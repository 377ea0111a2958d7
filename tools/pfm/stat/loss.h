/* SPDX-License-Identifier: MIT */
/* Why counts are lost: one copy of each sentence for all readings, as a reading of each of
 * thousands of threads would otherwise have room for a sentence for each event. */
#ifndef TOOLS_PFM_STAT_LOSS_H
#define TOOLS_PFM_STAT_LOSS_H

#include "base/err.h"

/* Returns a copy of @e that stays until the program ends; never NULL. */
const struct err *loss_keep(const struct err *e);

#endif

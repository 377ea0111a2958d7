/* SPDX-License-Identifier: MIT */
/*
 * Looking over all CPUs: which are online, and which selectors are enabled on those where no
 * context is loaded, that is by somebody else. It reads registers, so it runs in a thread of its
 * own; only the session thread starts it and hears of its end.
 */
#ifndef CPU_SURVEY_H
#define CPU_SURVEY_H

#include "daemon/cpu/engine.h"

struct survey_cpu {
	bool online;
	bool ours;                    /* a context is loaded there: not looked at */
	struct err err;               /* why it could not be read; no == 0 if it could */
	uint32_t held;                /* selector rows found enabled, */
	uint64_t value[PMU_MAX_PMCS]; /* with these values */
};

typedef void survey_after(void *arg, const struct survey_cpu *cpus, unsigned n);

/*
 * Has @after called, by the session thread, when a survey is complete; @cpus is NULL if there was
 * no memory. Those who ask while one is under way share its result.
 */
void engine_survey(struct engine *eng, survey_after *after, void *arg);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A model of the PMU hardware of processors and of the kernel's msr driver. msrsim serves it as
 * N/msr and N/cpuid; the sim backend and tests use it in process. All functions are thread-safe.
 */
#ifndef PERFMONFS_SIM_H
#define PERFMONFS_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"

struct hw;

#define HW_DEFAULT_MODEL "intel_v4"

/* The name of modelled processor @i, and a line about its counters; NULL after the last
 * processor. */
const char *hw_model_name(unsigned i);
const char *hw_model_counters(unsigned i);
/* Whether model @i has MSRs, rather than other registers, at the addresses of this interface (enum
 * pmu_space). */
bool hw_model_has_msrs(unsigned i);
bool hw_has_msrs(const struct hw *hw);
/* The name of the description of the model's PMU. */
const char *hw_description(const struct hw *hw);

/*
 * Creates @ncpus CPUs, 1 to 4096, of processor @model. ENOENT, ERANGE. Time
 * only advances with hw_advance(), unless hw_set_clock() follows.
 */
int hw_new(const char *model, unsigned ncpus, struct hw **out, struct err *e);
void hw_free(struct hw *hw);
unsigned hw_cpus(const struct hw *hw);

/* The results are the msr driver's: 0, -EIO (#GP), -ENXIO (offline or no such CPU). */
int hw_rdmsr(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t *value);
int hw_wrmsr(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t value);
int hw_cpuid(struct hw *hw, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
bool hw_online(struct hw *hw, unsigned cpu);

/*
 * Advances the model's time by @ns nanoseconds: the enabled counters of online CPUs count. Time
 * stops at HW_TIME_MAX nanoseconds, which is 36 years.
 */
#define HW_TIME_MAX (1ULL << 60)
void hw_advance(struct hw *hw, uint64_t ns);
uint64_t hw_now(struct hw *hw);

/* From now on, time is @clock(), unless hw_advance() is ahead of that. */
void hw_set_clock(struct hw *hw, uint64_t (*clock)(void));

/*
 * Knobs by name, as the files of sim/ and of msrsim: advance NS; offline LIST; fault LIST (MSR
 * addresses that raise #GP); poke "CPU ADDR VALUE" (a write as by another program). A LIST is like
 * "0,2-3", replaces the previous one and may be empty. show prints the model's time, the list, or
 * how to use the knob. ENOENT: no such knob; EINVAL, ERANGE; poke also fails like hw_wrmsr().
 */
int hw_knob_store(struct hw *hw, const char *knob, struct slice text, struct err *e);
int hw_knob_show(struct hw *hw, const char *knob, struct text *out, struct err *e);
extern const char *const hw_knobs[]; /* NULL at the end. */

/*
 * Prints each access from now on to @log, one line each, except accesses by poke; NULL stops
 * logging. The caller must not read @log while another thread accesses registers.
 */
void hw_log(struct hw *hw, struct text *log);

/* For the daemon's sim/ directory. */
struct sim_control {
	struct hw *hw;
};

#endif

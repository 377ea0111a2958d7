/* SPDX-License-Identifier: MIT */
/*
 * A model of the PMU hardware of x86 CPUs and of the kernel's msr driver in front of it. Served
 * by msrsim as N/msr and N/cpuid, used in process by the sim backend and by tests. Any thread
 * may call any of it at any time.
 */
#ifndef PERFMONFS_SIM_H
#define PERFMONFS_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"

struct hw;

/*
 * Models: p6, intel_v1 .. intel_v5, amd_legacy, amd_ext, amd_v2. ENOENT with the list otherwise.
 * @ncpus: 1..4096. The clock stands until hw_advance().
 */
int hw_new(const char *model, unsigned ncpus, struct hw **out, struct err *e);
void hw_free(struct hw *hw);
unsigned hw_cpus(const struct hw *hw);

/* As the msr driver answers: 0, -EIO (#GP), -ENXIO (offline or no such CPU). */
int hw_rdmsr(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t *value);
int hw_wrmsr(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t value);
int hw_cpuid(struct hw *hw, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
bool hw_online(struct hw *hw, unsigned cpu);

/*
 * Lets @ns of model time pass on every online CPU: enabled counters count. Model time ends after
 * HW_TIME_MAX nanoseconds (36 years) and stands from then on.
 */
#define HW_TIME_MAX (1ULL << 60)
void hw_advance(struct hw *hw, uint64_t ns);
uint64_t hw_now(struct hw *hw);

/*
 * How many of event @select (an event select's value, privilege bits counting) happen on any CPU
 * in the first @ns of time. Exactly what an enabled counter sees between two times is the
 * difference of two calls: the tests' source of truth. Fixed counters 0..3 count the events
 * 0x00C0, 0x003C, 0x013C and 0x01A4. The rates are in backend/sim/hw_events.c.
 */
uint64_t hw_truth(const struct hw *hw, uint64_t select, uint64_t ns);

/*
 * A knob by name, as the files of sim/ and msrsim's: advance NS; offline LIST; fault LIST (MSR
 * addresses that raise #GP); poke "CPU ADDR VALUE" (write behind the daemon's back, as another
 * owner would). A LIST is like "0,2-3", replaces the one before and may be empty. show prints
 * the model's time, the list, or how to use the knob. ENOENT: no such knob; EINVAL, ERANGE; poke
 * also fails as hw_wrmsr() does.
 */
int hw_knob_store(struct hw *hw, const char *knob, struct slice text, struct err *e);
int hw_knob_show(struct hw *hw, const char *knob, struct text *out, struct err *e);
extern const char *const hw_knobs[]; /* NULL at the end */

/*
 * Every access from now on, but for poke's, is printed to @log, a line each; NULL stops it. Who
 * reads @log sees to it that nobody accesses a register meanwhile.
 */
void hw_log(struct hw *hw, struct text *log);

/* What the daemon's sim/ directory needs of a simulated backend. */
struct sim_control {
	struct hw *hw;
};

#endif

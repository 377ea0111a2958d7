// SPDX-License-Identifier: MIT
#include "daemon/core/reading.h"

#include "base/nsec.h"
#include "base/num.h"

/* Hardware updates some registers only about once a millisecond, so two consecutive readings may
 * differ by more than happened in the time between them. */
#define READING_SLACK_NS (NSEC_PER_SEC / 10)

static uint64_t reading_mask(const struct pmu_free *reg)
{
	return reg->width >= 64 ? UINT64_MAX : (1ULL << reg->width) - 1;
}

bool reading_field(const struct pmu_free *reg, uint64_t msr, uint64_t *field)
{
	*field = msr >> reg->shift & reading_mask(reg);
	return (msr & reg->valid) == reg->valid;
}

/* The most that can be counted in @ns, which is shorter than @wrap. */
static uint64_t reading_limit(const struct pmu_free *reg, uint64_t ns, uint64_t wrap)
{
	num_u128 counts = ((num_u128)ns + READING_SLACK_NS) << reg->width;

	return (uint64_t)(counts / wrap);
}

bool reading_total(const struct reading *r, const struct pmu_free *reg, uint64_t field,
	uint64_t now, uint64_t *total)
{
	uint64_t wrap = pmu_free_wrap_ns(reg), ns = now - r->at, more;

	if (wrap == UINT64_MAX) { /* It is its own total. */
		*total = field;
		return true;
	}
	more = (field - r->field) & reading_mask(reg);
	if (!r->known || now < r->at || ns >= wrap || more > reading_limit(reg, ns, wrap))
		return false;
	*total = r->total + more;
	return true;
}

void reading_take(struct reading *r, const struct pmu_free *reg, uint64_t field, uint64_t now)
{
	if (!reading_total(r, reg, field, now, &r->total)) {
		r->restarts += r->known;
		r->total = field;
	}
	r->known = true;
	r->field = field;
	r->at = now;
}

uint64_t reading_shown(const struct pmu_free *reg, uint64_t total)
{
	return pmu_unit_is_energy(reg->unit) ? num_scale(total, reg->uj, reg->uj_shift) : total;
}

const char *reading_unit(const struct pmu_free *reg)
{
	switch (reg->unit) {
	case PMU_UNIT_TICKS:
		return "ticks";
	case PMU_UNIT_EVENTS:
		return "events";
	case PMU_UNIT_DEGREES:
		return "degrees";
	default:
		return "uJ";
	}
}

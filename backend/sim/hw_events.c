// SPDX-License-Identifier: MIT
/*
 * Event rates. Each event has constant rates at user and kernel level, the same on all CPUs, so the
 * number of events is a function of time alone. A count between two times does not depend on the
 * steps in which time advances.
 *
 * EDGE, INV, CMASK and the bits that qualify the thread, transaction or guest have no effect.
 * Event 0 never happens. Rates are at most 16 per nanosecond, so that counts fit into 64 bits up to
 * HW_TIME_MAX.
 */
#include "backend/sim/hw_i.h"

#include "perfmonfs/pmu.h"

/* Events per microsecond, at user and at kernel level. */
struct hw_rate {
	uint64_t code; /* The selector's event bits; 0 ends a table. */
	uint32_t user, kernel;
};

static const struct hw_rate events_p6_rates[] = {
	{0x0079, 2400, 600}, /* Cycles not halted. */
	{0x00c0, 2000, 500}, /* Instructions retired. */
	{0x00c4, 400, 100},  /* Branches retired. */
	{0x00c5, 8, 2},      /* Mispredicted branches retired. */
	{0},
};

/* Events of NetBurst, in the form that hw_netburst_select() returns. */
static const struct hw_rate events_netburst_rates[] = {
	{0x0113, 2400, 600}, /* global_power_events, running: cycles not halted. */
	{0x0102, 2000, 500}, /* instr_retired, nbogusntag. */
	{0x1e04, 400, 100},  /* retired_branch_type, all. */
	{0x0103, 8, 2},      /* mispred_branch_retired, nbogus. */
	{0},
};

/* The architectural events. */
static const struct hw_rate events_intel_rates[] = {
	{0x003c, 2400, 600},  /* Core cycles. */
	{0x013c, 2000, 500},  /* Reference cycles, at the rate of the TSC. */
	{0x00c0, 2000, 500},  /* Instructions retired. */
	{0x4f2e, 40, 10},     /* Last-level cache references. */
	{0x412e, 8, 2},       /* Last-level cache misses. */
	{0x00c4, 400, 100},   /* Branches retired. */
	{0x00c5, 8, 2},       /* Mispredicted branches retired. */
	{0x01a4, 9600, 2400}, /* Slots, four per cycle. */
	{0},
};

static const struct hw_rate events_amd_rates[] = {
	{0x0076, 2400, 600}, /* Cycles not halted. */
	{0x00c0, 2000, 500}, /* Instructions retired. */
	{0x00c2, 400, 100},  /* Branches retired. */
	{0x00c3, 8, 2},      /* Mispredicted branches retired. */
	{0},
};

static const struct hw_rate *events_table(const struct hw *hw)
{
	if (hw->rules == &hw_amd)
		return events_amd_rates;
	if (hw->rules == &hw_netburst)
		return events_netburst_rates;
	return hw->model->features.version ? events_intel_rates : events_p6_rates;
}

/* The rates of event @select. Events that are not in a table get rates that differ from
 * neighbouring ones, for tests. */
static struct hw_rate events_rate(const struct hw *hw, uint64_t select)
{
	uint64_t code = select & hw->rules->event_bits;
	uint32_t event = (uint32_t)(code >> 24 & 0xf00) | (uint32_t)(code & 0xff);
	uint32_t umask = (uint32_t)(code >> 8 & 0xff);
	uint32_t user = 1 + (7 * event + 13 * umask) % 400;

	if (!event)
		return (struct hw_rate){0};
	for (const struct hw_rate *r = events_table(hw); r->code; r++) {
		if (r->code == code)
			return *r;
	}
	return (struct hw_rate){code, user, 1 + user / 4};
}

/* Computed in two parts, because rate * ns could overflow. */
uint64_t hw_ticks(uint64_t rate, uint64_t ns)
{
	return rate * (ns / 1000) + rate * (ns % 1000) / 1000;
}

uint64_t hw_events(const struct hw *hw, uint64_t select, uint64_t ns)
{
	struct hw_rate rate;
	uint64_t n = 0;

	if (hw->rules->events)
		return hw->rules->events(select, ns);
	rate = events_rate(hw, select);
	if (select & EVTSEL_USR)
		n += hw_ticks(rate.user, ns);
	if (select & EVTSEL_OS)
		n += hw_ticks(rate.kernel, ns);
	return n;
}

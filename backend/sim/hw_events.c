// SPDX-License-Identifier: MIT
/*
 * How often events happen. Each has a fixed rate at user and at kernel level on every CPU, and
 * how many have happened is a function of the time since the start alone. So a count between two
 * times never depends on the steps in which time passed.
 *
 * EDGE, INV, CMASK and the bits that qualify where (any thread, transactions, guest) leave the
 * count as it is. Event 0 never happens. No rate exceeds 16 a nanosecond, so that a count fits
 * into 64 bits up to HW_TIME_MAX.
 */
#include "backend/sim/hw_i.h"

#include "perfmonfs/pmu.h"

const struct hw_rate hw_p6_rates[] = {
	{0x0079, 2400, 600}, /* cycles not halted */
	{0x00c0, 2000, 500}, /* instructions retired */
	{0x00c4, 400, 100},  /* branches retired */
	{0x00c5, 8, 2},      /* mispredicted branches retired */
	{0},
};

/* The architectural events. */
const struct hw_rate hw_intel_rates[] = {
	{0x003c, 2400, 600},  /* core cycles */
	{0x013c, 2000, 500},  /* reference cycles: the TSC's rate */
	{0x00c0, 2000, 500},  /* instructions retired */
	{0x4f2e, 40, 10},     /* last level cache references */
	{0x412e, 8, 2},       /* last level cache misses */
	{0x00c4, 400, 100},   /* branches retired */
	{0x00c5, 8, 2},       /* mispredicted branches retired */
	{0x01a4, 9600, 2400}, /* slots: four a cycle */
	{0},
};

const struct hw_rate hw_amd_rates[] = {
	{0x0076, 2400, 600}, /* cycles not halted */
	{0x00c0, 2000, 500}, /* instructions retired */
	{0x00c2, 400, 100},  /* branches retired */
	{0x00c3, 8, 2},      /* mispredicted branches retired */
	{0},
};

/*
 * An event without a row above gets a rate that differs from its neighbours', so that a test
 * notices when the wrong one is counted.
 */
static struct hw_rate rate_of(const struct hw_model *m, uint64_t select)
{
	uint64_t code = select & m->family->event_bits;
	uint32_t event = (uint32_t)(code >> 24 & 0xf00) | (uint32_t)(code & 0xff);
	uint32_t umask = (uint32_t)(code >> 8 & 0xff);
	uint32_t user = 1 + (7 * event + 13 * umask) % 400;

	if (!event)
		return (struct hw_rate){0};
	for (const struct hw_rate *r = m->rates; r->code; r++) {
		if (r->code == code)
			return *r;
	}
	return (struct hw_rate){code, user, 1 + user / 4};
}

/* Split at whole microseconds: rate * ns itself would not fit. */
uint64_t hw_ticks(uint64_t rate, uint64_t ns)
{
	return rate * (ns / 1000) + rate * (ns % 1000) / 1000;
}

uint64_t hw_events(const struct hw_model *m, uint64_t select, uint64_t ns)
{
	struct hw_rate rate = rate_of(m, select);
	uint64_t n = 0;

	if (select & EVTSEL_USR)
		n += hw_ticks(rate.user, ns);
	if (select & EVTSEL_OS)
		n += hw_ticks(rate.kernel, ns);
	return n;
}

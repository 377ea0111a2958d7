// SPDX-License-Identifier: MIT
/* assign_events() against all assignments, tried one by one. */
// cmocka.h needs these first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/pfm/events/assign.h"

enum { CASES = 20000, MAX_EVENTS = 7, MAX_COUNTERS = 8 };

static uint64_t random_state = 1;

static unsigned below(unsigned n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state % n);
}

static struct pfm_event event_on(uint64_t counters)
{
	return (struct pfm_event){.name = "event", .counters = counters, .extra_pmc = -1};
}

static bool extras_agree(const struct pfm_event *events, uint32_t set)
{
	for (unsigned i = 0; i < MAX_EVENTS; i++)
		for (unsigned j = 0; j < i; j++)
			if (set >> i & 1 && set >> j & 1 && events[i].extra_pmc >= 0 &&
				events[i].extra_pmc == events[j].extra_pmc &&
				events[i].extra != events[j].extra)
				return false;
	return true;
}

/* Tries each counter for the first event of @set, then the others with the remaining counters. */
static bool fits_any(const struct pfm_event *events, uint32_t set, uint64_t free)
{
	unsigned i = (unsigned)__builtin_ctz(set | 1u << 31);

	if (!set)
		return true;
	for (unsigned p = 0; p < MAX_COUNTERS; p++)
		if (events[i].counters & free & 1u << p &&
			fits_any(events, set & (set - 1), free & ~(1ULL << p)))
			return true;
	return false;
}

static bool fits(const struct pfm_event *events, uint32_t set, uint64_t free)
{
	return extras_agree(events, set) && fits_any(events, set, free);
}

static unsigned smallest_conflict(const struct pfm_event *events, unsigned n, uint64_t free)
{
	unsigned smallest = MAX_EVENTS + 1;

	for (uint32_t set = 1; set < 1u << n; set++) {
		unsigned size = (unsigned)__builtin_popcount(set);

		if (size < smallest && !fits(events, set, free))
			smallest = size;
	}
	return smallest;
}

static void check_assigned(
	const struct pfm_event *events, unsigned n, uint64_t free, const int *pmds)
{
	uint64_t used = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t bit = 1ULL << pmds[i];

		assert_int_equal(events[i].counters & free & bit, bit);
		assert_int_equal(used & bit, 0);
		used |= bit;
	}
}

static void random_case(void)
{
	struct pfm_pmu pmu = {.general = 0x1f, .all = (1u << MAX_COUNTERS) - 1};
	struct pfm_event events[MAX_EVENTS];
	unsigned n = below(MAX_EVENTS + 1);
	uint64_t free = below(4) ? pmu.all : below((unsigned)pmu.all + 1);
	int pmds[MAX_EVENTS];
	uint32_t conflict;
	struct err e = {0};
	int rc;

	for (unsigned i = 0; i < MAX_EVENTS; i++) {
		events[i] = event_on(1 + below((unsigned)pmu.all));
		if (below(2))
			events[i].counters &= pmu.general >> below(4);
		if (!below(6)) {
			events[i].extra_pmc = 20 + (int)below(2);
			events[i].extra = below(2);
		}
	}
	rc = assign_events(&pmu, events, n, free, pmds, &conflict, &e);
	if (rc == 0) {
		check_assigned(events, n, free, pmds);
		assert_int_equal(conflict, 0);
		return;
	}
	assert_false(fits(events, (1u << n) - 1, free));
	assert_false(fits(events, conflict, free));
	assert_int_equal(conflict >> n, 0);
	assert_int_equal(__builtin_popcount(conflict), smallest_conflict(events, n, free));
	assert_int_equal(rc, fits(events, conflict, pmu.all) ? -EBUSY : -ENOSPC);
}

static void test_random(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CASES; i++)
		random_case();
}

static void test_preference(void **state)
{
	struct pfm_pmu pmu = {.general = 0xf, .all = 0x7000f};
	struct pfm_event events[] = {
		event_on(0xf), event_on(0x1000f), event_on(0xf), event_on(0x2), event_on(0x40000)};
	uint32_t conflict;
	struct err e;
	int pmds[5];

	(void)state;
	assert_int_equal(assign_events(&pmu, events, 5, pmu.all, pmds, &conflict, &e), 0);
	assert_int_equal(pmds[0], 0);
	assert_int_equal(pmds[1], 16);
	assert_int_equal(pmds[3], 1);
	assert_int_equal(pmds[4], 18);
	/* The fixed counter is in use. */
	assert_int_equal(assign_events(&pmu, events, 2, 0xf, pmds, &conflict, &e), 0);
	assert_int_equal(pmds[0], 0);
	assert_int_equal(pmds[1], 1);
}

/* The most that there can be, each on any of 20 counters, and then one too many. */
static void test_large(void **state)
{
	struct pfm_pmu pmu = {.general = 0xfffff, .all = 0xfffff};
	struct pfm_event events[EVENT_MAX + 1];
	int pmds[EVENT_MAX];
	uint32_t conflict;
	struct err e = {0};

	(void)state;
	for (unsigned i = 0; i <= EVENT_MAX; i++)
		events[i] = event_on(0xfffff);
	assert_int_equal(assign_events(&pmu, events, 20, pmu.all, pmds, &conflict, &e), 0);
	check_assigned(events, 20, pmu.all, pmds);
	assert_int_equal(
		assign_events(&pmu, events, EVENT_MAX, pmu.all, pmds, &conflict, &e), -ENOSPC);
	assert_int_equal(__builtin_popcount(conflict), 21);
	assert_int_equal(
		assign_events(&pmu, events, EVENT_MAX + 1, pmu.all, pmds, &conflict, &e), -EINVAL);
	/* A chain: each event shares a counter with the next, and one has none left. */
	for (unsigned i = 0; i < 20; i++)
		events[i] = event_on(3ULL << i & 0xfffff);
	events[20] = event_on(0x1);
	assert_int_equal(assign_events(&pmu, events, 21, pmu.all, pmds, &conflict, &e), -ENOSPC);
	assert_int_equal(__builtin_popcount(conflict), 21);
}

static void test_sentence(void **state)
{
	struct pfm_pmu pmu = {.general = 0x3, .all = 0x3};
	struct pfm_event events[] = {event_on(0x1), event_on(0x3), event_on(0x1)};
	struct err e = {0};
	uint32_t conflict;
	int pmds[3];

	(void)state;
	snprintf(events[0].name, sizeof(events[0].name), "first");
	snprintf(events[2].name, sizeof(events[2].name), "third");
	assert_int_equal(assign_events(&pmu, events, 3, 3, pmds, &conflict, &e), -ENOSPC);
	assert_int_equal(conflict, 5);
	assert_non_null(strstr(e.text, "first and third"));
	assert_int_equal(assign_events(&pmu, events, 2, 2, pmds, &conflict, &e), -EBUSY);
	assert_int_equal(conflict, 1);
	assert_non_null(strstr(e.text, "first"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_preference),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/* assign_events() against all assignments, tried one by one. */
// cmocka.h needs these first.
#include "tests/unit/unit.h"
#include "tools/pfm/events/assign.h"

enum { CASES = 40000, MAX_EVENTS = 7, MAX_COUNTERS = 8, MAX_ESCRS = 5, CCCR = 32 };

static uint64_t random_state = 1;

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

static bool chooses(const struct pfm_pmu *pmu, unsigned counter, unsigned escr)
{
	for (unsigned i = 0; i < PFM_PMU_ESCRS; i++)
		if (pmu->pmcs[counter].escr[i] == (int)escr)
			return true;
	return false;
}

static bool fits_any(const struct pfm_pmu *pmu, const struct pfm_event *events, uint32_t set,
	uint64_t free, uint64_t escrs);

/* The event with this counter, and with each ESCR of @escrs that the counter can choose. */
static bool fits_on(const struct pfm_pmu *pmu, const struct pfm_event *events, uint32_t set,
	uint64_t free, uint64_t escrs, unsigned counter)
{
	unsigned i = (unsigned)__builtin_ctz(set);

	free &= ~(1ULL << counter);
	set &= set - 1;
	if (!events[i].escrs)
		return fits_any(pmu, events, set, free, escrs);
	for (unsigned s = 0; s < MAX_ESCRS; s++)
		if (events[i].escrs & escrs & 1ULL << s && chooses(pmu, counter, s) &&
			fits_any(pmu, events, set, free, escrs & ~(1ULL << s)))
			return true;
	return false;
}

/* Tries each counter for the first event of @set, then the others with the remaining counters. */
static bool fits_any(const struct pfm_pmu *pmu, const struct pfm_event *events, uint32_t set,
	uint64_t free, uint64_t escrs)
{
	for (unsigned p = 0; set && p < MAX_COUNTERS; p++)
		if (events[__builtin_ctz(set)].counters & free & 1u << p &&
			fits_on(pmu, events, set, free, escrs, p))
			return true;
	return !set;
}

static bool fits(
	const struct pfm_pmu *pmu, const struct pfm_event *events, uint32_t set, uint64_t free)
{
	return extras_agree(events, set) && fits_any(pmu, events, set, free, UINT64_MAX);
}

static unsigned smallest_conflict(
	const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n, uint64_t free)
{
	unsigned smallest = MAX_EVENTS + 1;

	for (uint32_t set = 1; set < 1u << n; set++) {
		unsigned size = (unsigned)__builtin_popcount(set);

		if (size < smallest && !fits(pmu, events, set, free))
			smallest = size;
	}
	return smallest;
}

static void check_assigned(const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n,
	uint64_t free, const struct event_place *places)
{
	uint64_t used = 0, used_escrs = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t bit = 1ULL << places[i].row;

		assert_int_equal(events[i].counters & free & bit, bit);
		assert_int_equal(used & bit, 0);
		used |= bit;
		assert_int_equal(places[i].escr >= 0, events[i].escrs != 0);
		if (!events[i].escrs)
			continue;
		bit = 1ULL << places[i].escr;
		assert_int_equal(events[i].escrs & bit, bit);
		assert_int_equal(used_escrs & bit, 0);
		assert_true(chooses(pmu, (unsigned)places[i].row, (unsigned)places[i].escr));
		used_escrs |= bit;
	}
}

/* Each counter has a CCCR, which can choose some of the ESCRs. */
static struct pfm_pmu random_pmu(void)
{
	struct pfm_pmu pmu = {.general = 0x1f,
		.all = (1u << MAX_COUNTERS) - 1,
		.npmcs = MAX_COUNTERS,
		.ncounters = MAX_COUNTERS,
		.escrs = (1u << MAX_ESCRS) - 1};
	unsigned chance = 2 + below(&random_state, 2);

	for (unsigned p = 0; p < MAX_COUNTERS; p++) {
		pmu.counters[p] = (struct pfm_counter){
			.nums = {(uint16_t)p}, .n = 1, .pmc = CCCR + p, .fixed = -1};
		pmu.pmcs[p] = (struct pfm_pmc){.num = CCCR + p, .escr_select = 0xe000};
		for (unsigned i = 0; i < PFM_PMU_ESCRS; i++)
			pmu.pmcs[p].escr[i] =
				i < MAX_ESCRS && !below(&random_state, chance) ? (int)i : -1;
	}
	return pmu;
}

/* An event that one of some ESCRs has; false: no counter can count it. */
static bool event_on_escrs(const struct pfm_pmu *pmu, struct pfm_event *event)
{
	*event = event_on(0);
	event->escrs = 1 + below(&random_state, (1u << MAX_ESCRS) - 1);
	if (below(&random_state, 2))
		event->escrs &= 3u << below(&random_state, MAX_ESCRS - 1);
	for (unsigned p = 0; p < MAX_COUNTERS; p++)
		for (unsigned s = 0; s < MAX_ESCRS; s++)
			if (event->escrs >> s & 1 && chooses(pmu, p, s))
				event->counters |= 1ULL << p;
	return event->counters;
}

static void random_case(void)
{
	struct pfm_pmu pmu = random_pmu();
	struct pfm_event events[MAX_EVENTS];
	unsigned n = below(&random_state, MAX_EVENTS + 1), ordinary = below(&random_state, 3);
	uint64_t free =
		below(&random_state, 4) ? pmu.all : below(&random_state, (unsigned)pmu.all + 1);
	struct event_place places[MAX_EVENTS];
	struct err e = {0};
	uint32_t conflict;
	int rc;

	for (unsigned i = 0; i < MAX_EVENTS; i++) {
		if (below(&random_state, 2) >= ordinary && event_on_escrs(&pmu, &events[i]))
			continue;
		events[i] = event_on(1 + below(&random_state, (unsigned)pmu.all));
		if (below(&random_state, 2))
			events[i].counters &= pmu.general >> below(&random_state, 4);
		if (!below(&random_state, 6)) {
			events[i].extra_pmc = 20 + (int)below(&random_state, 2);
			events[i].extra = below(&random_state, 2);
		}
	}
	rc = assign_events(&pmu, events, n, free, places, &e);
	conflict = assign_conflict(&pmu, events, n, free);
	if (rc == 0) {
		check_assigned(&pmu, events, n, free, places);
		assert_int_equal(conflict, 0);
		return;
	}
	assert_false(fits(&pmu, events, (1u << n) - 1, free));
	assert_false(fits(&pmu, events, conflict, free));
	assert_int_equal(conflict >> n, 0);
	assert_int_equal(__builtin_popcount(conflict), smallest_conflict(&pmu, events, n, free));
	assert_int_equal(rc, fits(&pmu, events, conflict, pmu.all) ? -EBUSY : -ENOSPC);
}

TEST(random)
{
	for (unsigned i = 0; i < CASES; i++)
		random_case();
}

TEST(preference)
{
	struct pfm_pmu pmu = {.general = 0xf, .all = 0x7000f};
	struct pfm_event events[] = {
		event_on(0xf), event_on(0x1000f), event_on(0xf), event_on(0x2), event_on(0x40000)};
	struct event_place places[5];

	assert_int_equal(assign_events(&pmu, events, 5, pmu.all, places, &why), 0);
	assert_int_equal(places[0].row, 0);
	assert_int_equal(places[1].row, 16);
	assert_int_equal(places[3].row, 1);
	assert_int_equal(places[4].row, 18);
	/* The fixed counter is in use. */
	assert_int_equal(assign_events(&pmu, events, 2, 0xf, places, &why), 0);
	assert_int_equal(places[0].row, 0);
	assert_int_equal(places[1].row, 1);
}

/* The most that there can be, each on any of 20 counters, and then one too many. */
TEST(large)
{
	struct pfm_pmu pmu = {.general = 0xfffff, .all = 0xfffff};
	struct pfm_event events[EVENT_MAX + 1];
	struct event_place places[EVENT_MAX];
	struct err e = {0};

	for (unsigned i = 0; i <= EVENT_MAX; i++)
		events[i] = event_on(0xfffff);
	assert_int_equal(assign_events(&pmu, events, 20, pmu.all, places, &e), 0);
	check_assigned(&pmu, events, 20, pmu.all, places);
	assert_int_equal(assign_events(&pmu, events, EVENT_MAX, pmu.all, places, &e), -ENOSPC);
	assert_int_equal(__builtin_popcount(assign_conflict(&pmu, events, EVENT_MAX, pmu.all)), 21);
	assert_int_equal(assign_events(&pmu, events, EVENT_MAX + 1, pmu.all, places, &e), -EINVAL);
	/* A chain: each event shares a counter with the next, and one has none left. */
	for (unsigned i = 0; i < 20; i++)
		events[i] = event_on(3ULL << i & 0xfffff);
	events[20] = event_on(0x1);
	assert_int_equal(assign_events(&pmu, events, 21, pmu.all, places, &e), -ENOSPC);
	assert_int_equal(__builtin_popcount(assign_conflict(&pmu, events, 21, pmu.all)), 21);
}

TEST(sentence)
{
	struct pfm_pmu pmu = {.general = 0x3, .all = 0x3};
	struct pfm_event events[] = {event_on(0x1), event_on(0x3), event_on(0x1)};
	struct err e = {0};
	struct event_place places[3];

	snprintf(events[0].name, sizeof(events[0].name), "first");
	snprintf(events[2].name, sizeof(events[2].name), "third");
	assert_int_equal(assign_events(&pmu, events, 3, 3, places, &e), -ENOSPC);
	assert_int_equal(assign_conflict(&pmu, events, 3, 3), 5);
	assert_non_null(strstr(e.text, "first and third"));
	assert_int_equal(assign_events(&pmu, events, 2, 2, places, &e), -EBUSY);
	assert_int_equal(assign_conflict(&pmu, events, 2, 2), 1);
	assert_non_null(strstr(e.text, "first"));
}

/* Those that share an ESCR, or counters past it, are told with what they share. */
TEST(escrs)
{
	static const struct pfm_pmc cccr = {
		.num = CCCR, .escr_select = 0xe000, .escr = {0, 1, 2, -1, -1, -1, -1, -1}};
	struct pfm_pmu pmu = {.general = 0x3,
		.all = 0x3,
		.npmcs = 1,
		.pmcs = {cccr},
		.ncounters = 2,
		.counters = {{.nums = {0}, .n = 1, .pmc = CCCR, .fixed = -1},
			{.nums = {1}, .n = 1, .pmc = CCCR, .fixed = -1}},
		.escrs = 0x7};
	struct pfm_event events[3] = {event_on(0x3), event_on(0x3), event_on(0x3)};
	struct event_place places[3];
	struct err e = {0};

	for (unsigned i = 0; i < 3; i++)
		events[i].escrs = 0x1;
	assert_int_equal(assign_events(&pmu, events, 3, 3, places, &e), -ENOSPC);
	assert_int_equal(assign_conflict(&pmu, events, 3, 3), 3);
	assert_non_null(
		strstr(e.text, "event and event cannot be counted together: they share PMC 0"));
	events[1].escrs = 0x3;
	assert_int_equal(assign_events(&pmu, events, 2, 3, places, &e), 0);
	assert_int_equal(places[0].escr, 0);
	assert_int_equal(places[1].escr, 1);
	events[2].escrs = 0x4;
	assert_int_equal(assign_events(&pmu, events, 3, 3, places, &e), -ENOSPC);
	assert_int_equal(assign_conflict(&pmu, events, 3, 3), 7);
	assert_non_null(strstr(e.text, "they share PMD 0-1"));
	assert_int_equal(assign_events(&pmu, events, 2, 2, places, &e), -EBUSY);
	assert_int_equal(assign_conflict(&pmu, events, 2, 2), 3);
}

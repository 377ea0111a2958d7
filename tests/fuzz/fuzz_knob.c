// SPDX-License-Identifier: MIT
/*
 * The knobs of the hardware model. The input is a script of lines "KNOB TEXT"; its length selects
 * the model. A failed store changes nothing, and shown text can be stored again.
 */
#include "tests/fuzz/fuzz.h"

#include "base/num.h"
#include "perfmonfs/sim.h"

enum { CPUS = 3, MAX_LINES = 16 };

static const char *pick_model(size_t size)
{
	unsigned n = 0;

	while (hw_model_name(n))
		n++;
	return hw_model_name((unsigned)(size % n));
}

static void show(struct hw *hw, const char *knob, struct text *out)
{
	struct err e;

	text_clear(out);
	CHECK(hw_knob_show(hw, knob, out, &e) == 0);
	CHECK(text_ok(out) && out->n && out->p[out->n - 1] == '\n');
}

static void show_all(struct hw *hw, struct text *out)
{
	TEXT_CLEANUP struct text one = {0};

	for (unsigned i = 0; hw_knobs[i]; i++) {
		show(hw, hw_knobs[i], &one);
		text_printf(out, "%s", one.p);
	}
}

/* Ranges are in rising order and not adjacent. */
static void check_normal(const struct text *list)
{
	const char *at = list->p;
	char *end;
	uint64_t next = 0; /* The lowest number that may follow. */

	while (*at != '\n') {
		uint64_t lo = strtoull(at, &end, 0), hi = lo;

		CHECK(end != at && lo >= next);
		if (*end == '-')
			hi = strtoull(at = end + 1, &end, 0);
		CHECK(end != at && hi >= lo && hi <= UINT32_MAX);
		next = hi + 2;
		at = end + (*end == ',');
	}
}

/* A shown list can be stored, and is shown the same. */
static void check_list(struct hw *hw, const char *knob)
{
	TEXT_CLEANUP struct text first = {0}, second = {0};
	struct err e;

	show(hw, knob, &first);
	check_normal(&first);
	CHECK(hw_knob_store(hw, knob, slice_of_text(&first), &e) == 0);
	show(hw, knob, &second);
	CHECK(text_equal(&first, &second));
}

/* Searches an accepted list. */
static bool list_has(struct slice list, uint64_t v)
{
	CHECK(slice_text(&list, false));
	list = slice_trim(list);
	while (list.n) {
		struct slice range = slice_cut(&list, ',');
		struct slice first = slice_cut(&range, '-');
		uint64_t lo, hi;
		struct err e;

		CHECK(num_u64(slice_trim(first), &lo, &e) == 0);
		hi = lo;
		CHECK(!range.n || num_u64(slice_trim(range), &hi, &e) == 0);
		if (lo <= v && v <= hi)
			return true;
	}
	return false;
}

static void check_effect(struct hw *hw, const char *knob, struct slice text)
{
	static const uint32_t registers[] = {0, 0x186, 0xc1, 0xc0010000, UINT32_MAX};
	enum { NREGISTERS = sizeof(registers) / sizeof(registers[0]) };
	uint64_t v;

	for (unsigned cpu = 0; cpu < CPUS && strcmp(knob, "offline") == 0; cpu++)
		CHECK(hw_online(hw, cpu) == !list_has(text, cpu));
	for (unsigned i = 0; i < NREGISTERS && strcmp(knob, "fault") == 0; i++)
		if (list_has(text, registers[i]))
			CHECK(hw_rdmsr(hw, 0, registers[i], &v) < 0);
}

static void run_line(struct hw *hw, struct slice line)
{
	TEXT_CLEANUP struct text before = {0}, after = {0};
	struct slice word = slice_word(&line);
	char knob[16];
	struct err e;
	int rc;

	if (word.n >= sizeof(knob))
		return;
	memcpy(knob, word.p, word.n);
	knob[word.n] = '\0';
	show_all(hw, &before);
	rc = hw_knob_store(hw, knob, line, &e);
	if (rc == 0) {
		check_effect(hw, knob, line);
		return;
	}
	check_refusal(rc, &e);
	show_all(hw, &after);
	CHECK(text_equal(&before, &after));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice script = slice_of_input(data, size);
	struct hw *hw;
	struct err e;
	uint64_t v;

	CHECK(hw_new(pick_model(size), CPUS, &hw, &e) == 0);
	for (unsigned i = 0; script.n && i < MAX_LINES; i++)
		run_line(hw, slice_cut(&script, '\n'));
	check_list(hw, "offline");
	check_list(hw, "fault");
	CHECK(hw_now(hw) <= HW_TIME_MAX);
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		int rc = hw_rdmsr(hw, cpu, 0x186, &v);

		CHECK(hw_online(hw, cpu) ? rc != -ENXIO : rc == -ENXIO);
	}
	hw_free(hw);
	return 0;
}

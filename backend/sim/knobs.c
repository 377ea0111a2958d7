// SPDX-License-Identifier: MIT
/*
 * Text interface of the knobs that control the model. Lists are shown in a form that can be stored
 * again; advance takes a step and shows the time. A text that does not parse changes nothing.
 */
#include "backend/sim/hw_i.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

enum knob { KNOB_ADVANCE, KNOB_OFFLINE, KNOB_FAULT, KNOB_POKE, KNOB_MAX };

const char *const hw_knobs[] = {
	[KNOB_ADVANCE] = "advance",
	[KNOB_OFFLINE] = "offline",
	[KNOB_FAULT] = "fault",
	[KNOB_POKE] = "poke",
	[KNOB_MAX] = NULL,
};

static int knobs_compare(const void *a, const void *b)
{
	const struct hw_range *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Sorts the ranges and joins overlapping and adjacent ones. */
static void knobs_normalize(struct hw_ranges *set)
{
	unsigned n = 0;

	qsort(set->r, set->n, sizeof(set->r[0]), knobs_compare);
	for (unsigned i = 0; i < set->n; i++) {
		struct hw_range *last = n ? &set->r[n - 1] : NULL;

		if (!last || (last->hi < UINT32_MAX && set->r[i].lo > last->hi + 1))
			set->r[n++] = set->r[i];
		else if (set->r[i].hi > last->hi)
			last->hi = set->r[i].hi;
	}
	set->n = n;
}

static int knobs_parse_range(struct slice s, uint32_t max, struct hw_range *r, struct err *e)
{
	bool single = !s.n || !memchr(s.p, '-', s.n);
	struct slice first = slice_cut(&s, '-');
	uint64_t lo, hi;
	int rc = num_max(first, max, &lo, e);

	if (!rc)
		rc = num_max(single ? first : s, max, &hi, e);
	if (rc < 0)
		return rc;
	if (lo > hi)
		return err_set(e, EINVAL,
			"'%" PRIu64 "-%" PRIu64
			"' runs backwards (EINVAL): write the lower number first",
			lo, hi);
	*r = (struct hw_range){(uint32_t)lo, (uint32_t)hi};
	return 0;
}

static int knobs_parse_list(struct slice s, uint32_t max, struct hw_ranges *out, struct err *e)
{
	struct hw_ranges set = {0};
	bool more = s.n;
	int rc;

	while (more) {
		struct slice piece;

		if (set.n == HW_MAX_RANGES)
			return err_set(
				e, ERANGE, "more than %d pieces in a list (ERANGE)", HW_MAX_RANGES);
		more = memchr(s.p, ',', s.n);
		piece = slice_trim(slice_cut(&s, ','));
		rc = knobs_parse_range(piece, max, &set.r[set.n], e);
		if (rc < 0)
			return rc;
		set.n++;
	}
	knobs_normalize(&set);
	*out = set;
	return 0;
}

static void knobs_print_number(uint32_t v, bool hex, struct text *out)
{
	if (hex)
		text_printf(out, "0x%" PRIx32, v);
	else
		text_printf(out, "%" PRIu32, v);
}

static void knobs_print_list(const struct hw_ranges *set, bool hex, struct text *out)
{
	for (unsigned i = 0; i < set->n; i++) {
		const struct hw_range *r = &set->r[i];

		if (i)
			text_printf(out, ",");
		knobs_print_number(r->lo, hex, out);
		if (r->hi == r->lo)
			continue;
		text_printf(out, "-");
		knobs_print_number(r->hi, hex, out);
	}
	text_printf(out, "\n");
}

static int knobs_advance_store(struct hw *hw, struct slice s, struct err *e)
{
	uint64_t ns;
	int rc = num_max(s, HW_TIME_MAX - hw_now(hw), &ns, e);

	if (!rc)
		hw_advance(hw, ns);
	return rc;
}

static void knobs_advance_show(struct hw *hw, struct text *out)
{
	text_printf(out, "%" PRIu64 "\n", hw_now(hw));
}

static int knobs_offline_store(struct hw *hw, struct slice s, struct err *e)
{
	struct hw_ranges set;
	int rc = knobs_parse_list(s, hw->ncpus - 1, &set, e);

	if (rc < 0)
		return rc;
	hw_lock(hw);
	hw_set_offline(hw, &set);
	pthread_mutex_unlock(&hw->lock);
	return 0;
}

static void knobs_offline_show(struct hw *hw, struct text *out)
{
	hw_lock(hw);
	knobs_print_list(&hw->offline, false, out);
	pthread_mutex_unlock(&hw->lock);
}

static int knobs_fault_store(struct hw *hw, struct slice s, struct err *e)
{
	struct hw_ranges set;
	int rc = knobs_parse_list(s, UINT32_MAX, &set, e);

	if (rc < 0)
		return rc;
	hw_lock(hw);
	hw->fault = set;
	pthread_mutex_unlock(&hw->lock);
	return 0;
}

static void knobs_fault_show(struct hw *hw, struct text *out)
{
	hw_lock(hw);
	knobs_print_list(&hw->fault, true, out);
	pthread_mutex_unlock(&hw->lock);
}

static int knobs_poke_store(struct hw *hw, struct slice s, struct err *e)
{
	struct slice cpu_word = slice_word(&s), addr_word = slice_word(&s);
	struct slice value_word = slice_word(&s);
	uint64_t cpu, addr, value;
	int rc;

	if (!value_word.n || slice_trim(s).n)
		return err_set(e, EINVAL, "write 'CPU ADDR VALUE' (EINVAL)");
	rc = num_max(cpu_word, hw->ncpus - 1, &cpu, e);
	if (!rc)
		rc = num_max(addr_word, UINT32_MAX, &addr, e);
	if (!rc)
		rc = num_value(value_word, &value, e);
	if (rc < 0)
		return rc;
	hw_lock(hw);
	rc = hw_write(hw, (unsigned)cpu, (uint32_t)addr, value);
	pthread_mutex_unlock(&hw->lock);
	if (rc < 0)
		return err_set(e, -rc,
			"register 0x%" PRIx64 " of CPU %" PRIu64 " does not take 0x%" PRIx64
			" (%s)",
			addr, cpu, value, err_name(-rc));
	return 0;
}

static void knobs_poke_show(struct hw *hw, struct text *out)
{
	(void)hw;
	text_printf(out, "write 'CPU ADDR VALUE' to set a register as another program would\n");
}

static const struct {
	int (*store)(struct hw *hw, struct slice s, struct err *e);
	void (*show)(struct hw *hw, struct text *out);
} knobs[KNOB_MAX] = {
	[KNOB_ADVANCE] = {knobs_advance_store, knobs_advance_show},
	[KNOB_OFFLINE] = {knobs_offline_store, knobs_offline_show},
	[KNOB_FAULT] = {knobs_fault_store, knobs_fault_show},
	[KNOB_POKE] = {knobs_poke_store, knobs_poke_show},
};

static int knobs_find(const char *name, struct err *e)
{
	for (int k = 0; k < KNOB_MAX; k++) {
		if (!strcmp(hw_knobs[k], name))
			return k;
	}
	return err_set(e, ENOENT, "the CPU model has no knob '%.40s' (ENOENT)", name);
}

int hw_knob_store(struct hw *hw, const char *knob, struct slice text, struct err *e)
{
	int k = knobs_find(knob, e);
	int rc;

	if (k < 0)
		return k;
	if (slice_text(&text, false))
		rc = knobs[k].store(hw, slice_trim(text), e);
	else
		rc = err_set(e, EINVAL,
			"the text has control characters (EINVAL): write one line of plain text");
	return rc < 0 ? err_prefix(e, "sim/%s", knob) : 0;
}

int hw_knob_show(struct hw *hw, const char *knob, struct text *out, struct err *e)
{
	int k = knobs_find(knob, e);

	if (k < 0)
		return k;
	knobs[k].show(hw, out);
	return 0;
}

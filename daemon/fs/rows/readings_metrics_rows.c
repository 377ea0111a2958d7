// SPDX-License-Identifier: MIT
/*
 * metrics/readings.* and energy.*: the free-running registers of packages, for programs that
 * collect them. The files exist only if a non-root user may read them, because a collector that may
 * not open a file reports an error at each scrape.
 */
#include "daemon/fs/rows/rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/nsec.h"
#include "daemon/fs/requests/readings_request.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/metrics/exposition.h"

struct readings_family {
	const char *name;
	enum exposition_type type;
	const char *help;
	unsigned digits;
};

enum { FAMILY_TICKS, FAMILY_EVENTS, FAMILY_DEGREES, FAMILY_ENERGY, FAMILIES };

static const struct readings_family readings_families[FAMILIES] = {
	[FAMILY_TICKS] = {"machine_ticks", EXPOSITION_COUNTER,
		"Ticks of the time-stamp counter in that state.", 0},
	[FAMILY_EVENTS] = {"machine_events", EXPOSITION_COUNTER, "What the register is named for.",
		0},
	[FAMILY_DEGREES] = {"machine_below_limit_celsius", EXPOSITION_GAUGE,
		"Degrees Celsius below the limit.", 0},
	[FAMILY_ENERGY] = {"machine_energy_joules", EXPOSITION_COUNTER, "Energy.", 6},
};

/* One text per family: a family's samples must be adjacent, but a scan yields them register by
 * register. */
struct readings_expositions {
	struct exposition family[FAMILIES];
	struct text text[FAMILIES];
};

static unsigned readings_family_of(const struct pmu_free *reg)
{
	if (pmu_unit_is_energy(reg->unit))
		return FAMILY_ENERGY;
	switch (reg->unit) {
	case PMU_UNIT_DEGREES:
		return FAMILY_DEGREES;
	case PMU_UNIT_EVENTS:
		return FAMILY_EVENTS;
	default:
		return FAMILY_TICKS;
	}
}

static void readings_metrics_put(void *arg, const struct reading_value *v)
{
	unsigned n = readings_family_of(v->reg);
	const struct readings_family *f = &readings_families[n];
	struct exposition *x = &((struct readings_expositions *)arg)->family[n];
	char package[16];
	const struct exposition_label labels[] = {{"package", package}, {"reading", v->reg->name}};

	if (v->error)
		return;
	snprintf(package, sizeof(package), "%u", v->number);
	if (!x->name)
		exposition_family(x, f->name, f->type, f->help);
	exposition_sample(x, labels, sizeof(labels) / sizeof(labels[0]), v->value, f->digits);
}

static int readings_metrics_print(
	struct readings *r, const struct row *row, struct text *out, struct err *e)
{
	unsigned which = READINGS_PACKAGES | (row->name[0] == 'e' ? READINGS_ENERGY : 0);
	struct readings_expositions all = {0};
	uint64_t now = nsec_now(CLOCK_REALTIME);
	bool ok = true;

	for (unsigned i = 0; i < FAMILIES; i++)
		all.family[i] = (struct exposition){
			.form = strstr(row->name, ".lp") ? EXPOSITION_LP : EXPOSITION_PROM,
			.out = &all.text[i],
			.time = now,
		};
	readings_scan(r, which, readings_metrics_put, &all);
	for (unsigned i = 0; i < FAMILIES; i++) {
		ok = ok && text_ok(&all.text[i]);
		if (all.text[i].n)
			text_append(out, all.text[i].p, all.text[i].n);
		text_free(&all.text[i]);
	}
	return ok ? 0 : err_set(e, ENOMEM, "no memory for the readings");
}

static int readings_metrics_read(struct call *call, struct text *out, struct err *e)
{
	return readings_request_read(call, readings_metrics_print, out, e);
}

static bool readings_metrics_exist(
	const struct fs *fs, const struct group_rule *readers, bool energy)
{
	if (readers->kind == GROUP_NONE)
		return false;
	for (unsigned i = 0; i < fs->be->pmu->nfrees; i++) {
		const struct pmu_free *reg = &fs->be->pmu->frees[i];

		if (reg->scope == PMU_SCOPE_PACKAGE && pmu_unit_is_energy(reg->unit) == energy)
			return true;
	}
	return false;
}

static bool readings_metrics_readings_exist(const struct fs *fs)
{
	return readings_metrics_exist(fs, &fs->config.sys_group, false);
}

static bool readings_metrics_energy_exists(const struct fs *fs)
{
	return readings_metrics_exist(fs, &fs->config.energy_group, true);
}

#define READINGS_ROW(nm)                                                                           \
	FILE_ROW(DIR_METRICS, nm, 0400), .flags = ROW_FRESH | ROW_WAITS,                           \
					 .length = LINES_OF_MACHINE, .readers = fs_sys_group,      \
					 .exists = readings_metrics_readings_exist,                \
					 .read = readings_metrics_read

#define ENERGY_ROW(nm)                                                                             \
	FILE_ROW(DIR_METRICS, nm, 0400), .flags = ROW_FRESH | ROW_WAITS,                           \
					 .length = LINES_OF_MACHINE, .readers = fs_energy_group,   \
					 .exists = readings_metrics_energy_exists,                 \
					 .read = readings_metrics_read

const struct row rows_readings_metrics[] = {
	{READINGS_ROW("readings.prom")},
	{READINGS_ROW("readings.lp")},
	{ENERGY_ROW("energy.prom")},
	{ENERGY_ROW("energy.lp")},
	ROW_END,
};

// SPDX-License-Identifier: MIT
/* pmu/readings and pmu/energy: free-running registers. pm_counters/: energy and power of the
 * machine in the form of Cray's /sys/cray/pm_counters, which batch systems read. */
#include "daemon/fs/rows/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/nsec.h"
#include "daemon/fs/requests/readings_request.h"
#include "daemon/fs/tree/fs_state.h"

static bool readings_rows_exist(const struct fs *fs)
{
	return fs->be->pmu->nfrees;
}

static bool readings_rows_have_energy(const struct fs *fs)
{
	for (unsigned i = 0; i < fs->be->pmu->nfrees; i++)
		if (pmu_unit_is_energy(fs->be->pmu->frees[i].unit))
			return true;
	return false;
}

static void readings_rows_print_one(void *arg, const struct reading_value *v)
{
	struct text *out = arg;

	text_printf(out, "%s %s %s %u ", v->reg->name, reading_unit(v->reg),
		pmu_scope_word(v->reg->scope), v->number);
	if (v->error)
		text_printf(out, "- %s\n", v->error == ENXIO ? "offline" : err_name(v->error));
	else
		text_printf(out, "%" PRIu64 "\n", v->value);
}

/* Prints pmu/energy or pmu/readings. */
static int readings_rows_print(
	struct readings *r, const struct row *row, struct text *out, struct err *e)
{
	(void)e;
	readings_scan(r, strcmp(row->name, "energy") == 0 ? READINGS_ENERGY : 0,
		readings_rows_print_one, out);
	return 0;
}

static int readings_rows_read(struct call *call, struct text *out, struct err *e)
{
	return readings_request_read(call, readings_rows_print, out, e);
}

/* --- pm_counters/ */

/* A sum over the machine's units. */
struct readings_rows_sum {
	unsigned n; /* units in the sum */
	int error;  /* errno of one unit; 0 if none failed */
	uint64_t uj, uw;
	bool no_power;
};

struct readings_rows_node {
	struct readings_rows_sum packages, memory, platform;
};

static void readings_rows_add(void *arg, const struct reading_value *v)
{
	struct readings_rows_node *node = arg;
	struct readings_rows_sum *sum =
		strcmp(v->reg->name, "energy_package") == 0    ? &node->packages
		: strcmp(v->reg->name, "energy_memory") == 0   ? &node->memory
		: strcmp(v->reg->name, "energy_platform") == 0 ? &node->platform
							       : NULL;

	if (!sum)
		return;
	sum->n++;
	sum->error = sum->error ? sum->error : v->error;
	sum->uj += v->value;
	sum->uw += v->uw;
	sum->no_power = sum->no_power || !v->span_ns;
}

/* The whole machine: what the platform's register says, which every package shows alike, or else
 * the sum of the packages and their memory. */
static struct readings_rows_sum readings_rows_whole(const struct readings_rows_node *node)
{
	struct readings_rows_sum sum = node->packages;

	if (node->platform.n) {
		sum = node->platform;
		sum.uj /= sum.n;
		sum.uw /= sum.n;
		return sum;
	}
	sum.error = sum.error ? sum.error : node->memory.error;
	sum.uj += node->memory.uj;
	sum.uw += node->memory.uw;
	sum.no_power = sum.no_power || node->memory.no_power;
	return sum;
}

static int readings_rows_print_sum(
	const struct readings_rows_sum *sum, bool power, struct text *out, struct err *e)
{
	uint64_t us = nsec_now(CLOCK_REALTIME) / 1000;

	if (!sum->n)
		return err_set(e, ENODATA,
			"this machine has no register for this reading: see pmu/energy");
	if (sum->error)
		return err_set(e, EIO, "a part of the sum cannot be read now (%s): see pmu/energy",
			err_name(sum->error));
	if (power && sum->no_power)
		return err_set(e, EAGAIN,
			"power needs two readings of the energy, and there is only one yet: try "
			"again");
	text_printf(out, "%" PRIu64 " %s %" PRIu64 " us\n", (power ? sum->uw : sum->uj) / 1000000,
		power ? "W" : "J", us);
	return 0;
}

/* Prints [cpu_|memory_]energy or power. */
static int readings_rows_print_node(
	struct readings *r, const struct row *row, struct text *out, struct err *e)
{
	struct readings_rows_node node = {0};
	struct readings_rows_sum sum;
	bool power = strstr(row->name, "power");

	readings_scan(r, READINGS_ENERGY, readings_rows_add, &node);
	sum = strncmp(row->name, "cpu_", 4) == 0      ? node.packages
	      : strncmp(row->name, "memory_", 7) == 0 ? node.memory
						      : readings_rows_whole(&node);
	return readings_rows_print_sum(&sum, power, out, e);
}

static int readings_rows_read_node(struct call *call, struct text *out, struct err *e)
{
	return readings_request_read(call, readings_rows_print_node, out, e);
}

#define PM_ROW(nm)                                                                                 \
	FILE_ROW(DIR_PM, nm, 0400), .flags = ROW_FRESH | ROW_WAITS, .readers = fs_energy_group,    \
				    .exists = readings_rows_have_energy,                           \
				    .read = readings_rows_read_node

const struct row rows_readings[] = {
	{FILE_ROW(DIR_PMU, "readings", 0400), .flags = ROW_FRESH | ROW_WAITS,
		.length = LINES_OF_MACHINE, .readers = fs_sys_group, .exists = readings_rows_exist,
		.read = readings_rows_read},
	{FILE_ROW(DIR_PMU, "energy", 0400), .flags = ROW_FRESH | ROW_WAITS,
		.length = LINES_OF_MACHINE, .readers = fs_energy_group,
		.exists = readings_rows_have_energy, .read = readings_rows_read},
	{DIR_ROW(DIR_ROOT, DIR_PM, "pm_counters", 0555), .exists = readings_rows_have_energy},
	{PM_ROW("energy")},
	{PM_ROW("power")},
	{PM_ROW("cpu_energy")},
	{PM_ROW("cpu_power")},
	{PM_ROW("memory_energy")},
	{PM_ROW("memory_power")},
	ROW_END,
};

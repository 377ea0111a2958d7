// SPDX-License-Identifier: MIT
/* perfmonfs --check for the perf backend. */
#include "backend/perf/perf_i.h"

#include "backend/perf/event.h"
#include "backend/sysfs/sysfs.h"

void perf_check(const struct backend_conf *conf, check_report *report, void *arg)
{
	unsigned cpu = sysfs_cpu_first();
	struct perf_sources src;
	struct err e;

	(void)conf;
	if (perf_event_probe(&e) < 0) {
		report(arg, CHECK_FAIL, "perf events", "%s", e.text);
		return;
	}
	report(arg, CHECK_OK, "perf events", "the kernel's software events can be counted");
	if (perf_cpu_probe(cpu, &e) < 0)
		report(arg, CHECK_NOTE, "perf of CPUs", "%s", e.text);
	else
		report(arg, CHECK_OK, "perf of CPUs", "whole CPUs can be counted");
	perf_sources_find(cpu, &src);
	if (src.cpu >= 0)
		report(arg, CHECK_OK, "perf CPU PMU", "hardware events can be counted");
	else
		report(arg, CHECK_NOTE, "perf CPU PMU",
			"none in /sys/bus/event_source/devices: no hardware events; in a virtual "
			"machine, ask for a virtual PMU (QEMU: -cpu host,pmu=on)");
	if (src.msr >= 0)
		report(arg, CHECK_OK, "perf TSC", "the time stamp counter can be counted");
	else
		report(arg, CHECK_NOTE, "perf TSC",
			"no msr PMU in /sys/bus/event_source/devices: no tsc event; cpu-clock "
			"counts nanoseconds");
}

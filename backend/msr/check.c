// SPDX-License-Identifier: MIT
/* perfmonfs --check for the msr backend. Registers keep their values. */
#include "backend/msr/msr_i.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/msr/io_file.h"
#include "backend/msr/journal.h"
#include "backend/msr/kernel.h"
#include "base/cleanup.h"
#include "base/text.h"

/* The receiver of results, and its argument. */
struct msr_checker {
	check_report *report;
	void *arg;
};

static void msr_check_kernel(const struct msr_checker *k)
{
	struct kernel_word lockdown = kernel_lockdown();
	struct kernel_word writes = kernel_allow_writes();

	if (strcmp(lockdown.s, "none") == 0)
		k->report(k->arg, CHECK_OK, "lockdown", "none");
	else if (strcmp(lockdown.s, "unknown") == 0)
		k->report(k->arg, CHECK_NOTE, "lockdown",
			"unknown: to see it, mount -t securityfs securityfs /sys/kernel/security");
	else
		k->report(k->arg, CHECK_FAIL, "lockdown",
			"%s: the kernel refuses MSR writes: boot without lockdown (Secure Boot "
			"implies it), or use perfmonfs --backend=perf",
			lockdown.s);
	if (strcmp(writes.s, "off") == 0)
		k->report(k->arg, CHECK_FAIL, "allow_writes",
			"off: the msr driver forbids writing: 'echo on > " KERNEL_ALLOW_WRITES "'");
	else if (strcmp(writes.s, "default") == 0)
		k->report(k->arg, CHECK_NOTE, "allow_writes",
			"default: writes are logged and taint the kernel; "
			"'echo on > " KERNEL_ALLOW_WRITES "' stops the logging");
	else if (writes.s[0])
		k->report(k->arg, CHECK_OK, "allow_writes", "%s", writes.s);
	if (kernel_nmi_watchdog())
		k->report(k->arg, CHECK_NOTE, "nmi_watchdog",
			"1: it uses a counter of each CPU; 'echo 0 > " KERNEL_NMI_WATCHDOG
			"' frees it");
}

static void msr_check_pmu(const struct msr_checker *k, const struct pmu *pmu, const char *type)
{
	k->report(k->arg, CHECK_OK, "PMU", "%s%s%s (%s): %u counters, %u bits%s", type,
		type[0] ? ": " : "", pmu->name, pmu->model, pmu->npmds, pmu->counter_width,
		pmu->global_ctrl ? ", global control" : "");
}

static void msr_check_types(const struct msr_checker *k, const struct msr_types *t)
{
	for (unsigned i = 0; i < t->n; i++)
		msr_check_pmu(k, &t->of[i].pmu, t->shown ? t->shown->of[1U << i].by_type.name : "");
}

/* Reports the users of enabled selectors of CPU @cpu. */
static void msr_check_selectors(
	const struct msr_checker *k, struct msr_backend *mb, unsigned cpu, int handle)
{
	const struct msr_type *type = msr_type_of(&mb->types, cpu);

	for (unsigned i = 0; i < type->pmu.npmcs; i++) {
		const struct pmu_pmc *pmc = &type->pmu.pmcs[i];
		TEXT_CLEANUP struct text owner = {0};
		uint64_t value;
		int rc = mb->io->ops->read(mb->io, handle, pmc->addr, &value);

		if (rc < 0) {
			k->report(k->arg, CHECK_FAIL, "CPU",
				"%u: %s (MSR %#" PRIx32 ") cannot be read: %s: a virtual machine "
				"without a PMU? use perfmonfs --backend=perf",
				cpu, pmc->name, pmc->addr, err_name(-rc));
			return;
		}
		if (!(value & pmc->enable))
			continue;
		msr_pmu_owner(&mb->be, cpu, pmc->addr, value, &owner);
		if (text_ok(&owner))
			k->report(k->arg, CHECK_NOTE, "CPU", "%u: %s is in use by %s", cpu,
				pmc->name, owner.p);
	}
}

static void msr_check_cpus(const struct msr_checker *k, struct msr_backend *mb)
{
	struct msr_io *io = mb->io;
	unsigned limit = io->ops->cpu_limit(io);

	for (unsigned cpu = 0; cpu < limit; cpu++) {
		struct err e;
		int handle;

		/* A CPU that has just come online is described when it is used. */
		if (!io->ops->cpu_online(io, cpu) || !msr_type_of(&mb->types, cpu))
			continue;
		handle = io->ops->open(io, cpu, &e);
		if (handle < 0) {
			k->report(k->arg, CHECK_FAIL, "CPU", "%s", e.text);
			continue;
		}
		msr_check_selectors(k, mb, cpu, handle);
		io->ops->close(io, handle);
	}
}

static void msr_check_journals(const struct msr_checker *k, const struct backend_conf *conf)
{
	struct journal_summary found = {0};

	if (conf->run_dir)
		journal_summary(conf->run_dir, conf->dev ? conf->dev : MSR_DEV_DEFAULT, &found);
	if (found.unfinished)
		k->report(k->arg, CHECK_NOTE, "journal",
			"%u left in %s by daemons that were killed: the next start restores their "
			"registers",
			found.unfinished, conf->run_dir);
	if (found.unrestored)
		k->report(k->arg, CHECK_NOTE, "journal",
			"%u registers could not be restored, as they fault, their CPU is offline, "
			"or --pmu names another PMU: the file cpus lists them, and each start "
			"tries again",
			found.unrestored);
}

/* Reports a missing driver or capability, which makes open() fail. */
static bool msr_check_open(const struct msr_checker *k, struct msr_io *io)
{
	unsigned cpu = msr_first_online(io);
	struct err e;
	int handle = io->ops->open(io, cpu, &e);

	if (handle < 0) {
		k->report(k->arg, CHECK_FAIL, "msr driver", "%s", e.text);
		return false;
	}
	io->ops->close(io, handle);
	k->report(k->arg, CHECK_OK, "msr driver", "CPU %u's registers open", cpu);
	return true;
}

static void msr_check_described(const struct msr_checker *k, struct msr_backend *mb)
{
	struct err e;

	msr_check_types(k, &mb->types);
	msr_check_cpus(k, mb);
	if (msr_probe(mb, &e) < 0)
		k->report(k->arg, CHECK_FAIL, "counters", "%s", e.text);
	else
		k->report(k->arg, CHECK_OK, "counters", "they keep written values");
}

static void msr_check_device(
	const struct msr_checker *k, struct msr_io *io, const struct backend_conf *conf)
{
	CLEANUP_FREE struct msr_backend *mb = calloc(1, sizeof(*mb));
	struct err e;

	if (!mb) {
		k->report(k->arg, CHECK_FAIL, "PMU", "no memory to examine it");
		return;
	}
	if (!msr_check_open(k, io))
		return;
	mb->io = io;
	pending_restore_init(mb);
	if (msr_types_init(&mb->types, io, conf->pmu, &e) < 0)
		k->report(k->arg, CHECK_FAIL, "PMU", "%s", e.text);
	else
		msr_check_described(k, mb);
	pending_restore_free(mb);
	msr_types_free(&mb->types);
}

void msr_check(const struct backend_conf *conf, check_report *report, void *arg)
{
	const struct msr_checker k = {.report = report, .arg = arg};
	struct msr_io *io;
	struct err e;

	if (msr_io_file(conf->dev, &io, &e) < 0) {
		report(arg, CHECK_FAIL, "device directory", "%s", e.text);
		return;
	}
	report(arg, CHECK_OK, "device directory", "%s: %u CPUs",
		conf->dev ? conf->dev : MSR_DEV_DEFAULT, io->ops->cpu_limit(io));
	if (io->kernel)
		msr_check_kernel(&k);
	msr_check_device(&k, io, conf);
	msr_check_journals(&k, conf);
	io->ops->free(io);
}

// SPDX-License-Identifier: MIT
#include "daemon/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "backend/pmu/catalog.h"
#include "daemon/bpf/sched.h"
#include "daemon/percpu/ip_sampler.h"

__attribute__((format(printf, 4, 5))) static void check_report_item(
	void *arg, enum check_result r, const char *thing, const char *fmt, ...)
{
	static const char *const words[] = {
		[CHECK_OK] = "ok", [CHECK_NOTE] = "note", [CHECK_FAIL] = "FAIL"};
	unsigned *failures = arg;
	va_list ap;

	*failures += r == CHECK_FAIL;
	printf("%-5s %s: ", words[r], thing);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static void check_access(
	unsigned *failures, const char *thing, const char *path, const char *remedy)
{
	if (access(path, R_OK | W_OK) == 0)
		check_report_item(failures, CHECK_OK, thing, "%s", path);
	else
		check_report_item(
			failures, CHECK_FAIL, thing, "%s: %s: %s", path, err_name(errno), remedy);
}

/* Without a helper, mount(8) says "wrong fs type". */
static void check_mount_helper(unsigned *failures)
{
	if (access("/sbin/mount.fuse", X_OK) < 0 && access("/sbin/mount.fuse.perfmonfs", X_OK) < 0)
		check_report_item(failures, CHECK_NOTE, "mount helper",
			"no /sbin/mount.fuse: /etc/fstab and mount -t fuse.perfmonfs need the "
			"package fuse3");
}

/* For a backend without a check of its own. */
static void check_opens(
	const struct backend_ops *ops, const struct backend_conf *conf, unsigned *failures)
{
	struct backend *be;
	struct err e;

	if (ops->open(conf, &be, &e) < 0) {
		check_report_item(failures, CHECK_FAIL, "backend", "%s", e.text);
		return;
	}
	check_report_item(failures, CHECK_OK, "backend", "%s: %s", be->ops->name, be->pmu->name);
	be->ops->close(be);
}

static void check_probe(
	unsigned *failures, const char *thing, int (*probe)(struct err *e), const char *ok)
{
	struct err e;

	if (probe(&e) < 0)
		check_report_item(failures, CHECK_NOTE, thing, "%s", e.text);
	else
		check_report_item(failures, CHECK_OK, thing, "%s", ok);
}

static void check_config(const struct options *o, struct config *config, unsigned *failures)
{
	struct err e;

	if (options_load_config(o, config, &e) < 0)
		check_report_item(failures, CHECK_FAIL, "configuration", "%s", e.text);
	else
		check_report_item(failures, CHECK_OK, "configuration", "%s",
			o->config ? o->config : CONFIG_FILE " or defaults");
	if (config->sys_group.kind == GROUP_NONE)
		check_report_item(failures, CHECK_NOTE, "sys_group",
			"none, so that only root may monitor CPUs: groupadd perfmon, or name a "
			"group in the configuration");
}

static void check_backend(struct options *o, const struct config *config, unsigned *failures)
{
	const struct backend_ops *ops;
	struct err e;

	if (options_find_backend(o, config, &ops, &e) < 0) {
		check_report_item(failures, CHECK_FAIL, "backend", "%s", e.text);
		return;
	}
	if (ops->check)
		ops->check(&o->conf, check_report_item, failures);
	else
		check_opens(ops, &o->conf, failures);
	if (ops->simulated)
		return;
	check_probe(failures, "sampling", ip_sampler_probe, "samples name the running thread");
	check_probe(failures, "threads", sched_probe, "can be monitored on all CPUs");
}

/* @arg points to the file's path. */
static void check_pmu_mistake(void *arg, unsigned line, const char *text)
{
	const char *const *path = arg;

	printf("%s:%u: %s\n", *path, line, text);
}

int check_pmu_file(const char *path)
{
	struct err e;
	int n = pmu_check_file(path, check_pmu_mistake, &path, &e);

	if (n < 0)
		fprintf(stderr, "perfmonfs: %s\n", e.text);
	return n ? 1 : 0;
}

/* Loads the PMU descriptions. Those that are not used are reported on stderr. */
static void check_pmu_dir(const struct options *o, unsigned *failures)
{
	struct err e;

	if (pmu_load_dir(o->pmu_dir, &e) < 0)
		check_report_item(failures, CHECK_FAIL, "PMU descriptions", "%s", e.text);
}

int check_machine(struct options *o)
{
	struct config config;
	unsigned failures = 0;

	check_report_item(&failures, geteuid() ? CHECK_FAIL : CHECK_OK, "user", "%s",
		geteuid() ? "not root: run with sudo" : "root");
	check_access(&failures, "FUSE", "/dev/fuse", geteuid() ? "run as root" : "modprobe fuse");
	check_mount_helper(&failures);
	check_config(o, &config, &failures);
	check_pmu_dir(o, &failures);
	check_backend(o, &config, &failures);
	printf("%s\n",
		failures ? "perfmonfs cannot run here: see FAIL above" : "perfmonfs can run here");
	return failures ? 1 : 0;
}

/* SPDX-License-Identifier: MIT */
/* The command line of perfmonfs. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include "base/text.h"
#include "daemon/config/config.h"
#include "perfmonfs/backend.h"

#define CONFIG_FILE "/etc/perfmonfs.conf"
#define PMU_DIR     "/etc/perfmonfs/pmu.d"

struct options {
	/* The word of --backend; NULL: that of the configuration file, or the default. */
	const char *backend;
	struct backend_conf conf;
	/* The word of --clock; NULL: the default. */
	const char *clock;
	/* The number of --sim-cpus; NULL: the default. */
	const char *sim_cpus;
	/* The word of --threads; NULL: the default. */
	const char *threads;
	/* The directory of sampling formats; NULL: none. */
	const char *formats;
	/* The directory of PMU descriptions, and a description to be checked instead of serving.
	 * Either may be NULL. */
	const char *pmu_dir, *pmu_check;
	/* The configuration file; NULL: CONFIG_FILE, if it exists. */
	const char *config;
	bool foreground, check, nopassthrough;
	/* Comma-separated; NULL: none. */
	const char *mount_opts;
	const char *mountpoint;
	/* N if the mount point is /dev/fd/N, see fs_options; otherwise -1. */
	int connection;
};

/* Sets *@o. @mount_opts is the memory of o->mount_opts. Prints its errors and returns -EINVAL;
 * --help and --version end the process. */
int options_parse(int argc, char **argv, struct options *o, struct text *mount_opts);

/* Loads the configuration file over the defaults. */
int options_load_config(const struct options *o, struct config *config, struct err *e);

/* Sets o->conf, which may point into @config. EINVAL: there is no such backend. */
int options_find_backend(struct options *o, const struct config *config,
	const struct backend_ops **ops, struct err *e);

/* Opens the backend; fails as options_find_backend() and backend_ops.open. */
int options_open_backend(
	struct options *o, const struct config *config, struct backend **be, struct err *e);

#endif

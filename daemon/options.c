// SPDX-License-Identifier: MIT
#include "daemon/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/version.h"
#include "daemon/core/request.h"

#define RUN_DIR "/run/perfmonfs"

static const char usage[] =
	"usage: perfmonfs [options] [SOURCE] MOUNTPOINT\n       perfmonfs --check [options]\n      "
	" perfmonfs --pmu-check=FILE\n\nThe perfmon2 interface as a filesystem. SOURCE, which "
	"mount(8) passes, is ignored.\n\n  --backend=NAME    access to the counters; see below\n  "
	"--clock=WORD      time of the sim backend: real (default), or script: sim/advance\n  "
	"--sim-cpus=N      CPUs of the sim backend (default: 4)\n  --threads=WORD    with the perf "
	"backend, contexts on threads are switched by the kernel where\n                    it can "
	"(kernel, the default), or by the daemon (ctxsw)\n  --dev=DIR         directory of N/msr "
	"and N/cpuid (default: /dev/cpu)\n  --pmu=NAME|FILE   use this PMU description instead of "
	"detecting one\n  --pmu-dir=DIR     more PMU descriptions, *.pmu (default: " PMU_DIR ")\n"
	"  --pmu-check=FILE  tell the mistakes in a PMU description; status 0: none\n"
	"  --config=FILE     global properties (default: " CONFIG_FILE ")\n"
	"  --formats=DIR     sampling formats, *.so (default: " FORMATS_DIR ")\n"
	"  --check           examine the machine and report what is missing; status 0: nothing\n"
	"  -f, --foreground  stay in the foreground\n"
	"  -o WORDS          the options above that take a value, without dashes; mount options;\n"
	"                    nopassthrough: map memory without FUSE passthrough;\n"
	"                    nonempty: hide what is in MOUNTPOINT\n"
	"  -V, --version     -h, --help\n";

/* Options that take a value: also words of -o. */
enum {
	OPT_BACKEND = 256,
	OPT_CLOCK,
	OPT_SIM_CPUS,
	OPT_THREADS,
	OPT_DEV,
	OPT_PMU,
	OPT_PMU_DIR,
	OPT_PMU_CHECK,
	OPT_CONFIG,
	OPT_FORMATS,
	OPT_VALUES_END,
	OPT_CHECK
};

static const struct option long_options[] = {
	{"backend", required_argument, NULL, OPT_BACKEND},
	{"clock", required_argument, NULL, OPT_CLOCK},
	{"sim-cpus", required_argument, NULL, OPT_SIM_CPUS},
	{"threads", required_argument, NULL, OPT_THREADS},
	{"dev", required_argument, NULL, OPT_DEV},
	{"pmu", required_argument, NULL, OPT_PMU},
	{"pmu-dir", required_argument, NULL, OPT_PMU_DIR},
	{"pmu-check", required_argument, NULL, OPT_PMU_CHECK},
	{"config", required_argument, NULL, OPT_CONFIG},
	{"formats", required_argument, NULL, OPT_FORMATS},
	{"check", no_argument, NULL, OPT_CHECK},
	{"foreground", no_argument, NULL, 'f'},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* The options, and the names that some of them take. */
static void options_help(void)
{
	TEXT_CLEANUP struct text t = {0};

	text_printf(&t, "%s\nBackends (default: %s; no other one is used instead):", usage,
		backends[0]->name);
	for (unsigned i = 0; backends[i]; i++) {
		text_printf(&t, " ");
		backend_usage(backends[i], &t);
	}
	for (unsigned i = 0; backends[i]; i++) {
		if (!backends[i]->model_name)
			continue;
		text_printf(&t, "\nModels of %s:", backends[i]->name);
		for (unsigned m = 0; backends[i]->model_name(m); m++)
			text_printf(&t, " %s", backends[i]->model_name(m));
	}
	text_printf(&t, "\nBuilt-in PMU descriptions:");
	for (unsigned i = 0; pmu_model_name(i); i++)
		text_printf(&t, " %s", pmu_model_name(i));
	puts(text_ok(&t) ? t.p : usage);
}

/* Where the value of @opt is stored; NULL: it takes none. */
static const char **options_value(struct options *o, int opt)
{
	const char **const values[] = {
		[OPT_BACKEND - OPT_BACKEND] = &o->backend,
		[OPT_CLOCK - OPT_BACKEND] = &o->clock,
		[OPT_SIM_CPUS - OPT_BACKEND] = &o->sim_cpus,
		[OPT_THREADS - OPT_BACKEND] = &o->threads,
		[OPT_DEV - OPT_BACKEND] = &o->conf.dev,
		[OPT_PMU - OPT_BACKEND] = &o->conf.pmu,
		[OPT_PMU_DIR - OPT_BACKEND] = &o->pmu_dir,
		[OPT_PMU_CHECK - OPT_BACKEND] = &o->pmu_check,
		[OPT_CONFIG - OPT_BACKEND] = &o->config,
		[OPT_FORMATS - OPT_BACKEND] = &o->formats,
	};

	return opt >= OPT_BACKEND && opt < OPT_VALUES_END ? values[opt - OPT_BACKEND] : NULL;
}

/* Sets the option in @word of -o. False if it is a mount option. */
static bool options_set_word(struct options *o, const char *word)
{
	if (strcmp(word, "nopassthrough") == 0) {
		o->nopassthrough = true;
		return true;
	}
	for (const struct option *l = long_options; l->has_arg == required_argument; l++) {
		size_t n = strlen(l->name);

		if (strncmp(word, l->name, n) == 0 && word[n] == '=') {
			*options_value(o, l->val) = word + n + 1;
			return true;
		}
	}
	return false;
}

/* Parses the argument of -o. Cuts it in place: arguments live as long as the process. */
static void options_parse_words(struct options *o, char *arg, struct text *mount_opts)
{
	char *save;

	for (char *w = strtok_r(arg, ",", &save); w; w = strtok_r(NULL, ",", &save))
		if (!options_set_word(o, w))
			text_printf(mount_opts, "%s%s", mount_opts->n ? "," : "", w);
}

/* Recognizes the mount point /dev/fd/N, as libfuse does. */
static int options_find_connection(struct options *o)
{
	static const char prefix[] = "/dev/fd/";
	uint64_t fd;
	struct err e;

	o->connection = -1;
	if (!o->mountpoint || strncmp(o->mountpoint, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	if (num_max(slice_of(o->mountpoint + sizeof(prefix) - 1), INT_MAX, &fd, &e) < 0) {
		fprintf(stderr, "perfmonfs: %s: %s\n", o->mountpoint, e.text);
		return -EINVAL;
	}
	o->connection = (int)fd;
	return 0;
}

/* The directories of a machine are for all its users, and are root's. A connection has one user. */
static void options_set_defaults(struct options *o)
{
	if (o->connection >= 0)
		return;
	o->formats = o->formats ? o->formats : FORMATS_DIR;
	o->pmu_dir = o->pmu_dir ? o->pmu_dir : PMU_DIR;
}

int options_parse(int argc, char **argv, struct options *o, struct text *mount_opts)
{
	int c;

	*o = (struct options){
		.conf = {.dev = "/dev/cpu", .run_dir = RUN_DIR},
	};
	opterr = 0;
	while ((c = getopt_long(argc, argv, "fo:Vh", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_CHECK:
			o->check = true;
			break;
		case 'f':
			o->foreground = true;
			break;
		case 'o':
			options_parse_words(o, optarg, mount_opts);
			break;
		case 'V':
			printf("perfmonfs %s\n", PERFMONFS_VERSION);
			exit(0);
		case 'h':
			options_help();
			exit(0);
		default:
			if (options_value(o, c)) {
				*options_value(o, c) = optarg;
				break;
			}
			fprintf(stderr,
				"perfmonfs: option '%s': EINVAL: it is unknown, or its value is "
				"missing: see perfmonfs --help\n",
				argv[optind - 1]);
			return -EINVAL;
		}
	}
	if (!o->check && !o->pmu_check && optind != argc - 1 && optind != argc - 2) {
		fprintf(stderr, "perfmonfs: give a mount point (see --help)\n");
		return -EINVAL;
	}
	o->mount_opts = mount_opts->p;
	o->mountpoint = optind < argc ? argv[argc - 1] : NULL;
	if (options_find_connection(o) < 0)
		return -EINVAL;
	options_set_defaults(o);
	return 0;
}

int options_load_config(const struct options *o, struct config *config, struct err *e)
{
	config_init(config);
	if (o->connection >= 0 && !o->config) {
		config->audit = false;
		return 0;
	}
	return config_load(config, o->config ? o->config : CONFIG_FILE, o->config, e);
}

int options_find_backend(struct options *o, const struct config *config,
	const struct backend_ops **ops, struct err *e)
{
	const char *configured = config->backend[0] ? config->backend : NULL;

	return backend_find(o->backend ? o->backend : configured, &o->conf, ops, e);
}

static int options_set_clock(struct options *o, const struct backend_ops *ops, struct err *e)
{
	o->conf.real_time = !o->clock || strcmp(o->clock, "real") == 0;
	if (!o->conf.real_time && strcmp(o->clock, "script") != 0)
		return err_set(e, EINVAL, "--clock=%.40s: EINVAL: write real or script", o->clock);
	if (o->clock && !ops->simulated)
		return err_set(
			e, EINVAL, "--clock is for --backend=sim, not for %s: EINVAL", ops->name);
	return 0;
}

static int options_set_sim_cpus(struct options *o, const struct backend_ops *ops, struct err *e)
{
	uint64_t n = 0;

	if (o->sim_cpus && num_within(slice_of(o->sim_cpus), 1, CPUS_MAX, &n, e) < 0)
		return err_prefix(e, "--sim-cpus=%.40s: %s", o->sim_cpus, err_name(e->no));
	if (o->sim_cpus && !ops->simulated)
		return err_set(e, EINVAL, "--sim-cpus is for --backend=sim, not for %s: EINVAL",
			ops->name);
	o->conf.cpus = (unsigned)n;
	return 0;
}

static int options_set_threads(struct options *o, const struct backend_ops *ops, struct err *e)
{
	o->conf.no_threads = o->threads && strcmp(o->threads, "ctxsw") == 0;
	if (o->threads && !o->conf.no_threads && strcmp(o->threads, "kernel") != 0)
		return err_set(
			e, EINVAL, "--threads=%.40s: EINVAL: write kernel or ctxsw", o->threads);
	if (o->threads && !ops->thread_open)
		return err_set(e, EINVAL,
			"--threads is for backends that can open threads, and %s cannot: EINVAL",
			ops->name);
	return 0;
}

int options_open_backend(
	struct options *o, const struct config *config, struct backend **be, struct err *e)
{
	const struct backend_ops *ops;
	int rc = options_find_backend(o, config, &ops, e);

	if (rc == 0)
		rc = options_set_clock(o, ops, e);
	if (rc == 0)
		rc = options_set_sim_cpus(o, ops, e);
	if (rc == 0)
		rc = options_set_threads(o, ops, e);
	return rc < 0 ? rc : ops->open(&o->conf, be, e);
}

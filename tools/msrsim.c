// SPDX-License-Identifier: MIT
/* msrsim, a replacement of /dev/cpu: options, mounting and logging. msrsim_fs.c has the files. */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_lowlevel.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/version.h"
#include "tools/msrsim_fs.h"

struct options {
	const char *model, *log, *mountpoint;
	uint64_t cpus;
	bool real_clock, foreground;
};

static const char usage[] =
	"Usage: msrsim [options] MOUNTPOINT\n"
	"Serve a model of CPUs with performance counters as /dev/cpu would be: N/msr, N/cpuid.\n"
	"\n"
	"  --model=NAME         one of the models below (default " HW_DEFAULT_MODEL
	")\n  --cpus=N             how many CPUs (default 4)\n  --clock=real|script  time passes "
	"as it does (default), or only by sim/advance\n  --log=FILE           write a line to FILE "
	"for each register access\n  -f                   stay in the foreground\n  -h, --help     "
	"      show this help\n  -V, --version        show the version\n";

enum { OPT_MODEL = 256, OPT_CPUS, OPT_CLOCK, OPT_LOG };

static const struct option long_options[] = {
	{"model", required_argument, NULL, OPT_MODEL},
	{"cpus", required_argument, NULL, OPT_CPUS},
	{"clock", required_argument, NULL, OPT_CLOCK},
	{"log", required_argument, NULL, OPT_LOG},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{0},
};

static int msrsim_set_clock(const char *arg, struct options *o, struct err *e)
{
	o->real_clock = !strcmp(arg, "real");
	if (!o->real_clock && strcmp(arg, "script") != 0)
		return err_set(e, EINVAL, "--clock=%s: choose real or script", arg);
	return 0;
}

static void msrsim_help(void)
{
	fputs(usage, stdout);
	puts("\nModels, by their counters:");
	for (unsigned i = 0; hw_model_name(i); i++)
		if (hw_model_has_msrs(i))
			printf("  %-12s%s\n", hw_model_name(i), hw_model_counters(i));
}

/* Returns 1 if help or the version was requested and is printed. */
static int msrsim_options(int argc, char **argv, struct options *o, struct err *e)
{
	int c, rc = 0;

	while (!rc && (c = getopt_long(argc, argv, "fhV", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_MODEL:
			o->model = optarg;
			break;
		case OPT_CPUS:
			rc = num_max(slice_of(optarg), UINT_MAX, &o->cpus, e);
			break;
		case OPT_CLOCK:
			rc = msrsim_set_clock(optarg, o, e);
			break;
		case OPT_LOG:
			o->log = optarg;
			break;
		case 'f':
			o->foreground = true;
			break;
		case 'h':
			msrsim_help();
			return 1;
		case 'V':
			puts("msrsim " PERFMONFS_VERSION);
			return 1;
		default:
			return err_set(e, EINVAL, "see msrsim --help");
		}
	}
	if (!rc && optind != argc - 1)
		return err_set(e, EINVAL, "give one mount point; see msrsim --help");
	o->mountpoint = argv[optind];
	return rc;
}

/* Serves until unmounted or until a signal; then undoes its steps in reverse order. */
static int msrsim_serve(
	struct fuse_session *se, struct msrsim *s, const struct options *o, struct err *e)
{
	int rc = -1;

	if (fuse_set_signal_handlers(se) < 0)
		return err_set(e, EINVAL, "cannot catch signals");
	if (fuse_session_mount(se, o->mountpoint) < 0) {
		err_set(e, EIO, "cannot mount on %s; see the message above", o->mountpoint);
		goto out_signals;
	}
	if (fuse_daemonize(o->foreground) < 0) {
		err_set(e, errno, "cannot go to the background (%s)", err_name(errno));
		goto out_mount;
	}
	s->clock_seen = msrsim_clock();
	/* A positive value is the signal that ended it. */
	rc = fuse_session_loop(se);
	if (rc < 0)
		err_set(e, -rc, "serving %s failed (%s)", o->mountpoint, err_name(-rc));
	else
		rc = 0;
out_mount:
	fuse_session_unmount(se);
out_signals:
	fuse_remove_signal_handlers(se);
	return rc;
}

static int msrsim_run(struct msrsim *s, const struct options *o, struct err *e)
{
	char name[] = "msrsim", flag[] = "-o";
	char mount[] = "fsname=msrsim,subtype=msrsim,default_permissions";
	char *argv[] = {name, flag, mount, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse_session *se = fuse_session_new(&args, msrsim_ops, sizeof(*msrsim_ops), s);
	int rc;

	if (se) {
		rc = msrsim_serve(se, s, o, e);
		fuse_session_destroy(se);
	} else {
		rc = err_set(e, ENOMEM, "cannot create a FUSE session; see the message above");
	}
	fuse_opt_free_args(&args);
	return rc;
}

static int msrsim_open_log(struct msrsim *s, const char *path, struct err *e)
{
	s->log = fopen(path, "we");
	if (!s->log)
		return err_set(e, errno, "cannot write the log %s (%s)", path, err_name(errno));
	hw_log(s->hw, &s->log_text);
	return 0;
}

/* Fails if any line could not be written, which makes the exit status 1. */
static int msrsim_close_log(struct msrsim *s, const char *path, struct err *e)
{
	bool failed = ferror(s->log);

	if (fclose(s->log) != 0 || failed)
		return err_set(e, EIO, "the log %s is incomplete; is its filesystem full?", path);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = {.model = HW_DEFAULT_MODEL, .cpus = 4, .real_clock = true};
	struct msrsim s = {0};
	struct err e = {0};
	int rc = msrsim_options(argc, argv, &o, &e);

	if (rc > 0)
		return 0;
	if (!rc)
		rc = hw_new(o.model, (unsigned)o.cpus, &s.hw, &e);
	if (!rc && !hw_has_msrs(s.hw))
		rc = err_set(&e, EINVAL,
			"%s has no MSRs (EINVAL): try it with perfmonfs --backend=sim:%s", o.model,
			o.model);
	if (!rc && o.log)
		rc = msrsim_open_log(&s, o.log, &e);
	if (!rc) {
		s.real_clock = o.real_clock;
		rc = msrsim_run(&s, &o, &e);
	}
	if (s.log && msrsim_close_log(&s, o.log, &e) < 0)
		rc = -e.no;
	text_free(&s.log_text);
	hw_free(s.hw);
	if (rc < 0)
		fprintf(stderr, "msrsim: %s\n", e.text);
	return rc < 0 ? 1 : 0;
}

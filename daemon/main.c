// SPDX-License-Identifier: MIT
/* perfmonfs: options, the backend, and life as a daemon. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "daemon/cpu/witness.h"
#include "daemon/format/format.h"
#include "daemon/fs/fs.h"
#include "daemon/track/sched.h"
#include "formats/formats.h"

#define CONFIG_FILE "/etc/perfmonfs.conf"
#define RUN_DIR     "/run/perfmonfs"
#define FORMATS_DIR "/usr/local/lib/perfmonfs"

struct options {
	const char *backend; /* NULL: msr, or say what is missing */
	struct backend_conf conf;
	const char *formats; /* directory of sampling formats */
	const char *config;  /* NULL: the default file, if there is one */
	bool foreground, check, nopassthrough;
	char *mount_opts;
	const char *mountpoint;
};

static const char usage[] =
	"usage: perfmonfs [options] [SOURCE] MOUNTPOINT\n"
	"       perfmonfs --check [options]\n"
	"\n"
	"The perfmon2 interface as a filesystem. SOURCE is ignored: mount(8) gives one.\n"
	"\n"
	"  --backend=msr|perf|sim[:MODEL]  where counters are (default: msr; never another by "
	"itself)\n"
	"  --dev=DIR         where N/msr and N/cpuid are (default: /dev/cpu)\n"
	"  --pmu=NAME|FILE   use this PMU description instead of detecting one\n"
	"  --config=FILE     global properties (default: " CONFIG_FILE ")\n"
	"  --formats=DIR     sampling formats, *.so (default: " FORMATS_DIR ")\n"
	"  --check           examine the machine and say what is missing; 0 if it can serve\n"
	"  -f, --foreground  do not go into the background\n"
	"  -o WORDS          the options above that have a value, without dashes; mount options;\n"
	"                    nopassthrough: do not have the kernel map memory itself\n"
	"  -V, --version     -h, --help\n";

enum { OPT_BACKEND = 256, OPT_DEV, OPT_PMU, OPT_CONFIG, OPT_FORMATS, OPT_CHECK };

static const struct option long_options[] = {
	{"backend", required_argument, NULL, OPT_BACKEND},
	{"dev", required_argument, NULL, OPT_DEV},
	{"pmu", required_argument, NULL, OPT_PMU},
	{"config", required_argument, NULL, OPT_CONFIG},
	{"formats", required_argument, NULL, OPT_FORMATS},
	{"check", no_argument, NULL, OPT_CHECK},
	{"foreground", no_argument, NULL, 'f'},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* One that takes a value, whichever way it was given: false if it is none of these. */
static bool set_option(struct options *o, int opt, const char *value)
{
	switch (opt) {
	case OPT_BACKEND:
		o->backend = value;
		return true;
	case OPT_DEV:
		o->conf.dev = value;
		return true;
	case OPT_PMU:
		o->conf.pmu = value;
		return true;
	case OPT_CONFIG:
		o->config = value;
		return true;
	case OPT_FORMATS:
		o->formats = value;
		return true;
	}
	return false;
}

/* Takes a word that is an option of ours; others are left to the mount. */
static bool own_option(struct options *o, const char *word)
{
	static const struct {
		const char *key;
		int opt;
	} keys[] = {{"backend=", OPT_BACKEND}, {"dev=", OPT_DEV}, {"pmu=", OPT_PMU},
		{"config=", OPT_CONFIG}, {"formats=", OPT_FORMATS}};

	if (strcmp(word, "nopassthrough") == 0) {
		o->nopassthrough = true;
		return true;
	}
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *value = word + strlen(keys[i].key);

		if (strncmp(word, keys[i].key, strlen(keys[i].key)) == 0)
			return set_option(o, keys[i].opt, value);
	}
	return false;
}

/* Words of -o: @arg is cut in place, as getopt's arguments live as long as the program. */
static void dash_o(struct options *o, char *arg, struct text *mount_opts)
{
	char *save;

	for (char *w = strtok_r(arg, ",", &save); w; w = strtok_r(NULL, ",", &save))
		if (!own_option(o, w))
			text_printf(mount_opts, "%s%s", mount_opts->n ? "," : "", w);
}

static int parse_options(int argc, char **argv, struct options *o, struct text *mount_opts)
{
	int c;

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
			dash_o(o, optarg, mount_opts);
			break;
		case 'V':
			printf("perfmonfs %s\n", PERFMONFS_VERSION);
			exit(0);
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			if (set_option(o, c, optarg))
				break;
			fprintf(stderr, "perfmonfs: option '%s': EINVAL: see perfmonfs --help\n",
				argv[optind - 1]);
			return -EINVAL;
		}
	}
	if (!o->check && optind != argc - 1 && optind != argc - 2) {
		fprintf(stderr, "perfmonfs: give a mount point (see --help)\n");
		return -EINVAL;
	}
	o->mountpoint = optind < argc ? argv[argc - 1] : NULL;
	return 0;
}

static int open_backend(struct options *o, struct backend **be, struct err *e)
{
	const char *name = o->backend ? o->backend : "msr";

	if (strcmp(name, "msr") == 0)
		return msr_backend_open(&o->conf, be, e);
	if (strcmp(name, "perf") == 0)
		return perf_backend_open(&o->conf, be, e);
	if (strcmp(name, "sim") == 0 || strncmp(name, "sim:", 4) == 0) {
		o->conf.model = name[3] ? name + 4 : NULL;
		return sim_backend_open(&o->conf, be, e);
	}
	return err_set(e, EINVAL, "backend '%s': EINVAL: choose msr, perf or sim[:MODEL]", name);
}

/* --check */

static void __attribute__((format(printf, 4, 5)))
report(void *arg, enum check_result r, const char *thing, const char *fmt, ...)
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
		report(failures, CHECK_OK, thing, "%s", path);
	else
		report(failures, CHECK_FAIL, thing, "%s: %s: %s", path, err_name(errno), remedy);
}

/* A backend without a check of its own: whether it opens says it all. */
static void check_opens(struct options *o, unsigned *failures)
{
	struct backend *be;
	struct err e;

	if (open_backend(o, &be, &e) < 0) {
		report(failures, CHECK_FAIL, "backend", "%s", e.text);
		return;
	}
	report(failures, CHECK_OK, "backend", "%s: %s", o->backend, be->pmu->name);
	be->ops->close(be);
}

static void check_witness(unsigned *failures)
{
	struct err e;

	if (witness_probe(&e) < 0)
		report(failures, CHECK_NOTE, "sampling", "%s", e.text);
	else
		report(failures, CHECK_OK, "sampling", "can tell who was running");
}

static void check_sched(unsigned *failures)
{
	struct err e;

	if (sched_probe(&e) < 0)
		report(failures, CHECK_NOTE, "threads", "%s", e.text);
	else
		report(failures, CHECK_OK, "threads", "can be followed from CPU to CPU");
}

static int check(struct options *o)
{
	const char *name = o->backend ? o->backend : "msr";
	struct config config;
	unsigned failures = 0;
	struct err e;

	report(&failures, geteuid() ? CHECK_FAIL : CHECK_OK, "user", "%s",
		geteuid() ? "not root: run with sudo" : "root");
	check_access(&failures, "FUSE", "/dev/fuse", "modprobe fuse");
	config_init(&config);
	if (config_load(&config, o->config ? o->config : CONFIG_FILE, o->config, &e) < 0)
		report(&failures, CHECK_FAIL, "configuration", "%s", e.text);
	else
		report(&failures, CHECK_OK, "configuration", "%s",
			o->config ? o->config : CONFIG_FILE " or defaults");
	if (config.sys_group.kind == GROUP_NONE)
		report(&failures, CHECK_NOTE, "sys_group",
			"none: only root loads contexts on CPUs: groupadd perfmon, or name a group "
			"in the configuration");
	if (strcmp(name, "perf") == 0)
		perf_backend_check(&o->conf, report, &failures);
	else if (strcmp(name, "msr") == 0)
		msr_backend_check(&o->conf, report, &failures);
	else
		check_opens(o, &failures);
	if (strncmp(name, "sim", 3) != 0) {
		check_witness(&failures);
		check_sched(&failures);
	}
	printf("%s\n", failures ? "this machine cannot serve as it is" : "this machine can serve");
	return failures ? 1 : 0;
}

/* Life as a daemon */

struct readiness {
	int pipe; /* to the parent that waits; -1 in the foreground */
};

/* systemd's readiness protocol: a datagram to the socket that the environment names. */
static void notify_systemd(void)
{
	static const char message[] = "READY=1";
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	CLEANUP_CLOSE int fd = -1;
	size_t n = path ? strlen(path) : 0;

	if (!n || n >= sizeof(addr.sun_path))
		return;
	memcpy(addr.sun_path, path, n);
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		sendto(fd, message, sizeof(message) - 1, MSG_NOSIGNAL, (struct sockaddr *)&addr,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

static void ready(void *arg)
{
	struct readiness *r = arg;
	CLEANUP_CLOSE int null = -1;
	char ok = 0;
	int rc;

	notify_systemd();
	if (r->pipe < 0)
		return;
	/* Only now: until here, relative paths are those of whoever gave them. */
	rc = chdir("/");
	(void)rc;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (write(r->pipe, &ok, 1) == 1)
		close(r->pipe);
	r->pipe = -1;
}

/* The parent stays until the child serves or has said why it does not; only the child returns. */
static int detach(struct readiness *r, struct err *e)
{
	int fds[2];
	char ok;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(e, errno, "pipe: %s", err_name(errno));
	pid = fork();
	if (pid < 0)
		return err_set(e, errno, "fork: %s", err_name(errno));
	if (pid == 0) {
		close(fds[0]);
		r->pipe = fds[1];
		setsid();
		return 0;
	}
	close(fds[1]);
	if (read(fds[0], &ok, 1) == 1)
		_exit(0);
	waitpid(pid, NULL, 0);
	_exit(1);
}

/* The built-in sampling formats, then those of the directory. */
static int find_formats(const struct options *o, struct err *e)
{
	int rc = formats_register(builtin_formats, e);

	return rc < 0 ? rc : formats_load(o->formats, e);
}

static int run(struct options *o, struct err *e)
{
	struct readiness readiness = {.pipe = -1};
	CLEANUP_FREE char *mountpoint = realpath(o->mountpoint, NULL);
	CLEANUP_FREE char *dev = realpath(o->conf.dev, NULL);
	struct fs_options fs = {
		/* A dead mount has no real path; its own name must do then. */
		.mountpoint = mountpoint ? mountpoint : o->mountpoint,
		.mount_opts = o->mount_opts,
		.nopassthrough = o->nopassthrough,
		.ready = ready,
		.ready_arg = &readiness,
	};
	struct config config;
	struct backend *be;
	sigset_t set;
	int rc;

	if (geteuid() != 0)
		return err_set(e, EPERM, "not root: EPERM: run with sudo");
	if (dev)
		o->conf.dev = dev;
	config_init(&config);
	rc = config_load(&config, o->config ? o->config : CONFIG_FILE, o->config, e);
	if (rc == 0)
		rc = find_formats(o, e);
	if (rc == 0 && !o->foreground)
		rc = detach(&readiness, e);
	if (rc < 0)
		return rc;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	rc = open_backend(o, &be, e);
	if (rc < 0)
		return rc;
	rc = fs_serve(be, &config, &fs, e);
	be->ops->close(be);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = {
		.conf = {.dev = "/dev/cpu", .run_dir = RUN_DIR}, .formats = FORMATS_DIR};
	TEXT_CLEANUP struct text mount_opts = {0};
	struct err e;
	int fd;

	/* Started with these closed, files of ours would be mistaken for them. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	if (parse_options(argc, argv, &o, &mount_opts) < 0)
		return 2;
	o.mount_opts = mount_opts.p;
	if (o.check)
		return check(&o);
	if (run(&o, &e) < 0) {
		fprintf(stderr, "perfmonfs: %s\n", e.text);
		return 1;
	}
	return 0;
}

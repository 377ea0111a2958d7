// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/bounded.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BOUNDED_NOBODY = 65534 }; /* a group without files */

/* Debugging information names other files that belong to it, which libdw opens, whatever they are.
 * Root must not open a device for a user's file. */
static void bounded_hide_devices(void)
{
	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		(void)mount("none", "/dev", "tmpfs", MS_NOSUID | MS_NODEV, NULL);
}

void bounded_begin(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifndef __SANITIZE_ADDRESS__
	rlim_t most = (rlim_t)sysconf(_SC_PHYS_PAGES) * (rlim_t)sysconf(_SC_PAGESIZE) / 2;

	setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
#endif
}

/* Bounds what a damaged file can take. */
static void bounded_limit(void)
{
	sigset_t none;

	bounded_begin();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGALRM, SIG_DFL);
	signal(SIGXCPU, SIG_DFL);
	alarm(BOUNDED_WAIT);
	setrlimit(RLIMIT_CPU, &(struct rlimit){BOUNDED_SECONDS, BOUNDED_SECONDS + 1});
}

/* The sentence about a process that a signal has ended. */
static int bounded_broken_off(int by, const char *title, struct err *e)
{
	if (by == SIGALRM)
		return err_set(e, ETIMEDOUT,
			"%s was broken off after %d s: debuginfod may be slow (unset "
			"DEBUGINFOD_URLS), or the file system that has the programs",
			title, BOUNDED_WAIT);
	if (by == SIGXCPU)
		return err_set(e, ETIMEDOUT,
			"%s was broken off after %d s of CPU time: debug files are large", title,
			BOUNDED_SECONDS);
	return err_set(e, EIO,
		"%s was ended by signal %d: a program or its debug file may be damaged", title, by);
}

bool bounded_as(uid_t owner)
{
	bool is;

	if (getuid() != 0)
		return true;
	is = seteuid(0) == 0 &&
	     (!owner || (setgroups(0, NULL) == 0 && setegid(BOUNDED_NOBODY) == 0 &&
				seteuid(owner) == 0));
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* The kernel forgets it when the user changes. */
	return is;
}

int bounded_run(int (*work)(void *of, struct err *e), void *of, const char *title, struct err *e)
{
	struct err *shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, rc = 0;
	pid_t pid;

	if (shared == MAP_FAILED)
		return err_set(e, ENOMEM, "no memory for %s", title);
	pid = fork();
	if (pid == 0) {
		bounded_limit();
		bounded_hide_devices();
		_exit(work(of, shared) < 0);
	}
	if (pid < 0)
		rc = err_set(e, errno, "no process for %s: %s", title, err_name(errno));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		rc = bounded_broken_off(WTERMSIG(status), title, e);
	else if (status)
		rc = err_copy(e, shared);
	munmap(shared, sizeof(*shared));
	return rc;
}

// SPDX-License-Identifier: MIT
/*
 * Loading, and where callers must run: on the CPU that a system-wide context monitors
 * (specification 3.1.7), though the daemon would not need it.
 */
#include "lib/lib_i.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/lines.h"

bool load_from_anywhere(void)
{
	const char *s = getenv("PERFMONFS_ANYCPU");

	return s && strcmp(s, "1") == 0;
}

int load_this_cpu(void)
{
	return sched_getcpu();
}

bool load_is_system_wide(const struct target *t)
{
	struct known k;

	known_get(t->inode, &k);
	return k.system_wide;
}

static void note_cpu(const struct target *t, int cpu)
{
	struct known k;

	if (!known_get(t->inode, &k) || !k.system_wide)
		return;
	k.cpu = cpu;
	known_set(t, &k);
}

/* Whether somebody traces that thread. */
static bool is_traced(uint32_t tid)
{
	char path[64] = "/proc/";
	struct lines l;
	bool traced = false;
	char *line;

	strcpy(lines_number(path + strlen(path), tid), "/status");
	if (lines_open(&l, path) < 0)
		return false;
	while ((line = lines_next(&l)) != NULL)
		if (strncmp(line, "TracerPid:", 10) == 0)
			traced = strcmp(line, "TracerPid:\t0") != 0;
	lines_close(&l);
	return traced;
}

/* As clients have it stopped who trace it: the daemon then does without tracing it. */
static int load_traced(const struct target *t, const struct pfm_ioc_load *load)
{
	char text[64] = "load tid=";
	int fd = target_open(t, "ctl", O_WRONLY), err;
	char *end = lines_number(text + strlen(text), load->target);
	ssize_t n;

	if (fd < 0)
		return fail(EBUSY);
	strcpy(end, " set=");
	strcpy(lines_number(end + strlen(end), load->set), " ptrace=no");
	n = write(fd, text, strlen(text));
	err = errno;
	close(fd);
	return n < 0 ? fail(err) : 0;
}

int load_context(const struct target *t, struct pfm_ioc_load *load)
{
	if (load_is_system_wide(t) && (int)load->target != load_this_cpu() && !load_from_anywhere())
		return fail(EINVAL);
	int rc = target_command(t, PFM_IOC_LOAD, load);
	if (rc < 0 && errno == EBUSY && !load_is_system_wide(t) && is_traced(load->target))
		rc = load_traced(t, load);
	if (rc < 0)
		return -1;
	note_cpu(t, (int)load->target);
	return 0;
}

int unload_context(const struct target *t)
{
	if (target_command(t, PFM_IOC_UNLOAD, NULL) < 0)
		return -1;
	note_cpu(t, KNOWN_NO_CPU);
	return 0;
}

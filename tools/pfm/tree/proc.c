// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/pfm/text/names.h"

void proc_name(int id, char name[PROC_NAME])
{
	char path[32];
	CLEANUP_FCLOSE FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/comm", id);
	f = fopen(path, "re");
	if (!f || !fgets(name, PROC_NAME, f))
		*name = '\0';
	name[strcspn(name, "\n")] = '\0';
	name_clean(name);
}

/* The number after @key in /proc/ID/status; 0: there is none. */
static int proc_status(int id, const char *key)
{
	char path[32], line[128];
	int found = 0;
	CLEANUP_FCLOSE FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/status", id);
	f = fopen(path, "re");
	while (f && found == 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			found = (int)strtol(line + strlen(key), NULL, 10);
	return found;
}

int proc_of_thread(int tid)
{
	return proc_status(tid, "Tgid:");
}

int proc_parent(int pid)
{
	return proc_status(pid, "PPid:");
}

int proc_threads(int pid, int (*each)(void *arg, int tid, struct err *e), void *arg, struct err *e)
{
	char path[32];
	CLEANUP_CLOSEDIR DIR *dir = NULL;
	struct dirent *entry;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return err_set(e, ESRCH, "there is no process %d: `ps -e` lists processes", pid);
	while (rc == 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			rc = each(arg, atoi(entry->d_name), e);
	return rc;
}

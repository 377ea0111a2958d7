// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/pieces.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/num.h"

/* The greatest number that a file may have: more pieces follow. */
#define PIECES_LAST (UINT64_MAX / 2)

/* The number behind "NAME."; 0: @entry is not named like that. */
static uint64_t pieces_number(const char *entry, const char *name)
{
	size_t n = strlen(name);
	uint64_t number = 0;
	struct err ignored;

	if (strncmp(entry, name, n) != 0 || entry[n] != '.' ||
		num_max(slice_of(entry + n + 1), UINT64_MAX, &number, &ignored) < 0)
		return 0;
	return number;
}

static int pieces_set_path(struct pieces *p, struct err *e)
{
	int n = snprintf(p->path, sizeof(p->path), "%s.%" PRIu64, p->file, p->number);

	return n < (int)sizeof(p->path)
		       ? 0
		       : err_set(e, ENAMETOOLONG, "-o: a path of more than %d bytes",
				 PATH_MAX - 24);
}

int pieces_begin(struct pieces *p, const char *file, struct err *e)
{
	const char *slash = strrchr(file, '/');
	CLEANUP_FREE char *parent = strndup(file, slash ? (size_t)(slash - file + 1) : 0);
	CLEANUP_CLOSEDIR DIR *d = parent ? opendir(slash ? parent : ".") : NULL;
	struct dirent *de;

	p->file = file;
	if (!d)
		return err_set(e, errno,
			"-o %s: cannot list the directory, which may have pieces: %s", file,
			err_name(errno));
	p->all = calloc(p->keep, sizeof(*p->all));
	if (!p->all)
		return err_set(e, ENOMEM, "no memory for the names of files");
	while ((de = readdir(d)) != NULL) {
		uint64_t number = pieces_number(de->d_name, slash ? slash + 1 : file);

		p->number = number > p->number ? number : p->number;
	}
	if (p->number > PIECES_LAST)
		return err_set(e, EOVERFLOW, "-o %s: %s.%" PRIu64 " is there: rename it", file,
			file, p->number);
	p->first = ++p->number;
	return pieces_set_path(p, e);
}

void pieces_created(struct pieces *p, int fd)
{
	output_identify(fd, &p->all[p->number % p->keep]);
}

/* Removes the piece in whose place the present one comes. Its user may have done so already. */
static int pieces_remove(struct pieces *p, struct err *e)
{
	char path[PATH_MAX + 24];
	int rc;

	if (p->number - p->first < p->keep)
		return 0;
	snprintf(path, sizeof(path), "%s.%" PRIu64, p->file, p->number - p->keep);
	rc = output_remove(path, &p->all[p->number % p->keep]);
	return rc == 0 || rc == -ENOENT || rc == -ESTALE
		       ? 0
		       : err_set(e, -rc, "cannot remove %s: %s", path, err_name(-rc));
}

int pieces_next(struct pieces *p, struct err *e)
{
	p->number++;
	return pieces_remove(p, e) < 0 ? -e->no : pieces_set_path(p, e);
}

int pieces_completed(struct pieces *p, bool wait, struct err *e)
{
	int status = 0;
	pid_t pid;

	if (!p->finisher)
		return 1;
	do
		pid = waitpid(p->finisher, &status, wait ? 0 : WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (pid == 0)
		return 0;
	p->finisher = 0;
	if (pid > 0 && status)
		return err_set(e, WIFEXITED(status) ? WEXITSTATUS(status) : EIO,
			"the names of %s.%" PRIu64
			" could not be stored: %s; its samples are there",
			p->file, p->number - 1,
			WIFEXITED(status) ? err_name(WEXITSTATUS(status)) : "a signal");
	return 1;
}

uint64_t pieces_oldest(const struct pieces *p)
{
	return p->number - p->first < p->keep ? p->first : p->number - p->keep + 1;
}

void pieces_free(struct pieces *p)
{
	(void)pieces_completed(p, true, &(struct err){0});
	free(p->all);
	p->all = NULL;
}

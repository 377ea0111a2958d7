// SPDX-License-Identifier: MIT
#include "lib/config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/lib_i.h"
#include "lib/lines.h"

enum { VALUE_MAX = 32 };

static int config_read(const char *file, char value[VALUE_MAX])
{
	struct lines l;

	if (mount_open_lines(&l, file) < 0)
		return lib_fail(errno == ENOENT ? ENOSYS : errno);
	const char *line = lines_next(&l);
	snprintf(value, VALUE_MAX, "%s", line ? line : "");
	lines_close(&l);
	return 0;
}

/* Writes @value to @file. Converts errors of the tree to the specification's errors. */
static int config_write(const char *file, const char *value)
{
	int fd = mount_open(file, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : nocancel_write(fd, value, strlen(value));
	int err = errno;

	if (fd >= 0)
		nocancel_close(fd);
	if (n >= 0)
		return 0;
	if (err == EACCES)
		err = EPERM;
	else if (err == ERANGE)
		err = EINVAL;
	else if (err == ENOENT)
		err = ENOSYS;
	return lib_fail(err);
}

int config_number(const char *file, uint64_t *value)
{
	char text[VALUE_MAX];

	if (config_read(file, text) < 0)
		return -1;
	*value = strtoull(text, NULL, 0);
	return 0;
}

int config_set_number(const char *file, uint64_t value)
{
	char text[VALUE_MAX];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return config_write(file, text);
}

int config_group(const char *file, const struct group_words *w, gid_t *gid)
{
	char text[VALUE_MAX];

	if (config_read(file, text) < 0)
		return -1;
	if (strcmp(text, "any") == 0)
		*gid = w->any;
	else if (strcmp(text, "none") == 0)
		*gid = w->none;
	else
		*gid = (gid_t)strtoul(text, NULL, 10);
	return 0;
}

int config_set_group(const char *file, const struct group_words *w, gid_t gid)
{
	if (gid == w->any)
		return config_write(file, "any");
	if (gid == w->none)
		return config_write(file, "none");
	return config_set_number(file, gid);
}

// SPDX-License-Identifier: MIT
#include "base/own_build.h"

#include <string.h>
#include <sys/types.h>
#include <unistd.h>

bool own_build_find(const char *program, const char *file, char path[PATH_MAX])
{
	size_t n = strlen(program), room = strlen(file) + 1;
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *end;

	if (length < (ssize_t)n)
		return false;
	path[length] = '\0';
	end = path + length - n;
	if (strcmp(end, program) != 0 || end + room > path + PATH_MAX)
		return false;
	memcpy(end, file, room);
	return access(path, F_OK) == 0;
}

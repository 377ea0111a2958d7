/* SPDX-License-Identifier: MIT */
/*
 * Files of the build that a program is run from. An installed program has none, so that it opens
 * nothing but what is installed. No path of a build is compiled in: it may have been moved.
 */
#ifndef BASE_OWN_BUILD_H
#define BASE_OWN_BUILD_H

#include <limits.h>
#include <stdbool.h>

/*
 * Finds @file of the build of which this program is @program; both are paths from the build folder,
 * like "/tools/pfm/pfm". False: this program is another file, or the build has no such file.
 * The owner of the file is not checked: a user that can replace it can replace the program, too.
 */
bool own_build_find(const char *program, const char *file, char path[PATH_MAX]);

#endif

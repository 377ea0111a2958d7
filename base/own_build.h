/* SPDX-License-Identifier: MIT */
/*
 * Files of the build folder that a program is run from. An installed program has none, so it opens
 * only installed files. No path is compiled in, because a build folder may have been moved.
 */
#ifndef BASE_OWN_BUILD_H
#define BASE_OWN_BUILD_H

#include <limits.h>
#include <stdbool.h>

/*
 * Finds @file in the build folder whose @program is this program; both are paths from the build
 * folder, like "/tools/pfm/pfm". False: this program is another file, or the build has no such
 * file. The owner of the file is not checked: a user that can replace it can replace the program,
 * too.
 */
bool own_build_find(const char *program, const char *file, char path[PATH_MAX]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Global properties in config/ (specification 3.1.16, 3.1.17). Functions return 0, or -1 with
 * errno: ENOSYS if there is no mount, EPERM if the caller is not root, EINVAL if a value is out of
 * range.
 */
#ifndef PERFMONFS_LIB_CONFIG_H
#define PERFMONFS_LIB_CONFIG_H

#include <stdint.h>
#include <sys/types.h>

int config_number(const char *file, uint64_t *value);
int config_set_number(const char *file, uint64_t value);
/* The values of a version's gid_t that stand for the words "any" and "none". */
struct group_words {
	gid_t any, none;
};
int config_group(const char *file, const struct group_words *w, gid_t *gid);
int config_set_group(const char *file, const struct group_words *w, gid_t gid);

#endif

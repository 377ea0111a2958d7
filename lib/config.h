/* SPDX-License-Identifier: MIT */
/* Global properties, config/ (specification 3.1.16, 3.1.17). */
#ifndef PERFMONFS_LIB_CONFIG_H
#define PERFMONFS_LIB_CONFIG_H

#include <stdint.h>
#include <sys/types.h>

int config_number(const char *file, uint64_t *value);
int config_set_number(const char *file, uint64_t value);
/* Groups: @any and @none stand for these words. */
struct group_words {
	gid_t any, none;
};
int config_group(const char *file, const struct group_words *w, gid_t *gid);
int config_set_group(const char *file, const struct group_words *w, gid_t gid);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Global properties (specification 3.1.16): the files of config/ and, with the same keys, the
 * configuration file. Changes act on what comes after them.
 */
#ifndef FS_CONFIG_H
#define FS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"

enum {
	ARG_SIZE_MIN = 4096, /* the smallest page (specification 4.4.2) */
	ARG_SIZE_LIMIT = 65536,
	SMPL_BUF_SIZE_MIN = 4096,
	SMPL_BUF_SIZE_DEFAULT = 16 << 20,
	TICK_US_MIN = 100,
	TICK_US_DEFAULT = 1000,
	TICK_US_LIMIT = 1000000,
	OVERFLOW_RATE_DEFAULT = 100000,
	OVERFLOW_RATE_LIMIT = 1000000,
};

#define SMPL_BUF_SIZE_LIMIT (1ULL << 40)

/* Whose members may do something. Root always may. */
struct group_rule {
	enum { GROUP_ANY, GROUP_NONE, GROUP_GID } kind;
	gid_t gid;
};

enum allow_kernel { KERNEL_ANY, KERNEL_GROUP, KERNEL_ROOT };

struct config {
	struct group_rule sys_group;    /* monitor a CPU */
	struct group_rule thread_group; /* monitor a thread */
	enum allow_kernel allow_kernel; /* group: those of sys_group */
	uint64_t arg_size_max;          /* bytes of one write */
	uint64_t smpl_buf_size_max;     /* bytes of all sampling buffers together */
	uint64_t tick_us;               /* the shortest time between two looks or two switches */
	uint64_t overflow_rate_max;     /* a second and context, then it is masked */
};

/* Defaults: sys_group is "perfmon" if there is such a group, otherwise nobody but root. */
void config_init(struct config *c);

/* ENOENT: no such key; EINVAL, ERANGE: not a value for it. */
int config_store(struct config *c, const char *key, struct slice value, struct err *e);
void config_show(const struct config *c, const char *key, struct text *out);

/* Lines "key = value", '#' comments. An error names the line. */
int config_parse(struct config *c, struct slice text, struct err *e);

/* ENOENT is no error unless @must_exist. */
int config_load(struct config *c, const char *path, bool must_exist, struct err *e);

#endif

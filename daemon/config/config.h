/* SPDX-License-Identifier: MIT */
/*
 * Global properties (specification 3.1.16): the files of config/ and, with the same keys, the
 * configuration file. A change applies to later commands.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"

enum {
	BACKEND_WORD_SIZE = 64,
	ARG_SIZE_MIN = 4096, /* Bytes of the smallest page (specification 4.4.2). */
	ARG_SIZE_LIMIT = 65536,
	SMPL_BUF_SIZE_MIN = 4096,
	SMPL_BUF_SIZE_DEFAULT = 16 << 20,
	USER_CONTEXTS_DEFAULT = 256,
	USER_CONTEXTS_LIMIT = 65536,
	USER_MEMORY_MIN = 65536,
	USER_MEMORY_DEFAULT = 64 << 20,
	MEMORY_MIN = 1 << 20,
	MEMORY_DEFAULT = 1 << 30,
	TICK_US_MIN = 100,
	TICK_US_DEFAULT = 1000,
	TICK_US_LIMIT = 1000000,
	OVERFLOW_RATE_DEFAULT = 100000,
	OVERFLOW_RATE_LIMIT = 1000000,
	CTXSW_BUDGET_DEFAULT = 20,
	CTXSW_BUDGET_LIMIT = 100,
};

#define SMPL_BUF_SIZE_LIMIT (1ULL << 40)
#define MEMORY_LIMIT        (1ULL << 40)

/* The group whose members may do something. Root always may. */
struct group_rule {
	enum { GROUP_ANY, GROUP_NONE, GROUP_GID } kind;
	gid_t gid;
};

enum allow_kernel { KERNEL_ANY, KERNEL_GROUP, KERNEL_ROOT };

struct config {
	/* The word of --backend; empty: not configured. Only the file has this key. */
	char backend[BACKEND_WORD_SIZE];
	/* May monitor CPUs. */
	struct group_rule sys_group;
	/* May monitor threads. */
	struct group_rule thread_group;
	/* May read energy. */
	struct group_rule energy_group;
	/* May count at kernel level; KERNEL_GROUP: sys_group. */
	enum allow_kernel allow_kernel;
	/* Bytes of one write. */
	uint64_t arg_size_max;
	/* Bytes of all sampling buffers together. */
	uint64_t smpl_buf_size_max;
	/* Contexts of one user. */
	uint64_t user_contexts_max;
	/* Bytes that one user, and all users together, can make the daemon keep, not counting
	 * sampling buffers. */
	uint64_t user_memory_max, memory_max;
	/* The shortest time between two reads of the counters, and between two switches of sets. */
	uint64_t tick_us;
	/* Overflows per second of one context; with more, it is masked. */
	uint64_t overflow_rate_max;
	/* Percent of a CPU that switching the contexts of one user's threads may take. */
	uint64_t ctxsw_budget;
	/* Loads, refusals and changes of these properties are written to the system's log. */
	bool audit;
};

/* Sets the defaults. sys_group is "perfmon" if that group exists, otherwise none (root only). */
void config_init(struct config *c);

/* Fails with ENOENT if there is no such key, with EINVAL or ERANGE if the value is not valid. */
int config_store(struct config *c, const char *key, struct slice value, struct err *e);
void config_show(const struct config *c, const char *key, struct text *out);

/* Parses lines "key = value" and '#' comments. An error names the line; *@c is unchanged then. */
int config_parse(struct config *c, struct slice text, struct err *e);

/* Loads the file @path. ENOENT is an error only if @must_exist. */
int config_load(struct config *c, const char *path, bool must_exist, struct err *e);

#endif

// SPDX-License-Identifier: MIT
#include "daemon/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/trusted.h"

enum { CONFIG_FILE_MAX = 65536 };

/* Reads /etc/group itself: NSS may use a network service, which could block the session thread. */
static int config_find_group(struct slice name, gid_t *gid)
{
	CLEANUP_FCLOSE FILE *f = fopen("/etc/group", "re");
	struct group *g;

	while (f && (g = fgetgrent(f))) {
		if (slice_is(name, g->gr_name)) {
			*gid = g->gr_gid;
			return 0;
		}
	}
	return -ENOENT;
}

static int config_store_group(struct group_rule *rule, struct slice value, struct err *e)
{
	uint64_t n;

	if (slice_is(value, "any")) {
		*rule = (struct group_rule){.kind = GROUP_ANY};
	} else if (slice_is(value, "none")) {
		*rule = (struct group_rule){.kind = GROUP_NONE};
	} else if (value.n && value.p[0] >= '0' && value.p[0] <= '9') {
		/* (gid_t)-1 means "no change" to the kernel and is not a group. */
		if (num_max(value, (gid_t)-2, &n, e) < 0)
			return -e->no;
		*rule = (struct group_rule){.kind = GROUP_GID, .gid = (gid_t)n};
	} else {
		struct group_rule named = {.kind = GROUP_GID};

		if (config_find_group(value, &named.gid) < 0)
			return err_set(e, EINVAL,
				"no group '%.*s' in /etc/group: give a gid, a name, 'any' or "
				"'none'",
				SLICE_ARG(value));
		*rule = named;
	}
	return 0;
}

static void config_show_group(const struct group_rule *rule, struct text *out)
{
	if (rule->kind == GROUP_GID)
		text_printf(out, "%u\n", (unsigned)rule->gid);
	else
		text_printf(out, "%s\n", rule->kind == GROUP_ANY ? "any" : "none");
}

static const char *const config_kernel_words[] = {
	[KERNEL_ANY] = "any", [KERNEL_GROUP] = "group", [KERNEL_ROOT] = "root"};

static int config_store_kernel(enum allow_kernel *k, struct slice value, struct err *e)
{
	for (int i = KERNEL_ANY; i <= KERNEL_ROOT; i++) {
		if (slice_is(value, config_kernel_words[i])) {
			*k = (enum allow_kernel)i;
			return 0;
		}
	}
	return err_set(e, EINVAL, "'%.*s' is not a value of this key: write any, group or root",
		SLICE_ARG(value));
}

static int config_store_switch(bool *on, struct slice value, struct err *e)
{
	if (!slice_is(value, "on") && !slice_is(value, "off"))
		return err_set(e, EINVAL, "'%.*s' is not a value of this key: write on or off",
			SLICE_ARG(value));
	*on = slice_is(value, "on");
	return 0;
}

static const struct config_number {
	const char *key;
	/* The offset in struct config. */
	size_t at;
	uint64_t least, most, def;
} config_numbers[] = {
	{"arg_size_max", offsetof(struct config, arg_size_max), ARG_SIZE_MIN, ARG_SIZE_LIMIT,
		ARG_SIZE_MIN},
	{"smpl_buf_size_max", offsetof(struct config, smpl_buf_size_max), SMPL_BUF_SIZE_MIN,
		SMPL_BUF_SIZE_LIMIT, SMPL_BUF_SIZE_DEFAULT},
	{"user_contexts_max", offsetof(struct config, user_contexts_max), 1, USER_CONTEXTS_LIMIT,
		USER_CONTEXTS_DEFAULT},
	{"user_memory_max", offsetof(struct config, user_memory_max), USER_MEMORY_MIN, MEMORY_LIMIT,
		USER_MEMORY_DEFAULT},
	{"memory_max", offsetof(struct config, memory_max), MEMORY_MIN, MEMORY_LIMIT,
		MEMORY_DEFAULT},
	{"tick_us", offsetof(struct config, tick_us), TICK_US_MIN, TICK_US_LIMIT, TICK_US_DEFAULT},
	{"overflow_rate_max", offsetof(struct config, overflow_rate_max), 1, OVERFLOW_RATE_LIMIT,
		OVERFLOW_RATE_DEFAULT},
	{"ctxsw_budget", offsetof(struct config, ctxsw_budget), 1, CTXSW_BUDGET_LIMIT,
		CTXSW_BUDGET_DEFAULT},
};

enum { NNUMBERS = sizeof(config_numbers) / sizeof(config_numbers[0]) };

static uint64_t *config_number_of(struct config *c, const struct config_number *n)
{
	return (uint64_t *)(void *)((char *)c + n->at);
}

static const struct config_number *config_find_number(const char *key)
{
	for (unsigned i = 0; i < NNUMBERS; i++)
		if (strcmp(key, config_numbers[i].key) == 0)
			return &config_numbers[i];
	return NULL;
}

static int config_store_number(
	struct config *c, const struct config_number *number, struct slice value, struct err *e)
{
	uint64_t n;

	if (num_max(value, number->most, &n, e) < 0)
		return -e->no;
	if (n < number->least)
		return err_set(e, ERANGE, "'%.*s' is less than the minimum of %" PRIu64,
			SLICE_ARG(value), number->least);
	*config_number_of(c, number) = n;
	return 0;
}

void config_init(struct config *c)
{
	*c = (struct config){
		.sys_group = {.kind = GROUP_NONE},
		.thread_group = {.kind = GROUP_ANY},
		.energy_group = {.kind = GROUP_NONE},
		.allow_kernel = KERNEL_GROUP,
		.audit = true,
	};
	for (unsigned i = 0; i < NNUMBERS; i++)
		*config_number_of(c, &config_numbers[i]) = config_numbers[i].def;
	if (config_find_group(slice_of("perfmon"), &c->sys_group.gid) == 0)
		c->sys_group.kind = GROUP_GID;
}

int config_store(struct config *c, const char *key, struct slice value, struct err *e)
{
	const struct config_number *number = config_find_number(key);

	value = slice_trim(value);
	if (number)
		return config_store_number(c, number, value, e);
	if (strcmp(key, "sys_group") == 0)
		return config_store_group(&c->sys_group, value, e);
	if (strcmp(key, "thread_group") == 0)
		return config_store_group(&c->thread_group, value, e);
	if (strcmp(key, "energy_group") == 0)
		return config_store_group(&c->energy_group, value, e);
	if (strcmp(key, "allow_kernel") == 0)
		return config_store_kernel(&c->allow_kernel, value, e);
	if (strcmp(key, "audit") == 0)
		return config_store_switch(&c->audit, value, e);
	return err_set(e, ENOENT, "'%s' is not a key: see perfmonfs(8)", key);
}

void config_show(const struct config *c, const char *key, struct text *out)
{
	const struct config_number *number = config_find_number(key);

	if (number)
		text_printf(out, "%" PRIu64 "\n",
			*(const uint64_t *)(const void *)((const char *)c + number->at));
	else if (strcmp(key, "sys_group") == 0)
		config_show_group(&c->sys_group, out);
	else if (strcmp(key, "thread_group") == 0)
		config_show_group(&c->thread_group, out);
	else if (strcmp(key, "energy_group") == 0)
		config_show_group(&c->energy_group, out);
	else if (strcmp(key, "allow_kernel") == 0)
		text_printf(out, "%s\n", config_kernel_words[c->allow_kernel]);
	else if (strcmp(key, "audit") == 0)
		text_printf(out, "%s\n", c->audit ? "on" : "off");
}

static int config_store_backend(struct config *c, struct slice value, struct err *e)
{
	if (!value.n || value.n >= sizeof(c->backend))
		return err_set(e, EINVAL, "'%.*s' is not a backend: see perfmonfs --help",
			SLICE_ARG(value));
	memset(c->backend, 0, sizeof(c->backend));
	memcpy(c->backend, value.p, value.n);
	return 0;
}

static int config_parse_line(struct config *c, struct slice line, struct err *e)
{
	struct slice key;
	char name[32];

	if (!slice_text(&line, false))
		return err_set(
			e, EINVAL, "the line has a control character (a DOS line end?): remove it");
	key = slice_cut(&line, '#');
	line = slice_trim(key);
	if (!line.n)
		return 0;
	key = slice_trim(slice_cut(&line, '='));
	if (key.n >= sizeof(name))
		return err_set(e, EINVAL, "'%.*s' is not a key: see perfmonfs(8)", SLICE_ARG(key));
	memcpy(name, key.p, key.n);
	name[key.n] = '\0';
	if (strcmp(name, "backend") == 0)
		return config_store_backend(c, slice_trim(line), e);
	return config_store(c, name, line, e);
}

int config_parse(struct config *c, struct slice text, struct err *e)
{
	struct config staged = *c;
	unsigned n = 0;

	while (text.n) {
		n++;
		if (config_parse_line(&staged, slice_cut(&text, '\n'), e) < 0)
			return err_prefix(e, "line %u", n);
	}
	*c = staged;
	return 0;
}

/* Checks the open descriptor, because the path may change to another file. */
static int config_check_owner(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "configuration: %s: %s", path, err_name(errno));
	if (S_ISDIR(st.st_mode))
		return err_set(e, EISDIR, "configuration: %s is a directory: name a file", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EPERM, "configuration: %s is not a regular file: name one", path);
	if (trusted_check(&st, TRUSTED_ROOT | TRUSTED_SELF, path, "it grants rights", e) < 0)
		return err_prefix(e, "configuration");
	return 0;
}

int config_load(struct config *c, const char *path, bool must_exist, struct err *e)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	CLEANUP_FREE char *buf = NULL;
	ssize_t n;

	if (fd < 0 && errno == ENOENT && !must_exist)
		return 0;
	if (fd < 0)
		return err_set(
			e, errno, "configuration: %s: %s: check --config", path, err_name(errno));
	if (config_check_owner(fd, path, e) < 0)
		return -e->no;
	buf = malloc(CONFIG_FILE_MAX);
	if (!buf)
		return err_set(e, ENOMEM, "no memory");
	n = read(fd, buf, CONFIG_FILE_MAX);
	if (n < 0)
		return err_set(e, errno, "configuration: %s: %s", path, err_name(errno));
	if (n == CONFIG_FILE_MAX)
		return err_set(e, E2BIG, "configuration: %s is larger than %d bytes: shorten it",
			path, CONFIG_FILE_MAX);
	if (config_parse(c, (struct slice){buf, (size_t)n}, e) < 0)
		return err_prefix(e, "configuration: %s", path);
	return 0;
}

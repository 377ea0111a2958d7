// SPDX-License-Identifier: MIT
#include "tools/pfm/tree/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "perfmonfs/ioctl.h"
#include "tools/pfm/tree/file.h"

static int ctx_find_dir(const struct tree *t, struct tree_ctx *c, struct err *e)
{
	struct pfm_ioc_info info = {0};
	char path[40];

	if (ioctl(c->clone, PFM_IOC_INFO, &info) < 0)
		return err_set(
			e, errno, "clone: %s: no information on the context", err_name(errno));
	c->number = info.number;
	snprintf(path, sizeof(path), "ctx/%" PRIu64, c->number);
	c->dir = openat(t->dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return c->dir >= 0 ? 0 : file_sentence(t->dir, path, errno, e);
}

void ctx_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int ctx_open(const struct tree *t, struct tree_ctx *c, struct err *e)
{
	int rc;

	*c = (struct tree_ctx)TREE_CTX_NONE;
	c->clone = openat(t->dir, "clone", O_RDWR | O_CLOEXEC);
	if (c->clone < 0)
		return file_sentence(t->dir, "clone", errno, e);
	rc = ctx_find_dir(t, c, e);
	if (rc < 0)
		ctx_close(c);
	return rc;
}

void ctx_close(struct tree_ctx *c)
{
	if (c->dir >= 0)
		close(c->dir);
	if (c->clone >= 0)
		close(c->clone);
	c->dir = c->clone = -1;
}

int ctx_command(const struct tree_ctx *c, const char *line, struct err *e)
{
	return file_write(c->dir, "ctl", line, e);
}

// SPDX-License-Identifier: MIT
#include "lib/perfmonctl.h"

#include <string.h>
#include <unistd.h>

#include "perfmonfs/smpl_dfl.h"

/* The beginnings of the structures in both versions. */
struct ctl_smpl_arg {
	unsigned long buf_size;
	uint32_t buf_flags;
};

struct perfmonctl_load {
	pid_t pid;
	uint16_t set;
	uint16_t padding;
};

static int perfmonctl_copy_arg(const struct format *f, const void *user, void *to, size_t size)
{
	pfm_dfl_smpl_arg_t *dfl = to;
	struct ctl_smpl_arg arg;

	if (!f->is_default)
		return copy_in(to, user, size);
	if (copy_in(&arg, user, sizeof(arg)) < 0)
		return -1;
	/* The specification has no other flags (3.6.2). */
	if (arg.buf_flags & ~(uint32_t)(PFM_DFL_SMPL_NO_HDR | PFM_DFL_SMPL_IIP_HDR))
		return lib_fail(EINVAL);
	dfl->buf_size = arg.buf_size;
	dfl->buf_flags = arg.buf_flags;
	return 0;
}

int perfmonctl_create(
	uint32_t flags, const unsigned char uuid[16], const void *arg, bool v06, uint64_t *buf_size)
{
	_Alignas(8) unsigned char ioc[CREATE_ARG_MAX] = {0};
	struct creation c = {.flags = flags, .arg = ioc, .v06 = v06};
	struct format f;
	int fd;

	format_from_uuid(uuid, &f);
	c.format = f.name;
	c.arg_size = format_arg_size(&f);
	if (c.arg_size > sizeof(ioc))
		return lib_fail(E2BIG);
	if (c.arg_size && perfmonctl_copy_arg(&f, arg, ioc, c.arg_size) < 0)
		return -1;
	fd = create_context(&c);
	*buf_size = c.buf_size;
	return fd;
}

/* A system-wide context is loaded on the caller's CPU; the target is the caller's tid (3.1.7). */
int perfmonctl_load(const struct ctx_fd *t, const void *load)
{
	struct perfmonctl_load user;

	if (copy_in(&user, load, sizeof(user)) < 0)
		return -1;
	if (!ctx_cache_is_system_wide(t))
		return load_context(t, (uint32_t)user.pid, user.set, EBUSY);
	if (user.pid != gettid())
		return lib_fail(EINVAL);
	return load_context(t, (uint32_t)cpu_current(), user.set, EBUSY);
}

int perfmonctl_start(const struct ctx_fd *t, const void *start, int n)
{
	struct pfm_ioc_start ioc = {0};

	if (n == 1 && !start)
		return lib_fail(EFAULT);
	if (n != (start ? 1 : 0))
		return lib_fail(EINVAL);
	if (!start)
		return ctx_fd_command(t, PFM_IOC_START, NULL);
	if (copy_in(&ioc.set, start, sizeof(ioc.set)) < 0)
		return -1;
	return ctx_fd_command(t, PFM_IOC_START_SET, &ioc);
}

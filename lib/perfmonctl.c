// SPDX-License-Identifier: MIT
#include "lib/ctl.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "perfmonfs/smpl_dfl.h"

/* How the structures begin. */
struct ctl_smpl_arg {
	unsigned long buf_size;
	uint32_t buf_flags;
};

struct ctl_load {
	pid_t pid;
	uint16_t set;
	uint16_t padding;
};

static int smpl_arg_in(const struct format *f, const void *theirs, void *to, size_t size)
{
	pfm_dfl_smpl_arg_t *ours = to;
	struct ctl_smpl_arg arg;

	if (!f->is_default)
		return copy_in(to, theirs, size);
	if (copy_in(&arg, theirs, sizeof(arg)) < 0)
		return -1;
	ours->buf_size = arg.buf_size;
	ours->buf_flags = arg.buf_flags;
	return 0;
}

int ctl_create(uint32_t flags, const unsigned char uuid[16], const void *arg, uint64_t *buf_size)
{
	_Alignas(8) unsigned char ours[CREATE_ARG_MAX] = {0};
	struct creation c = {.flags = flags, .arg = ours};
	struct format f;
	int fd;

	format_of(uuid, &f);
	c.format = f.name;
	c.arg_size = format_arg_size(&f);
	if (c.arg_size > sizeof(ours))
		return fail(E2BIG);
	if (c.arg_size && smpl_arg_in(&f, arg, ours, c.arg_size) < 0)
		return -1;
	fd = create_context(&c);
	*buf_size = c.buf_size;
	return fd;
}

/* A system-wide context is loaded where its caller is, who says so by naming himself (3.1.7). */
int ctl_load(const struct target *t, const void *load)
{
	struct ctl_load theirs;

	if (copy_in(&theirs, load, sizeof(theirs)) < 0)
		return -1;
	if (!load_is_system_wide(t))
		return load_context(t, (uint32_t)theirs.pid, theirs.set, EBUSY);
	if (theirs.pid != gettid())
		return fail(EINVAL);
	return load_context(t, (uint32_t)load_this_cpu(), theirs.set, EBUSY);
}

int ctl_start(const struct target *t, const void *start, int n)
{
	struct pfm_ioc_start ours = {0};

	if (n == 1 && !start)
		return fail(EFAULT);
	if (n != (start ? 1 : 0))
		return fail(EINVAL);
	if (!start)
		return target_command(t, PFM_IOC_START, NULL);
	if (copy_in(&ours.set, start, sizeof(ours.set)) < 0)
		return -1;
	return target_command(t, PFM_IOC_START_SET, &ours);
}

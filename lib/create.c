// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <fcntl.h>
#include <string.h>

#include "lib/debug.h"

/* PFM_IOC_SETUP with its tail. */
struct setup {
	struct pfm_ioc_setup head;
	unsigned char arg[CREATE_ARG_MAX];
};

static int create_set_up(const struct ctx_fd *t, struct creation *c)
{
	struct setup s = {.head.flags = c->flags, .head.arg_size = (uint32_t)c->arg_size};
	struct ctx_cache cache = {
		.cpu = CTX_CACHE_NO_CPU, .system_wide = c->flags & PFM_IOC_FL_SYSTEM_WIDE};

	if (c->format) {
		if (strlen(c->format) >= sizeof(s.head.format))
			return lib_fail(EINVAL);
		strcpy(s.head.format, c->format);
	}
	if (c->arg_size)
		memcpy(s.arg, c->arg, c->arg_size);
	if (ctx_fd_command(t, PFM_IOC_TAILED(PFM_IOC_SETUP, c->arg_size), &s) < 0)
		return -1;
	c->buf_size = s.head.buf_size;
	cache.number = s.head.number;
	cache.buf_size = s.head.buf_size;
	cache.created = c->v06 ? CREATED_BY_V06 : CREATED_BY_KERNEL_ABI;
	ctx_cache_add(t, &cache);
	return 0;
}

static int create_open_clone(void)
{
	/* The descriptor is not close-on-exec, as in perfmon2's kernels. */
	int fd = mount_open("clone", O_RDWR);

	if (fd >= 0)
		return fd;
	/* These mean a directory without a mount, or the mount of a dead daemon. */
	if (errno == ENOSYS || errno == ENOENT || errno == ENOTDIR || errno == ENOTCONN ||
		errno == ENAMETOOLONG)
		return debug_fail(ENOSYS, "perfmonfs is not mounted, or its daemon has ended: "
					  "mount it, or set PERFMONFS to its mount point");
	debug_daemon_refused();
	return -1;
}

int create_context(struct creation *c)
{
	const uint32_t allowed =
		PFM_IOC_FL_NOTIFY_BLOCK | PFM_IOC_FL_SYSTEM_WIDE | PFM_IOC_FL_OVFL_NO_MSG;
	struct ctx_fd t;
	int fd;

	/* PFM_IOC_SETUP has more flags, which no version of perfmon2 has. */
	if (c->flags & ~allowed)
		return lib_fail(EINVAL);
	if (c->arg_size > CREATE_ARG_MAX)
		return lib_fail(E2BIG);
	if (debug_is_on())
		mount_tell_choice();
	fd = create_open_clone();
	if (fd < 0)
		return -1;
	if (ctx_fd_get(&t, fd) < 0 || create_set_up(&t, c) < 0) {
		nocancel_close(fd);
		return lib_fail(errno == EBADF ? ENOSYS : errno);
	}
	return fd;
}

int create_hand_out(int fd, void *user, const void *copy, size_t size)
{
	if (copy_out(user, copy, size) == 0)
		return 0;
	nocancel_close(fd);
	return lib_fail(EFAULT);
}

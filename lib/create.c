// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* What PFM_IOC_SETUP carries. */
struct setup {
	struct pfm_ioc_setup head;
	unsigned char arg[CREATE_ARG_MAX];
};

static int set_up(const struct target *t, struct creation *c)
{
	struct setup s = {.head.flags = c->flags, .head.arg_size = (uint32_t)c->arg_size};
	struct known k = {.cpu = KNOWN_NO_CPU, .system_wide = c->flags & PFM_IOC_FL_SYSTEM_WIDE};

	if (c->format) {
		if (strlen(c->format) >= sizeof(s.head.format))
			return fail(EINVAL);
		strcpy(s.head.format, c->format);
	}
	if (c->arg_size)
		memcpy(s.arg, c->arg, c->arg_size);
	if (target_command(t, PFM_IOC_TAILED(PFM_IOC_SETUP, c->arg_size), &s) < 0)
		return -1;
	c->buf_size = s.head.buf_size;
	k.number = s.head.number;
	known_add(t, &k);
	return 0;
}

static int open_clone(void)
{
	/* As with kernels: no close-on-exec. */
	int fd = mount_open("clone", O_RDWR);

	/* A mount point without a mount, or of an old daemon, is as good as no mount. */
	if (fd < 0 &&
		(errno == ENOENT || errno == ENOTDIR || errno == ENOTCONN || errno == ENAMETOOLONG))
		return fail(ENOSYS);
	return fd;
}

int create_context(struct creation *c)
{
	const uint32_t known =
		PFM_IOC_FL_NOTIFY_BLOCK | PFM_IOC_FL_SYSTEM_WIDE | PFM_IOC_FL_OVFL_NO_MSG;
	struct target t;
	int fd;

	/* The commands have flags that no version of the calls has. */
	if (c->flags & ~known)
		return fail(EINVAL);
	if (c->arg_size > CREATE_ARG_MAX)
		return fail(E2BIG);
	fd = open_clone();
	if (fd < 0)
		return -1;
	if (target_get(&t, fd) < 0 || set_up(&t, c) < 0) {
		file_close(fd);
		return fail(errno == EBADF ? ENOSYS : errno);
	}
	return fd;
}

int create_hand_out(int fd, void *theirs, const void *copy, size_t size)
{
	if (copy_out(theirs, copy, size) == 0)
		return 0;
	file_close(fd);
	return fail(EFAULT);
}

// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <unistd.h>

#include "perfmonfs/msg.h"

enum { MESSAGE_MAX = 64 };

ssize_t message_read(int fd, void *buf, size_t size, size_t msg_size,
	void (*convert)(int fd, const struct pfm_msg *m, void *user))
{
	unsigned char user[MESSAGE_MAX] __attribute__((aligned(8))) = {0};
	struct pfm_msg m;
	struct ctx_cache c;
	struct ctx_fd t;
	int err = errno;
	ssize_t n;

	if (ctx_fd_get(&t, fd) < 0 || !ctx_cache_get(&t, &c)) {
		errno = err;
		return read(fd, buf, size);
	}
	if (size == 0 || size % msg_size != 0)
		return lib_fail(EINVAL);
	n = read(fd, &m, sizeof(m));
	if (n <= 0)
		return n;
	convert(fd, &m, user);
	return copy_out(buf, user, msg_size) < 0 ? -1 : (ssize_t)msg_size;
}

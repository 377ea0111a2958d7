// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <errno.h>
#include <unistd.h>

#include "perfmonfs/msg.h"

enum { MESSAGE_MAX = 64 };

ssize_t message_read(int fd, void *buf, size_t size, size_t msg_size,
	void (*convert)(int fd, const struct pfm_msg *m, void *theirs))
{
	unsigned char theirs[MESSAGE_MAX] __attribute__((aligned(8))) = {0};
	struct pfm_msg m;
	struct known k;
	struct target t;
	int err = errno;
	ssize_t n;

	if (target_get(&t, fd) < 0 || !known_get(&t, &k)) {
		errno = err;
		return read(fd, buf, size);
	}
	if (size == 0 || size % msg_size != 0)
		return fail(EINVAL);
	n = read(fd, &m, sizeof(m));
	if (n <= 0)
		return n;
	convert(fd, &m, theirs);
	return copy_out(buf, theirs, msg_size) < 0 ? -1 : (ssize_t)msg_size;
}

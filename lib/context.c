// SPDX-License-Identifier: MIT
#include "lib/lib_i.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "lib/lines.h"

/* The kernel answers by itself, without asking the daemon. */
int target_get(struct target *t, int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) < 0 ||
		!S_ISREG(st.stx_mode))
		return fail(EBADF);
	t->fd = fd;
	t->device = (struct device){st.stx_dev_major, st.stx_dev_minor};
	t->inode = st.stx_ino;
	return mount_check(&t->device);
}

/* Another process may have unloaded it: then it is loaded nowhere. */
static bool is_elsewhere(const struct target *t)
{
	struct known k;

	known_get(t, &k);
	return k.cpu != KNOWN_NO_CPU && k.cpu != load_this_cpu() && !load_from_anywhere() &&
	       !target_state_is(t, "unloaded");
}

int target_here(struct target *t, int fd)
{
	if (target_get(t, fd) < 0)
		return -1;
	return is_elsewhere(t) ? fail(EBUSY) : 0;
}

int target_to_read(struct target *t, int fd)
{
	if (target_get(t, fd) < 0)
		return -1;
	return is_elsewhere(t) && !target_state_is(t, "masked") ? fail(EBUSY) : 0;
}

int target_command(const struct target *t, unsigned long cmd, void *arg)
{
	int err = errno, rc;

	/* A signal that comes before the daemon has begun is no news to the caller. */
	do {
		rc = ioctl(t->fd, cmd, arg);
	} while (rc < 0 && errno == EINTR);
	if (rc == 0)
		errno = err;
	else if (errno == ENOTTY)
		errno = EBADF;
	else if (errno == ERANGE) /* the tree's, of a timeout */
		errno = EINVAL;
	return rc;
}

/* No other file takes a vector, an empty one neither. */
bool target_is_clone(const struct target *t)
{
	struct known k;
	int err = errno;
	bool is = known_get(t, &k) ||
		  target_command(t, PFM_IOC_VECTOR(PFM_IOC_READ_PMDS, 0), NULL) == 0;

	errno = err;
	return is;
}

int target_plain(int fd, unsigned long cmd)
{
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : target_command(&t, cmd, NULL);
}

/* @path has room for a file's name; its end. */
static char *context_path(char path[64], uint64_t number)
{
	strcpy(path, "ctx/");
	return lines_number(path + strlen(path), number);
}

/* The files of a context that this process has made. */
int target_open(const struct target *t, const char *file, int flags)
{
	char path[64];
	struct known k;

	known_get(t, &k);
	if (k.number == KNOWN_NO_NUMBER || strlen(file) > 32)
		return fail(ENOENT);
	char *end = context_path(path, k.number);
	*end = '/';
	strcpy(end + 1, file);
	return mount_open_on(&t->device, path, flags | O_CLOEXEC);
}

bool target_is_gone(const struct device *d, uint64_t number)
{
	char path[64];
	int err = errno, fd;

	if (number == KNOWN_NO_NUMBER)
		return true; /* it cannot be told, and little was known */
	context_path(path, number);
	fd = mount_open_on(d, path, O_PATH | O_CLOEXEC);
	bool gone = fd < 0 && (errno == ENOENT || errno == ENOSYS || errno == ENOTCONN);
	if (fd >= 0)
		file_close(fd);
	errno = err;
	return gone;
}

bool target_state_is(const struct target *t, const char *word)
{
	char text[64];
	size_t size = strlen(word);
	int err = errno, fd = target_open(t, "state", O_RDONLY);
	bool is = false;

	if (fd >= 0) {
		ssize_t n = file_read(fd, text, sizeof(text));
		is = n > (ssize_t)size && memcmp(text, word, size) == 0 &&
		     (text[size] == ' ' || text[size] == '\n');
		file_close(fd);
	}
	errno = err;
	return is;
}

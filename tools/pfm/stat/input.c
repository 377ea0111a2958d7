// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * How much of a pipe is kept, in MiB, and how long it may be silent without an explanation, in ms.
 */
enum { INPUT_KEPT = 64, INPUT_SILENCE = 1000 };

static int input_failed(const char *what, struct err *e)
{
	return err_set(e, errno, "standard input: %s: %s", what, err_name(errno));
}

static int input_become(int fd, struct err *e)
{
	return dup2(fd, STDIN_FILENO) < 0 ? input_failed("dup2", e) : 0;
}

static int input_open_path(const char *path, struct err *e)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_set(e, errno, "--stdin %s: %s", path, err_name(errno))
		      : input_become(fd, e);
}

static int input_write(int fd, const char *bytes, size_t n, struct err *e)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0)
			return input_failed("no room to keep it", e);
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Copies standard input up to its end. -EFBIG: it exceeds INPUT_KEPT. */
static int input_copy(int to, struct err *e)
{
	static char bytes[1 << 16];
	uint64_t room = (uint64_t)INPUT_KEPT << 20;
	int rc = 0;

	while (rc == 0) {
		ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

		if (n == 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return input_failed("read", e);
		if ((uint64_t)n > room)
			return err_set(e, EFBIG,
				"standard input is a pipe of more than %d MiB, too much to keep "
				"for all runs: write it to a file and give that with --stdin FILE",
				INPUT_KEPT);
		room -= (uint64_t)n;
		rc = input_write(to, bytes, (size_t)n, e);
	}
	return rc;
}

static int input_keep(struct err *e)
{
	CLEANUP_CLOSE int fd = memfd_create("pfm-stdin", MFD_CLOEXEC);
	struct pollfd silent = {.fd = STDIN_FILENO, .events = POLLIN};
	int rc;

	if (fd < 0)
		return input_failed("memfd_create", e);
	if (poll(&silent, 1, INPUT_SILENCE) == 0)
		fputs("pfm stat: reading all of standard input to give it to each run; --stdin "
		      "/dev/null gives them none\n",
			stderr);
	rc = input_copy(fd, e);
	return rc < 0 ? rc : input_become(fd, e);
}

int input_open(struct input *in, const char *path, bool again, struct err *e)
{
	struct stat st;
	int rc = path ? input_open_path(path, e) : 0;

	*in = (struct input){.again = false};
	if (rc < 0 || !again || fstat(STDIN_FILENO, &st) < 0)
		return rc;
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		rc = input_keep(e);
		in->again = rc == 0;
		return rc;
	}
	in->start = lseek(STDIN_FILENO, 0, SEEK_CUR);
	in->again = in->start >= 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
	return 0;
}

int input_rewind(const struct input *in, struct err *e)
{
	return in->again && lseek(STDIN_FILENO, in->start, SEEK_SET) < 0 ? input_failed("lseek", e)
									 : 0;
}

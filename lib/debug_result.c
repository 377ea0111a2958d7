// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <string.h>

#include "lib/debug.h"
#include "lib/lines.h"

/* Opens the last_error of the context or, if the context does not exist or has gone, of the
 * user. */
static int debug_open(int fd)
{
	char path[48] = "ctx/";
	struct ctx_cache c;
	struct ctx_fd t;

	if (fd < 0 || ctx_fd_get(&t, fd) < 0 || !ctx_cache_get(&t, &c) ||
		c.number == CTX_CACHE_NO_NUMBER)
		return mount_open("last_error", O_RDONLY | O_CLOEXEC);
	strcpy(lines_number(path + strlen(path), c.number), "/last_error");
	return mount_open_on(&t.device, path, O_RDONLY | O_CLOEXEC);
}

static void debug_add_sentence(struct debug_line *l, int fd)
{
	char sentence[sizeof(l->text)];
	int from = debug_open(fd);
	ssize_t n = from < 0 ? -1 : nocancel_read(from, sentence, sizeof(sentence) - 1);

	if (from >= 0)
		nocancel_close(from);
	sentence[n < 0 ? 0 : n] = 0;
	debug_add(l, n > 0 ? sentence : "there is no sentence, as the daemon does not answer");
}

static void debug_report(const char *call, int fd, int err, struct debug_cause cause)
{
	const char *name = strerrorname_np(err);
	struct debug_line l;

	debug_begin(&l, call);
	debug_add(&l, name ? name : "?");
	debug_add(&l, ": ");
	if (cause.reason)
		debug_add(&l, cause.reason);
	else if (cause.daemon_refused)
		debug_add_sentence(&l, fd);
	else if (err == EBADF)
		debug_add(&l, "the descriptor is not a context");
	else
		debug_add(&l, "an argument is wrong: see the manual page");
	debug_end(&l);
}

int debug_result(const char *call, int fd, int rc)
{
	struct debug_cause cause = debug_take_cause();
	int err = errno;

	if (rc < 0 && debug_is_on())
		debug_report(call, fd, err, cause);
	debug_take_cause();
	errno = err;
	return rc;
}

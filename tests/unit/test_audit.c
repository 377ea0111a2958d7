// SPDX-License-Identifier: MIT
/* The audit record's lines, sent to a socket in place of the system's log. */
#include <sys/socket.h>
#include <sys/un.h>

#include "base/nsec.h"
#include "daemon/fs/requests/audit_log.h"
#include "tests/unit/unit.h"

struct bench {
	char dir[32], path[64];
	struct audit_log *log;
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	strcpy(b->dir, "/tmp/test_audit.XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->path, sizeof(b->path), "%s/log", b->dir);
	assert_int_equal(audit_log_new(b->path, &b->log, &why), 0);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	audit_log_free(b->log);
	unlink(b->path);
	rmdir(b->dir);
	free(b);
	return 0;
}

static int receiver(const struct bench *b)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", b->path);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* False: there is no line. */
static bool receive(int fd, char line[512])
{
	ssize_t n = recv(fd, line, 511, 0);

	line[n < 0 ? 0 : n] = '\0';
	return n >= 0;
}

static unsigned drain(int fd)
{
	char line[512];
	unsigned n = 0;

	while (receive(fd, line))
		n++;
	return n;
}

TEST_OF(set_up, tear_down, line, struct bench *b)
{
	char line[512], want[64];
	int fd = receiver(b);

	audit_log_send(b->log, NULL, 0, 86, "load cpu=1");
	snprintf(want, sizeof(want), "<86>perfmonfs[%d]: load cpu=1", (int)getpid());
	assert_true(receive(fd, line));
	assert_string_equal(line, want);
	assert_int_equal(audit_log_dropped(b->log), 0);
	close(fd);
}

/* The log starts, ends and starts again: each line that finds one arrives. */
TEST_OF(set_up, tear_down, no_receiver, struct bench *b)
{
	int fd;

	audit_log_send(b->log, NULL, 0, 86, "a");
	assert_int_equal(audit_log_dropped(b->log), 1);
	fd = receiver(b);
	audit_log_send(b->log, NULL, 0, 86, "b");
	assert_int_equal(drain(fd), 1);
	close(fd);
	audit_log_send(b->log, NULL, 0, 86, "c");
	assert_int_equal(audit_log_dropped(b->log), 2);
	unlink(b->path);
	fd = receiver(b);
	audit_log_send(b->log, NULL, 0, 86, "d");
	assert_int_equal(drain(fd), 1);
	assert_int_equal(audit_log_dropped(b->log), 2);
	close(fd);
}

/* It would hang here if a send waited. */
TEST_OF(set_up, tear_down, full, struct bench *b)
{
	enum { LINES = 20000 };
	int fd = receiver(b);

	for (unsigned i = 0; i < LINES; i++)
		audit_log_send(b->log, NULL, 0, 86, "a");
	assert_true(audit_log_dropped(b->log) > 0);
	assert_int_equal(drain(fd) + audit_log_dropped(b->log), LINES);
	close(fd);
}

/* Sends @n lines at @now; returns how many were not suppressed. */
static unsigned admitted(struct bench *b, struct audit_rate *rate, uint64_t now, unsigned n)
{
	unsigned long long before = audit_log_suppressed(b->log);

	for (unsigned i = 0; i < n; i++)
		audit_log_send(b->log, rate, now, 86, "a");
	return n - (unsigned)(audit_log_suppressed(b->log) - before);
}

TEST_OF(set_up, tear_down, user_rate, struct bench *b)
{
	struct audit_rate one = {0}, other = {0};
	uint64_t now = 1000 * NSEC_PER_SEC;
	char line[512];
	int fd;

	assert_int_equal(admitted(b, &one, now, 100), AUDIT_USER_BURST);
	assert_int_equal(admitted(b, &other, now, 1), 1);
	assert_int_equal(admitted(b, NULL, now, 100), 100);
	fd = receiver(b);
	audit_log_send(b->log, &one, now + NSEC_PER_SEC / AUDIT_USER_RATE, 86, "a");
	assert_true(receive(fd, line));
	assert_non_null(strstr(line, ": a suppressed=80"));
	assert_int_equal(admitted(b, &one, now + NSEC_PER_SEC, 100), AUDIT_USER_RATE - 1);
	assert_int_equal(admitted(b, &one, now + 1000 * NSEC_PER_SEC, 100), AUDIT_USER_BURST);
	close(fd);
}

/* A range of subordinate uids gets no more than all users. */
TEST_OF(set_up, tear_down, all_rate, struct bench *b)
{
	struct audit_rate users[1000] = {{0}};
	uint64_t now = 1000 * NSEC_PER_SEC;
	unsigned n = 0;

	for (unsigned i = 0; i < 1000; i++)
		n += admitted(b, &users[i], now, 1);
	assert_int_equal(n, AUDIT_ALL_BURST);
	n = 0;
	for (unsigned i = 0; i < 1000; i++)
		n += admitted(b, &users[i], now + NSEC_PER_SEC, 1);
	assert_int_equal(n, AUDIT_ALL_RATE);
}

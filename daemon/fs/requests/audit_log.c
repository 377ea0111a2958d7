// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/audit_log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/nsec.h"

enum { AUDIT_LINE_MAX = 640 };

struct audit_log {
	struct sockaddr_un to;
	/* -1 if no socket could be made, and all lines are dropped. */
	int fd;
	/* A leaf: guards @all and the rates of users. */
	pthread_mutex_t lock;
	struct audit_rate all;
	atomic_ullong dropped, suppressed;
};

int audit_log_new(const char *path, struct audit_log **out, struct err *e)
{
	struct audit_log *l = calloc(1, sizeof(*l));

	if (!l)
		return err_set(e, ENOMEM, "no memory");
	l->to.sun_family = AF_UNIX;
	snprintf(l->to.sun_path, sizeof(l->to.sun_path), "%s", path);
	l->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	pthread_mutex_init(&l->lock, NULL);
	*out = l;
	return 0;
}

void audit_log_free(struct audit_log *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		close(l->fd);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Whether a line is due. Each line takes 1/@per_second s, and up to @burst of them may be ahead of
 * time. */
static bool audit_is_due(
	const struct audit_rate *r, uint64_t now, unsigned per_second, unsigned burst)
{
	return r->due <= now + (burst - 1) * (NSEC_PER_SEC / per_second);
}

static void audit_take(struct audit_rate *r, uint64_t now, unsigned per_second)
{
	r->due = (r->due > now ? r->due : now) + NSEC_PER_SEC / per_second;
}

/* Returns false if the line is over a limit. Sets @suppressed to the number of suppressed lines
 * before it. */
static bool audit_admit(
	struct audit_log *l, struct audit_rate *rate, uint64_t now, unsigned *suppressed)
{
	bool due;

	pthread_mutex_lock(&l->lock);
	due = audit_is_due(rate, now, AUDIT_USER_RATE, AUDIT_USER_BURST) &&
	      audit_is_due(&l->all, now, AUDIT_ALL_RATE, AUDIT_ALL_BURST);
	if (due) {
		audit_take(rate, now, AUDIT_USER_RATE);
		audit_take(&l->all, now, AUDIT_ALL_RATE);
		*suppressed = rate->suppressed;
		rate->suppressed = 0;
	} else {
		rate->suppressed++;
	}
	pthread_mutex_unlock(&l->lock);
	return due;
}

/* The log adds the time. */
static void audit_write(struct audit_log *l, int priority, unsigned suppressed, const char *text)
{
	char line[AUDIT_LINE_MAX], more[32] = "";
	int n;

	if (suppressed)
		snprintf(more, sizeof(more), " suppressed=%u", suppressed);
	n = snprintf(
		line, sizeof(line), "<%d>perfmonfs[%d]: %s%s", priority, (int)getpid(), text, more);
	if (n >= (int)sizeof(line))
		n = sizeof(line) - 1;
	if (sendto(l->fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&l->to,
		    sizeof(l->to)) < 0)
		atomic_fetch_add(&l->dropped, 1);
}

void audit_log_send(
	struct audit_log *l, struct audit_rate *rate, uint64_t now, int priority, const char *text)
{
	unsigned suppressed = 0;

	if (!rate || audit_admit(l, rate, now, &suppressed))
		audit_write(l, priority, suppressed, text);
	else
		atomic_fetch_add(&l->suppressed, 1);
}

unsigned long long audit_log_dropped(struct audit_log *l)
{
	return atomic_load(&l->dropped);
}

unsigned long long audit_log_suppressed(struct audit_log *l)
{
	return atomic_load(&l->suppressed);
}

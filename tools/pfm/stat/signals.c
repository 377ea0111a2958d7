// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/signals.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int signals_handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static bool signals_is_ignored(int signo)
{
	struct sigaction action;

	return sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int signals_open(struct signals *s, struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	/* While blocked, a signal would become pending even if it is ignored. */
	for (unsigned i = 0; i < sizeof(signals_handled) / sizeof(signals_handled[0]); i++)
		if (!signals_is_ignored(signals_handled[i]))
			sigaddset(&set, signals_handled[i]);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, &s->mask);
	sigdelset(&set, SIGPIPE);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd >= 0 ? 0 : err_set(e, errno, "signalfd: %s", err_name(errno));
}

void signals_close(struct signals *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

int signals_take(const struct signals *s, const struct launch *l)
{
	struct signalfd_siginfo info;
	int last = 0;

	while (read(s->fd, &info, sizeof(info)) == sizeof(info)) {
		last = (int)info.ssi_signo;
		if (l->pid && info.ssi_code != SI_KERNEL)
			kill(l->pid, last);
	}
	return last;
}

int signals_wait(const struct signals *s, struct launch *l)
{
	int signo, last = 0;
	struct pollfd fds[] = {{.fd = s->fd, .events = POLLIN}, {.fd = l->pidfd, .events = POLLIN}};

	while (!fds[1].revents) {
		if (poll(fds, 2, -1) > 0 && fds[0].revents && (signo = signals_take(s, l)))
			last = signo;
	}
	launch_wait(l);
	return last;
}

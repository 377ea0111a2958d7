// SPDX-License-Identifier: MIT
#include "tools/pfm/top/screen.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/nsec.h"
#include "tools/pfm/text/terminal.h"

/* Control sequences of ECMA-48 and xterm, which all of today's terminals have. */
static const char screen_begin[] = "\033[?1049h\033[?25l\033[?7l"; /* page, no cursor, no wrap */
static const char screen_end[] = "\033[?7h\033[?25h\033[?1049l";

enum { SCREEN_COLUMNS = 80, SCREEN_LINES = 24 };

bool screen_possible(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal_has_control();
}

static int screen_write(const char *p, size_t n, struct err *e)
{
	while (n) {
		ssize_t done = write(STDOUT_FILENO, p, n);

		if (done < 0 && errno != EINTR)
			return err_set(e, errno, "the terminal: %s", err_name(errno));
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

/* The signal only has to end a poll(). */
static void screen_resized(int signo)
{
	(void)signo;
}

int screen_open(struct screen *s, struct err *e)
{
	const struct sigaction resized = {.sa_handler = screen_resized};
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &s->before) < 0)
		return err_set(e, errno, "the terminal: %s", err_name(errno));
	sigaction(SIGWINCH, &resized, NULL);
	raw = s->before;
	/* Ctrl-C is a key, so that the terminal is restored; Ctrl-Z does nothing. */
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) < 0)
		return err_set(e, errno, "the terminal: %s", err_name(errno));
	s->open = true;
	screen_size(s);
	return screen_write(screen_begin, strlen(screen_begin), e);
}

void screen_close(struct screen *s)
{
	struct err e;

	if (!s->open)
		return;
	screen_write(screen_end, strlen(screen_end), &e);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &s->before);
	s->open = false;
}

void screen_size(struct screen *s)
{
	struct winsize size;
	bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;

	s->columns = known ? size.ws_col : SCREEN_COLUMNS;
	s->lines = known ? size.ws_row : SCREEN_LINES;
}

/* Erases the rest of each line after its text, and everything after the last line. */
int screen_show(const struct screen *s, const struct text *page, struct err *e)
{
	TEXT_CLEANUP struct text t = {0};
	const char *at = page->p ? page->p : "";

	text_printf(&t, "\033[H");
	for (unsigned line = 0; *at && line < s->lines; line++) {
		int n = (int)strcspn(at, "\n");

		text_printf(&t, "%s%.*s\033[K", line ? "\r\n" : "", n, at);
		at += n + (at[n] == '\n');
	}
	text_printf(&t, "\033[J");
	return text_ok(&t) ? screen_write(t.p, t.n, e) : err_set(e, ENOMEM, "no memory");
}

enum screen_event screen_wait(
	const struct screen *s, const struct signals *signals, uint64_t until_ns, char *key)
{
	struct pollfd fds[] = {{.fd = signals->fd, .events = POLLIN},
		{.fd = s ? STDIN_FILENO : -1, .events = POLLIN}};
	const struct launch none = LAUNCH_NONE;
	uint64_t now = nsec_now(CLOCK_MONOTONIC);
	struct timespec timeout = nsec_timespec(until_ns > now ? until_ns - now : 0);
	int rc = ppoll(fds, 2, &timeout, NULL);

	if (rc < 0)
		return SCREEN_RESIZED;
	if (fds[0].revents && signals_take(signals, &none))
		return SCREEN_END;
	if (!fds[1].revents)
		return SCREEN_TIME;
	return read(STDIN_FILENO, key, 1) == 1 ? SCREEN_KEY : SCREEN_END;
}

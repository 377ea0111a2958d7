// SPDX-License-Identifier: MIT
/*
 * faults MOUNT PROGRAM [ARG...]: counts the page faults of PROGRAM at user level. PROGRAM
 * prints a line when it is ready, waits for a line, works, and prints a line when it is done;
 * pages.c is such a program. The count is from ready to done. faults.sh, faults.py and faults.pl do
 * the same.
 */
#define _GNU_SOURCE 1
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL 0x20000ULL

static char ctx[PATH_MAX];

struct program {
	pid_t pid;
	FILE *to, *from;
};

static void finish(void)
{
	rmdir(ctx);
}

/* The contents of a file, which are consistent within one read. */
static void get(const char *dir, const char *file, char *text, size_t room)
{
	char path[PATH_MAX + 16];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, room - 1);
	if (n < 0)
		err(1, "%s", path);
	text[n] = '\0';
	close(fd);
}

static void explain(const char *file)
{
	char sentence[512];

	get(ctx, "last_error", sentence, sizeof(sentence));
	errx(1, "%s: %s", file, strtok(sentence, "\n"));
}

/* One write is one command. last_error explains an error. */
static void put(const char *file, const char *text)
{
	char path[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", ctx, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", path);
	if (write(fd, text, strlen(text)) < 0)
		explain(file);
	close(fd);
}

static unsigned long long event_of(const char *mount)
{
	char events[4096], *at;

	get(mount, "pmu/events", events, sizeof(events));
	at = strstr(events, "page-faults ");
	if (!at)
		errx(1, "%s counts no page faults: see --backend=perf", mount);
	return strtoull(at + strlen("page-faults "), NULL, 16);
}

static void make_context(const char *mount)
{
	char text[32];

	snprintf(ctx, sizeof(ctx), "%.*s/ctx/faults-%d", PATH_MAX - 32, mount, (int)getpid());
	if (mkdir(ctx, 0700) < 0)
		err(1, "%s", ctx);
	atexit(finish);
	snprintf(text, sizeof(text), "%#llx", event_of(mount) & ~KERNEL);
	put("pmc/0", text);
}

static struct program start_program(char **command)
{
	int to[2], from[2];
	struct program p;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		err(1, "pipe");
	p.pid = fork();
	if (p.pid < 0)
		err(1, "fork");
	if (p.pid == 0) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		execvp(command[0], command);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	p.to = fdopen(to[1], "w");
	p.from = fdopen(from[0], "r");
	return p;
}

static void wait_line(const struct program *p)
{
	char line[64];

	if (!fgets(line, sizeof(line), p->from))
		errx(1, "the program has ended");
}

int main(int argc, char **argv)
{
	char text[32];
	struct program p;

	if (argc < 3)
		errx(2, "usage: faults MOUNT PROGRAM [ARG...]");
	make_context(argv[1]);
	p = start_program(argv + 2);
	wait_line(&p);
	snprintf(text, sizeof(text), "load tid=%d", (int)p.pid);
	put("ctl", text);
	put("ctl", "start");
	fputs("\n", p.to);
	fflush(p.to);
	wait_line(&p);
	put("ctl", "stop");
	get(ctx, "pmd/0", text, sizeof(text));
	fputs(text, stdout);
	return 0;
}

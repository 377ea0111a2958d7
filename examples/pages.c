// SPDX-License-Identifier: MIT
/*
 * pages N: a program with a known number of page faults. It prints "ready", waits for a line,
 * touches N new pages, prints "done", and exits at the end of its input. Between the two lines it
 * has exactly N page faults at user level, because a first round has touched everything else.
 */
#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 1 << 20 };

static void say(const char *line, size_t n)
{
	if (write(STDOUT_FILENO, line, n) != (ssize_t)n)
		err(1, "stdout");
}

/* Waits for a line. Returns 0 at the end of the input. */
static int next_line(void)
{
	char c = 0;

	while (c != '\n')
		if (read(STDIN_FILENO, &c, 1) != 1)
			return 0;
	return 1;
}

static void touch(volatile char *area, size_t pages)
{
	if (madvise((void *)(uintptr_t)area, pages * PAGE, MADV_DONTNEED) < 0)
		err(1, "madvise");
	for (size_t i = 0; i < pages; i++)
		area[i * PAGE] = 1;
}

int main(int argc, char **argv)
{
	long pages = argc == 2 ? atol(argv[1]) : 0;
	char *area;

	if (pages < 1 || pages > MOST)
		errx(2, "usage: pages N");
	area = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	if (area == MAP_FAILED)
		err(1, "%ld pages", pages);
	/* One fault per page: no huge pages. */
	if (madvise(area, (size_t)pages * PAGE, MADV_NOHUGEPAGE) < 0)
		err(1, "madvise");
	touch(area, (size_t)pages);
	say("ready\n", 6);
	if (!next_line())
		return 0;
	touch(area, (size_t)pages);
	say("done\n", 5);
	next_line();
	return 0;
}

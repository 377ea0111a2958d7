// SPDX-License-Identifier: MIT
/*
 * waves threads|forks N WAVE FAULTS: at the next line from standard input, N short lives, WAVE at a
 * time; each causes FAULTS page faults besides those of being born and dying. Prints "thread TID"
 * before, and when all have ended "ended N faults SUM", by their own account; ends at the next
 * line.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/track/known.h"

static uint64_t nfaults;

static void work(void)
{
	size_t pages = nfaults ? nfaults : 1;
	volatile char *area = fault_area(pages);

	fault(area, pages, nfaults);
	munmap((void *)(uintptr_t)area, pages * PAGE);
}

static void *job(void *arg)
{
	(void)arg;
	work();
	return (void *)my_faults();
}

/* Each returns how many have lived, and adds their faults. */
static unsigned threads(unsigned n, long *faults)
{
	pthread_t thread[256];
	unsigned born = 0;
	void *its;

	while (born < n && !pthread_create(&thread[born], NULL, job, NULL))
		born++;
	for (unsigned i = 0; i < born; i++) {
		pthread_join(thread[i], &its);
		*faults += (long)its;
	}
	return born;
}

static unsigned forks(unsigned n, long *faults)
{
	unsigned ended = 0;
	struct rusage usage;
	int status;

	for (unsigned i = 0; i < n; i++) {
		if (fork() == 0) {
			work();
			_exit(0);
		}
	}
	while (wait4(-1, &status, 0, &usage) > 0) {
		ended += status == 0;
		*faults += usage.ru_minflt + usage.ru_majflt;
	}
	return ended;
}

int main(int argc, char **argv)
{
	unsigned n, wave, ended = 0;
	long faults = 0;

	if (argc != 5)
		errx(2, "usage: waves threads|forks N WAVE FAULTS");
	n = (unsigned)atoi(argv[2]);
	wave = (unsigned)atoi(argv[3]);
	nfaults = strtoull(argv[4], NULL, 0);
	if (wave < 1 || wave > 256)
		errx(2, "WAVE is 1 to 256");
	end_with_parent();
	printf("thread %d\n", gettid());
	fflush(stdout);
	if (!next_line())
		return 1;
	for (unsigned i = 0; i < n; i += wave) {
		unsigned now = n - i < wave ? n - i : wave;

		ended += strcmp(argv[1], "forks") ? threads(now, &faults) : forks(now, &faults);
	}
	printf("ended %u faults %ld\n", ended, faults);
	fflush(stdout);
	next_line();
	return 0;
}

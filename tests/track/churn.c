// SPDX-License-Identifier: MIT
/*
 * churn N FAULTS: N threads, each of which creates its successor and ends, a few thousand times a
 * second. At the next line from standard input the newest ones stay; it prints "thread TID" for
 * each and "ready". At the next line each causes FAULTS page faults; it prints "done", and exits at
 * the next line.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/track/known.h"

static uint64_t nfaults;
static pthread_barrier_t steps;
static atomic_bool stay;

static void *link_of_chain(void *arg)
{
	volatile char *area;
	pthread_t next;

	if (!atomic_load(&stay)) {
		usleep(200);
		if (pthread_create(&next, NULL, link_of_chain, NULL) == 0)
			pthread_detach(next);
		else
			abort();
		return arg;
	}
	area = fault_area(nfaults);
	printf("thread %d\n", gettid());
	pthread_barrier_wait(&steps);
	pthread_barrier_wait(&steps);
	fault(area, nfaults, nfaults);
	pthread_barrier_wait(&steps);
	pthread_barrier_wait(&steps);
	return arg;
}

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned n = argc == 3 ? (unsigned)atoi(argv[1]) : 0;
	pthread_t thread;

	if (!n)
		return 2;
	nfaults = (uint64_t)atoi(argv[2]);
	pthread_barrier_init(&steps, NULL, n + 1);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&thread, NULL, link_of_chain, NULL) || pthread_detach(thread))
			return 1;
	say("churns");
	next_line();
	atomic_store(&stay, true);
	pthread_barrier_wait(&steps);
	say("ready");
	next_line();
	pthread_barrier_wait(&steps);
	pthread_barrier_wait(&steps);
	say("done");
	next_line();
	pthread_barrier_wait(&steps);
	return 0;
}

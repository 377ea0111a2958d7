// SPDX-License-Identifier: MIT
/*
 * spinner CPU burn|fault: a competitor, which takes what it can get of CPU by doing nothing, or by
 * page faults, until it is killed or who started it ends. Prints "thread TID" first.
 */
#include <stdio.h>
#include <string.h>

#include "tests/track/known.h"

int main(int argc, char **argv)
{
	enum { PAGES = 16 };
	volatile char *area;

	if (argc != 3)
		errx(2, "usage: spinner CPU burn|fault");
	end_with_parent();
	pin((unsigned)atoi(argv[1]));
	printf("thread %d\n", gettid());
	fflush(stdout);
	area = fault_area(PAGES);
	for (;;)
		if (!strcmp(argv[2], "fault"))
			fault(area, PAGES, PAGES);
}

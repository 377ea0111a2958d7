// SPDX-License-Identifier: MIT
/*
 * spinner CPU burn|fault: a competitor that uses all of CPU's time, by an empty loop or by page
 * faults, until it is killed or its parent exits. Prints "thread TID" first.
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

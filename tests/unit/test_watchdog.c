// SPDX-License-Identifier: MIT
/* The watchdog: what it tells of a session thread that waits, works, or hangs. */
#include <poll.h>

#include "base/nsec.h"
#include "daemon/fs/session/watchdog.h"
#include "tests/unit/unit.h"

#define LIMIT (NSEC_PER_SEC / 25)

static atomic_uint reports;

static void report(void)
{
	atomic_fetch_add(&reports, 1);
}

/* There is one more, in time that even a busy machine has. */
static void wait_for_report(void)
{
	unsigned before = atomic_load(&reports);

	for (unsigned i = 0; i < 10000 && atomic_load(&reports) == before; i++)
		poll(NULL, 0, 1);
	assert_int_not_equal(atomic_load(&reports), before);
}

/* After the look that sees the last step, there is none for three times the limit. */
static void expect_no_report(void)
{
	unsigned before, tries = 0;

	do {
		before = atomic_load(&reports);
		poll(NULL, 0, (int)(3 * LIMIT / 1000000));
	} while (atomic_load(&reports) != before && ++tries < 20);
	assert_int_equal(atomic_load(&reports), before);
}

TEST(watchdog)
{
	struct watchdog w = {0};

	watchdog_begin(&w, LIMIT, report);
	expect_no_report(); /* it begins at work */
	watchdog_step(&w);
	wait_for_report(); /* waits */
	wait_for_report();
	watchdog_step(&w);
	expect_no_report(); /* hangs */
	watchdog_step(&w);
	watchdog_step(&w);
	wait_for_report(); /* has worked on */
	expect_no_report();
	watchdog_step(&w);
	watchdog_end(&w);
	expect_no_report();
}

TEST(none)
{
	struct watchdog w = {0};

	watchdog_begin(&w, 0, NULL);
	watchdog_step(&w);
	watchdog_end(&w);
	assert_int_equal(atomic_load(&w.steps), 1);
}

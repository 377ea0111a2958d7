// SPDX-License-Identifier: MIT
/*
 * A format whose file takes as long to open as the test wants: it waits for a writer of the FIFO
 * SLOWFORMAT.begun, then for one of SLOWFORMAT.go. Without that variable it does not wait.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "perfmonfs/format.h"

static void wait_for_writer(const char *fifo, const char *what)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.%s", fifo, what);
	close(open(path, O_RDONLY | O_CLOEXEC));
}

__attribute__((constructor)) static void begin(void)
{
	const char *fifo = getenv("SLOWFORMAT");

	if (!fifo)
		return;
	wait_for_writer(fifo, "begun");
	wait_for_writer(fifo, "go");
}

static int handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	(void)buf, (void)tstamp, (void)data;
	arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	return 0;
}

const pfm_buffer_fmt_t perfmonfs_format = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = "slow",
	.fmt_uuid = {0x5c, 0x31, 0x8e, 0x07, 0xd2, 0x6b, 0x4f, 0x90, 0x8a, 0x1d, 0x77, 0x0e, 0x95,
		0x4a, 0xb3, 0x26},
	.fmt_handler = handler,
};

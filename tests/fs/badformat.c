// SPDX-License-Identifier: MIT
/* A format that fails at the overflow after the first GOOD ones: with an error, or with "crash".
 * Each of these takes MS milliseconds. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "perfmonfs/format.h"

struct bad { /* arguments and buffer */
	uint32_t good, ms, crash;
};

static int getsize(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags, (void)arg;
	*size = sizeof(struct bad);
	return 0;
}

static int init(uint32_t ctx_flags, void *arg, void *buf)
{
	(void)ctx_flags;
	*(struct bad *)buf = *(const struct bad *)arg;
	return 0;
}

static int handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	struct bad *bad = buf;

	(void)tstamp, (void)data;
	arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	if (bad->good) {
		bad->good--;
		usleep(1000 * bad->ms);
		return 0;
	}
	if (bad->crash)
		abort();
	return EIO;
}

static const pfm_fmt_param_t params[] = {
	{.name = "good", .offset = offsetof(struct bad, good), .size = 4},
	{.name = "ms", .offset = offsetof(struct bad, ms), .size = 4},
	{.name = "crash", .offset = offsetof(struct bad, crash), .size = 4, .flag = 1},
	{0},
};

const pfm_buffer_fmt_t perfmonfs_format = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = "bad",
	.fmt_uuid = {0x0d, 0x2f, 0x41, 0xb9, 0x95, 0x4c, 0x4a, 0x5e, 0x8f, 0x23, 0x6a, 0x10, 0x3e,
		0x77, 0xc1, 0x52},
	.fmt_arg_size = sizeof(struct bad),
	.fmt_params = params,
	.fmt_getsize = getsize,
	.fmt_init = init,
	.fmt_handler = handler,
};

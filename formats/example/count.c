// SPDX-License-Identifier: MIT
/*
 * A sampling format to copy. It counts the overflows of each PMD and notifies at every @every-th
 * overflow.
 *
 *	cc -shared -fPIC -O2 -I include -o count.so count.c
 *
 * Copy it, change its name and UUID (uuidgen), install it in a directory to which only root can
 * write, and register it: echo "register /usr/local/lib/perfmonfs/count.so" > MNT/formats
 * Then: echo "count every=100" > format
 */
#include "perfmonfs/format.h"

/* The buffer. */
struct count {
	uint64_t every, since, counts[PFM_FMT_MAX_PMDS];
};

static int count_getsize(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags, (void)arg;
	*size = sizeof(struct count);
	return 0;
}

static int count_init(uint32_t ctx_flags, void *arg, void *buf)
{
	(void)ctx_flags;
	((struct count *)buf)->every = *(const uint64_t *)arg;
	return 0;
}

static int count_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	struct count *c = buf;

	(void)tstamp, (void)data;
	c->counts[arg->ovfl_pmd] += arg->ovfl_count;
	c->since += arg->ovfl_count;
	if (c->since >= c->every) {
		c->since = 0;
		arg->ovfl_ctrl.notify_user = 1;
	}
	arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	return 0;
}

static const pfm_fmt_param_t params[] = {{.name = "every", .size = 8, .def = 1000}, {0}};

const pfm_buffer_fmt_t perfmonfs_format = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = "count",
	.fmt_uuid = {0xbb, 0x93, 0x50, 0xc6, 0x20, 0x7a, 0x48, 0x2f, 0xac, 0x96, 0x8d, 0xe6, 0xf3,
		0xe2, 0xaa, 0xa8},
	.fmt_version = 1U << 16, /* 1.0 */
	.fmt_arg_size = sizeof(uint64_t),
	.fmt_params = params,
	.fmt_getsize = count_getsize,
	.fmt_init = count_init,
	.fmt_handler = count_handler,
};

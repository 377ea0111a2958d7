// SPDX-License-Identifier: MIT
/*
 * user_format EVERY: a context of 2.0 with formats/example/count.c, of which the library knows
 * nothing, by its UUID; prints what the context's file says that its format is.
 */
#define PERFMON_ABI 200
#include <perfmon/perfmon.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct {
		pfarg_context_t ctx;
		uint64_t every;
	} both;
	const pfm_uuid_t count = {0xbb, 0x93, 0x50, 0xc6, 0x20, 0x7a, 0x48, 0x2f, 0xac, 0x96, 0x8d,
		0xe6, 0xf3, 0xe2, 0xaa, 0xa8};

	if (argc != 2)
		return 2;
	memset(&both, 0, sizeof(both));
	memcpy(both.ctx.ctx_smpl_buf_id, count, sizeof(count));
	both.every = strtoull(argv[1], NULL, 0);
	if (perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1) < 0)
		err(1, "PFM_CREATE_CONTEXT");
	return system("cat \"$PERFMONFS\"/ctx/*/format") != 0;
}

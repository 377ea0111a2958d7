// SPDX-License-Identifier: MIT
/* create [system_wide]: "ok", or the name of the error of making a context. */
#include <perfmon/perfmon.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	pfarg_ctx_t ctx = {0};

	if (argc > 1 && strcmp(argv[1], "system_wide") == 0)
		ctx.ctx_flags = PFM_FL_SYSTEM_WIDE;
	puts(pfm_create_context(&ctx, NULL, NULL, 0) < 0 ? strerrorname_np(errno) : "ok");
	return 0;
}

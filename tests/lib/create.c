// SPDX-License-Identifier: MIT
/* create: "ok", or the name of the error of making a context. */
#include <perfmon/perfmon.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	pfarg_ctx_t ctx;

	memset(&ctx, 0, sizeof(ctx));
	puts(pfm_create_context(&ctx, NULL, NULL, 0) < 0 ? strerrorname_np(errno) : "ok");
	return 0;
}

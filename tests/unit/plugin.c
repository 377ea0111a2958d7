// SPDX-License-Identifier: MIT
/* A format for the registry's tests, broken in the way that a PLUGIN_ macro says. */
#include <errno.h>

#include "perfmonfs/format.h"

#ifdef PLUGIN_API
#define API (PFM_FMT_API + 1)
#else
#define API PFM_FMT_API
#endif

#if defined(PLUGIN_NO_NAME)
#define NAME NULL
#elif defined(PLUGIN_TWO_WORDS)
#define NAME "two words"
#elif defined(PLUGIN_DUP_NAME)
#define NAME "default"
#elif defined(PLUGIN_DUP_UUID)
#define NAME "dup_uuid"
#else
#define NAME "fails"
#endif

#if defined(PLUGIN_NO_UUID)
#define UUID                                                                                       \
	{                                                                                          \
		0                                                                                  \
	}
#elif defined(PLUGIN_DUP_UUID) /* of default */
#define UUID                                                                                       \
	{                                                                                          \
		0x4d, 0x72, 0xbe, 0xc0, 0x06, 0x64, 0x41, 0x43, 0x82, 0xb4, 0xd3, 0xfd, 0x27,      \
			0x24, 0x3c, 0x97                                                           \
	}
#else
#define UUID                                                                                       \
	{                                                                                          \
		0x11, 0x6f, 0x0a, 0xd7                                                             \
	}
#endif

#ifndef PLUGIN_NO_HANDLER
static int handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	(void)buf, (void)arg, (void)tstamp, (void)data;
	return EIO;
}
#endif

/* One that reaches over the end of the argument structure. */
#ifdef PLUGIN_PARAM
static const pfm_fmt_param_t params[] = {{.name = "over", .offset = 4, .size = 8}, {0}};
#endif

#ifdef PLUGIN_NO_SYMBOL
#define perfmonfs_format some_format
#endif

const pfm_buffer_fmt_t perfmonfs_format = {
	.fmt_api = API,
	.fmt_name = NAME,
	.fmt_uuid = UUID,
#ifdef PLUGIN_PARAM
	.fmt_arg_size = 8,
	.fmt_params = params,
#endif
#ifndef PLUGIN_NO_HANDLER
	.fmt_handler = handler,
#endif
};

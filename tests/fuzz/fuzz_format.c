// SPDX-License-Identifier: MIT
/* The line that chooses a sampling format: what is taken can be shown and taken again. */
#include "tests/fuzz/fuzz.h"

#include "base/cleanup.h"
#include "daemon/format/format.h"
#include "formats/formats.h"

static int no_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	(void)buf, (void)arg, (void)tstamp, (void)data;
	return 0;
}

/* Members that are not aligned, flags in both sizes and with defaults, one of several bits. */
static const pfm_fmt_param_t odd_params[] = {
	{"a", 1, 8, 0, 5},
	{"b", 9, 4, 0, UINT32_MAX},
	{"on", 13, 4, 1, 1},
	{"off", 13, 4, 6, 0},
	{"high", 17, 8, 1u << 31, 0},
	{0},
};

static const pfm_buffer_fmt_t odd = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = "odd",
	.fmt_uuid = {1},
	.fmt_arg_size = 25,
	.fmt_params = odd_params,
	.fmt_handler = no_handler,
};

static const pfm_buffer_fmt_t bare = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = "bare",
	.fmt_uuid = {2},
	.fmt_handler = no_handler,
};

static void register_once(void)
{
	static bool done;
	struct err e;

	if (done)
		return;
	CHECK(formats_register(builtin_formats, &e) == 0);
	CHECK(format_register(&(struct plugin){.fmt = &odd}, &e) == 0);
	CHECK(format_register(&(struct plugin){.fmt = &bare}, &e) == 0);
	done = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TEXT_CLEANUP struct text shown = {0}, shown_again = {0};
	CLEANUP_FREE void *arg = NULL, *again = NULL;
	const pfm_buffer_fmt_t *fmt, *fmt_again;
	struct slice s = slice_of_input(data, size);
	struct err e;
	int rc;

	register_once();
	if (!slice_text(&s, false))
		return 0;
	rc = format_parse(s, &fmt, &arg, &e);
	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		CHECK(!fmt && !arg);
		return 0;
	}
	CHECK(fmt ? !arg == !fmt->fmt_arg_size : !arg);
	format_print(fmt, arg, &shown);
	s = slice_of_text(&shown);
	CHECK(slice_text(&s, false));
	CHECK(format_parse(s, &fmt_again, &again, &e) == 0 && fmt_again == fmt);
	CHECK(!arg || memcmp(arg, again, fmt->fmt_arg_size) == 0);
	format_print(fmt_again, again, &shown_again);
	CHECK(text_equal(&shown, &shown_again));
	return 0;
}

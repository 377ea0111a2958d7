// SPDX-License-Identifier: MIT
#include "tools/pfm/events/cpuinfo.h"

#include "base/num.h"

static int cpuinfo_number(struct slice value)
{
	struct err e;
	uint64_t v;

	return num_max(value, 0xffff, &v, &e) == 0 ? (int)v : -1;
}

static bool cpuinfo_is_amd(struct slice vendor)
{
	return slice_is(vendor, "AuthenticAMD") || slice_is(vendor, "HygonGenuine");
}

static enum arch_encoding cpuinfo_encoding(struct slice vendor)
{
	if (cpuinfo_is_amd(vendor))
		return ARCH_AMD;
	return slice_is(vendor, "GenuineIntel") ? ARCH_INTEL : ARCH_NONE;
}

/* An empty line ends the first processor. */
struct pfm_cpu cpuinfo_parse(struct slice text)
{
	struct pfm_cpu cpu = {ARCH_NONE, -1, -1, false};

	while (text.n) {
		struct slice value = slice_cut(&text, '\n');
		struct slice key = slice_trim(slice_cut(&value, ':'));

		value = slice_trim(value);
		if (!key.n)
			break;
		if (slice_is(key, "vendor_id"))
			cpu.encoding = cpuinfo_encoding(value);
		else if (slice_is(key, "cpu family"))
			cpu.family = cpuinfo_number(value);
		else if (slice_is(key, "model"))
			cpu.model = cpuinfo_number(value);
	}
	return cpu;
}

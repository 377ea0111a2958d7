// SPDX-License-Identifier: MIT
/*
 * CPUID of the models: the leaves by which a PMU is found. Others that exist are all zeros, and
 * none of these has subleaves.
 */
#include "backend/sim/hw_i.h"

#include <errno.h>
#include <string.h>

#define CPUID1_ECX_PDCM             (1U << 15)
#define CPUID1_EDX_TSC              (1U << 4)
#define CPUID1_EDX_MSR              (1U << 5)
#define CPUIDA_EDX_ANY_DEPRECATED   (1U << 15)
#define CPUID80000001_ECX_PERF_CORE (1U << 23)
#define CPUID80000022_EAX_V2        (1U << 0)

/* Spelled in EBX, EDX, ECX. */
static void put_vendor(const char *vendor, uint32_t out[4])
{
	memcpy(&out[1], vendor, 4);
	memcpy(&out[3], vendor + 4, 4);
	memcpy(&out[2], vendor + 8, 4);
}

static void leaf_1(const struct hw_model *m, unsigned cpu, uint32_t out[4])
{
	out[0] = m->signature;
	out[1] = (cpu & 0xff) << 24; /* initial APIC id */
	out[2] = m->perf_capabilities ? CPUID1_ECX_PDCM : 0;
	out[3] = CPUID1_EDX_TSC | CPUID1_EDX_MSR;
}

static void leaf_a(const struct hw_model *m, uint32_t out[4])
{
	/* EBX has a bit for each architectural event, 0 where it exists: all do. */
	uint32_t nevents = m->version >= 5 ? 8 : 7;
	uint32_t fixed_width = m->nfixed ? m->width : 0;

	out[0] = m->version | (uint32_t)m->ngp << 8 | (uint32_t)m->width << 16 | nevents << 24;
	out[3] = m->nfixed | fixed_width << 5;
	if (m->version < 5)
		return;
	/* A counter exists if the bitmap or the number says so: here the last by the bitmap only.
	 */
	out[2] = (1U << m->nfixed) - 1;
	out[3] = (out[3] - 1) | CPUIDA_EDX_ANY_DEPRECATED;
}

static void leaf_amd(const struct hw_model *m, uint32_t leaf, uint32_t out[4])
{
	switch (leaf) {
	case 0x80000000:
		put_vendor(m->family->vendor, out);
		break;
	case 0x80000001:
		out[0] = m->signature;
		out[2] = m->version >= 1 ? CPUID80000001_ECX_PERF_CORE : 0;
		break;
	case 0x80000022:
		out[0] = CPUID80000022_EAX_V2;
		out[1] = m->ngp;
		break;
	}
}

int hw_cpuid(struct hw *hw, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	const struct hw_model *m = hw->model;
	bool intel = m->family == &hw_intel;

	(void)subleaf;
	if (!hw_online(hw, cpu))
		return -ENXIO;
	memset(out, 0, 4 * sizeof(out[0]));
	if (leaf > (leaf >> 31 ? m->max_ext : m->max_leaf)) {
		/* AMD answers a leaf beyond the last with zeros, Intel with the last basic one. */
		if (!intel)
			return 0;
		leaf = m->max_leaf;
	}
	if (leaf == 0) {
		out[0] = m->max_leaf;
		put_vendor(m->family->vendor, out);
	} else if (leaf == 0x80000000) {
		out[0] = m->max_ext;
	} else if (leaf == 1) {
		leaf_1(m, cpu, out);
	} else if (leaf == 0xa && intel) {
		leaf_a(m, out);
	}
	if (!intel)
		leaf_amd(m, leaf, out);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * The CPU models. Each is a processor that was made, named in its row; CPUID gives its family
 * and model, its counters are that processor's with hyperthreading on.
 */
#include "backend/sim/hw_i.h"

#define SEL_LOW       0xffffffffULL
#define SEL_ANY       (1ULL << 21)
#define SEL_PIN       (1ULL << 19)
#define SEL_INTEL     (SEL_LOW & ~SEL_ANY)
#define SEL_INTEL_ANY SEL_LOW
/* Bits 35:32 are more of the event, 41:40 count in guest and host. */
#define SEL_AMD_10H (0x30f00000000ULL | (SEL_LOW & ~SEL_ANY))
#define SEL_AMD_17H (SEL_AMD_10H & ~SEL_PIN)

const struct hw_model hw_models[] = {
	{
		.name = "p6", /* Pentium III (Coppermine) */
		.family = &hw_intel,
		.rates = hw_p6_rates,
		.signature = 0x683,
		.max_leaf = 3,
		.ngp = 2,
		.width = 40,
		.sel_bits = SEL_INTEL,
	},
	{
		.name = "intel_v1", /* Core Duo (Yonah) */
		.family = &hw_intel,
		.rates = hw_intel_rates,
		.signature = 0x6e8,
		.max_leaf = 0xa,
		.max_ext = 0x80000008,
		.version = 1,
		.ngp = 2,
		.width = 40,
		.sel_bits = SEL_INTEL,
	},
	{
		.name = "intel_v2", /* Core 2 (Penryn) */
		.family = &hw_intel,
		.rates = hw_intel_rates,
		.signature = 0x10676,
		.max_leaf = 0xa,
		.max_ext = 0x80000008,
		.version = 2,
		.ngp = 2,
		.nfixed = 3,
		.width = 40,
		.sel_bits = SEL_INTEL,
		.global_reset = 0x3,
		.perf_capabilities = true,
	},
	{
		.name = "intel_v3", /* Nehalem */
		.family = &hw_intel,
		.rates = hw_intel_rates,
		.signature = 0x106a5,
		.max_leaf = 0xb,
		.max_ext = 0x80000008,
		.version = 3,
		.ngp = 4,
		.nfixed = 3,
		.width = 48,
		.sel_bits = SEL_INTEL_ANY,
		.global_reset = 0xf,
		.perf_capabilities = true,
	},
	{
		.name = "intel_v4", /* Skylake */
		.family = &hw_intel,
		.rates = hw_intel_rates,
		.signature = 0x506e3,
		.max_leaf = 0x16,
		.max_ext = 0x80000008,
		.version = 4,
		.ngp = 4,
		.nfixed = 3,
		.width = 48,
		.sel_bits = SEL_INTEL_ANY,
		.global_reset = 0xf,
		.perf_capabilities = true,
		.full_width = true,
	},
	{
		.name = "intel_v5", /* Ice Lake */
		.family = &hw_intel,
		.rates = hw_intel_rates,
		.signature = 0x706e5,
		.max_leaf = 0x1b,
		.max_ext = 0x80000008,
		.version = 5,
		.ngp = 8,
		.nfixed = 4,
		.width = 48,
		.sel_bits = SEL_INTEL,
		.global_reset = 0xff,
		.perf_capabilities = true,
		.full_width = true,
	},
	{
		.name = "amd_legacy", /* family 10h (Barcelona) */
		.family = &hw_amd,
		.rates = hw_amd_rates,
		.signature = 0x100f23,
		.max_leaf = 5,
		.max_ext = 0x8000001a,
		.ngp = 4,
		.width = 48,
		.sel_bits = SEL_AMD_10H,
	},
	{
		.name = "amd_ext", /* Zen 2 (Rome) */
		.family = &hw_amd,
		.rates = hw_amd_rates,
		.signature = 0x830f10,
		.max_leaf = 0x10,
		.max_ext = 0x80000020,
		.version = 1,
		.ngp = 6,
		.width = 48,
		.sel_bits = SEL_AMD_17H,
	},
	{
		.name = "amd_v2", /* Zen 4 (Genoa); Linux leaves its counters globally disabled */
		.family = &hw_amd,
		.rates = hw_amd_rates,
		.signature = 0xa10f11,
		.max_leaf = 0x10,
		.max_ext = 0x80000028,
		.version = 2,
		.ngp = 6,
		.width = 48,
		.sel_bits = SEL_AMD_17H,
	},
	{0},
};

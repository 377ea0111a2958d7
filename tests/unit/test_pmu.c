// SPDX-License-Identifier: MIT
/* Descriptions: detection, the rules of validation, the text form, what CPUs have in common. */
#include <sys/stat.h>

#include "backend/pmu/catalog.h"
#include "backend/pmu/detect.h"
#include "backend/pmu/model.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "tests/pmu_attacks.h"
#include "tests/pmu_print.h"
#include "tests/unit/unit.h"

static struct pmu named(const char *name)
{
	struct pmu pmu;

	assert_int_equal(pmu_load(name, &pmu, &why), 0);
	return pmu;
}

/* A CPU, by what its leaves say. */
struct leaves {
	const char *vendor;
	uint32_t max, eax1, ecx1;
	uint32_t perfmon[4];
	uint32_t ext_max, ext_ecx, v2_eax, v2_ebx, v2_ecx;
	uint64_t caps;
	int caps_rc, cpuid_rc;
	uint32_t from; /* the first leaf that cpuid_rc is for */
	uint32_t edx7, ext, core, gp23, fixed23;
};

static int leaves_cpuid(void *arg, uint32_t leaf, uint32_t subleaf, uint32_t out[4], struct err *e)
{
	const struct leaves *l = arg;

	if (l->cpuid_rc && leaf >= l->from)
		return err_set(e, -l->cpuid_rc, "no cpuid");
	assert_true(subleaf == 0 || (subleaf == 1 && (leaf == 7 || leaf == 0x23)));
	memset(out, 0, 4 * sizeof(out[0]));
	switch (leaf) {
	case 7:
		out[subleaf ? 0 : 3] = subleaf ? l->ext : l->edx7;
		break;
	case 0x1a:
		assert_true(l->max >= 0x1a);
		out[0] = l->core;
		break;
	case 0x23:
		assert_true(l->max >= 0x23);
		out[0] = subleaf ? l->gp23 : 3;
		out[1] = subleaf ? l->fixed23 : 0;
		break;
	case 0:
		out[0] = l->max;
		memcpy(&out[1], l->vendor, 4);
		memcpy(&out[3], l->vendor + 4, 4);
		memcpy(&out[2], l->vendor + 8, 4);
		break;
	case 1:
		out[0] = l->eax1;
		out[2] = l->ecx1;
		break;
	case 0xa:
		assert_true(l->max >= 0xa);
		memcpy(out, l->perfmon, sizeof(l->perfmon));
		break;
	case 0x80000000:
		out[0] = l->ext_max;
		break;
	case 0x80000001:
		out[2] = l->ext_ecx;
		break;
	case 0x80000022:
		assert_true(l->ext_max >= 0x80000022);
		out[0] = l->v2_eax;
		out[1] = l->v2_ebx;
		out[2] = l->v2_ecx;
		break;
	default:
		fail_msg("leaf %#x is not needed", leaf);
	}
	return 0;
}

static int leaves_rdmsr(void *arg, uint32_t addr, uint64_t *value)
{
	const struct leaves *l = arg;

	assert_int_equal(addr, 0x345);
	*value = l->caps;
	return l->caps_rc;
}

static int detect(const struct leaves *l, struct pmu *pmu, struct err *e)
{
	struct leaves copy = *l;
	struct pmu_cpu cpu = {leaves_cpuid, leaves_rdmsr, &copy};

	struct pmu_detected d;
	int rc = pmu_detect(&cpu, &d, e);

	return rc < 0 ? rc : pmu_describe(&d, pmu, e);
}

#define INTEL   .vendor = "GenuineIntel"
#define AMD     .vendor = "AuthenticAMD"
#define SKYLAKE .max = 0x16, .eax1 = 0x506c9
#define PDCM    (1u << 15)
#define VM      (1u << 31)
#define FW      (1ull << 13)

static const struct {
	struct leaves cpu;
	const char *name; /* NULL: no PMU */
	unsigned npmcs, npmds, width;
	uint32_t waddr; /* of the first counter */
	uint64_t wmask;
	int rc;
	const char *says;
} detections[] = {
	/* Pentium III, Pentium M without and with an empty leaf */
	{{INTEL, .max = 2, .eax1 = 0x683}, "p6", 2, 2, 40, 0xc1, 0x7fffffff},
	{{INTEL, .max = 0xa, .eax1 = 0x6d8}, "pentium_m", 2, 2, 40, 0xc1, 0x7fffffff},
	/* Core Duo */
	{{INTEL, .max = 0xa, .eax1 = 0x6e8, .perfmon = {0x07280201}}, "core", 2, 2, 40, 0xc1,
		0x7fffffff},
	/* Core 2 */
	{{INTEL, .max = 0xa, .eax1 = 0x6fb, .perfmon = {0x07280202, 0, 0, 0x503}}, "core2", 3, 5,
		40, 0xc1, 0x7fffffff},
	/* Skylake; under a hypervisor, and one that presents another version */
	{{INTEL, .max = 0x16, .eax1 = 0x506e3, .perfmon = {0x07300404, 0, 0, 0x603}}, "skylake", 9,
		7, 48, 0xc1, 0x7fffffff},
	{{INTEL, .max = 0x16, .eax1 = 0x506e3, .ecx1 = VM, .perfmon = {0x07300404, 0, 0, 0x603}},
		"intel_arch_v4", 5, 7, 48, 0xc1, 0x7fffffff},
	{{INTEL, .max = 0x16, .eax1 = 0x506e3, .perfmon = {0x07300402, 0, 0, 0x603}},
		"intel_arch_v2", 5, 7, 48, 0xc1, 0x7fffffff},
	/* Granite Rapids, whatever the version from 5 on */
	{{INTEL, .max = 0x20, .eax1 = 0xa06d1, .perfmon = {0x08300806, 0, 0xf, 0x604}},
		"graniterapids", 13, 12, 48, 0xc1, 0x7fffffff},
	/* Sierra Forest: leaf 0x23 has the counters of this CPU; one that is empty */
	{{INTEL, .max = 0x23, .eax1 = 0xa06f3, .perfmon = {0x08300806, 0, 0x7, 0x603},
		 .ext = 1u << 8, .gp23 = 0x35, .fixed23 = 0x75},
		"sierraforest", 7, 7, 48, 0xc1, 0x7fffffff},
	{{INTEL, .max = 0x23, .eax1 = 0xa06f3, .perfmon = {0x08300806, 0, 0x7, 0x603}},
		"sierraforest", 11, 11, 48, 0xc1, 0x7fffffff},
	/* firmware that forgot the fixed counters; a hypervisor that has none */
	{{INTEL, .max = 0xa, .eax1 = 0x6fb, .perfmon = {0x07280202}}, "core2", 3, 5, 40, 0xc1,
		0x7fffffff},
	{{INTEL, SKYLAKE, .ecx1 = VM, .perfmon = {0x07300402}}, "intel_arch_v2", 4, 4, 48, 0xc1,
		0x7fffffff},
	/* Ivy Bridge writes in full; a hypervisor hides the register; it says no */
	{{INTEL, SKYLAKE, .ecx1 = PDCM, .caps = FW, .perfmon = {0x07300403, 0, 0, 0x603}},
		"intel_arch_v3", 5, 7, 48, 0x4c1, 0xffffffffffff},
	{{INTEL, SKYLAKE, .ecx1 = PDCM, .caps_rc = -EIO, .perfmon = {0x07300403, 0, 0, 0x603}},
		"intel_arch_v3", 5, 7, 48, 0xc1, 0x7fffffff},
	{{INTEL, SKYLAKE, .caps = FW, .perfmon = {0x07300403, 0, 0, 0x603}}, "intel_arch_v3", 5, 7,
		48, 0xc1, 0x7fffffff},
	{{INTEL, SKYLAKE, .ecx1 = PDCM, .caps = FW, .perfmon = {0x07300804, 0, 0, 0x603}},
		"intel_arch_v4", 9, 11, 48, 0x4c1, 0xffffffffffff},
	/* version 5: number and bitmap are united; more counters than addresses */
	{{INTEL, SKYLAKE, .perfmon = {0x07300805, 0, 0x8, 0x603}}, "intel_arch_v5", 9, 12, 48, 0xc1,
		0x7fffffff},
	{{INTEL, SKYLAKE, .perfmon = {0x08301406, 0, 0xffff, 0x610}}, "intel_arch_v5", 9, 13, 48,
		0xc1, 0x7fffffff},
	/* a family after 6 */
	{{INTEL, .max = 0x20, .eax1 = 0x400f10, .perfmon = {0x08300805, 0, 0xf, 0x600}},
		"intel_arch_v5", 9, 12, 48, 0xc1, 0x7fffffff},

	{{INTEL, SKYLAKE, .ecx1 = PDCM, .caps_rc = -ENXIO, .perfmon = {0x07300403, 0, 0, 0x603}},
		.rc = -ENXIO, .says = "0x345"},
	{{INTEL, SKYLAKE}, .rc = -ENODEV, .says = "virtual machine"},
	/* NetBurst: IQ_ESCRs up to model 2; no model 5; QEMU's kvm64 is model 6 */
	{{INTEL, .max = 2, .eax1 = 0xf0a}, "netburst", 63, 18, 40, 0x300, 0xffffffffff},
	{{INTEL, .max = 5, .eax1 = 0xf29}, "netburst", 63, 18, 40, 0x300, 0xffffffffff},
	{{INTEL, .max = 5, .eax1 = 0xf34}, "netburst_p", 61, 18, 40, 0x300, 0xffffffffff},
	{{INTEL, .max = 6, .eax1 = 0xf64}, "netburst_p", 61, 18, 40, 0x300, 0xffffffffff},
	{{INTEL, .max = 5, .eax1 = 0xf50}, .rc = -ENODEV, .says = "family 15 model 5"},
	{{INTEL, .max = 5, .eax1 = 0xf61, .ecx1 = VM}, .rc = -ENODEV, .says = "family 15 model 6"},
	{{INTEL, .max = 1, .eax1 = 0x543}, .rc = -ENODEV, .says = "family 5 model 4 "},
	{{INTEL, .max = 2, .eax1 = 0x6d8}, "pentium_m", 2, 2, 40, 0xc1, 0x7fffffff},
	{{INTEL, .max = 2, .eax1 = 0x6e8}, .rc = -ENODEV, .says = "virtual machine"},
	{{INTEL, .max = 2, .eax1 = 0x10678}, .rc = -ENODEV, .says = "virtual machine"},
	{{INTEL, .max = 5, .eax1 = 0xf0f29}, .rc = -ENODEV, .says = "family 15 model 242 "},
	{{INTEL, SKYLAKE, .perfmon = {0x07000403}}, .rc = -ENODEV, .says = "--backend=perf"},
	{{INTEL, SKYLAKE, .perfmon = {0x07ff0403}}, .rc = -ENODEV, .says = "--backend=perf"},
	{{INTEL, SKYLAKE, .ecx1 = VM, .perfmon = {0x07300002}}, .rc = -ENODEV, .says = "CPUID"},
	{{INTEL, .cpuid_rc = -EPERM}, .rc = -EPERM, .says = "no cpuid"},

	/* K7 has no leaf above 0x80000008 */
	{{AMD, .max = 1, .eax1 = 0x6a0, .ext_max = 0x80000008}, "k7", 4, 4, 48, 0xc0010004,
		0xffffffffffff},
	{{AMD, .max = 5, .eax1 = 0x100f42, .ext_max = 0x8000001b}, "fam10h", 4, 4, 48, 0xc0010004,
		0xffffffffffff},
	{{AMD, .max = 1, .eax1 = 0xf5a, .ext_max = 0x80000018}, "k8", 4, 4, 48, 0xc0010004,
		0xffffffffffff},
	{{AMD, .max = 5, .eax1 = 0x100f42, .ecx1 = VM, .ext_max = 0x8000001b}, "amd64", 4, 4, 48,
		0xc0010004, 0xffffffffffff},
	{{AMD, .max = 13, .eax1 = 0x800f11, .ext_max = 0x8000001f, .ext_ecx = 1u << 23}, "zen", 6,
		6, 48, 0xc0010201, 0xffffffffffff},
	{{.vendor = "HygonGenuine",
		 .max = 13,
		 .eax1 = 0x900f02,
		 .ext_max = 0x8000001f,
		 .ext_ecx = 1u << 23},
		"zen", 6, 6, 48, 0xc0010201, 0xffffffffffff},
	{{AMD, .max = 16, .eax1 = 0xa10f11, .ext_max = 0x80000028, .ext_ecx = 1u << 23, .v2_eax = 1,
		 .v2_ebx = 0x1f6},
		"zen4", 6, 6, 48, 0xc0010201, 0xffffffffffff},
	/* with counters of the cache, fabric and memory controllers; a hypervisor lacks them */
	{{AMD, .max = 13, .eax1 = 0x830f10, .ext_max = 0x8000001f,
		 .ext_ecx = 1u << 23 | 1u << 24 | 1u << 28},
		"zen", 16, 16, 48, 0xc0010201, 0xffffffffffff},
	{{AMD, .max = 13, .eax1 = 0x830f10, .ecx1 = VM, .ext_max = 0x8000001f,
		 .ext_ecx = 1u << 23 | 1u << 24 | 1u << 28},
		"amd64_ext", 6, 6, 48, 0xc0010201, 0xffffffffffff},
	{{AMD, .max = 16, .eax1 = 0xb00f21, .ext_max = 0x80000028,
		 .ext_ecx = 1u << 23 | 1u << 24 | 1u << 28, .v2_eax = 1,
		 .v2_ebx = 6 | 12 << 10 | 8 << 16},
		"zen5", 32, 32, 48, 0xc0010201, 0xffffffffffff},
	{{AMD, .max = 16, .eax1 = 0xb00f21, .ext_max = 0x80000028,
		 .ext_ecx = 1u << 23 | 1u << 24 | 1u << 28, .v2_eax = 1,
		 .v2_ebx = 6 | 16u << 10 | 48u << 16},
		"zen5", 60, 60, 48, 0xc0010201, 0xffffffffffff},
	{{AMD, .max = 16, .eax1 = 0xb00f21, .ext_max = 0x80000028,
		 .ext_ecx = 1u << 23 | 1u << 24 | 1u << 28, .v2_eax = 1,
		 .v2_ebx = 6 | 16u << 10 | 48u << 16, .v2_ecx = 0xfff},
		"zen5", 52, 52, 48, 0xc0010201, 0xffffffffffff},
	/* the bit of another cache before Zen */
	{{AMD, .max = 13, .eax1 = 0x730f01, .ext_max = 0x8000001e, .ext_ecx = 1u << 23 | 1u << 28},
		"amd64_ext", 6, 6, 48, 0xc0010201, 0xffffffffffff},
	{{AMD, .max = 16, .eax1 = 0xa10f11, .ext_max = 0x80000028, .v2_eax = 1}, .rc = -ENODEV,
		.says = "CPUID"},
	{{AMD, .max = 1, .eax1 = 0x580}, .rc = -ENODEV, .says = "family 5"},
	{{.vendor = "CyrixInstead", .max = 1, .eax1 = 0x600}, .rc = -ENODEV,
		.says = "CyrixInstead"},
	{{.vendor = "\1\2AMDisbetter", .max = 1}, .rc = -ENODEV, .says = "??AMDisbette"},
};

/* Of a Zen 4 with so many counters of memory controllers, and these controllers: the first PMDs,
 * and the controllers that they tell. */
static const struct {
	unsigned counters;
	uint32_t active;
	unsigned npmds;
	unsigned nums[5], controllers[5]; /* 0: not told; else 1 more */
} memories[] = {
	{16, 0xf, 16, {64, 65, 66, 67, 68}, {1, 1, 1, 1, 2}},
	{8, 0x21, 8, {64, 65, 66, 67, 68}, {1, 1, 1, 1, 2}},
	{32, 0xff, 32, {64, 65, 66, 67, 68}, {1, 1, 1, 1, 2}},
	/* Of more than 32, the first of each. */
	{48, 0xfff, 24, {64, 65, 68, 69, 72}, {1, 1, 2, 2, 3}},
	{63, 0xffffffff, 32, {64, 65, 66, 67, 68}, {1, 2, 3, 4, 5}},
	{60, 0x3, 32, {64, 65, 66, 67, 68}, {1, 1, 1, 1, 1}},
	{63, 0x1, 32, {64, 65, 66, 67, 68}, {1, 1, 1, 1, 1}},
	/* What is left over is of none. */
	{11, 0x3, 10, {64, 65, 66, 67, 68}, {1, 1, 1, 1, 1}},
	/* CPUID contradicts itself, or tells no controllers. */
	{5, 0xff, 5, {64, 65, 66, 67, 68}, {0}},
	{48, 0, 32, {64, 65, 66, 67, 68}, {0}},
};

TEST(memory_controllers)
{
	for (unsigned i = 0; i < COUNT(memories); i++) {
		struct leaves cpu = {AMD, .max = 16, .eax1 = 0xa10f11, .ext_max = 0x80000028,
			.ext_ecx = 1u << 23, .v2_eax = 1, .v2_ebx = 6 | memories[i].counters << 16,
			.v2_ecx = memories[i].active};
		struct err e = {0};
		struct pmu pmu;

		if (detect(&cpu, &pmu, &e) < 0)
			fail_msg("case %u: %s", i, e.text);
		assert_int_equal(pmu.npmds, 6 + memories[i].npmds);
		assert_int_equal(pmu.npmcs, pmu.npmds);
		for (unsigned d = 0; d < 6; d++)
			assert_int_equal(pmu.pmds[d].umc, 0);
		for (unsigned d = 0; d < 5; d++) {
			const struct pmu_pmd *pmd = &pmu.pmds[6 + d];

			assert_int_equal(pmd->num, memories[i].nums[d]);
			assert_int_equal(pmd->addr, 0xc0010801 + 2 * (pmd->num - 64));
			assert_int_equal(pmu.pmcs[pmd->pmc].num, pmd->num);
			assert_int_equal(pmd->umc, memories[i].controllers[d]);
		}
	}
}

TEST(detect)
{
	for (unsigned i = 0; i < COUNT(detections); i++) {
		struct err e = {0};
		struct pmu pmu;
		int rc = detect(&detections[i].cpu, &pmu, &e);

		if (rc != detections[i].rc)
			fail_msg("case %u: %d, %s", i, rc, e.text);
		if (rc < 0) {
			if (!strstr(e.text, detections[i].says))
				fail_msg("case %u says: %s", i, e.text);
			assert_int_equal(e.no, -rc);
			continue;
		}
		assert_string_equal(pmu.name, detections[i].name);
		if (pmu.npmcs != detections[i].npmcs || pmu.npmds != detections[i].npmds)
			fail_msg("case %u: %u PMCs, %u PMDs", i, pmu.npmcs, pmu.npmds);
		assert_int_equal(pmu.counter_width, detections[i].width);
		assert_int_equal(pmu.pmds[0].waddr, detections[i].waddr);
		assert_int_equal(pmu.pmds[0].wmask, detections[i].wmask);
	}
}

/* CPUs that are taken for the same are described alike. */
TEST(detect_same)
{
	static struct pmu pmus[COUNT(detections)];
	struct pmu_detected found[COUNT(detections)];
	bool known[COUNT(detections)];
	unsigned same = 0;
	struct err e;

	for (unsigned i = 0; i < COUNT(detections); i++) {
		struct leaves copy = detections[i].cpu;
		struct pmu_cpu cpu = {leaves_cpuid, leaves_rdmsr, &copy};

		known[i] = pmu_detect(&cpu, &found[i], &e) == 0 &&
			   pmu_describe(&found[i], &pmus[i], &e) == 0;
	}
	for (unsigned i = 0; i < COUNT(detections); i++)
		for (unsigned j = 0; j < COUNT(detections); j++) {
			if (!known[i] || !known[j] || !pmu_detected_same(&found[i], &found[j]))
				continue;
			assert_true(pmu_same(&pmus[i], &pmus[j]));
			same++;
		}
	assert_true(same >= COUNT(detections) / 2);
}

/* Whichever leaf it is that cannot be read. */
TEST(detect_no_leaf)
{
	static const struct {
		const char *vendor;
		uint32_t leaf;
	} cases[] = {
		{INTEL, 0},
		{INTEL, 1},
		{INTEL, 0xa},
		{"AuthenticAMD", 0x80000000},
		{"AuthenticAMD", 0x80000001},
		{"AuthenticAMD", 0x80000022},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		const struct leaves cpu = {.vendor = cases[i].vendor,
			.max = 0xa,
			.eax1 = 0x6fb,
			.ext_max = 0x80000022,
			.cpuid_rc = -EPERM,
			.from = cases[i].leaf};
		struct err e = {0};
		struct pmu pmu;

		assert_int_equal(detect(&cpu, &pmu, &e), -EPERM);
		assert_string_equal(e.text, "no cpuid");
	}
}

TEST(families)
{
	struct pmu pmu = named("intel_arch_v4");
	int fixed = pmu_find_pmd(&pmu, 17), ctrl = pmu_find_pmc(&pmu, 16);

	assert_string_equal(pmu.model, "Intel architectural");
	assert_int_equal(pmu.global_ctrl, 0x38f);
	assert_int_equal(pmu.inuse, 0x392);
	assert_int_equal(named("intel_arch_v3").inuse, 0);
	assert_int_equal(named("intel_arch_v3").pmcs[0].wide, 0);
	assert_int_equal(named("intel_arch_v2").pmcs[1].wide, 0xc000);
	assert_int_equal(named("intel_arch_v1").global_ctrl, 0);
	assert_int_equal(pmu.pmcs[3].addr, 0x189);
	assert_true(ctrl >= 0 && fixed >= 0);
	assert_int_equal(pmu.pmcs[ctrl].rsvd, ~0x333ull);
	assert_int_equal(pmu.pmcs[ctrl].enable, 0x333);
	assert_int_equal(pmu.pmcs[ctrl].kernel, 0x111);
	assert_int_equal(pmu.pmds[fixed].pmc, ctrl);
	assert_int_equal(pmu.pmds[fixed].field, 0xf0);
	assert_int_equal(pmu.pmds[fixed].global, 33);
	assert_int_equal(pmu.pmds[fixed].addr, 0x30a);
	assert_int_equal(pmu.pmds[fixed].wmask, 0x7fffffff);

	pmu = named("p6");
	assert_int_equal(pmu.pmcs[1].gate, 0);
	assert_int_equal(pmu.pmcs[1].enable, 0);
	assert_int_equal(pmu_writable(&pmu, 0x187) & EVTSEL_EN, 0);

	pmu = named("amd64_v2");
	assert_int_equal(pmu.pmcs[5].addr, 0xc001020a);
	assert_int_equal(pmu.pmcs[5].wide, 0);
	assert_int_equal(pmu.pmds[5].addr, 0xc001020b);
	assert_int_equal(pmu.pmds[5].global, 5);
	assert_int_equal(pmu.global_ctrl, 0xc0000301);
	assert_int_equal(pmu_writable(&pmu, 0xc0010200), 0x30fffc7ffff);

	assert_int_equal(pmu_load("pentium", &pmu, &why), -ENODEV);
	assert_non_null(strstr(why.text, "intel_arch_v1"));
}

TEST(questions)
{
	struct pmu pmu = named("intel_arch_v4");

	assert_int_equal(pmu_find_pmc(&pmu, 15), -1);
	assert_int_equal(pmu_find_pmd(&pmu, 3), 3);
	assert_int_equal(pmu_writable(&pmu, 0x186), 0xffc7ffff);
	assert_int_equal(pmu_writable(&pmu, 0xc1), 0xffffffffffff);
	assert_int_equal(pmu_writable(&pmu, 0x4c1), 0);
	assert_int_equal(pmu_writable(&pmu, 0x38f), 0x70000000full);
	assert_int_equal(pmu_writable(&pmu, 0x392), 0);
	assert_int_equal(pmu_writable(&pmu, 0), 0);
	assert_int_equal(pmu_enable_bits(&pmu, 0x186), EVTSEL_EN);
	assert_int_equal(pmu_enable_bits(&pmu, 0x38d), 0x333);
	assert_int_equal(pmu_enable_bits(&pmu, 0xc1), 0);
	pmu.global_ctrl = 0;
	assert_int_equal(pmu_writable(&pmu, 0), 0);
}

static struct pmu_virtual *add_file(struct pmu *p, unsigned num, const char *path)
{
	struct pmu_virtual *v = &p->virtuals[p->nvirtuals++];

	*v = (struct pmu_virtual){.name = "f", .num = (uint16_t)num, .kind = PMU_VIRTUAL_FILE};
	snprintf(v->path, sizeof(v->path), "%s", path);
	return v;
}

/* Each breaks one rule of a sound intel_arch_v4 (4 general, 3 fixed counters). */
#define SPOIL(name, change)                                                                        \
	static void spoil_##name(struct pmu *p)                                                    \
	{                                                                                          \
		change;                                                                            \
	}
#define SPOILS(X)                                                                                  \
	X(name_empty, p->name[0] = '\0')                                                           \
	X(name_words, strcpy(p->name, "two words"))                                                \
	X(name_unterminated, memset(p->name, 'x', sizeof(p->name)))                                \
	X(model_empty, p->model[0] = '\0')                                                         \
	X(model_lines, strcpy(p->model, "two\nlines"))                                             \
	X(model_comment, strcpy(p->model, "a # comment"))                                          \
	X(model_blank, strcpy(p->model, "blank "))                                                 \
	X(no_pmcs, p->npmcs = 0)                                                                   \
	X(no_pmds, p->npmds = 0)                                                                   \
	X(many_pmcs, p->npmcs = PMU_MAX_PMCS + 1)                                                  \
	X(many_pmds, p->npmds = PMU_MAX_PMDS + 1)                                                  \
	X(many_events, p->nevents = PMU_MAX_EVENTS + 1)                                            \
	X(no_rate, p->max_rate = 0)                                                                \
	X(pmc_name, p->pmcs[0].name[0] = '\0')                                                     \
	X(pmc_falls, p->pmcs[1].num = 0)                                                           \
	X(pmc_num, p->pmcs[4].num = PMU_MAX_NUM)                                                   \
	X(pmd_falls, p->pmds[1].num = 0)                                                           \
	X(pmd_num, p->pmds[6].num = PMU_MAX_NUM)                                                   \
	X(default_enables, p->pmcs[0].def = EVTSEL_EN)                                             \
	X(default_reserved, p->pmcs[0].def = EVTSEL_INT)                                           \
	X(enable_reserved, p->pmcs[0].enable |= 1ull << 40)                                        \
	X(kernel_reserved, p->pmcs[0].kernel |= 1ull << 40)                                        \
	X(gate_below, p->pmcs[0].gate = 1)                                                         \
	X(gate_range, p->pmcs[0].gate = PMU_MAX_PMCS)                                              \
	X(int_writable, p->pmcs[0].rsvd &= ~EVTSEL_INT)                                            \
	X(pin_writable, p->pmcs[0].rsvd &= ~(1ull << 19))                                          \
	X(any_writable, p->pmcs[0].rsvd &= ~(1ull << 21))                                          \
	X(en_hidden, p->pmcs[0].enable = EVTSEL_USR)                                               \
	X(os_hidden, p->pmcs[0].kernel = 0)                                                        \
	X(fixed_pmi, p->pmcs[4].rsvd &= ~8ull)                                                     \
	X(fixed_any, p->pmcs[4].rsvd &= ~4ull)                                                     \
	X(fixed_os_hidden, p->pmcs[4].kernel = 0x11)                                               \
	X(fixed_unshared, p->pmcs[4].shared = false)                                               \
	X(pmc_addr, p->pmcs[0].addr = 0x1d9)                                                       \
	X(pmc_counter, p->pmcs[0].addr = 0xc8)                                                     \
	X(pmc_odd, p->pmcs[0].addr = 0xc0010203)                                                   \
	X(pmd_addr, p->pmds[0].addr = p->pmds[0].waddr = 0x600)                                    \
	X(pmd_selector, p->pmds[0].addr = 0x18d)                                                   \
	X(pmd_waddr, p->pmds[0].waddr = 0x186)                                                     \
	X(width_0, p->pmds[0].width = 0)                                                           \
	X(width_65, p->pmds[0].width = 65)                                                         \
	X(width_narrowest, p->pmds[0].width = 40; p->pmds[0].wmask = 0xff)                         \
	X(width_declared, p->counter_width = 40)                                                   \
	X(wmask_0, p->pmds[0].wmask = 0)                                                           \
	X(wmask_holes, p->pmds[0].wmask = 0xff00ff)                                                \
	X(wmask_wide, p->pmds[0].wmask = ~0ull)                                                    \
	X(pmd_pmc, p->pmds[0].pmc = p->npmcs)                                                      \
	X(field_0, p->pmds[0].field = 0)                                                           \
	X(field_reserved, p->pmds[4].field = 0xc)                                                  \
	X(field_idle, p->pmcs[0].shared = true; p->pmds[0].field = EVTSEL_USR)                     \
	X(field_twice, p->pmds[5].field = 3)                                                       \
	X(ungated, p->pmcs[0].enable = 0; p->pmcs[0].rsvd |= EVTSEL_EN)                            \
	X(global_none, p->global_ctrl = p->inuse = p->status = p->clear = 0)                       \
	X(global_range, p->pmds[0].global = 64)                                                    \
	X(global_twice, p->pmds[0].global = 1)                                                     \
	X(global_addr, p->global_ctrl = 0x38e)                                                     \
	X(inuse_addr, p->inuse = 0x391)                                                            \
	X(status_alone, p->clear = 0)                                                              \
	X(clear_alone, p->status = 0)                                                              \
	X(status_addr, p->status = 0x391)                                                          \
	X(clear_addr, p->clear = 0x391)                                                            \
	X(addr_twice, p->pmcs[1].addr = p->pmcs[0].addr)                                           \
	X(waddr_twice, p->pmds[1].waddr = p->pmds[0].waddr)                                        \
	X(alias_taken, p->pmds[1].addr = p->pmds[0].waddr)                                         \
	X(pmd_virtual, p->pmds[6].num = PMU_FIRST_VIRTUAL)                                         \
	X(many_virtuals, p->nvirtuals = PMU_MAX_VIRTUALS + 1)                                      \
	X(virtual_name, p->virtuals[0].name[0] = '\0')                                             \
	X(virtual_falls, p->virtuals[1].num = PMU_CLOCK)                                           \
	X(virtual_low, p->virtuals[0].num = PMU_FIRST_VIRTUAL - 1)                                 \
	X(virtual_builtin_high, add_file(p, PMU_FIRST_FILE, "/x")->kind = PMU_VIRTUAL_LOAD)        \
	X(virtual_file_low, add_file(p, PMU_FIRST_FILE - 1, "/x"))                                 \
	X(virtual_high, add_file(p, PMU_MAX_NUM, "/x"))                                            \
	X(virtual_kind, add_file(p, PMU_FIRST_FILE, "/x")->kind = PMU_VIRTUAL_FILE + 1)            \
	X(path_empty, add_file(p, PMU_FIRST_FILE, ""))                                             \
	X(path_relative, add_file(p, PMU_FIRST_FILE, "x/y"))                                       \
	X(path_blank, add_file(p, PMU_FIRST_FILE, "/x y"))                                         \
	X(path_line, add_file(p, PMU_FIRST_FILE, "/x\ny"))                                         \
	X(path_comment, add_file(p, PMU_FIRST_FILE, "/x#y"))                                       \
	X(path_bytes, add_file(p, PMU_FIRST_FILE, "/\xc3\xa4"))                                    \
	X(path_unterminated, memset(add_file(p, PMU_FIRST_FILE, "/")->path, '/', PMU_PATH))

SPOILS(SPOIL)
#define ROW(name, change) {#name, spoil_##name},
static const struct {
	const char *rule;
	void (*spoil)(struct pmu *p);
} rules[] = {SPOILS(ROW)};

TEST(validate)
{
	for (unsigned i = 0; pmu_model_name(i); i++) {
		const char *name = pmu_model_name(i);
		struct pmu pmu = named(name);

		assert_string_equal(pmu.name, name);
		if (pmu_validate(&pmu, &why) < 0)
			fail_msg("%s: %s", name, why.text);
	}
	for (unsigned i = 0; i < COUNT(rules); i++) {
		struct pmu pmu = named("intel_arch_v4");

		rules[i].spoil(&pmu);
		if (pmu_validate(&pmu, &why) != -EINVAL)
			fail_msg("%s is accepted", rules[i].rule);
		assert_int_equal(why.no, EINVAL);
	}
}

TEST(validate_inuse_alone)
{
	struct pmu pmu = named("intel_arch_v1");

	pmu.inuse = 0x392;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
}

/* The slots of the perf backend are numbers of its own. */
TEST(validate_perf)
{
	struct pmu pmu = named("intel_arch_v1");

	for (unsigned i = 0; i < pmu.npmcs; i++)
		pmu.pmcs[i].addr = i;
	for (unsigned i = 0; i < pmu.npmds; i++)
		pmu.pmds[i].addr = pmu.pmds[i].waddr = 100 + i;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	pmu.space = PMU_SPACE_PERF;
	assert_int_equal(pmu_validate(&pmu, &why), 0);
}

/* Each breaks one rule of NetBurst: PMC 6 is FSB_ESCR0, 23 BPU_CCCR0, both their own rows. */
static const struct {
	const char *rule;
	uint64_t rsvd, kernel, user, enable, ovf, select, second; /* Bits that are toggled. */
	uint32_t addr;                                            /* 0: as it was. */
	unsigned row;
} netburst_rules[] = {
	{"T1_OS", .row = 6, .rsvd = 2},
	{"T1_USR", .row = 6, .rsvd = 1},
	{"bit 31 of an ESCR", .row = 6, .rsvd = 1u << 31},
	{"kernel", .row = 6, .kernel = 8},
	{"user", .row = 6, .user = 4},
	{"levels exchanged", .row = 6, .kernel = 0xc, .user = 0xc},
	{"second", .row = 6, .second = 3},
	{"one bit of second", .row = 6, .second = 1},
	{"enable of an ESCR", .row = 6, .enable = 1u << 9},
	{"ovf of an ESCR", .row = 6, .ovf = 1u << 31},
	{"SSU_ESCR1", .row = 6, .addr = 0x3bf},
	{"PEBS_MATRIX_VERT", .row = 6, .addr = 0x3f2},
	{"PEBS_ENABLE", .row = 6, .addr = 0x3f1},
	{"between ESCRs", .row = 6, .addr = 0x3c6},
	{"a CCCR's address", .row = 6, .addr = 0x360},
	{"a counter's address", .row = 6, .addr = 0x311},
	{"another PMU's selector", .row = 6, .addr = 0x186},
	{"FORCE_OVF", .row = 23, .rsvd = 1u << 25},
	{"OVF_PMI_T0", .row = 23, .rsvd = 1u << 26},
	{"OVF_PMI_T1", .row = 23, .rsvd = 1u << 27},
	{"CASCADE", .row = 23, .rsvd = 1u << 30},
	{"OVF", .row = 23, .rsvd = 1u << 31},
	{"ovf", .row = 23, .ovf = 1u << 31},
	{"enable", .row = 23, .enable = 1u << 12, .rsvd = 1u << 12},
	{"enable is none", .row = 23, .enable = 1u << 12},
	{"choice", .row = 23, .select = 1u << 13},
	{"wide choice", .row = 23, .select = 1u << 16},
	{"second of a CCCR", .row = 23, .second = 3},
	{"no choice", .row = 23, .select = 7u << 13},
	{"past the CCCRs", .row = 23, .addr = 0x372},
};

TEST(validate_netburst)
{
	struct pmu good = named("netburst"), pmu;

	for (unsigned i = 0; i < COUNT(netburst_rules); i++) {
		struct pmu_pmc *pmc = &pmu.pmcs[netburst_rules[i].row];

		pmu = good;
		pmc->rsvd ^= netburst_rules[i].rsvd;
		pmc->kernel ^= netburst_rules[i].kernel;
		pmc->user ^= netburst_rules[i].user;
		pmc->enable ^= netburst_rules[i].enable;
		pmc->ovf ^= netburst_rules[i].ovf;
		pmc->escr_select ^= netburst_rules[i].select;
		pmc->second ^= netburst_rules[i].second;
		if (netburst_rules[i].addr)
			pmc->addr = netburst_rules[i].addr;
		if (pmu_validate(&pmu, &why) != -EINVAL)
			fail_msg("rule %s is not applied", netburst_rules[i].rule);
	}
	pmu = good;
	pmu.pmcs[23].escr[2] = 23;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	assert_non_null(strstr(why.text, "ESCRs above"));
	pmu.pmcs[23].escr[2] = PMU_MAX_PMCS;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	pmu = good;
	pmu.pmcs[2].scope = PMU_SCOPE_THREAD;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	assert_non_null(strstr(why.text, "scope="));
	/* Without a CCCR, its registers are none of a PMU. */
	pmu = named("intel_arch_v4");
	pmu.pmcs[0].addr = 0x3a2;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	/* In another address space, there are none. */
	good.space = PMU_SPACE_PERF;
	assert_int_equal(pmu_validate(&good, &why), -EINVAL);
}

/* Each row of @pmu with @addr in each role: it is refused. */
static void attack_rows(const struct pmu *good, uint32_t addr)
{
	struct pmu pmu = *good;
	struct pmu_free *f = &pmu.frees[pmu.nfrees++];
	uint32_t *roles[PMU_MAX_PMCS + 2 * PMU_MAX_PMDS + 4];
	unsigned n = 0;

	for (enum pmu_unit unit = 0; unit < PMU_UNITS; unit++) {
		*f = (struct pmu_free){.name = "f", .addr = addr, .width = 1, .unit = unit};
		if (pmu_validate(&pmu, &why) != -EINVAL)
			fail_msg("%s: %#x can be read as a unit %d", good->name, addr, unit);
	}
	pmu.nfrees--;
	for (unsigned i = 0; i < pmu.npmcs; i++)
		roles[n++] = &pmu.pmcs[i].addr;
	for (unsigned i = 0; i < pmu.npmds; i++) {
		roles[n++] = &pmu.pmds[i].addr;
		roles[n++] = &pmu.pmds[i].waddr;
	}
	roles[n++] = &pmu.global_ctrl;
	roles[n++] = &pmu.inuse;
	roles[n++] = &pmu.status;
	roles[n++] = &pmu.clear;
	for (unsigned r = 0; r < n; r++) {
		uint32_t old = *roles[r];

		*roles[r] = addr;
		if (pmu_validate(&pmu, &why) != -EINVAL)
			fail_msg("%s: %#x in role %u", good->name, addr, r);
		*roles[r] = old;
	}
	assert_int_equal(pmu_validate(&pmu, &why), 0);
}

/* In each role, of each row of each model: it is refused, and it is not writable. */
TEST(validate_attacks)
{
	for (unsigned i = 0; pmu_model_name(i); i++) {
		struct pmu pmu = named(pmu_model_name(i));

		for (unsigned k = 0; k < PMU_ATTACKS; k++) {
			/* Models of Nehalem's uncore have its control. */
			if (pmu_attack_is_uncore(&pmu, pmu_attacks[k]) && pmu_writable(&pmu, 0x3c0))
				continue;
			assert_int_equal(pmu_writable(&pmu, pmu_attacks[k]), 0);
			attack_rows(&pmu, pmu_attacks[k]);
		}
	}
}

/* Registers that only select have no part in enabling, and their reserved bits are not written. */
TEST(extras)
{
	struct pmu pmu = named("skylake"), bad = pmu;
	int rsp = pmu_find_pmc(&pmu, 19), fe = pmu_find_pmc(&pmu, 31);

	assert_true(rsp > 0 && fe > 0);
	assert_int_equal(pmu.pmcs[rsp].addr, 0x1a6);
	assert_int_equal(pmu.pmcs[rsp].scope, PMU_SCOPE_CORE);
	assert_int_equal(pmu_writable(&pmu, 0x1a6), 0x3fffff8fff);
	assert_int_equal(pmu_writable(&pmu, 0x3f7), 0x7fff17);
	assert_int_equal(pmu_enable_bits(&pmu, 0x1a6), 0);
	bad.pmcs[rsp].enable = 1;
	assert_int_equal(pmu_validate(&bad, &why), -EINVAL);
	assert_non_null(strstr(why.text, "only selects"));
	bad = pmu;
	bad.pmds[0].pmc = (uint16_t)fe; /* Nothing enables it. */
	assert_int_equal(pmu_validate(&bad, &why), -EINVAL);
	/* Nehalem has one off-core register, numbered as in libpfm3. */
	pmu = named("nehalem");
	assert_int_equal(pmu_find_pmc(&pmu, 30), -1);
	assert_int_equal(pmu.pmcs[pmu_find_pmc(&pmu, 18)].addr, 0x3f6);
	pmu = named("core");
	assert_int_equal(pmu.pmcs[1].gate, 0);
}

static void want_pmcs(const char *name, unsigned num, uint64_t value, uint64_t pmcs)
{
	struct pmu pmu = named(name);
	uint64_t is = pmu_event_pmcs(&pmu, (unsigned)pmu_find_pmc(&pmu, num), value);

	if (is != pmcs)
		fail_msg("%s: %#llx in pmc%u: %#llx", name, (unsigned long long)value, num,
			(unsigned long long)is);
}

/* As in Linux's tables. */
TEST(constraints)
{
	want_pmcs("p6", 0, 0x4100c1, 1);
	want_pmcs("p6", 1, 0x010012, 2);
	want_pmcs("p6", 1, 0x0100c0, UINT64_MAX);
	want_pmcs("nehalem", 2, 0x410f43, 3);
	want_pmcs("nehalem", 2, 0x410f44, UINT64_MAX);
	want_pmcs("nehalem", 22, 0x400143, UINT64_MAX); /* Of the uncore. */
	want_pmcs("nehalem", 16, 0x43, UINT64_MAX);
	want_pmcs("sandybridge", 0, 0x4101c0, 2);
	want_pmcs("sandybridge", 0, 0x4100c0, UINT64_MAX); /* Another unit mask. */
	want_pmcs("sandybridge", 0, 0x4102a3, 4);
	want_pmcs("sandybridge", 0, 0x4104a3, 0xf);
	want_pmcs("haswell", 0, 0x4101cd, 8);
	want_pmcs("icelake", 7, 0x4104a3, 0xff); /* The first line decides. */
	want_pmcs("icelake", 7, 0x4105a3, 0xf);
	want_pmcs("sapphirerapids", 5, 0x41412e, 0xff);
	want_pmcs("sapphirerapids", 5, 0x41012f, 0xf);
	want_pmcs("sapphirerapids", 5, 0x4102cd, 1);
	want_pmcs("sapphirerapids", 5, 0x4100c4, UINT64_MAX);
	want_pmcs("zen", 5, 0x100410048, UINT64_MAX);
}

/* Two rows for one register, by its two addresses; and a write to another counter. */
TEST(validate_aliases)
{
	struct pmu pmu = named("intel_arch_v3");

	pmu.pmds[0].waddr = 0x4c1;
	assert_int_equal(pmu_validate(&pmu, &why), 0);
	pmu.pmds[0].waddr = 0x4c2;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	assert_non_null(strstr(why.text, "another address"));
	pmu.pmds[0].addr = pmu.pmds[0].waddr = 0x4c2;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	assert_non_null(strstr(why.text, "PMC1: 0xc2 is also the register of PMC0 (0x4c2)"));
	pmu = named("amd64_ext");
	pmu.pmcs[5].addr = 0xc0010003;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	assert_non_null(
		strstr(why.text, "0xc0010003 is also the register of PERFSEL3 (0xc0010206)"));
	pmu = named("amd64_ext");
	pmu.pmds[5].addr = pmu.pmds[5].waddr = 0xc0010005;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	assert_non_null(
		strstr(why.text, "0xc0010005 is also the register of PERFCTR1 (0xc0010203)"));
	/* A selector whose events have one owner in a package, and a register that is only read. */
	pmu = named("k8");
	pmu.pmcs[3].addr = 0xc0010204;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	assert_non_null(
		strstr(why.text, "0xc0010204 is also the register of PERFSEL2 (0xc0010002)"));
	for (uint32_t addr = 0xc0010000; addr <= 0xc0010210; addr++) {
		pmu = named("k8");
		pmu.frees[pmu.nfrees++] = (struct pmu_free){.name = "f", .addr = addr, .width = 1};
		assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	}
}

static int parse(const char *text, struct pmu *pmu, struct err *e)
{
	return pmu_parse(slice_of(text), pmu, e);
}

TEST(round_trip)
{
	for (unsigned i = 0; pmu_model_name(i); i++) {
		const char *name = pmu_model_name(i);
		struct pmu pmu = named(name), again;
		TEXT_CLEANUP struct text one = {0}, two = {0};

		pmu_print(&pmu, &one);
		if (parse(one.p, &again, &why) < 0)
			fail_msg("%s: %s", name, why.text);
		pmu_print(&again, &two);
		assert_string_equal(one.p, two.p);
		assert_int_equal(again.npmds, pmu.npmds);
		assert_int_equal(again.counter_width, pmu.counter_width);
		assert_int_equal(again.max_rate, pmu.max_rate);
		for (unsigned k = 0; k < pmu.npmds; k++) {
			assert_int_equal(again.pmds[k].field, pmu.pmds[k].field);
			assert_int_equal(again.pmds[k].waddr, pmu.pmds[k].waddr);
			assert_int_equal(again.pmds[k].global, pmu.pmds[k].global);
		}
		for (unsigned k = 0; k < pmu.npmcs; k++) {
			assert_int_equal(again.pmcs[k].gate, pmu.pmcs[k].gate);
			assert_int_equal(again.pmcs[k].shared, pmu.pmcs[k].shared);
			assert_int_equal(again.pmcs[k].user, pmu.pmcs[k].user);
			assert_int_equal(again.pmcs[k].wide, pmu.pmcs[k].wide);
			assert_int_equal(again.pmcs[k].node, pmu.pmcs[k].node);
			assert_int_equal(again.pmcs[k].scope, pmu.pmcs[k].scope);
			assert_int_equal(again.pmcs[k].ovf, pmu.pmcs[k].ovf);
			assert_int_equal(again.pmcs[k].second, pmu.pmcs[k].second);
			assert_int_equal(again.pmcs[k].escr_select, pmu.pmcs[k].escr_select);
			assert_memory_equal(
				again.pmcs[k].escr, pmu.pmcs[k].escr, sizeof(pmu.pmcs[k].escr));
		}
	}
}

#define IPF_PMC8                                                                                   \
	"space ipf\npmc 8 PMC8 addr=0x108 default=0xfffffffffffffffd reserved=0xfffffffffffffffc " \
	"enable=0 kernel=0 restricts\n"
#define R      "require 8:1\n"
#define EVENTS "1 2 3 4 5 6 7 8 9 "
#define HEAD   "pmu x A model\nrate 1000\n"
#define PMC0                                                                                       \
	"pmc 0 S addr=0x186 default=0 reserved=0xffffffff00380000 enable=0x400000 "                \
	"kernel=0x20000\n"
#define ARRAY(addr)                                                                                \
	" addr=" addr " default=0 reserved=0xffffffff00380000 enable=0x400000 kernel=0x20000\n"
#define PMD0    "pmd 0 C addr=0xc1 width=40 wmask=0xff pmc=0\n"
#define TEN     "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

TEST(parse)
{
	struct pmu pmu;

	assert_int_equal(
		parse("# note\n\n \t\n" PMC0 HEAD PMD0 "\tglobal  ctrl=0x38f # end", &pmu, &why),
		0);
	assert_string_equal(pmu.model, "A model");
	assert_int_equal(pmu.global_ctrl, 0x38f);
	assert_int_equal(pmu.pmds[0].waddr, 0xc1);
	assert_int_equal(pmu.pmds[0].field, UINT64_MAX);
	assert_int_equal(pmu.pmds[0].global, -1);
	assert_int_equal(pmu.counter_width, 40);
}

/* Elements of an array exist as CPUID says; a shared PMC keeps the bits of those that do. */
TEST(parse_array)
{
	static const char text[] =
		HEAD "features version=2 gp=3 gp_width=40 fixed=0x5 fixed_width=33 full_width\n"
		     "pmc 0-7 S of=gp scope=core" ARRAY(
			     "0x186+1") "pmc 16 F of=fixed addr=0x38d default=0 "
					"reserved=0xfffffffffffffccc enable=0x333 "
					"kernel=0x111 user=0x222 shared\n"
					"pmd 0-7 C of=gp addr=0xc1+1 full=0x4c1+1 wmask=0xff "
					"pmc=0+1 scope=core\n"
					"pmd 16-19 D of=fixed addr=0x309+1 wmask=0xff pmc=16 "
					"field=0xf<<4\n";
	struct pmu pmu;

	if (parse(text, &pmu, &why) < 0)
		fail_msg("%s", why.text);
	assert_int_equal(pmu.npmcs, 4);
	assert_int_equal(pmu.npmds, 5);
	assert_string_equal(pmu.pmcs[2].name, "S2");
	assert_int_equal(pmu.pmcs[2].addr, 0x188);
	assert_int_equal(pmu.pmcs[2].scope, PMU_SCOPE_CORE);
	assert_int_equal(pmu.pmcs[2].gate, 2);
	assert_int_equal(pmu.pmcs[3].scope, PMU_SCOPE_THREAD);
	assert_int_equal(pmu.pmcs[3].enable, 0x303);
	assert_int_equal(pmu.pmcs[3].kernel, 0x101);
	assert_int_equal(pmu.pmcs[3].user, 0x202);
	assert_int_equal(pmu.pmcs[3].rsvd, ~0x303ULL);
	assert_int_equal(pmu.pmds[2].waddr, 0x4c3);
	assert_int_equal(pmu.pmds[2].wmask, 0xffffffffff);
	assert_int_equal(pmu.pmds[2].width, 40);
	assert_int_equal(pmu.pmds[2].scope, PMU_SCOPE_CORE);
	assert_string_equal(pmu.pmds[4].name, "D2");
	assert_int_equal(pmu.pmds[4].num, 18);
	assert_int_equal(pmu.pmds[4].addr, 0x30b);
	assert_int_equal(pmu.pmds[4].field, 0xf00);
	assert_int_equal(pmu.counter_width, 33);
}

/* Each file of models/ is a model, whose name is the file's. */
TEST(builtins)
{
	unsigned n = 0;

	for (; pmu_builtins[n].name; n++) {
		struct pmu pmu;

		if (pmu_parse(pmu_builtins[n].text, &pmu, &why) < 0)
			fail_msg("%s.pmu: %s", pmu_builtins[n].name, why.text);
		assert_string_equal(pmu.name, pmu_builtins[n].name);
		assert_string_equal(pmu_model_name(n), pmu.name);
	}
	assert_true(n > 0);
	assert_null(pmu_model_name(n));
}

/* Those of every PMU are not printed and come back; those of files are, and do. */
TEST(virtual)
{
	static const char lines[] = "virtual 272 fan file=/sys/fan\nvirtual 319 Fan.2 file=/x=y\n";
	TEXT_CLEANUP struct text printed = {0};
	struct pmu pmu, again;
	unsigned builtin = named("p6").nvirtuals;

	assert_int_equal(parse(HEAD PMC0 PMD0, &pmu, &why), 0);
	assert_int_equal(pmu.nvirtuals, builtin);
	assert_int_equal(pmu_find_virtual(&pmu, PMU_CLOCK), 0);
	assert_int_equal(pmu_find_virtual(&pmu, PMU_LOAD), 3);
	assert_int_equal(pmu_find_virtual(&pmu, PMU_FIRST_FILE), -1);
	assert_int_equal(pmu_find_pmd(&pmu, PMU_CLOCK), -1);
	assert_int_equal(pmu_find_virtual(&pmu, 0), -1);
	assert_int_equal(parse(HEAD "virtual 272 fan  file=/sys/fan # of the case\n"
				    "\tvirtual 319 Fan.2 file=/x=y\n" PMC0 PMD0,
				 &pmu, &why),
		0);
	assert_int_equal(pmu.nvirtuals, builtin + 2);
	assert_int_equal(pmu_find_virtual(&pmu, 319), builtin + 1);
	assert_string_equal(pmu.virtuals[builtin].path, "/sys/fan");
	assert_string_equal(pmu.virtuals[builtin + 1].name, "Fan.2");
	assert_string_equal(pmu.virtuals[builtin + 1].path, "/x=y");
	assert_int_equal(pmu.virtuals[builtin].kind, PMU_VIRTUAL_FILE);
	pmu_print(&pmu, &printed);
	assert_non_null(strstr(printed.p, lines));
	assert_null(strstr(printed.p, "clock"));
	assert_int_equal(parse(printed.p, &again, &why), 0);
	assert_int_equal(again.nvirtuals, builtin + 2);
	assert_memory_equal(again.virtuals, pmu.virtuals, sizeof(pmu.virtuals));
}

static const struct {
	const char *text;
	int rc;
	const char *says;
} bad[] = {
	{"", -EINVAL, "line 1: the PMU's name is missing"},
	{"pmu\n", -EINVAL, "line 1: the PMU's name"},
	{"pmu x\n", -EINVAL, "line 1: the title"},
	{HEAD PMC0 "\n\nbogus 1\n", -EINVAL, "line 6: a line begins"},
	{HEAD "rate 2\n", -EINVAL, "line 3: a second"},
	{HEAD "pmu y z\n", -EINVAL, "line 3: a second"},
	{HEAD "global ctrl=1\nglobal ctrl=2\n", -EINVAL, "line 4: a second"},
	{HEAD "global inuse=0x392\n", -EINVAL, "line 3: ctrl= is missing"},
	{"pmu x y\nrate -1\n", -EINVAL, "line 2"},
	{"pmu x y\nrate 18446744073709551616\n", -ERANGE, "line 2"},
	{"pmu x y\n" PMC0 PMD0, -EINVAL, "rate"},
	{HEAD "pmc\n", -EINVAL, "line 3"},
	{HEAD "pmc 320 S\n", -ERANGE, "line 3"},
	{HEAD "pmc 0\n", -EINVAL, "line 3: the register's name"},
	{HEAD "pmc 0 a-name-that-is-much-too-long-to-be-kept\n", -EINVAL, "longer than 31"},
	{HEAD "pmc 0 S addr=0x186\n", -EINVAL, "default= is missing"},
	{HEAD "pmc 0 S addr=0x186 addr=0x186\n", -EINVAL, "addr is given twice"},
	{HEAD "pmc 0 S addr\n", -EINVAL, "line 3"},
	{HEAD "pmc 0 S addr=\n", -EINVAL, "line 3"},
	{HEAD "pmc 0 S addr=0x100000000\n", -ERANGE, "line 3"},
	{HEAD "pmc 0 S colour=1\n", -EINVAL, "'colour=1'"},
	{HEAD "pmc 0 S shared=1\n", -EINVAL, "no value"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0 enable=0 kernel=0 gate=1\n", -EINVAL,
		"gate=1"},
	{HEAD "pmc 0 S addr=0x360 default=0 reserved=0 enable=0 kernel=0 escr=0xe000:1\n", -EINVAL,
		"escr=1: no line above"},
	{HEAD "pmc 0 S addr=0x360 default=0 reserved=0 enable=0 kernel=0 escr=0xe000:x\n", -EINVAL,
		"line 3"},
	{HEAD "pmc 0 S addr=0x360 default=0 reserved=0 enable=0 kernel=0 escr=x\n", -EINVAL,
		"line 3"},
	{HEAD "pmc 0 S addr=0x360 default=0 reserved=0 enable=0 kernel=0 "
	      "escr=0xe000:-,-,-,-,-,-,-,-,-\n",
		-EINVAL, "from 8 PMCs at most"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0xffffffff00380000 enable=0x400000 "
	      "kernel=0x20000 user=0x100000\n" PMD0,
		-EINVAL, "bits 0x100000 are both used and reserved"},
	{HEAD PMD0, -EINVAL, "line 3: pmc=0"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 width=65 wmask=1 pmc=0\n", -ERANGE, "line 4"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 width=40 wmask=1 pmc=0 global=64\n", -ERANGE, "line 4"},
	{HEAD PMC0 PMC0 PMD0, -EINVAL, "is not above"},
	{HEAD PMC0, -EINVAL, "line 1: there is no PMD"},
	{HEAD PMC0 "pmd 256 C addr=0xc1 width=40 wmask=0xff pmc=0\n", -EINVAL, "virtual"},
	{HEAD "virtual\n", -EINVAL, "line 3"},
	{HEAD "virtual 272\n", -EINVAL, "line 3: the register's name"},
	{HEAD "virtual 320 f file=/x\n", -ERANGE, "line 3"},
	{HEAD "virtual 272 f\n", -EINVAL, "line 3: file=PATH is missing"},
	{HEAD "virtual 272 f file\n", -EINVAL, "line 3: the path is missing"},
	{HEAD "virtual 272 f file=\n", -EINVAL, "line 3: the path is missing"},
	{HEAD "virtual 272 f path=/x\n", -EINVAL, "file=PATH"},
	{HEAD "virtual 272 f file=/x y\n", -EINVAL, "nothing may follow"},
	{HEAD "virtual 272 f file=/" HUNDRED HUNDRED "\n", -EINVAL, "longer than 127"},
	{HEAD PMC0 PMD0 "virtual 272 f file=x\n", -EINVAL, "an absolute path"},
	{HEAD PMC0 PMD0 "virtual 256 clock file=/x\n", -ERANGE, "give 272 or more"},
	{HEAD PMC0 PMD0 "virtual 271 f file=/x\n", -ERANGE, "give 272 or more"},
	{HEAD PMC0 PMD0 "virtual 272 f file=/x\nvirtual 272 g file=/y\n", -EINVAL, "not above"},
	{HEAD "detect version=1\n", -EINVAL, "vendor= is missing"},
	{HEAD "detect vendor=via version=1\n", -EINVAL, "not one of intel, amd"},
	{HEAD "detect vendor=amd version=256\n", -ERANGE, "line 3"},
	{HEAD "detect vendor=amd version=1 models=3\n", -EINVAL, "needs family="},
	{HEAD "detect vendor=amd version=1 bare=1\n", -EINVAL, "no value"},
	{HEAD "detect vendor=amd version=1 family=\n", -EINVAL, "empty"},
	{HEAD "detect vendor=amd version=1 family=5-3\n", -EINVAL, "backwards"},
	{HEAD "detect vendor=amd version=1 family=6 models=256\n", -ERANGE, "line 3"},
	{HEAD "features gp=2\n", -EINVAL, "version= is missing"},
	{HEAD "features version=1 gp=33 gp_width=40\n", -ERANGE, "line 3"},
	{HEAD "space\n", -EINVAL, "msr or ipf"},
	{HEAD "space ipf msr\n", -EINVAL, "msr or ipf"},
	{HEAD "space ipf\ndetect vendor=intel version=1\n", -EINVAL, "no x86 CPUID"},
	{HEAD "space ipf\nsim a b\ncpuid signature=1 max_leaf=1 selector=1\n", -EINVAL,
		"no x86 CPUID"},
	{HEAD "space ipf\n" PMC0 PMD0, -EINVAL, "not known as a PMU's configuration register"},
	{HEAD "require 8:1\n", -EINVAL, "space ipf"},
	{HEAD "space ipf\nrequire 8:1\n", -EINVAL, "no line above describes PMC 8"},
	{HEAD "space ipf\nrequire 8\n", -EINVAL, "NUM:BITS"},
	{HEAD "space ipf\nrequire 320:1\n", -ERANGE, "NUM:BITS"},
	{HEAD IPF_PMC8 "require 8:4\n", -EINVAL, "not reserved, from 0x3"},
	{HEAD IPF_PMC8 "require 8:0\n", -EINVAL, "not reserved"},
	{HEAD IPF_PMC8 "require 8:2\n", -EINVAL, "by default"},
	{HEAD IPF_PMC8 "require 8:1 8:1 8:1 8:1\n", -EINVAL, "at most 3 PMCs"},
	{HEAD IPF_PMC8 R R R R R, -EINVAL, "more than 4 lines"},
	{HEAD "constraint\n", -EINVAL, "PMCS EVENT"},
	{HEAD "constraint 0\n", -EINVAL, "PMCS EVENT"},
	{HEAD "constraint x 0x10\n", -EINVAL, "constraint: PMCS"},
	{HEAD "constraint 64 0x10\n", -ERANGE, "constraint: PMCS"},
	{HEAD "constraint 0 0\n", -ERANGE, "constraint: EVENT"},
	{HEAD "constraint 0 0x10000\n", -ERANGE, "constraint: EVENT"},
	{HEAD "constraint 0 0x20-0x10\n", -ERANGE, "FIRST-LAST"},
	{HEAD "constraint 0 0x10-0x100\n", -ERANGE, "FIRST-LAST"},
	{HEAD "constraint 0 " EVENTS EVENTS EVENTS EVENTS "\n", -EINVAL, "more than 32"},
	{HEAD "space ipf\nconstraint 0 0x10\n", -EINVAL, "space ipf"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0 enable=0 kernel=0 with=3\n", -EINVAL,
		"no line above"},
	{HEAD "pmc 0 S addr=0x186 default=0 reserved=0xffffffff00380000 enable=0x400000 "
	      "kernel=0x20000 busy=1\n" PMD0,
		-EINVAL, "must be reserved"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 width=40 wmask=0xff pmc=0 buffer\n", -EINVAL, "a buffer"},
	{HEAD "sim\n", -EINVAL, "simulator's name"},
	{HEAD "sim x\n", -EINVAL, "summary"},
	{HEAD "cpuid signature=1\n", -EINVAL, "max_leaf= is missing"},
	{HEAD "pmc 3-1 S\n", -EINVAL, "backwards"},
	{HEAD "pmc 0-1,5 S\n", -EINVAL, "an array"},
	{HEAD "pmc 0-64 S\n", -EINVAL, "more than 64"},
	{HEAD "pmc 0-1 a-name-that-just-fits-into-31-by" ARRAY("0x186+1"), -EINVAL, "longer than"},
	{HEAD "pmc 0-1 S" ARRAY("0xffffffff+1"), -ERANGE, "register 1 of the array"},
	{HEAD "pmc 0-1 S" ARRAY("1<<32"), -ERANGE, "register 1 of the array"},
	{HEAD "pmc 0-2 S" ARRAY("1<<63"), -ERANGE, "register 1 of the array"},
	{HEAD "pmc 0-1 S" ARRAY("1<2"), -EINVAL, "N<<STEP"},
	{HEAD "pmc 0-1 S" ARRAY("1<<64"), -ERANGE, "line 3"},
	{HEAD "pmc 0-1 S of=gp" ARRAY("1+1"), -EINVAL, "no line 'features'"},
	{HEAD "pmc 0-1 S of=odd" ARRAY("1+1"), -EINVAL, "not one of gp, fixed"},
	{HEAD "pmc 0-1 S scope=odd" ARRAY("1+1"), -EINVAL, "not one of thread, core, ccx, package"},
	{HEAD PMC0 "pmd 0 C addr=0xc1 wmask=1 pmc=0\n", -EINVAL, "width= is missing"},
	{HEAD "pmc 0-1 S" ARRAY("0x186+1") "pmd 0-1 C addr=0xc1+1 width=40 wmask=1 pmc=0+7\n",
		-EINVAL, "pmc=7: no line above"},
};

TEST(parse_bad)
{
	static const char nul[] = HEAD PMC0 PMD0 "\0";
	struct pmu pmu = {.npmcs = 7};

	for (unsigned i = 0; i < COUNT(bad); i++) {
		int rc = parse(bad[i].text, &pmu, &why);

		if (rc != bad[i].rc || !strstr(why.text, bad[i].says))
			fail_msg("case %u: %d %s", i, rc, why.text);
	}
	assert_int_equal(pmu_parse((struct slice){nul, sizeof(nul)}, &pmu, &why), -EINVAL);
	assert_int_equal(pmu.npmcs, 7);
}

/* One row more than there is room for is a sentence, not a crash. */
TEST(parse_too_many)
{
	TEXT_CLEANUP struct text t = {0};
	struct pmu pmu;

	text_printf(&t, HEAD);
	for (int i = 0; i <= PMU_MAX_PMCS; i++)
		text_printf(
			&t, "pmc %d S%d addr=0x186 default=0 reserved=0 enable=0 kernel=0\n", i, i);
	assert_int_equal(parse(t.p, &pmu, &why), -EINVAL);
	assert_non_null(strstr(why.text, "more than 64"));
	text_clear(&t);
	text_printf(&t, HEAD PMC0);
	for (int i = 0; i <= PMU_MAX_PMDS; i++)
		text_printf(&t, "pmd %d C%d addr=0xc1 width=40 wmask=1 pmc=0\n", i, i);
	assert_int_equal(parse(t.p, &pmu, &why), -EINVAL);
	assert_non_null(strstr(why.text, "more than 64"));
	text_clear(&t);
	text_printf(&t, HEAD PMC0 PMD0);
	for (int i = 0; i <= PMU_MAX_VIRTUALS; i++)
		text_printf(&t, "virtual %d V file=/x\n", PMU_FIRST_FILE + i);
	assert_int_equal(parse(t.p, &pmu, &why), -EINVAL);
	assert_non_null(strstr(why.text, "more than 19"));
}

static const struct leaves core = {
	INTEL, SKYLAKE, .ecx1 = PDCM, .caps = FW, .perfmon = {0x07300805, 0, 0xf, 0x604}};
static const struct leaves atom = {INTEL, SKYLAKE, .perfmon = {0x07280605, 0, 0x7, 0x503}};

TEST(types)
{
	CLEANUP_FREE struct pmu_types *t = NULL;
	struct pmu big, small;
	const struct pmu *raw[] = {&big, &small}, *both;

	assert_int_equal(detect(&core, &big, &why), 0);
	assert_int_equal(detect(&atom, &small, &why), 0);
	assert_true(pmu_same(&big, &big));
	assert_false(pmu_same(&big, &small));
	assert_int_equal(pmu_types_new(raw, 2, &t, &why), 0);
	assert_string_equal(t->of[1].by_type.name, "cpu");
	assert_string_equal(t->of[2].by_type.name, "cpu2");
	assert_string_equal(t->of[0].by_type.name, "cpu+cpu2");
	both = &t->of[3];
	assert_string_equal(both->by_type.name, "cpu+cpu2");
	assert_int_equal(both->npmcs, big.npmcs);
	assert_int_equal(both->counter_width, 40);
	assert_int_equal(both->status, 0); /* it would tell of wraps at 48 bits */
	assert_int_equal(both->pmds[0].waddr, 0xc1);
	assert_int_equal(both->pmds[0].wmask, 0x7fffffff);
	assert_int_equal(both->by_type.lacks_pmcs, 0xc0);
	assert_int_equal(both->by_type.lacks_pmds, 0x8c0);
	assert_int_equal(both->pmcs[8].enable, 0x333);
	assert_int_equal(t->of[1].by_type.lacks_pmcs | t->of[1].by_type.lacks_pmds, 0);
	assert_int_equal(t->of[2].by_type.lacks_pmcs, 0xc0);
	assert_int_equal(t->of[0].pmcs[8].enable, 0x3333);
	assert_true(pmu_applies(both, &t->of[1]) && pmu_applies(both, &t->of[2]));
	assert_true(pmu_applies(&t->of[1], &t->of[1]) && !pmu_applies(&t->of[1], &t->of[2]));
	assert_false(pmu_applies(&t->of[0], &t->of[1]));

	/* All the counters, but no alias to write them by. */
	small = big;
	small.pmds[0].waddr = small.pmds[0].addr;
	assert_false(pmu_same(&big, &small));
	/* Of another memory controller */
	small = big;
	small.pmds[0].umc = 1;
	assert_false(pmu_same(&big, &small));

	/* Of one vendor and another: nothing in common. */
	small = named("amd64");
	free(take_ptr(&t));
	assert_int_equal(pmu_types_new(raw, 2, &t, &why), 0);
	for (unsigned p = 0; p < t->of[3].npmcs; p++)
		assert_true(t->of[3].by_type.lacks_pmcs >> p & 1);
	for (unsigned d = 0; d < t->of[3].npmds; d++)
		assert_true(t->of[3].by_type.lacks_pmds >> d & 1);

	/* A register has one default before it is loaded. */
	free(take_ptr(&t));
	small = big;
	small.pmcs[1].def = 0x100;
	assert_int_equal(pmu_types_new(raw, 2, &t, &why), -ENODEV);
	assert_non_null(strstr(why.text, "pmc1"));
	assert_null(t);
}

/* Actual processors; each row is what a CPU of one type says. */
static const struct {
	const char *what;
	struct leaves cpu;
	const char *type;
	unsigned gp, fixed;
} hybrids[] = {
#define HYBRID INTEL, .ecx1 = PDCM, .caps = FW, .edx7 = 1u << 15
	/* Leaf 0xA has what all CPUs have. */
	{"Alder Lake P",
		{HYBRID, .max = 0x20, .eax1 = 0x90672, .core = 0x40000001,
			.perfmon = {0x08300605, 0, 0x7, 0x8603}},
		"core", 8, 4},
	{"Alder Lake E",
		{HYBRID, .max = 0x20, .eax1 = 0x90672, .core = 0x20000001,
			.perfmon = {0x08300605, 0, 0x7, 0x8603}},
		"atom", 6, 3},
	/* The E cores are disabled, and the leaf has all. */
	{"Alder Lake P alone",
		{HYBRID, .max = 0x20, .eax1 = 0x90672, .core = 0x40000001,
			.perfmon = {0x08300805, 0, 0xf, 0x8604}},
		"core", 8, 4},
	{"Raptor Lake P",
		{HYBRID, .max = 0x20, .eax1 = 0xb0671, .core = 0x40000001,
			.perfmon = {0x08300605, 0, 0x7, 0x8603}},
		"core", 8, 4},
	/* Leaf 0x23 has what this CPU has. */
	{"Meteor Lake P",
		{HYBRID, .max = 0x23, .eax1 = 0xa06a4, .core = 0x40000002, .ext = 1u << 8,
			.perfmon = {0x08300605, 0, 0x7, 0x8603}, .gp23 = 0xff, .fixed23 = 0xf},
		"core", 8, 4},
	{"Meteor Lake E",
		{HYBRID, .max = 0x23, .eax1 = 0xa06a4, .core = 0x20000002, .ext = 1u << 8,
			.perfmon = {0x08300605, 0, 0x7, 0x8603}, .gp23 = 0xff, .fixed23 = 0x7},
		"atom", 8, 3},
	{"Lunar Lake P",
		{HYBRID, .max = 0x23, .eax1 = 0xb06d1, .core = 0x40000003, .ext = 1u << 8,
			.perfmon = {0x08300805, 0, 0x7, 0x8603}, .gp23 = 0x3ff, .fixed23 = 0xf},
		"core", 8, 4},
	/* Not hybrid: the same leaf is there. */
	{"Gracemont alone",
		{INTEL, .ecx1 = PDCM, .caps = FW, .max = 0x20, .eax1 = 0xb06e0, .core = 0x20000001,
			.perfmon = {0x08300605, 0, 0x7, 0x8603}},
		"atom", 6, 3},
	{"Alder Lake P under a hypervisor that hides it",
		{INTEL, .max = 0x20, .eax1 = 0x90672, .perfmon = {0x08300605, 0, 0x7, 0x8603}},
		"cpu", 6, 3},
};

static unsigned count_of(const struct pmu *pmu, unsigned from, unsigned to)
{
	unsigned n = 0;

	for (unsigned d = 0; d < pmu->npmds; d++)
		n += pmu->pmds[d].num >= from && pmu->pmds[d].num < to;
	return n;
}

TEST(detect_hybrid)
{
	const struct pmu *raw[2];
	struct pmu pmu, last;

	assert_int_equal(detect(&core, &last, &why), 0);
	for (unsigned i = 0; i < COUNT(hybrids); i++) {
		CLEANUP_FREE struct pmu_types *t = NULL;

		if (detect(&hybrids[i].cpu, &pmu, &why) < 0)
			fail_msg("%s: %s", hybrids[i].what, why.text);
		if (count_of(&pmu, 0, 16) != hybrids[i].gp ||
			count_of(&pmu, 16, 32) != hybrids[i].fixed)
			fail_msg("%s: %u and %u counters", hybrids[i].what, count_of(&pmu, 0, 16),
				count_of(&pmu, 16, 32));
		assert_int_equal(pmu.core, hybrids[i].cpu.core);
		raw[0] = &pmu;
		raw[1] = &last;
		assert_int_equal(pmu_types_new(raw, 2, &t, &why), 0);
		assert_string_equal(t->of[1].by_type.name, hybrids[i].type);
	}
}

static void put_file(const char *path, mode_t mode, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

TEST(load)
{
	char dir[] = "/tmp/test_pmu.XXXXXX", path[64];
	struct pmu pmu;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pmu", dir);
	assert_int_equal(pmu_load(path, &pmu, &why), -ENOENT);
	put_file(path, 0644, HEAD PMC0 PMD0);
	assert_int_equal(pmu_load(path, &pmu, &why), 0);
	assert_string_equal(pmu.name, "x");
	assert_int_equal(chmod(path, 0664), 0);
	assert_int_equal(pmu_load(path, &pmu, &why), -EPERM);
	assert_int_equal(chmod(path, 0646), 0);
	assert_int_equal(pmu_load(path, &pmu, &why), -EPERM);
	put_file(path, 0600, HEAD "oops\n");
	assert_int_equal(pmu_load(path, &pmu, &why), -EINVAL);
	assert_non_null(strstr(why.text, "/pmu: line 3"));
	assert_int_equal(truncate(path, 65537), 0);
	assert_int_equal(pmu_load(path, &pmu, &why), -EFBIG);
	assert_int_equal(pmu_load(dir, &pmu, &why), -EPERM);
	assert_int_equal(pmu_load("amd64", &pmu, &why), 0);
	if (geteuid() == 0) {
		put_file(path, 0600, HEAD PMC0 PMD0);
		assert_int_equal(chown(path, 1, 1), 0);
		assert_int_equal(pmu_load(path, &pmu, &why), -EPERM);
	}
	unlink(path);
	rmdir(dir);
}

/* The files that a description names are looked at when it is loaded. */
TEST(load_virtual)
{
	char dir[] = "/tmp/test_pmu.XXXXXX", path[64], file[64], text[512];
	struct pmu pmu;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pmu", dir);
	snprintf(file, sizeof(file), "%s/number", dir);
	snprintf(text, sizeof(text), HEAD PMC0 PMD0 "virtual 300 n file=%s\n", file);
	put_file(path, 0644, text);
	assert_int_equal(pmu_load(path, &pmu, &why), -ENOENT);
	assert_non_null(strstr(why.text, file));
	put_file(file, 0644, "no number yet");
	assert_int_equal(pmu_load(path, &pmu, &why), 0);
	assert_int_equal(pmu.virtuals[pmu_find_virtual(&pmu, 300)].num, 300);
	assert_int_equal(chmod(file, 0600), 0);
	assert_int_equal(pmu_load(path, &pmu, &why), -EPERM);
	assert_non_null(strstr(why.text, "all users"));
	assert_int_equal(chmod(file, 0666), 0);
	assert_int_equal(pmu_load(path, &pmu, &why), -EPERM);
	unlink(file);
	assert_int_equal(symlink("/proc/uptime", file), 0);
	assert_int_equal(pmu_load(path, &pmu, &why), -ELOOP);
	unlink(file);
	unlink(path);
	rmdir(dir);
}

struct mistakes {
	unsigned n;
	unsigned line[16];
	char text[16][200];
};

static void tell(void *arg, unsigned line, const char *text)
{
	struct mistakes *t = arg;

	assert_true(t->n < COUNT(t->line));
	t->line[t->n] = line;
	snprintf(t->text[t->n++], sizeof(t->text[0]), "%s", text);
}

/* All mistakes are mistakes, with their lines: of lines, of rows, of the whole. */
TEST(check)
{
	static const char many[] =
		HEAD "oops\n" PMC0 "\n" PMD0 "pmd 1 D addr=0xc0000080 width=40 wmask=0xff pmc=0\n"
		     "pmd 2 E addr=0xc3 width=0 wmask=0xff pmc=0\n"
		     "virtual 272 f file=x\nrate 2\n";
	static const unsigned lines[] = {3, 10, 7, 8, 9};
	struct mistakes t = {0};

	for (unsigned i = 0; pmu_builtins[i].name; i++)
		assert_int_equal(pmu_parse_check(pmu_builtins[i].text, tell, &t), 0);
	assert_int_equal(pmu_parse_check(slice_of(many), tell, &t), COUNT(lines));
	assert_int_equal(t.n, COUNT(lines));
	for (unsigned i = 0; i < COUNT(lines); i++)
		assert_int_equal(t.line[i], lines[i]);
	assert_non_null(strstr(t.text[2], "0xc0000080"));
	t.n = 0;
	assert_int_equal(pmu_parse_check(slice_of("\n" HEAD PMC0), tell, &t), 1);
	assert_int_equal(t.line[0], 2);
	assert_non_null(strstr(t.text[0], "no PMD"));
	t.n = 0;
	assert_int_equal(pmu_parse_check(slice_of(HEAD PMC0 PMD0 "sim x y\n"), tell, &t), 1);
	assert_non_null(strstr(t.text[0], "cpuid"));
}

/* A directory adds models in the order of names; what is wrong is skipped. */
TEST(load_dir)
{
	static const char *const files[][2] = {
		{"b.pmu", "pmu dir_b B\nrate 1\n" PMC0 PMD0},
		{"a.pmu", "pmu dir_a A\nrate 1\n" PMC0 PMD0
			  "detect vendor=amd version=0 family=33 models=1,3-4\n"},
		{"c.pmu", "pmu dir_c broken\n"},
		{"d.pmu", "pmu p6 again\nrate 1\n" PMC0 PMD0},
		{"e.txt", "pmu dir_e other\nrate 1\n" PMC0 PMD0},
		{"f.pmu", "pmu dir_f writable\nrate 1\n" PMC0 PMD0},
	};
	static const struct leaves cpu = {AMD, .max = 1, .eax1 = 0x1200f40};
	char dir[] = "/tmp/test_pmu.XXXXXX", path[64];
	unsigned n = 0;
	struct leaves other = cpu;
	struct pmu pmu;

	while (pmu_model_name(n))
		n++;
	assert_non_null(mkdtemp(dir));
	for (unsigned i = 0; i < COUNT(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i][0]);
		put_file(path, i == 5 ? 0666 : 0644, files[i][1]);
	}
	assert_int_equal(detect(&cpu, &pmu, &why), 0);
	assert_string_equal(pmu.name, "amd64");
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(pmu_load_dir(dir, &why), -EPERM);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(pmu_load_dir(dir, &why), 0);
	assert_string_equal(pmu_model_name(n), "dir_a");
	assert_string_equal(pmu_model_name(n + 1), "dir_b");
	assert_null(pmu_model_name(n + 2));
	assert_int_equal(pmu_load("dir_b", &pmu, &why), 0);
	assert_string_equal(pmu.model, "B");
	/* It names the model of the CPU, which the built-in description does not. */
	assert_int_equal(detect(&cpu, &pmu, &why), 0);
	assert_string_equal(pmu.name, "dir_a");
	other.eax1 = 0x1200f20; /* Model 2. */
	assert_int_equal(detect(&other, &pmu, &why), 0);
	assert_string_equal(pmu.name, "amd64");
	for (unsigned i = 0; i < COUNT(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i][0]);
		unlink(path);
	}
	rmdir(dir);
	assert_int_equal(pmu_load_dir(dir, &why), 0);
}

/* Of each thing as many as there may be. */
TEST(validate_most)
{
	struct pmu pmu = named("intel_arch_v4");

	for (unsigned i = 0; pmu.nvirtuals < PMU_MAX_VIRTUALS; i++)
		add_file(&pmu, PMU_FIRST_FILE + i, "/x");
	for (unsigned i = pmu.nevents; i < PMU_MAX_EVENTS; i++)
		pmu.events[i] = pmu.events[0];
	pmu.nevents = PMU_MAX_EVENTS;
	if (pmu_validate(&pmu, &why) < 0)
		fail_msg("%s", why.text);
}

/* Architectural events have names where the description names a vendor whose event selects are
 * known. */
TEST(arch_events)
{
	static const struct {
		const char *pmu, *event;
		uint64_t value; /* 0: the PMU does not have that name */
	} cases[] = {
		{"skylake", "instructions", 0x4300c0},
		{"skylake", "cache-misses", 0x43412e},
		{"skylake", "ref-cycles", 0}, /* only a fixed counter counts it */
		{"zen4", "branches", 0x4300c2},
		{"k7", "cycles", 0x430076},
		{"p6", "cycles", 0x430079},
		{"netburst", "cycles", 0},
		{"itanium2", "cycles", 0},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct pmu pmu = named(cases[i].pmu);
		const struct pmu_event *ev = pmu_event_named(&pmu, slice_of(cases[i].event));

		assert_int_equal(ev ? ev->value : 0, cases[i].value);
		if (ev)
			assert_ptr_equal(pmu_event_of(&pmu, 0, ev->value & ~EVTSEL_OS), ev);
	}
}

/* A name is of event selects alone: other PMCs have other values, and P6's second no enable bit. */
TEST(arch_events_of_pmcs)
{
	struct pmu zen4 = named("zen4"), p6 = named("p6");
	uint64_t value = 0x4300c0;

	assert_null(pmu_event_of(&zen4, (unsigned)pmu_find_pmc(&zen4, 32), value));
	assert_string_equal(pmu_event_of(&p6, 1, value & ~EVTSEL_EN)->name, "instructions");
}

/* What follows the last register is none, whatever its number. */
TEST(find_none)
{
	struct pmu pmu = named("intel_arch_v4");

	pmu.pmcs[pmu.npmcs].num = pmu.pmds[pmu.npmds].num = 99;
	assert_int_equal(pmu_find_pmc(&pmu, 99), -1);
	assert_int_equal(pmu_find_pmd(&pmu, 99), -1);
}

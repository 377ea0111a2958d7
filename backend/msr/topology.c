// SPDX-License-Identifier: MIT
/*
 * An APIC id has a field for the thread, above it one for the core, then the package's number. The
 * widths are in leaves 0x1F and 0xB (SDM volume 3, section 9.9; APM volume 3, appendix E.3); on
 * older processors, in leaves 1 and 4 (Intel) or 0x80000008 (AMD). A die in leaf 0x1F counts as a
 * package here, because it has its own package registers. So does each node of AMD's processors
 * with several nodes: leaf 0x8000001E (PPR 54945 for Naples, which has four). CPUs of a CCX share a
 * last-level cache: leaf 0x8000001D.
 */
#include "backend/msr/topology.h"

#include <string.h>

#include "backend/pmu/model.h"

enum {
	LEVEL_THREAD = 1, /* ECX 15:8 of leaf 0xB and 0x1F. */
	LEVEL_DIE = 5,
	LEVELS_MAX = 8,
	EDX1_HTT = 1u << 28, /* EBX 23:16 of leaf 1 has a number of APIC ids. */
	CACHE_L3 = 3,        /* The subleaf of 0x8000001D. */
};

/* Topology of a CPU: the number of APIC id bits below its number in each scope. */
struct topology {
	struct msr_io *io;
	unsigned cpu;
	uint32_t id, max, max_ext;
	unsigned core, ccx, package;
	bool nodes; /* The processor has several nodes; this CPU belongs to @node. */
	uint32_t node;
};

static int topology_cpuid(
	const struct topology *t, uint32_t leaf, uint32_t subleaf, uint32_t r[4], struct err *e)
{
	return t->io->ops->cpuid(t->io, t->cpu, leaf, subleaf, r, e);
}

/* Number of bits needed to number @n things. */
static unsigned topology_bits(uint32_t n)
{
	return n > 1 ? 32 - (unsigned)__builtin_clz(n - 1) : 0;
}

/* Reads the levels of @leaf; *@found is set if it has any. Each level gives the width of the fields
 * up to its own. */
static int topology_levels(struct topology *t, uint32_t leaf, bool *found, struct err *e)
{
	uint32_t r[4], level;

	*found = false;
	for (uint32_t i = 0; t->max >= leaf && i < LEVELS_MAX; i++) {
		if (topology_cpuid(t, leaf, i, r, e) < 0)
			return -e->no;
		level = r[ECX] >> 8 & 0xff;
		if (!level || level >= LEVEL_DIE)
			break;
		if (level == LEVEL_THREAD)
			t->core = r[EAX] & 0x1f;
		t->package = r[EAX] & 0x1f;
		t->id = r[EDX];
		*found = true;
	}
	return 0;
}

/* Reads the widths on processors without leaf 0xB. AMD's had no threads then. */
static int topology_legacy(struct topology *t, bool amd, const uint32_t leaf1[4], struct err *e)
{
	uint32_t n = leaf1[EDX] & EDX1_HTT ? leaf1[EBX] >> 16 & 0xff : 1, r[4] = {0};

	t->id = leaf1[EBX] >> 24;
	t->package = topology_bits(n);
	if (amd && t->max_ext >= 0x80000008) {
		if (topology_cpuid(t, 0x80000008, 0, r, e) < 0)
			return -e->no;
		t->package = r[ECX] >> 12 & 0xf;
		if (!t->package)
			t->package = topology_bits((r[ECX] & 0xff) + 1);
	} else if (!amd) {
		if (t->max >= 4 && topology_cpuid(t, 4, 0, r, e) < 0)
			return -e->no;
		t->core = t->package - topology_bits((r[EAX] >> 26) + 1);
		if (t->core > t->package)
			t->core = 0;
	}
	return 0;
}

static int topology_ccx(struct topology *t, bool amd, struct err *e)
{
	uint32_t r[4];

	t->ccx = t->package;
	if (!amd || t->max_ext < 0x8000001d)
		return 0;
	if (topology_cpuid(t, 0x8000001d, CACHE_L3, r, e) < 0)
		return -e->no;
	if (r[EAX] & 0x1f) /* The cache exists. */
		t->ccx = topology_bits((r[EAX] >> 14 & 0xfff) + 1);
	return 0;
}

static int topology_node(struct topology *t, bool amd, struct err *e)
{
	uint32_t r[4];

	if (!amd || t->max_ext < 0x8000001e)
		return 0;
	if (topology_cpuid(t, 0x8000001e, 0, r, e) < 0)
		return -e->no;
	t->nodes = r[ECX] >> 8 & 7; /* The field is the number of nodes minus one. */
	t->node = r[ECX] & 0xff;
	return 0;
}

static int topology_read(struct topology *t, struct err *e)
{
	uint32_t leaf0[4], leaf1[4], ext[4];
	bool amd, levels = false;
	int rc = topology_cpuid(t, 0, 0, leaf0, e);

	if (rc == 0)
		rc = topology_cpuid(t, 1, 0, leaf1, e);
	if (rc == 0)
		rc = topology_cpuid(t, 0x80000000, 0, ext, e);
	if (rc < 0)
		return rc;
	amd = memcmp(&leaf0[EBX], "Genu", 4) != 0;
	t->max = leaf0[EAX];
	t->max_ext = ext[EAX] >> 31 ? ext[EAX] : 0;
	rc = topology_levels(t, 0x1f, &levels, e);
	if (rc == 0 && !levels)
		rc = topology_levels(t, 0xb, &levels, e);
	if (rc == 0 && !levels)
		rc = topology_legacy(t, amd, leaf1, e);
	if (rc == 0)
		rc = topology_ccx(t, amd, e);
	return rc == 0 ? topology_node(t, amd, e) : rc;
}

int topology_of(struct msr_io *io, unsigned cpu, uint32_t unit[PMU_SCOPES], struct err *e)
{
	struct topology t = {.io = io, .cpu = cpu};

	if (topology_read(&t, e) < 0)
		return -e->no;
	unit[PMU_SCOPE_THREAD] = cpu;
	unit[PMU_SCOPE_CORE] = t.id >> t.core;
	unit[PMU_SCOPE_CCX] = t.id >> t.ccx;
	unit[PMU_SCOPE_PACKAGE] = t.nodes ? t.node : t.id >> t.package;
	return 0;
}

int topology_thread(struct msr_io *io, unsigned cpu, unsigned *thread, struct err *e)
{
	struct topology t = {.io = io, .cpu = cpu};

	if (topology_read(&t, e) < 0)
		return -e->no;
	*thread = t.id & ((1u << t.core) - 1);
	return 0;
}

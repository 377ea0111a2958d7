// SPDX-License-Identifier: MIT
/*
 * Rules for descriptions, built in or loaded from a file. They prevent writes to registers that do
 * not belong to a PMU: each address must be in the table below, with the role that it has there.
 */
#include "perfmonfs/pmu.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "backend/pmu/regs.h"
#include "backend/pmu/low_bits.h"
#include "backend/pmu/model.h"

enum role {
	ROLE_SELECT,
	ROLE_FIXED_CTRL,
	ROLE_UNCORE_SELECT,
	ROLE_UNCORE_FIXED,
	ROLE_UNCORE_GLOBAL,
	ROLE_AMD_SHARED,
	ROLE_UMC_SELECT,
	ROLE_EXTRA,
	ROLE_ESCR,
	ROLE_CCCR,
	ROLE_IPF_FREEZE,
	ROLE_IPF_SELECT,
	ROLE_IPF_CAPTURE,
	ROLE_IPF_IBR_MASK,
	ROLE_IPF_DBR_MASK,
	ROLE_COUNTER,
	ROLE_GLOBAL,
	ROLE_INUSE,
	ROLE_STATUS,
	ROLE_CLEAR,
};

struct known {
	uint32_t first, last, step;
	enum role role;
};

/* PMU registers of x86 that a description may use. */
static const struct known validate_known[] = {
	{0x186, 0x18d, 1, ROLE_SELECT}, /* P6, Intel */
	{0xc1, 0xc8, 1, ROLE_COUNTER},
	{0x4c1, 0x4c8, 1, ROLE_COUNTER}, /* full-width alias */
	{0x309, 0x30d, 1, ROLE_COUNTER}, /* fixed counters */
	{0x38d, 0x38d, 1, ROLE_FIXED_CTRL},
	{0x38e, 0x38e, 1, ROLE_STATUS},
	{0x38f, 0x38f, 1, ROLE_GLOBAL},
	{0x390, 0x390, 1, ROLE_CLEAR},
	{0x391, 0x391, 1, ROLE_UNCORE_GLOBAL}, /* before version 4, where it sets status bits */
	{0x392, 0x392, 1, ROLE_INUSE},
	{0x394, 0x394, 1, ROLE_COUNTER}, /* Nehalem's uncore: fixed, match, others */
	{0x395, 0x395, 1, ROLE_UNCORE_FIXED},
	{0x396, 0x396, 1, ROLE_EXTRA},
	{0x3b0, 0x3b7, 1, ROLE_COUNTER},
	{0x3c0, 0x3c7, 1, ROLE_UNCORE_SELECT},
	{0x1a6, 0x1a7, 1, ROLE_EXTRA},            /* off-core response */
	{0x3f6, 0x3f7, 1, ROLE_EXTRA},            /* load latency, front end */
	{0xc0010000, 0xc0010003, 1, ROLE_SELECT}, /* AMD since K7 */
	{0xc0010004, 0xc0010007, 1, ROLE_COUNTER},
	{0xc0010200, 0xc001020e, 2, ROLE_SELECT}, /* AMD PerfCtrExtCore */
	{0xc0010201, 0xc001020f, 2, ROLE_COUNTER},
	{0xc0010230, 0xc001023a, 2, ROLE_AMD_SHARED}, /* last-level cache */
	{0xc0010231, 0xc001023b, 2, ROLE_COUNTER},
	{0xc0010240, 0xc001025e, 2, ROLE_AMD_SHARED}, /* north bridge, data fabric */
	{0xc0010241, 0xc001025f, 2, ROLE_COUNTER},
	{0xc0010800, 0xc001087e, 2, ROLE_UMC_SELECT}, /* memory controllers */
	{0xc0010801, 0xc001087f, 2, ROLE_COUNTER},
	{0xc0000300, 0xc0000300, 1, ROLE_STATUS}, /* AMD PerfMonV2 */
	{0xc0000301, 0xc0000301, 1, ROLE_GLOBAL},
	{0xc0000302, 0xc0000302, 1, ROLE_CLEAR},
};

/*
 * Those of NetBurst (SDM volume 4, MSRs in the Pentium 4 and Xeon processors), where other
 * processors have other registers at some of the addresses. Not 0x3BF, which the manual lacks, and
 * none of PEBS (0x3F1, 0x3F2).
 */
static const struct known validate_netburst[] = {
	{0x300, 0x311, 1, ROLE_COUNTER}, {0x360, 0x371, 1, ROLE_CCCR},
	{0x3a0, 0x3be, 1, ROLE_ESCR}, /* BSU to SSU */
	{0x3c0, 0x3c5, 1, ROLE_ESCR}, /* MS, TBPU, TC */
	{0x3c8, 0x3cd, 1, ROLE_ESCR}, /* IX, ALF, CRU_ESCR2 and 3 */
	{0x3e0, 0x3e1, 1, ROLE_ESCR}, /* CRU_ESCR4 and 5 */
};

/* Registers of Itanium 2 that a description may use. PMC 1 to 3 have no bits of its counters. */
static const struct known validate_known_ipf[] = {
	{PMU_IPF_PMC + 0, PMU_IPF_PMC + 0, 1, ROLE_IPF_FREEZE},
	{PMU_IPF_PMC + 4, PMU_IPF_PMC + 7, 1, ROLE_IPF_SELECT},
	{PMU_IPF_PMC + 8, PMU_IPF_PMC + 9, 1, ROLE_EXTRA}, /* opcode matchers */
	{PMU_IPF_PMC + 10, PMU_IPF_PMC + 12, 1, ROLE_IPF_CAPTURE},
	{PMU_IPF_PMC + 13, PMU_IPF_PMC + 15, 1, ROLE_EXTRA}, /* what they and ranges restrict */
	{PMU_IPF_PMD + 0, PMU_IPF_PMD + 17, 1, ROLE_COUNTER},
	{PMU_IPF_IBR + 0, PMU_IPF_IBR + 6, 2, ROLE_EXTRA}, /* addresses */
	{PMU_IPF_IBR + 1, PMU_IPF_IBR + 7, 2, ROLE_IPF_IBR_MASK},
	{PMU_IPF_DBR + 0, PMU_IPF_DBR + 6, 2, ROLE_EXTRA},
	{PMU_IPF_DBR + 1, PMU_IPF_DBR + 7, 2, ROLE_IPF_DBR_MASK},
};

/* Bits of a configuration register with a special meaning, by its role. */
struct meaning {
	uint64_t forbidden; /* Must be reserved. */
	uint64_t enable;    /* Enable bits, unless reserved. */
	uint64_t kernel;    /* Bits for privileged users only, unless reserved. */
};

/*
 * INT raises an interrupt that the kernel does not expect and may report as a hardware failure; PIN
 * drives a pin of the package; ANY counts threads of other users.
 */
static const struct meaning validate_meanings[] = {
	[ROLE_SELECT] = {EVTSEL_INT | EVTSEL_PIN | EVTSEL_ANY, EVTSEL_EN, EVTSEL_OS},
	/* Four bits per counter: OS, USR, ANY, PMI; bits 63:32 are PEBS controls. */
	[ROLE_FIXED_CTRL] = {0xffffffffcccccccc, 0x33333333, 0x11111111},
	/* Bit 20 and, of the fixed counter, bit 2 interrupt; so do bits 63:48 of the global
	   control. */
	[ROLE_UNCORE_SELECT] = {~0xffc6ffffULL, EVTSEL_EN, 0},
	[ROLE_UNCORE_FIXED] = {~1ULL, 1, 0},
	[ROLE_UNCORE_GLOBAL] = {~0x1000000ffULL, 0x1000000ff, 0},
	[ROLE_AMD_SHARED] = {EVTSEL_INT | EVTSEL_PIN | EVTSEL_ANY, EVTSEL_EN, 0},
	[ROLE_UMC_SELECT] = {~0x800003ffULL, 1ULL << 31, 0},
	[ROLE_EXTRA] = {0, 0, 0},
	/* Event, mask, tag, and levels of the first thread; those of the second are another user's.
	 */
	[ROLE_ESCR] = {~0x7ffffffcULL, 0, ESCR_T0_OS},
	/* FORCE_OVF, the two OVF_PMI and CASCADE act on interrupts and other counters. */
	[ROLE_CCCR] = {~0x1fff000ULL, CCCR_ENABLE, 0},
	[ROLE_IPF_FREEZE] = {~1ULL, 0, 0},
	/* Bit 5 interrupts; bits 3:0 are the privilege levels. */
	[ROLE_IPF_SELECT] = {1 << 5, 0xf, 1},
	[ROLE_IPF_CAPTURE] = {0, 0xf, 1},
	/* They make breakpoints. */
	[ROLE_IPF_IBR_MASK] = {1ULL << 63, 0, 0},
	[ROLE_IPF_DBR_MASK] = {3ULL << 62, 0, 0},
};

/* CCCRs make it one. */
static bool validate_is_netburst(const struct pmu *pmu)
{
	for (unsigned i = 0; i < pmu->npmcs; i++)
		if (pmu->pmcs[i].escr_select)
			return true;
	return false;
}

#define ROWS(table, n) (*(n) = sizeof(table) / sizeof((table)[0]), (table))

/* The registers that there may be, and their number. */
static const struct known *validate_table(const struct pmu *pmu, size_t *n)
{
	if (pmu->space == PMU_SPACE_IPF)
		return ROWS(validate_known_ipf, n);
	return validate_is_netburst(pmu) ? ROWS(validate_netburst, n) : ROWS(validate_known, n);
}

static bool validate_find_role(const struct pmu *pmu, uint32_t addr, enum role *role)
{
	size_t n;
	const struct known *table = validate_table(pmu, &n);

	for (unsigned i = 0; i < n; i++) {
		const struct known *k = &table[i];

		if (addr < k->first || addr > k->last || (addr - k->first) % k->step != 0)
			continue;
		*role = k->role;
		return k->role != ROLE_UNCORE_GLOBAL || !pmu->inuse;
	}
	return false;
}

static int validate_role(
	const struct pmu *pmu, uint32_t addr, enum role want, const char *name, struct err *e)
{
	static const char *const roles[] = {
		[ROLE_COUNTER] = "counter",
		[ROLE_GLOBAL] = "global control",
		[ROLE_INUSE] = "in-use register",
		[ROLE_STATUS] = "overflow status",
		[ROLE_CLEAR] = "overflow clear register",
	};
	enum role role;

	if (pmu->space == PMU_SPACE_PERF || (validate_find_role(pmu, addr, &role) && role == want))
		return 0;
	return err_set(
		e, EINVAL, "%s: %#" PRIx32 " is not known as a PMU's %s", name, addr, roles[want]);
}

/* One word, of characters that no shell and no file format quotes. */
static bool validate_is_word(const char *s)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.-";

	return *s && s[strspn(s, chars)] == '\0';
}

static bool validate_is_line(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (s[i] < ' ' || s[i] > '~' || s[i] == '#')
			return false;
	return n && s[0] != ' ' && s[n - 1] != ' ';
}

static bool validate_terminated(const char *s, size_t room)
{
	return memchr(s, '\0', room);
}

static int validate_head(const struct pmu *pmu, struct err *e)
{
	if (!validate_terminated(pmu->name, PMU_NAME) || !validate_is_word(pmu->name))
		return err_set(e, EINVAL, "the PMU's name is missing or not a plain word");
	if (!validate_terminated(pmu->model, PMU_MODEL) || !validate_is_line(pmu->model))
		return err_set(e, EINVAL, "%s: the model is not a line of plain text", pmu->name);
	if (!pmu->npmcs || pmu->npmcs > PMU_MAX_PMCS || !pmu->npmds || pmu->npmds > PMU_MAX_PMDS ||
		pmu->nevents > PMU_MAX_EVENTS || pmu->nvirtuals > PMU_MAX_VIRTUALS ||
		pmu->nfrees > PMU_MAX_FREES)
		return err_set(e, EINVAL,
			"%s: %u PMCs, %u PMDs, %u virtual ones, %u free ones, %u events: none, or "
			"too "
			"many",
			pmu->name, pmu->npmcs, pmu->npmds, pmu->nvirtuals, pmu->nfrees,
			pmu->nevents);
	if (!pmu->max_rate)
		return err_set(
			e, EINVAL, "%s: the rate is missing, which polling requires", pmu->name);
	return 0;
}

static int validate_name_num(const char *name, unsigned num, int before, struct err *e)
{
	if (!validate_terminated(name, PMU_NAME) || !validate_is_word(name))
		return err_set(
			e, EINVAL, "the name of register %u is missing or not a plain word", num);
	if ((int)num <= before || num >= PMU_MAX_NUM)
		return err_set(e, EINVAL, "%s: number %u does not rise, or is not below %d", name,
			num, PMU_MAX_NUM);
	return 0;
}

static int validate_meaning(const struct pmu_pmc *pmc, const struct meaning *m, struct err *e)
{
	if (m->forbidden & ~pmc->rsvd)
		return err_set(e, EINVAL, "%s: bits %#" PRIx64 " must be reserved", pmc->name,
			m->forbidden & ~pmc->rsvd);
	if (m->forbidden & pmc->def)
		return err_set(e, EINVAL, "%s: the default must not set bits %#" PRIx64, pmc->name,
			m->forbidden & pmc->def);
	if (m->enable & ~pmc->rsvd & ~pmc->enable)
		return err_set(e, EINVAL, "%s: bits %#" PRIx64 " must be enable bits or reserved",
			pmc->name, m->enable & ~pmc->rsvd & ~pmc->enable);
	if (m->kernel & ~pmc->rsvd & ~pmc->kernel)
		return err_set(e, EINVAL, "%s: bits %#" PRIx64 " must be kernel bits or reserved",
			pmc->name, m->kernel & ~pmc->rsvd & ~pmc->kernel);
	return 0;
}

/* A CCCR chooses among ESCRs of its own scope, which it reserves with its counter. */
static int validate_cccr(const struct pmu *pmu, const struct pmu_pmc *pmc, struct err *e)
{
	enum role role;

	if (pmc->escr_select != CCCR_ESCR_SELECT || pmc->ovf != CCCR_OVF)
		return err_set(e, EINVAL, "%s: a CCCR has escr=%#llx:... and ovf=%#llx", pmc->name,
			CCCR_ESCR_SELECT, CCCR_OVF);
	for (unsigned i = 0; i < PMU_ESCRS; i++) {
		uint16_t row = pmc->escr[i];

		if (row == PMU_NO_ROW)
			continue;
		if (row >= pmu->npmcs || &pmu->pmcs[row] >= pmc ||
			!validate_find_role(pmu, pmu->pmcs[row].addr, &role) || role != ROLE_ESCR)
			return err_set(
				e, EINVAL, "%s: escr= takes the numbers of ESCRs above", pmc->name);
		if (pmu->pmcs[row].scope != pmc->scope)
			return err_set(e, EINVAL, "%s: its scope= is not that of %s", pmc->name,
				pmu->pmcs[row].name);
	}
	return 0;
}

static int validate_pmc_bits(
	const struct pmu *pmu, const struct pmu_pmc *pmc, enum role role, struct err *e)
{
	if ((role == ROLE_EXTRA || role == ROLE_ESCR) && (pmc->shared || pmc->enable))
		return err_set(e, EINVAL,
			"%s: it only selects, and has neither enable bits nor counters", pmc->name);
	if (role == ROLE_CCCR && validate_cccr(pmu, pmc, e) < 0)
		return -e->no;
	if (role != ROLE_CCCR && (pmc->escr_select || pmc->ovf))
		return err_set(e, EINVAL, "%s: only CCCRs have escr= and ovf=", pmc->name);
	if (role == ROLE_ESCR ? pmc->kernel != ESCR_T0_OS || pmc->user != ESCR_T0_USR ||
					pmc->second != ESCR_T1
			      : pmc->second != 0)
		return err_set(e, EINVAL,
			"%s: ESCRs, and these only, have kernel=%#llx user=%#llx second=%#llx",
			pmc->name, ESCR_T0_OS, ESCR_T0_USR, ESCR_T1);
	return 0;
}

static int validate_pmc_role(const struct pmu *pmu, const struct pmu_pmc *pmc, struct err *e)
{
	enum role role;

	if (pmu->space != PMU_SPACE_MSR && (pmc->escr_select || pmc->ovf || pmc->second))
		return err_set(e, EINVAL, "%s: only MSRs have escr=, ovf= and second=", pmc->name);
	if (pmu->space == PMU_SPACE_PERF)
		return 0;
	if (!validate_find_role(pmu, pmc->addr, &role) || role >= ROLE_COUNTER)
		return err_set(e, EINVAL, "%s: %#" PRIx32 " is not known as a PMC's register",
			pmc->name, pmc->addr);
	if (role == ROLE_FIXED_CTRL && !pmc->shared)
		return err_set(e, EINVAL, "%s: has several counters and must be shared", pmc->name);
	if (validate_pmc_bits(pmu, pmc, role, e) < 0)
		return -e->no;
	return validate_meaning(pmc, &validate_meanings[role], e);
}

static int validate_pmc(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_pmc *pmc = &pmu->pmcs[row];
	int rc = validate_name_num(pmc->name, pmc->num, row ? pmu->pmcs[row - 1].num : -1, e);
	/* Reserved bits of MSRs are 0. */
	uint64_t off = pmc->enable | (pmu->space == PMU_SPACE_IPF ? 0 : pmc->rsvd), used;

	if (rc < 0)
		return rc;
	if (pmc->def & off)
		return err_set(e, EINVAL, "%s: the default sets enable or reserved bits %#" PRIx64,
			pmc->name, pmc->def & off);
	used = (pmc->enable | pmc->kernel | pmc->user) & pmc->rsvd;
	if (used)
		return err_set(e, EINVAL, "%s: bits %#" PRIx64 " have a use and are reserved",
			pmc->name, used);
	if (pmc->gate > row)
		return err_set(e, EINVAL, "%s: its gate must be this PMC or one above", pmc->name);
	used = (pmc->busy | pmc->latched) & ~pmc->rsvd;
	if (used)
		return err_set(e, EINVAL,
			"%s: bits %#" PRIx64 " of busy= or latched= must be reserved", pmc->name,
			used);
	if (pmc->with > row)
		return err_set(e, EINVAL, "%s: with= must be a PMC above", pmc->name);
	if (pmc->scope >= PMU_SCOPES || pmc->scope != pmu->pmcs[pmc->gate].scope)
		return err_set(e, EINVAL, "%s: its scope= is not that of its gate", pmc->name);
	return validate_pmc_role(pmu, pmc, e);
}

/* Each bit of a shared selector belongs to one counter; some of its bits enable the counter. */
static int validate_field(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_pmd *pmd = &pmu->pmds[row];
	const struct pmu_pmc *pmc = &pmu->pmcs[pmd->pmc];

	if (!pmd->field)
		return err_set(e, EINVAL, "%s: it has no bit of %s", pmd->name, pmc->name);
	if (!pmu->pmcs[pmc->gate].enable)
		return err_set(e, EINVAL, "%s: nothing enables it", pmd->name);
	if (pmd->scope != pmc->scope)
		return err_set(e, EINVAL, "%s: its scope= is not that of %s", pmd->name, pmc->name);
	if (!pmc->shared)
		return 0;
	if (!(pmd->field & ~pmc->rsvd & pmc->enable))
		return err_set(e, EINVAL, "%s: field %#" PRIx64 " of %s has no bit that enables",
			pmd->name, pmd->field, pmc->name);
	for (unsigned i = 0; i < row; i++)
		if (pmu->pmds[i].pmc == pmd->pmc && pmu->pmds[i].field & pmd->field)
			return err_set(e, EINVAL, "%s: shares bits of %s with %s", pmd->name,
				pmc->name, pmu->pmds[i].name);
	return 0;
}

static int validate_global_bit(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_pmd *pmd = &pmu->pmds[row];

	if (pmd->global < 0)
		return 0;
	if (!pmu->global_ctrl || pmd->global > 63)
		return err_set(e, EINVAL, "%s: there is no bit %d of a global control", pmd->name,
			pmd->global);
	for (unsigned i = 0; i < row; i++)
		if (pmu->pmds[i].global == pmd->global)
			return err_set(e, EINVAL, "%s: has the global bit %d of %s", pmd->name,
				pmd->global, pmu->pmds[i].name);
	return 0;
}

/* Registers that are reached at a second address, too. */
static const struct {
	uint32_t first, n, step;  /* The second addresses. */
	uint32_t same, same_step; /* The first ones. */
} validate_aliases[] = {
	{0x4c1, 8, 1, 0xc1, 1},            /* Intel, full width */
	{0xc0010200, 4, 2, 0xc0010000, 1}, /* AMD PerfCtrExtCore: those since K7 */
	{0xc0010201, 4, 2, 0xc0010004, 1},
};

/* One address for all those of a register. */
static uint32_t validate_unalias(const struct pmu *pmu, uint32_t addr)
{
	for (unsigned i = 0; i < sizeof(validate_aliases) / sizeof(validate_aliases[0]); i++) {
		uint32_t at = addr - validate_aliases[i].first, step = validate_aliases[i].step;

		if (pmu->space == PMU_SPACE_MSR && at % step == 0 &&
			at / step < validate_aliases[i].n)
			return validate_aliases[i].same + at / step * validate_aliases[i].same_step;
	}
	return addr;
}

static int validate_waddr(const struct pmu *pmu, const struct pmu_pmd *pmd, struct err *e)
{
	if (validate_unalias(pmu, pmd->waddr) == validate_unalias(pmu, pmd->addr))
		return 0;
	return err_set(e, EINVAL, "%s: %#" PRIx32 " is not known as another address of %#" PRIx32,
		pmd->name, pmd->waddr, pmd->addr);
}

static int validate_pmd(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_pmd *pmd = &pmu->pmds[row];
	int rc = validate_name_num(pmd->name, pmd->num, row ? pmu->pmds[row - 1].num : -1, e);

	if (rc < 0)
		return rc;
	if (pmd->num >= PMU_FIRST_VIRTUAL)
		return err_set(e, EINVAL, "%s: numbers from %d on are those of virtual PMDs",
			pmd->name, PMU_FIRST_VIRTUAL);
	if (!pmd->width || pmd->width > 64 || pmd->width < pmu->counter_width)
		return err_set(e, EINVAL, "%s: width %u is not within %u..64", pmd->name,
			pmd->width, pmu->counter_width);
	if (pmd->buffer && (pmd->width != 64 || pmd->wmask != UINT64_MAX || pmd->global >= 0))
		return err_set(e, EINVAL,
			"%s: a buffer has a width of 64 bits, all of them in wmask=, and no "
			"global=",
			pmd->name);
	if (!pmd->wmask || pmd->wmask & (pmd->wmask + 1) || pmd->wmask & ~pmu_low_bits(pmd->width))
		return err_set(e, EINVAL, "%s: wmask %#" PRIx64 " is not a run of its lowest bits",
			pmd->name, pmd->wmask);
	if (pmd->pmc >= pmu->npmcs)
		return err_set(e, EINVAL, "%s: its PMC does not exist", pmd->name);
	rc = validate_field(pmu, row, e);
	if (rc == 0)
		rc = validate_global_bit(pmu, row, e);
	if (rc == 0)
		rc = validate_role(pmu, pmd->addr, ROLE_COUNTER, pmd->name, e);
	if (rc == 0)
		rc = validate_role(pmu, pmd->waddr, ROLE_COUNTER, pmd->name, e);
	if (rc == 0)
		rc = validate_waddr(pmu, pmd, e);
	return rc;
}

/* Two rows for one register would have two different write masks. */
static int validate_distinct(const struct pmu *pmu, struct err *e)
{
	const uint32_t globals[] = {pmu->global_ctrl, pmu->inuse, pmu->status, pmu->clear};
	uint32_t seen[PMU_MAX_PMCS + PMU_MAX_PMDS + 4];
	unsigned n = 0;

	for (unsigned i = 0; i < pmu->npmcs; i++)
		seen[n++] = validate_unalias(pmu, pmu->pmcs[i].addr);
	for (unsigned i = 0; i < pmu->npmds; i++)
		seen[n++] = validate_unalias(pmu, pmu->pmds[i].addr);
	for (unsigned i = 0; i < sizeof(globals) / sizeof(globals[0]); i++)
		if (globals[i])
			seen[n++] = globals[i];
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < i; j++)
			if (seen[i] == seen[j])
				return err_set(e, EINVAL, "%s: two registers at %#" PRIx32,
					pmu->name, seen[i]);
	return 0;
}

static int validate_narrowest(const struct pmu *pmu, struct err *e)
{
	for (unsigned i = 0; i < pmu->npmds; i++)
		if (pmu->pmds[i].width == pmu->counter_width)
			return 0;
	return err_set(e, EINVAL, "%s: counter width %u is not the narrowest counter's", pmu->name,
		pmu->counter_width);
}

static int validate_global(const struct pmu *pmu, struct err *e)
{
	int rc = 0;

	if (!pmu->global_ctrl && (pmu->inuse || pmu->status || pmu->clear))
		return err_set(e, EINVAL,
			"%s: an in-use or overflow status register without global control",
			pmu->name);
	if (!pmu->status != !pmu->clear)
		return err_set(e, EINVAL, "%s: status= and clear= come together", pmu->name);
	if (pmu->global_ctrl)
		rc = validate_role(pmu, pmu->global_ctrl, ROLE_GLOBAL, pmu->name, e);
	if (rc == 0 && pmu->inuse)
		rc = validate_role(pmu, pmu->inuse, ROLE_INUSE, pmu->name, e);
	if (rc == 0 && pmu->status)
		rc = validate_role(pmu, pmu->status, ROLE_STATUS, pmu->name, e);
	if (rc == 0 && pmu->clear)
		rc = validate_role(pmu, pmu->clear, ROLE_CLEAR, pmu->name, e);
	return rc;
}

/* Permissions are checked when the file is opened. */
static bool validate_is_path(const char *s)
{
	for (size_t i = 0; s[i]; i++)
		if (s[i] <= ' ' || s[i] > '~' || s[i] == '#')
			return false;
	return s[0] == '/';
}

static int validate_virtual(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_virtual *v = &pmu->virtuals[row];
	bool file = v->kind == PMU_VIRTUAL_FILE;
	int before = row ? pmu->virtuals[row - 1].num : PMU_FIRST_VIRTUAL - 1;
	int rc = validate_name_num(v->name, v->num, before, e);

	if (rc < 0)
		return rc;
	if ((v->kind == PMU_VIRTUAL_READING) != (v->num >= PMU_FIRST_READING && !file))
		return err_set(e, EINVAL, "%s: readings have numbers from %d on", v->name,
			PMU_FIRST_READING);
	if (v->kind > PMU_VIRTUAL_FILE || file != (v->num >= PMU_FIRST_FILE))
		return err_set(e, EINVAL, "%s: virtual PMDs of files have numbers from %d on",
			v->name, PMU_FIRST_FILE);
	if (file && (!validate_terminated(v->path, PMU_PATH) || !validate_is_path(v->path)))
		return err_set(e, EINVAL,
			"%s: file= takes a path from / on, of plain characters without blanks",
			v->name);
	return 0;
}

/* Registers that may be read as free ones, and never written; bits that a value of them may have.
 */
static const struct {
	uint32_t addr;
	unsigned units;
	uint64_t bits;
} validate_frees[] = {
	{0x10, 1u << PMU_UNIT_TICKS, UINT64_MAX}, /* TSC */
	{0xe7, 1u << PMU_UNIT_TICKS, UINT64_MAX}, /* MPERF, APERF */
	{0xe8, 1u << PMU_UNIT_TICKS, UINT64_MAX},
	{0x64e, 1u << PMU_UNIT_TICKS, UINT64_MAX}, /* PPERF */
	{0x34, 1u << PMU_UNIT_EVENTS, UINT32_MAX}, /* SMI count */
	{0x3f8, 1u << PMU_UNIT_TICKS, UINT64_MAX}, /* C-states of the package: C3, C6, C7, C2 */
	{0x3f9, 1u << PMU_UNIT_TICKS, UINT64_MAX}, {0x3fa, 1u << PMU_UNIT_TICKS, UINT64_MAX},
	{0x60d, 1u << PMU_UNIT_TICKS, UINT64_MAX},
	{0x3fc, 1u << PMU_UNIT_TICKS, UINT64_MAX}, /* of the core: C3, C6, C7 */
	{0x3fd, 1u << PMU_UNIT_TICKS, UINT64_MAX}, {0x3fe, 1u << PMU_UNIT_TICKS, UINT64_MAX},
	{0x19c, 1u << PMU_UNIT_DEGREES, 0x7f0000}, /* thermal status of the core, of the package */
	{0x1b1, 1u << PMU_UNIT_DEGREES, 0x7f0000},
	{0x611, 1u << PMU_UNIT_RAPL | 1u << PMU_UNIT_RAPL_ATOM, UINT32_MAX}, /* package */
	{0x639, 1u << PMU_UNIT_RAPL | 1u << PMU_UNIT_RAPL_ATOM, UINT32_MAX}, /* cores */
	{0x641, 1u << PMU_UNIT_RAPL, UINT32_MAX},                            /* graphics */
	{0x619, 1u << PMU_UNIT_RAPL | 1u << PMU_UNIT_RAPL_16, UINT32_MAX},   /* memory */
	{0x64d, 1u << PMU_UNIT_RAPL | 1u << PMU_UNIT_RAPL_0, UINT32_MAX},    /* platform */
	{0xc001029a, 1u << PMU_UNIT_RAPL_AMD, UINT32_MAX},                   /* core */
	{0xc001029b, 1u << PMU_UNIT_RAPL_AMD, UINT32_MAX},                   /* package */
	{0xc00000e9, 1u << PMU_UNIT_EVENTS, UINT64_MAX},                     /* IRPERF */
};

static int validate_free_known(const struct pmu_free *f, struct err *e)
{
	uint64_t bits = pmu_low_bits(f->width) << f->shift;

	for (unsigned i = 0; i < sizeof(validate_frees) / sizeof(validate_frees[0]); i++) {
		if (validate_frees[i].addr != f->addr)
			continue;
		if (!(validate_frees[i].units & 1u << f->unit))
			return err_set(
				e, EINVAL, "%s: %#" PRIx32 " has another unit", f->name, f->addr);
		if (bits & ~validate_frees[i].bits)
			return err_set(e, EINVAL,
				"%s: bits %#" PRIx64 " of %#" PRIx32 " are not of its value",
				f->name, bits & ~validate_frees[i].bits, f->addr);
		return 0;
	}
	return err_set(e, EINVAL, "%s: %#" PRIx32 " is not known as a register to be read", f->name,
		f->addr);
}

static int validate_free(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_free *f = &pmu->frees[row];

	if (!validate_terminated(f->name, PMU_NAME) || !validate_is_word(f->name))
		return err_set(e, EINVAL, "the name of a free register is not a plain word");
	if (f->unit >= PMU_UNITS || f->scope >= PMU_SCOPES)
		return err_set(e, EINVAL, "%s: no such unit or scope", f->name);
	if (!f->width || f->shift + f->width > 64)
		return err_set(e, EINVAL, "%s: bits %u to %u are not within a register of 64 bits",
			f->name, f->shift, f->shift + f->width - 1);
	if (pmu->space != PMU_SPACE_MSR)
		return err_set(e, EINVAL, "%s: free registers are MSRs", f->name);
	for (unsigned i = 0; i < row; i++)
		if (pmu->frees[i].addr == f->addr || !strcmp(pmu->frees[i].name, f->name))
			return err_set(e, EINVAL, "%s: there is such a line above", f->name);
	return validate_free_known(f, e);
}

/* Applies @rule to each row. False: @mistake has ended the validation. */
static bool validate_rows(const struct pmu *pmu, unsigned n,
	int (*rule)(const struct pmu *pmu, unsigned row, struct err *e), enum pmu_part part,
	pmu_mistake *mistake, void *arg)
{
	struct err e;

	for (unsigned i = 0; i < n; i++)
		if (rule(pmu, i, &e) < 0 && !mistake(arg, part, i, &e))
			return false;
	return true;
}

void pmu_validate_all(const struct pmu *pmu, pmu_mistake *mistake, void *arg)
{
	int (*const rules[])(const struct pmu *pmu, struct err *e) = {
		validate_narrowest, validate_global, validate_distinct};
	struct err e;

	/* The other rules rely on the numbers of rows that it checks. */
	if (validate_head(pmu, &e) < 0) {
		mistake(arg, PMU_PART_WHOLE, 0, &e);
		return;
	}
	if (!validate_rows(pmu, pmu->npmcs, validate_pmc, PMU_PART_PMC, mistake, arg) ||
		!validate_rows(pmu, pmu->npmds, validate_pmd, PMU_PART_PMD, mistake, arg) ||
		!validate_rows(
			pmu, pmu->nvirtuals, validate_virtual, PMU_PART_VIRTUAL, mistake, arg) ||
		!validate_rows(pmu, pmu->nfrees, validate_free, PMU_PART_FREE, mistake, arg))
		return;
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i](pmu, &e) < 0 && !mistake(arg, PMU_PART_WHOLE, 0, &e))
			return;
}

/* @arg is the struct err of pmu_validate(). */
static bool validate_first(void *arg, enum pmu_part part, unsigned row, const struct err *e)
{
	(void)part;
	(void)row;
	err_copy(arg, e);
	return false;
}

int pmu_validate(const struct pmu *pmu, struct err *e)
{
	e->no = 0;
	pmu_validate_all(pmu, validate_first, e);
	return -e->no;
}

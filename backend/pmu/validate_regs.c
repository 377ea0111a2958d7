// SPDX-License-Identifier: MIT
/* Rules for PMCs and PMDs. */
#include "backend/pmu/validate_i.h"

#include <errno.h>
#include <inttypes.h>

#include "backend/pmu/low_bits.h"
#include "backend/pmu/regs.h"

/* A name for registers of a role, and the line that they belong to. */
struct part {
	const char *what, *line;
};

static struct part validate_part(enum role role)
{
	static const struct part parts[] = {
		[ROLE_COUNTER] = {"counter", "pmd"},
		[ROLE_GLOBAL] = {"global control", "global ctrl="},
		[ROLE_INUSE] = {"in-use register", "global inuse="},
		[ROLE_STATUS] = {"overflow status", "global status="},
		[ROLE_CLEAR] = {"overflow clear register", "global clear="},
	};

	return role < ROLE_COUNTER ? (struct part){"configuration register", "pmc"} : parts[role];
}

/* Explains that @addr is not a register of the role @want. */
static int validate_refuse_role(
	const struct pmu *pmu, uint32_t addr, enum role want, const char *name, struct err *e)
{
	enum role role;

	if (!known_role(pmu, addr, &role))
		return err_set(e, EINVAL,
			"%s: %#" PRIx32 " is not known as a PMU's %s: " KNOWN_HINT, name, addr,
			validate_part(want).what);
	return err_set(e, EINVAL,
		"%s: %#" PRIx32 " is a PMU's %s, not its %s: write it in a line '%s'", name, addr,
		validate_part(role).what, validate_part(want).what, validate_part(role).line);
}

int validate_role(
	const struct pmu *pmu, uint32_t addr, enum role want, const char *name, struct err *e)
{
	enum role role;

	if (pmu->space == PMU_SPACE_PERF || (known_role(pmu, addr, &role) && role == want))
		return 0;
	return validate_refuse_role(pmu, addr, want, name, e);
}

static int validate_twice(
	uint32_t addr, const char *name, uint32_t other_addr, const char *other, struct err *e)
{
	return err_set(e, EINVAL,
		"%s: %#" PRIx32 " is also the register of %s (%#" PRIx32
		"): write another address (in an array, addr=N+STEP), or leave one out",
		name, addr, other, other_addr);
}

/* Checks that no other row has the same register, which would have two write masks. A PMC and a PMD
 * cannot have the same one, because their roles differ. */
static int validate_pmc_distinct(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_pmc *pmcs = pmu->pmcs;
	uint32_t at = known_unalias(pmu, pmcs[row].addr);

	for (unsigned i = 0; i < row; i++)
		if (known_unalias(pmu, pmcs[i].addr) == at)
			return validate_twice(
				pmcs[row].addr, pmcs[row].name, pmcs[i].addr, pmcs[i].name, e);
	return 0;
}

static int validate_pmd_distinct(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_pmd *pmds = pmu->pmds;
	uint32_t at = known_unalias(pmu, pmds[row].addr);

	for (unsigned i = 0; i < row; i++)
		if (known_unalias(pmu, pmds[i].addr) == at)
			return validate_twice(
				pmds[row].addr, pmds[row].name, pmds[i].addr, pmds[i].name, e);
	return 0;
}

static int validate_meaning(const struct pmu_pmc *pmc, const struct meaning *m, struct err *e)
{
	if (m->forbidden & ~pmc->rsvd)
		return err_set(e, EINVAL,
			"%s: bits %#" PRIx64 " must be reserved: set them in reserved=", pmc->name,
			m->forbidden & ~pmc->rsvd);
	if (m->forbidden & pmc->def)
		return err_set(e, EINVAL, "%s: default= must not set bits %#" PRIx64 ": clear them",
			pmc->name, m->forbidden & pmc->def);
	if (m->enable & ~pmc->rsvd & ~pmc->enable)
		return err_set(e, EINVAL,
			"%s: bits %#" PRIx64
			" must be enable bits or reserved: set them in enable= or reserved=",
			pmc->name, m->enable & ~pmc->rsvd & ~pmc->enable);
	if (m->kernel & ~pmc->rsvd & ~pmc->kernel)
		return err_set(e, EINVAL,
			"%s: bits %#" PRIx64
			" must be kernel bits or reserved: set them in kernel= or reserved=",
			pmc->name, m->kernel & ~pmc->rsvd & ~pmc->kernel);
	return 0;
}

/* Checks that a CCCR chooses among ESCRs of its own scope, because it reserves them with its
 * counter. */
static int validate_cccr(const struct pmu *pmu, const struct pmu_pmc *pmc, struct err *e)
{
	enum role role;

	if (pmc->escr_select != CCCR_ESCR_SELECT || pmc->ovf != CCCR_OVF)
		return err_set(e, EINVAL,
			"%s: a CCCR needs escr=%#llx:NUM,... and ovf=%#llx: write these", pmc->name,
			CCCR_ESCR_SELECT, CCCR_OVF);
	for (unsigned i = 0; i < PMU_ESCRS; i++) {
		uint16_t row = pmc->escr[i];

		if (row == PMU_NO_ROW)
			continue;
		if (row >= pmu->npmcs || &pmu->pmcs[row] >= pmc ||
			!known_role(pmu, pmu->pmcs[row].addr, &role) || role != ROLE_ESCR)
			return err_set(e, EINVAL,
				"%s: escr= takes the numbers of ESCRs above: write these, or -",
				pmc->name);
		if (pmu->pmcs[row].scope != pmc->scope)
			return err_set(e, EINVAL,
				"%s: its scope= is not that of %s: write the same in both lines",
				pmc->name, pmu->pmcs[row].name);
	}
	return 0;
}

static int validate_pmc_bits(
	const struct pmu *pmu, const struct pmu_pmc *pmc, enum role role, struct err *e)
{
	if ((role == ROLE_EXTRA || role == ROLE_ESCR) && (pmc->shared || pmc->enable))
		return err_set(e, EINVAL,
			"%s: it only selects and has neither enable bits nor counters: write "
			"enable=0, and leave shared out",
			pmc->name);
	if (role == ROLE_CCCR && validate_cccr(pmu, pmc, e) < 0)
		return -e->no;
	if (role != ROLE_CCCR && (pmc->escr_select || pmc->ovf))
		return err_set(
			e, EINVAL, "%s: only CCCRs have escr= and ovf=: leave them out", pmc->name);
	if (role == ROLE_ESCR ? pmc->kernel != ESCR_T0_OS || pmc->user != ESCR_T0_USR ||
					pmc->second != ESCR_T1
			      : pmc->second != 0)
		return err_set(e, EINVAL,
			"%s: ESCRs, and only they, have kernel=%#llx user=%#llx second=%#llx: "
			"correct these",
			pmc->name, ESCR_T0_OS, ESCR_T0_USR, ESCR_T1);
	return 0;
}

static int validate_pmc_role(const struct pmu *pmu, const struct pmu_pmc *pmc, struct err *e)
{
	enum role role;

	if (pmu->space != PMU_SPACE_MSR && (pmc->escr_select || pmc->ovf || pmc->second))
		return err_set(e, EINVAL,
			"%s: only MSRs have escr=, ovf= and second=: leave them out", pmc->name);
	if (pmu->space == PMU_SPACE_PERF)
		return 0;
	if (!known_role(pmu, pmc->addr, &role) || role >= ROLE_COUNTER)
		return validate_refuse_role(pmu, pmc->addr, ROLE_SELECT, pmc->name, e);
	if (role == ROLE_FIXED_CTRL && !pmc->shared)
		return err_set(e, EINVAL, "%s: it has several counters: write shared", pmc->name);
	if (validate_pmc_bits(pmu, pmc, role, e) < 0)
		return -e->no;
	return validate_meaning(pmc, known_meaning(role), e);
}

int validate_pmc(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_pmc *pmc = &pmu->pmcs[row];
	int rc = validate_name_num(pmc->name, pmc->num, row ? pmu->pmcs[row - 1].num : -1, e);
	/* Reserved bits of MSRs are 0. */
	uint64_t off = pmc->enable | (pmu->space == PMU_SPACE_IPF ? 0 : pmc->rsvd), used;

	if (rc < 0)
		return rc;
	if (pmc->def & off)
		return err_set(e, EINVAL,
			"%s: default= sets enable or reserved bits %#" PRIx64 ": clear them",
			pmc->name, pmc->def & off);
	used = (pmc->enable | pmc->kernel | pmc->user | pmc->wide) & pmc->rsvd;
	if (used)
		return err_set(e, EINVAL,
			"%s: bits %#" PRIx64 " are both used and reserved: clear them in "
					     "reserved=, or in enable=, kernel=, user= and wide=",
			pmc->name, used);
	if (pmc->node && !pmc->wide)
		return err_set(e, EINVAL,
			"%s: node needs wide=, whose events it is about: write wide=BITS, or leave "
			"node out",
			pmc->name);
	if (pmc->node && (pmc->shared || pmc->scope != PMU_SCOPE_THREAD))
		return err_set(e, EINVAL,
			"%s: node is for a selector of one counter per CPU: leave out node, or "
			"shared and scope=",
			pmc->name);
	if (pmc->gate > row)
		return err_set(e, EINVAL,
			"%s: its gate is neither this PMC nor one above: write the number of one "
			"of these",
			pmc->name);
	used = (pmc->busy | pmc->latched) & ~pmc->rsvd;
	if (used)
		return err_set(e, EINVAL,
			"%s: bits %#" PRIx64
			" of busy= or latched= must be reserved: set them in reserved=",
			pmc->name, used);
	if (pmc->with > row)
		return err_set(e, EINVAL, "%s: with= names no PMC above: write the number of one",
			pmc->name);
	if (pmc->scope >= PMU_SCOPES || pmc->scope != pmu->pmcs[pmc->gate].scope)
		return err_set(e, EINVAL,
			"%s: its scope= is not that of its gate: write the same in both lines",
			pmc->name);
	rc = validate_pmc_role(pmu, pmc, e);
	return rc < 0 ? rc : validate_pmc_distinct(pmu, row, e);
}

/* Checks field=: each bit of a shared selector belongs to one counter, and some bits of the field
 * enable the counter. */
static int validate_field(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_pmd *pmd = &pmu->pmds[row];
	const struct pmu_pmc *pmc = &pmu->pmcs[pmd->pmc];

	if (!pmd->field)
		return err_set(
			e, EINVAL, "%s: field= is 0: write its bits in %s", pmd->name, pmc->name);
	if (validate_pmc(pmu, pmd->pmc, e) < 0 || validate_pmc(pmu, pmc->gate, e) < 0)
		return 0; /* Reported as the PMC's own mistake. */
	if (!pmu->pmcs[pmc->gate].enable)
		return err_set(e, EINVAL, "%s: nothing enables it: write enable= in the line of %s",
			pmd->name, pmu->pmcs[pmc->gate].name);
	if (pmd->scope != pmc->scope)
		return err_set(e, EINVAL,
			"%s: its scope= is not that of %s: write the same in both lines", pmd->name,
			pmc->name);
	if (!pmc->shared)
		return 0;
	if (!(pmd->field & ~pmc->rsvd & pmc->enable))
		return err_set(e, EINVAL,
			"%s: field %#" PRIx64
			" of %s has no bit that enables: write one of enable=, too",
			pmd->name, pmd->field, pmc->name);
	for (unsigned i = 0; i < row; i++)
		if (pmu->pmds[i].pmc == pmd->pmc && pmu->pmds[i].field & pmd->field)
			return err_set(e, EINVAL,
				"%s: its field= in %s overlaps that of %s: write other bits (in an "
				"array, field=N<<STEP)",
				pmd->name, pmc->name, pmu->pmds[i].name);
	return 0;
}

static int validate_global_bit(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_pmd *pmd = &pmu->pmds[row];

	if (pmd->global < 0)
		return 0;
	if (!pmu->global_ctrl || pmd->global > 63)
		return err_set(e, EINVAL,
			"%s: there is no global control for its bit %d: write a line 'global', or "
			"leave global= out",
			pmd->name, pmd->global);
	for (unsigned i = 0; i < row; i++)
		if (pmu->pmds[i].global == pmd->global)
			return err_set(e, EINVAL,
				"%s: its global bit %d is also that of %s: write another (in an "
				"array, global=N+STEP)",
				pmd->name, pmd->global, pmu->pmds[i].name);
	return 0;
}

static int validate_waddr(const struct pmu *pmu, const struct pmu_pmd *pmd, struct err *e)
{
	if (known_unalias(pmu, pmd->waddr) == known_unalias(pmu, pmd->addr))
		return 0;
	return err_set(e, EINVAL,
		"%s: %#" PRIx32 " is not known as another address of %#" PRIx32
		": write the alias of this counter, or leave it out",
		pmd->name, pmd->waddr, pmd->addr);
}

int validate_pmd(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_pmd *pmd = &pmu->pmds[row];
	int rc = validate_name_num(pmd->name, pmd->num, row ? pmu->pmds[row - 1].num : -1, e);

	if (rc < 0)
		return rc;
	if (pmd->num >= PMU_FIRST_VIRTUAL)
		return err_set(e, EINVAL,
			"%s: numbers from %d on are for virtual PMDs: write a lower one", pmd->name,
			PMU_FIRST_VIRTUAL);
	if (!pmd->width || pmd->width > 64 || pmd->width < pmu->counter_width)
		return err_set(e, EINVAL,
			"%s: the width %u is not within %u..64: write width=, or with of= the "
			"width in "
			"'features'",
			pmd->name, pmd->width, pmu->counter_width ? pmu->counter_width : 1U);
	if (pmd->buffer && (pmd->width != 64 || pmd->wmask != UINT64_MAX || pmd->global >= 0))
		return err_set(e, EINVAL,
			"%s: a buffer needs a width of 64 bits, all of them in wmask=, and no "
			"global=: correct these, or leave buffer out",
			pmd->name);
	if (!pmd->wmask || pmd->wmask & (pmd->wmask + 1) || pmd->wmask & ~pmu_low_bits(pmd->width))
		return err_set(e, EINVAL,
			"%s: wmask %#" PRIx64 " is not a run of its lowest bits: write a value "
			"like 0xff, of at most %u ones",
			pmd->name, pmd->wmask, pmd->width);
	if (pmd->pmc >= pmu->npmcs)
		return err_set(e, EINVAL, "%s: its PMC does not exist: write another", pmd->name);
	rc = validate_field(pmu, row, e);
	if (rc == 0)
		rc = validate_global_bit(pmu, row, e);
	if (rc == 0)
		rc = validate_role(pmu, pmd->addr, ROLE_COUNTER, pmd->name, e);
	if (rc == 0)
		rc = validate_role(pmu, pmd->waddr, ROLE_COUNTER, pmd->name, e);
	if (rc == 0)
		rc = validate_waddr(pmu, pmd, e);
	if (rc == 0)
		rc = validate_pmd_distinct(pmu, row, e);
	return rc;
}

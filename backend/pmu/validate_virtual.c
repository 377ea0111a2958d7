// SPDX-License-Identifier: MIT
/* Rules for virtual PMDs and free-running registers. */
#include "backend/pmu/validate_i.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "backend/pmu/low_bits.h"
#include "base/text.h"

/* Whether @s is an acceptable path. Permissions are checked when the file is opened. */
static bool validate_is_path(const char *s)
{
	for (size_t i = 0; s[i]; i++)
		if (s[i] <= ' ' || s[i] > '~' || s[i] == '#')
			return false;
	return s[0] == '/';
}

int validate_virtual(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_virtual *v = &pmu->virtuals[row];
	bool file = v->kind == PMU_VIRTUAL_FILE;
	int before = row ? pmu->virtuals[row - 1].num : PMU_FIRST_VIRTUAL - 1;
	int rc = validate_name_num(v->name, v->num, before, e);

	if (rc < 0)
		return rc;
	if ((v->kind == PMU_VIRTUAL_READING) != (v->num >= PMU_FIRST_READING && !file))
		return err_set(e, EINVAL,
			"%s: readings have numbers from %d on: write one of these", v->name,
			PMU_FIRST_READING);
	if (v->kind > PMU_VIRTUAL_FILE || file != (v->num >= PMU_FIRST_FILE))
		return err_set(e, EINVAL,
			"%s: virtual PMDs of files have numbers from %d on: write one of these",
			v->name, PMU_FIRST_FILE);
	if (file && (!validate_terminated(v->path, PMU_PATH) || !validate_is_path(v->path)))
		return err_set(e, EINVAL,
			"%s: file= takes an absolute path of plain characters without blanks",
			v->name);
	return 0;
}

/* Explains that @f has a wrong unit. @units has a bit for each unit that it may have. */
static int validate_refuse_unit(const struct pmu_free *f, unsigned units, struct err *e)
{
	TEXT_CLEANUP struct text all = {0};

	for (unsigned i = 0; i < PMU_UNITS; i++)
		if (units & 1u << i)
			text_printf(&all, "%sunit=%s", all.n ? " or " : "", known_units[i]);
	return err_set(e, EINVAL, "%s: its unit is not that of %#" PRIx32 ": write %s", f->name,
		f->addr, text_ok(&all) ? all.p : "it");
}

static int validate_free_known(const struct pmu_free *f, struct err *e)
{
	const struct known_free *known = known_find_free(f->addr);
	uint64_t bits = pmu_low_bits(f->width) << f->shift;

	if (!known)
		return err_set(e, EINVAL,
			"%s: %#" PRIx32 " is not known as a register to be read: " KNOWN_HINT,
			f->name, f->addr);
	if (!(known->units & 1u << f->unit))
		return validate_refuse_unit(f, known->units, e);
	if (bits & ~known->bits)
		return err_set(e, EINVAL,
			"%s: bits %#" PRIx64 " of %#" PRIx32
			" are outside its value: choose shift= and width= within %#" PRIx64,
			f->name, bits & ~known->bits, f->addr, known->bits);
	return 0;
}

int validate_free(const struct pmu *pmu, unsigned row, struct err *e)
{
	const struct pmu_free *f = &pmu->frees[row];

	if (!validate_terminated(f->name, PMU_NAME) || !validate_is_word(f->name))
		return err_set(e, EINVAL,
			"the name of a free register is not a plain word: write letters, digits, "
			"'_', '.' and '-'");
	if (f->unit >= PMU_UNITS || f->scope >= PMU_SCOPES)
		return err_set(e, EINVAL, "%s: no such unit or scope", f->name);
	if (!f->width)
		return err_set(
			e, EINVAL, "%s: width=0: write the bits of the value, 1 to 64", f->name);
	if (f->shift + f->width > 64)
		return err_set(e, EINVAL,
			"%s: bits %u to %u do not fit in a register of 64 bits: write a lower "
			"shift= or width=",
			f->name, f->shift, f->shift + f->width - 1);
	if (pmu->space != PMU_SPACE_MSR)
		return err_set(
			e, EINVAL, "%s: free registers are MSRs: leave the line out", f->name);
	for (unsigned i = 0; i < row; i++)
		if (pmu->frees[i].addr == f->addr || !strcmp(pmu->frees[i].name, f->name))
			return err_set(e, EINVAL,
				"%s: %s above has the same name or address %#" PRIx32
				": change them, or leave the line out",
				f->name, pmu->frees[i].name, f->addr);
	return validate_free_known(f, e);
}

// SPDX-License-Identifier: MIT
/* Structures of the revision of 2008, field by field. */
#define PERFMON_ABI 2008
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_dfl_smpl.h>

typedef pfarg_pmc_t pmc_t;
typedef pfarg_pmd_t pmd_t;
typedef pfarg_msg_t msg_t;
#define NO_EMUL64  PFM_PMCFL_NO_EMUL64
#define NOTIFY     PFM_PMDFL_OVFL_NOTIFY
#define RANDOM     PFM_PMDFL_RANDOM
#define ALWAYS     (PFM_PMDFL_SMPL | PFM_PMDFL_SWITCH)
#define SIZE(v, n) ((size_t)(n) * sizeof(*(v)))

#define write_pmcs(fd, v, n) pfm_write_pmcs(fd, v, SIZE(v, n))
#define write_pmds(fd, v, n) pfm_write_pmds(fd, v, SIZE(v, n))
#define read_pmds(fd, v, n)  pfm_read_pmds(fd, v, SIZE(v, n))
#include "tests/lib/fields.h"

#define create_evtsets(fd, v, n)  pfm_create_evtsets(fd, v, SIZE(v, n))
#define getinfo_evtsets(fd, v, n) pfm_getinfo_evtsets(fd, v, SIZE(v, n))
#include "tests/lib/fields_sets.h"

static int make(unsigned flags)
{
	return FD(pfm_create_context((int)flags));
}

static int make_sampling(size_t size)
{
	pfm_dfl_smpl_arg_t arg = {.buf_size = size, .buf_flags = PFM_DFL_SMPL_IIP_HDR};

	return FD(pfm_create_context(PFM_FL_SMPL_FMT, PFM_DFL_SMPL_NAME, &arg, sizeof(arg)));
}

static bool set_seed(pmd_t *pmd, uint32_t seed)
{
	(void)pmd;
	(void)seed;
	return false;
}

/* It has no set for that. */
static uint16_t load(int fd, uint16_t set)
{
	(void)set;
	OK(pfm_load_context(fd, 0, CPU));
	return 0;
}

static void start(int fd, uint16_t set)
{
	OK(pfm_start(fd, PFM_STARTFL_SET, set));
}

static void stop(int fd)
{
	OK(pfm_stop(fd, 0));
}

/* What no flag says is in use is not looked at. */
static void without_flags(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	char line[128];
	pmc_t pmc;
	pmd_t pmd;

	fill(1, 0, &pmc, &pmd);
	pmd.reg_flags = 0;
	OK(write_both(fd, &pmc, &pmd));
	snprintf(line, sizeof(line),
		"pmd1 %" PRIu64 " long=%" PRIu64 " short=%" PRIu64 " reset=0,3", distinct(1, 1),
		distinct(1, 2), distinct(1, 3));
	HAS(line, "ctx/%lu/regs", the_context());
	close(fd);
}

int main(void)
{
	fields();
	fields_of_sets();
	without_flags();
	return 0;
}

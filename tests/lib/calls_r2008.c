// SPDX-License-Identifier: MIT
/* The revision of July 2008. */
#define PERFMON_ABI 2008
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_dfl_smpl.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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
#define restart(fd)          pfm_start(fd, PFM_STARTFL_RESTART)
#define unload(fd)           pfm_unload_context(fd, 0)
#include "tests/lib/fields.h"

#define create_evtsets(fd, v, n)  pfm_create_evtsets(fd, v, SIZE(v, n))
#define delete_evtsets(fd, v, n)  pfm_delete_evtsets(fd, v, SIZE(v, n))
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

/* The call has no argument for the set. */
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

static void cannot_load_start_stop(int fd, int error)
{
	FAILS(pfm_load_context(fd, 0, 0), error);
	FAILS(pfm_start(fd, 0), error);
	FAILS(pfm_start(fd, PFM_STARTFL_SET, 0), error);
	FAILS(pfm_stop(fd, 0), error);
}

/* Fields without their flag are ignored. */
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

static void creating(void)
{
	const pfm_dfl_smpl_hdr_t *hdr;
	pfm_dfl_smpl_arg_t arg = {0};
	int fd;

	FAILS(pfm_create_context(0x100), EINVAL);
	FAILS(pfm_create_context(PFM_FL_NOTIFY_BLOCK | PFM_FL_SYSTEM_WIDE), EINVAL);
	FAILS(pfm_create_context(PFM_FL_SMPL_FMT, NOWHERE, &arg, sizeof(arg)), EFAULT);
	FAILS(pfm_create_context(PFM_FL_SMPL_FMT, "default", NOWHERE, sizeof(arg)), EFAULT);
	FAILS(pfm_create_context(PFM_FL_SMPL_FMT, "unknown", &arg, sizeof(arg)), EINVAL);
	FAILS(pfm_create_context(PFM_FL_SMPL_FMT, "default", &arg, (size_t)1 << 20), E2BIG);
	arg.buf_size = 8192;
	fd = FD(pfm_create_context(
		PFM_FL_SMPL_FMT | PFM_FL_OVFL_NO_MSG, "default", &arg, sizeof(arg)));
	hdr = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	IS(hdr != MAP_FAILED, 1);
	IS(hdr->hdr_buf_size, 8192);
	close(fd);
}

static void states(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);

	run_on(0);
	FAILS(pfm_start(fd, PFM_STARTFL_RESTART), EBUSY);
	FAILS(pfm_stop(fd, 0), EINVAL);
	OK(pfm_load_context(fd, 0, 0));
	OK(pfm_start(fd, 0));
	OK(pfm_stop(fd, 0));
	OK(pfm_start(fd, PFM_STARTFL_SET, 0));
	FAILS(pfm_start(fd, PFM_STARTFL_SET, 3), EINVAL);
	FAILS(pfm_start(fd, PFM_STARTFL_SET | PFM_STARTFL_RESTART, 0), EINVAL);
	FAILS(pfm_start(fd, PFM_STARTFL_RESTART), EBUSY);
	FAILS(pfm_start(fd, 4), EINVAL);
	FAILS(pfm_stop(fd, 1), EINVAL);
	FAILS(pfm_unload_context(fd, 1), EINVAL);
	run_on(1);
	FAILS(pfm_stop(fd, 0), EBUSY);
	run_on(0);
	OK(pfm_unload_context(fd, 0));
	FAILS(pfm_load_context(fd, 1, 0), EINVAL);
	FAILS(pfm_load_context(fd, 0, 1), EINVAL);
	close(fd);
}

static void vectors(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_pmc_t pmcs[2] = {0};
	pfarg_pmd_t pmds[2] = {0};
	static struct pfarg_setdesc descs[65];

	FAILS(pfm_write_pmcs(fd, pmcs, sizeof(pmcs) - 1), EINVAL);
	FAILS(pfm_read_pmds(fd, pmds, 8), EINVAL);
	FAILS(pfm_read_pmds(fd, NOWHERE, sizeof(pmds)), EFAULT);
	FAILS(pfm_write_pmcs(fd, NOWHERE, sizeof(pmcs)), EFAULT);
	FAILS(pfm_write_pmds(fd, NOWHERE, sizeof(pmds)), EFAULT);
	FAILS(pfm_create_evtsets(fd, descs, sizeof(descs[0]) - 8), EINVAL);
	FAILS(pfm_read_pmds(fd, pmds, sizeof(pmds[0]) << 20), E2BIG);
	static pfarg_pmc_t many[86];
	FAILS(pfm_write_pmcs(fd, many, sizeof(many)), E2BIG); /* over config/arg_size_max */
	static pfarg_pmd_t many_pmds[24];
	FAILS(pfm_write_pmds(fd, many_pmds, sizeof(many_pmds)), E2BIG);
	FAILS(pfm_read_pmds(fd, many_pmds, sizeof(many_pmds)), E2BIG);
	FAILS(pfm_create_evtsets(fd, descs, sizeof(descs)), E2BIG);
	FAILS(pfm_delete_evtsets(fd, descs, sizeof(descs)), E2BIG);
	static struct pfarg_setinfo infos[22];
	FAILS(pfm_getinfo_evtsets(fd, infos, sizeof(infos)), E2BIG);
	FAILS(pfm_getinfo_evtsets(fd, infos, SIZE_MAX / sizeof(*infos) * sizeof(*infos)), E2BIG);
	OK(pfm_read_pmds(fd, pmds, 0));
	pmcs[1].reg_num = 300;
	FAILS(pfm_write_pmcs(fd, pmcs, sizeof(pmcs)), EINVAL);
	IS(pmcs[1].reg_flags, PFM_REG_RETFL_NOTAVAIL);
	pmcs[1].reg_num = 1;
	pmcs[1].reg_flags = 2;
	FAILS(pfm_write_pmcs(fd, pmcs, sizeof(pmcs)), EINVAL);
	IS(pmcs[1].reg_flags & PFM_REG_RETFL_MASK, PFM_REG_RETFL_EINVAL);
	pmcs[1].reg_flags = PFM_PMCFL_NO_EMUL64;
	OK(pfm_write_pmcs(fd, pmcs, sizeof(pmcs)));
	pmds[1].reg_flags = 0x10;
	FAILS(pfm_write_pmds(fd, pmds, sizeof(pmds)), EINVAL);
	IS(pmds[1].reg_flags & PFM_REG_RETFL_MASK, PFM_REG_RETFL_EINVAL);
	/* Fields without their flag are ignored. */
	pmds[1].reg_flags = 0;
	pmds[1].reg_smpl_pmds[3] = ~0ULL;
	OK(pfm_write_pmds(fd, pmds, sizeof(pmds)));
	pmds[1].reg_flags = PFM_PMDFL_SMPL;
	FAILS(pfm_write_pmds(fd, pmds, sizeof(pmds)), EINVAL);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 1) {
		fields();
		fields_of_sets();
		without_flags();
		return 0;
	}
	counting(strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0));
	states();
	vectors();
	creating();
	return 0;
}

// SPDX-License-Identifier: MIT
/* The calls of perfmon2 2.6 to 2.81: what they do, field by field, and each error. */
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_dfl_smpl.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef pfarg_pmc_t pmc_t;
typedef pfarg_pmd_t pmd_t;
typedef pfarg_msg_t msg_t;
#define NO_EMUL64 PFM_REGFL_NO_EMUL64
#define TARGET    CPU
#include "tests/lib/fields_calls.h"

#include "tests/lib/fields_sets.h"

static int make(unsigned flags)
{
	pfarg_ctx_t ctx = {.ctx_flags = flags};

	return FD(pfm_create_context(&ctx, NULL, NULL, 0));
}

static int make_sampling(size_t size)
{
	char name[] = PFM_DFL_SMPL_NAME;
	pfm_dfl_smpl_arg_t arg = {.buf_size = size, .buf_flags = PFM_DFL_SMPL_IIP_HDR};
	pfarg_ctx_t ctx = {0};

	return FD(pfm_create_context(&ctx, name, &arg, sizeof(arg)));
}

static char default_format[] = PFM_DFL_SMPL_NAME;
static void load_on(int fd, uint32_t cpu)
{
	pfarg_load_t load = {.load_pid = cpu};

	OK(pfm_load_context(fd, &load));
}

static void count_instructions(int fd)
{
	pfarg_pmc_t pmc = {.reg_value = INSTRUCTIONS};

	OK(pfm_write_pmcs(fd, &pmc, 1));
}

static void creating(void)
{
	pfm_dfl_smpl_arg_t arg = {0};
	pfarg_ctx_t ctx = {0};
	char unknown[] = "unknown", nameless[] = "";

	FAILS(pfm_create_context(NULL, NULL, NULL, 0), EFAULT);
	FAILS(pfm_create_context(NOWHERE, NULL, NULL, 0), EFAULT);
	FAILS(pfm_create_context(&ctx, unknown, NULL, 0), EINVAL);
	FAILS(pfm_create_context(&ctx, nameless, NULL, 0), EINVAL);
	FAILS(pfm_create_context(&ctx, NOWHERE, NULL, 0), EFAULT);
	FAILS(pfm_create_context(&ctx, default_format, NOWHERE, sizeof(arg)), EFAULT);
	FAILS(pfm_create_context(&ctx, default_format, &arg, sizeof(arg)), EINVAL);
	FAILS(pfm_create_context(&ctx, default_format, &arg, 1 << 20), E2BIG);
	FAILS(pfm_create_context(&ctx, NULL, &arg, sizeof(arg)), EINVAL);
	ctx.ctx_flags = PFM_FL_NOTIFY_BLOCK | PFM_FL_SYSTEM_WIDE;
	FAILS(pfm_create_context(&ctx, NULL, NULL, 0), EINVAL);
	ctx.ctx_flags = 0x40;
	FAILS(pfm_create_context(&ctx, NULL, NULL, 0), EINVAL);
	ctx.ctx_flags = PFM_FL_MAP_SETS;
	FAILS(pfm_create_context(&ctx, NULL, NULL, 0), EINVAL);
	IS(contexts(), 0);
	arg.buf_size = 1ULL << 40;
	CLEAR(ctx);
	FAILS(pfm_create_context(&ctx, default_format, &arg, sizeof(arg)), ENOMEM);
}

static void vectors(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_pmc_t pmcs[3] = {0};
	pfarg_pmd_t pmds[3] = {0};

	FAILS(pfm_write_pmcs(fd, pmcs, -1), EINVAL);
	OK(pfm_write_pmcs(fd, pmcs, 0));
	OK(pfm_write_pmcs(fd, NULL, 0));
	FAILS(pfm_write_pmcs(fd, pmcs, 1 << 20), E2BIG);
	FAILS(pfm_write_pmds(fd, NOWHERE, 1), EFAULT);
	FAILS(pfm_read_pmds(fd, NOWHERE, 1), EFAULT);
	FAILS(pfm_write_pmcs(fd, NOWHERE, 1), EFAULT);
	/* Over config/arg_size_max, which is 4096. */
	static pfarg_pmd_t many[24];
	FAILS(pfm_write_pmds(fd, many, 24), E2BIG);
	FAILS(pfm_read_pmds(fd, many, 24), E2BIG);
	static pfarg_setinfo_t infos[22];
	FAILS(pfm_getinfo_evtsets(fd, infos, 22), E2BIG);
	static pfarg_setdesc_t descs[65];
	FAILS(pfm_create_evtsets(fd, descs, 65), E2BIG);
	FAILS(pfm_delete_evtsets(fd, descs, 65), E2BIG);
	FAILS(pfm_create_evtsets(fd, descs, -1), EINVAL);
	FAILS(pfm_getinfo_evtsets(fd, infos, -1), EINVAL);
	FAILS(pfm_delete_evtsets(fd, descs, -1), EINVAL);
	FAILS(pfm_write_pmds(fd, pmds, -1), EINVAL);
	FAILS(pfm_read_pmds(fd, pmds, -1), EINVAL);

	/* More than the memory has room for. */
	FAILS(pfm_write_pmcs(fd, pmcs, INT_MAX), EINVAL);
	FAILS(pfm_write_pmds(fd, pmds, INT_MAX), EINVAL);
	FAILS(pfm_read_pmds(fd, pmds, INT_MAX), EINVAL);
	FAILS(pfm_delete_evtsets(fd, NULL, INT_MAX), EINVAL);

	/* Elements before the wrong one are executed. Its flags say why. */
	pmcs[0].reg_value = INSTRUCTIONS;
	pmcs[1].reg_num = 300;
	pmcs[2].reg_num = 1;
	pmcs[2].reg_value = INSTRUCTIONS;
	FAILS(pfm_write_pmcs(fd, pmcs, 3), EINVAL);
	IS(pmcs[1].reg_flags, PFM_REG_RETFL_NOTAVAIL);
	IS(pmcs[2].reg_flags, 0);
	IS(number_in("ctx/%lu/pmc/0", the_context()), INSTRUCTIONS);
	IS(number_in("ctx/%lu/pmc/1", the_context()) == INSTRUCTIONS, 0);
	pmds[0].reg_set = 7;
	FAILS(pfm_read_pmds(fd, pmds, 1), EINVAL);
	IS(pmds[0].reg_flags, PFM_REG_RETFL_NOSET);
	pmds[0].reg_set = 0;
	pmds[0].reg_flags = 0x10;
	FAILS(pfm_write_pmds(fd, pmds, 1), EINVAL);
	IS(pmds[0].reg_flags & PFM_REG_RETFL_EINVAL, PFM_REG_RETFL_EINVAL);
	close(fd);
}

/* The limits: config/arg_size_max, and 16383 bytes of a command. */
static void longer_vectors(void)
{
	static pfarg_pmd_t pmds[94];
	int fd = make(PFM_FL_SYSTEM_WIDE);

	for (uint16_t i = 0; i < 94; i++) {
		pmds[i].reg_num = i % 3;
		pmds[i].reg_value = i;
	}
	write_to("8192", "config/arg_size_max");
	OK(pfm_write_pmds(fd, pmds, 46));
	IS(number_in("ctx/%lu/pmd/0", the_context()), 45);
	FAILS(pfm_write_pmds(fd, pmds, 47), E2BIG);
	FAILS(pfm_read_pmds(fd, pmds, 47), E2BIG);
	write_to("65536", "config/arg_size_max");
	OK(pfm_write_pmds(fd, pmds, 93));
	FAILS(pfm_write_pmds(fd, pmds, 94), E2BIG);
	FAILS(pfm_read_pmds(fd, pmds, 94), E2BIG);
	OK(pfm_read_pmds(fd, pmds, 93));
	for (int i = 0; i < 93; i++)
		IS(pmds[i].reg_value, 90 + i % 3);
	write_to("4096", "config/arg_size_max");
	close(fd);
}

/* Vectors that are only written may be read-only. */
static void constants(void)
{
	struct {
		pfarg_pmc_t pmc;
		pfarg_pmd_t pmd;
		pfarg_setdesc_t desc;
	} *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = make(PFM_FL_SYSTEM_WIDE);

	IS(c != MAP_FAILED, 1);
	c->pmc.reg_value = INSTRUCTIONS;
	c->pmd.reg_value = 7;
	c->desc.set_id = 3;
	OK(mprotect(c, sizeof(*c), PROT_READ));
	OK(pfm_write_pmcs(fd, &c->pmc, 1));
	OK(pfm_write_pmds(fd, &c->pmd, 1));
	OK(pfm_create_evtsets(fd, &c->desc, 1));
	IS(number_in("ctx/%lu/pmd/0", the_context()), 7);
	OK(pfm_delete_evtsets(fd, &c->desc, 1));
	FAILS(pfm_read_pmds(fd, &c->pmd, 1), EFAULT);
	OK(munmap(c, sizeof(*c)));
	close(fd);
}

/* If a part of a vector is not in memory, no element is executed. */
static void half_there(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *room =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pfarg_pmd_t *pmds = (pfarg_pmd_t *)(room + page) - 8;
	int fd = make(PFM_FL_SYSTEM_WIDE);

	IS(room != MAP_FAILED, 1);
	OK(munmap(room + page, page));
	for (int i = 0; i < 8; i++)
		pmds[i].reg_value = 9;
	FAILS(pfm_write_pmds(fd, pmds, 16), EFAULT);
	IS(number_in("ctx/%lu/pmd/0", the_context()), 0);
	OK(pfm_write_pmds(fd, pmds, 8));
	IS(number_in("ctx/%lu/pmd/0", the_context()), 9);
	OK(munmap(room, page));
	close(fd);
}

/* Flags that only the commands or other versions have. */
static void other_flags(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_pmd_t pmds[10] = {0};

	for (size_t i = 0; i < 10; i++)
		pmds[i].reg_value = 20 + i;
	pmds[9].reg_flags = 0x100;
	FAILS(pfm_write_pmds(fd, pmds, 10), EINVAL);
	IS(pmds[8].reg_flags, 0);
	IS(pmds[9].reg_flags & PFM_REG_RETFL_MASK, PFM_REG_RETFL_EINVAL);
	IS(number_in("ctx/%lu/pmd/0", the_context()), 28);
	close(fd);
}

/* Variables on the stack, of which a program of the time fills in what a kernel looks at. */
static void garbage_in_reserved_fields(void)
{
	pfarg_ctx_t ctx;
	pfarg_pmc_t pmc;
	pfarg_pmd_t pmd;
	pfarg_setdesc_t desc;
	pfarg_load_t load;
	pfarg_start_t start;
	pfarg_setinfo_t info = {0};
	int fd;

	GARBAGE(ctx);
	ctx.ctx_flags = PFM_FL_SYSTEM_WIDE;
	fd = FD(pfm_create_context(&ctx, NULL, NULL, 0));
	GARBAGE(desc);
	desc.set_id = 1;
	desc.set_flags = 0;
	OK(pfm_create_evtsets(fd, &desc, 1));
	OK(pfm_delete_evtsets(fd, &desc, 1));
	GARBAGE(pmc);
	pmc.reg_num = pmc.reg_set = 0;
	pmc.reg_flags = 0;
	pmc.reg_value = INSTRUCTIONS;
	OK(pfm_write_pmcs(fd, &pmc, 1));
	CLEAR(pmd);
	memset(pmd.reg_reserved2, 0xaa, sizeof(pmd.reg_reserved2));
	OK(pfm_write_pmds(fd, &pmd, 1));
	GARBAGE(load);
	load.load_pid = 0;
	load.load_set = 0;
	run_on(0);
	OK(pfm_load_context(fd, &load));
	GARBAGE(start);
	start.start_set = 0;
	OK(pfm_start(fd, &start));
	/* The set that load has activated goes on: no other run. */
	OK(pfm_start(fd, &start));
	OK(pfm_getinfo_evtsets(fd, &info, 1));
	IS(info.set_runs, 1);
	advance(1000000);
	OK(pfm_stop(fd));
	GARBAGE(pmd);
	pmd.reg_num = pmd.reg_set = 0;
	OK(pfm_read_pmds(fd, &pmd, 1));
	IS(pmd.reg_value > 0 && pmd.reg_value < 1ULL << 32, 1);
	close(fd);
}

static void states(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE), other = make(PFM_FL_SYSTEM_WIDE);
	pfarg_load_t load = {.load_set = 3};
	pfarg_start_t start = {.start_set = 3};
	pfarg_setdesc_t desc = {0};

	run_on(0);
	FAILS(pfm_start(fd, NULL), EINVAL);
	FAILS(pfm_stop(fd), EINVAL);
	FAILS(pfm_restart(fd), EBUSY);
	FAILS(pfm_load_context(fd, NOWHERE), EFAULT);
	FAILS(pfm_load_context(fd, &load), EINVAL);
	load.load_set = 0;
	load.load_pid = 1; /* not the CPU that the caller runs on */
	FAILS(pfm_load_context(fd, &load), EINVAL);
	load.load_pid = 0;
	OK(pfm_load_context(fd, &load));
	FAILS(pfm_load_context(fd, &load), EBUSY);
	FAILS(pfm_load_context(other, &load), EBUSY);
	FAILS(pfm_restart(fd), EBUSY);
	FAILS(pfm_create_evtsets(fd, &desc, 1), EBUSY);
	FAILS(pfm_start(fd, NOWHERE), EFAULT);
	FAILS(pfm_start(fd, &start), EINVAL);
	start.start_set = 0;
	OK(pfm_start(fd, &start));
	OK(pfm_start(fd, NULL));
	OK(pfm_stop(fd));
	OK(pfm_stop(fd));
	close(fd);
	close(other);
}

static void elsewhere(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_pmc_t pmc = {0};
	pfarg_pmd_t pmd = {0};
	pfarg_setinfo_t info = {0};

	run_on(0);
	load_on(fd, 0);
	run_on(1);
	FAILS(pfm_write_pmcs(fd, &pmc, 1), EBUSY);
	FAILS(pfm_write_pmds(fd, &pmd, 1), EBUSY);
	FAILS(pfm_read_pmds(fd, &pmd, 1), EBUSY);
	FAILS(pfm_start(fd, NULL), EBUSY);
	FAILS(pfm_stop(fd), EBUSY);
	FAILS(pfm_restart(fd), EBUSY);
	FAILS(pfm_unload_context(fd), EBUSY);
	OK(pfm_getinfo_evtsets(fd, &info, 1));
	run_on(0);
	OK(pfm_unload_context(fd));
	OK(pfm_unload_context(fd));
	run_on(1);
	OK(pfm_write_pmcs(fd, &pmc, 1));
	close(fd);
}

/* The timeout is used only with TIME_SWITCH, and has a maximum. */
static void timeouts(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_setdesc_t desc = {.set_id = 1, .set_timeout = UINT64_MAX};

	OK(pfm_create_evtsets(fd, &desc, 1));
	IS(desc.set_timeout == UINT64_MAX, 1);
	IS(number_in("ctx/%lu/set/1/timeout_ns", the_context()), 0);
	desc.set_flags = PFM_SETFL_OVFL_SWITCH;
	OK(pfm_create_evtsets(fd, &desc, 1));
	desc.set_flags = PFM_SETFL_TIME_SWITCH;
	FAILS(pfm_create_evtsets(fd, &desc, 1), EINVAL);
	IS(desc.set_flags, PFM_SETFL_TIME_SWITCH | PFM_REG_RETFL_EINVAL);
	desc.set_timeout = 0;
	FAILS(pfm_create_evtsets(fd, &desc, 1), EINVAL);
	desc.set_timeout = 1;
	OK(pfm_create_evtsets(fd, &desc, 1));
	IS(desc.set_timeout, number_in("ctx/%lu/set/1/timeout_ns", the_context()));
	close(fd);
}

static void sampling(void)
{
	pfm_dfl_smpl_arg_t arg = {.buf_size = 8192};
	const pfm_dfl_smpl_hdr_t *hdr;
	pfarg_ctx_t ctx = {.ctx_flags = PFM_FL_SYSTEM_WIDE};
	pfarg_pmd_t pmd = {.reg_flags = PFM_REGFL_OVFL_NOTIFY};
	pfarg_msg_t msg;
	int fd, bare;
	void *part;

	fd = FD(pfm_create_context(&ctx, default_format, &arg, sizeof(arg)));
	hdr = mmap(NULL, arg.buf_size, PROT_READ, MAP_PRIVATE, fd, 0);
	IS(hdr != MAP_FAILED, 1);
	IS(hdr->hdr_version, PFM_DFL_SMPL_VERSION);
	IS(hdr->hdr_buf_size, 8192);
	NO_MAP(arg.buf_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	NO_MAP(arg.buf_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NO_MAP(arg.buf_size + 1, PROT_READ, MAP_PRIVATE, fd, 0);
	NO_MAP(4096, PROT_READ, MAP_PRIVATE, fd, 4096);
	/* Kernels allowed a part, and another mapping. */
	part = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	IS(part != MAP_FAILED, 1);
	OK(munmap(part, 4096));
	bare = make(PFM_FL_SYSTEM_WIDE);
	NO_MAP(4096, PROT_READ, MAP_PRIVATE, bare, 0);
	close(bare);
	run_on(0);
	count_instructions(fd);
	pmd.reg_value = pmd.reg_long_reset = pmd.reg_short_reset = (uint64_t)-10000000;
	pmd.reg_smpl_pmds[0] = 2;
	OK(pfm_write_pmds(fd, &pmd, 1));
	load_on(fd, 0);
	OK(pfm_start(fd, NULL));
	advance(2000000000);
	IS(read(fd, &msg, sizeof(msg)), sizeof(msg));
	IS(hdr->hdr_overflows, 1);
	const pfm_dfl_smpl_entry_t *entry = (const pfm_dfl_smpl_entry_t *)(hdr + 1);
	IS(hdr->hdr_cur_offs, sizeof(*hdr) + hdr->hdr_count * (sizeof(*entry) + 8));
	IS(entry->ovfl_pmd, 0);
	IS(entry->cpu, 0);
	IS(entry->last_reset_val, -10000000);
	OK(pfm_restart(fd));
	IS(hdr->hdr_count, 0);
	OK(pfm_restart(fd)); /* the format can, while monitoring runs */
	OK(pfm_stop(fd));
	OK(pfm_restart(fd)); /* and while it is stopped */
	close(fd);
}

/* Each overflow has an entry, as in kernels, although one poll finds hundreds of them. */
static void an_entry_for_each_overflow(void)
{
	pfm_dfl_smpl_arg_t arg = {.buf_size = 1 << 20};
	pfarg_ctx_t ctx = {.ctx_flags = PFM_FL_SYSTEM_WIDE};
	pfarg_pmd_t pmd = {.reg_flags = PFM_REGFL_OVFL_NOTIFY};
	const pfm_dfl_smpl_entry_t *entry;
	const pfm_dfl_smpl_hdr_t *hdr;
	pfarg_pmd_t end = {0};
	char line[96];
	int fd;

	fd = FD(pfm_create_context(&ctx, default_format, &arg, sizeof(arg)));
	hdr = mmap(NULL, arg.buf_size, PROT_READ, MAP_PRIVATE, fd, 0);
	IS(hdr != MAP_FAILED, 1);
	entry = (const pfm_dfl_smpl_entry_t *)(hdr + 1);
	run_on(0);
	count_instructions(fd);
	pmd.reg_value = pmd.reg_long_reset = pmd.reg_short_reset = (uint64_t)-10000;
	OK(pfm_write_pmds(fd, &pmd, 1));
	load_on(fd, 0);
	OK(pfm_start(fd, NULL));
	advance(20000000);
	OK(pfm_stop(fd));
	OK(pfm_read_pmds(fd, &end, 1));
	IS(hdr->hdr_count > 1000, 1);
	for (uint64_t i = 0; i < hdr->hdr_count; i++)
		IS(entry[i].ovfl_count, 1);
	IS(hdr->hdr_cur_offs, sizeof(*hdr) + hdr->hdr_count * sizeof(*entry));
	snprintf(line, sizeof(line),
		"pmd0 overflows=%llu last_reset=18446744073709541616 thresh_left=0",
		(unsigned long long)hdr->hdr_count);
	HAS(line, "ctx/%lu/set/0/overflows", the_context());
	OK(munmap((void *)(uintptr_t)hdr, arg.buf_size));
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 1) {
		fields();
		fields_of_sets();
		return 0;
	}
	creating();
	vectors();
	longer_vectors();
	constants();
	half_there();
	other_flags();
	garbage_in_reserved_fields();
	counting(strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0));
	states();
	elsewhere();
	timeouts();
	sampling();
	an_entry_for_each_overflow();
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * sampling CPU PMC0-VALUE PERIOD SAMPLES: takes at least SAMPLES samples of a CPU, one every PERIOD
 * events, with the default format, and prints process and ip. It reads the buffer when it is full.
 */
#define _GNU_SOURCE 1
#include <stdio.h>

#include <perfmon/perfmon.h>
#include <perfmon/perfmon_dfl_smpl.h>

#include "example.h"

enum { BUFFER = 16384 };

/* All samples have the same size: one PMD is sampled, and no others are recorded with it. */
static uint64_t print_samples(const pfm_dfl_smpl_hdr_t *hdr)
{
	const pfm_dfl_smpl_entry_t *entry = (const pfm_dfl_smpl_entry_t *)(hdr + 1);

	for (uint64_t i = 0; i < hdr->hdr_count; i++, entry++)
		printf("pid %u tid %u ip 0x%llx cpu %u pmd %u\n", entry->tgid, entry->pid,
			(unsigned long long)entry->ip, entry->cpu, entry->ovfl_pmd);
	return hdr->hdr_count;
}

static int start(int cpu, uint64_t value, uint64_t period)
{
	static char name[] = PFM_DFL_SMPL_NAME;
	pfm_dfl_smpl_arg_t arg = {0};
	pfarg_ctx_t ctx = {0};
	pfarg_pmc_t pmc = {0};
	pfarg_pmd_t pmd = {0};
	pfarg_load_t load = {0};
	int fd;

	arg.buf_size = BUFFER;
	ctx.ctx_flags = PFM_FL_SYSTEM_WIDE;
	fd = pfm_create_context(&ctx, name, &arg, sizeof(arg));
	if (fd < 0)
		err(1, "pfm_create_context");
	pmc.reg_value = value;
	pmd.reg_flags = PFM_REGFL_OVFL_NOTIFY;
	pmd.reg_value = pmd.reg_long_reset = pmd.reg_short_reset = -period;
	load.load_pid = (uint32_t)cpu;
	if (pfm_write_pmcs(fd, &pmc, 1) < 0 || pfm_write_pmds(fd, &pmd, 1) < 0 ||
		pfm_load_context(fd, &load) < 0 || pfm_start(fd, NULL) < 0)
		err(1, "starting");
	return fd;
}

int main(int argc, char **argv)
{
	const pfm_dfl_smpl_hdr_t *hdr;
	uint64_t seen = 0, wanted;
	pfarg_msg_t msg;
	int fd;

	if (argc != 5)
		errx(2, "usage: sampling CPU PMC0-VALUE PERIOD SAMPLES");
	wanted = number(argv[4]);
	pin((int)number(argv[1]));
	fd = start((int)number(argv[1]), number(argv[2]), number(argv[3]));
	hdr = mmap(NULL, BUFFER, PROT_READ, MAP_PRIVATE, fd, 0);
	if (hdr == MAP_FAILED)
		err(1, "mapping the buffer");
	while (seen < wanted) {
		if (read(fd, &msg, sizeof(msg)) != sizeof(msg))
			err(1, "waiting for a full buffer");
		if (msg.type != PFM_MSG_OVFL)
			continue;
		seen += print_samples(hdr);
		if (pfm_restart(fd) < 0)
			err(1, "pfm_restart");
	}
	close(fd);
	return 0;
}

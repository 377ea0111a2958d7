// SPDX-License-Identifier: MIT
/*
 * The specification's own examples, with the commands, register numbers and values that it prints,
 * on the simulated Itanium 2. Each function says which section it is of. Model time passes by
 * advance() alone, so that all counts are exact. Loops of 24 instructions execute on each CPU, at
 * user level every 10 ns: 30 cycles, 4 loads, 10 no-ops.
 */
#define PERFMON_ABI 6
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_default_smpl.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perfmonfs/smpl_correlate.h"
#include "perfmonfs/smpl_nway.h"
#include "tests/lib/check.h"

enum {
	USER = 0x8, /* PMC.plm */
	RETIRED = 0x08 << 8 | USER,
	CYCLES = 0x12 << 8 | USER,
	NOPS = 0x50 << 8 | USER,
	LOADS = 0xcd << 8 | USER,
};

static int make(void)
{
	pfarg_ctx_t ctx = {.ctx_flags = PFM_FL_SYSTEM_WIDE};

	OK(perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1));
	return ctx.ctx_fd;
}

static void write_pmc(int fd, unsigned num, unsigned set, uint64_t value, uint32_t flags)
{
	pfarg_pmc_t pmc = {.reg_num = (uint16_t)num,
		.reg_set = (uint16_t)set,
		.reg_value = value,
		.reg_flags = flags};

	OK(perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
}

static void write_period(
	int fd, unsigned num, unsigned set, uint64_t value, uint64_t reset, uint64_t thresh)
{
	pfarg_pmd_t pmd = {.reg_num = (uint16_t)num,
		.reg_set = (uint16_t)set,
		.reg_value = value,
		.reg_long_reset = reset,
		.reg_short_reset = reset,
		.reg_ovflsw_thres = thresh};

	OK(perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1));
}

static pfarg_pmd_t read_pmd(int fd, unsigned num, unsigned set, uint32_t flags)
{
	pfarg_pmd_t pmd = {.reg_num = (uint16_t)num, .reg_set = (uint16_t)set, .reg_flags = flags};

	OK(perfmonctl(fd, PFM_READ_PMDS, &pmd, 1));
	return pmd;
}

static uint64_t count(int fd, unsigned num, unsigned set)
{
	return read_pmd(fd, num, set, 0).reg_value;
}

static void run(int fd)
{
	pfarg_load_t load = {.load_pid = gettid()};

	OK(perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1));
	OK(perfmonctl(fd, PFM_START, NULL, 0));
}

static void add_set(int fd, unsigned id, uint32_t flags, unsigned next)
{
	pfarg_setdesc_t set = {
		.set_id = (uint16_t)id, .set_flags = flags, .set_id_next = (uint16_t)next};

	OK(perfmonctl(fd, PFM_CREATE_EVTSETS, &set, 1));
}

static pfarg_setinfo_t set_info(int fd, unsigned id)
{
	pfarg_setinfo_t info = {.set_id = (uint16_t)id};

	OK(perfmonctl(fd, PFM_GETINFO_EVTSETS, &info, 1));
	return info;
}

/* 3.1.13, 3.1.14, 5.1 and table 5.1. */
static void mappings(void)
{
	for (unsigned num = 0; num < 272; num++) {
		pfarg_pmcinfo_t pmc = {.reg_num = (uint16_t)num};

		if ((num > 0 && num < 4) || (num > 15 && num < 256)) {
			FAILS(perfmonctl(0, PFM_GETINFO_PMCS, &pmc, 1), EINVAL);
			continue;
		}
		OK(perfmonctl(0, PFM_GETINFO_PMCS, &pmc, 1));
		IS(pmc.reg_type, num < 256   ? PFM_REG_TYPE_PMC
				 : num < 264 ? PFM_REG_TYPE_IBR
					     : PFM_REG_TYPE_DBR);
		IS(pmc.reg_index, num < 256 ? num : (num - 256) % 8);
	}
	for (unsigned num = 0; num < 18; num++) {
		pfarg_pmdinfo_t pmd = {.reg_num = (uint16_t)num};

		OK(perfmonctl(0, PFM_GETINFO_PMDS, &pmd, 1));
		IS(pmd.reg_type, PFM_REG_TYPE_PMD);
		IS(pmd.reg_index, num);
	}
}

/* 3.1.2: a sample each million cycles, of the instructions since the sample before: PMC4/PMD4,
 * PMC5/PMD5, reg_smpl_pmds = reg_reset_pmds = 0x20. */
static void reset_pmds(void)
{
	struct {
		pfarg_ctx_t ctx;
		pfm_default_smpl_arg_t arg;
	} both = {.ctx.ctx_flags = PFM_FL_SYSTEM_WIDE};
	const pfm_uuid_t dfl = PFM_DEFAULT_SMPL_UUID;
	pfarg_pmc_t pmcs[2] = {
		{.reg_num = 4,
			.reg_value = CYCLES,
			.reg_smpl_pmds = {0x20},
			.reg_reset_pmds = {0x20}},
		{.reg_num = 5, .reg_value = RETIRED},
	};
	pfm_default_smpl_hdr_t *hdr;
	const char *sample;
	int fd;

	memcpy(both.ctx.ctx_smpl_buf_id, dfl, sizeof(dfl));
	both.arg.buf_size = 8192;
	OK(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1));
	fd = both.ctx.ctx_fd;
	OK(perfmonctl(fd, PFM_WRITE_PMCS, pmcs, 2));
	write_period(fd, 4, 0, (uint64_t)-1000000, (uint64_t)-1000000, 0);
	run(fd);
	for (unsigned i = 0; i < 3; i++) {
		advance(333334); /* 1,000,002 cycles */
		count(fd, 4, 0);
	}
	OK(perfmonctl(fd, PFM_STOP, NULL, 0));
	hdr = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	IS(hdr == MAP_FAILED, 0);
	IS(hdr->hdr_count, 3);
	sample = (const char *)(hdr + 1);
	for (unsigned i = 0; i < 3; i++) {
		pfm_default_smpl_entry_t entry;
		uint64_t instructions;

		memcpy(&entry, sample, sizeof(entry));
		memcpy(&instructions, sample + sizeof(entry), sizeof(instructions));
		sample += sizeof(entry) + sizeof(instructions);
		IS(entry.ovfl_pmd, 4);
		IS(instructions / 10, 80000); /* 24 each 30 cycles */
	}
	munmap(hdr, 8192);
	close(fd);
}

/* 3.1.2: reg_smpl_pmds = 0x300, PMD8 and PMD9. On this PMU they are no counters, but the first
 * entries of the branch trace buffer. */
static void smpl_pmds(void)
{
	pfarg_pmc_t pmc = {.reg_num = 4, .reg_value = CYCLES, .reg_smpl_pmds = {0x300}};
	int fd = make();

	OK(perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
	pmc.reg_smpl_pmds[0] = 1ULL << 18;
	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1), EINVAL);
	close(fd);
}

/* 3.4.1: the period of 100,000 retired instructions is -100000; 3.4.3: a notification masks, and
 * restart loads the long period. */
static void periods(void)
{
	pfm_msg_t msg;
	int fd = make();

	write_pmc(fd, 4, 0, RETIRED, PFM_REGFL_OVFL_NOTIFY);
	write_period(fd, 4, 0, (uint64_t)-100000, (uint64_t)-5000, 0);
	IS(count(fd, 4, 0), -100000);
	run(fd);
	advance(41667);
	IS(read(fd, &msg, sizeof(msg)), sizeof(msg));
	IS(msg.pfm_ovfl_msg.msg_type, PFM_MSG_OVFL);
	IS(msg.pfm_ovfl_msg.msg_ovfl_pmds[0], 0x10);
	advance(1000000);
	IS(count(fd, 4, 0) < 10, 1);
	OK(perfmonctl(fd, PFM_RESTART, NULL, 0));
	IS(count(fd, 4, 0), -5000);
	close(fd);
}

/* Figure 3.4: base 0x100000, mask 0xff; the generator gives 0x1567fb, which makes 0x1000fb. The
 * seed is the one that is followed by that number. */
static void randomization(void)
{
	pfarg_pmd_t pmd = {.reg_num = 4,
		.reg_value = (uint64_t)-1,
		.reg_short_reset = 0x100000,
		.reg_long_reset = 0x100000,
		.reg_random_mask = 0xff,
		.reg_random_seed = 1121848505};
	int fd = make();

	write_pmc(fd, 4, 0, CYCLES, PFM_REGFL_RANDOM);
	OK(perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1));
	run(fd);
	advance(1000);
	pmd = read_pmd(fd, 4, 0, 0);
	IS(pmd.reg_last_reset_val, 0x1000fb);
	IS(pmd.reg_value, 0x1000fb + 3000 - 1);
	close(fd);
}

/* Figure 3.38: in set0, PMD4 overflows each 1000 events, twice before the switch, and PMD5 counts;
 * in set1, PMD5 overflows once before the switch back, and PMD4 counts. */
static void overflow_switching(void)
{
	int fd = make();

	add_set(fd, 0, PFM_SETFL_OVFL_SWITCH, 0);
	add_set(fd, 1, PFM_SETFL_OVFL_SWITCH, 0);
	write_pmc(fd, 4, 0, LOADS, 0);
	write_period(fd, 4, 0, (uint64_t)-1000, (uint64_t)-1000, 2);
	write_pmc(fd, 5, 0, RETIRED, 0);
	write_pmc(fd, 5, 1, NOPS, 0);
	write_period(fd, 5, 1, (uint64_t)-1000, (uint64_t)-1000, 1);
	write_pmc(fd, 4, 1, RETIRED, 0);
	run(fd);
	advance(2500); /* 1000 loads */
	IS(count(fd, 4, 0), -1000);
	advance(2500);
	IS(count(fd, 5, 0), 12000);
	IS(set_info(fd, 0).set_switch_pmds[0], 0x10);
	IS(set_info(fd, 1).set_runs, 1);
	advance(1000); /* 1000 no-ops */
	IS(count(fd, 4, 1), 2400);
	IS(set_info(fd, 1).set_switch_pmds[0], 0x20);
	IS(count(fd, 5, 0), 12000);
	advance(1000);
	IS(count(fd, 5, 0), 14400);
	close(fd);
}

/* 3.7.6: after 1000 events the second set counts, and is never left. */
static void cascading(void)
{
	int fd = make();

	add_set(fd, 0, PFM_SETFL_OVFL_SWITCH, 0);
	add_set(fd, 1, 0, 0);
	write_pmc(fd, 4, 0, LOADS, 0);
	write_period(fd, 4, 0, (uint64_t)-1000, 0, 1);
	write_pmc(fd, 4, 1, NOPS, 0);
	run(fd);
	advance(2000);
	IS(count(fd, 4, 0), -200);
	IS(set_info(fd, 1).set_runs, 0);
	IS(count(fd, 4, 1), 0);
	advance(500);
	IS(count(fd, 4, 0), 0);
	IS(set_info(fd, 1).set_runs, 1);
	advance(1000000);
	IS(count(fd, 4, 1), 1000000);
	IS(set_info(fd, 1).set_runs, 1);
	close(fd);
}

/* Figures 3.33 and 3.34: set0, set3 and set5 in order; set5 links to set0, set11 to set8. */
static void sublists(void)
{
	static const unsigned ids[] = {0, 3, 5, 8, 11};
	static const struct {
		unsigned from, to;
	} steps[] = {{0, 3}, {3, 5}, {5, 0}, {8, 11}, {11, 8}};
	pfarg_start_t start = {0};
	int fd = make();

	for (unsigned i = 0; i < 5; i++) {
		bool link = ids[i] == 5 || ids[i] == 11;

		add_set(fd, ids[i], PFM_SETFL_OVFL_SWITCH | (link ? PFM_SETFL_EXPL_NEXT : 0),
			ids[i] == 11 ? 8 : 0);
		write_pmc(fd, 4, ids[i], NOPS, 0);
		write_period(fd, 4, ids[i], (uint64_t)-1000, (uint64_t)-1000, 1);
	}
	run(fd);
	for (unsigned i = 0; i < 5; i++) {
		uint64_t runs;

		start.start_set = (uint16_t)steps[i].from;
		OK(perfmonctl(fd, PFM_STOP, NULL, 0));
		OK(perfmonctl(fd, PFM_START, &start, 1));
		runs = set_info(fd, steps[i].to).set_runs;
		advance(1000);
		count(fd, 4, steps[i].to);
		IS(set_info(fd, steps[i].to).set_runs, (long long)runs + 1);
	}
	close(fd);
}

/* 5.2: PMC.pm is set for a system-wide context, whatever the application writes. */
static void monitors(void)
{
	int fd = make();

	for (unsigned i = 0; i < 2; i++) {
		write_pmc(fd, 5, 0, NOPS | i << 6, 0);
		IS(number_in("ctx/%lu/pmc/5", the_context()), NOPS | 1 << 6);
	}
	close(fd);
}

/* 5.6: a code range, by an IBR pair; PMC257 never makes a breakpoint of it, nor PMC265 of DBR1. */
static void ranges(void)
{
	const uint64_t breakpoint = 1ULL << 63, mask = (1ULL << 56) - 16, plm = 8ULL << 56;
	pfarg_pmc_t pmcs[] = {
		{.reg_num = 4, .reg_value = RETIRED},
		{.reg_num = 8, .reg_value = 0xffffffff3ffffffc},   /* ig_ad = 0 */
		{.reg_num = 14, .reg_value = 0xdb60db60db60db4},   /* IBR pair 0 */
		{.reg_num = 256, .reg_value = 0x4000000000000810}, /* a bundle of the loop */
		{.reg_num = 257, .reg_value = breakpoint | plm | mask},
		{.reg_num = 265, .reg_value = 3ULL << 62 | mask},
	};
	int fd = make();

	OK(perfmonctl(fd, PFM_WRITE_PMCS, pmcs, 6));
	IS(number_in("ctx/%lu/pmc/257", the_context()), (long long)(plm | mask));
	IS(number_in("ctx/%lu/pmc/265", the_context()), (long long)mask);
	run(fd);
	advance(1000);
	IS(count(fd, 4, 0), 300);
	/* While loaded, too: the next bundles. */
	pmcs[3].reg_value = 0x4000000000000840;
	pmcs[4].reg_value = plm | (mask & ~0x3fULL);
	OK(perfmonctl(fd, PFM_WRITE_PMCS, &pmcs[3], 2));
	advance(1000);
	IS(count(fd, 4, 0), 300 + 1200);
	pmcs[3].reg_num = 272;
	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, &pmcs[3], 1), EINVAL);
	close(fd);
}

/* 5.6.2: debugging and range restrictions exclude each other. */
static void debugging(void)
{
	const pfarg_pmc_t ibr = {.reg_num = 14, .reg_value = 0xdb60db60db60db4};
	pfarg_pmc_t pmc = ibr;
	pfarg_load_t load = {.load_pid = gettid()};
	int fd = make();

	write_pmc(fd, 4, 0, NOPS, 0);
	write_to("0 0x301 0x8000000000000000", "sim/poke"); /* IBR1 */
	OK(perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1));
	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1), EBUSY);
	OK(perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0));
	pmc = ibr;
	OK(perfmonctl(fd, PFM_WRITE_PMCS, &pmc, 1));
	FAILS(perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1), EBUSY);
	write_to("0 0x301 0", "sim/poke");
	OK(perfmonctl(fd, PFM_LOAD_CONTEXT, &load, 1));
	close(fd);
}

/* 6.2.1 and 6.2.2. */
static void extensions(void)
{
	pfarg_pmd_t pmd;
	int fd = make();

	write_pmc(fd, 4, 0, NOPS, PFM_REGFL_NO_64BIT_EMUL);
	write_period(fd, 4, 0, (1ULL << 47) - 400, 0, 0);
	write_pmc(fd, 5, 0, NOPS, 0);
	write_period(fd, 5, 0, 0, 77, 0);
	run(fd);
	advance(1000);
	IS(count(fd, 4, 0), 600); /* of 47 bits */
	pmd = read_pmd(fd, 5, 0, PFM_REGFL_READ_RESET);
	IS(pmd.reg_value, 1000);
	IS(count(fd, 5, 0), 77);
	close(fd);
}

/* Starts a sampling context: a sample each 1000 ns, which are 3000 cycles; after a restart that
 * ends masking, the first one after 2000 ns. */
static void sample_cycles(int fd)
{
	pfarg_pmd_t pmd = {.reg_num = 4,
		.reg_value = (uint64_t)-3000,
		.reg_short_reset = (uint64_t)-3000,
		.reg_long_reset = (uint64_t)-6000};

	write_pmc(fd, 4, 0, CYCLES, PFM_REGFL_OVFL_NOTIFY);
	OK(perfmonctl(fd, PFM_WRITE_PMDS, &pmd, 1));
	run(fd);
}

static void take_samples(int fd, uint64_t n)
{
	while (n--) {
		advance(1000);
		count(fd, 4, 0);
	}
}

/* The buffer of a context in two halves, and how many samples make one full. */
static pfm_nway_smpl_hdr_t *make_halves(uint32_t flags, int *fd, uint64_t *half)
{
	struct {
		pfarg_ctx_t ctx;
		pfm_nway_smpl_arg_t arg;
	} both = {.ctx = {.ctx_flags = PFM_FL_SYSTEM_WIDE, .ctx_smpl_buf_id = PFM_NWAY_SMPL_UUID},
		.arg = {.buf_size = 4096, .buf_flags = flags, .parts = 2}};
	pfm_nway_smpl_hdr_t *hdr;

	OK(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1));
	*fd = both.ctx.ctx_fd;
	hdr = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, *fd, 0);
	IS(hdr == MAP_FAILED, 0);
	*half = (hdr->hdr_part_size - hdr->hdr_min_buf_space) / sizeof(pfm_dfl_smpl_entry_t) + 1;
	sample_cycles(*fd);
	return hdr;
}

static void is_notified(int fd)
{
	pfm_msg_t msg;

	IS(read(fd, &msg, sizeof(msg)), sizeof(msg));
	IS(msg.pfm_ovfl_msg.msg_type, PFM_MSG_OVFL);
}

static void halves_are(const pfm_nway_smpl_hdr_t *hdr, uint32_t first, uint32_t second)
{
	IS(hdr->hdr_parts[0].part_state, first);
	IS(hdr->hdr_parts[1].part_state, second);
}

/* 6.3.1: while the tool reads a half of the buffer, samples go into the other one, by the short
 * period. A tool that is late keeps its half: the format cycles in the one that it owns. */
static void double_buffering(void)
{
	uint64_t half;
	int fd;
	pfm_nway_smpl_hdr_t *hdr = make_halves(0, &fd, &half);

	take_samples(fd, half);
	is_notified(fd);
	halves_are(hdr, PFM_NWAY_PART_FULL, PFM_NWAY_PART_FILLING);
	take_samples(fd, 1);
	IS(hdr->hdr_parts[0].part_count, (long long)half);
	OK(perfmonctl(fd, PFM_RESTART, NULL, 0));
	halves_are(hdr, PFM_NWAY_PART_FREE, PFM_NWAY_PART_FILLING);
	IS(hdr->hdr_parts[1].part_count, 1);
	take_samples(fd, half - 1);
	is_notified(fd);
	halves_are(hdr, PFM_NWAY_PART_FILLING, PFM_NWAY_PART_FULL);
	take_samples(fd, half);
	is_notified(fd);
	halves_are(hdr, PFM_NWAY_PART_HELD, PFM_NWAY_PART_FULL);
	take_samples(fd, 1);
	OK(perfmonctl(fd, PFM_RESTART, NULL, 0));
	halves_are(hdr, PFM_NWAY_PART_FILLING, PFM_NWAY_PART_FREE);
	IS(hdr->hdr_parts[0].part_count, 1);
	IS(hdr->hdr_lost_samples, (long long)half);
	munmap(hdr, 4096);
	close(fd);
}

/* 6.3.1, with DOUBLE_FMT_MASK_WHEN_FULL: when both halves are full, monitoring is masked until
 * restart. */
static void mask_when_full(void)
{
	uint64_t half;
	int fd;
	pfm_nway_smpl_hdr_t *hdr = make_halves(PFM_NWAY_SMPL_MASK_WHEN_FULL, &fd, &half);

	take_samples(fd, 2 * half);
	is_notified(fd);
	is_notified(fd);
	halves_are(hdr, PFM_NWAY_PART_FULL, PFM_NWAY_PART_FULL);
	take_samples(fd, half);
	IS(hdr->hdr_lost_samples + hdr->hdr_lost, 0);
	OK(perfmonctl(fd, PFM_RESTART, NULL, 0));
	halves_are(hdr, PFM_NWAY_PART_FILLING, PFM_NWAY_PART_FULL);
	take_samples(fd, 2);
	OK(perfmonctl(fd, PFM_STOP, NULL, 0));
	IS(hdr->hdr_parts[0].part_count, 1);
	munmap(hdr, 4096);
	close(fd);
}

/* 6.3.2: samples are records with a type, between which those of processes would be. A simulated
 * CPU runs none, so that the samples are of process 0. */
static void correlation(void)
{
	struct {
		pfarg_ctx_t ctx;
		pfm_correlate_smpl_arg_t arg;
	} both = {.ctx = {.ctx_flags = PFM_FL_SYSTEM_WIDE,
			  .ctx_smpl_buf_id = PFM_CORRELATE_SMPL_UUID},
		.arg.buf_size = 4096};
	pfm_correlate_smpl_hdr_t *hdr;
	const char *at;
	int fd;

	OK(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1));
	fd = both.ctx.ctx_fd;
	sample_cycles(fd);
	take_samples(fd, 3);
	OK(perfmonctl(fd, PFM_STOP, NULL, 0));
	hdr = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	IS(hdr == MAP_FAILED, 0);
	IS(hdr->hdr_count, 3);
	IS(hdr->hdr_lost_events, 0);
	at = (const char *)(hdr + 1);
	for (unsigned i = 0; i < 3; i++) {
		pfm_correlate_smpl_rec_t rec;
		pfm_dfl_smpl_entry_t entry;

		memcpy(&rec, at, sizeof(rec));
		memcpy(&entry, at + sizeof(rec), sizeof(entry));
		IS(rec.rec_type, PFM_CORRELATE_SAMPLE);
		IS(rec.rec_size, sizeof(rec) + sizeof(entry));
		IS(entry.pid, 0);
		IS(entry.ovfl_pmd, 4);
		at += rec.rec_size;
	}
	IS(at - (const char *)hdr, (long long)hdr->hdr_cur_offs);
	munmap(hdr, 4096);
	close(fd);
}

int main(void)
{
	static void (*const examples[])(void) = {mappings, reset_pmds, smpl_pmds, periods,
		randomization, overflow_switching, cascading, sublists, monitors, ranges, debugging,
		extensions, double_buffering, mask_when_full, correlation};

	run_on(0);
	for (unsigned i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		examples[i]();
		all_gone();
	}
	return 0;
}

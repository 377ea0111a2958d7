/* SPDX-License-Identifier: MIT */
/*
 * Structures, field by field: what the calls of a version write is what the files of that context
 * show, and what these show is what the calls read. No two fields have the same value, so that none
 * can stand for another.
 *
 * The program of a version includes this after these definitions:
 *
 *	pmc_t, pmd_t, msg_t        its structures
 *	NOTICE(pmc, pmd)           which of the two says what an overflow is to cause; the PMD
 *	NOTIFY, RANDOM, NO_EMUL64  flags; the last one is the PMC's, 0 if there is none
 *	ALWAYS                     flags that some fields require
 *	SWITCH_CNT(pmd)            the field, if it is not called reg_ovfl_switch_cnt
 *	write_pmcs(), write_pmds(), read_pmds(), restart(), unload()
 *
 * and then has the functions that are declared here.
 */
#ifndef TESTS_LIB_FIELDS_H
#define TESTS_LIB_FIELDS_H

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/lib/check.h"

#ifndef NOTICE
#define NOTICE(pmc, pmd) (pmd)
#endif
#ifndef SWITCH_CNT
#define SWITCH_CNT(pmd) (pmd).reg_ovfl_switch_cnt
#endif

enum {
	CPU = 1,
	REGS = 3,
	BV = sizeof(NOTICE((pmc_t *)0, (pmd_t *)0)->reg_smpl_pmds) / sizeof(uint64_t),
};

static int make(unsigned flags);
/* With the format "default", its flag IIP_HDR, and a buffer of that size. */
static int make_sampling(size_t size);
/* False: the version has no such field. */
static bool set_seed(pmd_t *pmd, uint32_t seed);
/* On CPU, where the caller runs; gives the set that it begins with. */
static uint16_t load(int fd, uint16_t set);
static void start(int fd, uint16_t set);
static void stop(int fd);
/* Each of the three fails. */
static void cannot_load_start_stop(int fd, int error);

/* For field @k of register @i: no wider than a counter, and in both of its halves. */
static uint64_t distinct(unsigned i, unsigned k)
{
	return (uint64_t)(i + 1) << 44 | (uint64_t)k << 36 | (uint64_t)(i + 1) << 8 | k;
}

/* Lists, and how the files show them; from 256 on, where the version has room for that. */
static const struct {
	uint64_t smpl[5], reset[5];
	const char *smpl_text, *high_text, *reset_text;
} lists[REGS] = {
	{{1 << 1, 0, 0, 0, 1 << 0 | 1 << 2}, {1 << 2 | 1 << 16}, "1", ",256,258", "2,16"},
	{{1 << 2 | 1 << 17, 0, 0, 0, 1 << 3}, {1 << 0 | 1 << 3}, "2,17", ",259", "0,3"},
	{{1 << 3, 0, 0, 0, 1 << 0}, {1 << 0 | 1 << 1 | 1 << 18}, "3", ",256", "0-1,18"},
};

static void fill(unsigned i, uint16_t set, pmc_t *pmc, pmd_t *pmd)
{
	memset(pmc, 0, sizeof(*pmc));
	memset(pmd, 0, sizeof(*pmd));
	pmc->reg_num = pmd->reg_num = (uint16_t)i;
	pmc->reg_set = pmd->reg_set = set;
	pmc->reg_value = INSTRUCTIONS + i;
	pmd->reg_value = distinct(i, 1);
	pmd->reg_long_reset = distinct(i, 2);
	pmd->reg_short_reset = distinct(i, 3);
	SWITCH_CNT(*pmd) = distinct(i, 4);
	NOTICE(pmc, pmd)->reg_smpl_eventid = distinct(i, 5);
	memcpy(NOTICE(pmc, pmd)->reg_smpl_pmds, lists[i].smpl, sizeof(uint64_t) * BV);
	memcpy(NOTICE(pmc, pmd)->reg_reset_pmds, lists[i].reset, sizeof(uint64_t) * BV);
	NOTICE(pmc, pmd)->reg_flags = ALWAYS;
	if (i == 0)
		NOTICE(pmc, pmd)->reg_flags |= NOTIFY;
	if (i == 1) {
		NOTICE(pmc, pmd)->reg_flags |= RANDOM;
		pmd->reg_random_mask = distinct(i, 6);
	}
	if (i == 2)
		pmc->reg_flags |= NO_EMUL64;
}

/* The line of that PMD in regs. */
static void line_of(unsigned i, bool seed, char *to, size_t size)
{
	char random[80] = "";

	if (i == 1)
		snprintf(random, sizeof(random), " mask=0x%" PRIx64 "%s", distinct(i, 6),
			seed ? " seed=12345 random" : " random");
	snprintf(to, size,
		"pmd%u %" PRIu64 " long=%" PRIu64 " short=%" PRIu64 " thresh=%" PRIu64
		"%s%s%s smpl=%s%s reset=%s eventid=%" PRIu64,
		i, distinct(i, 1), distinct(i, 2), distinct(i, 3), distinct(i, 4), random,
		i == 0 ? " notify" : "", i == 2 && NO_EMUL64 != 0 ? " no64" : "",
		lists[i].smpl_text, BV > 4 ? lists[i].high_text : "", lists[i].reset_text,
		distinct(i, 5));
}

/* All of set @set, written by one vector each. */
static void written(int fd, uint16_t set)
{
	char line[512];
	pmc_t pmcs[REGS];
	pmd_t pmds[REGS];
	bool seed = false;

	for (unsigned i = 0; i < REGS; i++) {
		fill(i, set, &pmcs[i], &pmds[i]);
		if (i == 1)
			seed = set_seed(&pmds[i], 12345);
	}
	OK(write_pmcs(fd, pmcs, REGS));
	OK(write_pmds(fd, pmds, REGS));
	for (unsigned i = 0; i < REGS; i++) {
		line_of(i, seed, line, sizeof(line));
		HAS(line, "ctx/%lu/set/%u/regs", the_context(), set);
		IS(number_in("ctx/%lu/set/%u/pmc/%u", the_context(), set, i), INSTRUCTIONS + i);
	}
	memset(pmds, 0, sizeof(pmds));
	for (unsigned i = 0; i < REGS; i++) {
		pmds[i].reg_num = (uint16_t)i;
		pmds[i].reg_set = set;
	}
	OK(read_pmds(fd, pmds, REGS));
	for (unsigned i = 0; i < REGS; i++) {
		IS(pmds[i].reg_value, distinct(i, 1));
		IS(pmds[i].reg_last_reset_val, distinct(i, 1));
	}
}

static int write_both(int fd, pmc_t *pmc, pmd_t *pmd)
{
	return write_pmcs(fd, pmc, 1) < 0 ? -1 : write_pmds(fd, pmd, 1);
}

/* Each word of a list is converted: no PMU has the PMD of its last bit. */
static void whole_lists(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pmc_t pmc;
	pmd_t pmd;

	for (unsigned k = 0; k < BV; k++) {
		fill(0, 0, &pmc, &pmd);
		NOTICE(&pmc, &pmd)->reg_smpl_pmds[k] = UINT64_C(1) << 63;
		FAILS(write_both(fd, &pmc, &pmd), EINVAL);
		IS(NOTICE(&pmc, &pmd)->reg_flags & PFM_REG_RETFL_MASK, PFM_REG_RETFL_EINVAL);
		fill(0, 0, &pmc, &pmd);
		NOTICE(&pmc, &pmd)->reg_reset_pmds[k] = UINT64_C(1) << 63;
		FAILS(write_both(fd, &pmc, &pmd), EINVAL);
		IS(NOTICE(&pmc, &pmd)->reg_flags & PFM_REG_RETFL_MASK, PFM_REG_RETFL_EINVAL);
	}
	close(fd);
}

static void context_flags(void)
{
	static const struct {
		unsigned flags;
		const char *text;
	} each[] = {
		{0, "none"},
		{PFM_FL_NOTIFY_BLOCK, "notify_block"},
		{PFM_FL_SYSTEM_WIDE, "system_wide"},
		{PFM_FL_OVFL_NO_MSG, "ovfl_no_msg"},
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		int fd = make(each[i].flags);
		HAS(each[i].text, "ctx/%lu/flags", the_context());
		close(fd);
	}
}

static void format_argument(void)
{
	int fd = make_sampling(12345);

	HAS("default size=12345 iip_hdr", "ctx/%lu/format", the_context());
	close(fd);
}

static void registers(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);

	written(fd, 0);
	close(fd);
}

/* Reads value, last reset and rest of the threshold after they have changed. */
static void read_back(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	char line[128];
	pmc_t pmc = {.reg_value = INSTRUCTIONS};
	pmd_t pmd = {.reg_value = (uint64_t)-1000, .reg_short_reset = (uint64_t)-100000000};

	SWITCH_CNT(pmd) = 9;
	NOTICE(&pmc, &pmd)->reg_flags = ALWAYS;
	write_to("ovfl_switch", "ctx/%lu/set/0/flags", the_context());
	OK(write_both(fd, &pmc, &pmd));
	load(fd, 0);
	start(fd, 0);
	advance(200000000);
	stop(fd);
	OK(read_pmds(fd, &pmd, 1));
	IS(pmd.reg_value, number_in("ctx/%lu/pmd/0", the_context()));
	IS(pmd.reg_last_reset_val, -100000000);
	IS(SWITCH_CNT(pmd) > 0 && SWITCH_CNT(pmd) < 9, 1);
	snprintf(line, sizeof(line), "pmd0 overflows=%d last_reset=%" PRIu64 " thresh_left=%d",
		9 - (int)SWITCH_CNT(pmd), (uint64_t)pmd.reg_last_reset_val, (int)SWITCH_CNT(pmd));
	HAS(line, "ctx/%lu/set/0/overflows", the_context());
	close(fd);
}

/* Fields that not all versions have. */
static void rest_of_message(int fd, const msg_t *msg)
{
	(void)fd;
	(void)msg;
#if PERFMON_ABI == 200
	IS(msg->pfm_ovfl_msg.msg_ctx_fd, fd);
	IS(msg->pfm_ovfl_msg.msg_tstamp, 0);
#elif PERFMON_ABI != 6
	IS(msg->pfm_ovfl_msg.msg_ovfl_cpu, CPU);
	/* Not known where a CPU is monitored without a sampling format */
	IS(msg->pfm_ovfl_msg.msg_ovfl_pid, 0);
	IS(msg->pfm_ovfl_msg.msg_ovfl_tid, 0);
	IS(msg->pfm_ovfl_msg.msg_ovfl_ip, 0);
#endif
}

/* Of the overflow of two PMDs at once in that set. */
static void overflow_message(int fd, uint16_t set)
{
	pmc_t pmc;
	pmd_t pmd;
	msg_t msg;

	for (uint16_t i = 1; i <= 2; i++) {
		memset(&pmc, 0, sizeof(pmc));
		memset(&pmd, 0, sizeof(pmd));
		pmc.reg_num = pmd.reg_num = i;
		pmc.reg_set = pmd.reg_set = set;
		pmc.reg_value = INSTRUCTIONS;
		pmd.reg_value = (uint64_t)-1000;
		NOTICE(&pmc, &pmd)->reg_flags = NOTIFY;
		OK(write_both(fd, &pmc, &pmd));
	}
	load(fd, set);
	start(fd, set);
	advance(10000000);
	memset(&msg, 0xff, sizeof(msg));
	IS(read(fd, &msg, sizeof(msg)), sizeof(msg));
	IS(msg.pfm_ovfl_msg.msg_type, PFM_MSG_OVFL);
	IS(msg.pfm_ovfl_msg.msg_active_set, set);
	IS(msg.pfm_ovfl_msg.msg_ovfl_pmds[0], 1 << 1 | 1 << 2);
	for (unsigned k = 1; k < sizeof(msg.pfm_ovfl_msg.msg_ovfl_pmds) / sizeof(uint64_t); k++)
		IS(msg.pfm_ovfl_msg.msg_ovfl_pmds[k], 0);
	rest_of_message(fd, &msg);
}

/* The number that the files have counted in so many ns, on top of what the PMD began with. */
static void counting(uint64_t ns, uint64_t wanted)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pmc_t pmc = {.reg_value = INSTRUCTIONS};
	pmd_t pmd = {.reg_value = 5};

	run_on(CPU);
	OK(write_both(fd, &pmc, &pmd));
	load(fd, 0);
	start(fd, 0);
	advance(ns);
	stop(fd);
	OK(read_pmds(fd, &pmd, 1));
	IS(pmd.reg_value, wanted + 5);
	IS(pmd.reg_last_reset_val, 5);
	IS(number_in("ctx/%lu/pmd/0", the_context()), wanted + 5);
	OK(unload(fd));
	close(fd);
	all_gone();
}

/* A message, and a restart with the long value. A masked context can be read on any CPU. */
static void notification(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pmc_t pmc = {.reg_value = INSTRUCTIONS};
	pmd_t pmd = {.reg_value = (uint64_t)-1000,
		.reg_long_reset = (uint64_t)-2000,
		.reg_short_reset = (uint64_t)-3000};
	msg_t msg;

	NOTICE(&pmc, &pmd)->reg_flags = NOTIFY;
	OK(write_both(fd, &pmc, &pmd));
	load(fd, 0);
	start(fd, 0);
	advance(10000000);
	FAILS(read(fd, &msg, sizeof(msg) - 1), EINVAL);
	IS(read(fd, &msg, sizeof(msg)), sizeof(msg));
	IS(msg.pfm_ovfl_msg.msg_type, PFM_MSG_OVFL);
	IS(msg.pfm_ovfl_msg.msg_ovfl_pmds[0], 1);
	run_on(0);
	OK(read_pmds(fd, &pmd, 1));
	FAILS(write_pmds(fd, &pmd, 1), EBUSY);
	run_on(CPU);
	OK(restart(fd));
	OK(read_pmds(fd, &pmd, 1));
	IS(pmd.reg_last_reset_val, -2000);
	close(fd);
}

/* The wrong element has error flags, and those after it do not change. */
static void not_reached(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pmd_t pmds[3], untouched;

	memset(pmds, 0x55, sizeof(pmds));
	memset(&untouched, 0x55, sizeof(untouched));
	for (unsigned i = 0; i < 2; i++) {
		pmds[i].reg_num = i ? 300 : 0;
		pmds[i].reg_set = 0;
		pmds[i].reg_flags = 0;
	}
	FAILS(read_pmds(fd, pmds, 3), EINVAL);
	IS(pmds[0].reg_value, 0);
	IS(pmds[1].reg_flags & PFM_REG_RETFL_MASK, PFM_REG_RETFL_NOTAVAIL);
	IS(pmds[1].reg_value == untouched.reg_value, 1);
	IS(memcmp(&pmds[2], &untouched, sizeof(untouched)), 0);
	close(fd);
}

static void bad_descriptors(void)
{
	pmc_t pmc = {0};
	pmd_t pmd = {0};

	for (unsigned i = 0; i < BAD_DESCRIPTORS; i++) {
		int fd = bad_descriptor(i);

		FAILS(write_pmcs(fd, &pmc, 1), EBADF);
		FAILS(write_pmds(fd, &pmd, 1), EBADF);
		FAILS(read_pmds(fd, &pmd, 1), EBADF);
		FAILS(restart(fd), EBADF);
		FAILS(unload(fd), EBADF);
		cannot_load_start_stop(fd, EBADF);
	}
}

/* All fields of a version without event sets, and what is the same in all versions. */
static void fields(void)
{
	int fd;

	run_on(CPU);
	context_flags();
	format_argument();
	registers();
	whole_lists();
	read_back();
	fd = make(PFM_FL_SYSTEM_WIDE);
	overflow_message(fd, 0);
	close(fd);
	notification();
	not_reached();
	bad_descriptors();
}

#endif

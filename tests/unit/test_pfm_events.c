// SPDX-License-Identifier: MIT
/* Names and codes of events to values of PMCs: event_resolve() and event_program(). */
// cmocka.h needs these first.
#include "tests/unit/pfm_pmus.h"
#include "tests/unit/unit.h"
#include "tools/pfm/events/assign.h"
#include "tools/pfm/events/cpuinfo.h"
#include "tools/pfm/events/data_files.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/events/event_file.h"
#include "tools/pfm/events/event_name.h"
#include "tools/pfm/events/event_terms.h"
#include "tools/pfm/events/libpfm.h"

enum { BOTH = EVENT_USER | EVENT_KERNEL };

static const struct pfm_cpu no_cpu = {ARCH_NONE, -1, -1, false};
static const struct pfm_cpu zen5 = {ARCH_AMD, 26, 2, true};

static struct pfm_pmu pmu_of(struct pfm_pmu_text text, struct pfm_cpu cpu)
{
	struct pfm_pmu pmu;
	struct err e = {0};

	if (pfm_pmu_parse(&text, &cpu, &pmu, &e) < 0)
		fail_msg("%s", e.text);
	return pmu;
}

static struct pfm_pmu pmu_intel(void)
{
	return pmu_of(
		pfm_pmus_text("intel_arch_v4\n", "sim\n", pfm_pmus_intel_pmcs, pfm_pmus_intel_pmds),
		no_cpu);
}

static struct pfm_pmu pmu_amd(const char *backend)
{
	return pmu_of(
		pfm_pmus_text("amd64_v2\n", backend, pfm_pmus_amd_pmcs, pfm_pmus_amd_pmds), zen5);
}

static struct pfm_pmu pmu_umc(void)
{
	return pmu_of(pfm_pmus_text("amd64_v2", "msr", pfm_pmus_umc_pmcs, pfm_pmus_umc_pmds), zen5);
}

static struct pfm_pmu pmu_p6(void)
{
	return pmu_of(pfm_pmus_text("p6", "sim", pfm_pmus_p6_pmcs, pfm_pmus_amd_pmds), no_cpu);
}

static struct pfm_pmu pmu_perf(enum arch_encoding encoding)
{
	struct pfm_pmu_text text =
		pfm_pmus_text("perf", "perf", pfm_pmus_perf_pmcs, pfm_pmus_perf_pmds);
	struct pfm_cpu cpu = {encoding, 6, 94, encoding != ARCH_NONE};

	text.events = slice_of(pfm_pmus_perf_events);
	return pmu_of(text, cpu);
}

static struct pfm_event resolved(const struct pfm_pmu *pmu, const char *text)
{
	struct pfm_event event;
	struct err e = {0};

	if (event_resolve(pmu, text, &event, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(event.name, text);
	return event;
}

static void encodes(const struct pfm_pmu *pmu, const char *text, uint64_t code, unsigned level,
	uint64_t counters)
{
	struct pfm_event event = resolved(pmu, text);

	assert_int_equal(event.code, code);
	assert_int_equal(event.level, level);
	assert_int_equal(event.counters, counters);
	assert_int_equal(event.extra_pmc, -1);
}

/* The sentence names @noun. */
static void refused(const struct pfm_pmu *pmu, const char *text, int no, const char *noun)
{
	struct pfm_event event;
	struct err e = {0};
	int rc = event_resolve(pmu, text, &event, &e);

	if (rc != -no || !strstr(e.text, noun))
		fail_msg("%s: %d, not %d: %s", text, rc, -no, e.text);
}

static int parse_file(struct pfm_pmu *pmu, const char *text, struct err *e)
{
	return event_file_parse(slice_of(text), "f.events", "f", pmu, e);
}

TEST(pmu)
{
	struct pfm_pmu pmu = pmu_intel();

	assert_string_equal(pmu.name, "intel_arch_v4");
	assert_int_equal(pmu.general, 0xf);
	assert_int_equal(pmu.all, 0x7f);
	assert_ptr_equal(pfm_pmu_counter(&pmu, 17), &pmu.counters[5]);
	assert_int_equal(pmu.counters[5].pmc, 16);
	assert_int_equal(pmu.counters[5].fixed, 1);
	assert_null(pfm_pmu_counter(&pmu, 256));
	assert_int_equal(pfm_pmu_fixed(&pmu, 2), 0x40);
	assert_int_equal(pfm_pmu_fixed(&pmu, 3), 0);
	assert_int_equal(pmu.cpu.family, -1);
	pfm_pmu_free(&pmu);
}

/* Counters of a cache or package have other events; those of a core have the CPU's. */
TEST(pmu_scopes)
{
	static const char pmcs[] = "0 A msr 0x186 0x0 0x0\n1 B msr 0x400 0x0 0x0 core\n"
				   "2 C msr 0x187 0x0 0x0 ccx\n3 D msr 0x3c0 0x0 0x0 package\n"
				   "4 E msr 0x188 0x0 0x0\n5 F msr 0x189 0x0 0x0 later\n";
	static const char pmds[] = "0 A msr 0xc1 0x0 0x0\n1 B msr 0x410 0x0 0x0 core\n"
				   "2 C msr 0xc2 0x0 0x0 ccx\n3 D msr 0x3b0 0x0 0x0 later package\n"
				   "4 E msr 0xc3 0x0 0x0 buffer core\n5 F msr 0xc4 0x0 0x0 later\n";
	struct pfm_pmu pmu = pmu_of(pfm_pmus_text("x", "sim", pmcs, pmds), no_cpu);

	assert_int_equal(pmu.ncounters, 3);
	assert_int_equal(pmu.all, 0x7);
	assert_int_equal(pmu.general, 0x7);
	assert_int_equal(pmu.counters[2].nums[0], 5);
	pfm_pmu_free(&pmu);
}

static void pmu_refused(const char *pmcs, const char *pmds, const char *events, const char *where)
{
	struct pfm_pmu_text text = pfm_pmus_text("x", "sim", pmcs, pmds);
	struct pfm_pmu pmu;
	struct err e = {0};

	text.events = slice_of(events);
	assert_int_equal(pfm_pmu_parse(&text, &no_cpu, &pmu, &e), -EINVAL);
	assert_non_null(strstr(e.text, where));
}

TEST(pmu_refused)
{
	pmu_refused("0 A msr 0x1 0x0 0x0\nx\n", "", "", "pmcs:2");
	pmu_refused("0 A msr 0x1 0x0\n", "", "", "pmcs:1");
	pmu_refused("0 A msr 0x1 0x0 0x0\n", "0 A msr 0x1 0x0 0x0\n0 B msr 0x2 0x0 0x0\n", "",
		"pmds:2");
	pmu_refused("", "", "page-faults\n", "events:1");
	pmu_refused("0 A msr 0x360 0x0 0x0 escr=x:1\n", "", "", "pmcs:1");
	pmu_refused("0 A msr 0x360 0x0 0x0 escr=0xe000:1,x\n", "", "", "pmcs:1");
}

TEST(architectural)
{
	struct pfm_pmu intel = pmu_intel(), amd = pmu_amd("sim"), p6 = pmu_p6();

	encodes(&intel, "instructions", 0xc0, 0, 0x1f);
	encodes(&intel, "cycles:u", 0x3c, EVENT_USER, 0x2f);
	encodes(&intel, "cycles:uk", 0x3c, BOTH, 0x2f);
	encodes(&intel, "ref-cycles", 0x300, 0, 0x40);
	encodes(&intel, "bus-cycles", 0x13c, 0, 0xf);
	encodes(&intel, "cache-misses:k", 0x412e, EVENT_KERNEL, 0xf);
	refused(&intel, "slots", EOPNOTSUPP, "intel_arch_v4");
	encodes(&amd, "instructions", 0xc0, 0, 0x3f);
	encodes(&amd, "cycles", 0x76, 0, 0x3f);
	encodes(&amd, "branches", 0xc2, 0, 0x3f);
	encodes(&amd, "branch-misses", 0xc3, 0, 0x3f);
	encodes(&p6, "cycles", 0x79, 0, 0x3);
	pfm_pmu_free(&intel);
	pfm_pmu_free(&amd);
	pfm_pmu_free(&p6);
}

TEST(modifiers)
{
	struct pfm_pmu pmu = pmu_intel();

	/* What a fixed counter cannot do takes the event to the others. */
	encodes(&pmu, "cycles:c=2:i", 0x280003c, 0, 0xf);
	encodes(&pmu, "branches:e:u", 0x400c4, EVENT_USER, 0xf);
	encodes(&pmu, "branches:u:k", 0xc4, BOTH, 0xf);
	encodes(&pmu, "branches:kei", 0x8400c4, EVENT_KERNEL, 0xf);
	encodes(&pmu, "BRANCHES:c=255", 0xff0000c4, 0, 0xf);
	refused(&pmu, "branches:u:u", EINVAL, "twice");
	refused(&pmu, "branches:uu", EINVAL, "twice");
	refused(&pmu, "branches:c=1:c=1", EINVAL, "twice");
	refused(&pmu, "branches:c=256", ERANGE, "c=N");
	refused(&pmu, "branches:c=", EINVAL, "c=N");
	refused(&pmu, "ref-cycles:e", EOPNOTSUPP, "modifiers");
	refused(&pmu, "branches:x", ENOENT, "modifiers");
	refused(&pmu, "cycles:D", ENOENT, "modifiers");
	refused(&pmu, "", EINVAL, "");
	pfm_pmu_free(&pmu);
}

TEST(codes)
{
	struct pfm_pmu pmu = pmu_intel(), amd = pmu_amd("sim");

	encodes(&pmu, "r01c0", 0x1c0, 0, 0xf);
	encodes(&pmu, "r412e:u", 0x412e, EVENT_USER, 0xf);
	encodes(&pmu, "0x5300c0", 0xc0, BOTH, 0x1f);
	encodes(&pmu, "0x5101c0", 0x1c0, EVENT_USER, 0xf);
	encodes(&pmu, "0x5101c0:k", 0x1c0, EVENT_KERNEL, 0xf);
	encodes(&pmu, "192", 0xc0, 0, 0x1f);
	encodes(&pmu, "0x300", 0x300, 0, 0x40);
	encodes(&pmu, "pmc2=0x4100c0", 0xc0, EVENT_USER, 0x4);
	encodes(&pmu, "pmc16=0x200", 0x300, EVENT_USER, 0x40);
	encodes(&pmu, "pmc16=0x30", 0x200, BOTH, 0x20);
	refused(&pmu, "pmc16=0x33", EINVAL, "PMC 16");
	refused(&pmu, "pmc16=0x4", EINVAL, "PMC 16");
	refused(&pmu, "pmc7=0xc0", EINVAL, "PMC 7");
	refused(&pmu, "pmcx=0xc0", EINVAL, "pmcx");
	refused(&pmu, "pmc0=", EINVAL, "pmc0");
	refused(&pmu, "0x2000c0", EINVAL, "AnyThread");
	refused(&pmu, "0x0800c0", EINVAL, "pin control");
	refused(&pmu, "r1000000c0", EINVAL, "reserved");
	/* Event 0 is none, whatever else its code says. */
	refused(&pmu, "0", EINVAL, "no event");
	refused(&pmu, "0x430000", EINVAL, "no event");
	refused(&pmu, "pmc0=0x1430000", EINVAL, "no event");
	refused(&pmu, "0xgg", EINVAL, "0xgg");
	refused(&pmu, "r11111111111111111", ERANGE, "64 bits");
	encodes(&amd, "r1000000c0", 0x1000000c0, 0, 0x3f);
	encodes(&amd, "r0000", 0, 0, 0x3f);
	pfm_pmu_free(&pmu);
	pfm_pmu_free(&amd);
}

/* As Linux writes them; on AMD, an event has 12 bits. */
TEST(terms)
{
	struct pfm_pmu pmu = pmu_intel(), amd = pmu_amd("sim");
	struct slice list =
		slice_of("cpu/event=0xc0,umask=1/u,cycles,cpu/event=1/,cycles/,branches");
	static const char *const cut[] = {
		"cpu/event=0xc0,umask=1/u", "cycles", "cpu/event=1/", "cycles/", "branches"};

	encodes(&pmu, "cpu/event=0xc0/", 0xc0, 0, 0x1f);
	encodes(&pmu, "cpu/umask=0x1,event=192/u", 0x1c0, EVENT_USER, 0xf);
	encodes(&pmu, "cpu/event=0x3c,cmask=2,inv,edge=1/k", 0x284003c, EVENT_KERNEL, 0xf);
	encodes(&pmu, "event=0x3c,edge", 0x4003c, 0, 0xf);
	encodes(&pmu, "cpu/instructions/u", 0xc0, EVENT_USER, 0x1f);
	encodes(&pmu, "cpu::branches:u", 0xc4, EVENT_USER, 0xf);
	encodes(&amd, "cpu/event=0x1c0,umask=0x2/", 0x1000002c0, 0, 0x3f);
	refused(&pmu, "cpu/event=0x100/", ERANGE, "8 bits");
	refused(&amd, "cpu/event=0x1000/", ERANGE, "event");
	refused(&pmu, "cpu/event=0xc0,umask=0x100/", ERANGE, "umask");
	refused(&pmu, "cpu/event=0xc0,inv=2/", ERANGE, "inv");
	refused(&pmu, "cpu/event=0xc0,umask/", EINVAL, "umask");
	refused(&pmu, "cpu/event=/", EINVAL, "event");
	refused(&pmu, "cpu/event=0xc0,period=1/", EINVAL, "'period'");
	refused(&pmu, "cpu/event=0xc0,offcore_rsp=1/", EINVAL, "extra");
	refused(&pmu, "cpu/event=0xc0", ENOENT, "slashes");
	for (unsigned i = 0; i < COUNT(cut); i++)
		assert_true(slice_is(event_terms_cut(&list), cut[i]));
	assert_int_equal(list.n, 0);
	pfm_pmu_free(&pmu);
	pfm_pmu_free(&amd);
}

TEST(extra)
{
	struct pfm_pmu plain = pmu_intel();
	struct pfm_pmu pmu = pmu_of(
		pfm_pmus_text("intel_arch_v4", "sim", pfm_pmus_extra_pmcs, pfm_pmus_intel_pmds),
		no_cpu);
	struct pfm_event event = resolved(&pmu, "r01b7+0x10001:u");

	assert_int_equal(event.extra_pmc, 20);
	assert_int_equal(event.extra, 0x10001);
	assert_int_equal(event.counters, 0x3);
	refused(&plain, "r01b7+0x10001", EOPNOTSUPP, "0x1a6");
	refused(&pmu, "r00c0+1", EINVAL, "extra");
	refused(&pmu, "r01b7+", EINVAL, "r01b7");
	event = resolved(&pmu, "cpu/event=0xb7,umask=0x1,offcore_rsp=0x10001/u");
	assert_int_equal(event.extra_pmc, 20);
	assert_int_equal(event.extra, 0x10001);
	pfm_pmu_free(&pmu);
	pfm_pmu_free(&plain);
}

TEST(perf)
{
	struct pfm_pmu pmu = pmu_perf(ARCH_INTEL), bare = pmu_perf(ARCH_NONE);
	struct err e = {0};

	encodes(&pmu, "page-faults", 0x0100000000000003, 0, 0x3);
	encodes(&pmu, "page-faults:u", 0x0100000000000003, EVENT_USER, 0x3);
	encodes(&pmu, "instructions", 0xc0, 0, 0x3);
	/* The kernel has fixed counters and knows what restricts them. */
	encodes(&pmu, "ref-cycles", 0x300, 0, 0x3);
	assert_int_equal(
		parse_file(&pmu, "FIXED 0x0100 16 in\nOTHER 0x0200 17\nSLOW 0x1c0 7\n", &e), 0);
	encodes(&pmu, "FIXED", 0xc0, 0, 0x3);
	encodes(&pmu, "OTHER", 0x3c, 0, 0x3);
	encodes(&pmu, "SLOW", 0x1c0, 0, 0x3);
	encodes(&pmu, "r01c0", 0x1c0, 0, 0x3);
	encodes(&pmu, "pmc1=0x4300c0", 0xc0, BOTH, 0x2);
	refused(&pmu, "r0000", EINVAL, "no event");
	refused(&pmu, "r0500", EINVAL, "no event");
	/* A virtual machine may have no PMU. */
	refused(&bare, "instructions", EOPNOTSUPP, "no PMU");
	refused(&bare, "r00c0", EOPNOTSUPP, "no PMU");
	encodes(&bare, "context-switches", 0x0100000000000004, 0, 0x3);
	encodes(&bare, "cs:k", 0x0100000000000004, EVENT_KERNEL, 0x3);
	pfm_pmu_free(&pmu);
	pfm_pmu_free(&bare);
}

TEST(precise)
{
	struct pfm_pmu perf = pmu_perf(ARCH_INTEL), real = pmu_intel();
	struct err e = {0};
	struct pfm_event event;

	encodes(&perf, "instructions:p", 0x10000000000c0, 0, 0x3);
	encodes(&perf, "r00c0:upp", 0x20000000000c0, EVENT_USER, 0x3);
	encodes(&perf, "instructions:pp:k:p", 0x30000000000c0, EVENT_KERNEL, 0x3);
	refused(&perf, "instructions:pppp", EINVAL, "3 times");
	refused(&perf, "page-faults:p", EINVAL, "exact");
	refused(&real, "instructions:pp", EOPNOTSUPP, "--backend=perf");
	event = resolved(&perf, "instructions:p");
	assert_int_equal(event_check_level(&perf, &event, true, EVENT_USER, &e), 0);
	assert_int_equal(event_check_level(&perf, &event, false, EVENT_USER, &e), -EINVAL);
	pfm_pmu_free(&perf);
	pfm_pmu_free(&real);
}

TEST(merged)
{
	struct pfm_pmu real = pmu_amd("msr"), sim = pmu_amd("sim"), perf = pmu_amd("perf");

	refused(&real, "r0f03", EOPNOTSUPP, "merged");
	refused(&real, "r0f03:c=1", EOPNOTSUPP, "merged");
	encodes(&real, "r100000f03", 0x100000f03, 0, 0x3f);
	encodes(&sim, "r0f03", 0xf03, 0, 0x3f);
	encodes(&perf, "r0f03", 0xf03, 0, 0x3f);
	pfm_pmu_free(&real);
	pfm_pmu_free(&sim);
	pfm_pmu_free(&perf);
}

TEST(unknown)
{
	struct pfm_pmu pmu = pmu_intel(), bare = pmu_perf(ARCH_NONE);

	refused(&pmu, "instrucions", ENOENT, "is it instructions?");
	refused(&pmu, "branch", ENOENT, "branches or branch-misses");
	refused(&pmu, "CYCLE", ENOENT, "cycles");
	refused(&pmu, "instrs", ENOENT, "instructions");
	refused(&pmu, "qqqqqqqqqq", ENOENT, "pfm list");
	refused(&pmu, "nosuch::cycles", ENOENT, "nosuch");
	refused(&bare, "page-falts", ENOENT, "is it page-faults?");
	refused(&bare, "cycles", EOPNOTSUPP, "cycles: the kernel has no PMU");
	refused(&bare, "cpu-cycles", EOPNOTSUPP, "cpu-cycles: the kernel has no PMU");
	refused(&bare, "cycles:p", EOPNOTSUPP, "cycles:p: the kernel has no PMU");
	/* What perf has, and pfm has not. */
	refused(&pmu, "page-faults", ENOENT, "--backend=perf");
	refused(&pmu, "cs", ENOENT, "--backend=perf");
	refused(&pmu, "L1-dcache-load-misses", ENOENT, "CPU model");
	refused(&pmu, "sched:sched_switch", ENOENT, "perf stat does");
	refused(&pmu, "{cycles", ENOENT, "braces");
	refused(&pmu, "duration_time", ENOENT, "time at the end");
	refused(&pmu, "icntructions", ENOENT, "instructions");
	pfm_pmu_free(&pmu);
	pfm_pmu_free(&bare);
}

static void file_refused(const char *text, int no, const char *noun)
{
	struct pfm_pmu pmu = pmu_intel();
	struct err e = {0};

	assert_int_equal(parse_file(&pmu, text, &e), -no);
	if (!strstr(e.text, noun))
		fail_msg("%s lacks %s", e.text, noun);
	pfm_pmu_free(&pmu);
}

TEST(event_file)
{
	struct pfm_pmu pmu = pmu_intel();
	struct err e = {0};

	assert_int_equal(parse_file(&pmu,
				 "# nothing\n\npmu p6 intel_arch_v4\n"
				 "L1D.REPLACEMENT 0x0151 * lines  # but this\n"
				 "SLOW:PMC1 r01c0 1\n"
				 "FIXED 0x0100 * only there\n"
				 "CYCLE_ACTIVITY.X 0x60006a3 0-1,3 with a counter mask\n",
				 &e),
		0);
	encodes(&pmu, "L1D.REPLACEMENT", 0x151, 0, 0xf);
	encodes(&pmu, "l1d:replacement:u", 0x151, EVENT_USER, 0xf);
	encodes(&pmu, "f::L1D:REPLACEMENT", 0x151, 0, 0xf);
	encodes(&pmu, "slow.pmc1", 0x1c0, 0, 0x2);
	encodes(&pmu, "FIXED", 0x100, 0, 0x10);
	encodes(&pmu, "CYCLE_ACTIVITY.X", 0x60006a3, 0, 0xb);
	/* The restriction is the code's, not the name's. */
	encodes(&pmu, "0x5301c0", 0x1c0, BOTH, 0x2);
	encodes(&pmu, "pmc0=0x5300c0", 0xc0, BOTH, 0x1);
	refused(&pmu, "SLOW:PMC", ENOENT, "SLOW:PMC1");
	pfm_pmu_free(&pmu);
}

/* The event codes of Intel's table for P6, unit mask above event number, and the counters. */
static const struct p6_event {
	const char *name;
	uint64_t code;
	uint64_t counters;
} p6_events[] = {
	{"DATA_MEM_REFS", 0x43, 0x3},
	{"DCU_LINES_IN", 0x45, 0x3},
	{"DCU_M_LINES_IN", 0x46, 0x3},
	{"DCU_M_LINES_OUT", 0x47, 0x3},
	{"DCU_MISS_OUTSTANDING", 0x48, 0x3},
	{"IFU_IFETCH", 0x80, 0x3},
	{"IFU_IFETCH_MISS", 0x81, 0x3},
	{"ITLB_MISS", 0x85, 0x3},
	{"IFU_MEM_STALL", 0x86, 0x3},
	{"ILD_STALL", 0x87, 0x3},
	{"L2_IFETCH", 0xf28, 0x3},
	{"L2_LD", 0xf29, 0x3},
	{"L2_ST", 0xf2a, 0x3},
	{"L2_LINES_IN", 0x24, 0x3},
	{"L2_LINES_OUT", 0x26, 0x3},
	{"L2_M_LINES_INM", 0x25, 0x3},
	{"L2_M_LINES_OUTM", 0x27, 0x3},
	{"L2_RQSTS", 0xf2e, 0x3},
	{"L2_ADS", 0x21, 0x3},
	{"L2_DBUS_BUSY", 0x22, 0x3},
	{"L2_DBUS_BUSY_RD", 0x23, 0x3},
	{"BUS_DRDY_CLOCKS", 0x62, 0x3},
	{"BUS_LOCK_CLOCKS", 0x63, 0x3},
	{"BUS_REQ_OUTSTANDING", 0x60, 0x3},
	{"BUS_TRAN_BRD", 0x65, 0x3},
	{"BUS_TRAN_RFO", 0x66, 0x3},
	{"BUS_TRANS_WB", 0x67, 0x3},
	{"BUS_TRAN_IFETCH", 0x68, 0x3},
	{"BUS_TRAN_INVAL", 0x69, 0x3},
	{"BUS_TRAN_PWR", 0x6a, 0x3},
	{"BUS_TRANS_P", 0x6b, 0x3},
	{"BUS_TRANS_IO", 0x6c, 0x3},
	{"BUS_TRAN_DEF", 0x6d, 0x3},
	{"BUS_TRAN_BURST", 0x6e, 0x3},
	{"BUS_TRAN_ANY", 0x70, 0x3},
	{"BUS_TRAN_MEM", 0x6f, 0x3},
	{"BUS_DATA_RCV", 0x64, 0x3},
	{"BUS_BNR_DRV", 0x61, 0x3},
	{"BUS_HIT_DRV", 0x7a, 0x3},
	{"BUS_HITM_DRV", 0x7b, 0x3},
	{"BUS_SNOOP_STALL", 0x7e, 0x3},
	{"FLOPS", 0xc1, 0x1},
	{"FP_COMP_OPS_EXE", 0x10, 0x1},
	{"FP_ASSIST", 0x11, 0x2},
	{"MUL", 0x12, 0x2},
	{"DIV", 0x13, 0x2},
	{"CYCLES_DIV_BUSY", 0x14, 0x1},
	{"LD_BLOCKS", 0x03, 0x3},
	{"SB_DRAINS", 0x04, 0x3},
	{"MISALIGN_MEM_REF", 0x05, 0x3},
	{"EMON_KNI_PREF_DISPATCHED", 0x07, 0x3},
	{"EMON_KNI_PREF_MISS", 0x4b, 0x3},
	{"INST_RETIRED", 0xc0, 0x3},
	{"UOPS_RETIRED", 0xc2, 0x3},
	{"INST_DECODED", 0xd0, 0x3},
	{"EMON_KNI_INST_RETIRED", 0xd8, 0x3},
	{"EMON_KNI_COMP_INST_RET", 0xd9, 0x3},
	{"HW_INT_RX", 0xc8, 0x3},
	{"CYCLES_INT_MASKED", 0xc6, 0x3},
	{"CYCLES_INT_PENDING_AND_MASKED", 0xc7, 0x3},
	{"BR_INST_RETIRED", 0xc4, 0x3},
	{"BR_MISS_PRED_RETIRED", 0xc5, 0x3},
	{"BR_TAKEN_RETIRED", 0xc9, 0x3},
	{"BR_MISS_PRED_TAKEN_RET", 0xca, 0x3},
	{"BR_INST_DECODED", 0xe0, 0x3},
	{"BTB_MISSES", 0xe2, 0x3},
	{"BR_BOGUS", 0xe4, 0x3},
	{"BACLEARS", 0xe6, 0x3},
	{"RESOURCE_STALLS", 0xa2, 0x3},
	{"PARTIAL_RAT_STALLS", 0xd2, 0x3},
	{"SEGMENT_REG_LOADS", 0x06, 0x3},
	{"CPU_CLK_UNHALTED", 0x79, 0x3},
	{"MMX_INSTR_EXEC", 0xb0, 0x3},
	{"MMX_SAT_INSTR_EXEC", 0xb1, 0x3},
	{"MMX_UOPS_EXEC", 0xfb2, 0x3},
	{"MMX_INSTR_TYPE_EXEC", 0x3fb3, 0x3},
	{"FP_MMX_TRANS", 0xcc, 0x3},
	{"MMX_ASSIST", 0xcd, 0x3},
	{"MMX_INSTR_RET", 0xce, 0x3},
	{"SEG_RENAME_STALLS", 0xfd4, 0x3},
	{"SEG_REG_RENAMES", 0xfd5, 0x3},
	{"RET_SEG_RENAMES", 0xd6, 0x3},
	{"MMX_INSTR_TYPE_EXEC:ARITH", 0x20b3, 0x3},
	{"FP_MMX_TRANS:TO_MMX", 0x1cc, 0x3},
	{"SEG_RENAME_STALLS:GS", 0x8d4, 0x3},
	{"EMON_KNI_PREF_MISS:WEAK", 0x34b, 0x3},
	{"EMON_KNI_INST_RETIRED:SCALAR", 0x1d8, 0x3},
};

static int p6_parse(void *arg, struct slice text, const char *path, const char *name, struct err *e)
{
	return strcmp(name, "p6") ? 0 : event_file_parse(text, path, name, arg, e);
}

TEST(event_file_p6)
{
	struct pfm_pmu pmu = pmu_p6();
	struct err e = {0};

	if (data_files_each(SOURCE_ROOT "/tools/pfm/events/data", ".events", p6_parse, &pmu, &e))
		fail_msg("%s", e.text);
	for (size_t i = 0; i < COUNT(p6_events); i++)
		encodes(&pmu, p6_events[i].name, p6_events[i].code, 0, p6_events[i].counters);
	pfm_pmu_free(&pmu);
}

TEST(event_file_cpu)
{
	static const char text[] = "cpu amd 26 0-15,32\nls_dispatch 0x0729 * memory operations\n";
	struct pfm_pmu real = pmu_amd("msr"), sim = pmu_amd("sim"), intel = pmu_intel();
	struct err e = {0};

	assert_int_equal(parse_file(&real, text, &e), 0);
	encodes(&real, "ls_dispatch", 0x729, 0, 0x3f);
	/* A simulated CPU is none of any model: the file has to be named. */
	assert_int_equal(parse_file(&sim, text, &e), 0);
	refused(&sim, "ls_dispatch", ENOENT, "ls_dispatch");
	encodes(&sim, "f::ls_dispatch", 0x729, 0, 0x3f);
	assert_int_equal(parse_file(&intel, text, &e), 0);
	refused(&intel, "f::ls_dispatch", ENOENT, "ls_dispatch");
	assert_int_equal(parse_file(&intel, "vendor intel\nHYBRID 0x1 *\n", &e), 0);
	refused(&intel, "HYBRID", ENOENT, "HYBRID");
	encodes(&intel, "f::HYBRID", 0x1, 0, 0xf);
	pfm_pmu_free(&real);
	pfm_pmu_free(&sim);
	pfm_pmu_free(&intel);
}

TEST(event_file_also)
{
	static const char text[] = "vendor intel\nalso x_glc\nalso cpu_core intel 6 151,154\n"
				   "A.B 0x1 0-1 events\n";
	struct pfm_pmu sim = pmu_intel(), skylake = pmu_perf(ARCH_INTEL);
	struct err e = {0};

	assert_int_equal(parse_file(&sim, text, &e), 0);
	encodes(&sim, "x_glc::a:b:u", 0x1, EVENT_USER, 0x3);
	encodes(&sim, "x_glc/A.B/", 0x1, 0, 0x3);
	encodes(&sim, "cpu_core/A.B/uk", 0x1, BOTH, 0x3);
	encodes(&sim, "cpu_core/A.B:c=2/u", 0x2000001, EVENT_USER, 0x3);
	encodes(&sim, "f::A.B", 0x1, 0, 0x3);
	encodes(&sim, "cpu_core/branches/u", 0xc4, EVENT_USER, 0xf);
	refused(&sim, "cpu/A.B/", ENOENT, "A.B");
	refused(&sim, "cpu_core/A.C/", ENOENT, "is it A.B?");
	refused(&sim, "cpu_core//", ENOENT, "cpu_core//");
	refused(&sim, "cpu_core/A.B", ENOENT, "PMU/EVENT/");
	encodes(&sim, "cpu_core/cpu-cycles/u", 0x3c, EVENT_USER, 0x2f);
	/* A hybrid CPU with other cores has PMUs of that name, too. */
	assert_int_equal(parse_file(&skylake, text, &e), 0);
	assert_int_equal(resolved(&skylake, "x_glc::A.B").code, 0x1);
	refused(&skylake, "cpu_core/A.B/", ENOENT, "A.B");
	pfm_pmu_free(&sim);
	pfm_pmu_free(&skylake);
}

/* The PMU of CPUs of @type, "" for what all have, with a file for each type. */
static struct pfm_pmu pmu_of_type(const char *type)
{
	struct pfm_pmu_text text =
		pfm_pmus_text("intel_arch_v5", "sim", pfm_pmus_intel_pmcs, pfm_pmus_intel_pmds);
	struct err e = {0};
	struct pfm_pmu pmu;

	text.types = slice_of("core atom");
	text.type = slice_of(type);
	pmu = pmu_of(text, no_cpu);
	assert_int_equal(
		event_file_parse(slice_of("vendor intel\nalso x_glc\nalso cpu_core\nA.B 0x1 *\n"),
			"p.events", "p", &pmu, &e),
		0);
	assert_int_equal(event_file_parse(slice_of("vendor intel\nalso cpu_atom\nA.B 0x2 *\n"),
				 "e.events", "e", &pmu, &e),
		0);
	return pmu;
}

static void encodes_as(const struct pfm_pmu *pmu, const char *text, uint64_t code, const char *name)
{
	struct pfm_event event;
	struct err e = {0};

	if (event_resolve(pmu, text, &event, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(event.code, code);
	assert_string_equal(event.name, name);
}

TEST(types)
{
	struct pfm_pmu core = pmu_of_type("core"), atom = pmu_of_type("atom"),
		       all = pmu_of_type("");

	encodes_as(&core, "A.B", 0x1, "A.B");
	encodes_as(&atom, "A.B:u", 0x2, "A.B:u");
	encodes_as(&core, "cpu_core/a.b/", 0x1, "a.b");
	encodes_as(&core, "cpu_core/A.B:c=2/u", 0x2000001, "A.B:c=2:u");
	encodes_as(&core, "cpu_core::cycles:k", 0x3c, "cycles:k");
	encodes_as(&core, "core/cpu-cycles/k", 0x3c, "cpu-cycles:k");
	encodes_as(&core, "branch-instructions", 0xc4, "branch-instructions");
	encodes_as(&core, "cpu_core/r01c0/u", 0x1c0, "r01c0:u");
	encodes_as(&core, "cpu_core/pmc1=0x4300c0/", 0xc0, "pmc1=0x4300c0");
	encodes_as(&core, "x_glc/A.B/", 0x1, "x_glc::A.B");
	refused(&atom, "cpu_core/A.B/", EOPNOTSUPP, "type core");
	refused(&atom, "x_glc::A.B", EOPNOTSUPP, "type core");
	refused(&core, "cpu_core/A.C/", ENOENT, "is it A.B?");
	refused(&core, "cpu_gpu/A.B/", ENOENT, "cpu_gpu");
	refused(&all, "A.B", ENOENT, "A.B");
	refused(&all, "cpu_atom/cycles/", EOPNOTSUPP, "type atom");
	encodes_as(&all, "cycles", 0x3c, "cycles");
	assert_string_equal(event_type(&all, "cpu_atom/cycles/"), "atom");
	assert_string_equal(event_type(&all, "x_glc::cycles"), "core");
	assert_null(event_type(&all, "cycles:u"));
	assert_null(event_type(&all, "cpu_gpu::cycles"));
	pfm_pmu_free(&core);
	pfm_pmu_free(&atom);
	pfm_pmu_free(&all);
}

TEST(event_file_refused)
{
	file_refused("A 0x1 *\nB\n", EINVAL, "f.events:2");
	file_refused("A 0x1\n", EINVAL, "f.events:1");
	file_refused("A zz *\n", EINVAL, "zz");
	file_refused("A 0x4300c0 *\n", EINVAL, "level");
	file_refused("A 0x1 3-1\n", EINVAL, "backwards");
	file_refused("A 0x1 64\n", ERANGE, "64");
	file_refused("A 0x10 pmc\n", EINVAL, "f.events:1");
	file_refused("A 0x10+0x1 pmc20\n", EINVAL, "extra register");
	file_refused("A 0x10 pmc64\n", ERANGE, "64");
	file_refused("A 0x400000c pmc20\n", EINVAL, "leave out 0xc");
	file_refused("A 0x1 *\na 0x2 *\n", EINVAL, "f.events:2");
	file_refused("A=B 0x1 *\n", EINVAL, "A=B");
	file_refused("cpu arm 1 2\n", EINVAL, "arm");
	file_refused("vendor\n", EINVAL, "vendor");
	file_refused("cpu amd 26\n", EINVAL, "f.events:1");
	file_refused("cpu amd 26 256\n", ERANGE, "256");
	file_refused("also\n", EINVAL, "also NAME");
	file_refused("also a:b\n", EINVAL, "a:b");
	file_refused("also a arm 1 2\n", EINVAL, "arm");
	file_refused("A 0x1 *\nalso b\n", EINVAL, "f.events:2");
	file_refused("also a2345678901234567890123456789012345678901234567\n", EINVAL, "47 bytes");
	file_refused("pmu\n", EINVAL, "f.events:1");
	file_refused("A 0x10000000000000000 *\n", ERANGE, "f.events:1");
}

/* Values as lines of `regs`. */
static void programs(const struct pfm_pmu *pmu, const char *const *texts, unsigned n,
	const struct event_place *places, unsigned level, const char *wanted)
{
	struct pfm_event events[4];
	struct event_setting out[EVENT_MAX_SETTINGS];
	char got[256] = "";
	unsigned nout;

	for (unsigned i = 0; i < n; i++)
		events[i] = resolved(pmu, texts[i]);
	nout = event_program(pmu, events, n, places, level, out);
	for (unsigned i = 0; i < nout; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "pmc%u %#llx\n", out[i].pmc,
			(unsigned long long)out[i].value);
	assert_string_equal(got, wanted);
}

TEST(program)
{
	struct pfm_pmu intel = pmu_intel(), p6 = pmu_p6(), perf = pmu_perf(ARCH_NONE);

	programs(&intel, (const char *[]){"instructions", "cycles:u", "branches:k", "ref-cycles"},
		4, (struct event_place[]){{4, -1}, {5, -1}, {0, -1}, {6, -1}}, BOTH,
		"pmc16 0x323\npmc0 0x4200c4\n");
	programs(&intel, (const char *[]){"instructions"}, 1, (struct event_place[]){{3, -1}},
		EVENT_USER, "pmc3 0x4100c0\n");
	/* The second select of P6 has no enable bit. */
	programs(&p6, (const char *[]){"cycles"}, 1, (struct event_place[]){{1, -1}}, BOTH,
		"pmc1 0x30079\npmc0 0x400000\n");
	programs(&p6, (const char *[]){"cycles", "instructions"}, 2,
		(struct event_place[]){{1, -1}, {0, -1}}, BOTH, "pmc1 0x30079\npmc0 0x4300c0\n");
	programs(&perf, (const char *[]){"page-faults"}, 1, (struct event_place[]){{0, -1}}, BOTH,
		"pmc0 0x100000000430003\n");
	pfm_pmu_free(&intel);
	pfm_pmu_free(&p6);
	pfm_pmu_free(&perf);
}

/* Registers of the FSB and of instructions, on both sides, and a counter that is not used. */
static struct pfm_pmu pmu_netburst(void)
{
	static const char events[] =
		"cycles 0x26000200 pmc6,38\nir:A 0x04000200 pmc20,51 instructions\n"
		"ir:B 0x04000400 pmc20,51\n64bit_uop 0x04010000 pmc20\nbus 0x34000200 pmc38\n"
		"none 0x04000200 pmc21\nodd 0x84000200 pmc20\nother 0xc0 *\n";
	struct pfm_pmu pmu = pmu_of(
		pfm_pmus_text("netburst", "sim", pfm_pmus_netburst_pmcs, pfm_pmus_netburst_pmds),
		no_cpu);

	assert_int_equal(parse_file(&pmu, events, &why), 0);
	return pmu;
}

static void names(
	const struct pfm_pmu *pmu, unsigned pmd, unsigned pmc, uint64_t value, const char *wanted)
{
	char room[EVENT_TEXT];

	assert_string_equal(
		event_name_of(pmu, pfm_pmu_counter(pmu, pmd), pmc, value, room), wanted);
}

TEST(netburst)
{
	struct pfm_pmu pmu = pmu_netburst(), intel = pmu_intel();
	struct pfm_event event = resolved(&pmu, "cycles:u");

	assert_int_equal(pmu.all, 0xf);
	assert_int_equal(pmu.general, 0xf);
	assert_int_equal(pmu.escrs, 1ULL << 6 | 1ULL << 20 | 1ULL << 38 | 1ULL << 51);
	assert_int_equal(event.escrs, 1ULL << 6 | 1ULL << 38);
	encodes(&pmu, "cycles:u", 0x26000200, EVENT_USER, 0x5);
	encodes(&pmu, "ir:A:B", 0x04000600, 0, 0xa);
	encodes(&pmu, "f::IR:a:k", 0x04000200, EVENT_KERNEL, 0xa);
	encodes(&pmu, "64bit_uop", 0x04010000, 0, 0x2);
	encodes(&pmu, "bus", 0x34000200, 0, 0x4);
	encodes(&pmu, "pmc20=0x0400020c", 0x04000200, BOTH, 0x2);
	encodes(&pmu, "pmc51=0x04000204", 0x04000200, EVENT_USER, 0x8);
	assert_int_equal(resolved(&pmu, "ir:A").cccr, 0);
	assert_int_equal(resolved(&pmu, "ir:A:e").cccr, 0x1040000);
	assert_int_equal(resolved(&pmu, "ir:A:c=2").cccr, 0x140000);
	assert_int_equal(resolved(&pmu, "ir:A:c=16:i").cccr, 0xfc0000);
	refused(&pmu, "ir:A:c=17", ERANGE, "at most 16");
	refused(&pmu, "ir:A:C", ENOENT, "ir:A");
	refused(&pmu, "none", EOPNOTSUPP, "no counter of netburst");
	refused(&pmu, "other", EOPNOTSUPP, "no counter of netburst");
	refused(&pmu, "odd", EINVAL, "reserved in PMC 20");
	refused(&pmu, "pmc20=0x5", EINVAL, "reserved in PMC 20");
	refused(&pmu, "0x0400020c", EINVAL, "pmc6=VALUE");
	refused(&pmu, "pmc29=0x39000", EINVAL, "is a CCCR");
	refused(&pmu, "pmc21=0x4", EINVAL, "pmu/pmcs");
	programs(&pmu, (const char *[]){"cycles:u", "ir:A:k", "ir:B:c=2"}, 3,
		(struct event_place[]){{0, 6}, {3, 51}, {1, 20}}, BOTH,
		"pmc6 0x26000204\npmc23 0x3d000\npmc51 0x4000208\npmc60 0x39000\n"
		"pmc20 0x400040c\npmc29 0x179000\n");
	names(&pmu, 0, 6, 0x26000204, "cycles:u");
	names(&pmu, 6, 20, 0x0400060c, "ir:A:B");
	names(&pmu, 6, 20, 0x04000e0c, "pmc20=0x4000e0c");
	names(&pmu, 6, 20, 0x04000600, "pmc20=0x4000600");
	names(&pmu, 6, 29, 0x39000, "pmc29=0x39000");
	assert_int_equal(pfm_pmu_selector(&pmu, pfm_pmu_counter(&pmu, 0), 0x3d000)->num, 6);
	assert_null(pfm_pmu_selector(&pmu, pfm_pmu_counter(&pmu, 0), 0x31000));
	assert_null(pfm_pmu_selector(&pmu, pfm_pmu_counter(&pmu, 0), 0x33000));
	assert_int_equal(pfm_pmu_selector(&intel, pfm_pmu_counter(&intel, 1), 0)->num, 1);
	assert_int_equal(parse_file(&intel, "ir 0x04000200 pmc20,51\n", &why), 0);
	refused(&intel, "ir", EOPNOTSUPP, "no counter of intel_arch_v4");
	pfm_pmu_free(&pmu);
	pfm_pmu_free(&intel);
}

TEST(counters_text)
{
	struct pfm_pmu intel = pmu_intel(), umc = pmu_umc(), every = {.ncounters = PFM_PMU_REGS};
	char room[PFM_COUNTERS_ROOM];

	assert_string_equal(pfm_pmu_counters(&intel, room, 0x1f), "0-3,16");
	assert_string_equal(pfm_pmu_counters(&intel, room, 0x5), "0,2");
	assert_string_equal(pfm_pmu_counters(&intel, room, UINT64_MAX), "0-3,16-18");
	assert_string_equal(pfm_pmu_counters(&intel, room, 0), "");
	assert_string_equal(pfm_pmu_counters(&umc, room, 0x6), "1,64-72:1/4");
	assert_string_equal(pfm_pmu_counters(&umc, room, umc.all), "0-1,64-73:2/4");
	assert_string_equal(pfm_pmu_counter_list(&umc, room, 0x6), "1,64,68,72");
	assert_string_equal(pfm_pmu_counter_list(&umc, room, umc.all), "0-1,64-65,68-69,72-73");
	assert_string_equal(pfm_pmu_escrs(room, 1ULL << 63 | 0x1b), "0-1,3-4,63");
	/* The longest */
	for (unsigned i = 0; i < PFM_PMU_REGS; i++)
		every.counters[i] = (struct pfm_counter){.nums = {(uint16_t)(319 - 2 * i)}, .n = 1};
	assert_int_equal(strlen(pfm_pmu_counter_list(&every, room, UINT64_MAX)), 255);
	assert_string_equal(pfm_pmu_counters(&every, room, UINT64_MAX), "193-319:1/2");
	/* Groups end where the next numbers are others. */
	assert_string_equal(pfm_pmu_counters(&every, room, 0xf | 0x8000), "289,313-319:1/2");
	every.counters[4].nums[0] = 312;
	assert_string_equal(pfm_pmu_counters(&every, room, 0x1f), "312-313,315-319:1/2");
	every.counters[4].nums[0] = 318;
	assert_string_equal(pfm_pmu_counters(&every, room, 0x1f), "313,315,317-319");
	pfm_pmu_free(&intel);
	pfm_pmu_free(&umc);
}

/* --- Memory controllers */

TEST(umc)
{
	struct pfm_pmu pmu = pmu_umc();

	assert_int_equal(pmu.ncounters, 4);
	assert_int_equal(pmu.general, 0x3);
	assert_int_equal(pmu.umc, 0xc);
	assert_int_equal(pmu.all, 0xf);
	assert_int_equal(pmu.counters[2].n, 3);
	assert_ptr_equal(pfm_pmu_counter(&pmu, 72), &pmu.counters[2]);
	assert_ptr_equal(pfm_pmu_counter(&pmu, 69), &pmu.counters[3]);
	pfm_pmu_free(&pmu);
}

/* Where controllers differ, there is no sum. */
TEST(umc_refused)
{
	static const char pmcs[] =
		UMC_PMC(64, 0x0) UMC_PMC(65, 0x2) UMC_PMC(68, 0x8) UMC_PMC(69, 0xa);

	pmu_refused(
		pmcs, UMC_PMD(64, 0x1, 0) UMC_PMD(68, 0x9, 1) UMC_PMD(69, 0xb, 1), "", "PMD 69");
	pmu_refused(pmcs, UMC_PMD(64, 0x1, 0) UMC_PMD(65, 0x3, 0) UMC_PMD(68, 0x9, 1), "",
		"different numbers");
	pmu_refused(pmcs, UMC_PMD(64, 0x1, 0) UMC_PMD(68, 0x9, 2), "", "PMD 68");
	pmu_refused(pmcs, UMC_PMD(64, 0x1, 0) UMC_PMD(64, 0x1, 1), "", "twice");
	pmu_refused(pmcs, UMC_PMD(64, 0x1, x), "", "pmds:1");
}

TEST(umc_events)
{
	static const char text[] = "umc_mem_clk 0x0 umc cycles\numc_cas_cmd.rd 0x10a umc reads\n"
				   "wrong 0x400 umc not an event\n";
	struct pfm_pmu pmu = pmu_umc(), perf = pmu_perf(ARCH_AMD);
	struct err e = {0};

	assert_int_equal(event_file_parse(slice_of(text), "u.events", "amd_umc", &pmu, &e), 0);
	assert_int_equal(event_file_parse(slice_of(text), "u.events", "amd_umc", &perf, &e), 0);
	encodes(&pmu, "umc_cas_cmd.rd", 0x10a, BOTH, 0xc);
	encodes(&pmu, "amd_umc/umc_cas_cmd.rd/", 0x10a, BOTH, 0xc);
	encodes(&pmu, "umc_mem_clk", 0, BOTH, 0xc);
	/* An event of the CPU may have the same code. */
	encodes(&pmu, "r10a", 0x10a, 0, 0x3);
	refused(&pmu, "umc_cas_cmd.rd:u", EINVAL, "modifiers");
	refused(&pmu, "umc_cas_cmd.rd:e", EINVAL, "modifiers");
	refused(&pmu, "wrong", EINVAL, "0x400 are reserved in PMC 64");
	refused(&pmu, "pmc64=0x8000010a", EOPNOTSUPP, "files of a context");
	refused(&perf, "umc_cas_cmd.rd", EOPNOTSUPP, "msr backend");
	pfm_pmu_free(&pmu);
	pfm_pmu_free(&perf);
}

/* Each event is in all controllers, or not counted. */
TEST(umc_assigned)
{
	static const char text[] = "cas.rd 0x10a umc\ncas.wr 0x20a umc\ncas 0x00a umc\n";
	const char *const names[] = {"cas.rd", "r0076:u", "cas.wr"};
	struct pfm_pmu pmu = pmu_umc();
	struct pfm_event events[4];
	struct err e = {0};
	struct event_place places[4];

	assert_int_equal(parse_file(&pmu, text, &e), 0);
	for (unsigned i = 0; i < 3; i++)
		events[i] = resolved(&pmu, names[i]);
	events[3] = resolved(&pmu, "cas");
	assert_int_equal(assign_events(&pmu, events, 3, pmu.all, places, &e), 0);
	programs(&pmu, names, 3, places, BOTH,
		"pmc64 0x8000010a\npmc68 0x8000010a\npmc72 0x8000010a\npmc0 0x410076\n"
		"pmc65 0x8000020a\npmc69 0x8000020a\npmc73 0x8000020a\n");
	assert_int_equal(assign_events(&pmu, events, 4, pmu.all, places, &e), -ENOSPC);
	assert_int_equal(assign_conflict(&pmu, events, 4, pmu.all), 0xd);
	assert_non_null(strstr(e.text, "PMD 64-73:2/4"));
	/* One of its PMDs is in use. */
	assert_int_equal(assign_events(&pmu, events, 3, 0x7, places, &e), -EBUSY);
	pfm_pmu_free(&pmu);
}

/* What the selectors of a context count is told of CPUs' counters alone. */
TEST(umc_names)
{
	struct pfm_pmu pmu = pmu_umc();
	char room[EVENT_TEXT];
	struct err e = {0};

	assert_int_equal(parse_file(&pmu, "cas.rd 0x10a umc\nother 0x10a *\n", &e), 0);
	assert_string_equal(event_name_of(&pmu, &pmu.counters[0], 0, 0x43010a, room), "other");
	pfm_pmu_free(&pmu);
}

TEST(libpfm)
{
	struct pfm_pmu intel = pmu_intel(), amd = pmu_amd("sim");

	if (!libpfm_version())
		skip();
	encodes(&intel, "skl::BR_MISP_RETIRED:ALL_BRANCHES:u", 0xc5, EVENT_USER, 0xf);
	encodes(&intel, "skl::UNHALTED_REFERENCE_CYCLES", 0x300, 0, 0x40);
	encodes(&intel, "icl::INST_RETIRED:PREC_DIST", 0x0100, 0, 0x10);
	/* libpfm4 has codes of fixed counters, or of nothing, for what has events. */
	encodes(&intel, "glm::CPU_CLK_UNHALTED:CORE_P", 0x003c, 0, 0x2f);
	encodes(&intel, "glm::CPU_CLK_UNHALTED:REF", 0x013c, 0, 0xf);
	encodes(&intel, "icl::TOPDOWN:BACKEND_BOUND_SLOTS:u", 0x02a4, EVENT_USER, 0xf);
	encodes(&intel, "spr::TOPDOWN:BAD_SPEC_SLOTS", 0x04a4, 0, 0xf);
	encodes(&intel, "icl::TOPDOWN:SLOTS_P", 0x01a4, 0, 0xf);
	refused(&intel, "icl::TOPDOWN:SLOTS", EOPNOTSUPP, "icl::TOPDOWN:SLOTS");
	encodes(&amd, "amd64_fam19h_zen4::RETIRED_INSTRUCTIONS:k", 0xc0, EVENT_KERNEL, 0x3f);
	refused(&intel, "amd64_fam19h_zen4::RETIRED_INSTRUCTIONS", EINVAL, "vendor");
	refused(&intel, "skl::BR_MISP_RETIRED:ALL", EINVAL, "skl");
	refused(&intel, "skl::BR_MISP_RETIRD", ENOENT, "skl::BR_MISP_RETIRED");
	refused(&intel, "skl::OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE", EOPNOTSUPP, "0x1a6");
	refused(&intel, "netburst::instr_retired:NBOGUSNTAG", EOPNOTSUPP, "does not offer");
	/* Codes of perf_event_open are no codes of registers. */
	refused(&intel, "PERF_COUNT_HW_CPU_CYCLES", ENOENT, "PERF_COUNT_HW_CPU_CYCLES");
	pfm_pmu_free(&intel);
	pfm_pmu_free(&amd);
}

TEST(cpuinfo)
{
	struct pfm_cpu cpu = cpuinfo_parse(
		slice_of("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\n"
			 "model\t\t: 2\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\nmodel\t\t: 3\n"));

	assert_int_equal(cpu.encoding, ARCH_AMD);
	assert_int_equal(cpu.family, 26);
	assert_int_equal(cpu.model, 2);
	assert_int_equal(cpuinfo_parse(slice_of("vendor_id: GenuineIntel\n")).encoding, ARCH_INTEL);
	cpu = cpuinfo_parse(slice_of(""));
	assert_int_equal(cpu.encoding, ARCH_NONE);
	assert_int_equal(cpu.family, -1);
}

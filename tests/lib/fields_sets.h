/* SPDX-License-Identifier: MIT */
/*
 * As fields.h, of event sets. Names for what differs, besides those of fields.h:
 *
 *	TIME(ns), NS(time)  of the field set_timeout, and back; as the version rounds it:
 *	ROUND_UP(ns)
 *	DURATION(time)      ns of the field set_act_duration
 *	SWITCHED(info)      the field, if it is not called set_ovfl_pmds
 *	create_evtsets(), delete_evtsets(), getinfo_evtsets()  if they are not called pfm_ so
 *
 * Times that nothing is said of are ns.
 */
#ifndef TESTS_LIB_FIELDS_SETS_H
#define TESTS_LIB_FIELDS_SETS_H

#include "tests/lib/fields.h"

enum { SETS = 3 };

#ifndef create_evtsets
#define create_evtsets  pfm_create_evtsets
#define delete_evtsets  pfm_delete_evtsets
#define getinfo_evtsets pfm_getinfo_evtsets
#endif
#ifndef TIME
#define TIME(ns) (ns)
#define NS(time) (time)
#endif
#ifndef ROUND_UP
#define ROUND_UP(ns) (ns)
#endif
#ifndef DURATION
#define DURATION(time) (time)
#endif
#ifndef SWITCHED
#define SWITCHED(info) (info).set_ovfl_pmds
#endif

/* False: the version has no such field. */
static bool set_next(pfarg_setdesc_t *desc, uint16_t id)
{
#ifdef PFM_SETFL_EXPL_NEXT
	desc->set_id_next = id;
	desc->set_flags |= PFM_SETFL_EXPL_NEXT;
	return true;
#else
	(void)desc;
	(void)id;
	return false;
#endif
}

static const struct wanted_set {
	uint16_t id, next;
	uint32_t flags;
	uint64_t timeout;
	const char *text; /* the flags */
} wanted_sets[SETS] = {
	{0, 3, PFM_SETFL_TIME_SWITCH, 7000000, "time_switch"},
	{3, 9, PFM_SETFL_OVFL_SWITCH, 0, "ovfl_switch"},
	{9, 3, PFM_SETFL_TIME_SWITCH, 1234567000, "time_switch"},
};

static void made(int fd)
{
	pfarg_setdesc_t desc[SETS] = {0};
	char text[64];

	for (unsigned i = 0; i < SETS; i++) {
		desc[i].set_id = wanted_sets[i].id;
		desc[i].set_flags = wanted_sets[i].flags;
		desc[i].set_timeout = TIME(wanted_sets[i].timeout);
		set_next(&desc[i], wanted_sets[i].next);
	}
	OK(create_evtsets(fd, desc, SETS));
	for (unsigned i = 0; i < SETS; i++) {
		bool next = set_next(&desc[i], wanted_sets[i].next);
		uint64_t ns =
			number_in("ctx/%lu/set/%u/timeout_ns", the_context(), wanted_sets[i].id);
		IS(NS(desc[i].set_timeout), ROUND_UP(ns));
		IS(ns, wanted_sets[i].timeout);
		snprintf(text, sizeof(text), "%s%s", wanted_sets[i].text, next ? " expl_next" : "");
		HAS(text, "ctx/%lu/set/%u/flags", the_context(), wanted_sets[i].id);
		snprintf(text, sizeof(text), "%u", wanted_sets[i].next);
		HAS(next ? text : "default", "ctx/%lu/set/%u/next", the_context(),
			wanted_sets[i].id);
	}
}

/* In set 3, each overflow of PMD 2 switches. */
static void switching(int fd)
{
	pmc_t pmc = {0};
	pmd_t pmd = {0};

	pmc.reg_num = pmd.reg_num = 2;
	pmc.reg_set = pmd.reg_set = 3;
	pmc.reg_value = INSTRUCTIONS;
	pmd.reg_value = pmd.reg_short_reset = (uint64_t)-100000000;
	SWITCH_CNT(pmd) = 1;
	NOTICE(&pmc, &pmd)->reg_flags = ALWAYS;
	OK(write_both(fd, &pmc, &pmd));
}

static void has_state(const char *what, uint16_t set)
{
	char line[64];

	snprintf(line, sizeof(line), "%s cpu=%d set=%u", what, CPU, set);
	HAS(line, "ctx/%lu/state", the_context());
}

/* What not all versions have. Registers are those of the simulator's intel_v4; there may be more
 * virtual PMDs. */
static void rest_of_info(const pfarg_setinfo_t *info, uint16_t next)
{
	(void)info;
	(void)next;
#ifdef PFM_SETFL_EXPL_NEXT
	IS(info->set_id_next, next);
	IS(info->set_flags & PFM_SETFL_EXPL_NEXT, PFM_SETFL_EXPL_NEXT);
#endif
#if PERFMON_ABI != 6
	IS(info->set_avail_pmcs[0], 0x1000f);
	IS(info->set_avail_pmds[0], 0x7000f);
	for (unsigned k = 1; k < 4; k++)
		IS(info->set_avail_pmcs[k] | info->set_avail_pmds[k], 0);
	IS(info->set_avail_pmcs[4], 0);
	IS(info->set_avail_pmds[4] & 0xf, 0xf);
#endif
}

/* Compares the information on set @i with its files. */
static void compare_info(const pfarg_setinfo_t *info, unsigned i)
{
	unsigned long ctx = the_context();
	unsigned id = wanted_sets[i].id;

	IS(info->set_id, id);
	IS(info->set_flags & ~PFM_REG_RETFL_MASK & 3, wanted_sets[i].flags);
	IS(SWITCHED(*info)[0], i == 1 ? 1 << 2 : 0);
	HAS(i == 1 ? "2" : "none", "ctx/%lu/set/%u/switch_pmds", ctx, id);
	IS(info->set_runs, number_in("ctx/%lu/set/%u/runs", ctx, id));
	IS(NS(info->set_timeout), ROUND_UP(number_in("ctx/%lu/set/%u/remaining_ns", ctx, id)));
	IS(DURATION(info->set_act_duration), number_in("ctx/%lu/set/%u/active_ns", ctx, id));
	rest_of_info(info, wanted_sets[i].next);
}

#ifndef PFM_SETFL_EXPL_NEXT
#define PFM_SETFL_EXPL_NEXT 0
#endif
#ifndef PFM_SETFL_EXCL_IDLE
#define PFM_SETFL_EXCL_IDLE 0
#endif

static const uint32_t both_switches = PFM_SETFL_OVFL_SWITCH | PFM_SETFL_TIME_SWITCH;
static const uint32_t all_flags =
	PFM_SETFL_OVFL_SWITCH | PFM_SETFL_TIME_SWITCH | PFM_SETFL_EXPL_NEXT | PFM_SETFL_EXCL_IDLE;

static void has_flags(int fd, uint16_t set, uint32_t flags)
{
	pfarg_setinfo_t info = {.set_id = set, .set_flags = PFM_REG_RETFL_MASK};

	OK(getinfo_evtsets(fd, &info, 1));
	IS(info.set_flags, flags);
}

/* Error flags of an earlier call may be in the structure, and are no flags of the set. */
static int set_flags(int fd, uint16_t set, uint32_t flags)
{
	pfarg_setdesc_t desc = {.set_id = set, .set_flags = flags | PFM_REG_RETFL_MASK};
	int rc;

	desc.set_timeout = TIME(2000000);
	rc = create_evtsets(fd, &desc, 1);
	IS(desc.set_flags & ~PFM_REG_RETFL_MASK, flags);
	IS(desc.set_flags & PFM_REG_RETFL_MASK, rc < 0 ? PFM_REG_RETFL_EINVAL : 0);
	return rc;
}

/*
 * As passed when the set was made or last changed (3.1.12), by a call that succeeded. This includes
 * EXCL_IDLE of a context for threads, where it has no effect.
 */
static void flags_as_passed(uint32_t context_flags)
{
	const uint32_t refused = context_flags & PFM_FL_SYSTEM_WIDE ? PFM_SETFL_EXCL_IDLE : 0;
	int fd = make(context_flags);
	uint32_t last = 0;

	has_flags(fd, 0, 0);
	OK(set_flags(fd, 5, 0));
	for (uint32_t flags = 0; flags < 0x20; flags++) {
		bool valid = !(flags & ~all_flags) && !(flags & refused) &&
			     (flags & both_switches) != both_switches;

		if (valid)
			last = flags;
		for (uint16_t set = 0; set <= 5; set = (uint16_t)(set + 5)) {
			if (valid)
				OK(set_flags(fd, set, flags));
			else
				FAILS(set_flags(fd, set, flags), EINVAL);
			has_flags(fd, set, last);
		}
	}
	FAILS(set_flags(fd, 5, 0x100), EINVAL); /* The command has it, no version does. */
	close(fd);
}

/* Sets that are deleted; those that cannot be, or do not exist, and why. */
static void deleted(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_setdesc_t desc[2] = {{.set_id = 0}, {.set_id = 1}}, *no_desc = NOWHERE;
	pfarg_setinfo_t info = {.set_id = 1}, *no_info = NOWHERE;

	FAILS(create_evtsets(fd, no_desc, 1), EFAULT);
	FAILS(delete_evtsets(fd, no_desc, 1), EFAULT);
	FAILS(getinfo_evtsets(fd, no_info, 1), EFAULT);
	OK(create_evtsets(fd, desc, 2));
	load(fd, 0);
	FAILS(delete_evtsets(fd, desc + 1, 1), EBUSY);
	OK(unload(fd));
	FAILS(delete_evtsets(fd, desc, 1), EINVAL);
	desc[1].set_flags = 0;
	OK(delete_evtsets(fd, desc + 1, 1));
	FAILS(delete_evtsets(fd, desc + 1, 1), EINVAL);
	IS(desc[1].set_flags, PFM_REG_RETFL_NOSET);
	FAILS(getinfo_evtsets(fd, &info, 1), EINVAL);
	IS(info.set_flags & PFM_REG_RETFL_MASK, PFM_REG_RETFL_NOSET);
	close(fd);
}

/* Creating an existing set preserves its registers and times (3.1.10, 3.1.12). Kernels of 2.2 to
 * 2.81 made a new one. */
static void made_again(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_setinfo_t info = {0};
	pmc_t pmc = {.reg_value = INSTRUCTIONS};
	pmd_t pmd = {.reg_value = 7};
	bool preserved = PERFMON_ABI == 6 || PERFMON_ABI == 2008;

	OK(write_both(fd, &pmc, &pmd));
	load(fd, 0);
	OK(unload(fd));
	OK(set_flags(fd, 0, PFM_SETFL_TIME_SWITCH));
	OK(read_pmds(fd, &pmd, 1));
	IS(pmd.reg_value, preserved ? 7 : 0);
	IS(number_in("ctx/%lu/pmc/0", the_context()) == INSTRUCTIONS, preserved);
	OK(getinfo_evtsets(fd, &info, 1));
	IS(info.set_flags, PFM_SETFL_TIME_SWITCH);
	IS(info.set_runs, preserved);
	close(fd);
}

/* As not_reached(). Only the specification looks at flags here (2.3.7). */
static void info_not_reached(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_setinfo_t info[3], untouched;

	memset(info, 0x55, sizeof(info));
	memset(&untouched, 0x55, sizeof(untouched));
	info[0].set_id = 0;
	info[1].set_id = 99;
	if (PERFMON_ABI == 6)
		info[0].set_flags = info[1].set_flags = 0;
	FAILS(getinfo_evtsets(fd, info, 3), EINVAL);
	IS(info[0].set_flags, 0);
	IS(info[0].set_runs, 0);
	IS(info[1].set_flags & PFM_REG_RETFL_MASK, PFM_REG_RETFL_NOSET);
	IS(info[1].set_runs == untouched.set_runs, 1);
	FAILS(getinfo_evtsets(open_file("version"), info + 2, 1), EBADF);
	IS(memcmp(&info[2], &untouched, sizeof(untouched)), 0);
	close(fd);
}

static void bad_descriptors_for_sets(void)
{
	pfarg_setdesc_t desc = {0};
	pfarg_setinfo_t info = {0};

	for (unsigned i = 0; i < BAD_DESCRIPTORS; i++) {
		FAILS(create_evtsets(bad_descriptor(i), &desc, 1), EBADF);
		FAILS(delete_evtsets(bad_descriptor(i), &desc, 1), EBADF);
		FAILS(getinfo_evtsets(bad_descriptor(i), &info, 1), EBADF);
	}
}

static void fields_of_sets(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_setinfo_t info[SETS] = {0};

	made(fd);
	written(fd, 9);
	close(fd);
	fd = make(PFM_FL_SYSTEM_WIDE);
	made(fd);
	switching(fd);
	has_state("loaded", load(fd, 3));
	start(fd, 9);
	has_state("running", 9);
	advance(2000000000);
	stop(fd);
	for (unsigned i = 0; i < SETS; i++)
		info[i].set_id = wanted_sets[i].id;
	OK(getinfo_evtsets(fd, info, SETS));
	for (unsigned i = 0; i < SETS; i++)
		compare_info(&info[i], i);
	IS(info[2].set_runs >= 2, 1);
	IS(NS(info[2].set_timeout) > 0, 1);
	IS(DURATION(info[2].set_act_duration) > 1234567000, 1);
	close(fd);
	fd = make(PFM_FL_SYSTEM_WIDE);
	made(fd);
	overflow_message(fd, 9);
	close(fd);
	flags_as_passed(PFM_FL_SYSTEM_WIDE);
	flags_as_passed(0);
	deleted();
	made_again();
	info_not_reached();
	bad_descriptors_for_sets();
}

#endif

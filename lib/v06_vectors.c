// SPDX-License-Identifier: MIT
/* Registers and event sets of the specification (3.1.2 to 3.1.4, 3.1.10 to 3.1.12). */
#include "lib/v06.h"

#include <errno.h>
#include <string.h>

#include "lib/sets.h"
#include "perfmon/perfmon_v06.h"

enum { NS_PER_SEC = 1000000000 };

/* A vector has at least one element; too many are a wrong address to the specification. */
static int checked(const struct target *t, const struct shape *s, void *arg, int n)
{
	if (n <= 0)
		return fail(EINVAL);
	int rc = vector_shaped(t, s, arg, n);
	return rc < 0 && errno == E2BIG ? fail(EFAULT) : rc;
}

static void pmc_to(const struct target *t, const void *theirs, void *ours)
{
	const pfarg_pmc_t *from = theirs;
	struct pfm_ioc_pmd *to = ours;

	(void)t;
	to->num = from->reg_num;
	to->set = from->reg_set;
	to->flags = flags_to(from->reg_flags);
	to->value = from->reg_value;
	memcpy(to->reset_pmds, from->reg_reset_pmds, sizeof(to->reset_pmds));
	memcpy(to->smpl_pmds, from->reg_smpl_pmds, sizeof(to->smpl_pmds));
	to->smpl_eventid = from->reg_smpl_eventid;
}

int v06_write_pmcs(int fd, void *arg, int n)
{
	static const struct shape shape = {PFM_IOC_WRITE_PMCS_V06, sizeof(pfarg_pmc_t),
		sizeof(struct pfm_ioc_pmd), pmc_to, errors_from};
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : checked(&t, &shape, arg, n);
}

/* PMDs have no flags: notification and the like are written with the PMC that controls them. */
static void pmd_to(const struct target *t, const void *theirs, void *ours)
{
	const pfarg_pmd_t *from = theirs;
	struct pfm_ioc_pmd *to = ours;

	(void)t;
	to->num = from->reg_num;
	to->set = from->reg_set;
	to->flags = flags_of(from->reg_flags, 0) | PFM_IOC_REGFL_KEEP_NOTICE;
	to->value = from->reg_value;
	to->long_reset = from->reg_long_reset;
	to->short_reset = from->reg_short_reset;
	to->ovfl_switch_cnt = from->reg_ovflsw_thres;
	to->random_mask = from->reg_random_mask;
	to->random_seed = from->reg_random_seed;
}

int v06_write_pmds(int fd, void *arg, int n)
{
	static const struct shape shape = {PFM_IOC_WRITE_PMDS, sizeof(pfarg_pmd_t),
		sizeof(struct pfm_ioc_pmd), pmd_to, errors_from};
	struct target t;

	return target_here(&t, fd) < 0 ? -1 : checked(&t, &shape, arg, n);
}

static void pmd_wanted(const struct target *t, const void *theirs, void *ours)
{
	const pfarg_pmd_t *from = theirs;
	struct pfm_ioc_pmd *to = ours;

	(void)t;
	to->num = from->reg_num;
	to->set = from->reg_set;
}

static void pmd_read(const void *ours, void *theirs)
{
	const struct pfm_ioc_pmd *from = ours;
	pfarg_pmd_t *to = theirs;

	errors_from(ours, theirs);
	if (has_error(ours))
		return;
	to->reg_value = from->value;
	to->reg_last_reset_val = from->last_reset_val;
	to->reg_ovflsw_thres = from->ovfl_switch_cnt;
}

int v06_read_pmds(int fd, void *arg, int n)
{
	static const struct shape shape = {PFM_IOC_READ_PMDS, sizeof(pfarg_pmd_t),
		sizeof(struct pfm_ioc_pmd), pmd_wanted, pmd_read};
	struct target t;

	return target_to_read(&t, fd) < 0 ? -1 : checked(&t, &shape, arg, n);
}

static struct timespec timespec_of(uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC)};

	return ts;
}

/* The timeout of a set that switches by time; 0, which is refused, if it is none. */
static uint64_t timeout_of(const struct timespec *ts)
{
	if (ts->tv_sec < 0 || ts->tv_sec > INT32_MAX || ts->tv_nsec < 0 ||
		ts->tv_nsec >= NS_PER_SEC)
		return 0;
	return (uint64_t)ts->tv_sec * NS_PER_SEC + (uint64_t)ts->tv_nsec;
}

static void setdesc_to(const struct target *t, const void *theirs, void *ours)
{
	struct pfm_ioc_setdesc *to = ours;

	set_head_to(t, theirs, to);
	to->flags |= PFM_IOC_SETFL_KEEP;
	if (to->flags & PFM_IOC_SETFL_TIME_SWITCH)
		to->timeout = timeout_of(&((const pfarg_setdesc_t *)theirs)->set_timeout);
}

static void setdesc_from(const void *ours, void *theirs)
{
	const struct pfm_ioc_setdesc *from = ours;
	pfarg_setdesc_t *to = theirs;

	errors_from(ours, theirs);
	if (from->flags & PFM_IOC_SETFL_TIME_SWITCH)
		to->set_timeout = timespec_of(from->timeout);
}

static int sets(int fd, const struct shape *s, void *arg, int n)
{
	struct target t;

	return target_get(&t, fd) < 0 ? -1 : checked(&t, s, arg, n);
}

int v06_create_evtsets(int fd, void *arg, int n)
{
	static const struct shape shape = {PFM_IOC_CREATE_EVTSETS, sizeof(pfarg_setdesc_t),
		sizeof(struct pfm_ioc_setdesc), setdesc_to, setdesc_from};

	return sets(fd, &shape, arg, n);
}

int v06_delete_evtsets(int fd, void *arg, int n)
{
	static const struct shape shape = {PFM_IOC_DELETE_EVTSETS, sizeof(pfarg_setdesc_t),
		sizeof(struct pfm_ioc_setdesc), set_id_to, errors_from};

	return sets(fd, &shape, arg, n);
}

static void setinfo_from(const void *ours, void *theirs)
{
	const struct pfm_ioc_setinfo *from = ours;
	pfarg_setinfo_t *to = theirs;

	if (has_error(ours)) {
		errors_from(ours, theirs);
		return;
	}
	to->set_id_next = from->id_next;
	to->set_flags = from->flags;
	memcpy(to->set_switch_pmds, from->ovfl_pmds, sizeof(to->set_switch_pmds));
	to->set_runs = from->runs;
	to->set_timeout = timespec_of(from->timeout);
	to->set_act_duration = timespec_of(from->act_duration);
}

int v06_getinfo_evtsets(int fd, void *arg, int n)
{
	static const struct shape shape = {PFM_IOC_GETINFO_EVTSETS, sizeof(pfarg_setinfo_t),
		sizeof(struct pfm_ioc_setinfo), set_id_to, setinfo_from};

	return sets(fd, &shape, arg, n);
}

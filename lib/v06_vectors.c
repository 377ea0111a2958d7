// SPDX-License-Identifier: MIT
/* Registers and event sets of the specification (3.1.2 to 3.1.4, 3.1.10 to 3.1.12). */
#include "lib/v06.h"

#include <string.h>

#include "lib/abi_conv.h"
#include "perfmon/perfmon_v06.h"

enum { NS_PER_SEC = 1000000000 };

_Static_assert(PFM_REGFL_READ_RESET == PFM_IOC_REGFL_READ_RESET, "");

static void v06_pmc_to(const void *user, void *ioc)
{
	const pfarg_pmc_t *from = user;
	struct pfm_ioc_pmd *to = ioc;

	to->num = from->reg_num;
	to->set = from->reg_set;
	to->flags = abi_clear_errors(from->reg_flags);
	to->value = from->reg_value;
	memcpy(to->reset_pmds, from->reg_reset_pmds, sizeof(to->reset_pmds));
	memcpy(to->smpl_pmds, from->reg_smpl_pmds, sizeof(to->smpl_pmds));
	to->smpl_eventid = from->reg_smpl_eventid;
}

/* Converts a PMD. PMDs have no flags: notification and related fields are written with the PMC that
 * controls the PMD. */
static void v06_pmd_to(const void *user, void *ioc)
{
	const pfarg_pmd_t *from = user;
	struct pfm_ioc_pmd *to = ioc;

	to->num = from->reg_num;
	to->set = from->reg_set;
	to->flags = abi_check_flags(from->reg_flags, 0) | PFM_IOC_REGFL_KEEP_NOTICE |
		    PFM_IOC_REGFL_KEEP_RESET;
	to->value = from->reg_value;
	to->long_reset = from->reg_long_reset;
	to->short_reset = from->reg_short_reset;
	to->ovfl_switch_cnt = from->reg_ovflsw_thres;
	to->random_mask = from->reg_random_mask;
	to->random_seed = from->reg_random_seed;
}

static void v06_pmd_to_read(const void *user, void *ioc)
{
	const pfarg_pmd_t *from = user;
	struct pfm_ioc_pmd *to = ioc;

	to->num = from->reg_num;
	to->set = from->reg_set;
	to->flags = abi_check_flags(from->reg_flags, PFM_REGFL_READ_RESET);
}

static void v06_pmd_from_read(const void *ioc, void *user)
{
	const struct pfm_ioc_pmd *from = ioc;
	pfarg_pmd_t *to = user;

	abi_copy_errors(ioc, user);
	if (abi_has_error(ioc))
		return;
	to->reg_value = from->value;
	to->reg_last_reset_val = from->last_reset_val;
	to->reg_ovflsw_thres = from->ovfl_switch_cnt;
}

static struct timespec v06_timespec(uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC)};

	return ts;
}

/* Converts @ts to nanoseconds. An invalid @ts gives 0, which the daemon refuses as a timeout. */
static uint64_t v06_nanoseconds(const struct timespec *ts)
{
	if (ts->tv_sec < 0 || ts->tv_sec > INT32_MAX || ts->tv_nsec < 0 ||
		ts->tv_nsec >= NS_PER_SEC)
		return 0;
	return (uint64_t)ts->tv_sec * NS_PER_SEC + (uint64_t)ts->tv_nsec;
}

static void v06_setdesc_to(const void *user, void *ioc)
{
	struct pfm_ioc_setdesc *to = ioc;

	abi_setdesc_head_in(user, to);
	to->flags |= PFM_IOC_SETFL_KEEP;
	if (to->flags & PFM_IOC_SETFL_TIME_SWITCH)
		to->timeout = v06_nanoseconds(&((const pfarg_setdesc_t *)user)->set_timeout);
}

static void v06_setdesc_from(const void *ioc, void *user)
{
	const struct pfm_ioc_setdesc *from = ioc;
	pfarg_setdesc_t *to = user;

	abi_copy_errors(ioc, user);
	if (from->flags & PFM_IOC_SETFL_TIME_SWITCH)
		to->set_timeout = v06_timespec(from->timeout);
}

/*
 * Converts a set, using only its id. Undefined flags are refused (2.3.7), but set flags are
 * accepted, so that a program can reuse the structure of another command or of the last
 * PFM_GETINFO_EVTSETS.
 */
static void v06_set_id_to(const void *user, void *ioc)
{
	const uint32_t known = PFM_SETFL_OVFL_SWITCH | PFM_SETFL_TIME_SWITCH | PFM_SETFL_EXPL_NEXT |
			       PFM_SETFL_EXCL_IDLE;
	uint32_t flags = abi_check_flags(((const struct abi_head *)user)->flags, known);

	abi_set_id_in(user, ioc);
	((struct abi_head *)ioc)->flags = flags;
}

static void v06_setinfo_from(const void *ioc, void *user)
{
	const struct pfm_ioc_setinfo *from = ioc;
	pfarg_setinfo_t *to = user;

	if (abi_has_error(ioc)) {
		abi_copy_errors(ioc, user);
		return;
	}
	to->set_id_next = from->id_next;
	to->set_flags = from->flags;
	memcpy(to->set_switch_pmds, from->ovfl_pmds, sizeof(to->set_switch_pmds));
	to->set_runs = from->runs;
	to->set_timeout = v06_timespec(from->timeout);
	to->set_act_duration = v06_timespec(from->act_duration);
}

static const struct abi_conv vectors[] = {
	[PFM_WRITE_PMCS] = {cpu_get_ctx, PFM_IOC_WRITE_PMCS_V06, sizeof(pfarg_pmc_t), v06_pmc_to,
		abi_copy_errors},
	[PFM_WRITE_PMDS] = {cpu_get_ctx, PFM_IOC_WRITE_PMDS, sizeof(pfarg_pmd_t), v06_pmd_to,
		abi_copy_errors},
	[PFM_READ_PMDS] = {cpu_get_ctx_to_read, PFM_IOC_READ_RESET_PMDS, sizeof(pfarg_pmd_t),
		v06_pmd_to_read, v06_pmd_from_read},
	[PFM_CREATE_EVTSETS] = {ctx_fd_get, PFM_IOC_CREATE_EVTSETS, sizeof(pfarg_setdesc_t),
		v06_setdesc_to, v06_setdesc_from},
	[PFM_DELETE_EVTSETS] = {ctx_fd_get, PFM_IOC_DELETE_EVTSETS, sizeof(pfarg_setdesc_t),
		v06_set_id_to, abi_copy_errors},
	[PFM_GETINFO_EVTSETS] = {ctx_fd_get, PFM_IOC_GETINFO_EVTSETS, sizeof(pfarg_setinfo_t),
		v06_set_id_to, v06_setinfo_from},
};

/* The specification requires at least one element, and fails with EFAULT for too many. */
int v06_vector(int fd, int cmd, void *arg, int n)
{
	const struct abi_conv *conv = &vectors[cmd];
	struct ctx_fd t;

	if (conv->get(&t, fd) < 0)
		return -1;
	if (n <= 0)
		return lib_fail(EINVAL);
	int rc = vector_convert(&t, conv, arg, n);
	return rc < 0 && errno == E2BIG ? lib_fail(EFAULT) : rc;
}

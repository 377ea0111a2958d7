// SPDX-License-Identifier: MIT
/*
 * The calls of perfmon2 2.6 to 2.81. Structures have the layout of the commands, but kernels
 * ignored reserved fields, which the daemon requires to be 0. So reserved fields are not passed.
 */
#include "lib/lib_i.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "lib/abi_conv.h"
#include "lib/debug.h"
#include "perfmon/perfmon_v2.h"

static int v2_create_context(pfarg_ctx_t *ctx, char *smpl_name, void *smpl_arg, size_t smpl_size)
{
	char name[PFM_IOC_FORMAT_MAX];
	unsigned char arg[CREATE_ARG_MAX];
	struct creation c = {.arg = arg, .arg_size = smpl_size};
	pfarg_ctx_t copy;

	if (copy_in(&copy, ctx, sizeof(copy)) < 0)
		return -1;
	if ((!smpl_name && (smpl_arg || smpl_size)) || (!smpl_arg && smpl_size))
		return lib_fail(EINVAL);
	if (smpl_size > sizeof(arg))
		return lib_fail(E2BIG);
	if (smpl_name) {
		if (copy_string(name, smpl_name, sizeof(name)) < 0)
			return -1;
		c.format = name;
	}
	if (smpl_size && copy_in(arg, smpl_arg, smpl_size) < 0)
		return -1;
	c.flags = copy.ctx_flags;
	return create_context(&c);
}

API int pfm_create_context(pfarg_ctx_t *ctx, char *smpl_name, void *smpl_arg, size_t smpl_size)
{
	return debug_result(
		"pfm_create_context", -1, v2_create_context(ctx, smpl_name, smpl_arg, smpl_size));
}

_Static_assert(sizeof(pfarg_pmc_t) == sizeof(struct pfm_ioc_pmc), "");
_Static_assert(sizeof(pfarg_pmd_t) == sizeof(struct pfm_ioc_pmd), "");
_Static_assert(sizeof(pfarg_setdesc_t) == sizeof(struct pfm_ioc_setdesc), "");
_Static_assert(sizeof(pfarg_setinfo_t) == sizeof(struct pfm_ioc_setinfo), "");

/* EINVAL if the size of @n elements does not fit into an int. */
static int v2_check_count(int n, size_t element)
{
	return n < 0 || (size_t)n >= INT_MAX / element ? lib_fail(EINVAL) : 0;
}

static int v2_pass(
	int fd, int (*get)(struct ctx_fd *t, int fd), unsigned long cmd, void *elements, int n)
{
	struct ctx_fd t;

	if (get(&t, fd) < 0 || v2_check_count(n, _IOC_SIZE(cmd)) < 0)
		return -1;
	return vector_pass(&t, cmd, elements, n);
}

static int v2_convert(int fd, const struct abi_conv *conv, void *elements, int n)
{
	struct ctx_fd t;

	if (conv->get(&t, fd) < 0 || v2_check_count(n, conv->user_size) < 0)
		return -1;
	return vector_convert(&t, conv, elements, n);
}

static void v2_pmc_to(const void *user, void *ioc)
{
	memcpy(ioc, user, offsetof(struct pfm_ioc_pmc, reserved));
}

static const struct abi_conv v2_write_pmcs = {
	cpu_get_ctx, PFM_IOC_WRITE_PMCS, sizeof(pfarg_pmc_t), v2_pmc_to, abi_copy_errors};

API int pfm_write_pmcs(int fd, pfarg_pmc_t *pmcs, int count)
{
	return debug_result("pfm_write_pmcs", fd, v2_convert(fd, &v2_write_pmcs, pmcs, count));
}

/* Converts a PMD. Refuses flags that the command has but these versions do not. */
static void v2_pmd_to(const void *user, void *ioc)
{
	struct pfm_ioc_pmd *to = ioc;

	memcpy(to, user, offsetof(struct pfm_ioc_pmd, reserved32));
	to->flags = abi_check_flags(to->flags, PFM_IOC_REGFL_OVFL_NOTIFY | PFM_IOC_REGFL_RANDOM);
}

static const struct abi_conv v2_write_pmds = {
	cpu_get_ctx, PFM_IOC_WRITE_PMDS, sizeof(pfarg_pmd_t), v2_pmd_to, abi_copy_errors};

API int pfm_write_pmds(int fd, pfarg_pmd_t *pmds, int count)
{
	return debug_result("pfm_write_pmds", fd, v2_convert(fd, &v2_write_pmds, pmds, count));
}

API int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int count)
{
	return debug_result("pfm_read_pmds", fd,
		v2_pass(fd, cpu_get_ctx_to_read, PFM_IOC_READ_PMDS, pmds, count));
}

static const struct abi_conv v2_create_evtsets = {ctx_fd_get, PFM_IOC_CREATE_EVTSETS,
	sizeof(pfarg_setdesc_t), abi_setdesc_in, abi_setdesc_out};

API int pfm_create_evtsets(int fd, pfarg_setdesc_t *setd, int count)
{
	return debug_result(
		"pfm_create_evtsets", fd, v2_convert(fd, &v2_create_evtsets, setd, count));
}

API int pfm_delete_evtsets(int fd, pfarg_setdesc_t *setd, int count)
{
	return debug_result("pfm_delete_evtsets", fd,
		v2_pass(fd, ctx_fd_get, PFM_IOC_DELETE_EVTSETS, setd, count));
}

API int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *info, int count)
{
	return debug_result("pfm_getinfo_evtsets", fd,
		v2_pass(fd, ctx_fd_get, PFM_IOC_GETINFO_EVTSETS, info, count));
}

static int v2_load_context(int fd, pfarg_load_t *load)
{
	struct ctx_fd t;
	pfarg_load_t copy;

	if (ctx_fd_get(&t, fd) < 0 || copy_in(&copy, load, sizeof(copy)) < 0)
		return -1;
	return load_context(&t, copy.load_pid, copy.load_set, EEXIST);
}

API int pfm_load_context(int fd, pfarg_load_t *load)
{
	return debug_result("pfm_load_context", fd, v2_load_context(fd, load));
}

static int v2_unload_context(int fd)
{
	struct ctx_fd t;

	return cpu_get_ctx(&t, fd) < 0 ? -1 : unload_context(&t);
}

API int pfm_unload_context(int fd)
{
	return debug_result("pfm_unload_context", fd, v2_unload_context(fd));
}

static int v2_start(int fd, pfarg_start_t *start)
{
	struct pfm_ioc_start ioc = {0};
	struct ctx_fd t;
	pfarg_start_t copy;

	if (cpu_get_ctx(&t, fd) < 0)
		return -1;
	if (!start)
		return ctx_fd_command(&t, PFM_IOC_START, NULL);
	if (copy_in(&copy, start, sizeof(copy)) < 0)
		return -1;
	ioc.set = copy.start_set;
	return ctx_fd_command(&t, PFM_IOC_START_SET, &ioc);
}

API int pfm_start(int fd, pfarg_start_t *start)
{
	return debug_result("pfm_start", fd, v2_start(fd, start));
}

API int pfm_stop(int fd)
{
	return debug_result("pfm_stop", fd, cpu_command(fd, PFM_IOC_STOP));
}

static int v2_restart(int fd)
{
	struct ctx_fd t;

	return cpu_get_ctx(&t, fd) < 0 ? -1 : ctx_fd_restart(&t);
}

API int pfm_restart(int fd)
{
	return debug_result("pfm_restart", fd, v2_restart(fd));
}

// SPDX-License-Identifier: MIT
/* The calls of perfmon2 2.2 that differ from 2.81. */
#define PERFMON_NO_READ
#include "lib/lib_i.h"

#include <string.h>

#include "lib/abi_conv.h"
#include "lib/debug.h"
#include "perfmonfs/msg.h"
#include "perfmon/perfmon_v22.h"

enum { NS_PER_US = 1000 };

/* Converts to microseconds, rounding up; returns the largest value if the result does not fit. */
static uint32_t v22_microseconds(uint64_t ns)
{
	uint64_t us = ns / NS_PER_US + (ns % NS_PER_US != 0);

	return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

static int v22_create_context(pfarg_ctx_t *ctx, void *smpl_arg, size_t smpl_size)
{
	unsigned char arg[CREATE_ARG_MAX];
	struct creation c = {.arg = arg, .arg_size = smpl_size};
	struct format f;
	pfarg_ctx_t copy;

	if (copy_in(&copy, ctx, sizeof(copy)) < 0)
		return -1;
	if (smpl_size > sizeof(arg))
		return lib_fail(E2BIG);
	if (smpl_size && copy_in(arg, smpl_arg, smpl_size) < 0)
		return -1;
	format_from_uuid(copy.ctx_smpl_buf_id, &f);
	if (smpl_size && !*f.name)
		return lib_fail(EINVAL);
	c.flags = copy.ctx_flags;
	c.format = f.name;
	copy.ctx_fd = create_context(&c);
	if (copy.ctx_fd < 0)
		return -1;
	copy.ctx_smpl_buf_size = c.buf_size;
	return create_hand_out(copy.ctx_fd, ctx, &copy, sizeof(copy));
}

API int pfm_create_context(pfarg_ctx_t *ctx, void *smpl_arg, size_t smpl_size)
{
	return debug_result("pfm_create_context", -1, v22_create_context(ctx, smpl_arg, smpl_size));
}

static void v22_setdesc_to(const void *user, void *ioc)
{
	const pfarg_setdesc_t *from = user;
	struct pfm_ioc_setdesc *to = ioc;

	abi_setdesc_head_in(user, to);
	if (to->flags & PFM_IOC_SETFL_TIME_SWITCH)
		to->timeout = (uint64_t)from->set_timeout * NS_PER_US;
}

static void v22_setdesc_from(const void *ioc, void *user)
{
	const struct pfm_ioc_setdesc *from = ioc;
	pfarg_setdesc_t *to = user;

	abi_copy_errors(ioc, user);
	if (from->flags & PFM_IOC_SETFL_TIME_SWITCH)
		to->set_timeout = v22_microseconds(from->timeout);
	to->set_mmap_offset = 0;
}

static const struct abi_conv v22_create_evtsets = {ctx_fd_get, PFM_IOC_CREATE_EVTSETS,
	sizeof(pfarg_setdesc_t), v22_setdesc_to, v22_setdesc_from};

API int pfm_create_evtsets(int fd, pfarg_setdesc_t *setd, int count)
{
	return debug_result(
		"pfm_create_evtsets", fd, vector_convert_fd(fd, &v22_create_evtsets, setd, count));
}

static const struct abi_conv v22_delete_evtsets = {ctx_fd_get, PFM_IOC_DELETE_EVTSETS,
	sizeof(pfarg_setdesc_t), abi_set_id_in, abi_copy_errors};

API int pfm_delete_evtsets(int fd, pfarg_setdesc_t *setd, int count)
{
	return debug_result(
		"pfm_delete_evtsets", fd, vector_convert_fd(fd, &v22_delete_evtsets, setd, count));
}

static void v22_setinfo_from(const void *ioc, void *user)
{
	const struct pfm_ioc_setinfo *from = ioc;
	pfarg_setinfo_t *to = user;

	if (abi_has_error(ioc)) {
		abi_copy_errors(ioc, user);
		return;
	}
	to->set_id_next = from->id_next;
	to->set_flags = from->flags;
	memcpy(to->set_ovfl_pmds, from->ovfl_pmds, sizeof(to->set_ovfl_pmds));
	to->set_runs = from->runs;
	to->set_timeout = v22_microseconds(from->timeout);
	to->set_act_duration = from->act_duration;
	to->set_mmap_offset = 0;
	memcpy(to->set_avail_pmcs, from->avail_pmcs, sizeof(to->set_avail_pmcs));
	memcpy(to->set_avail_pmds, from->avail_pmds, sizeof(to->set_avail_pmds));
}

static const struct abi_conv v22_getinfo_evtsets = {ctx_fd_get, PFM_IOC_GETINFO_EVTSETS,
	sizeof(pfarg_setinfo_t), abi_set_id_in, v22_setinfo_from};

API int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *info, int count)
{
	return debug_result("pfm_getinfo_evtsets", fd,
		vector_convert_fd(fd, &v22_getinfo_evtsets, info, count));
}

static void v22_message_from(int fd, const struct pfm_msg *m, void *user)
{
	pfm_ovfl_msg_t *to = user;

	(void)fd;
	to->msg_type = m->type;
	to->msg_ovfl_pid = m->pid;
	memcpy(to->msg_ovfl_pmds, m->pmds, sizeof(to->msg_ovfl_pmds));
	to->msg_active_set = m->set;
	to->msg_ovfl_cpu = m->cpu;
	to->msg_ovfl_tid = m->tid;
	to->msg_ovfl_ip = m->ip;
}

API ssize_t pfm_v22_read(int fd, void *buf, size_t size)
{
	return message_read(fd, buf, size, sizeof(pfm_msg_t), v22_message_from);
}

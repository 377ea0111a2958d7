// SPDX-License-Identifier: MIT
/* Opening and closing the CPU of a ctxsw thread. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "daemon/ctxsw/ctxsw_i.h"
#include "daemon/percpu/thread.h"

void ctxsw_set_normal(void)
{
	struct sched_param param = {0};

	pthread_setschedparam(pthread_self(), SCHED_OTHER, &param);
}

/* Pins the thread after it has become SCHED_FIFO: on a busy CPU, an ordinary thread may not run for
 * seconds. */
static int ctxsw_cpu_pin(struct ctxsw_thread *ct, struct err *e)
{
	int rc;

	thread_set_name("pfm/ctxsw%u", ct->cpu);
	rc = thread_set_fifo(pthread_self(), SCHED_CTXSW_FIFO);
	if (rc)
		return err_set(e, EPERM,
			"SCHED_FIFO: %s: counting threads exactly needs real-time priority: give "
			"the daemon CAP_SYS_NICE and a real-time budget in its cgroup",
			err_name(rc));
	rc = thread_pin(ct->cpu);
	return rc ? err_set(e, ENXIO, "CPU %u is offline: see cpus", ct->cpu) : 0;
}

int ctxsw_load_cpu_ctx(struct ctxsw_thread *ct, struct err *e)
{
	struct command load = {
		.verb = CMD_LOAD,
		.load.cpu = ct->cpu,
		.rights = {.system = true, .kernel = true},
	};

	return ctxsw_exec_cpu_ctx(ct, &load, e);
}

static int ctxsw_cpu_make_ctx(struct ctxsw_thread *ct, struct err *e)
{
	if (ctx_init(&ct->cpu_ctx, ct->shared->be->pmu) < 0) {
		/* ctxsw_cpu_close() frees cpu_ctx if x.cpu is open. */
		ct->shared->be->ops->cpu_close(take_ptr(&ct->x.cpu));
		return err_set(e, ENOMEM, "no memory for a ctxsw thread");
	}
	return ctxsw_load_cpu_ctx(ct, e);
}

int ctxsw_cpu_open_registers(struct ctxsw_thread *ct, struct err *e)
{
	int rc = ct->shared->be->ops->cpu_open(ct->shared->be, ct->cpu, &ct->x.cpu, e);

	return rc < 0 ? rc : ctxsw_cpu_make_ctx(ct, e);
}

void ctxsw_cpu_close_registers(struct ctxsw_thread *ct)
{
	struct command unload = {.verb = CMD_UNLOAD};
	struct err ignored;

	sample_tick_close(&ct->sample_tick);
	ct->fds[FD_SAMPLER].fd = -1;
	if (ct->x.cpu) {
		ctxsw_exec_cpu_ctx(ct, &unload, &ignored);
		ct->shared->be->ops->cpu_close(ct->x.cpu);
		ct->x.cpu = NULL;
		ctx_free(&ct->cpu_ctx);
	}
}

void ctxsw_cpu_close(struct ctxsw_thread *ct)
{
	__atomic_store_n(&ct->sched_cpu->ctxsw_tid, 0, __ATOMIC_RELAXED);
	sched_wakeup_close(ct->shared->sched, ct->cpu);
	cleanup_close(&ct->fds[FD_SCHED].fd);
	ct->fds[FD_SCHED].fd = -1;
	ct->fds[FD_SCHED].revents = 0;
	ctxsw_cpu_close_registers(ct);
	virtual_pmd_close(&ct->x.virtuals);
	ct->presence.open = false;
}

int ctxsw_cpu_open(struct ctxsw_thread *ct, struct err *e)
{
	int rc = ctxsw_cpu_pin(ct, e);

	if (rc == 0 && !ct->giving.taker)
		rc = ctxsw_cpu_open_registers(ct, e);
	if (rc == 0)
		rc = sched_wakeup_open(ct->shared->sched, ct->cpu, &ct->fds[FD_SCHED].fd, e);
	if (rc < 0) {
		ctxsw_cpu_close(ct);
		return rc;
	}
	__atomic_store_n(&ct->sched_cpu->wakeup_dead, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ct->sched_cpu->ctxsw_tid, (sched_u32)gettid(), __ATOMIC_RELAXED);
	ct->presence.open = true;
	ct->presence.offline = false;
	return 0;
}

bool ctxsw_cpu_was_offline(const struct ctxsw_thread *ct)
{
	return ct->presence.open && ((unsigned)sched_getcpu() != ct->cpu ||
					    ctxsw_load_word(&ct->sched_cpu->wakeup_dead) ||
					    (ct->fds[FD_SCHED].revents & (POLLERR | POLLHUP)));
}

/* True if the sampler has all that @ctx wants. */
static bool ctxsw_sampler_suffices(const struct ctxsw_thread *ct, const struct context *ctx)
{
	const struct ip_sampler *sampler = ct->sample_tick.ip_sampler;

	if (sampler)
		return !ctx_wants_stacks(ctx) || ip_sampler_has_stacks(sampler);
	return ct->sampler_failed && !ctx->smpl.fmt;
}

/* All contexts on threads share the sampler of a CPU. It is replaced by one with call chains when
 * the first context wants them. */
int ctxsw_open_sampler(struct ctxsw_thread *ct, const struct context *ctx, struct err *e)
{
	const struct ip_sampler_conf conf = {
		.period_ns = ctx->limits.tick_ns ? ctx->limits.tick_ns : NSEC_PER_SEC,
		.events = true,
		.stacks = ctx_wants_stacks(ctx),
	};
	struct err failed;
	int rc;

	if (!ctx_attributes(ctx) || ctxsw_sampler_suffices(ct, ctx))
		return 0;
	rc = sample_tick_open(&ct->sample_tick, ct->cpu, &conf, -1, &failed);
	if (rc == 0)
		ct->fds[FD_SAMPLER].fd = ip_sampler_fd(ct->sample_tick.ip_sampler);
	ct->sampler_failed = !ct->sample_tick.ip_sampler;
	if (rc == 0 || !ctx->smpl.fmt)
		return 0;
	return err_copy(e, &failed);
}

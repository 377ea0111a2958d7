// SPDX-License-Identifier: MIT
/* What a carrier needs of its CPU. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "daemon/track/carrier_i.h"

int carrier_come_first(pthread_t thread)
{
	struct sched_param param = {.sched_priority = SCHED_CARRIER_FIFO};

	return pthread_setschedparam(thread, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

void carrier_step_back(void)
{
	struct sched_param param = {0};

	pthread_setschedparam(pthread_self(), SCHED_OTHER, &param);
}

/* Pinned last: before that, an ordinary thread could wait for seconds there. */
static int settle(struct carrier *c, struct err *e)
{
	cpu_set_t set;
	char name[16];
	int rc;

	snprintf(name, sizeof(name), "pfc/%u", c->cpu);
	pthread_setname_np(pthread_self(), name);
	rc = carrier_come_first(pthread_self());
	if (rc)
		return err_set(e, EPERM,
			"SCHED_FIFO: %s: threads can be followed exactly only by carriers that "
			"come first: the daemon needs CAP_SYS_NICE and a real-time budget in its "
			"cgroup",
			err_name(rc));
	CPU_ZERO(&set);
	if (c->cpu < CPU_SETSIZE)
		CPU_SET(c->cpu, &set);
	rc = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	return rc ? err_set(e, ENXIO, "CPU %u is offline: see cpus", c->cpu) : 0;
}

int carrier_load_scratch(struct carrier *c, struct err *e)
{
	struct command load = {
		.verb = CMD_LOAD,
		.cpu = c->cpu,
		.rights = {.system = true, .kernel = true},
	};

	return carrier_scratch(c, &load, e);
}

static int make_scratch(struct carrier *c, struct err *e)
{
	if (ctx_init(&c->scratch, c->tr->be->pmu) < 0) {
		/* carrier_shut() takes it with a scratch. */
		c->tr->be->ops->cpu_close(take_ptr(&c->x.cpu));
		return err_set(e, ENOMEM, "no memory for a carrier");
	}
	return carrier_load_scratch(c, e);
}

void carrier_shut(struct carrier *c)
{
	struct command unload = {.verb = CMD_UNLOAD};
	struct err ignored;

	__atomic_store_n(&c->now->carrier, 0, __ATOMIC_RELAXED);
	sched_unbell(c->tr->sched, c->cpu);
	cleanup_close(&c->fds[FD_SCHED].fd);
	c->fds[FD_SCHED].fd = -1;
	c->fds[FD_SCHED].revents = 0;
	lookout_close(&c->lookout);
	c->fds[FD_WITNESS].fd = -1;
	if (c->x.cpu) {
		carrier_scratch(c, &unload, &ignored);
		c->tr->be->ops->cpu_close(c->x.cpu);
		c->x.cpu = NULL;
		ctx_free(&c->scratch);
	}
	virtuals_close(&c->x.virtuals);
	c->open = false;
}

int carrier_open(struct carrier *c, struct err *e)
{
	int rc = settle(c, e);

	if (rc == 0)
		rc = c->tr->be->ops->cpu_open(c->tr->be, c->cpu, &c->x.cpu, e);
	if (rc == 0)
		rc = make_scratch(c, e);
	if (rc == 0)
		rc = sched_bell(c->tr->sched, c->cpu, &c->fds[FD_SCHED].fd, e);
	if (rc < 0) {
		carrier_shut(c);
		return rc;
	}
	__atomic_store_n(&c->now->deaf, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->now->carrier, (sched_u32)gettid(), __ATOMIC_RELAXED);
	c->open = true;
	c->offline = false;
	return 0;
}

bool carrier_was_offline(const struct carrier *c)
{
	return c->open && ((unsigned)sched_getcpu() != c->cpu || load_word(&c->now->deaf) ||
				  (c->fds[FD_SCHED].revents & (POLLERR | POLLHUP)));
}

int carrier_open_witness(struct carrier *c, const struct context *ctx, struct err *e)
{
	int rc;

	if (!ctx->smpl.fmt || c->lookout.witness)
		return 0;
	rc = lookout_open(&c->lookout, c->cpu,
		ctx->limits.tick_ns ? ctx->limits.tick_ns : NSEC_PER_SEC, true, -1, e);
	if (rc == 0)
		c->fds[FD_WITNESS].fd = witness_fd(c->lookout.witness);
	return rc;
}

// SPDX-License-Identifier: MIT
/* Life and main loop of a ctxsw thread. */
#include "daemon/ctxsw/ctxsw.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/raw_syscall.h"
#include "daemon/percpu/thread.h"
#include "daemon/ctxsw/ctxsw_i.h"

enum { CTXSW_OFFLINE_MS = 20 }; /* between checks whether the CPU is online again */

/* Charges the user for calibrating, which takes the CPU from all other threads, as switching does.
 */
static int ctxsw_thread_prepare_task(
	struct ctxsw_thread *ct, const struct task_ctx *task, struct err *e)
{
	int rc;

	ctxsw_charge(ct, NULL);
	if (ctxsw_check_budget(ct, task, e) < 0)
		return -e->no;
	rc = ctxsw_prepare(ct, &task->ec->ctx, e);
	ctxsw_charge(ct, task);
	return rc;
}

static void ctxsw_thread_prepare(struct ctxsw_thread *ct, struct ctxsw_prepare_req *req)
{
	req->rc = ct->presence.open ? 0 : ctxsw_cpu_open(ct, &req->err);
	if (req->rc == 0 && req->task && ct->x.cpu)
		req->rc = ctxsw_thread_prepare_task(ct, req->task, &req->err);
	event_send(ct->shared->events, &req->event.event);
	ctxsw_charge(ct, NULL);
}

/* Picks another CPU's thread for a job if this one's CPU is offline: then it is not SCHED_FIFO, any
 * thread may preempt it, and other ctxsw threads would spin on the slot that it locks. */
static struct ctxsw_thread *ctxsw_thread_online(struct ctxsw_thread *ct)
{
	for (unsigned cpu = 0; ct->presence.offline && cpu < CPUS_MAX; cpu++) {
		struct ctxsw_thread *other = atomic_load(&ct->shared->ctxsw_threads[cpu]);

		if (other && ctxsw_load_word(&other->sched_cpu->ctxsw_tid))
			return other;
	}
	return NULL;
}

static void ctxsw_thread_read_inbox(struct ctxsw_thread *ct)
{
	struct ctxsw_prepare_req *req;
	struct ctxsw_thread *other;
	struct job *job;

	queue_for_each (req, queue_take(&ct->prepare_reqs), link)
		ctxsw_thread_prepare(ct, req);
	queue_for_each (job, queue_take(&ct->inbox), link) {
		other = ctxsw_thread_online(ct);
		if (other)
			ctxsw_post(other, job);
		else
			ctxsw_job_deliver(ct, job);
	}
}

/* Several threads may have died before this thread could run. */
static void ctxsw_thread_report_deaths(struct ctxsw_thread *ct)
{
	unsigned n = 0, slot = __atomic_exchange_n(&ct->sched_cpu->dead_slot, 0, __ATOMIC_ACQ_REL);

	for (; slot && n < SCHED_SLOTS; n++) {
		task_slot_report_death(ct, slot);
		slot = ctxsw_load_word(&sched_slot(ct->shared->sched, slot)->prev_dead);
	}
}

/* The thread that runs here may go on while the registers are closed, which can block. */
static void ctxsw_thread_yield_cpu(struct ctxsw_thread *ct, sched_u64 taker)
{
	__atomic_store_n(&ct->sched_cpu->taker, taker, __ATOMIC_SEQ_CST);
	ctxsw_switch_in(ct);
	ctxsw_cpu_close_registers(ct);
}

/* Negative: the registers, which have no taker any more, could not be opened. */
static int ctxsw_thread_obey_taker(struct ctxsw_thread *ct)
{
	sched_u64 taker = atomic_load(&ct->shared->takers[ct->cpu]);
	int rc = 0;

	if (taker == ct->giving.taker)
		return 0;
	if (taker)
		ctxsw_thread_yield_cpu(ct, taker);
	else if (ct->presence.open)
		rc = ctxsw_cpu_open_registers(ct, &ct->err);
	if (!taker)
		__atomic_store_n(&ct->sched_cpu->taker, 0, __ATOMIC_RELEASE);
	atomic_store(&ct->giving.taker, taker);
	ctxsw_charge(ct, NULL);
	if (taker && !atomic_exchange(&ct->giving.sent, true))
		event_send(ct->shared->events, &ct->giving.event.event);
	return rc;
}

static void ctxsw_thread_clear_kick(struct ctxsw_thread *ct)
{
	uint64_t kicks;

	if (ct->fds[FD_WAKEUP].revents)
		raw_syscall4(SYS_read, ct->fds[FD_WAKEUP].fd, (long)&kicks, sizeof(kicks), 0);
}

static void ctxsw_thread_sleep(struct ctxsw_thread *ct)
{
	ctxsw_set_works(ct, 0);
	raw_syscall6(SYS_ppoll, (long)ct->fds, FD_WAKEUP + 1, 0, 0, 0, 0);
	ctxsw_set_works(ct, 1);
}

static void ctxsw_thread_sleep_offline(struct ctxsw_thread *ct)
{
	uint64_t now = nsec_now(CLOCK_MONOTONIC);
	struct timespec left =
		nsec_timespec(ct->presence.retry_at > now ? ct->presence.retry_at - now : 0);

	raw_syscall6(SYS_ppoll, (long)ct->fds, FD_WAKEUP + 1, (long)&left, 0, 0, 0);
	if (nsec_now(CLOCK_MONOTONIC) < ct->presence.retry_at)
		return;
	ctxsw_cpu_open(ct, &ct->err);
	if (!ct->presence.offline)
		return;
	ctxsw_set_normal();
	ct->presence.retry_at = nsec_now(CLOCK_MONOTONIC) + CTXSW_OFFLINE_MS * 1000000ULL;
}

static void *ctxsw_thread_main(void *arg)
{
	struct ctxsw_thread *ct = arg;

	while (!(atomic_load(&ct->orders) & ORDER_RETIRE)) {
		ctxsw_switch_in(ct);
		if (ct->active)
			ctxsw_run_window(ct, &ct->run.timeout);
		else if (ct->presence.offline)
			ctxsw_thread_sleep_offline(ct);
		else
			ctxsw_thread_sleep(ct);
		ctxsw_charge_wakeup(ct);
		ctxsw_thread_clear_kick(ct);
		if (ct->active)
			ctxsw_switch_out(ct);
		if (ct->presence.open)
			ctxsw_thread_report_deaths(ct);
		if (ctxsw_cpu_was_offline(ct) || ctxsw_thread_obey_taker(ct) < 0) {
			ctxsw_cpu_close(ct);
			ctxsw_set_normal();
			ct->presence.offline = true;
		}
		ctxsw_thread_read_inbox(ct);
	}
	if (ct->presence.open)
		ctxsw_cpu_close(ct);
	event_send(ct->shared->events, &ct->exit_event.event);
	return NULL;
}

static int ctxsw_thread_init(
	struct ctxsw_thread *ct, struct ctxsw_shared *shared, unsigned cpu, struct err *e)
{
	ct->shared = shared;
	ct->cpu = cpu;
	ct->sched_cpu = sched_cpu(shared->sched, cpu);
	ct->x.be = shared->be;
	ct->x.stats = &shared->stats->exec;
	ct->in.verb = CMD_SCHED_IN;
	ct->out.verb = CMD_SCHED_OUT;
	ct->exit_event.event.kind = EVENT_TASK;
	ct->exit_event.handle = shared->thread_exited;
	ct->giving.event.event.kind = EVENT_TASK;
	ct->giving.event.handle = shared->cpu_given;
	ct->giving.taker = atomic_load(&shared->takers[cpu]);
	__atomic_store_n(&ct->sched_cpu->taker, ct->giving.taker, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < NFDS; i++)
		ct->fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	ct->fds[FD_WAKEUP].fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ct->fds[FD_WAKEUP].fd < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	return 0;
}

int ctxsw_thread_new(
	struct ctxsw_shared *shared, unsigned cpu, struct ctxsw_thread **out, struct err *e)
{
	CLEANUP_FREE struct ctxsw_thread *ct = calloc(1, sizeof(*ct));
	int rc;

	if (!ct)
		return err_set(e, ENOMEM, "no memory for a ctxsw thread");
	if (ctxsw_thread_init(ct, shared, cpu, e) < 0)
		return -e->no;
	/* Pinned before its first instruction, which might otherwise count for a thread of another
	 * CPU. */
	rc = thread_start_on(&ct->thread, cpu, ctxsw_thread_main, ct);
	if (rc == EINVAL)
		/* The CPU is offline, which the first prepare request will report. */
		rc = thread_start(&ct->thread, ctxsw_thread_main, ct);
	if (rc) {
		close(ct->fds[FD_WAKEUP].fd);
		return err_set(e, rc, "cannot start the ctxsw thread of CPU %u: %s (thread limit?)",
			cpu, err_name(rc));
	}
	/* Otherwise a busy CPU may delay its start. Failure shows in the first prepare request. */
	thread_set_fifo(ct->thread, SCHED_CTXSW_FIFO);
	*out = take_ptr(&ct);
	return 0;
}

void ctxsw_thread_free(struct ctxsw_thread *ct)
{
	pthread_join(ct->thread, NULL);
	close(ct->fds[FD_WAKEUP].fd);
	free(ct);
}

struct ctxsw_thread *ctxsw_thread_of_event(struct task_event *event)
{
	return container_of(event, struct ctxsw_thread, exit_event);
}

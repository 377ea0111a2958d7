// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The scheduler's part of following threads. on_switch() runs at each context switch of the
 * machine, with interrupts off, on the CPU that switches, before the switch: when a thread moves,
 * what its old CPU writes as it leaves is visible before its new CPU writes that it comes.
 * on_exec() runs in a thread that has executed a program, after it got its new credentials and
 * before it returns to user mode. on_signal() runs in a thread before the kernel sets up a signal's
 * handler.
 *
 * A thread is identified by its id only until it has run; from then on by the address of its
 * task_struct, which is unique until its last switch is over. Ids move: a thread that executes a
 * program takes over the id of its thread group leader, which may not have ended yet.
 *
 * These are raw tracepoints. The tracefs event would miss switches while the CPU works on another
 * BPF map, shows TASK_DEAD too early, and has an id that only tracefs shows.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>
/* Requires bpf_helpers.h. */
#include <bpf/bpf_core_read.h>

#include "daemon/bpf/sched_shared.h"

/* The parts of kernel types that are needed; the loader relocates the offsets (CO-RE). */
struct sched_entity {
	sched_u64 sum_exec_runtime; /* CLOCK_THREAD_CPUTIME_ID up to the last switch */
} __attribute__((preserve_access_index));

struct kernel_id {
	sched_u32 val;
};

struct ns_common {
	sched_u32 inum;
} __attribute__((preserve_access_index));

struct user_namespace {
	struct ns_common ns;
} __attribute__((preserve_access_index));

struct cred {
	struct kernel_id uid, gid, suid, sgid, euid, egid;
	struct {
		sched_u64 val;
	} cap_permitted;
	struct user_namespace *user_ns;
} __attribute__((preserve_access_index));

/* Before Linux 6.3. */
struct cred___v6_2 {
	struct {
		sched_u32 cap[2];
	} cap_permitted;
} __attribute__((preserve_access_index));

struct mm_struct {
	unsigned long flags;
} __attribute__((preserve_access_index));

/* Since Linux 6.18. */
struct mm_struct___v6_18 {
	struct {
		unsigned long __mm_flags[1];
	} flags;
} __attribute__((preserve_access_index));

/* The pending signals of one thread. */
struct sigpending {
	struct {
		unsigned long sig[1];
	} signal;
} __attribute__((preserve_access_index));

/* A thread's registers when it last left user mode. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, cx, dx, si, di, orig_ax, ip, cs,
		sp;
} __attribute__((preserve_access_index));

struct task_struct {
	sched_u32 pid;
	unsigned int __state;
	unsigned int flags;
	int prio;
	sched_u64 utime; /* in user mode, usually as sampled by the clock tick */
	struct sigpending pending;
	struct sched_entity se;
	struct mm_struct *mm;
	const struct cred *real_cred;
} __attribute__((preserve_access_index));

/* In mm_struct.flags; DUMPABLE_USER: its own user may trace the process. */
#define DUMPABLE_MASK 3
#define DUMPABLE_USER 1

/* A ctxsw thread that runs later than this (ns) after an exec is late, which also happens on a
 * virtual CPU that is not running. */
#define REVOKED_NS 200000

/* The longest clock tick (ns), with CONFIG_HZ=100. */
#define SCHED_TICK_MAX_NS 10000000

/* Set in __state at the last switch of a thread, and only then. */
#define TASK_DEAD 0x80

#define PF_KTHREAD  0x200000
#define PF_SIGNALED 0x400

#define SIGKILL_BIT (1UL << (9 - 1))

#define TID_NONE (~0U)

/* Code segment of 64-bit programs, and numbers of their system calls that change all registers of
 * the caller. */
#define USER_CS         0x33
#define NR_rt_sigreturn 15
#define NR_execve       59
#define NR_execveat     322
/* Bytes of the instruction that makes a system call. */
#define SYSCALL_SIZE 2

char licence[] SEC("license") = "Dual MIT/GPL";

struct sched_cpu cpus[SCHED_CPUS];
struct sched_slot slots[SCHED_SLOTS];
/* Number of followed threads. Written by the daemon. */
sched_u32 followed SCHED_ALIGNED;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SCHED_SLOTS);
	__type(key, sched_u32);
	__type(value, sched_u32);
} tids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, SCHED_CPUS);
	__type(key, sched_u32);
	__type(value, sched_u32);
} wakeups SEC(".maps");

/* The CPUs on which a slot's thread is counted; no entry: all. */
struct slot_cpumask {
	sched_u64 bits[SCHED_CPUS / 64];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SCHED_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, sched_u32);
	__type(value, struct slot_cpumask);
} cpumasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SCHED_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, sched_u32);
	__type(value, struct sched_requester);
} requesters SEC(".maps");

static struct sched_slot *switch_slot(sched_u32 n)
{
	return &slots[n & (SCHED_SLOTS - 1)];
}

static sched_u32 switch_lookup_tid(sched_u32 tid)
{
	sched_u32 *n = bpf_map_lookup_elem(&tids, &tid);

	return n ? *n : 0;
}

/* The slot of thread @t, whose id is or was @tid; 0: none, as for the idle thread. */
static sched_u32 switch_find(sched_u32 tid, const struct task_struct *t)
{
	sched_u32 n = tid ? switch_lookup_tid(tid) : 0;
	struct sched_slot *s = switch_slot(n);

	return n && s->tid == tid && (!s->task || s->task == (sched_u64)t) ? n : 0;
}

static void switch_delete_tid(sched_u32 tid, sched_u32 n)
{
	if (switch_lookup_tid(tid) == n)
		bpf_map_delete_elem(&tids, &tid);
}

/*
 * Changes the id of a slot. The old id may already lead to another slot, and the new id still to
 * another one; when each of the threads has passed here, all entries are right.
 */
static void switch_set_tid(sched_u32 n, sched_u32 tid)
{
	struct sched_slot *s = switch_slot(n);

	switch_delete_tid(s->tid, n);
	s->tid = tid;
	bpf_map_update_elem(&tids, &tid, &n, BPF_ANY);
}

/* Marks a slot as dead, which the CPU's ctxsw thread reports once. */
static void switch_note_dead(struct sched_cpu *c, sched_u32 n, enum sched_death why)
{
	struct sched_slot *s = switch_slot(n);

	if (s->dead)
		return;
	s->prev_dead = c->dead_slot;
	s->dead = why;
	c->dead_slot = n;
}

static void switch_note_exit(struct sched_cpu *c, sched_u32 n)
{
	if (n) {
		switch_note_dead(c, n, SCHED_ENDED);
		switch_delete_tid(switch_slot(n)->tid, n);
	}
	c->last_tid = TID_NONE;
	c->task = 0;
}

/*
 * Notes that no program saw @t come: it was followed only later, the CPU's ctxsw thread has just
 * exited, or this kernel does not report all switches. The context in the registers may have
 * counted @t.
 */
static void switch_note_missed(
	const struct sched_cpu *c, sched_u32 old, const struct task_struct *t)
{
	struct sched_slot *gone = switch_slot(old), *come;
	sched_u32 n = switch_find(t->pid, t);

	if (c->active_slot)
		switch_slot(c->active_slot)->missed++;
	if (old && gone->running)
		gone->missed++;
	come = switch_slot(n);
	if (n)
		come->runtime_out = t->se.sum_exec_runtime;
	/* A thread that is loaded while it runs gets here before its context can be started. */
	if (n && (come->task || come->enabled))
		come->missed++;
}

/*
 * True if @t is being killed, and never returns to user mode. The kernel queues SIGKILL for each
 * thread that ends with its process, and sets PF_SIGNALED when it dequeues that.
 */
static bool switch_is_killed(const struct task_struct *t)
{
	return (t->flags & PF_SIGNALED) || (t->pending.signal.sig[0] & SIGKILL_BIT);
}

static void switch_out(struct sched_cpu *c, sched_u32 cpu, const struct task_struct *prev)
{
	bool dead = prev->__state & TASK_DEAD, known = c->task == (sched_u64)prev;
	sched_u32 tid = prev->pid, n = c->slot;

	/* The slot may belong to another thread by now. */
	if (n && switch_slot(n)->cpu != cpu)
		n = 0;
	if (!known)
		switch_note_missed(c, n, prev);
	if (n && known)
		switch_slot(n)->runtime_out = prev->se.sum_exec_runtime;
	if (n)
		switch_slot(n)->running = 0;
	/* The thread had the ctxsw thread's priority, or the kernel kept the latter from running.
	 */
	if (switch_slot(n)->dead == SCHED_REVOKED &&
		bpf_ktime_get_ns() - switch_slot(n)->revoked_at > REVOKED_NS)
		switch_slot(n)->missed++;
	if (!dead && !(known && tid != c->last_tid))
		return;
	/* It may have been followed only after it came. */
	if (!known || !n) {
		n = switch_find(known ? c->last_tid : tid, prev);
		if (n)
			c->slot = n;
	}
	if (dead) {
		switch_note_exit(c, n);
		return;
	}
	c->last_tid = tid;
	if (n)
		switch_set_tid(n, tid);
}

static bool switch_wanted_at(sched_u32 n, sched_u32 cpu)
{
	const struct slot_cpumask *c;

	if (!switch_slot(n)->enabled)
		return false;
	c = bpf_map_lookup_elem(&cpumasks, &n);
	return !c || c->bits[cpu / 64] >> (cpu % 64) & 1;
}

/*
 * True if the active context stays in the registers while @next runs: its counters only count in
 * user mode, which neither the idle task nor a kernel thread enters. Its thread may come back here
 * without any wakeup. Or it may be woken on, or moved to, another CPU, which is not seen here: it
 * then wakes that CPU's ctxsw thread, which makes this one save the context (see
 * task_slot_acquire()).
 */
static bool switch_lets_stay(const struct sched_cpu *c, const struct task_struct *next)
{
	const struct sched_slot *active = switch_slot(c->active_slot);

	return active->user_only && !active->dead && (!next->pid || (next->flags & PF_KTHREAD));
}

/* Whether the ctxsw thread has something to do for @n, the slot of @next, or for @old, the slot
 * that left. @changed: they are different threads. */
static bool switch_needs_wakeup(const struct sched_cpu *c, sched_u32 cpu, sched_u32 old,
	sched_u32 n, const struct task_struct *next, bool changed)
{
	if (c->active_slot)
		return n != c->active_slot && !switch_lets_stay(c, next);
	return changed &&
	       ((old && switch_slot(old)->dead) || (n && !c->taker && switch_wanted_at(n, cpu)));
}

/* The registers of @t in user mode. NULL: Linux is older than 5.15, or @t is a kernel thread. */
static const struct pt_regs *switch_user_regs(const struct task_struct *t)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs) || !t->pid ||
		(t->flags & PF_KTHREAD))
		return NULL;
	return (const struct pt_regs *)bpf_task_pt_regs((struct task_struct *)t);
}

/* A hash of all registers except the instruction pointer and rax, which gets the result of a system
 * call. */
static sched_u64 switch_hash_regs(const struct pt_regs *r)
{
	const sched_u64 regs[] = {r->sp, r->bp, r->bx, r->cx, r->dx, r->si, r->di, r->r8, r->r9,
		r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
	sched_u64 hash = 1;

	for (unsigned i = 0; i < sizeof(regs) / sizeof(*regs); i++)
		hash = (hash ^ regs[i]) * 0x9e3779b97f4a7c15;
	return hash;
}

/* Whether the thread will return to user mode with the registers @r, except for a signal. */
static bool switch_keeps_regs(const struct pt_regs *r)
{
	return r->cs == USER_CS && r->orig_ax != NR_rt_sigreturn && r->orig_ax != NR_execve &&
	       r->orig_ax != NR_execveat;
}

/* Records the state of @t, which is about to run but should not run before the ctxsw thread: see
 * switch_has_run(). */
static void switch_watch(struct sched_cpu *c, const struct task_struct *t)
{
	const struct pt_regs *r = switch_user_regs(t);

	c->utime = t->utime;
	c->regs_known = r && switch_keeps_regs(r);
	if (!c->regs_known)
		return;
	c->regs_hash = switch_hash_regs(r);
	c->user_ip = r->ip;
}

/*
 * True if @t has executed user code since switch_watch(): its registers have changed. (The kernel
 * sets the instruction pointer back to a system call that it restarts.) Where the registers are not
 * known, clock ticks must have found the thread in user mode. A single tick does not suffice: it
 * may have come together with the interrupt that wakes the ctxsw thread, before any user code.
 */
static bool switch_has_run(const struct sched_cpu *c, const struct task_struct *t)
{
	const struct pt_regs *r = switch_user_regs(t);

	if (!c->regs_known || !r)
		return t->utime - c->utime > SCHED_TICK_MAX_NS;
	return switch_hash_regs(r) != c->regs_hash ||
	       (r->ip != c->user_ip && r->ip + SYSCALL_SIZE != c->user_ip);
}

/* Wakes the ctxsw thread for @t, whose slot is @n; 0: none. */
static void switch_wake_ctxsw(
	void *ctx, struct sched_cpu *c, sched_u32 n, const struct task_struct *t)
{
	sched_u32 w = c->ctxsw_tid;

	/* Set first: on exec, the ctxsw thread may run before the output returns. */
	c->wakeup_pending = 1;
	switch_watch(c, t);
	if (bpf_perf_event_output(ctx, &wakeups, BPF_F_CURRENT_CPU, &w, sizeof(w)) == 0)
		return;
	c->wakeup_pending = 0;
	c->wakeup_dead = 1;
	switch_slot(c->active_slot)->missed++;
	switch_slot(n)->missed++;
}

/*
 * Whether user code of @next is counted for the active slot: the ctxsw thread should have run
 * first, or cannot, as @next has at least its priority. Kernel threads have no user code, and
 * killed ones will execute none.
 */
static bool switch_is_late(const struct sched_cpu *c, sched_u32 n, const struct task_struct *next)
{
	if ((next->flags & PF_KTHREAD) || switch_is_killed(next))
		return false;
	return c->wakeup_pending ||
	       (c->active_slot && n != c->active_slot && next->prio <= SCHED_CTXSW_PRIO);
}

/* Notes that user code of slot @n runs before the ctxsw thread has restored its context. */
static void switch_note_unrestored(const struct sched_cpu *c, sched_u32 cpu, sched_u32 n)
{
	if (n && n != c->active_slot && !c->taker && switch_wanted_at(n, cpu))
		switch_slot(n)->stalled++;
}

/*
 * Notes that user code of @next runs although the ctxsw thread has not done its work: it waits for
 * memory or a kernel lock, or real-time threads are throttled. If it was woken and has not run yet,
 * switch_is_late() decides what that means for the active slot.
 */
static void switch_note_stalled(
	const struct sched_cpu *c, sched_u32 cpu, sched_u32 n, const struct task_struct *next)
{
	if (!c->ctxsw_tid || !(c->ctxsw_works || c->wakeup_pending) || !next->pid ||
		(next->flags & PF_KTHREAD) || switch_is_killed(next))
		return;
	if (c->ctxsw_works && c->active_slot)
		switch_slot(c->active_slot)->stalled++;
	switch_note_unrestored(c, cpu, n);
}

/* Notes that @prev, which leaves, has run user code while a wakeup of the ctxsw thread was pending.
 */
static void switch_note_waited(
	const struct sched_cpu *c, sched_u32 cpu, const struct task_struct *prev)
{
	sched_u32 n = c->slot;

	if (!c->ctxsw_tid || !c->wakeup_pending || c->task != (sched_u64)prev ||
		!switch_has_run(c, prev))
		return;
	if (c->active_slot && c->active_slot != n)
		switch_slot(c->active_slot)->stalled++;
	if (switch_slot(n)->task == (sched_u64)prev)
		switch_note_unrestored(c, cpu, n);
}

/* Notes that slot @n comes to a CPU whose registers it cannot get. */
static void switch_note_uncounted(const struct sched_cpu *c, sched_u32 cpu, sched_u32 n)
{
	if ((c->ctxsw_tid && !c->taker) || !switch_wanted_at(n, cpu))
		return;
	if (c->taker)
		switch_slot(n)->taker = c->taker;
	else
		switch_slot(n)->uncovered++;
}

/*
 * A killed thread is not followed any more until its death. Thousands may be killed at once. If
 * each were switched in, it would be preempted before it makes progress, and the scheduler would
 * pick another one.
 */
static void switch_in(void *ctx, struct sched_cpu *c, sched_u32 cpu, const struct task_struct *next)
{
	sched_u32 n = switch_is_killed(next) ? 0 : switch_find(next->pid, next), old = c->slot;
	struct sched_slot *s = switch_slot(n);
	/* @next may have been on another CPU while the ctxsw thread had this one, and be back. The
	 * ctxsw thread may have found it there, and left it alone. */
	bool changed = c->task != (sched_u64)next || n != old || (n && s->cpu != cpu);

	c->task = (sched_u64)next;
	c->last_tid = next->pid;
	c->slot = n;
	if (n) {
		/* The thread has run since it was last seen to leave. */
		if (changed && s->task && s->runtime_out != next->se.sum_exec_runtime)
			s->missed++;
		s->task = (sched_u64)next;
		s->cpu = cpu;
		s->running = 1;
		if (changed)
			s->runtime_in = next->se.sum_exec_runtime;
		if (n == c->active_slot)
			c->has_run = 1;
	}
	if (changed && switch_is_late(c, n, next))
		c->late++;
	if (c->wakeup_pending)
		switch_watch(c, next);
	switch_note_stalled(c, cpu, n, next);
	if (changed && n)
		switch_note_uncounted(c, cpu, n);
	if (c->ctxsw_tid && switch_needs_wakeup(c, cpu, old, n, next, changed))
		switch_wake_ctxsw(ctx, c, n, next);
}

SEC("tp_btf/sched_switch")
int on_switch(sched_u64 *ctx)
{
	/* ctx[0]: prev was preempted. */
	const struct task_struct *prev = (const void *)ctx[1], *next = (const void *)ctx[2];
	sched_u32 cpu = bpf_get_smp_processor_id() & (SCHED_CPUS - 1);
	struct sched_cpu *c = &cpus[cpu];
	sched_u32 w = c->ctxsw_tid;

	if (!followed && !c->slot)
		return 0;
	/* Without a ctxsw thread, w is 0, which is also the idle thread's id. */
	if (!w || prev->pid != w) {
		switch_note_waited(c, cpu, prev);
		switch_out(c, cpu, prev);
	} else
		c->ctxsw_ran = (sched_u32)(bpf_ktime_get_ns() - c->ctxsw_at);
	if (!w || next->pid != w) {
		switch_in(ctx, c, cpu, next);
		return 0;
	}
	c->wakeup_pending = 0;
	c->ctxsw_at = bpf_ktime_get_ns();
	return 0;
}

static sched_u64 switch_permitted(const struct cred *cred)
{
	const struct cred___v6_2 *before = (const void *)cred;

	if (bpf_core_field_exists(cred->cap_permitted.val))
		return cred->cap_permitted.val;
	return (sched_u64)before->cap_permitted.cap[1] << 32 | before->cap_permitted.cap[0];
}

/* False, so that access is refused, on a kernel that keeps it elsewhere. */
static bool switch_dumpable(const struct mm_struct *mm)
{
	const struct mm_struct___v6_18 *since = (const void *)mm;

	if (bpf_core_field_exists(mm->flags))
		return (mm->flags & DUMPABLE_MASK) == DUMPABLE_USER;
	if (bpf_core_field_exists(since->flags.__mm_flags))
		return (since->flags.__mm_flags[0] & DUMPABLE_MASK) == DUMPABLE_USER;
	return false;
}

/* The kernel's __ptrace_may_access(), for a requester without CAP_SYS_PTRACE. */
static bool switch_may_trace(const struct sched_requester *requester, const struct task_struct *t)
{
	const struct cred *cred = t->real_cred;
	const struct mm_struct *mm = t->mm;

	if (!cred || !mm || !switch_dumpable(mm))
		return false;
	if (cred->uid.val != requester->uid || cred->euid.val != requester->uid ||
		cred->suid.val != requester->uid)
		return false;
	if (cred->gid.val != requester->gid || cred->egid.val != requester->gid ||
		cred->sgid.val != requester->gid)
		return false;
	return !(switch_permitted(cred) & ~requester->permitted) &&
	       (!requester->user_ns || cred->user_ns->ns.inum == requester->user_ns);
}

/* The slot of @t, the current thread, whose id was @was; it may have been switched since its id
 * changed. */
static sched_u32 switch_find_current(
	const struct sched_cpu *c, sched_u32 was, const struct task_struct *t)
{
	sched_u32 n = c->slot;

	if (switch_slot(n)->task == (sched_u64)t)
		return n;
	n = switch_find(was, t);
	return n ? n : switch_find(t->pid, t);
}

/* Stops following @t, and wakes the CPU's ctxsw thread, which saves its context before @t
 * continues. */
static void switch_revoke(void *ctx, struct sched_cpu *c, sched_u32 n, const struct task_struct *t)
{
	struct sched_slot *s = switch_slot(n);

	switch_delete_tid(s->tid, n);
	s->tid = t->pid;
	if (c->task == (sched_u64)t)
		c->last_tid = t->pid;
	s->revoked_at = bpf_ktime_get_ns();
	switch_note_dead(c, n, SCHED_REVOKED);
	if (c->ctxsw_tid)
		switch_wake_ctxsw(ctx, c, n, t);
	else
		s->uncovered++;
}

SEC("tp_btf/sched_process_exec")
int on_exec(sched_u64 *ctx)
{
	const struct task_struct *t = (const void *)ctx[0];
	sched_u32 was = ctx[1], cpu = bpf_get_smp_processor_id() & (SCHED_CPUS - 1);
	struct sched_cpu *c = &cpus[cpu];
	const struct sched_requester *requester;
	sched_u32 n;

	if (!followed)
		return 0;
	/* A kernel thread, for which the context stayed in the registers, has become a program.
	 * Before Linux 5.19, programs that the kernel starts begin so. */
	if (c->active_slot && c->task == (sched_u64)t && c->slot != c->active_slot)
		switch_wake_ctxsw(ctx, c, 0, t);
	n = switch_find_current(c, was, t);
	if (n)
		switch_slot(n)->execs++;
	requester = n ? bpf_map_lookup_elem(&requesters, &n) : 0;
	if (requester && !switch_may_trace(requester, t))
		switch_revoke(ctx, c, n, t);
	return 0;
}

/* The registers of the current thread are about to become those of the signal's handler. */
SEC("tp_btf/signal_deliver")
int on_signal(sched_u64 *ctx)
{
	struct sched_cpu *c = &cpus[bpf_get_smp_processor_id() & (SCHED_CPUS - 1)];

	(void)ctx;
	if (followed)
		c->regs_known = 0;
	return 0;
}

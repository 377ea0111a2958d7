// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What the kernel executes at each context switch of the machine. It is called with interrupts off,
 * on the CPU that switches, and before the switch: so what one CPU notes of a thread that leaves is
 * there before another can note that it comes. And what it executes when a thread has become another
 * program: called in that thread, which has its new credentials by then, and has not returned to
 * user mode.
 *
 * A thread is known by its number only until it has been seen; from then on by the address of its
 * task, which nobody else has until its last switch is over. For numbers move: a thread that
 * executes a program takes over that of its process's first thread, which may not have ended yet.
 *
 * On the raw tracepoint, not on the event of tracefs: that one leaves out switches while the CPU is
 * in the middle of some other work on BPF maps, gives a state that says dead too early, and has a
 * number that only tracefs tells.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
/* After that one, which it needs. */
#include <bpf/bpf_core_read.h>

#include "daemon/track/sched_shared.h"

/* As far as it matters here; where these are in the running kernel is found out at load. */
struct sched_entity {
	sched_u64 sum_exec_runtime; /* CLOCK_THREAD_CPUTIME_ID: here, up to its last switch */
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
struct cred___halves {
	struct {
		sched_u32 cap[2];
	} cap_permitted;
} __attribute__((preserve_access_index));

struct mm_struct {
	unsigned long flags;
} __attribute__((preserve_access_index));

/* Since Linux 6.18. */
struct mm_struct___array {
	struct {
		unsigned long __mm_flags[1];
	} flags;
} __attribute__((preserve_access_index));

struct task_struct {
	sched_u32 pid;
	unsigned int __state;
	unsigned int flags;
	int prio;
	struct sched_entity se;
	struct mm_struct *mm;
	const struct cred *real_cred;
} __attribute__((preserve_access_index));

/* In the flags of its memory, when its own user may dump and trace it; without, root alone. */
#define DUMPABLE_MASK 3
#define DUMPABLE_USER 1

/* The carrier comes at once: so long, that of a virtual CPU may take that does not run just then. */
#define BARRED_NS 200000

/* The state at the last switch of a thread, and only there. */
#define TASK_DEAD 0x80

#define PF_KTHREAD 0x200000

#define NOBODY (~0U)

char licence[] SEC("license") = "Dual MIT/GPL";

struct sched_cpu cpus[SCHED_CPUS];
struct sched_slot slots[SCHED_SLOTS];
/* The daemon's: how many threads are followed. */
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
} bells SEC(".maps");

/* Where a slot's thread is to be followed, if that is not everywhere. */
struct confines {
	sched_u64 bits[SCHED_CPUS / 64];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SCHED_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, sched_u32);
	__type(value, struct confines);
} confined SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SCHED_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, sched_u32);
	__type(value, struct sched_guard);
} guards SEC(".maps");

static struct sched_slot *slot_at(sched_u32 n)
{
	return &slots[n & (SCHED_SLOTS - 1)];
}

static sched_u32 number_leads_to(sched_u32 tid)
{
	sched_u32 *n = bpf_map_lookup_elem(&tids, &tid);

	return n ? *n : 0;
}

/* The slot of thread @t, that has or had the number @tid; or 0. The idle thread has neither. */
static sched_u32 find(sched_u32 tid, const struct task_struct *t)
{
	sched_u32 n = tid ? number_leads_to(tid) : 0;
	struct sched_slot *s = slot_at(n);

	return n && s->tid == tid && (!s->task || s->task == (sched_u64)t) ? n : 0;
}

static void forget_number(sched_u32 tid, sched_u32 n)
{
	if (number_leads_to(tid) == n)
		bpf_map_delete_elem(&tids, &tid);
}

/*
 * It is known by another number from now on. The old one may lead to another's slot by now, and so
 * may the new one still: in the end each has come by here.
 */
static void renumber(sched_u32 n, sched_u32 tid)
{
	struct sched_slot *s = slot_at(n);

	forget_number(s->tid, n);
	s->tid = tid;
	bpf_map_update_elem(&tids, &tid, &n, BPF_ANY);
}

/* Its carrier tells of it, once. */
static void note_dead(struct sched_cpu *c, sched_u32 n, enum sched_death why)
{
	struct sched_slot *s = slot_at(n);

	if (s->dead)
		return;
	s->before = c->died;
	s->dead = why;
	c->died = n;
}

static void end(struct sched_cpu *c, sched_u32 n)
{
	if (n) {
		note_dead(c, n, SCHED_ENDED);
		forget_number(slot_at(n)->tid, n);
	}
	c->last = NOBODY;
	c->task = 0;
}

/*
 * Nobody was told that @t came: it was followed first then, the last carrier has just resigned, or
 * this kernel keeps some switches to itself.
 */
static void note_missed(sched_u32 old, const struct task_struct *t)
{
	struct sched_slot *gone = slot_at(old), *come;
	sched_u32 n = find(t->pid, t);

	if (old && gone->running)
		gone->missed++;
	come = slot_at(n);
	/* One that is loaded while it runs is noticed before anybody can start it. */
	if (n && (come->task || come->wanted))
		come->missed++;
}

static void leave(struct sched_cpu *c, sched_u32 cpu, const struct task_struct *prev)
{
	bool dead = prev->__state & TASK_DEAD, known = c->task == (sched_u64)prev;
	sched_u32 tid = prev->pid, n = c->slot;

	/* A slot may have become another's since. */
	if (n && slot_at(n)->cpu != cpu)
		n = 0;
	if (!known)
		note_missed(n, prev);
	if (n)
		slot_at(n)->running = 0;
	if (n && known)
		slot_at(n)->ran = prev->se.sum_exec_runtime;
	/* It was as urgent as the carrier, or the kernel has kept that one from coming. */
	if (slot_at(n)->dead == SCHED_BARRED &&
		bpf_ktime_get_ns() - slot_at(n)->barred_at > BARRED_NS)
		slot_at(n)->missed++;
	if (!dead && !(known && tid != c->last))
		return;
	/* It may be followed only since it came to run. */
	if (!known || !n) {
		n = find(known ? c->last : tid, prev);
		if (n)
			c->slot = n;
	}
	if (dead) {
		end(c, n);
		return;
	}
	c->last = tid;
	if (n)
		renumber(n, tid);
}

static bool wanted_at(sched_u32 n, sched_u32 cpu)
{
	const struct confines *c;

	if (!slot_at(n)->wanted)
		return false;
	c = bpf_map_lookup_elem(&confined, &n);
	return !c || c->bits[cpu / 64] >> (cpu % 64) & 1;
}

/* The carrier has something to do: for the thread of slot @n, which comes @anew, or for one of
 * those that went. */
static bool concerns(
	const struct sched_cpu *c, sched_u32 cpu, sched_u32 old, sched_u32 n, bool anew)
{
	if (c->aboard)
		return n != c->aboard;
	return anew && ((old && slot_at(old)->dead) || (n && wanted_at(n, cpu)));
}

static void ring(void *ctx, struct sched_cpu *c, sched_u32 n)
{
	sched_u32 w = c->carrier;

	/* On exec, the carrier may come while it still rings. */
	c->rung = 1;
	if (bpf_perf_event_output(ctx, &bells, BPF_F_CURRENT_CPU, &w, sizeof(w)) == 0)
		return;
	c->rung = 0;
	c->deaf = 1;
	slot_at(c->aboard)->missed++;
	slot_at(n)->missed++;
}

/*
 * Does what @next has of its own count for the one who is aboard? Of threads of the kernel, nothing
 * does at user level. Others do if the carrier should have come before them, and if it cannot:
 * to one that is as urgent, it has to wait.
 */
static bool is_late(const struct sched_cpu *c, sched_u32 n, const struct task_struct *next)
{
	if (next->flags & PF_KTHREAD)
		return false;
	return c->rung || (c->aboard && n != c->aboard && next->prio <= SCHED_CARRIER_PRIO);
}

static void come(void *ctx, struct sched_cpu *c, sched_u32 cpu, const struct task_struct *next)
{
	sched_u32 n = find(next->pid, next), old = c->slot;
	bool anew = c->task != (sched_u64)next || n != old;
	struct sched_slot *s = slot_at(n);

	c->task = (sched_u64)next;
	c->last = next->pid;
	c->slot = n;
	if (n) {
		s->task = (sched_u64)next;
		s->cpu = cpu;
		s->running = 1;
		if (anew)
			s->had = next->se.sum_exec_runtime;
		if (n == c->aboard)
			c->turn = 1;
	}
	if (anew && is_late(c, n, next))
		c->late++;
	if (c->carrier) {
		if (concerns(c, cpu, old, n, anew))
			ring(ctx, c, n);
	} else if (anew && n && wanted_at(n, cpu)) {
		s->stray++;
	}
}

SEC("tp_btf/sched_switch")
int on_switch(sched_u64 *ctx)
{
	/* Before them is whether prev was preempted. */
	const struct task_struct *prev = (const void *)ctx[1], *next = (const void *)ctx[2];
	sched_u32 cpu = bpf_get_smp_processor_id() & (SCHED_CPUS - 1);
	struct sched_cpu *c = &cpus[cpu];
	sched_u32 w = c->carrier;

	if (!followed && !c->slot)
		return 0;
	/* The idle thread's number is 0, and so is that of no carrier. */
	if (!w || prev->pid != w)
		leave(c, cpu, prev);
	if (!w || next->pid != w)
		come(ctx, c, cpu, next);
	else
		c->rung = 0;
	return 0;
}

static sched_u64 permitted(const struct cred *cred)
{
	const struct cred___halves *before = (const void *)cred;

	if (bpf_core_field_exists(cred->cap_permitted.val))
		return cred->cap_permitted.val;
	return (sched_u64)before->cap_permitted.cap[1] << 32 | before->cap_permitted.cap[0];
}

/* Where that is kept elsewhere it cannot be seen, and nobody is let in. */
static bool dumpable(const struct mm_struct *mm)
{
	const struct mm_struct___array *since = (const void *)mm;

	if (bpf_core_field_exists(mm->flags))
		return (mm->flags & DUMPABLE_MASK) == DUMPABLE_USER;
	if (bpf_core_field_exists(since->flags.__mm_flags))
		return (since->flags.__mm_flags[0] & DUMPABLE_MASK) == DUMPABLE_USER;
	return false;
}

/* As the kernel's __ptrace_may_access() decides, for one without CAP_SYS_PTRACE. */
static bool may_trace(const struct sched_guard *who, const struct task_struct *t)
{
	const struct cred *cred = t->real_cred;
	const struct mm_struct *mm = t->mm;

	if (!cred || !mm || !dumpable(mm))
		return false;
	if (cred->uid.val != who->uid || cred->euid.val != who->uid || cred->suid.val != who->uid)
		return false;
	if (cred->gid.val != who->gid || cred->egid.val != who->gid || cred->sgid.val != who->gid)
		return false;
	return !(permitted(cred) & ~who->permitted) &&
	       (!who->user_ns || cred->user_ns->ns.inum == who->user_ns);
}

/* The slot of the thread that runs here, had the number @was, and may have been switched since it
 * has another one. */
static sched_u32 find_here(const struct sched_cpu *c, sched_u32 was, const struct task_struct *t)
{
	sched_u32 n = c->slot;

	if (slot_at(n)->task == (sched_u64)t)
		return n;
	n = find(was, t);
	return n ? n : find(t->pid, t);
}

/* It lives on as one that is not followed, and has this CPU's carrier take its context away first. */
static void bar(void *ctx, struct sched_cpu *c, sched_u32 n, const struct task_struct *t)
{
	struct sched_slot *s = slot_at(n);

	forget_number(s->tid, n);
	s->tid = t->pid;
	if (c->task == (sched_u64)t)
		c->last = t->pid;
	s->barred_at = bpf_ktime_get_ns();
	note_dead(c, n, SCHED_BARRED);
	if (c->carrier)
		ring(ctx, c, n);
	else
		s->stray++;
}

SEC("tp_btf/sched_process_exec")
int on_exec(sched_u64 *ctx)
{
	const struct task_struct *t = (const void *)ctx[0];
	sched_u32 was = ctx[1], cpu = bpf_get_smp_processor_id() & (SCHED_CPUS - 1);
	struct sched_cpu *c = &cpus[cpu];
	const struct sched_guard *who;
	sched_u32 n;

	if (!followed)
		return 0;
	n = find_here(c, was, t);
	who = n ? bpf_map_lookup_elem(&guards, &n) : 0;
	if (who && !may_trace(who, t))
		bar(ctx, c, n, t);
	return 0;
}

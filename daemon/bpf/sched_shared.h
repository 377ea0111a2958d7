/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The memory that the scheduler's BPF programs (switch.bpf.c) and the daemon share. Each word has
 * one writer at a time; the other side loads it atomically.
 */
#ifndef BPF_SCHED_SHARED_H
#define BPF_SCHED_SHARED_H

#ifndef __bpf__
#include <stdint.h>
typedef uint32_t sched_u32;
typedef uint64_t sched_u64;
#else
typedef unsigned int sched_u32;
typedef unsigned long long sched_u64;
#endif

/* Powers of two: the programs mask indices with them. */
enum {
	SCHED_CPUS = 4096,
	SCHED_SLOTS = 65536, /* threads at a time; slot 0 is never used */
};

/* SCHED_FIFO priority of ctxsw threads, and the corresponding task_struct.prio, which counts down.
 */
enum { SCHED_CTXSW_FIFO = 98, SCHED_CTXSW_PRIO = 99 - SCHED_CTXSW_FIFO };

/* Entries share no cache line, so that writes of one CPU at each context switch do not delay
 * another. */
#define SCHED_ALIGNED __attribute__((aligned(64)))

/*
 * One CPU. Its current thread is the last one except the CPU's ctxsw thread: switches to and from
 * the ctxsw thread change nothing here. While no thread is followed, only the words that the daemon
 * writes are up to date.
 */
struct sched_cpu {
	/* Thread id of the CPU's ctxsw thread; 0: none. Written by the daemon. */
	sched_u32 ctxsw_tid;
	/* Slot whose context is in the registers: a switch to any other thread wakes the ctxsw
	 * thread, unless the slot is user_only. 0: none. Written by the ctxsw thread. */
	sched_u32 active_slot;
	/* The thread of active_slot has run since the ctxsw thread last cleared this. */
	sched_u32 has_run;
	/* Id of the current thread; ~0: it has exited. */
	sched_u32 last_tid;
	/* Slot of the current thread; 0: it is not followed. Read it with sched_here(). */
	sched_u32 slot;
	/* Newest slot that became dead here, the head of a list linked by prev_dead. The reader
	 * swaps in 0. */
	sched_u32 dead_slot;
	/* A wakeup was sent and the ctxsw thread has not run since. */
	sched_u32 wakeup_pending;
	/* How often another thread ran user code before the ctxsw thread did. */
	sched_u32 late;
	/* A wakeup failed: the perf event of a CPU that was offline is dead. */
	sched_u32 wakeup_dead;
	/* The ctxsw thread has work, for which it has the CPU unless it has to wait. Written by the
	 * ctxsw thread. */
	sched_u32 ctxsw_works;
	/* How long the ctxsw thread had the CPU before it last left it (ns, modulo 2^32). */
	sched_u32 ctxsw_ran;
	/* Address of the current thread's task_struct, which stays when its id changes. Private to
	 * the BPF programs. */
	sched_u64 task;
	/* State of the current thread when it came, or when the newest wakeup was sent: its time in
	 * user mode and, if regs_known, a hash of its user-mode registers, and its instruction
	 * pointer there. Private to the BPF programs. */
	sched_u64 utime, regs_hash, user_ip;
	sched_u32 regs_known;
	/* sched_taker() of the context that is loaded on this CPU. Meanwhile, no thread is counted
	 * here, and threads wake the ctxsw thread only by their death. 0: none. Written by the
	 * daemon. */
	sched_u64 taker;
	/* When the ctxsw thread last came to the CPU (CLOCK_MONOTONIC, ns). */
	sched_u64 ctxsw_at;
} SCHED_ALIGNED;

/* @serial is not 0, and differs between successive takers of a CPU. */
static inline sched_u64 sched_taker(sched_u32 cpu, sched_u32 uid, sched_u32 serial)
{
	return (sched_u64)uid << 32 | (serial & 0xffff) << 16 | (cpu & 0xffff);
}

static inline sched_u32 sched_taker_cpu(sched_u64 taker)
{
	return taker & 0xffff;
}

static inline sched_u32 sched_taker_uid(sched_u64 taker)
{
	return (sched_u32)(taker >> 32);
}

/* Why the context of a thread ends. */
enum sched_death {
	SCHED_ENDED = 1, /* its last context switch is over */
	SCHED_REVOKED,   /* it executed a program that its requester may not trace */
};

/* One followed thread. */
struct sched_slot {
	/* Its switches wake the ctxsw thread: the context is running. Written by the daemon. */
	sched_u32 enabled;
	/* Current thread id; exec may change it. */
	sched_u32 tid;
	/* It is on a CPU now. */
	sched_u32 running;
	/* Where it runs or last ran; ~0: it has not run yet. */
	sched_u32 cpu;
	/* enum sched_death; 0: alive. */
	sched_u32 dead;
	/* Next older entry in the list of dead slots of that CPU (sched_cpu.dead_slot); 0: none. */
	sched_u32 prev_dead;
	/* When it was revoked (CLOCK_MONOTONIC, ns). Private to the BPF programs. */
	sched_u64 revoked_at;
	/* How often it ran on a CPU of its mask that has no ctxsw thread. */
	sched_u32 uncovered;
	/* While active: the context stays in the registers when the idle task or a kernel thread
	 * comes. Written by the ctxsw thread. */
	sched_u32 user_only;
	/* The newest taker (sched_cpu.taker) of a CPU of its mask that it ran on; 0: none. */
	sched_u64 taker;
	/* How many of its switches the programs or the ctxsw thread did not see in time. */
	sched_u32 missed;
	/* How often the thread ran, or another one ran while its context was active, because the
	 * ctxsw thread had to wait or did not get the CPU. */
	sched_u32 stalled;
	/* How many programs it has executed. */
	sched_u32 execs;
	sched_u32 reserved;
	/* Address of its task_struct; 0 until it has run. Private to the BPF programs. */
	sched_u64 task;
	/* Its CPU time (ns) when it last left a CPU. */
	sched_u64 runtime_out;
	/* Its CPU time (ns) when it last came to a CPU. */
	sched_u64 runtime_in;
};

/* Credentials of the user on whose behalf a thread is followed, unless they may trace any thread. A
 * thread that executes a program which they may not trace is revoked. */
struct sched_requester {
	sched_u64 permitted; /* capabilities */
	sched_u32 uid, gid;
	sched_u32 user_ns; /* inode number; 0: the kernel has no user namespaces */
};

#endif

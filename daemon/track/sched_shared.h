/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The memory that the programs in the scheduler (switch.bpf.c) and the daemon share. Each word has
 * one writer at a time; the other side loads it atomically.
 */
#ifndef TRACK_SCHED_SHARED_H
#define TRACK_SCHED_SHARED_H

#ifndef __bpf__
#include <stdint.h>
typedef uint32_t sched_u32;
typedef uint64_t sched_u64;
#else
typedef unsigned int sched_u32;
typedef unsigned long long sched_u64;
#endif

/* Powers of two: the program masks indices with them. */
enum {
	SCHED_CPUS = 4096,
	SCHED_SLOTS = 65536, /* threads at a time; slot 0 is nobody's */
};

/* Carriers are SCHED_FIFO threads of this priority; the kernel counts down from 99. */
enum { SCHED_CARRIER_FIFO = 98, SCHED_CARRIER_PRIO = 99 - SCHED_CARRIER_FIFO };

/* On a cache line of its own: what one CPU writes at each context switch is to delay no other. */
#define SCHED_ALIGNED __attribute__((aligned(64)))

/*
 * One CPU. The thread that runs there as far as it matters is the last one that was not the CPU's
 * carrier: the carrier's own comings and goings change nothing. While nobody is followed, all but
 * the daemon's words may be old.
 */
struct sched_cpu {
	sched_u32 carrier; /* the daemon's: its thread number; 0: there is none */
	sched_u32 aboard; /* the carrier's: slot whose context is in the registers: another thread's
			     coming is to ring the bell; 0: none */
	sched_u32 turn;   /* that thread has run since the carrier last made this 0 */
	sched_u32 last;   /* number of the thread that runs; ~0: it has ended */
	sched_u32 slot;   /* its slot; 0: it is not followed. Ask sched_here() */
	sched_u32 died;   /* slot of the last one that became dead here. Who takes it makes it 0 */
	sched_u32 rung;   /* the bell has, and the carrier has not come yet */
	sched_u32 late;   /* how often another thread, with code of its own, was quicker than it */
	sched_u32 deaf;   /* the bell could not be rung: that of a CPU that was offline is dead */
	sched_u64 task;   /* the program's own: which thread it is, whatever its number */
} SCHED_ALIGNED;

/* Why a thread's context is to end. */
enum sched_death {
	SCHED_ENDED = 1, /* it has left its last CPU for good */
	SCHED_BARRED,    /* it has executed a program that may not be monitored */
};

/* One followed thread. */
struct sched_slot {
	sched_u32 wanted;  /* the daemon's: its coming and going is to ring the bell */
	sched_u32 tid;     /* its number now: exec may change it */
	sched_u32 running; /* it is on a CPU just now, */
	sched_u32 cpu;     /* and this is that CPU, or where it was the last time; ~0: none yet */
	sched_u32 dead;    /* enum sched_death, or 0 */
	sched_u32 before;  /* slot of the one that became so before it there, to take, too; or 0 */
	sched_u64 barred_at; /* the program's own: when it was (CLOCK_MONOTONIC, ns) */
	sched_u32 stray;  /* how often it came to a CPU that has no carrier, and is wanted there */
	sched_u32 missed; /* how often it came or went without our being told */
	sched_u64 task;   /* the program's own: 0 until it has come to run */
	sched_u64 ran;    /* its CPU time (ns), up to when it last left a CPU, */
	sched_u64 had;    /* and before it last came to one */
};

/* For whom a thread is followed, if that is not one who may trace all: when it executes a program
 * that he might not trace, it is barred. */
struct sched_guard {
	sched_u64 permitted; /* his capabilities */
	sched_u32 uid, gid;
	sched_u32 user_ns; /* inode number; 0: this kernel has none */
};

#endif

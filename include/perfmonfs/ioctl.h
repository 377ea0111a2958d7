/* SPDX-License-Identifier: MIT */
/*
 * ioctls of an open MNT/clone, whose descriptor is a context (specification, chapter 3).
 * libperfmonfs implements perfmon2's calls with them; other languages may use them directly.
 *
 * The structures are perfmon2's from Linux 2.6 kernels. They have a fixed size, even in 32-bit
 * programs. Reserved fields must be 0.
 *
 * A command marked [] takes a vector of 1 to N elements. Its size carries their number:
 * PFM_IOC_VECTOR(PFM_IOC_READ_PMDS, n). The vector is limited by config/arg_size_max and by
 * PFM_IOC_SIZE_MAX bytes (E2BIG). Elements are executed in order up to the first error. The
 * elements before it remain in effect; the flags of the wrong one say why (PFM_IOC_RETFL_*). The
 * vector is copied back after an error, too. A command that returns no values (WRITE_*,
 * DELETE_EVTSETS) copies it back only if flags have changed, since the vector may be constant. An
 * empty vector has no effect.
 *
 * Errors: ENOTTY, unknown command; EBADF, the descriptor is not open for writing, as commands that
 * change the context require; EINVAL, wrong size, a reserved field is not 0, no such register or
 * set. Commands have further errors. The context's last_error has the sentence.
 */
#ifndef PERFMONFS_IOCTL_H
#define PERFMONFS_IOCTL_H

#include <stdint.h>

#include <linux/ioctl.h>

enum {
	PFM_IOC_BV = 5,           /* 64-bit words of a bit vector of registers */
	PFM_IOC_SIZE_MAX = 16383, /* bytes, the largest argument of a command */
	PFM_IOC_FORMAT_MAX = 64,  /* bytes of a sampling format's name, with its NUL */
};

/* Context flags */
#define PFM_IOC_FL_NOTIFY_BLOCK 0x01
#define PFM_IOC_FL_SYSTEM_WIDE  0x02
#define PFM_IOC_FL_MAP_SETS     0x10 /* event sets have live pages: see cookie */
#define PFM_IOC_FL_OVFL_NO_MSG  0x80

/* Flags of registers */
#define PFM_IOC_REGFL_OVFL_NOTIFY 0x1 /* PMD: notify its overflow */
#define PFM_IOC_REGFL_RANDOM      0x2 /* PMD: randomize its reset values */
#define PFM_IOC_REGFL_NO_EMUL64   0x4 /* PMC: its PMDs are as wide as the hardware counter */
#define PFM_IOC_REGFL_READ_RESET  0x8 /* READ_RESET_PMDS: long reset after reading */
/*
 * WRITE_PMDS: keep OVFL_NOTIFY, RANDOM, reset_pmds, smpl_pmds and smpl_eventid. The specification
 * sets these with the PMC, later versions with the PMD.
 */
#define PFM_IOC_REGFL_KEEP_NOTICE 0x100
/*
 * WRITE_PMDS, while masked: restart resets the PMD to its new long_reset if it has overflowed, as
 * the specification says (3.4.2). Without this flag, the PMD continues from value, as in later
 * versions.
 */
#define PFM_IOC_REGFL_KEEP_RESET 0x200

/*
 * DELETE_EVTSETS and GETINFO_EVTSETS ignore all flags, as kernels did, except this one, which fails
 * with EINVAL. libperfmonfs sets it for flags that the specification refuses.
 */
#define PFM_IOC_FL_REFUSED 0x8000

/* Output: the error in an element. */
#define PFM_IOC_RETFL_NOTAVAIL (1U << 31) /* no such register */
#define PFM_IOC_RETFL_EINVAL   (1U << 30) /* any other error, see errno */
#define PFM_IOC_RETFL_NOSET    (1U << 29) /* no such event set */

struct pfm_ioc_setup {
	uint32_t flags;                  /* PFM_IOC_FL_* */
	uint32_t arg_size;               /* bytes of the format's argument, after this structure */
	char format[PFM_IOC_FORMAT_MAX]; /* name or UUID; "" for none */
	uint64_t buf_size; /* output: bytes of the sampling buffer; map it at offset 0 */
	uint64_t number;   /* output: name of the context in ctx/ */
	uint64_t reserved[5];
};

struct pfm_ioc_pmc {
	uint16_t num;
	uint16_t set;
	uint32_t flags;
	uint64_t value;
	uint64_t reserved[4];
};

/*
 * In WRITE_PMCS_V06, num, set, value and NO_EMUL64 belong to the PMC. The other flags, reset_pmds,
 * smpl_pmds and smpl_eventid apply to the counting PMDs that it controls. All other fields are
 * ignored.
 */
struct pfm_ioc_pmd {
	uint16_t num;
	uint16_t set;
	uint32_t flags;
	uint64_t value;
	uint64_t long_reset;
	uint64_t short_reset;
	uint64_t last_reset_val;  /* output of READ_PMDS: the value loaded last */
	uint64_t ovfl_switch_cnt; /* overflows until a set switch; READ_PMDS: how many are left */
	uint64_t reset_pmds[PFM_IOC_BV];
	uint64_t smpl_pmds[PFM_IOC_BV];
	uint64_t smpl_eventid;
	uint64_t random_mask;
	uint32_t random_seed;
	uint32_t reserved32;
	uint64_t reserved[3];
};

#define PFM_IOC_LOADFL_FOLLOW   0x1 /* new threads and processes get contexts, too */
#define PFM_IOC_LOADFL_UNTRACED 0x2 /* do not use ptrace */
/* Monitor all threads of the process @target, and the threads that they create. Not with
 * UNTRACED. */
#define PFM_IOC_LOADFL_PROCESS 0x4
/* Output, with EBUSY: the thread @target has a context already. */
#define PFM_IOC_LOADFL_TAKEN (1U << 31)

/*
 * The structure may be followed by a mask of the CPUs on which the thread is monitored, as in
 * sched_setaffinity(2): bit 0 of the first byte is CPU 0.
 */
struct pfm_ioc_load {
	uint32_t target; /* thread or process in the caller's PID namespace; CPU of a system-wide
			    context */
	uint16_t set;
	uint16_t reserved16;
	uint32_t flags; /* PFM_IOC_LOADFL_*, for threads only */
	uint32_t reserved32;
	uint64_t reserved[2];
};

struct pfm_ioc_start {
	uint16_t set;
	uint16_t reserved16;
	uint32_t reserved32;
	uint64_t reserved[3];
};

#define PFM_IOC_SETFL_OVFL_SWITCH 0x1
#define PFM_IOC_SETFL_TIME_SWITCH 0x2
#define PFM_IOC_SETFL_EXPL_NEXT   0x4 /* id_next is the next set */
#define PFM_IOC_SETFL_EXCL_IDLE   0x8 /* threads: no effect; CPUs: EINVAL */
/*
 * If the set exists, change only the properties in this structure, and preserve its registers, runs
 * and times. Without this flag, the set is replaced by a new one. Versions of perfmon2 differ in
 * this.
 */
#define PFM_IOC_SETFL_KEEP 0x100

struct pfm_ioc_setdesc {
	uint16_t id;
	uint16_t id_next;
	uint32_t flags;
	uint64_t timeout; /* ns, for TIME_SWITCH; output: the effective one */
	uint64_t reserved[6];
};

struct pfm_ioc_setinfo {
	uint16_t id;
	uint16_t id_next;
	uint32_t flags;
	uint64_t ovfl_pmds[PFM_IOC_BV]; /* PMDs that caused the last switch from the set */
	uint64_t runs;                  /* number of activations */
	uint64_t timeout;               /* ns left */
	uint64_t act_duration;          /* ns active */
	uint64_t avail_pmcs[PFM_IOC_BV];
	uint64_t avail_pmds[PFM_IOC_BV];
	uint64_t cookie; /* with PFM_IOC_FL_MAP_SETS, offset for mmap() of the set's live page
			    (perfmonfs/live.h); 0 if it has none: use READ_PMDS */
	uint64_t reserved[5];
};

enum {
	PFM_IOC_STATE_UNLOADED = 0,
	PFM_IOC_STATE_LOADED = 1,
	PFM_IOC_STATE_RUNNING = 2,
	PFM_IOC_STATE_MASKED = 3,
};

/* Output only. tid, cpu and set are 0 if the context is not loaded. */
struct pfm_ioc_info {
	uint64_t number; /* name of the context in ctx/ */
	uint32_t flags;  /* PFM_IOC_FL_* except MAP_SETS */
	uint32_t state;  /* PFM_IOC_STATE_* */
	uint32_t tid;    /* thread in the daemon's PID namespace; 0 if loaded on a CPU */
	uint32_t cpu;    /* CPU on which it is loaded, or on which the thread ran last */
	uint16_t set;    /* active set */
	uint16_t reserved16;
	uint32_t reserved32;
};

enum { PFM_IOC_OWNER_TID = 0, PFM_IOC_OWNER_PID = 1 };

struct pfm_ioc_signal {
	int32_t sig;   /* signal for each message; 0 for none */
	int32_t type;  /* PFM_IOC_OWNER_* */
	int32_t owner; /* thread or process in the caller's PID namespace, 0 for the caller. The
			  caller and the opener of clone must be allowed to signal it. */
	int32_t fd;    /* si_fd of the signal, 0 to 65535 */
	uint64_t reserved[2];
};

/* ---- commands, with the section of the specification; [] takes a vector ---- */
#define PFM_IOC_WRITE_PMCS      _IOWR('p', 0xc0, struct pfm_ioc_pmc)     /* [] 3.1.2 */
#define PFM_IOC_WRITE_PMDS      _IOWR('p', 0xc1, struct pfm_ioc_pmd)     /* [] 3.1.3 */
#define PFM_IOC_READ_PMDS       _IOWR('p', 0xc2, struct pfm_ioc_pmd)     /* [] 3.1.4 */
#define PFM_IOC_LOAD            _IOWR('p', 0xc3, struct pfm_ioc_load)    /* 3.1.7 */
#define PFM_IOC_START           _IO('p', 0xc4)                           /* 3.1.5 */
#define PFM_IOC_START_SET       _IOW('p', 0xc4, struct pfm_ioc_start)    /* 3.1.5 */
#define PFM_IOC_STOP            _IO('p', 0xc5)                           /* 3.1.6 */
#define PFM_IOC_RESTART         _IO('p', 0xc6)                           /* 3.1.9 */
#define PFM_IOC_CREATE_EVTSETS  _IOWR('p', 0xc7, struct pfm_ioc_setdesc) /* [] 3.1.10 */
#define PFM_IOC_GETINFO_EVTSETS _IOWR('p', 0xc8, struct pfm_ioc_setinfo) /* [] 3.1.12 */
#define PFM_IOC_DELETE_EVTSETS  _IOWR('p', 0xc9, struct pfm_ioc_setdesc) /* [] 3.1.11 */
#define PFM_IOC_UNLOAD          _IO('p', 0xca)                           /* 3.1.8 */
/* Only before the first load. The format's argument follows the structure. */
#define PFM_IOC_SETUP          _IOWR('p', 0xcb, struct pfm_ioc_setup) /* 3.1.1 */
#define PFM_IOC_SIGNAL         _IOW('p', 0xcc, struct pfm_ioc_signal) /* 3.3.7 */
#define PFM_IOC_WRITE_PMCS_V06 _IOWR('p', 0xcd, struct pfm_ioc_pmd)   /* [] 3.1.2 */
#define PFM_IOC_INFO           _IOWR('p', 0xce, struct pfm_ioc_info)
/* Like READ_PMDS; then the PMDs with PFM_IOC_REGFL_READ_RESET, and the PMDs in their reset_pmds as
 * written, get their long reset values. */
#define PFM_IOC_READ_RESET_PMDS _IOWR('p', 0xcf, struct pfm_ioc_pmd) /* [] 6.2.2 */

/*
 * The same as plain numbers, for languages without these macros: on processors whose ioctls are
 * those of asm-generic/ioctl.h, as x86 and ARM. Bits 29:16 are the size of one structure. For a
 * vector of n elements, or b bytes after the structure, add (n - 1) * size or b to it.
 */
#define PFM_IOC_NUMBER_WRITE_PMCS      0xc03070c0U
#define PFM_IOC_NUMBER_WRITE_PMDS      0xc0b070c1U
#define PFM_IOC_NUMBER_READ_PMDS       0xc0b070c2U
#define PFM_IOC_NUMBER_LOAD            0xc02070c3U
#define PFM_IOC_NUMBER_START           0x70c4U
#define PFM_IOC_NUMBER_START_SET       0x402070c4U
#define PFM_IOC_NUMBER_STOP            0x70c5U
#define PFM_IOC_NUMBER_RESTART         0x70c6U
#define PFM_IOC_NUMBER_CREATE_EVTSETS  0xc04070c7U
#define PFM_IOC_NUMBER_GETINFO_EVTSETS 0xc0c870c8U
#define PFM_IOC_NUMBER_DELETE_EVTSETS  0xc04070c9U
#define PFM_IOC_NUMBER_UNLOAD          0x70caU
#define PFM_IOC_NUMBER_SETUP           0xc08070cbU
#define PFM_IOC_NUMBER_SIGNAL          0x402070ccU
#define PFM_IOC_NUMBER_WRITE_PMCS_V06  0xc0b070cdU
#define PFM_IOC_NUMBER_INFO            0xc02070ceU
#define PFM_IOC_NUMBER_READ_RESET_PMDS 0xc0b070cfU

/* The command for a vector of @n elements, at most PFM_IOC_SIZE_MAX bytes together. */
#define PFM_IOC_VECTOR(cmd, n)                                                                     \
	_IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), _IOC_SIZE(cmd) * (unsigned)(n))

/* The command for a structure with @bytes bytes after it: SETUP, LOAD. */
#define PFM_IOC_TAILED(cmd, bytes)                                                                 \
	_IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), _IOC_SIZE(cmd) + (unsigned)(bytes))

#endif

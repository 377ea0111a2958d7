/* SPDX-License-Identifier: MIT */
/*
 * The commands of an open MNT/clone, whose descriptor is a context (specification, chapter 3).
 * libperfmonfs makes perfmon2's calls of them; other languages may use them as they are.
 *
 * Structures are perfmon2's as Linux 2.6 kernels had them, of fixed size and the same in 32-bit
 * programs; all that is reserved is 0, where it is looked at. Commands marked with a vector take 1
 * to N elements, whose number is in the size that the command carries:
 * PFM_IOC_VECTOR(PFM_IOC_READ_PMDS, n). N is what fits into config/arg_size_max and into
 * PFM_IOC_SIZE_MAX bytes (E2BIG). Elements are done in order and the first error ends it; those
 * before it stay done, and the one that it is about says why in its flags, PFM_IOC_RETFL_*. The
 * vector is given back after an error, too. What is only written (WRITE_*, DELETE_EVTSETS) is given
 * back only if flags have changed by that: it may be constants. An empty one does nothing.
 *
 * Errors: ENOTTY, no such command; EBADF, the open's access mode does not allow it (what changes
 * the context wants it open for writing); EINVAL, the size is none of that command, a reserved
 * field is not 0, no such register or set; and those of the command. The sentence is in the
 * context's last_error.
 */
#ifndef PERFMONFS_IOCTL_H
#define PERFMONFS_IOCTL_H

#include <stdint.h>

#include <linux/ioctl.h>

enum {
	PFM_IOC_BV = 5,           /* 64-bit elements of a bit vector of registers */
	PFM_IOC_SIZE_MAX = 16383, /* bytes that a command carries */
	PFM_IOC_FORMAT_MAX = 64,  /* bytes of a sampling format's name, with its NUL */
};

/* Context flags */
#define PFM_IOC_FL_NOTIFY_BLOCK 0x01
#define PFM_IOC_FL_SYSTEM_WIDE  0x02
#define PFM_IOC_FL_MAP_SETS     0x10 /* event sets get live pages, see cookie */
#define PFM_IOC_FL_OVFL_NO_MSG  0x80

/* Flags of registers */
#define PFM_IOC_REGFL_OVFL_NOTIFY 0x1 /* PMD: its overflow is notified */
#define PFM_IOC_REGFL_RANDOM      0x2 /* PMD: its reset values are randomized */
#define PFM_IOC_REGFL_NO_EMUL64   0x4 /* PMC: its PMDs are as wide as the actual counter */
/*
 * The first version of the interface says on the PMC what later ones say on the PMD. So a command
 * may leave parts of a PMD as they are:
 */
#define PFM_IOC_REGFL_KEEP_NOTICE                                                                  \
	0x100 /* WRITE_PMDS: the two flags, reset_pmds, smpl_pmds, smpl_eventid */

/* What was wrong with an element; out only. */
#define PFM_IOC_RETFL_NOTAVAIL (1U << 31) /* no such register */
#define PFM_IOC_RETFL_EINVAL   (1U << 30) /* anything else: the error says what */
#define PFM_IOC_RETFL_NOSET    (1U << 29) /* no such event set */

struct pfm_ioc_setup {
	uint32_t flags;                  /* PFM_IOC_FL_* */
	uint32_t arg_size;               /* bytes of the format's argument, which follow this */
	char format[PFM_IOC_FORMAT_MAX]; /* a name or UUID of formats; "": none */
	uint64_t buf_size;               /* out: bytes of the sampling buffer, to be mapped at 0 */
	uint64_t number;                 /* out: what the context is called in ctx/ */
	uint64_t reserved[5];
};

struct pfm_ioc_pmc {
	uint16_t num;
	uint16_t set;
	uint32_t flags;
	uint64_t value;
	uint64_t reserved[4];
};

/* Also what WRITE_PMCS_V06 takes: value is the PMC's; flags but NO_EMUL64, reset_pmds, smpl_pmds
 * and smpl_eventid are set for the counting PMDs that this PMC controls; the others are ignored. */
struct pfm_ioc_pmd {
	uint16_t num;
	uint16_t set;
	uint32_t flags;
	uint64_t value;
	uint64_t long_reset;
	uint64_t short_reset;
	uint64_t last_reset_val;  /* out, READ_PMDS: the value last loaded into it */
	uint64_t ovfl_switch_cnt; /* overflows until the set is switched from; READ_PMDS: left */
	uint64_t reset_pmds[PFM_IOC_BV];
	uint64_t smpl_pmds[PFM_IOC_BV];
	uint64_t smpl_eventid;
	uint64_t random_mask;
	uint32_t random_seed;
	uint32_t reserved32;
	uint64_t reserved[3];
};

#define PFM_IOC_LOADFL_FOLLOW   0x1 /* what the thread makes gets contexts of its own */
#define PFM_IOC_LOADFL_UNTRACED 0x2 /* without ptrace */
/* Out only, with EBUSY: the thread has a context already. */
#define PFM_IOC_LOADFL_TAKEN (1U << 31)

/* What follows it, if anything does, is a mask of the CPUs where the thread is to be followed, as
 * sched_setaffinity(2) takes it: bit 0 of its first byte is CPU 0. */
struct pfm_ioc_load {
	uint32_t target; /* a thread, as the caller numbers it; a CPU, if the context is system-wide
			  */
	uint16_t set;
	uint16_t reserved16;
	uint32_t flags; /* PFM_IOC_LOADFL_*, of threads */
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
#define PFM_IOC_SETFL_EXPL_NEXT   0x4 /* id_next says which set comes next */
/*
 * Versions of the interface differ in what becomes of a set that there is already: without this
 * flag it is made anew. With it, its properties (all in this structure) become these; its
 * registers, runs and times stay as they are.
 */
#define PFM_IOC_SETFL_KEEP 0x100

struct pfm_ioc_setdesc {
	uint16_t id;
	uint16_t id_next;
	uint32_t flags;
	uint64_t timeout; /* ns; 0: none, unless it switches by time; out: the effective one */
	uint64_t reserved[6];
};

struct pfm_ioc_setinfo {
	uint16_t id;
	uint16_t id_next;
	uint32_t flags;
	uint64_t ovfl_pmds[PFM_IOC_BV]; /* PMDs that overflowed when it was last switched from */
	uint64_t runs;
	uint64_t timeout;      /* ns, what is left of it */
	uint64_t act_duration; /* ns */
	uint64_t avail_pmcs[PFM_IOC_BV];
	uint64_t avail_pmds[PFM_IOC_BV];
	uint64_t cookie; /* the offset at which its live page is mapped (perfmonfs/live.h), with
			    PFM_IOC_FL_MAP_SETS; 0: it has none, and READ_PMDS is the way */
	uint64_t reserved[5];
};

enum {
	PFM_IOC_STATE_UNLOADED = 0,
	PFM_IOC_STATE_LOADED = 1,
	PFM_IOC_STATE_RUNNING = 2,
	PFM_IOC_STATE_MASKED = 3,
};

/* What the context is, all of it out; unless it is loaded, tid, cpu and set are 0. */
struct pfm_ioc_info {
	uint64_t number; /* what it is called in ctx/ */
	uint32_t flags;  /* PFM_IOC_FL_*, but for MAP_SETS */
	uint32_t state;
	uint32_t tid; /* the thread that it is loaded on, as the daemon numbers it; 0: on a CPU */
	uint32_t cpu; /* this; or where the thread was last */
	uint16_t set; /* the active one */
	uint16_t reserved16;
	uint32_t reserved32;
};

enum { PFM_IOC_OWNER_TID = 0, PFM_IOC_OWNER_PID = 1 };

struct pfm_ioc_signal {
	int32_t sig;   /* sent with each message; 0: none */
	int32_t type;  /* PFM_IOC_OWNER_* */
	int32_t owner; /* a thread or process of the caller's own, and of who has opened the clone,
			  as the caller numbers it; 0: he himself */
	int32_t fd;    /* what siginfo's si_fd is to be; 0..65535 */
	uint64_t reserved[2];
};

/* ---- commands; [] takes a vector ---- */
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
/* Until the first load; the argument is behind the structure. */
#define PFM_IOC_SETUP          _IOWR('p', 0xcb, struct pfm_ioc_setup) /* 3.1.1 */
#define PFM_IOC_SIGNAL         _IOW('p', 0xcc, struct pfm_ioc_signal) /* 3.3.7 */
#define PFM_IOC_WRITE_PMCS_V06 _IOWR('p', 0xcd, struct pfm_ioc_pmd)   /* [] 3.1.2 */
#define PFM_IOC_INFO           _IOWR('p', 0xce, struct pfm_ioc_info)

/* The command for a vector of @n elements: @n * element <= PFM_IOC_SIZE_MAX. */
#define PFM_IOC_VECTOR(cmd, n)                                                                     \
	_IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), _IOC_SIZE(cmd) * (unsigned)(n))

/* The command for a structure with @bytes bytes behind it: SETUP, LOAD. */
#define PFM_IOC_TAILED(cmd, bytes)                                                                 \
	_IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), _IOC_SIZE(cmd) + (unsigned)(bytes))

#endif

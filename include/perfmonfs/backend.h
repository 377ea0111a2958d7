/* SPDX-License-Identifier: MIT */
/*
 * The contract between the daemon and the backends, which access the counters: msr, perf, sim.
 *
 * A backend knows registers, not contexts. The daemon passes it plans, arrays of struct reg_op for
 * one target, which is a CPU or, with a backend that can open these, a thread; the backend executes
 * them in order and stops at the first failure. It checks each write
 * against the PMU description again before the write reaches a device, and it keeps the original
 * values of reserved registers so that they are restored in every case.
 *
 * Threads: a struct backend_cpu is used by one thread at a time. Different CPUs may be used
 * concurrently, and so may all functions that take a struct backend.
 */
#ifndef PERFMONFS_BACKEND_H
#define PERFMONFS_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "perfmonfs/format.h"
#include "perfmonfs/pmu.h"
#include "perfmonfs/thread_table.h"

enum reg_verb {
	/* value = the register. */
	REG_READ,
	/* The register = value. */
	REG_WRITE,
	/* The register's bits under mask = the bits of value; value = the register before. Nothing
	 * is written if that would change nothing. */
	REG_UPDATE,
	/* Like REG_UPDATE, but only if the bits under mask equal the bits of expect. value = the
	 * register before in both cases; a mismatch is not a failure. */
	REG_REPLACE,
	/* value = the register. Its bits under mask are saved as the original ones, in the journal
	 * too, unless they already are. */
	REG_RESERVE,
	/* The reserved bits under mask are restored, and their reservation ends. */
	REG_RELEASE,
	/* The reservation of the bits under mask ends; the register keeps its value. */
	REG_FORGET,
};

struct reg_op {
	uint32_t addr; /* For a counter, its PMD's addr; the backend substitutes waddr. */
	enum reg_verb verb;
	uint64_t value;
	uint64_t mask;
	uint64_t expect; /* REG_REPLACE only. */
};

/* One record of the kernel: an overflow of a counter, a loss, or an event of the thread. */
struct interrupt {
	enum interrupt_kind {
		INTERRUPT_OVERFLOW, /* Counter @addr overflowed. */
		/* @dropped overflows or events of the thread were not recorded, for lack of
		 * room. */
		INTERRUPT_DROPPED,
		/* The kernel stopped the counters in @counter for a while: their counts are
		 * lost. */
		INTERRUPT_THROTTLED,
		/* Other users of the PMU took a counter: all counts in @counter are lost. */
		INTERRUPT_EVICTED,
		INTERRUPT_EVENT, /* Not an interrupt, but @event of the thread. */
	} kind;
	uint32_t addr;
	uint64_t dropped;
	uint64_t time;          /* CLOCK_MONOTONIC, ns. */
	uint64_t now;           /* On a thread, the time base of its counts, ns; on a CPU, @time. */
	pfm_smpl_where_t where; /* The frames are valid until the next call for this target. */
	pfm_smpl_event_t event; /* The name is valid until the next call, too. */
	unsigned n;             /* Elements of @counter. */
	struct {
		uint32_t addr;
		uint64_t value;
	} counter[PMU_MAX_PMDS];
};

/* How a target's counters interrupt. */
struct interrupt_conf {
	size_t buffer;  /* Bytes of the sampling buffer; what waits for it takes as much. */
	unsigned batch; /* Overflows after which the descriptor becomes readable. */
	bool stacks;    /* Call chains are recorded. */
	/* Threads only, see backend.user_stacks: bytes of the user's stack that are recorded with
	 * the user's registers; call chains then have only the kernel's part. 0: none. */
	uint32_t user_stack;
	/* Threads only: also record what this thread executes and maps, from the first call on,
	 * whether or not counters are started. */
	bool events;
	/* With @events: also record each switch of the thread back to a CPU, PFM_EVENT_WAIT. */
	bool waits;
};

/* What the registers of a thread count, and from when. */
struct thread_conf {
	/* Also count the threads and processes that it creates after the first start, and their
	 * descendants. */
	bool inherit;
	/* Counting begins when the thread next executes a program; until then, started counters
	 * wait. */
	bool on_exec;
	/* With @inherit: the pid of the thread's process, to count all threads that it has at the
	 * first start. 0: this thread only. */
	int process;
	/* Limit of the descriptors for the counters of a process. */
	unsigned max_files;
	/* The events take counters of the PMU; they have priority over events that the kernel may
	 * multiplex. No effect with @inherit. */
	bool takes_counters;
};

struct backend_stats {
	atomic_ullong reads, writes; /* Register accesses that reached the device. */
};

struct backend_conf {
	const char *dev;     /* msr: directory with N/msr and N/cpuid. */
	const char *model;   /* One of model_name(); NULL: the backend's default. */
	const char *pmu;     /* Name or file of a PMU description; NULL: detect it. */
	const char *run_dir; /* msr: the journal's directory, e.g. /run/perfmonfs. */
	unsigned cpus;       /* Number of CPUs of a simulated backend; 0: its default. */
	bool real_time;      /* A simulated backend's time follows the real clock. */
	bool no_threads;     /* Forces backend.opens_threads to false. */
};

/* The outcome of one item of --check. */
enum check_result { CHECK_OK, CHECK_NOTE, CHECK_FAIL };
typedef void check_report(void *arg, enum check_result r, const char *thing, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

struct backend;
struct backend_cpu; /* An open target: the registers of a CPU or of a thread. */

/* One backend. The daemon asks for its properties, never for its name. */
struct backend_ops {
	/* The name in --backend and in /pmu/backend. */
	const char *name;

	/* CPUs and registers belong to a model: there are no threads to monitor, and no kernel
	 * event shows what runs there. */
	bool simulated;

	/* cpu_open() requires CAP_SYS_RAWIO, so the daemon keeps this capability. */
	bool needs_rawio;

	/* The counters are the processor's own, so RDPMC in user space reads the same values. If
	 * false, the daemon reads them each tick while there is a live page. */
	bool rdpmc;

	/* Name @i of the models that may follow the backend's name and a colon; NULL after the
	 * last. The pointer itself is NULL if nothing may follow. */
	const char *(*model_name)(unsigned i);

	/*
	 * On failure, the sentence names the thing, the file, the errno and a remedy. ENODEV: no
	 * known PMU; ENOENT: no driver; EACCES, EPERM: lockdown, allow_writes or a capability.
	 */
	int (*open)(const struct backend_conf *conf, struct backend **out, struct err *e);

	/* Examines the machine, reports each item, and changes nothing. NULL: only open() finds
	 * problems. */
	void (*check)(const struct backend_conf *conf, check_report *report, void *arg);

	/*
	 * Opens CPU @cpu. ENXIO: offline or no such CPU; ENODEV: its PMU is not the one described;
	 * EACCES, EPERM: the device refuses.
	 */
	int (*cpu_open)(struct backend *be, unsigned cpu, struct backend_cpu **out, struct err *e);

	/*
	 * Only if backend.opens_threads. Opens the thread whose tid is *@tid, which changes if
	 * another thread of its process executes a program; @tid stays valid until cpu_close(). The
	 * registers count while that thread runs, on any CPU: they are saved and restored with it,
	 * and never become another thread's, even if its tid is reused. The counters that one run()
	 * starts or stops, with no others running, start or stop at the same moment. May wait for
	 * an execve() of the thread. ESRCH: there is no such thread; EACCES, EPERM: the kernel
	 * refuses. With conf->inherit, a register is the sum over all threads, and a run() that
	 * selects another event after the first start fails with EBUSY. With conf->process, the
	 * first start opens the threads of the process: EAGAIN: they come and go too fast; EMFILE:
	 * there are too many; ESRCH: this one has ended.
	 */
	int (*thread_open)(struct backend *be, const atomic_int *tid,
		const struct thread_conf *conf, struct backend_cpu **out, struct err *e);

	/* Nanoseconds that the thread has run, or all threads together, while the counters were
	 * started: the time base of the counts. */
	uint64_t (*thread_time)(struct backend_cpu *c);

	/*
	 * The counts of each thread of a process that was opened with conf->process, including
	 * those of the threads and processes that it has created since; of other targets, none. On
	 * success, the caller frees @out. ENOMEM.
	 */
	int (*thread_table)(struct backend_cpu *c, struct thread_table *out, struct err *e);

	/*
	 * For a thread that is not traced: returns a descriptor on which poll() reports POLLHUP as
	 * soon as a thread and all that inherit its registers have ended, or have lost them (see
	 * thread_check()). Call it again then; ESRCH means that no thread is left. cpu_close()
	 * closes the descriptor. EMFILE, EPERM and others: the kernel refuses, and threads may be
	 * left.
	 */
	int (*thread_watch)(struct backend_cpu *c, struct err *e);

	/* Called after an execve() of the thread, before the new program runs. ESRCH: the kernel
	 * has removed the thread's counters; the counts can still be read. */
	int (*thread_check)(struct backend_cpu *c, struct err *e);

	/*
	 * Only if backend.opens_threads. All run() calls between @on true and false take effect at
	 * one moment, that of the first reading, while the thread goes on: a counter that starts
	 * continues where another has stopped. Counters that select an event for the first time
	 * start later, and so do counters whose events the kernel cannot keep open next to the
	 * events that stop. No effect with conf->inherit, or if any event takes a counter.
	 */
	void (*thread_at_once)(struct backend_cpu *c, bool on);

	/*
	 * Only if backend.opens_threads. Returns a descriptor that becomes readable when
	 * thread_time() has advanced by @ns; replaces an earlier alarm. The descriptor stays open
	 * until cpu_close(). EPERM, EMFILE, ENOMEM: the kernel refuses.
	 */
	int (*thread_alarm)(struct backend_cpu *c, uint64_t ns, struct err *e);

	/*
	 * Executes @n operations in order; returns how many succeeded. If fewer than @n, @e
	 * explains the failure of the next one: EIO (the register faults), ENXIO (the CPU went
	 * offline), EPERM (the kernel or the description refuses the write), EBUSY (other users of
	 * the PMU have taken the counter; its count is lost). perf, whose registers are events,
	 * adds the errors of perf_event_open(2): EINVAL, ENODEV, EACCES, EBUSY, EMFILE.
	 */
	unsigned (*run)(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e);

	/*
	 * Checks whether selector @addr with @value, which enables its counter, can count here;
	 * changes nothing. Fails only for reasons that hold on every CPU and at any time: ENOENT,
	 * EINVAL, EOPNOTSUPP: no such event, or not with these bits; ENODEV: the event's source is
	 * missing; EACCES, EPERM: the kernel refuses the daemon. NULL: every value can count.
	 */
	int (*try_selector)(struct backend *be, uint32_t addr, uint64_t value, struct err *e);

	/*
	 * Checks whether a CPU can ever count at once the events of all @n selector values, each of
	 * which takes a counter; changes nothing. False: it has too few counters, or none for one
	 * of these events. Also true if this cannot be determined. NULL: events on a CPU never take
	 * a counter from events on a thread.
	 */
	bool (*events_fit)(struct backend *be, const uint64_t *sels, unsigned n);
	/* Whether the event of selector value @sel takes a counter of the PMU. Backends with
	 * events_fit have this, too. */
	bool (*takes_counter)(uint64_t sel);

	/*
	 * Only if backend.interrupts. From now on, counters that have a period interrupt. Returns a
	 * descriptor that becomes readable after conf->batch overflows; it stays open until
	 * cpu_close(). May be called again with another @conf, which applies to counters started
	 * later. EACCES, EPERM, EMFILE, ENOMEM: the kernel refuses.
	 */
	int (*interrupts_open)(
		struct backend_cpu *c, const struct interrupt_conf *conf, struct err *e);

	/*
	 * Makes counter @addr, whose selector is or will be @sel, interrupt after @left events and
	 * then every @period events; 0: never. If @left differs from @period, the kernel uses @left
	 * as the period until the next call. EOPNOTSUPP, EINVAL: the event cannot interrupt.
	 */
	int (*interrupt_after)(struct backend_cpu *c, uint32_t addr, uint64_t sel, uint64_t left,
		uint64_t period, struct err *e);

	/* The memory that the interrupts of a target take at most, in bytes. */
	size_t (*interrupts_bytes)(const struct interrupt_conf *conf);

	/* Takes the next interrupt or event, in order of time; false: there is none. */
	bool (*interrupt_next)(struct backend_cpu *c, struct interrupt *in);

	/* Restores the registers that are still reserved and closes the CPU. */
	void (*cpu_close)(struct backend_cpu *c);

	/* CPU numbers are below this limit; holes and offline CPUs are allowed. */
	unsigned (*cpu_limit)(struct backend *be);
	bool (*cpu_online)(struct backend *be, unsigned cpu);

	/*
	 * The PMU of a CPU: backend.pmu, or one of backend.types. Returns NULL if it is not known,
	 * because the CPU has been offline since the backend was opened; cpu_open() finds out. If
	 * the operation itself is NULL, all CPUs have backend.pmu.
	 */
	const struct pmu *(*cpu_pmu)(struct backend *be, unsigned cpu);

	/*
	 * Numbers of the core, CCX and package that @cpu is in: CPUs with the same number share the
	 * registers of that scope. The package's number identifies the package; the others are only
	 * for comparison. NULL: there are no free-running registers. Fails like CPUID: ENXIO, EIO.
	 */
	int (*cpu_units)(
		struct backend *be, unsigned cpu, uint32_t unit[PMU_SCOPES], struct err *e);

	/*
	 * Prints the probable user of selector @addr, which is enabled with @value, as the end of a
	 * sentence that begins "in use by ".
	 */
	void (*pmu_owner)(
		struct backend *be, unsigned cpu, uint32_t addr, uint64_t value, struct text *out);

	/*
	 * Prints the addresses of registers of @cpu that could not be restored, separated by
	 * commas; nothing if there are none. NULL: there never are any.
	 */
	void (*unrestored)(struct backend *be, unsigned cpu, struct text *out);

	/* Monotonic nanoseconds: the time base of counts. */
	uint64_t (*now)(struct backend *be);

	/* Called when the daemon has given up the capabilities that it does not need: from here on,
	 * the backend may start threads of its own. NULL: it has none. */
	void (*begin)(struct backend *be);

	void (*close)(struct backend *be);
};

struct sim_control;

struct backend {
	const struct backend_ops *ops;
	/* The PMU of every CPU; if CPUs differ, the union of all types' registers, which unloaded
	 * contexts use. */
	const struct pmu *pmu;
	const struct pmu_types *types; /* NULL: all CPUs have the same PMU. */
	struct sim_control *sim; /* Knobs of the model (perfmonfs/sim.h); NULL unless simulated. */
	bool opens_threads;      /* thread_open() may be called. */
	bool interrupts;         /* interrupts_open() may be called. */
	bool user_stacks;        /* Interrupts of threads record registers and stack. */
	bool scripted;           /* Only a command advances the time, so timers cannot follow it. */
	struct backend_stats stats;
};

/* The PMU of @cpu, as the operation cpu_pmu returns it. */
static inline const struct pmu *backend_cpu_pmu(struct backend *be, unsigned cpu)
{
	return be->ops->cpu_pmu ? be->ops->cpu_pmu(be, cpu) : be->pmu;
}

/* All backends in the order of --help, the default first; NULL at the end. */
extern const struct backend_ops *const backends[];

/*
 * Finds the backend named by @word, "NAME" or "NAME:MODEL"; NULL is the default. Sets conf->model,
 * which points into @word. EINVAL with a list of the backends.
 */
int backend_find(
	const char *word, struct backend_conf *conf, const struct backend_ops **out, struct err *e);

/* How --help and messages name @ops: "NAME" or "NAME[:MODEL]". */
void backend_usage(const struct backend_ops *ops, struct text *out);

#endif

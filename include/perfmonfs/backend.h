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
 * Threads: a struct backend_cpu is used by one thread at a time. Different ones may be used
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

enum reg_verb {
	/* value = the register. */
	REG_READ,
	/* The register = value. */
	REG_WRITE,
	/* The register's bits under mask = those of value; value = the register before. There is no
	 * write if it would change nothing. */
	REG_UPDATE,
	/* As REG_UPDATE, but only if the bits under mask equal those of expect. value is the
	 * register before in both cases; a mismatch is not a failure. */
	REG_REPLACE,
	/* value = the register. Its bits under mask are saved as the original ones, also in the
	 * journal, unless they already are. */
	REG_RESERVE,
	/* The reserved bits under mask are restored, and their reservation ends. */
	REG_RELEASE,
	/* The reservation of the bits under mask ends; the register keeps its value. */
	REG_FORGET,
};

struct reg_op {
	uint32_t addr; /* Of a counter: the addr of its PMD; the backend substitutes its waddr. */
	enum reg_verb verb;
	uint64_t value;
	uint64_t mask;
	uint64_t expect; /* REG_REPLACE only. */
};

/* What the kernel has recorded when a counter overflowed, in the order of the interrupts. */
struct interrupt {
	enum interrupt_kind {
		INTERRUPT_OVERFLOW,  /* Of counter @addr. */
		INTERRUPT_DROPPED,   /* @dropped overflows, or events of the thread, were not
				      * recorded, for lack of room. */
		INTERRUPT_THROTTLED, /* The counters that follow were stopped for a while: they are
				      * lost. */
		INTERRUPT_EVICTED,   /* Other users of the PMU took a counter: those of all counters
				      * that follow are lost. */
		INTERRUPT_EVENT,     /* No interrupt: @event of the thread. */
	} kind;
	uint32_t addr;
	uint64_t dropped;
	uint64_t time;          /* CLOCK_MONOTONIC, ns. */
	uint64_t now;           /* That of a thread's counts; of a CPU @time. */
	pfm_smpl_where_t where; /* Its frames are valid until the next call for this target. */
	pfm_smpl_event_t event; /* Its name as well. */
	unsigned n;             /* Counters whose values at that moment follow. */
	struct {
		uint32_t addr;
		uint64_t value;
	} counter[PMU_MAX_PMDS];
};

/* How a target's counters are to interrupt. */
struct interrupt_conf {
	unsigned batch; /* Overflows after which the descriptor becomes readable. */
	bool stacks;    /* Call chains are recorded. */
	/* Of a thread: what its process executes and maps in this thread is recorded, too, from the
	 * first call on, whether or not counters are started. */
	bool events;
};

/* What the registers of a thread count. */
struct thread_conf {
	/* What the threads and processes execute as well that it creates after the first start, and
	 * those that these create. */
	bool inherit;
	/* What begins with its next program: until then, counters that are started wait. */
	bool on_exec;
	/* With @inherit: not this thread alone, but all that its process, which has this number,
	 * has at the first start. 0: not. */
	int process;
	/* Descriptors that the counters of a process may take. */
	unsigned max_files;
	/* What takes counters of the PMU: before events that the kernel may let take turns. With
	 * @inherit, it has no effect. */
	bool takes_counters;
};

struct backend_stats {
	atomic_ullong reads, writes; /* Register accesses that reached the device. */
};

struct backend_conf {
	const char *dev;     /* msr: the directory with N/msr and N/cpuid. */
	const char *model;   /* One of model_name(); NULL: the backend's default. */
	const char *pmu;     /* Name or file of a PMU description; NULL: detect it. */
	const char *run_dir; /* msr: the journal's directory, e.g. /run/perfmonfs. */
	unsigned cpus;       /* Of a simulated backend; 0: its default. */
	bool real_time;      /* A simulated backend's time passes by itself. */
	bool no_threads;     /* backend.opens_threads is to be false. */
};

/* The outcome of one item of --check. */
enum check_result { CHECK_OK, CHECK_NOTE, CHECK_FAIL };
typedef void check_report(void *arg, enum check_result r, const char *thing, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

struct backend;
struct backend_cpu; /* An open target: the registers of a CPU or of a thread. */

/* One backend. The daemon asks for its properties, never for its name. */
struct backend_ops {
	/* The word of --backend and of /pmu/backend. */
	const char *name;

	/* CPUs and registers are a model's: there are no threads to monitor, and no event of the
	 * kernel tells what runs there. */
	bool simulated;

	/* cpu_open() requires CAP_SYS_RAWIO, so the daemon keeps this capability. */
	bool needs_rawio;

	/* The counters are the processor's own: RDPMC in user space reads the same values. Without
	 * that, the daemon reads them each tick while there is a live page. */
	bool rdpmc;

	/* Name @i of those that may follow the backend's name and a colon; NULL after the last.
	 * The pointer itself is NULL if nothing may follow. */
	const char *(*model_name)(unsigned i);

	/*
	 * Fails with a sentence of thing, file, errno and remedy. ENODEV: no known PMU; ENOENT: no
	 * driver; EACCES, EPERM: lockdown, allow_writes or a capability.
	 */
	int (*open)(const struct backend_conf *conf, struct backend **out, struct err *e);

	/* Examines the machine, reports each item, and changes nothing. NULL: only open() tells. */
	void (*check)(const struct backend_conf *conf, check_report *report, void *arg);

	/*
	 * Opens CPU @cpu. ENXIO: offline or no such CPU; ENODEV: its PMU is not the one described;
	 * EACCES, EPERM: the device refuses.
	 */
	int (*cpu_open)(struct backend *be, unsigned cpu, struct backend_cpu **out, struct err *e);

	/*
	 * Only if backend.opens_threads. Opens the thread with the number *@tid, which changes if
	 * another thread of its process executes a program; @tid stays valid until cpu_close().
	 * These registers count while that thread runs, on any CPU: they are saved and restored for
	 * it, and are never another thread's, even if that gets its number. The counters that one
	 * run() starts or stops, with no others running, start or stop at the same moment. May wait
	 * for a program that the thread is executing. ESRCH: there is no such thread; EACCES,
	 * EPERM: the kernel refuses. With conf->inherit, registers are the sum of all threads, and
	 * run() fails with EBUSY if it is to select another event after the first start. Of a
	 * process, that opens its threads: EAGAIN: they come and go too fast; EMFILE: there are too
	 * many; ESRCH: this one has ended.
	 */
	int (*thread_open)(struct backend *be, const atomic_int *tid,
		const struct thread_conf *conf, struct backend_cpu **out, struct err *e);

	/* Nanoseconds that the thread, or all of them, have run while the counters were started:
	 * the time base of the counts. */
	uint64_t (*thread_time)(struct backend_cpu *c);

	/* Of a thread that is not traced: returns a descriptor on which poll() reports POLLHUP as
	 * soon as a thread and all that inherit its registers have ended, or have lost them, see
	 * thread_check(). Then it is to be called again: ESRCH: that holds for all threads. It is
	 * closed by cpu_close(). EMFILE, EPERM. */
	int (*thread_watch)(struct backend_cpu *c, struct err *e);

	/* After the thread has executed a program, and before that runs. ESRCH: the kernel has
	 * removed its counters, whose counts can still be read. */
	int (*thread_check)(struct backend_cpu *c, struct err *e);

	/*
	 * Only if backend.opens_threads. The runs between @on true and false happen at one moment,
	 * that of the first reading, while the thread goes on: a counter that starts has its events
	 * from where another has stopped. Counters that select an event for the first time start
	 * later, and so do all that the kernel cannot keep beside those that stop. With
	 * conf->inherit, or if any event takes a counter, it has no effect.
	 */
	void (*thread_at_once)(struct backend_cpu *c, bool on);

	/*
	 * Only if backend.opens_threads. Returns a descriptor that becomes readable when
	 * thread_time() has passed by @ns from now, which ends an earlier alarm; it stays open
	 * until cpu_close(). EPERM, EMFILE, ENOMEM: the kernel refuses.
	 */
	int (*thread_alarm)(struct backend_cpu *c, uint64_t ns, struct err *e);

	/*
	 * Executes @n operations in order; returns how many succeeded. If fewer than @n, @e
	 * explains the failure of the next one: EIO (the register faults), ENXIO (the CPU went
	 * offline), EPERM (the kernel or the description refuses the write), EBUSY (other users of
	 * the PMU have taken the counter, whose count is lost). perf, whose registers
	 * are events, adds the errors of perf_event_open(2): EINVAL, ENODEV, EACCES, EBUSY, EMFILE.
	 */
	unsigned (*run)(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e);

	/*
	 * Asks whether @value of selector @addr, which enables its counter, can count here, and
	 * changes nothing. Fails only with what makes it useless on every CPU and at any time:
	 * ENOENT, EINVAL, EOPNOTSUPP: no such event, or not with these bits; ENODEV: the event's
	 * source is missing; EACCES, EPERM: the kernel refuses the daemon. NULL: each value can.
	 */
	int (*try_selector)(struct backend *be, uint32_t addr, uint64_t value, struct err *e);

	/*
	 * Asks whether a CPU can ever count at once what all @n values of selectors select, of
	 * which each takes a counter, and changes nothing. False: it has too few counters, or none
	 * for one of these events. True as well if that cannot be said. NULL: events of a CPU never
	 * take a counter from those of a thread.
	 */
	bool (*events_fit)(struct backend *be, const uint64_t *sels, unsigned n);
	/* Together with events_fit: whether what value @sel of a selector selects takes a counter
	 * of the PMU. */
	bool (*takes_counter)(uint64_t sel);

	/*
	 * Only if backend.interrupts. From now on, counters that have a period interrupt. Returns a
	 * descriptor that becomes readable after conf->batch overflows; it stays open until
	 * cpu_close(). May be called again with another @conf, for counters that are started after
	 * that. EACCES, EPERM, EMFILE, ENOMEM: the kernel refuses.
	 */
	int (*interrupts_open)(
		struct backend_cpu *c, const struct interrupt_conf *conf, struct err *e);

	/*
	 * Counter @addr, whose selector is or will be @sel, is to interrupt after @left events, and
	 * then each @period events; 0: never. If @left is another number, the kernel knows only
	 * that until the next call. EOPNOTSUPP, EINVAL: the event cannot interrupt.
	 */
	int (*interrupt_after)(struct backend_cpu *c, uint32_t addr, uint64_t sel, uint64_t left,
		uint64_t period, struct err *e);

	/* Takes the next interrupt or event, in the order of time; false: there is none. */
	bool (*interrupt_next)(struct backend_cpu *c, struct interrupt *in);

	/* Restores what is still reserved and closes the CPU. */
	void (*cpu_close)(struct backend_cpu *c);

	/* CPU numbers are below this limit; holes and offline CPUs are allowed. */
	unsigned (*cpu_limit)(struct backend *be);
	bool (*cpu_online)(struct backend *be, unsigned cpu);

	/*
	 * The PMU of a CPU: backend.pmu, or one of backend.types. NULL: it is not known, as the CPU
	 * has been offline since the backend was opened; cpu_open() finds out. As an operation,
	 * NULL: that of all CPUs is backend.pmu.
	 */
	const struct pmu *(*cpu_pmu)(struct backend *be, unsigned cpu);

	/*
	 * Numbers of the core, CCX and package that @cpu is in: CPUs with the same number share the
	 * registers of that scope. That of the package is its own; the others are for comparison.
	 * NULL: there are no free registers. Fails as CPUID does: ENXIO, EIO.
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
	 * commas; nothing if there are none. NULL: there never are.
	 */
	void (*unrestored)(struct backend *be, unsigned cpu, struct text *out);

	/* Monotonic nanoseconds: the time base of counts. */
	uint64_t (*now)(struct backend *be);

	/* Called when the daemon has given up the capabilities that it does not need: threads of
	 * the backend's own may start. NULL: it has none. */
	void (*begin)(struct backend *be);

	void (*close)(struct backend *be);
};

struct sim_control;

struct backend {
	const struct backend_ops *ops;
	/* That of each CPU, or the registers of all types: those of a context that is not loaded.
	 */
	const struct pmu *pmu;
	const struct pmu_types *types; /* NULL: all CPUs have the same PMU. */
	struct sim_control *sim; /* Knobs of the model (perfmonfs/sim.h); NULL unless simulated. */
	bool opens_threads;      /* thread_open() may be called. */
	bool interrupts;         /* interrupts_open() may be called. */
	size_t interrupts_bytes; /* Memory that this takes for a target. */
	bool scripted;           /* Time advances only by a command, so that no timer keeps it. */
	struct backend_stats stats;
};

/* As the operation cpu_pmu. */
static inline const struct pmu *backend_cpu_pmu(struct backend *be, unsigned cpu)
{
	return be->ops->cpu_pmu ? be->ops->cpu_pmu(be, cpu) : be->pmu;
}

/* All backends in the order of --help, the default first; NULL at the end. */
extern const struct backend_ops *const backends[];

/*
 * The backend named by @word, "NAME" or "NAME:MODEL"; NULL is the default. Sets conf->model, which
 * points into @word. EINVAL, with the backends that exist.
 */
int backend_find(
	const char *word, struct backend_conf *conf, const struct backend_ops **out, struct err *e);

/* How --help and messages name @ops: "NAME" or "NAME[:MODEL]". */
void backend_usage(const struct backend_ops *ops, struct text *out);

#endif

// SPDX-License-Identifier: MIT
#include "daemon/track/sched.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* It is made by bpftool, and is not held to what ours is. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "daemon/track/switch.skel.h"
#pragma GCC diagnostic pop

#define BTF_FILE "/sys/kernel/btf/vmlinux"

/* The inode number of the process namespace that the kernel itself counts in. */
#define FIRST_PID_NS 0xeffffffcU

/* The page that perf describes its ring in, and the least ring there is. */
enum { RING_PAGES = 2 };

struct sched {
	struct switch_bpf *bpf;
	size_t ring;             /* bytes of each */
	void *rings[SCHED_CPUS]; /* NULL: no bell there */
};

static int refused(const char *what, int no, struct err *e)
{
	switch (no) {
	case EPERM:
	case EACCES:
		return err_set(e, EPERM,
			"%s: %s: following threads needs CAP_BPF and CAP_PERFMON, no seccomp "
			"filter against bpf(), and no lockdown of the kernel that forbids it",
			what, err_name(no));
	case ENOSYS:
		return err_set(e, no,
			"%s: ENOSYS: following threads needs a kernel with CONFIG_BPF_SYSCALL",
			what);
	case ENOMEM:
		return err_set(e, no,
			"%s: ENOMEM: following threads takes 8 MiB of kernel memory: free some",
			what);
	case EMFILE:
	case ENFILE:
		return err_set(e, no, "%s: %s: raise LimitNOFILE", what, err_name(no));
	}
	return err_set(e, no,
		"%s: %s: following threads needs Linux 5.14 or later with CONFIG_BPF_EVENTS", what,
		err_name(no));
}

/* What goes wrong without an errno that says so, or without any. */
static int check_kernel(struct err *e)
{
	struct stat st;

	if (access(BTF_FILE, R_OK) < 0)
		return err_set(e, errno,
			BTF_FILE ": %s: following threads needs a kernel with "
				 "CONFIG_DEBUG_INFO_BTF, and sysfs mounted on /sys",
			err_name(errno));
	if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino != FIRST_PID_NS)
		return err_set(e, EINVAL,
			"EINVAL: threads cannot be followed from inside a PID namespace, where "
			"they have other numbers than in the kernel: run perfmonfs outside of the "
			"container, or with the host's PIDs");
	return 0;
}

static void cleanup_sched(struct sched **s)
{
	sched_close(*s);
}

int sched_open(struct sched **out, struct err *e)
{
	__attribute__((cleanup(cleanup_sched))) struct sched *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, ENOMEM, "no memory to follow threads");
	rc = check_kernel(e);
	if (rc < 0)
		return rc;
	s->ring = RING_PAGES * (size_t)sysconf(_SC_PAGESIZE);
	/* It would write to stderr. */
	libbpf_set_print(NULL);
	s->bpf = switch_bpf__open_and_load();
	if (!s->bpf)
		return refused("loading a BPF program", errno, e);
	rc = switch_bpf__attach(s->bpf);
	if (rc < 0)
		return refused("attaching BPF programs to the scheduler", -rc, e);
	*out = take_ptr(&s);
	return 0;
}

void sched_close(struct sched *s)
{
	if (!s)
		return;
	for (unsigned cpu = 0; cpu < SCHED_CPUS; cpu++)
		sched_unbell(s, cpu);
	switch_bpf__destroy(s->bpf);
	free(s);
}

int sched_probe(struct err *e)
{
	int cpu = sched_getcpu(), fd = -1, rc;
	struct sched *s;

	rc = sched_open(&s, e);
	if (rc < 0)
		return rc;
	rc = sched_bell(s, cpu < 0 ? 0 : (unsigned)cpu, &fd, e);
	cleanup_close(&fd);
	sched_close(s);
	return rc;
}

struct sched_cpu *sched_cpu(const struct sched *s, unsigned cpu)
{
	return &s->bpf->bss->cpus[cpu];
}

struct sched_slot *sched_slot(const struct sched *s, unsigned slot)
{
	return &s->bpf->bss->slots[slot];
}

unsigned sched_followed(const struct sched *s)
{
	return __atomic_load_n(&s->bpf->bss->followed, __ATOMIC_RELAXED);
}

unsigned sched_here(const struct sched *s, unsigned cpu)
{
	unsigned n = __atomic_load_n(&sched_cpu(s, cpu)->slot, __ATOMIC_ACQUIRE);

	/* If it has been forgotten meanwhile, it may even be another's. */
	return n && __atomic_load_n(&sched_slot(s, n)->cpu, __ATOMIC_RELAXED) == cpu ? n : 0;
}

/* Bells */

static int bell_refused(const char *what, int no, unsigned cpu, struct err *e)
{
	switch (no) {
	case EPERM:
	case EACCES:
		return err_set(e, EPERM,
			"%s: %s: following threads on CPU %u needs CAP_PERFMON (CAP_SYS_ADMIN "
			"where kernel.perf_event_paranoid is above 2), no seccomp filter, and room "
			"in kernel.perf_event_mlock_kb",
			what, err_name(no), cpu);
	case ENODEV:
	case ENXIO:
	case EINVAL:
		return err_set(e, ENXIO,
			"%s: %s: CPU %u is offline or does not exist: see "
			"/sys/devices/system/cpu/online",
			what, err_name(no), cpu);
	}
	return refused(what, no, e);
}

int sched_bell(struct sched *s, unsigned cpu, int *out, struct err *e)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	CLEANUP_CLOSE int fd = -1;
	void *ring;

	if (cpu >= SCHED_CPUS)
		return bell_refused("perf_event_open", ENXIO, cpu, e);
	if (s->rings[cpu])
		return err_set(e, EBUSY, "CPU %u has a bell", cpu);
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return bell_refused("perf_event_open", errno, cpu, e);
	/* Nobody reads it: mapped without PROT_WRITE, what is new overwrites what is old. */
	ring = mmap(NULL, s->ring, PROT_READ, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return bell_refused("mmap of a perf event", errno, cpu, e);
	if (bpf_map_update_elem(bpf_map__fd(s->bpf->maps.bells), &cpu, &fd, BPF_ANY) < 0) {
		munmap(ring, s->ring);
		return refused("hanging a bell", errno, e);
	}
	s->rings[cpu] = ring;
	*out = take_fd(&fd);
	return 0;
}

void sched_unbell(struct sched *s, unsigned cpu)
{
	if (!s->rings[cpu])
		return;
	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.bells), &cpu);
	munmap(s->rings[cpu], s->ring);
	s->rings[cpu] = NULL;
}

/* Threads */

static void clear_slot(struct sched_slot *slot, uint32_t tid)
{
	__atomic_store_n(&slot->wanted, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->tid, tid, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->running, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->cpu, ~0U, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->dead, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->stray, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->missed, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->ran, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->had, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->task, 0, __ATOMIC_RELEASE);
}

static uint32_t slot_of(const struct sched *s, uint32_t tid)
{
	uint32_t n;

	return bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.tids), &tid, &n) < 0 ? 0 : n;
}

static uint32_t tid_of(const struct sched *s, unsigned slot)
{
	return __atomic_load_n(&sched_slot(s, slot)->tid, __ATOMIC_ACQUIRE);
}

int sched_follow(struct sched *s, unsigned slot, pid_t tid, struct err *e)
{
	uint32_t key = (uint32_t)tid, was = slot_of(s, key);

	if (!slot || slot >= SCHED_SLOTS || tid <= 0)
		return err_set(e, EINVAL, "thread %d, slot %u: EINVAL", (int)tid, slot);
	/* Otherwise it has been left there by one who was forgotten while it changed its number. */
	if (was && tid_of(s, was) == key)
		return err_set(e, EBUSY, "thread %d is followed already", (int)tid);
	clear_slot(sched_slot(s, slot), key);
	if (bpf_map_update_elem(bpf_map__fd(s->bpf->maps.tids), &key, &slot, BPF_ANY) < 0) {
		clear_slot(sched_slot(s, slot), 0);
		return refused("following a thread", errno, e);
	}
	__atomic_fetch_add(&s->bpf->bss->followed, 1, __ATOMIC_RELEASE);
	return 0;
}

int sched_confine(struct sched *s, unsigned slot, const struct cpus *where, struct err *e)
{
	_Static_assert(sizeof(*where) == SCHED_CPUS / 8, "the program knows as many CPUs");

	if (bpf_map_update_elem(bpf_map__fd(s->bpf->maps.confined), &slot, where, BPF_ANY) < 0)
		return refused("confining a thread", errno, e);
	return 0;
}

int sched_guard(struct sched *s, unsigned slot, const struct sched_guard *who, struct err *e)
{
	if (bpf_map_update_elem(bpf_map__fd(s->bpf->maps.guards), &slot, who, BPF_ANY) < 0)
		return refused("guarding a thread", errno, e);
	return 0;
}

void sched_forget(struct sched *s, unsigned slot)
{
	uint32_t tid;

	/* It may be changing its number just now. */
	do {
		tid = tid_of(s, slot);
		if (slot_of(s, tid) == slot)
			bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.tids), &tid);
	} while (tid_of(s, slot) != tid);
	clear_slot(sched_slot(s, slot), 0);
	/* Few have these. */
	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.confined), &slot);
	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.guards), &slot);
	__atomic_fetch_sub(&s->bpf->bss->followed, 1, __ATOMIC_RELEASE);
}

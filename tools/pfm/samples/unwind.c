// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/unwind.h"

#include <errno.h>

#if defined(HAVE_LIBDW) && defined(__x86_64__)

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "tools/pfm/samples/libdw.h"

enum {
	UNWIND_HEADERS = 64,    /* program headers examined at most */
	UNWIND_ENTRIES = 16,    /* files of a process whose entry is known */
	UNWIND_ENTRY_SIZE = 64, /* bytes of code there that call the first function */
	UNWIND_ABI_64 = 2,      /* PERF_SAMPLE_REGS_ABI_64 */
	UNWIND_RETURN = 16,     /* DWARF's number of the return address, the last register */
	UNWIND_REGS,
	UNWIND_CHAIN_NS = 50000000, /* of CPU time for a chain at most */
	UNWIND_CHECK = 8,           /* frames from one look at the clock to the next */
	UNWIND_TID = 1,             /* the one thread that libdw sees */
};

/* A chain that is being unwound. */
struct unwinding {
	const pfm_stack_smpl_user_t *user;
	struct unwound *out;
	uint64_t until; /* CPU time, ns */
	bool beyond;    /* the CFI of the last frame needs a value beyond the piece of the stack */
	bool zero;      /* it needs a value that is 0, as some outermost functions return to 0 */
};

struct unwind_process {
	Dwfl *dwfl;
	bool attached;      /* libdw can unwind it */
	uint64_t outermost; /* an address in an outermost function; 0: none is known */
	/* Where files begin to run. The code there may have no CFI, as in ld.so and musl. */
	uint64_t entries[UNWIND_ENTRIES];
	unsigned nentries;
	struct unwinding now;
};

/* Finds the debug file of a file without CFI for exceptions, .eh_frame, in its module's name. */
static int unwind_find_debug_file(Dwfl_Module *module, void **userdata, const char *name,
	Dwarf_Addr base, const char *file, const char *link, GElf_Word crc, char **found)
{
	int fd = atoi(name);

	(void)module, (void)userdata, (void)base, (void)file, (void)link, (void)crc, (void)found;
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static Dwfl_Callbacks unwind_files = {.find_debuginfo = unwind_find_debug_file};

int unwind_check(struct err *e)
{
	if (!libdw_open())
		return err_set(e, ENOSYS,
			"call chains without frame pointers need elfutils (libdw1): install it, or "
			"give -g");
	unwind_files.find_elf = libdw.dwfl_build_id_find_elf;
	unwind_files.section_address = libdw.dwfl_offline_section_address;
	return 0;
}

/* --- What libdw asks for */

static uint64_t unwind_cpu_time(void)
{
	return nsec_now(CLOCK_PROCESS_CPUTIME_ID);
}

static pid_t unwind_next_thread(Dwfl *dwfl, void *process, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = process;
	return UNWIND_TID;
}

static bool unwind_get_thread(Dwfl *dwfl, pid_t tid, void *process, void **thread)
{
	(void)dwfl;
	*thread = process;
	return tid == UNWIND_TID;
}

static bool unwind_read(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *word, void *process)
{
	struct unwinding *u = &((struct unwind_process *)process)->now;
	uint64_t from = at - u->user->regs[PFM_STACK_SP];

	(void)dwfl;
	if (from >= u->user->stack_size || u->user->stack_size - from < sizeof(*word)) {
		u->beyond = true;
		return false;
	}
	memcpy(word, (const char *)(u->user + 1) + from, sizeof(*word));
	u->zero |= !*word;
	return true;
}

static bool unwind_set_registers(Dwfl_Thread *thread, void *process)
{
	static const uint8_t of[UNWIND_REGS] = {PFM_STACK_AX, PFM_STACK_DX, PFM_STACK_CX,
		PFM_STACK_BX, PFM_STACK_SI, PFM_STACK_DI, PFM_STACK_BP, PFM_STACK_SP, PFM_STACK_R8,
		PFM_STACK_R8 + 1, PFM_STACK_R8 + 2, PFM_STACK_R8 + 3, PFM_STACK_R8 + 4,
		PFM_STACK_R8 + 5, PFM_STACK_R8 + 6, PFM_STACK_R8 + 7, PFM_STACK_IP};
	const pfm_stack_smpl_user_t *user = ((struct unwind_process *)process)->now.user;
	Dwarf_Word regs[UNWIND_REGS];

	for (unsigned i = 0; i < UNWIND_REGS; i++)
		regs[i] = user->regs[of[i]];
	return libdw.dwfl_thread_state_registers(thread, 0, UNWIND_REGS, regs);
}

static const Dwfl_Thread_Callbacks unwind_threads = {
	.next_thread = unwind_next_thread,
	.get_thread = unwind_get_thread,
	.memory_read = unwind_read,
	.set_initial_registers = unwind_set_registers,
};

/* --- Mapped files */

/* Finds the difference of addresses in the process and in the file, whose program headers say which
 * addresses its bytes have, and where the file begins to run; 0: nowhere. False: it is no such
 * file. */
static bool unwind_find_bias(const struct unwind_map *m, uint64_t *bias, uint64_t *entry)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	Elf64_Phdr all[UNWIND_HEADERS];
	Elf64_Ehdr head;
	size_t n, size;

	if (pread(m->fd, &head, sizeof(head), 0) != sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64 ||
		head.e_phentsize != sizeof(all[0]))
		return false;
	n = head.e_phnum < UNWIND_HEADERS ? head.e_phnum : UNWIND_HEADERS;
	size = n * sizeof(all[0]);
	if (pread(m->fd, all, size, (off_t)head.e_phoff) != (ssize_t)size)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint64_t before = all[i].p_offset % page;

		if (all[i].p_type != PT_LOAD || !(all[i].p_flags & PF_X) ||
			m->pgoff - (all[i].p_offset - before) >= all[i].p_filesz + before)
			continue;
		*bias = m->addr - m->pgoff + all[i].p_offset - all[i].p_vaddr;
		*entry = head.e_entry ? head.e_entry + *bias : 0;
		return true;
	}
	return false;
}

static void unwind_add_map(struct unwind_process *p, const struct unwind_map *m)
{
	CLEANUP_CLOSE int fd = -1;
	uint64_t bias, entry;
	char name[48];

	if (!unwind_find_bias(m, &bias, &entry))
		return;
	if (entry && p->nentries < UNWIND_ENTRIES)
		p->entries[p->nentries++] = entry;
	/* The name is that of a module: one file may be mapped at several places. */
	snprintf(name, sizeof(name), "%d %llx", m->debug_fd, (unsigned long long)bias);
	fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0 && libdw.dwfl_report_elf(p->dwfl, name, name, fd, bias, true))
		(void)take_fd(&fd);
}

struct unwind_process *unwind_process_new(const struct unwind_map *maps, unsigned n)
{
	struct unwind_process *p = calloc(1, sizeof(*p));

	if (p)
		p->dwfl = libdw.dwfl_begin(&unwind_files);
	if (!p || !p->dwfl) {
		free(p);
		return NULL;
	}
	libdw.dwfl_report_begin(p->dwfl);
	for (unsigned i = 0; i < n; i++)
		unwind_add_map(p, &maps[i]);
	libdw.dwfl_report_end(p->dwfl, NULL, NULL);
	p->attached = libdw.dwfl_attach_state(p->dwfl, NULL, UNWIND_TID, &unwind_threads, p);
	return p;
}

void unwind_process_free(struct unwind_process *p)
{
	if (p)
		libdw.dwfl_end(p->dwfl);
	free(p);
}

/* --- Chains */

/* Damaged CFI may make a chain endless, or take long for each frame. */
static int unwind_frame(Dwfl_Frame *frame, void *process)
{
	struct unwinding *u = &((struct unwind_process *)process)->now;
	Dwarf_Addr pc;

	if (!libdw.dwfl_frame_pc(frame, &pc, NULL) || pc >> 63)
		return DWARF_CB_ABORT;
	u->beyond = u->zero = false;
	if (u->out->n == UNWIND_FRAMES) {
		u->out->end = UNWIND_DEEP;
		return DWARF_CB_ABORT;
	}
	u->out->frames[u->out->n++] = pc;
	if (u->out->n % UNWIND_CHECK || unwind_cpu_time() < u->until)
		return DWARF_CB_OK;
	u->out->end = UNWIND_BROKEN;
	return DWARF_CB_ABORT;
}

static bool unwind_is_entry(const struct unwind_process *p, uint64_t pc)
{
	for (unsigned i = 0; i < p->nentries; i++)
		if (pc - p->entries[i] < UNWIND_ENTRY_SIZE)
			return true;
	return false;
}

/* The CFI at @pc. NULL: there is none. */
static Dwarf_Frame *unwind_cfi_at(struct unwind_process *p, uint64_t pc)
{
	Dwfl_Module *module = libdw.dwfl_addrmodule(p->dwfl, pc);
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi = module ? libdw.dwfl_module_eh_cfi(module, &bias) : NULL;

	if (cfi && libdw.dwarf_cfi_addrframe(cfi, pc - bias, &frame) == 0)
		return frame;
	cfi = module ? libdw.dwfl_module_dwarf_cfi(module, &bias) : NULL;
	return cfi && libdw.dwarf_cfi_addrframe(cfi, pc - bias, &frame) == 0 ? frame : NULL;
}

/* Why the chain ends with its last frame: for libdw, chains end in the same way if the CFI says
 * that there is no caller, and if the caller is not found. */
static enum unwind_end unwind_find_end(struct unwind_process *p)
{
	const struct unwound *out = p->now.out;
	uint64_t pc = out->frames[out->n - 1] - (out->n > 1);
	CLEANUP_FREE Dwarf_Frame *frame = NULL;
	Dwarf_Op room[3], *ops = NULL;
	size_t n = 1;

	if (pc == p->outermost)
		return UNWIND_WHOLE;
	frame = unwind_cfi_at(p, pc);
	if (!frame || libdw.dwarf_frame_register(frame, UNWIND_RETURN, room, &ops, &n) != 0)
		return unwind_is_entry(p, pc) ? UNWIND_WHOLE : UNWIND_CODE;
	if (!n && ops == room) {
		p->outermost = pc;
		return UNWIND_WHOLE;
	}
	if (p->now.beyond)
		return UNWIND_STACK;
	return p->now.zero ? UNWIND_WHOLE : UNWIND_CODE;
}

void unwind(struct unwind_process *p, const pfm_stack_smpl_user_t *user, struct unwound *out)
{
	*out = (struct unwound){.end = UNWIND_CODE};
	if (user->abi == UNWIND_ABI_64 && p->attached) {
		p->now = (struct unwinding){
			.user = user, .out = out, .until = unwind_cpu_time() + UNWIND_CHAIN_NS};
		(void)libdw.dwfl_getthread_frames(p->dwfl, UNWIND_TID, unwind_frame, p);
		if (out->n && out->end == UNWIND_CODE)
			out->end = unwind_find_end(p);
	}
	if (!out->n)
		out->frames[out->n++] = user->regs[PFM_STACK_IP];
}

#else

int unwind_check(struct err *e)
{
#ifdef __x86_64__
	return err_set(e, ENOSYS,
		"call chains without frame pointers: this pfm was built without elfutils "
		"(libdw-dev): give -g");
#else
	return err_set(e, ENOSYS,
		"call chains without frame pointers: pfm finds them on x86-64 only: give -g");
#endif
}

struct unwind_process *unwind_process_new(const struct unwind_map *maps, unsigned n)
{
	(void)maps, (void)n;
	return NULL;
}

void unwind_process_free(struct unwind_process *p)
{
	(void)p;
}

void unwind(struct unwind_process *p, const pfm_stack_smpl_user_t *user, struct unwound *out)
{
	(void)p;
	*out = (struct unwound){.end = UNWIND_CODE, .n = 1, .frames = {user->regs[PFM_STACK_IP]}};
}

#endif

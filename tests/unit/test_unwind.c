// SPDX-License-Identifier: MIT
/* Call chains from registers and stacks that this program has stored of itself. */
#include "tools/pfm/samples/unwind.h"
#include "tests/unit/unit.h"

#include <elf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "base/cleanup.h"
#include "tools/pfm/samples/debug_file.h"
#include "tools/pfm/samples/image.h"
#include "tools/pfm/samples/proc_maps.h"
#include "tools/pfm/samples/unwinder.h"

enum { STACK = 16384, MAPS = 64 };

/* What the kernel would have recorded. */
static struct {
	pfm_stack_smpl_user_t user;
	uint64_t stack[STACK / 8];
} stored;

/* The executable mappings of this program. */
static struct image image;
static struct unwind_map maps[MAPS];
static unsigned nmaps;

/* Without the frames and checks of sanitizers */
#define PLAIN __attribute__((noinline, no_sanitize("address", "undefined")))

/* Stores the registers of the code that a signal has interrupted, and its stack up to main()'s
 * environment. */
PLAIN static void store(int sig, siginfo_t *info, void *context)
{
	static const int from[PFM_STACK_REGS] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
		REG_RDI, REG_RBP, REG_RSP, REG_RIP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12,
		REG_R13, REG_R14, REG_R15};
	const ucontext_t *uc = context;
	const uint64_t *sp = (const uint64_t *)uc->uc_mcontext.gregs[REG_RSP];

	(void)sig, (void)info;
	stored.user.abi = 2;
	for (unsigned i = 0; i < PFM_STACK_REGS; i++)
		stored.user.regs[i] = (uint64_t)uc->uc_mcontext.gregs[from[i]];
	for (unsigned i = 0; i < STACK / 8 && sp + i < (const uint64_t *)environ; i++) {
		stored.stack[i] = sp[i];
		stored.user.stack_size = 8 * (i + 1);
	}
}

/* Functions without frame pointers: the tests are compiled without them. */
PLAIN static int chain_3(int n)
{
	raise(SIGUSR1);
	return n + 1;
}

PLAIN static int chain_2(int n)
{
	return chain_3(n + 1) + 1;
}

PLAIN static int chain_1(int n)
{
	return chain_2(n + 1) + 1;
}

static bool returns_into(uint64_t frame, int (*function)(int))
{
	return frame - (uintptr_t)function < 128;
}

static void find_maps(void)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/self/maps", "re");
	struct proc_map m = {.line = NULL};

	assert_non_null(f);
	assert_int_equal(image_init(&image), 0);
	while (proc_maps_next(f, &m)) {
		struct object *o;

		if (!m.executable || m.name[0] != '/' || nmaps == MAPS)
			continue;
		m.map.pid = 7;
		assert_int_equal(image_add(&image, &m.map, m.name), 0);
		o = image_find_object(&image, m.name, m.map.id, 0);
		if (o->fd < 0)
			o->fd = open(m.name, O_RDONLY | O_CLOEXEC);
		maps[nmaps++] = (struct unwind_map){m.map.addr, m.map.pgoff, o->fd};
	}
	free(m.line);
}

static int begin(void **state)
{
	struct sigaction how = {.sa_sigaction = store, .sa_flags = SA_SIGINFO};

	(void)state;
	if (unwind_check(&why) < 0)
		return 0;
	sigaction(SIGUSR1, &how, NULL);
	find_maps();
	assert_int_equal(chain_1(1), 6);
	return 0;
}

static int end(void **state)
{
	(void)state;
	if (image.nobjects)
		image_free(&image);
	return 0;
}

static void need_libdw(void)
{
	if (unwind_check(&why) < 0)
		skip();
}

static struct unwound unwind_stored(const struct unwind_map *of, unsigned n)
{
	struct unwind_process *p = unwind_process_new(of, n);
	struct unwound out;

	assert_non_null(p);
	unwind(p, &stored.user, &out);
	unwind_process_free(p);
	assert_true(out.n >= 1 && out.n <= UNWIND_FRAMES);
	assert_int_equal(out.frames[0], stored.user.regs[PFM_STACK_IP]);
	return out;
}

/* Whether the chain has the three functions one after the other. */
static bool has_chain(const struct unwound *out)
{
	for (unsigned i = 1; i + 2 < out->n; i++)
		if (returns_into(out->frames[i], chain_3))
			return returns_into(out->frames[i + 1], chain_2) &&
			       returns_into(out->frames[i + 2], chain_1);
	return false;
}

TEST(whole)
{
	unsigned files = open_files();
	struct unwound out;

	need_libdw();
	out = unwind_stored(maps, nmaps);
	assert_int_equal(out.end, UNWIND_WHOLE);
	assert_true(has_chain(&out));
	assert_int_equal(open_files(), files);
}

TEST(short_stack)
{
	uint32_t size = stored.user.stack_size;
	struct unwound out, shorter;

	need_libdw();
	out = unwind_stored(maps, nmaps);
	for (stored.user.stack_size = 0; stored.user.stack_size < 64; stored.user.stack_size += 8) {
		shorter = unwind_stored(maps, nmaps);
		assert_int_equal(shorter.end, UNWIND_STACK);
		assert_true(shorter.n < out.n);
	}
	stored.user.stack_size = size;
}

TEST(unknown_code)
{
	need_libdw();
	assert_int_equal(unwind_stored(NULL, 0).end, UNWIND_CODE);
	assert_int_equal(unwind_stored(maps, 0).n, 1);
	stored.user.abi = 1;
	assert_int_equal(unwind_stored(maps, nmaps).end, UNWIND_CODE);
	stored.user.abi = 2;
}

/* --- CFI that its author had better not written */

extern const char endless_cfi[], looping_cfi[], no_cfi[];

__asm__(".text\n"
	/* The caller is the function itself, with the same registers. */
	"endless_cfi:\n"
	".cfi_startproc\n"
	".cfi_def_cfa rsp, 0\n"
	".cfi_register rip, rbx\n"
	".cfi_same_value rbx\n"
	".cfi_same_value rbp\n"
	"nop; nop; nop; nop\n"
	".cfi_endproc\n"
	/* The address of the frame is computed by an expression that jumps back to itself. */
	"looping_cfi:\n"
	".cfi_startproc\n"
	".cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff\n"
	"nop; nop; nop; nop\n"
	".cfi_endproc\n"
	"no_cfi:\n"
	"nop; nop; nop; nop\n");

static struct unwound unwind_in(const struct unwind_map *of, const char *code)
{
	pfm_stack_smpl_user_t before = stored.user;
	struct unwound out;

	stored.user.regs[PFM_STACK_IP] = (uintptr_t)code + 1;
	stored.user.regs[PFM_STACK_BX] = (uintptr_t)code + 1;
	stored.user.regs[PFM_STACK_BP] = 0;
	out = unwind_stored(of, nmaps);
	stored.user = before;
	return out;
}

TEST(endless)
{
	struct unwound out;

	need_libdw();
	out = unwind_in(maps, endless_cfi);
	assert_int_equal(out.end, UNWIND_DEEP);
	assert_int_equal(out.n, UNWIND_FRAMES);
	assert_int_equal(out.frames[UNWIND_FRAMES - 1], (uintptr_t)endless_cfi + 1);
}

static void has_no_caller(const char *code)
{
	struct unwound out;

	need_libdw();
	out = unwind_in(maps, code);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, UNWIND_CODE);
}

TEST(looping)
{
	has_no_caller(looping_cfi);
}

TEST(without_cfi)
{
	has_no_caller(no_cfi);
}

/* --- The process that unwinds */

static struct unwound unwind_there(struct unwinder *u, uint32_t pid)
{
	struct unwound out;

	unwinder_submit(u, &image, pid, &stored.user);
	unwinder_wait(u, &out);
	return out;
}

TEST(other_process)
{
	unsigned files = open_files();
	struct unwinder *u = NULL;
	struct unwound out;

	need_libdw();
	assert_int_equal(unwinder_new(&u, &why), 0);
	out = unwind_there(u, 7);
	assert_int_equal(out.end, UNWIND_WHOLE);
	assert_true(has_chain(&out));
	/* Processes without mappings have those of the one that forked them. */
	assert_int_equal(unwind_there(u, 8).end, UNWIND_WHOLE);
	for (unsigned i = 0; i < UNWINDER_PENDING; i++)
		unwinder_submit(u, &image, 7, &stored.user);
	for (unsigned i = 0; i < UNWINDER_PENDING; i++) {
		unwinder_wait(u, &out);
		assert_int_equal(out.end, UNWIND_WHOLE);
	}
	unwinder_free(u);
	assert_int_equal(open_files(), files);
}

static void read_line(const char *path, const char *key, char text[128])
{
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");

	assert_non_null(f);
	while (fgets(text, 128, f) && strncmp(text, key, strlen(key)) != 0)
		;
}

/* The line @key of /proc/PID/status of this program's only child. */
static const char *child_status(const char *key)
{
	static char text[128];
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	read_line(path, "", text);
	snprintf(path, sizeof(path), "/proc/%d/status", atoi(text));
	read_line(path, key, text);
	return text;
}

/* Hostile files are read without root's rights. */
TEST(without_rights)
{
	struct unwinder *u = NULL;

	need_libdw();
	if (geteuid() != 0)
		skip();
	assert_int_equal(unwinder_new(&u, &why), 0);
	assert_int_equal(unwind_there(u, 7).end, UNWIND_WHOLE);
	assert_string_equal(child_status("Uid:"), "Uid:\t65534\t65534\t65534\t65534\n");
	assert_string_equal(child_status("Gid:"), "Gid:\t65534\t65534\t65534\t65534\n");
	assert_string_equal(child_status("CapPrm:"), "CapPrm:\t0000000000000000\n");
	assert_string_equal(child_status("NoNewPrivs:"), "NoNewPrivs:\t1\n");
	unwinder_free(u);
}

/* Unwinds as root of a user namespace without other users. Returns the exit status. */
static int unwind_alone(void)
{
	struct unwinder *u = NULL;
	int fd;

	if (unshare(CLONE_NEWUSER) < 0)
		return 2;
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	if (write(fd, "0 0 1", 5) != 5 || unwinder_new(&u, &why) < 0)
		return 2;
	return unwind_there(u, 7).end != UNWIND_WHOLE ||
	       strcmp(child_status("CapPrm:"), "CapPrm:\t0000000000000000\n") != 0;
}

TEST(without_other_users)
{
	int status;
	pid_t pid;

	need_libdw();
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0)
		_exit(unwind_alone());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(status, 0);
}

/* Copies this program. */
static int copy_program(void)
{
	CLEANUP_CLOSE int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = memfd_create("program", MFD_CLOEXEC);

	assert_true(from >= 0 && to >= 0);
	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	return to;
}

/* Code without CFI where the program begins to run, as in ld.so, has no caller. */
TEST(entry)
{
	CLEANUP_CLOSE int fd = copy_program();
	struct unwind_map copied[MAPS];
	struct unwound out;
	Elf64_Ehdr head;

	need_libdw();
	assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
	head.e_entry += (uintptr_t)no_cfi - getauxval(AT_ENTRY);
	assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	for (unsigned i = 0; i < nmaps; i++) {
		copied[i] = maps[i];
		if (maps[i].addr == image_find(&image, 7, (uintptr_t)no_cfi)->addr)
			copied[i].fd = fd;
	}
	out = unwind_in(copied, no_cfi);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, UNWIND_WHOLE);
}

/* Maps a copy of this program's file in process @pid, too. */
static struct object *map_copy(uint32_t pid)
{
	const struct image_map *m = image_find(&image, 7, (uintptr_t)endless_cfi);
	struct data_map copy = {.pid = pid};
	struct object *o;

	assert_non_null(m);
	copy.addr = m->addr;
	copy.len = m->len;
	copy.pgoff = m->pgoff;
	copy.id[0] = (uint8_t)pid;
	assert_int_equal(image_add(&image, &copy, "/copy"), 0);
	o = image_find_object(&image, "/copy", copy.id, 0);
	if (o->fd < 0)
		o->fd = copy_program();
	return o;
}

static void store_endless(void)
{
	stored.user.regs[PFM_STACK_IP] = stored.user.regs[PFM_STACK_BX] =
		(uintptr_t)endless_cfi + 1;
}

/* A file that becomes shorter while it is mapped ends the process that reads it. Chains of other
 * programs are still found, however often that happens. */
TEST(truncated_file)
{
	pfm_stack_smpl_user_t before = stored.user;
	struct unwinder *u = NULL;
	struct object *o;

	need_libdw();
	o = map_copy(9);
	assert_int_equal(unwinder_new(&u, &why), 0);
	store_endless();
	assert_int_equal(unwind_there(u, 9).end, UNWIND_DEEP);
	assert_int_equal(ftruncate(o->fd, 4096), 0);
	assert_int_equal(unwinder_refused(u), 0);
	for (unsigned i = 0; i < 2 * UNWINDER_PENDING; i++)
		assert_int_equal(unwind_there(u, 9).end, UNWIND_BROKEN);
	assert_int_equal(unwinder_refused(u), 9);
	/* Another process may have that number later. */
	assert_int_equal(image_exit(&image, 9), 0);
	image_live(&image, 9, 9);
	(void)map_copy(9);
	assert_int_equal(unwind_there(u, 9).end, UNWIND_CODE);
	stored.user = before;
	assert_int_equal(unwind_there(u, 7).end, UNWIND_WHOLE);
	unwinder_renew(u);
	assert_int_equal(unwinder_refused(u), 0);
	unwinder_free(u);
}

/* Chains that are found before the process ends count, and the process whose stack ended it is
 * refused, not that of the oldest stack. */
TEST(truncated_file_between_others)
{
	pfm_stack_smpl_user_t before = stored.user;
	struct unwinder *u = NULL;
	struct unwound out;
	struct object *o;

	need_libdw();
	o = map_copy(10);
	assert_int_equal(unwinder_new(&u, &why), 0);
	store_endless();
	assert_int_equal(unwind_there(u, 10).end, UNWIND_DEEP);
	assert_int_equal(ftruncate(o->fd, 4096), 0);
	for (unsigned i = 0; i < UNWINDER_PENDING; i++) {
		stored.user = before;
		if (i == 1)
			store_endless();
		unwinder_submit(u, &image, i == 1 ? 10 : 7, &stored.user);
	}
	stored.user = before;
	for (unsigned i = 0; i < UNWINDER_PENDING; i++)
		unwinder_wait(u, &out);
	assert_int_equal(unwinder_refused(u), 10);
	assert_int_equal(unwind_there(u, 7).end, UNWIND_WHOLE);
	unwinder_free(u);
}

/* The process that unwinds may end at any time: more often than it is started again. */
TEST(new_file_of_the_recording)
{
	struct unwinder *u = NULL;

	need_libdw();
	assert_int_equal(unwinder_new(&u, &why), 0);
	for (unsigned i = 0; i < UNWINDER_PENDING; i++) {
		pid_t pid = atoi(child_status("Pid:") + strlen("Pid:"));

		(void)map_copy(20 + i);
		assert_int_equal(kill(pid, SIGKILL), 0);
		while (child_status("State:")[strlen("State:\t")] != 'Z')
			;
		assert_int_equal(unwind_there(u, 20 + i).end, UNWIND_BROKEN);
		unwinder_renew(u);
	}
	assert_int_equal(unwind_there(u, 7).end, UNWIND_WHOLE);
	unwinder_free(u);
}

/* The next process that is forked ends at once if it is 1, and begins late if it is 2. */
static int fork_fails;

static void forked(void)
{
	if (fork_fails == 1)
		_exit(1);
	if (fork_fails == 2)
		sleep(6);
}

/* A machine that is overloaded may begin the process later than a chain may take. If the process
 * cannot begin during a recording, the next stack tries again. */
TEST(begins_late)
{
	struct unwinder *u = NULL;
	pid_t pid;

	need_libdw();
	assert_int_equal(pthread_atfork(NULL, NULL, forked), 0);
	fork_fails = 2;
	assert_int_equal(unwinder_new(&u, &why), 0);
	assert_int_equal(unwind_there(u, 7).end, UNWIND_WHOLE);
	fork_fails = 1;
	pid = atoi(child_status("Pid:") + strlen("Pid:"));
	(void)map_copy(90);
	assert_int_equal(kill(pid, SIGKILL), 0);
	while (child_status("State:")[strlen("State:\t")] != 'Z')
		;
	assert_int_equal(unwind_there(u, 90).end, UNWIND_BROKEN);
	assert_int_equal(unwind_there(u, 7).end, UNWIND_BROKEN);
	fork_fails = 0;
	assert_int_equal(unwind_there(u, 7).end, UNWIND_WHOLE);
	unwinder_free(u);
}

static uint32_t crc_of(const unsigned char *p, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < 8 * n; i++)
		crc = crc >> 1 ^ ((crc ^ p[i / 8] >> i % 8) & 1 ? 0xedb88320 : 0);
	return ~crc;
}

static void write_file(int dir, const char *name, const void *p, size_t n)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, p, n), n);
}

/* Debug files are for the same processor, and those whose checksums are computed are bounded. */
TEST(debug_file_by_link)
{
	struct program {
		Elf64_Ehdr head;
		Elf64_Shdr all[2];
		char names[24];
		char link[8];
		uint32_t crc;
	} file = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			  .e_machine = EM_X86_64,
			  .e_shoff = offsetof(struct program, all),
			  .e_shentsize = sizeof(file.all[0]),
			  .e_shnum = 2},
		.all = {{.sh_offset = offsetof(struct program, names)},
			{.sh_name = 1, .sh_offset = offsetof(struct program, link), .sh_size = 12}},
		.names = "\0.gnu_debuglink",
		.link = "x.debug"};
	Elf64_Ehdr debug = file.head;
	char dir[] = "/tmp/test_unwind.XXXXXX", path[64];
	struct object o = {.path = path};
	CLEANUP_CLOSE int at = -1;
	uint64_t budget = sizeof(debug);
	int fd;

	assert_non_null(mkdtemp(dir));
	at = open(dir, O_PATH | O_DIRECTORY);
	file.crc = crc_of((void *)&debug, sizeof(debug));
	write_file(at, "x", &file, sizeof(file));
	write_file(at, "x.debug", &debug, sizeof(debug));
	snprintf(path, sizeof(path), "%s/x", dir);
	o.fd = open(path, O_RDONLY);
	fd = debug_file_open(&o, &budget);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(budget, 0);
	assert_int_equal(debug_file_open(&o, &budget), -E2BIG);
	budget = 1 << 20;
	debug.e_machine = EM_AARCH64;
	write_file(at, "x.debug", &debug, sizeof(debug));
	assert_int_equal(debug_file_open(&o, &budget), -ENOENT);
	assert_int_equal(budget, 1 << 20);
	debug.e_machine = EM_X86_64;
	debug.e_flags = 1;
	write_file(at, "x.debug", &debug, sizeof(debug));
	assert_int_equal(debug_file_open(&o, &budget), -ENOENT);
	assert_int_equal(budget, (1 << 20) - sizeof(debug));
	close(o.fd);
	unlinkat(at, "x", 0);
	unlinkat(at, "x.debug", 0);
	rmdir(dir);
}

int main(void)
{
	return unit_run(begin, end);
}

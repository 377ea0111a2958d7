// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/unwinder.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tools/pfm/samples/bounded.h"
#include "tools/pfm/samples/debug_file.h"

enum {
	UNWINDER_SLOTS = 16, /* processes whose files are kept at the same time */
	UNWINDER_MAPS = 512, /* of a process */
	UNWINDER_OBJECTS = 16384,
	UNWINDER_WAIT = 5,   /* seconds for a chain at most, or to start again */
	UNWINDER_START = 60, /* seconds for the first start, on a machine that is overloaded */
	UNWINDER_LIVES = 8,  /* how often it is started again in a file of a recording */
	UNWINDER_SLOW = 32,  /* chains of a process that may take too long */
	UNWINDER_FD = 3,
	UNWINDER_CHECKED = 1 << 28, /* bytes of debug files read in a file of a recording */
	UNWINDER_NOBODY = 65534,    /* a user and a group without files */
};

/* --- Messages, which a socket keeps apart */

enum unwinder_type { UNWINDER_OBJECT, UNWINDER_DEBUG, UNWINDER_PROCESS, UNWINDER_STACK };

struct unwinder_map {
	uint64_t addr;
	uint64_t len;
	uint64_t pgoff;
	uint64_t object; /* its number */
};

struct unwinder_message {
	uint32_t type; /* enum unwinder_type */
	/* OBJECT: that of the file, which comes with it; DEBUG: the same with its debug file; else
	 * the slot */
	uint32_t number;
	union {
		struct unwinder_map maps[UNWINDER_MAPS];
		struct {
			pfm_stack_smpl_user_t user;
			char stack[PFM_STACK_USER_STACK_MAX];
		} stack;
	} u;
};

enum { UNWINDER_HEAD = offsetof(struct unwinder_message, u) };

/* A message of @n parts, with the descriptor @fd; -1: none. */
static bool unwinder_send(int to, struct iovec *parts, unsigned n, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr aligned;
	} control = {{0}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = n};
	ssize_t sent;

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.aligned.cmsg_level = SOL_SOCKET;
		control.aligned.cmsg_type = SCM_RIGHTS;
		control.aligned.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.aligned), &fd, sizeof(fd));
	}
	do
		sent = sendmsg(to, &m, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent >= 0;
}

/* Returns the size of the message, 0 or -1 at the end. */
static ssize_t unwinder_receive(int from, struct unwinder_message *to, int *fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr aligned;
	} control;
	struct iovec part = {to, sizeof(*to)};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (n > 0 && CMSG_FIRSTHDR(&m))
		memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(*fd));
	return n;
}

/* --- The other process, which trusts what pfm sends */

struct unwinder_server {
	int files[UNWINDER_OBJECTS];
	int debug_files[UNWINDER_OBJECTS];
	struct unwind_process *processes[UNWINDER_SLOTS];
	struct unwinder_message in;
};

static void unwinder_set_process(struct unwinder_server *s, size_t n)
{
	struct unwind_map maps[UNWINDER_MAPS];

	for (size_t i = 0; i < n; i++) {
		const struct unwinder_map *m = &s->in.u.maps[i];

		maps[i] = (struct unwind_map){
			m->addr, m->pgoff, s->files[m->object], s->debug_files[m->object]};
	}
	unwind_process_free(s->processes[s->in.number]);
	s->processes[s->in.number] = unwind_process_new(maps, (unsigned)n);
}

static bool unwinder_unwind(struct unwinder_server *s)
{
	struct unwind_process *p = s->processes[s->in.number];
	struct unwound out = {
		.end = UNWIND_CODE, .n = 1, .frames = {s->in.u.stack.user.regs[PFM_STACK_IP]}};
	struct iovec part = {&out, sizeof(out)};

	if (p)
		unwind(p, &s->in.u.stack.user, &out);
	return unwinder_send(UNWINDER_FD, &part, 1, -1);
}

/* Returns at the end of pfm, or of the recording. */
static void unwinder_serve(struct unwinder_server *s)
{
	bool goes_on = true;
	ssize_t n;
	int fd;

	while (goes_on && (n = unwinder_receive(UNWINDER_FD, &s->in, &fd)) > 0)
		switch (s->in.type) {
		case UNWINDER_OBJECT:
			cleanup_close(&s->files[s->in.number]);
			cleanup_close(&s->debug_files[s->in.number]);
			s->files[s->in.number] = fd;
			s->debug_files[s->in.number] = -1;
			break;
		case UNWINDER_DEBUG:
			s->debug_files[s->in.number] = fd;
			break;
		case UNWINDER_PROCESS:
			unwinder_set_process(
				s, ((size_t)n - UNWINDER_HEAD) / sizeof(struct unwinder_map));
			break;
		default:
			goes_on = unwinder_unwind(s);
		}
}

/* Whether root is another user outside. The inode number of the initial user namespace is fixed:
 * PROC_USER_INIT_INO of the kernel. */
static bool unwinder_in_user_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 && st.st_ino != 0xEFFFFFFD;
}

static bool unwinder_become_nobody(void)
{
	return setgroups(0, NULL) == 0 &&
	       setresgid(UNWINDER_NOBODY, UNWINDER_NOBODY, UNWINDER_NOBODY) == 0 &&
	       setresuid(UNWINDER_NOBODY, UNWINDER_NOBODY, UNWINDER_NOBODY) == 0;
}

/* A user namespace may have no other user. Without capabilities, root is a user like others there.
 */
static bool unwinder_drop_capabilities(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return syscall(SYS_capset, &head, none) == 0;
}

/* Gives up root's rights for good: a hostile file that takes over this process finds nothing but
 * the descriptors of files that pfm has sent. */
static bool unwinder_drop_rights(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return false;
	return geteuid() != 0 || unwinder_become_nobody() ||
	       (unwinder_in_user_namespace() && unwinder_drop_capabilities());
}

/* Bounds what a damaged file can take. */
static void unwinder_limit(pid_t parent)
{
	static const int deadly[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};

	/* The kernel forgets the signal for the parent's end when the user changes. */
	if (!unwinder_drop_rights())
		_exit(1);
	bounded_begin();
	if (getppid() != parent)
		_exit(1);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		signal(deadly[i], SIG_DFL);
}

/* The contexts of the recording are not to stay open here. */
static void unwinder_begin(int fd, pid_t parent)
{
	struct unwinder_server *s = calloc(1, sizeof(*s));

	if (fd != UNWINDER_FD && dup2(fd, UNWINDER_FD) < 0)
		_exit(1);
	close_range(UNWINDER_FD + 1, ~0U, 0);
	unwinder_limit(parent);
	for (unsigned i = 0; s && i < UNWINDER_OBJECTS; i++)
		s->files[i] = s->debug_files[i] = -1;
	if (s && write(UNWINDER_FD, "", 1) == 1)
		unwinder_serve(s);
	_exit(0);
}

/* --- pfm */

/* Mappings that the other process has. */
struct unwinder_slot {
	uint32_t pid;          /* 0: the slot is free */
	uint64_t execs, files; /* as in struct image_process */
	uint64_t used;         /* when it was last used, in stacks */
};

/* A process some of whose chains were broken. */
struct unwinder_suspect {
	struct hash_node node; /* in unwinder.suspects, by pid */
	unsigned life;         /* processes that had this pid before */
	unsigned slow;         /* chains that took too long */
	bool refused;          /* no stack of it is unwound any more */
};

struct unwinder_pending {
	uint64_t ip;
	uint32_t space; /* the process whose mappings it is unwound by */
	unsigned life;
	bool sent; /* its chain comes */
};

struct unwinder {
	pid_t pid; /* 0: it has ended */
	int fd;
	unsigned lives;
	struct unwinder_slot slots[UNWINDER_SLOTS];
	bool sent[UNWINDER_OBJECTS];
	struct unwinder_pending pending[UNWINDER_PENDING];
	uint64_t stacks;
	uint64_t chains;
	struct hash suspects;
	uint32_t refused;                 /* the process that was refused last; 0: none was */
	uint64_t budget;                  /* of UNWINDER_CHECKED, what is left */
	bool unchecked[UNWINDER_OBJECTS]; /* the debug file was left out as that was used up */
	struct unwinder_map maps[UNWINDER_MAPS];
};

static void unwinder_stop(struct unwinder *u)
{
	if (u->fd >= 0)
		close(u->fd);
	u->fd = -1;
	if (!u->pid)
		return;
	kill(u->pid, SIGKILL);
	while (waitpid(u->pid, NULL, 0) < 0 && errno == EINTR)
		;
	u->pid = 0;
}

/* Waits until the other process has given up its rights. */
static int unwinder_await(struct unwinder *u, struct err *e)
{
	ssize_t n;
	char byte;
	int no;

	do
		n = recv(u->fd, &byte, sizeof(byte), 0);
	while (n < 0 && errno == EINTR);
	if (n == sizeof(byte))
		return 0;
	no = errno;
	unwinder_stop(u);
	if (n < 0 && no == EAGAIN)
		return err_set(e, ETIMEDOUT,
			"the process that unwinds stacks takes more than %d s to begin: try again "
			"when the machine is less busy, or give -g",
			UNWINDER_START);
	if (n < 0)
		return err_set(
			e, no, "the process that unwinds stacks does not begin: %s", err_name(no));
	return err_set(e, EPERM,
		"call chains without frame pointers: root reads damaged programs as another user, "
		"and may not become one here: grant CAP_SETUID and CAP_SETGID, or give -g");
}

/* Bounds how long messages from and to the other process may take. */
static void unwinder_set_wait(const struct unwinder *u, int seconds)
{
	const struct timeval wait = {.tv_sec = seconds};

	(void)setsockopt(u->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	(void)setsockopt(u->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

/* Starts the other process, which may take @seconds. */
static int unwinder_start(struct unwinder *u, int seconds, struct err *e)
{
	const pid_t own = getpid();
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_set(e, errno, "no process to unwind stacks: %s", err_name(errno));
	u->pid = fork();
	if (u->pid == 0)
		unwinder_begin(fds[1], own);
	close(fds[1]);
	u->fd = fds[0];
	if (u->pid > 0) {
		unwinder_set_wait(u, seconds);
		if (unwinder_await(u, e) < 0)
			return -e->no;
		unwinder_set_wait(u, UNWINDER_WAIT);
		return 0;
	}
	u->pid = 0;
	return err_set(e, errno, "no process to unwind stacks: %s", err_name(errno));
}

/* Starts the other process again while it may be. If it does not begin, chains are counted as
 * broken until the next stack, which tries again. */
static void unwinder_restart(struct unwinder *u)
{
	if (!u->pid && u->lives && u->lives--)
		(void)unwinder_start(u, UNWINDER_WAIT, &(struct err){0});
}

static void unwinder_forget_files(struct unwinder *u)
{
	memset(u->slots, 0, sizeof(u->slots));
	memset(u->sent, 0, sizeof(u->sent));
}

static struct unwinder_suspect *unwinder_suspect_of(struct hash_node *node)
{
	return container_of(node, struct unwinder_suspect, node);
}

/* Lives of pids are counted from 0 again. */
void unwinder_renew(struct unwinder *u)
{
	unwinder_forget_files(u);
	for (size_t i = 0; i < u->suspects.nbuckets; i++)
		for (struct hash_node *n = u->suspects.bucket[i]; n; n = n->next)
			unwinder_suspect_of(n)->life = 0;
	u->lives = UNWINDER_LIVES;
	u->refused = 0;
	u->budget = UNWINDER_CHECKED;
	memset(u->unchecked, 0, sizeof(u->unchecked));
	unwinder_restart(u);
}

/* Counts a broken chain against a process. */
static struct unwinder_suspect *unwinder_suspect(
	struct unwinder *u, const struct unwinder_pending *of)
{
	struct hash_node *node = hash_find(&u->suspects, of->space);
	struct unwinder_suspect *s = node ? unwinder_suspect_of(node) : calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (!node)
		hash_add(&u->suspects, &s->node, of->space);
	if (s->life < of->life)
		*s = (struct unwinder_suspect){.node = s->node, .life = of->life};
	s->slow++;
	return s;
}

static void unwinder_refuse(struct unwinder *u, const struct unwinder_pending *of)
{
	struct unwinder_suspect *s = unwinder_suspect(u, of);

	if (s)
		s->refused = true;
	u->refused = of->space;
}

static bool unwinder_refuses(const struct unwinder *u, const struct unwinder_pending *of)
{
	struct hash_node *node = hash_find(&u->suspects, of->space);
	const struct unwinder_suspect *s = node ? unwinder_suspect_of(node) : NULL;

	return s && of->life <= s->life && (s->refused || s->slow > UNWINDER_SLOW);
}

/* Receives a chain. The socket reports once that the process has ended with stacks unread; chains
 * before that are still there. */
static bool unwinder_receive_chain(struct unwinder *u, struct unwound *out, int flags)
{
	ssize_t n;

	do
		n = recv(u->fd, out, sizeof(*out), flags);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	return n == sizeof(*out) && out->end < UNWIND_ENDS && out->n <= UNWIND_FRAMES;
}

/* Refuses the process whose stack is unwound when the other process ends or takes too long: the
 * stack is that of the next chain after @chain. Starts the other process again; pending stacks have
 * no chains. */
static void unwinder_failed(struct unwinder *u, uint64_t chain)
{
	while (chain < u->stacks && !u->pending[chain % UNWINDER_PENDING].sent)
		chain++;
	if (chain < u->stacks)
		unwinder_refuse(u, &u->pending[chain % UNWINDER_PENDING]);
	for (unsigned i = 0; i < UNWINDER_PENDING; i++)
		u->pending[i].sent = false;
	unwinder_stop(u);
	unwinder_forget_files(u);
	unwinder_restart(u);
}

int unwinder_new(struct unwinder **out, struct err *e)
{
	struct unwinder *u = unwind_check(e) < 0 ? NULL : calloc(1, sizeof(*u));

	if (!u)
		return e->no ? -e->no : err_set(e, ENOMEM, "no memory to unwind stacks");
	u->fd = -1;
	u->lives = UNWINDER_LIVES;
	u->budget = UNWINDER_CHECKED;
	if (hash_init(&u->suspects) < 0)
		(void)err_set(e, ENOMEM, "no memory to unwind stacks");
	else if (unwinder_start(u, UNWINDER_START, e) == 0) {
		*out = u;
		return 0;
	}
	unwinder_free(u);
	return -e->no;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	unwinder_stop(u);
	for (size_t i = 0; i < u->suspects.nbuckets; i++)
		for (struct hash_node *n = u->suspects.bucket[i], *next; n; n = next) {
			next = n->next;
			free(unwinder_suspect_of(n));
		}
	hash_free(&u->suspects);
	free(u);
}

/* Whether a newer mapping is at that place, or another part of the same one is listed. */
static bool unwinder_has(const struct unwinder_map maps[], unsigned n, const struct image_map *m)
{
	for (unsigned i = 0; i < n; i++)
		if ((m->addr < maps[i].addr + maps[i].len && maps[i].addr < m->addr + m->len) ||
			(maps[i].object == m->object->number &&
				maps[i].addr - maps[i].pgoff == m->addr - m->pgoff))
			return true;
	return false;
}

static bool unwinder_has_file(const struct image_map *m)
{
	return m->object->fd >= 0 && m->object->number < UNWINDER_OBJECTS;
}

/* Lists the mappings of files, from the newest on. */
static unsigned unwinder_list(struct unwinder *u, const struct image_process *p)
{
	unsigned n = 0;

	for (size_t i = p->maps.n; i-- > 0 && n < UNWINDER_MAPS;) {
		const struct image_map *m = &p->maps.all[i];

		if (unwinder_has_file(m) && !unwinder_has(u->maps, n, m))
			u->maps[n++] =
				(struct unwinder_map){m->addr, m->len, m->pgoff, m->object->number};
	}
	return n;
}

static bool unwinder_send_file(
	struct unwinder *u, enum unwinder_type type, const struct object *o, int fd)
{
	uint32_t head[] = {type, o->number};
	struct iovec part = {head, sizeof(head)};

	return unwinder_send(u->fd, &part, 1, fd);
}

static bool unwinder_send_files(struct unwinder *u, const struct image_process *p)
{
	for (size_t i = 0; i < p->maps.n; i++) {
		const struct object *o = p->maps.all[i].object;
		CLEANUP_CLOSE int debug = -1;

		if (!unwinder_has_file(&p->maps.all[i]) || u->sent[o->number])
			continue;
		debug = debug_file_open(o, &u->budget);
		u->unchecked[o->number] |= debug == -E2BIG;
		if (!unwinder_send_file(u, UNWINDER_OBJECT, o, o->fd) ||
			(debug >= 0 && !unwinder_send_file(u, UNWINDER_DEBUG, o, debug)))
			return false;
		u->sent[o->number] = true;
	}
	return true;
}

static bool unwinder_send_process(struct unwinder *u, unsigned slot, const struct image_process *p)
{
	uint32_t head[] = {UNWINDER_PROCESS, slot};
	struct iovec parts[] = {
		{head, sizeof(head)}, {u->maps, unwinder_list(u, p) * sizeof(struct unwinder_map)}};

	return unwinder_send_files(u, p) && unwinder_send(u->fd, parts, 2, -1);
}

/* The slot of a process, or the one that was not used for the longest time. */
static struct unwinder_slot *unwinder_find_slot(struct unwinder *u, uint32_t pid)
{
	struct unwinder_slot *oldest = &u->slots[0];

	for (unsigned i = 0; i < UNWINDER_SLOTS; i++) {
		if (u->slots[i].pid == pid)
			return &u->slots[i];
		if (u->slots[i].used < oldest->used)
			oldest = &u->slots[i];
	}
	return oldest;
}

static bool unwinder_send_stack(
	struct unwinder *u, const struct image *im, uint32_t pid, const pfm_stack_smpl_user_t *user)
{
	static const struct image_process none;
	const struct image_process *p = image_known(im, pid);
	struct unwinder_slot *s = unwinder_find_slot(u, pid);
	uint32_t head[] = {UNWINDER_STACK, (uint32_t)(s - u->slots)};
	struct iovec parts[] = {
		{head, sizeof(head)}, {(void *)(uintptr_t)user, sizeof(*user) + user->stack_size}};

	p = p ? p : &none;
	/* Code that the process has made since does not matter. */
	if ((s->pid != pid || s->execs != p->execs || s->files != p->files) &&
		!unwinder_send_process(u, head[1], p))
		return false;
	*s = (struct unwinder_slot){pid, p->execs, p->files, u->stacks};
	return unwinder_send(u->fd, parts, 2, -1);
}

/* A process that was forked and has ended before its mappings were read has those of its parent. */
static uint32_t unwinder_space(const struct image *im, uint32_t pid, uint64_t ip)
{
	uint32_t from = pid;

	return image_find_forked(im, pid, ip, &from) ? from : pid;
}

/* The process that cannot be sent a stack may have found chains that are not taken yet. */
static void unwinder_cannot_send(struct unwinder *u)
{
	struct unwound ignored;
	uint64_t chain = u->chains;

	for (; chain < u->stacks; chain++)
		if (u->pending[chain % UNWINDER_PENDING].sent &&
			!unwinder_receive_chain(u, &ignored, MSG_DONTWAIT))
			break;
	unwinder_failed(u, chain);
}

void unwinder_submit(
	struct unwinder *u, const struct image *im, uint32_t pid, const pfm_stack_smpl_user_t *user)
{
	uint64_t ip = user->regs[PFM_STACK_IP];
	uint32_t space = unwinder_space(im, pid, ip);
	struct unwinder_pending *p = &u->pending[u->stacks++ % UNWINDER_PENDING];

	*p = (struct unwinder_pending){ip, space, image_life(im, space), false};
	unwinder_restart(u);
	if (!u->pid || unwinder_refuses(u, p))
		return;
	p->sent = true;
	if (!unwinder_send_stack(u, im, space, user))
		unwinder_cannot_send(u);
}

void unwinder_wait(struct unwinder *u, struct unwound *out)
{
	struct unwinder_pending *p = &u->pending[u->chains % UNWINDER_PENDING];
	bool found = p->sent && unwinder_receive_chain(u, out, 0);

	if (p->sent && !found)
		unwinder_failed(u, u->chains);
	else if (found && out->end == UNWIND_BROKEN)
		(void)unwinder_suspect(u, p);
	if (!found)
		*out = (struct unwound){.end = UNWIND_BROKEN, .n = 1, .frames = {p->ip}};
	u->chains++;
}

uint32_t unwinder_refused(const struct unwinder *u)
{
	return u->refused;
}

unsigned unwinder_unchecked(const struct unwinder *u)
{
	unsigned n = 0;

	for (unsigned i = 0; i < UNWINDER_OBJECTS; i++)
		n += u->unchecked[i];
	return n;
}

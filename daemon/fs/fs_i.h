/* SPDX-License-Identifier: MIT */
/* What the files of the filesystem share among themselves. Only these know libfuse. */
#ifndef FS_FS_I_H
#define FS_FS_I_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "daemon/command/command.h"
#include "daemon/command/ioctl.h"
#include "daemon/fs/config.h"
#include "daemon/fs/fs.h"
#include "daemon/fs/object.h"
#include "daemon/fs/passthrough.h"
#include "daemon/fs/shared.h"

/* The kinds of directory. */
enum dir {
	DIR_NONE, /* above the root */
	DIR_ROOT,
	DIR_PMU,
	DIR_CONFIG,
	DIR_SIM,
	DIR_CTXS, /* its members are contexts */
	DIR_CTX,
	DIR_CHILDREN, /* contexts, too */
	DIR_SETS,     /* event sets */
	DIR_SET,
	DIR_PMCS, /* registers */
	DIR_PMDS,
	DIR_SYS,
	DIR_SYS_FORMATS, /* formats */
	DIR_SYS_FORMAT,
	DIR_SYS_DESC, /* registers, and a file */
	DIR_SYS_REG,
};

/* What an inode number says. */
struct node {
	const struct row *row;
	uint64_t serial; /* of its context or set; 0: it belongs to none */
	unsigned reg;    /* row of its table in the PMU description, in DIR_PMCS and DIR_PMDS; in
			    and below DIR_SYS_DESC, as if PMCs, PMDs and virtual PMDs were one
			    table; in and below DIR_SYS_FORMATS, of the registry */
};

struct fs;
struct call;
struct file;

/*
 * A row is a kind of file: its name, its mode, what reading gives and what writing does. Lookup,
 * getattr, readdir, open, read and write are generic walks over the table of them in rows.c.
 */
struct row {
	enum dir in;        /* the directory it stands in */
	const char *name;   /* NULL: one for each member of that directory */
	mode_t mode;        /* with its type */
	enum dir is;        /* if it is a directory */
	const char *target; /* if it is a symbolic link */
	bool lines;         /* takes several lines in one write */
	bool virtual;       /* in DIR_PMDS, those members that are virtual */
	bool clone;         /* each open of it makes a context, which ends with it; see clone.c */

	/* Answered at once: 0, -errno with a sentence, or CALL_LATER. */
	int (*show)(struct call *call, struct text *out, struct err *e);
	int (*store)(struct call *call, struct slice text, struct err *e);

	/* Or asked of the context's owner: what to ask, and what to print of the answer; */
	int (*ask)(const struct call *call, struct command *cmd, struct err *e);
	void (*print)(const struct command *cmd, struct text *out);
	/* what to make of a write, and what to keep of it once it has taken effect (any thread). */
	int (*parse)(
		const struct call *call, struct slice text, struct command *cmd, struct err *e);
	void (*keep)(struct fs_context *ctx, const struct command *cmd);

	/* Or each read takes what is next of the context's messages (messages.c): what to ask, and
	 * the reply. */
	void (*give)(struct call *call, const struct command *cmd);

	/* What poll() can wait for of it; NULL: it is always ready. */
	unsigned (*news)(const struct file *f);

	/* Or it is memory to be mapped; NULL with a sentence if there is none. */
	struct shared *(*memory)(const struct call *call, struct err *e);

	/* Opening it takes more; answers by itself, unless it fails. */
	int (*open)(struct call *call, struct file *f, struct err *e);
};

extern const struct row rows[];
extern const unsigned nrows;

/* An open file. */
struct file {
	struct node node;
	struct fs_context *ctx;  /* held; NULL outside of contexts */
	uid_t uid;               /* of who opened it, not of whom it was passed on to; */
	struct rights rights;    /* and his */
	uint64_t memlock;        /* bytes his process may lock, if he may have memory made */
	int access;              /* O_RDONLY, O_WRONLY or O_RDWR */
	struct shared *shared;   /* held, if it is memory, or can be mapped besides */
	struct shared *shown;    /* clone: held, the buffer that is fed to who has it mapped */
	struct file *next, **at; /* all of them; the session thread's */

	/* The newest handle, while somebody may wait; then it is among the context's pollers. */
	struct fuse_pollhandle *poll;
	struct file *poll_next, **poll_at;
	atomic_ullong changes; /* of the state, that its reader knows of */

	struct text left; /* events: lines that have been taken and not been given, */
	size_t given;     /* but for so many bytes */

	pthread_mutex_t lock; /* a leaf: guards what is below */
	bool seen;            /* there is a snapshot: */
	struct text snap;     /* what the read at offset 0, or else the first one, saw */
};

/*
 * A request being handled. CALL_LATER: the row keeps a copy, and whoever finishes it answers with
 * call_read_done() or call_write_done().
 */
struct call {
	struct fs *fs;
	fuse_req_t req;
	struct node node;
	struct fs_context *ctx; /* of the node; NULL outside of contexts */
	int set;                /* of the node; -1 if it belongs to none */
	struct file *file;      /* open, read, write */
	size_t size;            /* bytes asked for, or written */
	size_t off;             /* read: from where */
	struct packet *packet;  /* ioctl: of whoever answers it */
};
enum { CALL_LATER = 1 };

/* A deferred request that an interrupt may end; see request.c. */
struct request;

struct fs {
	struct engine *eng;
	struct backend *be;
	struct config config;
	struct objects objects;
	struct fuse_session *se;
	struct file *files;     /* open ones */
	struct reader *readers; /* who wait for messages, in any context */
	struct total *totals;   /* sums under way */
	uint64_t timer_ns;      /* what the timer can tell apart */
	const struct fs_options *opts;
	struct guard *guard;
	struct passthrough passthrough;
	struct shared_pool memory;
	struct shared_ops memory_ops;
	struct uid_error *uid_errors; /* last_error of those without a context */
	unsigned nuid_errors;
	unsigned long long requests;
	uid_t owner; /* of everything outside of contexts */
	struct timespec born;

	pthread_mutex_t pending_lock; /* a leaf: guards pending, against workers that answer */
	struct request *pending;
	uint64_t last_request;
	uint64_t interrupted[16]; /* ids of requests, told by libfuse in the midst of its locks */
	unsigned ninterrupted;
};

/* node.c */
fuse_ino_t node_ino(const struct node *n);
/* 0, or -ENOENT: the number is none of ours, -ENODEV: its object is gone. Fills ctx and set. */
int node_call(struct fs *fs, fuse_req_t req, fuse_ino_t ino, struct call *call);
void node_attr(const struct call *call, struct stat *st);
/* The child @name of a directory: 0 or -ENOENT. */
int node_lookup(const struct call *dir, const char *name, struct call *child);
/* The first child of a directory whose cookie is over *@cookie, or false. Sets name and cookie. */
bool node_next(const struct call *dir, uint64_t *cookie, struct call *child, char name[256]);
/* How long the kernel may keep the name and attributes. */
double node_timeout(const struct call *call);
struct fuse_entry_param node_entry(const struct call *child);

/* rights.c */
/* EPERM: the caller is in neither of the groups whose members may. */
int caller_may_make(const struct call *call, struct err *e);
struct rights caller_rights(const struct call *call);
/* RLIMIT_MEMLOCK of the calling process; root has none. */
uint64_t caller_memlock(const struct call *call);

/* error.c: sentences for those who have no context at hand, per uid. */
void uid_error_set(struct fs *fs, uid_t uid, const struct err *e);
void uid_error_show(const struct fs *fs, uid_t uid, struct text *out);
void uid_errors_free(struct fs *fs);
/* Notes the sentence where the caller will look for it, and answers with the errno. */
void call_fail(struct call *call, const struct err *e);

/* request.c */
/* Answers a read with @out, which becomes the file's snapshot; or with the error if @rc < 0. */
void call_read_done(struct call *call, int rc, struct text *out, const struct err *e);
/* Answers a write. */
void call_write_done(struct call *call, int rc, const struct err *e);
/* Sends @cmd to the owner of the call's context; the answer comes by itself. Takes @cmd.
 * False: there was no memory, and that is answered. */
bool call_ask(struct call *call, struct command *cmd);
/* The same for what makes an event set, and for what has the context take @s. Negative: it has not
 * been sent, nor answered. */
int call_make_set(struct call *call, struct command *cmd, struct err *e);
/* A command for a context that is unloaded, and so the session thread's: it is done on return. */
int context_do(struct fs_context *ctx, const struct command *cmd, struct err *e);
void call_set_up(struct call *call, struct command *cmd, struct smpl *s);
/* What config/ sets for commands. */
struct limits limits_of(const struct fs *fs);
/* Has @req's interrupt noted, by a number from request_id(). */
uint64_t request_id(struct fs *fs);
void request_interruptible(fuse_req_t req, uint64_t id);
/* Ends the requests whose interrupts have been noted. */
void requests_interrupt(struct fs *fs);

/* children.c */
/* tenant.child and tenant.unfollowed of all contexts. */
struct tenant *context_child(struct tenant *t, int tid, struct err *e);
void context_unfollowed(struct tenant *t, int tid, const struct err *e);
/* tenant.trouble */
void context_trouble(struct tenant *t, const struct err *e);
/* Removes a context and its children, then answers @req, unless that is NULL. ENOMEM. */
int context_destroy(struct fs_context *ctx, fuse_req_t req);

/* clone.c: an open clone is a context. */
int clone_open(struct call *call, struct file *f, struct err *e);
/* It is closed; or its open has failed. */
void clone_closed(struct file *f);
int clone_store(struct call *call, struct slice text, struct err *e);
/* A command of the call's packet has been carried out, or has failed. */
void clone_took(struct call *call, struct command *cmd, int rc, struct err *e);
/* The bytes that the file can be seen to have. */
size_t clone_size(const struct call *call);
/* A page fault of who has mapped it has the kernel read. */
void clone_read_page(fuse_req_t req, const struct file *f, size_t size, size_t off);
/* Sets have been made, or are to have pages from now on. */
void clone_map_sets(struct fs_context *ctx);
void clone_map_set(struct fs_context *ctx, struct object *set);
void clone_unmap_set(struct fs_context *ctx, const struct object *set);
void fs_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned nr, void *arg, struct fuse_file_info *fi,
	unsigned flags, const void *in, size_t in_size, size_t out_size);

/* messages.c: msg and events. */
/* Takes messages, or waits for some; answers by itself. */
void messages_read(struct call *call, bool nonblock);
/* There may be messages. */
void messages_wake(struct fs_context *ctx);
/* Those who wait are answered with ENODEV. */
void messages_close(struct fs_context *ctx);
/* False: it is none of the requests that wait here. */
bool messages_interrupt(struct fs *fs, uint64_t id);

/* total.c */
/* False: it is none of the requests that wait here. */
bool totals_interrupt(struct fs *fs, uint64_t id);

/* poll.c */
void fs_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *ph);
/* Wakes those for whom there is news. */
void pollers_wake(struct fs_context *ctx);
/* Wakes those of the object with that serial, or all of them if it is the context's own. */
void pollers_close(struct fs_context *ctx, uint64_t serial);
void poller_forget(struct file *f);

/* signal.c */
/* The command "signal", for the context of the open file. EPERM: the caller may not signal him, or
 * who has opened the file may not. */
int notifier_set(struct call *call, const struct command *cmd, struct err *e);
/* Signals if there has been a notification since the last time. */
void notifier_raise(struct fs_context *ctx);
void notifier_drop(struct fs_context *ctx);
/* Of that thread. False: it cannot be told. */
bool real_uid(pid_t tid, uid_t *uid);

/* event.c: what happens to a context comes to those who wait for it. */
void context_event(struct tenant *t);
/* The same, for what may have happened unwatched. */
void context_announce(struct fs_context *ctx);
/* Something has happened that must not be told yet, for its buffer does not show it. */
bool context_untold(struct fs_context *ctx);
void context_watch(struct fs *fs, struct fs_context *ctx);
/* It is being removed, or the daemon is ending. */
void context_close(struct fs_context *ctx);

/* smpl.c */
struct smpl {
	const pfm_buffer_fmt_t *fmt; /* NULL: none */
	void *arg;
	uint64_t memlock;   /* bytes that who has chosen it may lock */
	bool begun;         /* fmt_exit is due */
	struct shared *mem; /* NULL: a format without a buffer */
};
/* What @text asks for, for the call's context: ready, but not in use yet. */
int smpl_new(const struct call *call, struct slice text, struct smpl **out, struct err *e);
/* Frees one that has never been installed. */
void smpl_drop(struct smpl *s);
/* Gives @to, which has none and no owner yet, the format of @from and a buffer like its. */
int smpl_copy(struct fs *fs, const struct fs_context *from, struct fs_context *to, struct err *e);
/* The same of a format's name or UUID ("": none) and its argument structure, for a context with
 * @flags. */
int smpl_choose(const struct call *call, unsigned flags, struct slice format, struct slice arg,
	struct smpl **out, struct err *e);
/* What a context's owner gets of it. */
struct sampling smpl_sampling(const struct smpl *s);
/* The context's owner has taken it, and uses the old one no more. */
void smpl_install(struct fs *fs, struct fs_context *ctx, struct smpl *s);
/* NULL: it has no buffer. */
struct shared *context_memory(const struct fs_context *ctx);
/* The context has no owner any more. */
void context_gone(struct fs_context *ctx);

/* memory.c */
/* Answers by itself, unless it fails. */
int memory_open(struct call *call, struct file *f, struct err *e);
/* Answers an open of what is passed; @text: reads come to the daemon all the same. */
void memory_reply_passed(fuse_req_t req, struct file *f, bool text);
/* Answers an open of a stream: it has no position, so that read() and read() of one open file do
 * not wait for each other in the kernel, where no signal would end that. What
 * is passed cannot be one. */
void stream_reply(fuse_req_t req, struct file *f);
/* May the context's owner have @room bytes more, if he may lock @lock? Those of @old (or NULL) are
 * about to be given back, unless somebody has it open. ENOMEM, ENOSPC. */
int memory_afford(struct fs *fs, const struct fs_context *ctx, uint64_t lock, size_t room,
	const struct shared *old, struct err *e);
void memory_read(fuse_req_t req, struct shared *s, size_t size, size_t off);
size_t memory_size(const struct call *call);

/* live.c */
int live_open(struct call *call, struct file *f, struct err *e);
/* The owner has been asked to keep the page; then, unless the caller has gone away, the answer. */
void live_follow(struct call *call, int rc);
void live_answer(struct call *call, int rc, const struct err *e);
/* May readers of its pages use RDPMC? */
bool live_rdpmc_allowed(const struct fs *fs);
int live_ask(const struct call *call, struct command *cmd, struct err *e);
void live_print(const struct command *cmd, struct text *out);

/* file.c */
struct file *file_new(struct call *call);
void file_free(struct file *f);
void files_free(struct fs *fs);

/* ops.c */
extern const struct fuse_lowlevel_ops fs_ops;
/* Every operation on an open file, whose context must still be there, begins here: false means that
 * it has been answered. */
bool call_begin_open(
	fuse_req_t req, fuse_ino_t ino, const struct fuse_file_info *fi, struct call *call);

/* mount.c */
/* Mounts a perfmonfs at @path and returns the /dev/fuse descriptor; @words are of -o. */
int mount_fuse(const char *path, const char *words, struct err *e);
/* mountinfo's number for what is mounted at @path, or -1; and its type. */
int mount_id(const char *path, char type[64]);

/* guard.c */
struct guard;
/* Forks the process that unmounts @mountpoint when this one dies, whatever it dies of. */
int guard_start(const char *mountpoint, struct guard **out, struct err *e);
/* Unmounts now, unless the user already has, and ends the guard. */
void guard_end(struct guard *g);
/* Registers @fd for passthrough with the connection @fuse: an id from 1 on, or -errno. */
int guard_back(struct guard *g, int fuse, int fd);
void guard_unback(struct guard *g, int fuse, int id);

/* The rows' callbacks: root_rows.c, pmu_rows.c, config_rows.c, context_rows.c, set_rows.c,
 * message_rows.c, smpl_rows.c, sim_rows.c, sys_rows.c. */
int version_show(struct call *call, struct text *out, struct err *e);
int last_error_show(struct call *call, struct text *out, struct err *e);
int cpus_show(struct call *call, struct text *out, struct err *e);
int stats_show(struct call *call, struct text *out, struct err *e);

int pmu_name_show(struct call *call, struct text *out, struct err *e);
int pmu_model_show(struct call *call, struct text *out, struct err *e);
int pmu_backend_show(struct call *call, struct text *out, struct err *e);
int pmu_width_show(struct call *call, struct text *out, struct err *e);
int pmu_pmcs_show(struct call *call, struct text *out, struct err *e);
int pmu_pmds_show(struct call *call, struct text *out, struct err *e);
int pmu_events_show(struct call *call, struct text *out, struct err *e);
int pmu_mappings_show(struct call *call, struct text *out, struct err *e);

/* Bits above the width of a counter are emulated, so none of a PMD's 64 is reserved. */
enum { PMD_DEFAULT = 0, PMD_RESERVED = 0 };
/* Nobody writes to a virtual one. */
#define VIRTUAL_RESERVED UINT64_MAX

int config_row_show(struct call *call, struct text *out, struct err *e);
int config_row_store(struct call *call, struct slice text, struct err *e);

int ctl_show(struct call *call, struct text *out, struct err *e);
int ctl_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e);
/* EPERM: a load on a thread by somebody else than who has opened the file. */
int load_check_caller(const struct call *call, const struct command *cmd, struct err *e);
void ctl_keep(struct fs_context *ctx, const struct command *cmd);
int info_ask(const struct call *call, struct command *cmd, struct err *e);
void state_print(const struct command *cmd, struct text *out);
unsigned state_news(const struct file *f);
void ctx_flags_print(const struct command *cmd, struct text *out);
void ctx_flags_keep(struct fs_context *ctx, const struct command *cmd);
int ctx_flags_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e);
int total_show(struct call *call, struct text *out, struct err *e);
int ctx_error_show(struct call *call, struct text *out, struct err *e);
int pmc_ask(const struct call *call, struct command *cmd, struct err *e);
void pmc_print(const struct command *cmd, struct text *out);
int pmc_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e);
int pmd_ask(const struct call *call, struct command *cmd, struct err *e);
void pmd_print(const struct command *cmd, struct text *out);
int pmd_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e);
int pmds_ask(const struct call *call, struct command *cmd, struct err *e);
int regs_ask(const struct call *call, struct command *cmd, struct err *e);
int regs_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e);

int evtset_ask(const struct call *call, struct command *cmd, struct err *e);
int evtset_flags_parse(
	const struct call *call, struct slice text, struct command *cmd, struct err *e);
int evtset_timeout_parse(
	const struct call *call, struct slice text, struct command *cmd, struct err *e);
int evtset_next_parse(
	const struct call *call, struct slice text, struct command *cmd, struct err *e);

int msg_ask(const struct call *call, struct command *cmd, struct err *e);
void msg_give(struct call *call, const struct command *cmd);
unsigned msg_news(const struct file *f);
int events_ask(const struct call *call, struct command *cmd, struct err *e);
void events_give(struct call *call, const struct command *cmd);
unsigned events_news(const struct file *f);
/* Gives what an earlier read of the open file could not take; false if there is nothing. */
bool events_give_left(struct call *call);

int formats_show(struct call *call, struct text *out, struct err *e);
int format_show(struct call *call, struct text *out, struct err *e);
int format_store(struct call *call, struct slice text, struct err *e);
struct shared *buffer_memory(const struct call *call, struct err *e);

int knob_show(struct call *call, struct text *out, struct err *e);
int knob_store(struct call *call, struct slice text, struct err *e);

int sys_version_show(struct call *call, struct text *out, struct err *e);
int sys_syscall_show(struct call *call, struct text *out, struct err *e);
int sys_arg_max_show(struct call *call, struct text *out, struct err *e);
int sys_buffer_max_show(struct call *call, struct text *out, struct err *e);
int sys_buffer_cur_show(struct call *call, struct text *out, struct err *e);
int sys_sys_group_show(struct call *call, struct text *out, struct err *e);
int sys_task_group_show(struct call *call, struct text *out, struct err *e);
int sys_sys_sessions_show(struct call *call, struct text *out, struct err *e);
int sys_task_sessions_show(struct call *call, struct text *out, struct err *e);
int sys_format_arg_size_show(struct call *call, struct text *out, struct err *e);
int sys_format_version_show(struct call *call, struct text *out, struct err *e);
int sys_model_show(struct call *call, struct text *out, struct err *e);
int sys_reg_show(struct call *call, struct text *out, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* What the files of the filesystem share among themselves. Only these know libfuse. */
#ifndef FS_FS_I_H
#define FS_FS_I_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "daemon/command/command.h"
#include "daemon/fs/config.h"
#include "daemon/fs/fs.h"
#include "daemon/fs/object.h"

/* The kinds of directory. */
enum dir {
	DIR_NONE, /* above the root */
	DIR_ROOT,
	DIR_PMU,
	DIR_CONFIG,
	DIR_SIM,
	DIR_CTXS, /* its members are contexts */
	DIR_CTX,
	DIR_SETS, /* event sets */
	DIR_SET,
	DIR_PMCS, /* registers */
	DIR_PMDS,
};

/* What an inode number says. */
struct node {
	const struct row *row;
	uint64_t serial; /* of its context or set; 0: it belongs to none */
	unsigned reg;    /* row of the PMU description, in DIR_PMCS and DIR_PMDS */
};

struct fs;
struct call;

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
};

extern const struct row rows[];
extern const unsigned nrows;

/* An open file. */
struct file {
	struct node node;
	struct fs_context *ctx;  /* held; NULL outside of contexts */
	uid_t uid;               /* of who opened it, not of whom it was passed on to; */
	struct rights rights;    /* and his */
	struct file *next, **at; /* all of them; the session thread's */
	pthread_mutex_t lock;    /* a leaf: guards what is below */
	bool seen;               /* there is a snapshot: */
	struct text snap;        /* what the read at offset 0, or else the first one, saw */
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
	struct file *file;      /* read, write */
	size_t size;            /* bytes asked for, or written */
	size_t off;             /* read: from where */
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
	struct file *files; /* open ones */
	const struct fs_options *opts;
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
double node_timeout(const struct node *n);

/* rights.c */
bool caller_in(fuse_req_t req, const struct group_rule *rule);
struct rights caller_rights(const struct call *call);

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
/* Sends @cmd to the owner of the call's context; the answer comes by itself. Takes @cmd. */
void call_ask(struct call *call, struct command *cmd);
/* Removes the call's context, then answers. */
void call_destroy(struct call *call);
/* Ends the requests whose interrupts have been noted. */
void requests_interrupt(struct fs *fs);

/* file.c */
struct file *file_new(struct call *call);
void file_free(struct file *f);
void files_free(struct fs *fs);

/* ops.c */
extern const struct fuse_lowlevel_ops fs_ops;

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

/* The rows' callbacks: root_rows.c, pmu_rows.c, config_rows.c, context_rows.c, sim_rows.c. */
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

int config_row_show(struct call *call, struct text *out, struct err *e);
int config_row_store(struct call *call, struct slice text, struct err *e);

int ctl_show(struct call *call, struct text *out, struct err *e);
int ctl_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e);
void ctl_keep(struct fs_context *ctx, const struct command *cmd);
int info_ask(const struct call *call, struct command *cmd, struct err *e);
void state_print(const struct command *cmd, struct text *out);
void flags_print(const struct command *cmd, struct text *out);
int flags_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e);
int ctx_error_show(struct call *call, struct text *out, struct err *e);
int pmc_ask(const struct call *call, struct command *cmd, struct err *e);
void pmc_print(const struct command *cmd, struct text *out);
int pmc_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e);
int pmd_ask(const struct call *call, struct command *cmd, struct err *e);
void pmd_print(const struct command *cmd, struct text *out);
int pmd_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e);
int regs_ask(const struct call *call, struct command *cmd, struct err *e);
int regs_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e);

int knob_show(struct call *call, struct text *out, struct err *e);
int knob_store(struct call *call, struct slice text, struct err *e);

#endif

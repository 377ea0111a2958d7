// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/track.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "tools/pfm/samples/build_id.h"
#include "tools/pfm/samples/mapped_file.h"
#include "tools/pfm/samples/proc_maps.h"

/* Contexts need descriptors, too. */
enum { TRACK_FILES_MAX = 4096 };

/* The name of a thread. */
struct track_name {
	struct hash_node node;
	uint32_t pid;
	char name[];
};

static void track_forget(struct track *t, struct hash_node *node)
{
	hash_remove(&t->names, node);
	free(container_of(node, struct track_name, node));
}

static void track_forget_name(struct track *t, uint32_t tid)
{
	struct hash_node *node = hash_find(&t->names, tid);

	if (node)
		track_forget(t, node);
}

static int track_keep_name(struct track *t, const struct data_comm *c, const char *name)
{
	struct track_name *new = malloc(sizeof(*new) + strlen(name) + 1);

	track_forget_name(t, c->tid);
	if (!new)
		return -ENOMEM;
	new->pid = c->pid;
	strcpy(new->name, name);
	hash_add(&t->names, &new->node, c->tid);
	return 0;
}

static unsigned track_most_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	return (unsigned)(limit.rlim_cur < TRACK_FILES_MAX * 4 ? limit.rlim_cur / 4
							       : TRACK_FILES_MAX);
}

int track_init(struct track *t, struct data_writer *out, struct err *e)
{
	*t = (struct track){.out = out, .round = 1, .files = track_most_files()};
	if (image_init(&t->image) == 0 && hash_init(&t->names) == 0)
		return 0;
	track_free(t);
	return err_set(e, ENOMEM, "no memory");
}

void track_free(struct track *t)
{
	for (size_t i = 0; i < t->names.nbuckets; i++)
		while (t->names.bucket[i])
			track_forget(t, t->names.bucket[i]);
	hash_free(&t->names);
	chains_free(t->chains);
	image_free(&t->image);
}

void track_round(struct track *t)
{
	t->round++;
}

/* Identifies a mapped file. Processes may have different files at one path, and one after the
 * other. Returns a descriptor of the file, or -1: it is open already, or is not found. */
static int track_identify(
	const struct track *t, struct data_map *m, const char *name, const pfm_smpl_file_t *file)
{
	const struct object *known;
	int fd;

	if (t->chains && strcmp(name, "[vdso]") == 0)
		return mapped_file_open_vdso();
	if (name[0] != '/' || name[1] == '/')
		return -1;
	memcpy(m->id, file->build_id, sizeof(m->id));
	m->id_size = file->build_id_size;
	known = m->id_size ? image_find_object(&t->image, name, m->id, m->id_size)
			   : image_find_file(&t->image, name, file);
	if (known && known->fd >= 0) {
		memcpy(m->id, known->id, sizeof(m->id));
		m->id_size = known->id_size;
		return -1;
	}
	fd = mapped_file_open(m, name, file);
	if (fd >= 0)
		m->id_size = build_id_read(fd, m->id);
	return fd;
}

/* Keeps the file of a mapping, for its names. */
static void track_keep_file(struct track *t, const struct data_map *m, const char *name, int *fd)
{
	struct object *o = image_find_object(&t->image, name, m->id, m->id_size);
	pfm_smpl_file_t file = {0};

	if (o && o->is_dump && !t->foreign && *fd >= 0 && mapped_file_is_dump_of(m->pid, name, *fd))
		o->dump_of = m->pid;
	if (!o || o->fd >= 0 || *fd < 0 || !t->files)
		return;
	(void)mapped_file_identify(*fd, &file);
	image_set_file(&t->image, o, take_fd(fd), &file);
	t->files--;
}

/* Samples that precede a change of mappings are unwound, and are in the file, before it. */
static int track_flush(const struct track *t, struct err *e)
{
	return t->chains ? chains_flush(t->chains, e) : 0;
}

int track_map(struct track *t, struct data_map *m, const char *name, const pfm_smpl_file_t *file,
	struct err *e)
{
	CLEANUP_CLOSE int fd = track_identify(t, m, name, file);
	struct image_process *p = image_process(&t->image, m->pid);

	if (track_flush(t, e) < 0)
		return -e->no;
	if (!p || image_add(&t->image, m, name) < 0)
		return err_set(e, ENOMEM, "no memory for the mappings of process %u", m->pid);
	track_keep_file(t, m, name, &fd);
	return data_put(t->out, DATA_MAP, m, offsetof(struct data_map, name), name, e);
}

/* Keeps the file with the names of the code that process @pid makes, once a round until it is
 * there. It is read when the recording ends: the process then has written it, or has ended. */
static int track_keep_names(struct track *t, struct image_process *p, uint32_t pid)
{
	struct object *made;

	if (!p->makes_code || p->named_at == t->round || !t->files)
		return 0;
	p->named_at = t->round;
	made = image_made(&t->image, pid, image_life(&t->image, pid));
	if (!made)
		return -ENOMEM;
	if (made->fd >= 0)
		return 0;
	made->fd = mapped_file_open_names(pid);
	t->files -= made->fd >= 0;
	return 0;
}

int track_comm(struct track *t, const struct data_comm *c, const char *name, struct err *e)
{
	if (track_flush(t, e) < 0)
		return -e->no;
	image_live(&t->image, c->pid, c->tid);
	if (c->exec)
		image_exec(&t->image, c->pid);
	if (track_keep_name(t, c, name) < 0)
		return err_set(e, ENOMEM, "no memory for the name of thread %u", c->tid);
	return data_put(t->out, DATA_COMM, c, offsetof(struct data_comm, name), name, e);
}

int track_exit(struct track *t, const struct data_exit *x, struct err *e)
{
	if (track_flush(t, e) < 0)
		return -e->no;
	track_forget_name(t, x->tid);
	if (image_exit(&t->image, x->tid) < 0)
		return err_set(e, ENOMEM, "no memory for thread %u", x->tid);
	return data_put(t->out, DATA_EXIT, x, sizeof(*x), NULL, e);
}

/* A process: its number here, and in the daemon's PID namespace, whose numbers the file has. */
struct track_pid {
	uint32_t own;
	uint32_t pid;
};

/* Records a thread's name, unless it cannot be read: processes end or are hidden. */
static int track_thread_name(
	struct track *t, struct track_pid p, uint32_t tid, uint64_t time, struct err *e)
{
	struct data_comm c = {.time = time, .pid = p.pid, .tid = tid == p.own ? p.pid : tid};
	char path[64], name[64];
	CLEANUP_FCLOSE FILE *f = NULL;

	if (p.own != p.pid && tid != p.own)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", p.own, tid);
	f = fopen(path, "re");
	if (!f || !fgets(name, sizeof(name), f))
		return 0;
	name[strcspn(name, "\n")] = '\0';
	return track_comm(t, &c, name, e);
}

static int track_thread_names(struct track *t, struct track_pid p, uint64_t time, struct err *e)
{
	CLEANUP_CLOSEDIR DIR *d = NULL;
	struct dirent *de;
	char path[32];
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%u/task", p.own);
	d = opendir(path);
	while (d && rc == 0 && (de = readdir(d)) != NULL)
		if (de->d_name[0] != '.')
			rc = track_thread_name(
				t, p, (uint32_t)strtoul(de->d_name, NULL, 10), time, e);
	return rc;
}

static int track_maps(struct track *t, struct track_pid p, uint64_t time, struct err *e)
{
	CLEANUP_FCLOSE FILE *f = NULL;
	struct proc_map m = {.line = NULL};
	char path[32];
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%u/maps", p.own);
	f = fopen(path, "re");
	while (f && rc == 0 && proc_maps_next(f, &m)) {
		m.map.pid = p.pid;
		m.map.time = time;
		if (m.executable)
			rc = track_map(t, &m.map, m.name, &m.file, e);
	}
	free(m.line);
	return rc;
}

static int track_process(struct track *t, struct track_pid p, uint64_t time, struct err *e)
{
	struct image_process *process = image_process(&t->image, p.pid);

	if (!process)
		return err_set(e, ENOMEM, "no memory for process %u", p.own);
	if (track_flush(t, e) < 0)
		return -e->no;
	process->read_at = t->round;
	image_exec(&t->image, p.pid);
	if (track_thread_names(t, p, time, e) < 0 || track_maps(t, p, time, e) < 0)
		return -e->no;
	return 0;
}

/* The inode number of the initial PID namespace is fixed: PROC_PID_INIT_INO of the kernel. */
static bool track_in_initial_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == 0xEFFFFFFC;
}

int track_target(struct track *t, uint32_t own, uint32_t tid, struct err *e)
{
	struct track_pid p = {own, own};

	if (tid != own && !track_in_initial_namespace()) {
		t->foreign = true;
		p.pid = tid;
	}
	return track_process(t, p, 0, e);
}

int track_loss(struct track *t, enum data_loss kind, uint64_t count, uint32_t tid, const char *why,
	struct err *e)
{
	struct data_lost lost = {
		.time = nsec_now(CLOCK_MONOTONIC), .count = count, .kind = kind, .tid = tid};

	if (!count)
		return 0;
	t->losses = true;
	return data_put(t->out, DATA_LOST, &lost, offsetof(struct data_lost, why), why, e);
}

int track_source(struct track *t, const pfm_smpl_source_t *source, struct err *e)
{
	char info[64];

	if (source->precise == PFM_SMPL_UNKNOWN || t->precise & 1U << source->precise)
		return 0;
	t->precise |= 1U << source->precise;
	snprintf(info, sizeof(info), "addresses %s\nskew_ns %u\n",
		source->precise == PFM_SMPL_INTERRUPT ? "interrupt" : "poll", source->skew_ns);
	return data_put(t->out, DATA_INFO, NULL, 0, info, e);
}

int track_stack(struct track *t, uint32_t pid, uint64_t time, uint64_t ip, struct err *e)
{
	struct image_process *p = image_process(&t->image, pid);

	if (!p || (!t->foreign && track_keep_names(t, p, pid) < 0))
		return err_set(e, ENOMEM, "no memory for process %u", pid);
	if (!pid || t->foreign || p->read_at == t->round || (!ip && (p->maps.n || p->read_at)) ||
		(ip && image_find(&t->image, pid, ip)))
		return 0;
	return track_process(t, (struct track_pid){pid, pid}, time, e);
}

int track_sample(struct track *t, const struct data_sample *s, struct err *e)
{
	return track_stack(t, s->pid, s->time, s->ip[0] >> 63 ? 0 : s->ip[0], e);
}

/* --- A new file */

static void track_move_file(struct track *t, struct object *to, struct object *from)
{
	if (!to || !from || to->fd >= 0)
		return;
	image_set_file(&t->image, to, from->fd, &from->file);
	from->fd = -1;
}

static int track_renew_map(
	struct track *t, uint32_t pid, const struct image_map *map, struct err *e)
{
	struct object *o = map->object;
	struct data_map m = {
		.addr = map->addr,
		.len = map->len,
		.pgoff = map->pgoff,
		.pid = pid,
		.id_size = o->id_size,
	};

	memcpy(m.id, o->id, sizeof(m.id));
	if (image_add(&t->image, &m, o->path) < 0)
		return err_set(e, ENOMEM, "no memory for the mappings of process %u", pid);
	track_move_file(t, image_find_object(&t->image, o->path, o->id, o->id_size), o);
	return data_put(t->out, DATA_MAP, &m, offsetof(struct data_map, name), o->path, e);
}

/* Among processes that had the number @pid, the present one becomes the first. */
static int track_renew_process(struct track *t, const struct image *old, uint32_t pid,
	const struct image_process *from, struct err *e)
{
	struct image_process *p = image_process(&t->image, pid);
	int rc = p ? 0 : err_set(e, ENOMEM, "no memory for process %u", pid);

	for (size_t i = 0; rc == 0 && i < from->maps.n; i++)
		rc = track_renew_map(t, pid, &from->maps.all[i], e);
	if (rc < 0)
		return rc;
	p->read_at = from->read_at;
	p->makes_code = from->makes_code;
	if (p->makes_code)
		track_move_file(t, image_made(&t->image, pid, 0),
			image_find_made(old, pid, image_life(old, pid)));
	return 0;
}

/* Keeps the jitdumps of processes that have not ended. */
static int track_renew_dumps(struct track *t, const struct image *old, struct err *e)
{
	for (size_t i = 0; i < old->objects.nbuckets; i++)
		for (struct hash_node *n = old->objects.bucket[i]; n; n = n->next) {
			struct object *o = container_of(n, struct object, node), *new;

			if (!o->dump_of || image_has_exited(old, o->dump_of))
				continue;
			new = image_object(&t->image, o->path, o->id, o->id_size);
			if (!new)
				return err_set(e, ENOMEM, "no memory for %s", o->path);
			new->dump_of = o->dump_of;
			track_move_file(t, new, o);
		}
	return 0;
}

static int track_renew_names(struct track *t, struct err *e)
{
	for (size_t i = 0; i < t->names.nbuckets; i++)
		for (struct hash_node *n = t->names.bucket[i]; n; n = n->next) {
			const struct track_name *name = container_of(n, struct track_name, node);
			const struct data_comm c = {.pid = name->pid, .tid = (uint32_t)n->key};

			if (data_put(t->out, DATA_COMM, &c, offsetof(struct data_comm, name),
				    name->name, e) < 0)
				return -e->no;
		}
	return 0;
}

int track_renew(struct track *t, struct err *e)
{
	struct image old = t->image;
	int rc = image_init(&t->image) < 0 ? err_set(e, ENOMEM, "no memory") : 0;

	t->precise = 0;
	for (size_t i = 0; i < old.processes.nbuckets; i++)
		for (struct hash_node *n = old.processes.bucket[i]; rc == 0 && n; n = n->next)
			if (!image_has_exited(&old, (uint32_t)n->key))
				rc = track_renew_process(t, &old, (uint32_t)n->key,
					container_of(n, struct image_process, node), e);
	if (rc == 0)
		rc = track_renew_dumps(t, &old, e);
	t->files = track_most_files() - image_open_files(&t->image);
	image_free(&old);
	if (t->chains)
		chains_renew(t->chains);
	return rc < 0 ? rc : track_renew_names(t, e);
}

// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/recorder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "tools/pfm/samples/find_names.h"
#include "tools/pfm/text/digits.h"
#include "tools/pfm/text/progress.h"
#include "tools/pfm/tree/file.h"

enum {
	/* How often to look for children, and to drain buffers that are not full. The buffers for
	 * stacks are large, so that those of children that have ended are to be freed earlier. */
	RECORDER_ROUND_NS = 50000000,
	RECORDER_STACK_ROUND_NS = 10000000,
	RECORDER_EVENTS = 64,
	RECORDER_SHOW_NS = 1000000000,
};

static int recorder_watch(struct recorder *r, int fd, uint32_t events, void *what, struct err *e)
{
	struct epoll_event ev = {.events = events, .data.ptr = what};

	if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		return err_set(e, errno, "epoll: %s", err_name(errno));
	return 0;
}

static int recorder_open_timer(struct recorder *r, struct err *e)
{
	const struct timespec round = nsec_timespec(
		r->sampling->user_stack ? RECORDER_STACK_ROUND_NS : RECORDER_ROUND_NS);
	const struct itimerspec every = {round, round};

	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (r->epoll < 0 || r->timer < 0 || r->alarm < 0 ||
		timerfd_settime(r->timer, 0, &every, NULL) < 0)
		return err_set(e, errno, "no timer: %s", err_name(errno));
	if (recorder_watch(r, r->timer, EPOLLIN, &r->timer, e) < 0)
		return -e->no;
	return recorder_watch(r, r->alarm, EPOLLIN, &r->alarm, e);
}

static int recorder_create_in_memory(struct recorder *r, struct err *e)
{
	CLEANUP_CLOSE int fd = memfd_create("samples", MFD_CLOEXEC);

	return fd < 0 ? err_set(e, errno, "no memory for samples: %s", err_name(errno))
		      : data_create_in(&r->out, fd, e);
}

int recorder_open(struct recorder *r, const char *path, const struct sampling *sampling,
	const char *info, struct err *e)
{
	*r = (struct recorder){.sampling = sampling,
		.in_memory = !path,
		.out = {.fd = -1, .copy = -1},
		.epoll = -1,
		.timer = -1,
		.alarm = -1};
	if ((path ? data_create(&r->out, path, e) : recorder_create_in_memory(r, e)) < 0 ||
		track_init(&r->track, &r->out, e) < 0 ||
		(sampling->user_stack && chains_new(&r->track.chains, &r->out, e) < 0) ||
		recorder_open_timer(r, e) < 0 ||
		data_put(&r->out, DATA_INFO, NULL, 0, info, e) < 0) {
		recorder_close(r, false, &(struct err){0});
		return -e->no;
	}
	return 0;
}

int recorder_add_event(
	struct recorder *r, unsigned number, uint64_t code, const char *name, struct err *e)
{
	const struct sampled_event *from = &r->sampling->events[number];
	const struct data_event event = {
		.period = from->hz || r->sampling->waits ? 1 : from->period, .code = code};
	const struct data_rate rate = {.event = number, .hz = from->hz};

	if (data_put(&r->out, DATA_EVENT, &event, offsetof(struct data_event, name), name, e) < 0 ||
		(rate.hz && data_put(&r->out, DATA_RATE, &rate, sizeof(rate), NULL, e) < 0))
		return -e->no;
	return 0;
}

static int recorder_load(
	struct recorder *r, struct recorder_root *root, const char *load, struct err *e)
{
	if (source_open(&root->source, &root->ctx, r->sampling, e) < 0 ||
		ctx_command(&root->ctx, load, e) < 0)
		return -e->no;
	return recorder_watch(r, root->source.msg, EPOLLIN, &root->source, e);
}

/* Frees a root that has no children. */
static void recorder_discard(struct recorder_root *root)
{
	hash_free(&root->children);
	source_close(&root->source);
	ctx_close(&root->ctx);
	free(root);
}

int recorder_add(
	struct recorder *r, const struct tree *t, const char *load, uint32_t pid, struct err *e)
{
	struct recorder_root **roots =
		realloc(r->roots, (r->nroots + 1) * sizeof(struct recorder_root *));
	struct recorder_root *root = roots ? calloc(1, sizeof(*root)) : NULL;

	r->roots = roots ? roots : r->roots;
	if (!root || hash_init(&root->children) < 0) {
		free(root);
		return err_set(e, ENOMEM, "no memory for a context");
	}
	root->pid = pid;
	root->ctx = (struct tree_ctx)TREE_CTX_NONE;
	root->source = (struct source)SOURCE_NONE;
	r->roots[r->nroots++] = root;
	if (ctx_open(t, &root->ctx, e) == 0 && recorder_load(r, root, load, e) == 0)
		return 0;
	recorder_discard(root);
	r->nroots--;
	return -e->no;
}

/* Records the mappings of the root's process. */
static int recorder_add_mappings(
	struct recorder *r, const struct recorder_root *root, struct err *e)
{
	char state[128];
	unsigned tid;

	if (!root->pid)
		return 0;
	if (file_read_line(root->source.dir, "state", state, sizeof(state), e) < 0)
		return -e->no;
	return track_target(
		&r->track, root->pid, sscanf(state, "%*s tid=%u", &tid) == 1 ? tid : root->pid, e);
}

/* Starts a context. Its thread may have ended since it was loaded. */
static int recorder_start_root(struct recorder *r, struct recorder_root *root, struct err *e)
{
	struct err why;

	if (ctx_command(&root->ctx, "start", &why) == 0)
		return 0;
	if (source_handle(&root->source, &r->track, e) < 0)
		return -e->no;
	if (root->source.ended)
		return 0;
	*e = why;
	return -e->no;
}

static int recorder_set_alarm(struct recorder *r, uint64_t ns, struct err *e)
{
	const struct itimerspec once = {.it_value = nsec_timespec(ns)};

	return timerfd_settime(r->alarm, 0, &once, NULL) < 0
		       ? err_set(e, errno, "no timer: %s", err_name(errno))
		       : 0;
}

/* Records the time at which sampling begins in this file. */
static int recorder_put_start(struct recorder *r, uint64_t now, struct err *e)
{
	char info[160], delay[48] = "";

	if (r->delay_ns && now == r->begun_ns)
		snprintf(delay, sizeof(delay), "delay_ns %" PRIu64 "\n", r->delay_ns);
	snprintf(info, sizeof(info), "start_ns %" PRIu64 "\nstart_realtime_ns %" PRIu64 "\n%s", now,
		nsec_now(CLOCK_REALTIME), delay);
	r->file_ns = now;
	return data_put(&r->out, DATA_INFO, NULL, 0, info, e);
}

static struct recorder_child *recorder_find_child(
	const struct recorder_root *root, const char *name)
{
	for (struct hash_node *n = hash_find(&root->children, hash_string(name)); n;
		n = hash_find_next(n)) {
		struct recorder_child *c = container_of(n, struct recorder_child, node);

		if (strcmp(c->source.name, name) == 0)
			return c;
	}
	return NULL;
}

/* Adds a child. A child that its user has removed meanwhile is skipped. */
static int recorder_add_child(
	struct recorder *r, struct recorder_root *root, const char *name, struct err *e)
{
	struct recorder_child *c;
	int rc;

	if (recorder_find_child(root, name))
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(e, ENOMEM, "no memory for a thread");
	rc = source_open_child(&c->source, root->source.dir, name, r->sampling, e);
	if (rc == 0) {
		hash_add(&root->children, &c->node, hash_string(name));
		return recorder_watch(r, c->source.msg, EPOLLIN, &c->source, e);
	}
	free(c);
	return rc == -ENOENT || rc == -ENODEV ? 0 : rc;
}

static int recorder_find_children(struct recorder *r, struct recorder_root *root, struct err *e)
{
	CLEANUP_CLOSEDIR DIR *d = NULL;
	int fd = openat(root->source.dir, "children", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *de;
	int rc = 0;

	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return file_sentence(root->source.dir, "children", errno, e);
	while (rc == 0 && (de = readdir(d)) != NULL)
		if (de->d_name[0] != '.')
			rc = recorder_add_child(r, root, de->d_name, e);
	return rc;
}

/* Calls @each for all sources. */
static int recorder_each(struct recorder *r,
	int (*each)(struct recorder *r, struct source *s, struct err *e), struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < r->nroots; i++) {
		struct hash *children = &r->roots[i]->children;

		rc = each(r, &r->roots[i]->source, e);
		for (size_t b = 0; b < children->nbuckets; b++)
			for (struct hash_node *n = children->bucket[b]; rc == 0 && n; n = n->next)
				rc = each(r, &container_of(n, struct recorder_child, node)->source,
					e);
	}
	return rc;
}

static int recorder_begin_wait(struct recorder *r, struct source *s, struct err *e)
{
	(void)e;
	s->wait.begun = r->begun_ns;
	return 0;
}

/* Tells the sources of all threads that are there that they may wait already. */
static int recorder_begin_waits(struct recorder *r, struct err *e)
{
	if (!r->sampling->waits || !r->attached)
		return 0;
	for (unsigned i = 0; i < r->nroots; i++)
		if (recorder_find_children(r, r->roots[i], e) < 0)
			return -e->no;
	return recorder_each(r, recorder_begin_wait, e);
}

/* Begins to sample. A context that is loaded but not started reports no mappings, so those of the
 * delay are read here. */
static int recorder_begin(struct recorder *r, struct err *e)
{
	for (unsigned i = 0; i < r->nroots; i++)
		if (recorder_add_mappings(r, r->roots[i], e) < 0)
			return -e->no;
	r->begun_ns = r->shown_ns = nsec_now(CLOCK_MONOTONIC);
	if (recorder_put_start(r, r->begun_ns, e) < 0)
		return -e->no;
	if (recorder_begin_waits(r, e) < 0)
		return -e->no;
	for (unsigned i = 0; i < r->nroots; i++)
		if (recorder_start_root(r, r->roots[i], e) < 0)
			return -e->no;
	return r->duration_ns ? recorder_set_alarm(r, r->duration_ns, e) : 0;
}

/* Creates the file. What has been put so far is the head of each piece. */
static int recorder_create(struct recorder *r, struct err *e)
{
	if (r->pieces || r->in_memory)
		text_append(&r->head, r->out.buf + sizeof(struct data_head),
			r->out.n - sizeof(struct data_head));
	if (!text_ok(&r->head))
		return err_set(e, ENOMEM, "no memory");
	if (data_flush(&r->out, e) < 0)
		return -e->no;
	if (r->pieces)
		pieces_created(r->pieces, r->out.fd);
	r->head_bytes = r->out.written;
	return 0;
}

int recorder_start(struct recorder *r, struct err *e)
{
	if (recorder_create(r, e) < 0)
		return -e->no;
	return r->delay_ns ? recorder_set_alarm(r, r->delay_ns, e) : recorder_begin(r, e);
}

/* Removes an ended child, which would use up the user's contexts and buffers. Its messages are not
 * polled any more: closing them is not sufficient while the process that completes a piece has the
 * descriptor. */
static void recorder_remove_child(
	struct recorder *r, struct recorder_root *root, struct recorder_child *c)
{
	char path[SOURCE_NAME + 16];

	(void)epoll_ctl(r->epoll, EPOLL_CTL_DEL, c->source.msg, NULL);
	snprintf(path, sizeof(path), "children/%s", c->source.name);
	source_close(&c->source);
	if (root->source.dir >= 0)
		(void)unlinkat(root->source.dir, path, AT_REMOVEDIR);
	hash_remove(&root->children, &c->node);
	free(c);
}

/* Drains a source. Messages wake the recorder, except at the end, when those are handled that
 * arrived after the last wakeup. */
static int recorder_take(struct recorder *r, struct source *s, struct err *e)
{
	if (r->stopping)
		return source_handle(s, &r->track, e);
	if (source_drain(s, &r->track, e) < 0)
		return -e->no;
	return source_adapt(s, &r->track, e);
}

static int recorder_take_children(struct recorder *r, struct recorder_root *root, struct err *e)
{
	for (size_t i = 0; i < root->children.nbuckets; i++)
		for (struct hash_node *n = root->children.bucket[i], *next; n; n = next) {
			struct recorder_child *c = container_of(n, struct recorder_child, node);

			next = n->next;
			if (recorder_take(r, &c->source, e) < 0)
				return -e->no;
			if (c->source.ended)
				recorder_remove_child(r, root, c);
		}
	return 0;
}

/* Takes what is in all buffers. */
static int recorder_take_all(struct recorder *r, struct err *e)
{
	track_round(&r->track);
	for (unsigned i = 0; i < r->nroots; i++) {
		struct recorder_root *root = r->roots[i];

		if (root->pid && (recorder_find_children(r, root, e) < 0 ||
					 recorder_take_children(r, root, e) < 0))
			return -e->no;
		if (recorder_take(r, &root->source, e) < 0)
			return -e->no;
	}
	return data_flush(&r->out, e);
}

static int recorder_find_names(struct recorder *r, struct err *e)
{
	struct data_file written;
	struct err why = {0};

	if (data_flush(&r->out, e) < 0 || data_reread(&r->out, &written, e) < 0)
		return -e->no;
	if (find_names_into(&written, &r->track.image, &r->out, &why) == 0)
		return 0;
	if (track_loss(&r->track, DATA_LOST_NAMES, 1, 0, why.text, e) == 0)
		*e = why;
	return -e->no;
}

/* Completes a file. A recording without names is still a recording. */
static int recorder_complete(struct recorder *r, struct err *e)
{
	const struct data_end end = {r->stopped_ns};
	struct err why = {0};

	if (r->track.chains && chains_end(r->track.chains, e) < 0)
		return -e->no;
	if (!r->no_names && recorder_find_names(r, &why) < 0 && !r->in_memory)
		fprintf(stderr, "pfm record: addresses without names: %s\n", why.text);
	return data_put(&r->out, DATA_END, &end, sizeof(end), NULL, e);
}

/* Completes a piece, in a process of its own, which Ctrl-C in the terminal does not end, and a
 * sentence there does not stop, as one from the background may. Returns the exit status. */
static int recorder_complete_piece(struct recorder *r)
{
	struct err e = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	signal(SIGTTOU, SIG_IGN);
	if (recorder_complete(r, &e) < 0)
		return e.no;
	return data_close(&r->out, &e) < 0 ? e.no : 0;
}

/* Begins what has just been created, with what is known of the processes. */
static int recorder_go_on(struct recorder *r, struct err *e)
{
	if (data_put_records(&r->out, r->head.p, r->head.n, e) < 0 ||
		recorder_put_start(r, r->stopped_ns, e) < 0 || track_renew(&r->track, e) < 0)
		return -e->no;
	return data_flush(&r->out, e);
}

static int recorder_begin_piece(struct recorder *r, struct err *e)
{
	if (pieces_next(r->pieces, e) < 0 || data_create(&r->out, r->pieces->path, e) < 0 ||
		recorder_go_on(r, e) < 0)
		return -e->no;
	pieces_created(r->pieces, r->out.fd);
	return 0;
}

/* Ends the present piece if it is large or old enough, and the names of the previous one are
 * stored. */
static int recorder_rotate(struct recorder *r, struct err *e)
{
	struct pieces *p = r->pieces;
	uint64_t now = nsec_now(CLOCK_MONOTONIC);
	int rc = pieces_completed(p, false, e);

	if (rc <= 0 || !r->begun_ns ||
		!((p->bytes && r->out.written - r->head_bytes >= p->bytes) ||
			(p->ns && now - r->file_ns >= p->ns)))
		return rc < 0 ? rc : 0;
	r->stopped_ns = now;
	p->finisher = fork();
	if (p->finisher < 0) {
		p->finisher = 0;
		return err_set(e, errno, "no process to complete a piece: %s", err_name(errno));
	}
	if (p->finisher == 0)
		_exit(recorder_complete_piece(r));
	return data_close(&r->out, e) < 0 ? -e->no : recorder_begin_piece(r, e);
}

int recorder_cut(struct recorder *r, struct data_file *f, struct err *e)
{
	if (recorder_take_all(r, e) < 0)
		return -e->no;
	r->stopped_ns = nsec_now(CLOCK_MONOTONIC);
	if (recorder_complete(r, e) < 0 || data_flush(&r->out, e) < 0 ||
		data_reread(&r->out, f, e) < 0)
		return -e->no;
	if (data_close(&r->out, e) < 0 || recorder_create_in_memory(r, e) < 0 ||
		recorder_go_on(r, e) < 0) {
		data_unload(f);
		return -e->no;
	}
	return 0;
}

static int recorder_round(struct recorder *r, struct err *e)
{
	if (recorder_take_all(r, e) < 0)
		return -e->no;
	return r->pieces && !r->stopping ? recorder_rotate(r, e) : 0;
}

static void recorder_show_progress(struct recorder *r)
{
	uint64_t now = nsec_now(CLOCK_MONOTONIC);
	char samples[DIGITS_ROOM];

	if (!r->progress || !r->begun_ns || now - r->shown_ns < RECORDER_SHOW_NS)
		return;
	r->shown_ns = now;
	progress_show("%" PRIu64 " s, %s samples%s; Ctrl-C ends",
		(uint64_t)((now - r->begun_ns) / NSEC_PER_SEC),
		digits_grouped(samples, r->track.samples), r->track.losses ? ", some lost" : "");
}

static bool recorder_has_ended(const struct recorder *r)
{
	for (unsigned i = 0; i < r->nroots; i++)
		if (!r->roots[i]->source.ended || r->roots[i]->children.n)
			return false;
	return true;
}

static int recorder_event(struct recorder *r, void *what, int *signals, int *wait, struct err *e)
{
	uint64_t times;

	if (what == signals)
		return RECORDER_SIGNALLED;
	if (what == wait)
		return RECORDER_WAITED;
	if (what == &r->alarm && r->begun_ns)
		return RECORDER_ELAPSED;
	if (what == &r->alarm)
		return read(r->alarm, &times, sizeof(times)) < 0 ? 0 : recorder_begin(r, e);
	if (what != &r->timer)
		return source_handle(what, &r->track, e);
	if (read(r->timer, &times, sizeof(times)) < 0)
		return 0;
	recorder_show_progress(r);
	return recorder_round(r, e);
}

int recorder_run(struct recorder *r, int signals, int wait, struct err *e)
{
	struct epoll_event ready[RECORDER_EVENTS];
	int rc = recorder_watch(r, signals, EPOLLIN, &signals, e);

	if (rc == 0 && wait >= 0)
		rc = recorder_watch(r, wait, EPOLLIN, &wait, e);
	while (rc == 0) {
		int n = epoll_wait(r->epoll, ready, 1, -1);

		if (n == 1)
			rc = recorder_event(r, ready[0].data.ptr, &signals, &wait, e);
		else if (n < 0 && errno != EINTR)
			rc = err_set(e, errno, "epoll: %s", err_name(errno));
		if (rc == 0 && recorder_has_ended(r))
			rc = RECORDER_ENDED;
	}
	progress_clear();
	return rc;
}

int recorder_poll(struct recorder *r, struct err *e)
{
	struct epoll_event ready;
	int rc = 0, none;

	for (int i = 0; rc == 0 && i < RECORDER_EVENTS && epoll_wait(r->epoll, &ready, 1, 0) == 1;
		i++)
		rc = recorder_event(r, ready.data.ptr, &none, &none, e);
	return rc == 0 && recorder_has_ended(r) ? RECORDER_ENDED : rc;
}

/* Stops a context. stop fails for one whose thread has ended. */
static int recorder_stop_source(struct recorder *r, struct source *s, struct err *e)
{
	struct err ignored;

	(void)r, (void)e;
	(void)file_write(s->dir, "ctl", "stop", &ignored);
	return 0;
}

static int recorder_end_wait(struct recorder *r, struct source *s, struct err *e)
{
	return source_end_wait(s, &r->track, e);
}

/* Records that threads could not be followed: the context's sentence has the reason. */
static int recorder_note_failures(struct recorder *r, struct err *e)
{
	for (unsigned i = 0; i < r->nroots; i++) {
		struct tree_ctx *ctx = &r->roots[i]->ctx;
		struct text total = {0};
		struct err why = {0};
		int rc = r->roots[i]->pid ? file_read(ctx->dir, "total", &total, &why) : 0;

		text_free(&total);
		if (rc < 0 && track_loss(&r->track, DATA_LOST_THREAD, 1, 0, why.text, e) < 0)
			return -e->no;
	}
	return 0;
}

int recorder_stop(struct recorder *r, struct err *e)
{
	r->stopping = true;
	if (recorder_round(r, e) < 0)
		return -e->no;
	recorder_each(r, recorder_stop_source, e);
	r->stopped_ns = r->track.until = nsec_now(CLOCK_MONOTONIC);
	if (recorder_round(r, e) < 0 || recorder_each(r, recorder_end_wait, e) < 0 ||
		(r->track.chains && chains_flush(r->track.chains, e) < 0))
		return -e->no;
	return recorder_note_failures(r, e);
}

static void recorder_free_root(struct recorder *r, struct recorder_root *root)
{
	for (size_t i = 0; i < root->children.nbuckets; i++)
		while (root->children.bucket[i])
			recorder_remove_child(r, root,
				container_of(
					root->children.bucket[i], struct recorder_child, node));
	recorder_discard(root);
}

int recorder_close(struct recorder *r, bool ended, struct err *e)
{
	int rc = 0;

	if (ended && r->pieces && pieces_completed(r->pieces, true, e) < 0)
		rc = -e->no;
	/* If that fails, closing the file fails for the same reason. */
	if (ended)
		(void)recorder_complete(r, &(struct err){0});
	for (unsigned i = 0; i < r->nroots; i++)
		recorder_free_root(r, r->roots[i]);
	free(r->roots);
	track_free(&r->track);
	if (r->timer >= 0)
		close(r->timer);
	if (r->alarm >= 0)
		close(r->alarm);
	if (r->epoll >= 0)
		close(r->epoll);
	text_free(&r->head);
	return data_close(&r->out, rc < 0 ? &(struct err){0} : e) < 0 && rc == 0 ? -e->no : rc;
}

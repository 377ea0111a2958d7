// SPDX-License-Identifier: MIT
/* What workers, carriers and surveys tell the session thread. */
#include <errno.h>
#include <unistd.h>

#include "daemon/cpu/engine_i.h"

/* It is the session thread's again. */
static void moved_out(struct engine *eng, struct tenant *t)
{
	bool over = t->doomed; /* by a command that has been carried out, or has bounced */

	if (!engine_submit_bounced(eng, t) && over)
		t->gone(t);
	engine_submit_waiting(eng);
}

/*
 * Something that was in flight has arrived here. If it was the last, the tenant is unloaded and
 * taken back from its worker, which then has nothing left to do.
 */
static void move_out(struct engine *eng, struct tenant *t)
{
	struct tenant **at = &eng->loaded;

	if (atomic_fetch_sub(&t->inflight, 1) != 1)
		return; /* what is still in the mail brings the news again */
	if (t->rider) {
		tracker_unloaded(eng->tracker, t);
		moved_out(eng, t);
		return;
	}
	while (*at != t)
		at = &(*at)->loaded_next;
	*at = t->loaded_next;
	eng->watched -= atomic_load(&t->watched);
	eng->expected -= t->expects;
	t->expects = 0;
	worker_retire(t->home);
	eng->expected++; /* that it is gone */
	t->home = NULL;
	moved_out(eng, t);
}

static void job_news(struct engine *eng, struct job *job)
{
	if (!job->tracked)
		eng->expected--;
	if (!job->bounced) {
		/* Only the load that a worker was made for leaves its tenant unloaded if it fails.
		 */
		if (job->cmd.verb == CMD_LOAD && job->tenant->expects &&
			(job->rc == 0 || !job->initial)) {
			job->tenant->expects--;
			eng->expected--;
		}
		job->done(job);
		return;
	}
	queue_put(&job->tenant->bounced, &job->link);
	move_out(eng, job->tenant);
}

static void happened(struct tenant *t)
{
	/* First, so that what happens from now on is told again. */
	atomic_store(&t->told, false);
	t->event(t);
}

bool engine_expects_news(const struct engine *eng)
{
	return eng->expected || eng->watched || tracker_expects_news(eng->tracker);
}

static void take_track_news(struct tracker *tk, struct track_news *n)
{
	n->take(tk, n);
}

void engine_news(struct engine *eng)
{
	struct link *l;
	uint64_t n = 0;

	if (queue_empty(&eng->box.queue) && !eng->owed)
		return;
	/* A sender puts its news first, then writes 1: that may be still to come. If it were left
	 * unread, the box would stay readable with nothing in it. */
	if (read(eng->box.fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return;
	eng->owed -= n;
	l = queue_take(&eng->box.queue);
	while (l) {
		struct news *news = link_entry(l, struct news, link);

		l = l->next;
		eng->owed++;
		switch (news->kind) {
		case NEWS_JOB:
			job_news(eng, link_entry(news, struct job, news));
			break;
		case NEWS_UNLOADED:
			move_out(eng, link_entry(news, struct tenant, news));
			break;
		case NEWS_HAPPENED:
			happened(link_entry(news, struct tenant, happened));
			break;
		case NEWS_WORKER_GONE:
			worker_free(worker_of_news(news));
			eng->stats.workers--;
			eng->expected--;
			break;
		case NEWS_SURVEY:
			eng->expected--;
			survey_news(news);
			break;
		case NEWS_TRACK:
			take_track_news(eng->tracker, link_entry(news, struct track_news, news));
			break;
		}
	}
}

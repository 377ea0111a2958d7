// SPDX-License-Identifier: MIT
#include "daemon/cpu/survey.h"

#include <pthread.h>
#include <stdlib.h>

#include "daemon/cpu/engine_i.h"
#include "daemon/cpu/thread.h"

struct waiter {
	survey_after *after;
	void *arg;
	struct waiter *next;
};

struct survey {
	struct news news;
	struct engine *eng;
	struct backend *be;
	pthread_t thread;
	struct waiter *waiters; /* the session thread's */
	unsigned n;
	struct survey_cpu cpu[];
};

static void look_at_cpu(struct backend *be, unsigned cpu, struct survey_cpu *s)
{
	const struct pmu *pmu = be->pmu;
	struct reg_op ops[PMU_MAX_PMCS];
	struct backend_cpu *regs;

	if (be->ops->cpu_open(be, cpu, &regs, &s->err) < 0)
		return;
	for (unsigned p = 0; p < pmu->npmcs; p++)
		ops[p] = (struct reg_op){.addr = pmu->pmcs[p].addr, .verb = REG_READ};
	if (be->ops->run(regs, ops, pmu->npmcs, &s->err) == pmu->npmcs) {
		s->err.no = 0;
		for (unsigned p = 0; p < pmu->npmcs; p++) {
			s->value[p] = ops[p].value;
			if (ops[p].value & pmu->pmcs[p].enable)
				s->held |= ROW(p);
		}
	}
	be->ops->cpu_close(regs);
}

static void *survey_main(void *arg)
{
	struct survey *s = arg;

	for (unsigned cpu = 0; cpu < s->n; cpu++) {
		s->cpu[cpu].online = s->be->ops->cpu_online(s->be, cpu);
		if (s->cpu[cpu].online && !s->cpu[cpu].ours)
			look_at_cpu(s->be, cpu, &s->cpu[cpu]);
	}
	news_send(&s->eng->box, &s->news);
	return NULL;
}

static void answer(struct waiter *w, const struct survey_cpu *cpus, unsigned n)
{
	while (w) {
		struct waiter *next = w->next;

		w->after(w->arg, cpus, n);
		free(w);
		w = next;
	}
}

void survey_news(struct news *news)
{
	struct survey *s = link_entry(news, struct survey, news);

	pthread_join(s->thread, NULL);
	s->eng->survey = NULL;
	answer(s->waiters, s->cpu, s->n);
	free(s);
}

static struct survey *survey_start(struct engine *eng)
{
	struct backend *be = eng->be;
	unsigned n = be->ops->cpu_limit(be);
	struct survey *s = calloc(1, sizeof(*s) + n * sizeof(s->cpu[0]));

	if (!s)
		return NULL;
	s->news.kind = NEWS_SURVEY;
	s->eng = eng;
	s->be = be;
	s->n = n;
	for (unsigned cpu = 0; cpu < n; cpu++)
		s->cpu[cpu].ours = engine_owner(eng, cpu) || engine_carries(eng, cpu);
	if (thread_start(&s->thread, survey_main, s)) {
		free(s);
		return NULL;
	}
	eng->expected++;
	return s;
}

void engine_survey(struct engine *eng, survey_after *after, void *arg)
{
	struct waiter *w = calloc(1, sizeof(*w));

	if (w && !eng->survey)
		eng->survey = survey_start(eng);
	if (!w || !eng->survey) {
		free(w);
		after(arg, NULL, 0);
		return;
	}
	*w = (struct waiter){.after = after, .arg = arg, .next = eng->survey->waiters};
	eng->survey->waiters = w;
}

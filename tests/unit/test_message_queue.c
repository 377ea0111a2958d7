// SPDX-License-Identifier: MIT
/* The message queue: against an array in one thread, and between two. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "daemon/core/message_queue.h"
#include "tests/unit/unit.h"

enum { STEPS = 1000000, STRESS = 2000000, RESET_EVERY = 97, DEEP = 77 };

/* Each word tells the number, so that a torn message shows. */
static struct pfm_msg message(uint64_t n)
{
	struct pfm_msg m = {.type = PFM_MSG_OVFL, .pid = (uint32_t)n, .cpu = (uint16_t)n, .ip = n};

	m.set = (uint16_t)~n;
	m.tid = (uint32_t)~n;
	for (unsigned i = 0; i < PFM_MSG_BV; i++)
		m.pmds[i] = n * (i + 3);
	return m;
}

static bool message_is(const struct pfm_msg *m, uint64_t n)
{
	struct pfm_msg want = message(n);

	return memcmp(m, &want, sizeof(want)) == 0;
}

/* ---- Against an array. */

struct model {
	struct messages q;
	unsigned depth;
	struct pfm_msg msg[DEEP + 2];
	unsigned n, published;
	uint64_t lost;           /* since the last message, published or not */
	uint64_t lost_published; /* of these */
	uint64_t number;
};

static void model_append(struct model *m, const struct pfm_msg *msg)
{
	if (m->lost)
		m->msg[m->n++] = (struct pfm_msg){.type = PFM_MSG_LOST, .count = m->lost};
	m->lost = m->lost_published = 0;
	m->msg[m->n++] = *msg;
}

static void model_publish(struct model *m)
{
	bool fresh = m->n != m->published || m->lost != m->lost_published;

	assert_int_equal(messages_publish(&m->q), fresh);
	m->published = m->n;
	m->lost_published = m->lost;
}

static void model_reset(struct model *m)
{
	messages_reset(&m->q);
	m->n = m->published = 0;
	m->lost = m->lost_published = 0;
}

/* A loss is told when no message before it is left. */
static void model_take(struct model *m, unsigned max)
{
	struct pfm_msg msg[DEEP + 3];
	unsigned want = max < m->published ? max : m->published;
	bool loss = want == m->published && want < max && m->lost_published;

	assert_int_equal(messages_count(&m->q), m->published + (m->lost_published ? 1 : 0));
	assert_int_equal(messages_take(&m->q, msg, max), want + loss);
	assert_memory_equal(msg, m->msg, want * sizeof(msg[0]));
	if (loss) {
		assert_int_equal(msg[want].type, PFM_MSG_LOST);
		assert_int_equal(msg[want].count, m->lost_published);
		m->lost -= m->lost_published;
		m->lost_published = 0;
	}
	m->n -= want;
	m->published -= want;
	memmove(m->msg, m->msg + want, m->n * sizeof(msg[0]));
}

static void model_put(struct model *m)
{
	struct pfm_msg msg = message(m->number++);
	unsigned need = m->lost ? 2 : 1;

	if (m->n + need > m->depth) {
		assert_false(messages_put(&m->q, &msg));
		m->lost++;
		return;
	}
	assert_true(messages_put(&m->q, &msg));
	model_append(m, &msg);
}

/* The last message has room always, and a reset follows. */
static void model_put_last(struct model *m)
{
	struct pfm_msg msg = message(m->number++);

	messages_put_last(&m->q, &msg);
	model_append(m, &msg);
	model_publish(m);
	while (m->published || m->lost)
		model_take(m, 7);
	model_reset(m);
}

static void model_step(struct model *m, uint64_t *rnd)
{
	unsigned what = below(rnd, 100);

	if (what < 50) {
		model_put(m);
	} else if (what < 75) {
		model_publish(m);
	} else if (what < 98) {
		model_take(m, below(rnd, below(rnd, 8) ? 4 : DEEP + 2));
	} else if (what < 99) {
		model_put_last(m);
	} else {
		model_reset(m);
	}
}

/* @want: the depth that a format asks for. */
static void against_array(unsigned want, unsigned depth)
{
	struct model m = {.depth = depth};
	uint64_t rnd = want;

	assert_int_equal(messages_allocate(&m.q, want), 0);
	for (unsigned i = 0; i < STEPS; i++)
		model_step(&m, &rnd);
	messages_free(&m.q);
}

TEST(array)
{
	against_array(0, MESSAGES_DEPTH);
	against_array(DEEP, DEEP);
}

/* Before the first load there is no memory, and there are no messages. */
TEST(never_loaded)
{
	struct messages q = {0};
	struct pfm_msg msg;

	assert_int_equal(messages_count(&q), 0);
	assert_int_equal(messages_take(&q, &msg, 1), 0);
	assert_false(messages_publish(&q));
	messages_free(&q);
}

/* A message that was not published is dropped like the others. */
TEST(reset)
{
	struct messages q = {0};
	struct pfm_msg msg = message(1), got[MESSAGES_DEPTH];

	assert_int_equal(messages_allocate(&q, 0), 0);
	for (unsigned i = 0; i < MESSAGES_DEPTH + 5; i++) {
		messages_put(&q, &msg);
		if (i < 7)
			messages_publish(&q);
	}
	messages_reset(&q);
	assert_int_equal(messages_count(&q), 0);
	messages_publish(&q);
	assert_int_equal(messages_take(&q, got, MESSAGES_DEPTH), 0);
	/* All of its room is free, and nothing is said about earlier losses. */
	for (unsigned i = 0; i < MESSAGES_DEPTH; i++) {
		msg = message(i);
		assert_true(messages_put(&q, &msg));
	}
	assert_false(messages_put(&q, &msg));
	messages_publish(&q);
	assert_int_equal(messages_take(&q, got, MESSAGES_DEPTH), MESSAGES_DEPTH);
	for (unsigned i = 0; i < MESSAGES_DEPTH; i++)
		assert_true(message_is(&got[i], i));
	messages_free(&q);
}

/* ---- Between two threads. */

struct stress {
	struct messages q;
	/* The number of the first message after the last reset. */
	_Atomic uint64_t valid;
	atomic_bool done;
	_Atomic uint64_t taken;
	bool resets;
	uint64_t put, made;
};

/* Enough were made, and enough of them taken: how many, the scheduler decides. */
static bool is_over(const struct stress *s)
{
	return s->made >= STRESS && atomic_load(&s->taken) > STRESS / 100;
}

static void *produce(void *arg)
{
	struct stress *s = arg;
	uint64_t rnd = 1, lost = 0;

	for (; !is_over(s); s->made++) {
		struct pfm_msg m = message(s->made);

		if (s->resets && below(&rnd, RESET_EVERY) == 0) {
			messages_reset(&s->q);
			atomic_store(&s->valid, s->made);
			lost = 0;
		}
		if (messages_put(&s->q, &m)) {
			s->put++;
			lost = 0;
		} else if (++lost % 64 == 0) {
			sched_yield();
		}
		if (below(&rnd, 3) == 0)
			messages_publish(&s->q);
	}
	messages_publish(&s->q);
	atomic_store(&s->done, true);
	return NULL;
}

struct consumer {
	uint64_t next; /* The number that is expected; with resets, the lowest. */
	uint64_t taken, lost, torn, wrong, late;
};

/* @valid: messages before this number were dropped before @m was taken. */
static void consume(
	struct consumer *c, const struct stress *s, const struct pfm_msg *m, uint64_t valid)
{
	if (m->type == PFM_MSG_LOST) {
		c->lost += m->count;
		c->next += m->count;
		return;
	}
	c->torn += !message_is(m, m->ip);
	c->late += m->ip < valid;
	c->wrong += s->resets ? m->ip < c->next : m->ip != c->next;
	c->next = m->ip + 1;
	c->taken++;
}

static void stress(bool resets)
{
	struct stress s = {.resets = resets};
	struct consumer c = {0};
	uint64_t rnd = 2;
	pthread_t producer;
	bool done;

	assert_int_equal(messages_allocate(&s.q, 0), 0);
	assert_int_equal(pthread_create(&producer, NULL, produce, &s), 0);
	do {
		struct pfm_msg msg[MESSAGES_DEPTH];
		uint64_t valid = atomic_load(&s.valid);
		unsigned n;

		done = atomic_load(&s.done);
		n = messages_take(&s.q, msg, 1 + below(&rnd, MESSAGES_DEPTH));
		for (unsigned i = 0; i < n; i++)
			consume(&c, &s, &msg[i], valid);
		atomic_store(&s.taken, c.taken);
		if (!n)
			sched_yield();
	} while (!done || messages_count(&s.q));
	pthread_join(producer, NULL);
	print_message("# %llu of %llu messages taken, %llu lost\n", (unsigned long long)c.taken,
		(unsigned long long)s.made, (unsigned long long)c.lost);
	assert_int_equal(c.torn, 0);
	assert_int_equal(c.late, 0);
	assert_int_equal(c.wrong, 0);
	if (!resets) {
		assert_int_equal(c.taken, s.put);
		assert_int_equal(c.taken + c.lost, s.made);
	}
	messages_free(&s.q);
}

TEST(stress)
{
	stress(false);
}

TEST(stress_resets)
{
	stress(true);
}

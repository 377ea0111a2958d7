// SPDX-License-Identifier: MIT
/* base/list.h and base/hash.h, each against an array. */
#include "base/hash.h"
#include "base/list.h"
#include "tests/unit/unit.h"

enum { ENTRIES = 1000, STEPS = 20000 };

struct entry {
	struct list_head link;
	struct hash_node node;
	int at; /* its place in the array; -1: it is on no list */
};

static unsigned rnd(unsigned *state, unsigned limit)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % limit;
}

static void same_order(struct list_head *list, struct entry *const *model, int n)
{
	struct entry *e;
	int i = 0;

	list_for_each_entry (e, list, link) {
		assert_true(i < n);
		assert_ptr_equal(e, model[i++]);
	}
	assert_int_equal(i, n);
	assert_int_equal(list_empty(list), n == 0);
	assert_ptr_equal(list_first_entry_or_null(list, struct entry, link), n ? model[0] : NULL);
}

TEST(list)
{
	static struct entry all[20];
	struct entry *model[20], *e, *following;
	struct list_head list;
	unsigned seed = 1;
	int n = 0;

	list_init(&list);
	for (int i = 0; i < 20; i++)
		list_init(&all[i].link);
	for (int step = 0; step < STEPS; step++) {
		int k;

		e = &all[rnd(&seed, 20)];
		for (k = 0; k < n && model[k] != e; k++)
			;
		if (k < n) {
			list_del(&e->link);
			assert_true(list_empty(&e->link));
			for (n--; k < n; k++)
				model[k] = model[k + 1];
		} else if (rnd(&seed, 2)) {
			list_add_tail(&e->link, &list);
			model[n++] = e;
		} else {
			list_add(&e->link, &list);
			for (k = n++; k > 0; k--)
				model[k] = model[k - 1];
			model[0] = e;
		}
		same_order(&list, model, n);
	}
	list_for_each_entry_safe (e, following, &list, link) {
		list_del(&e->link);
	}
	same_order(&list, model, 0);
	list_del(&all[0].link); /* of one that is on no list, nothing changes */
	same_order(&list, model, 0);
}

/* How often @key is found, and that each found entry has it. */
static int occurrences(const struct hash *h, uint64_t key)
{
	int n = 0;

	for (struct hash_node *node = hash_find(h, key); node; node = hash_find_next(node)) {
		assert_int_equal(node->key, key);
		assert_true(container_of(node, struct entry, node)->at >= 0);
		n++;
	}
	return n;
}

TEST(hash)
{
	static struct entry all[ENTRIES];
	static int count[100];
	struct hash h;
	unsigned seed = 2;
	size_t n = 0;

	assert_int_equal(hash_init(&h), 0);
	for (int i = 0; i < ENTRIES; i++)
		all[i].at = -1;
	for (int step = 0; step < STEPS; step++) {
		struct entry *e = &all[rnd(&seed, ENTRIES)];
		uint64_t key = rnd(&seed, 100);

		if (e->at >= 0) {
			hash_remove(&h, &e->node);
			count[e->at]--;
			e->at = -1;
			n--;
		} else {
			e->at = (int)key;
			hash_add(&h, &e->node, key << 12);
			count[key]++;
			n++;
		}
		assert_int_equal(h.n, n);
		assert_int_equal(occurrences(&h, key << 12), count[key]);
		assert_null(hash_find(&h, key << 12 | 1));
	}
	assert_true(h.nbuckets > 64); /* it has grown */
	hash_free(&h);
	assert_null(hash_find(&h, 0));
}

/* The longest of the chains. A random order has longer ones once in 10^15 times. */
enum { CHAIN_MAX = 24 };

static unsigned longest_chain(const struct hash *h)
{
	unsigned longest = 0;

	for (size_t b = 0; b < h->nbuckets; b++) {
		unsigned length = 0;

		for (struct hash_node *node = h->bucket[b]; node; node = node->next)
			length++;
		longest = length > longest ? length : longest;
	}
	return longest;
}

static uint64_t aligned(unsigned i)
{
	return 4096ULL * i;
}

static uint64_t high(unsigned i)
{
	return (uint64_t)i << 52;
}

/* Fibonacci hashing, (key * 0x9e3779b97f4a7c15 >> 32) % n, gives them one bucket. */
static uint64_t hostile(unsigned i)
{
	return ((uint64_t)i << 52) * 0xf1de83e19937733dULL;
}

TEST(spread)
{
	static uint64_t (*const keys[])(unsigned i) = {aligned, high, hostile};
	static struct entry all[ENTRIES];

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		struct hash h;

		assert_int_equal(hash_init(&h), 0);
		for (unsigned i = 0; i < ENTRIES; i++)
			hash_add(&h, &all[i].node, keys[k](i));
		assert_true(longest_chain(&h) <= CHAIN_MAX);
		hash_free(&h);
	}
	assert_int_equal(hash_string(""), 0xcbf29ce484222325ULL);
	assert_int_equal(hash_string("a"), 0xaf63dc4c8601ec8cULL); /* FNV-1a's own figure */
	assert_true(hash_string("ab") != hash_string("ba"));
}

/* Names whose words differ in bits that cancel each other, if a word is added by exclusive or, and
 * multiplied and folded by known numbers. */
TEST(hostile_names)
{
	static struct entry all[ENTRIES];
	uint64_t words[20] = {0};
	struct hash h;

	assert_int_equal(hash_init(&h), 0);
	for (unsigned i = 0; i < ENTRIES; i++) {
		for (unsigned w = 0; w < 10; w++) {
			words[2 * w] = (uint64_t)(i >> w & 1) << 63;
			words[2 * w + 1] = words[2 * w] | words[2 * w] >> 29;
		}
		hash_add(&h, &all[i].node, hash_bytes(words, sizeof(words)));
	}
	for (unsigned i = 0; i < ENTRIES; i++)
		assert_null(hash_find_next(&all[i].node));
	hash_free(&h);
}

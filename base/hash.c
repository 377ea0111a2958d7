// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

enum { HASH_BUCKETS_MIN = 64 };

uint64_t hash_secret[2];

static void __attribute__((constructor)) hash_begin(void)
{
	/* Early in the boot the kernel has no random bytes yet, and this program has no input. */
	if (getrandom(hash_secret, sizeof(hash_secret), GRND_NONBLOCK) < 0)
		hash_secret[0] = hash_secret[1] = 0x9e3779b97f4a7c15ULL;
}

uint64_t hash_bytes(const void *p, size_t n)
{
	uint64_t key = n, word;
	const char *at = p;

	for (; n >= sizeof(word); at += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		key = hash_pair(key, word);
	}
	word = 0;
	if (n)
		memcpy(&word, at, n);
	return hash_pair(key, word);
}

static struct hash_node **hash_bucket(const struct hash *h, uint64_t key)
{
	return &h->bucket[hash_pair(key, 0) & (h->nbuckets - 1)];
}

static void hash_link(const struct hash *h, struct hash_node *node)
{
	struct hash_node **b = hash_bucket(h, node->key);

	node->next = *b;
	*b = node;
}

static void hash_grow(struct hash *h)
{
	struct hash bigger = {.nbuckets = 2 * h->nbuckets, .n = h->n};

	bigger.bucket = calloc(bigger.nbuckets, sizeof(*bigger.bucket));
	if (!bigger.bucket)
		return;
	for (size_t i = 0; i < h->nbuckets; i++) {
		for (struct hash_node *node = h->bucket[i], *next; node; node = next) {
			next = node->next;
			hash_link(&bigger, node);
		}
	}
	free(h->bucket);
	*h = bigger;
}

int hash_init(struct hash *h)
{
	*h = (struct hash){.nbuckets = HASH_BUCKETS_MIN};
	h->bucket = calloc(h->nbuckets, sizeof(*h->bucket));
	return h->bucket ? 0 : -ENOMEM;
}

void hash_free(struct hash *h)
{
	free(h->bucket);
	*h = (struct hash){0};
}

void hash_add(struct hash *h, struct hash_node *node, uint64_t key)
{
	if (2 * h->n == h->nbuckets)
		hash_grow(h);
	node->key = key;
	hash_link(h, node);
	h->n++;
}

void hash_remove(struct hash *h, struct hash_node *node)
{
	struct hash_node **at = hash_bucket(h, node->key);

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	h->n--;
}

static struct hash_node *hash_match(struct hash_node *node, uint64_t key)
{
	while (node && node->key != key)
		node = node->next;
	return node;
}

struct hash_node *hash_find(const struct hash *h, uint64_t key)
{
	return h->bucket ? hash_match(*hash_bucket(h, key), key) : NULL;
}

struct hash_node *hash_find_next(const struct hash_node *node)
{
	return hash_match(node->next, node->key);
}

/* The FNV-1a hash. */
uint64_t hash_string(const char *s)
{
	uint64_t key = 0xcbf29ce484222325ULL;

	for (; *s; s++)
		key = (key ^ (unsigned char)*s) * 0x100000001b3ULL;
	return key;
}

/* SPDX-License-Identifier: MIT */
/*
 * Hash tables whose nodes are members of their entries. Keys need not be unique. The table doubles
 * when it holds half as many nodes as buckets; if there is no memory for that, chains get longer.
 * The bucket of a key differs from process to process.
 * Callers must lock.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/container.h"

__extension__ typedef unsigned __int128 hash_product;
extern uint64_t hash_secret[2]; /* of this process */

struct hash_node {
	struct hash_node *next;
	uint64_t key;
};

struct hash {
	struct hash_node **bucket;
	size_t nbuckets; /* a power of two */
	size_t n;        /* nodes */
};

/* hash_init() returns 0 or -ENOMEM. hash_free() frees the table, but no entries. */
int hash_init(struct hash *h);
void hash_free(struct hash *h);

void hash_add(struct hash *h, struct hash_node *node, uint64_t key);
/* Removes @node, which must be in @h. */
void hash_remove(struct hash *h, struct hash_node *node);

/* The first node with @key, and the one after @node with the same key; NULL: there is none. */
struct hash_node *hash_find(const struct hash *h, uint64_t key);
struct hash_node *hash_find_next(const struct hash_node *node);

/* A key for a NUL-terminated string, the same in all processes. Two strings may have the same key.
 */
uint64_t hash_string(const char *s);

/* Keys of two numbers, and of @n bytes at @p, that differ from process to process: input cannot be
 * made so that many of them are the same. */
static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	hash_product all = (hash_product)(a ^ hash_secret[0]) * (b ^ hash_secret[1]);
	uint64_t key = ((uint64_t)all ^ (uint64_t)(all >> 64)) * 0x9e3779b97f4a7c15ULL;

	return key ^ key >> 32;
}
uint64_t hash_bytes(const void *p, size_t n);
static inline uint64_t hash_name(const char *s)
{
	return hash_bytes(s, strlen(s));
}

#endif

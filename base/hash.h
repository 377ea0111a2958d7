/* SPDX-License-Identifier: MIT */
/*
 * Hash tables whose nodes are members of their entries. Keys need not be unique. The table doubles
 * when it holds as many nodes as buckets; if there is no memory for that, chains get longer.
 * Callers must lock.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/container.h"

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

/* A key for a NUL-terminated string. Two strings may have the same key. */
uint64_t hash_string(const char *s);

#endif

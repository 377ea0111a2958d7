/* SPDX-License-Identifier: MIT */
/*
 * Doubly linked lists whose links are members of their entries, as in the Linux kernel. A list is a
 * struct list_head that belongs to no entry. Callers must lock.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>

#include "base/container.h"

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name)                                                                       \
	{                                                                                          \
		&(name), &(name)                                                                   \
	}

/* Makes an empty list, or an entry that is on no list. */
static inline void list_init(struct list_head *l)
{
	l->next = l->prev = l;
}

/* Whether a list is empty, or an entry is on no list. */
static inline bool list_empty(const struct list_head *l)
{
	return l->next == l;
}

static inline void list_add_between(
	struct list_head *entry, struct list_head *prev, struct list_head *next)
{
	entry->next = next;
	entry->prev = prev;
	prev->next = entry;
	next->prev = entry;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	list_add_between(entry, head, head->next);
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	list_add_between(entry, head->prev, head);
}

/* Removes @entry from the list it is on, if any. */
static inline void list_del(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
	list_init(entry);
}

/* Moves all entries of @from to the end of @to. */
static inline void list_splice_tail(struct list_head *from, struct list_head *to)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

static inline unsigned list_count(const struct list_head *head)
{
	unsigned n = 0;

	for (const struct list_head *l = head->next; l != head; l = l->next)
		n++;
	return n;
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)

/* The first entry, or NULL. */
#define list_first_entry_or_null(head, type, member)                                               \
	(list_empty(head) ? NULL : list_entry((head)->next, type, member))

#define list_for_each_entry(pos, head, member)                                                     \
	for (pos = list_entry((head)->next, __typeof__(*pos), member); &pos->member != (head);     \
		pos = list_entry(pos->member.next, __typeof__(*pos), member))

/* Iterates over a list. The body may remove and free @pos; @following is the entry after it. */
#define list_for_each_entry_safe(pos, following, head, member)                                     \
	for (pos = list_entry((head)->next, __typeof__(*pos), member),                             \
	    following = list_entry(pos->member.next, __typeof__(*pos), member);                    \
		&pos->member != (head); pos = following,                                           \
	    following = list_entry(following->member.next, __typeof__(*following), member))

#endif

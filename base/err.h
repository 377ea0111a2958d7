/* SPDX-License-Identifier: MIT */
/*
 * An errno with the sentence that explains it, both set at the line that fails. The errno is the
 * result of the caller's system call. The sentence goes to the nearest last_error file and tells
 * the user what is wrong and what to do next.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

struct err {
	int no;         /* errno; 0 for none */
	char text[248]; /* one line without a newline, in printable ASCII */
};

/* Fills @e and returns -@no, for `return err_set(e, EBUSY, "...")`. Bytes that are not printable
 * ASCII become '?'. */
int err_set(struct err *e, int no, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Makes @e a copy of @from. Returns -@from->no, for `return err_copy(e, &plan->err)`. */
static inline int err_copy(struct err *e, const struct err *from)
{
	*e = *from;
	return -e->no;
}

/* Inserts the formatted prefix and ": " before the sentence. Returns -e->no, which it preserves. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The name of an errno, such as "EBUSY". Sentences use it instead of the localized text. */
const char *err_name(int no);

#endif

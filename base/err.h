/* SPDX-License-Identifier: MIT */
/*
 * An errno and the sentence that explains it, made together at the line that fails.
 * The errno goes to the caller's system call, the sentence to the nearest last_error file,
 * where it should tell the user what to do next.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

struct err {
	int no;         /* 0: no error */
	char text[248]; /* one line, no newline */
};

/* Fills @e and returns -@no, so that failing reads `return err_set(e, EBUSY, "...")`. */
int err_set(struct err *e, int no, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts @prefix (formatted) and ": " before the sentence; the errno stays. Returns -e->no. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "EBUSY" for 16: sentences and tests name an errno, never its localized text. */
const char *err_name(int no);

#endif

/* SPDX-License-Identifier: MIT */
/* Variables that release a resource at the end of the scope: CLEANUP_CLOSE int fd = open(...) */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define CLEANUP_CLOSE    __attribute__((cleanup(cleanup_close)))
#define CLEANUP_FREE     __attribute__((cleanup(cleanup_free)))
#define CLEANUP_FCLOSE   __attribute__((cleanup(cleanup_fclose)))
#define CLEANUP_CLOSEDIR __attribute__((cleanup(cleanup_closedir)))

/* Returns the descriptor and makes the caller its owner: the variable no longer closes it. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Like take_fd(), for memory. The result has the type of the pointer. */
static inline void *take_ptr_at(void **p)
{
	void *taken = *p;

	*p = NULL;
	return taken;
}
#define take_ptr(pp) ((__typeof__(*(pp)))take_ptr_at((void **)(pp)))

#endif

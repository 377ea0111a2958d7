/* SPDX-License-Identifier: MIT */
/* Converts a pointer to a member into a pointer to the structure, as in the Linux kernel. */
#ifndef BASE_CONTAINER_H
#define BASE_CONTAINER_H

#include <stddef.h>

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif

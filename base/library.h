/* SPDX-License-Identifier: MIT */
/*
 * Libraries that are opened when they are needed first. Linking them would make each start of the
 * program pay for their relocations and for copies of the pages that these change, also at fork().
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* A function of a library, and the offset of the pointer to it in a struct. */
struct library_function {
	const char *name;
	size_t at;
};

/* Opens @soname and sets the @n pointers in @to. False: there is no such library, or it lacks a
 * function. */
bool library_open(
	const char *soname, const struct library_function *functions, unsigned n, void *to);

/* Declares the pointer to function @name in a struct that is a @type. */
#define LIBRARY_POINTER(type, name) __typeof__(name) *name;
/* The element of struct library_function[] for it. */
#define LIBRARY_FUNCTION(type, name) {#name, offsetof(type, name)},

#endif

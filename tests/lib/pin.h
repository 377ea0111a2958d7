/* SPDX-License-Identifier: MIT */
/* Layouts of structures, checked at compile time. A failure names the structure. */
#ifndef TESTS_LIB_PIN_H
#define TESTS_LIB_PIN_H

#include <stddef.h>

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
/* LAYOUT(type, size, F(field, offset) ...); FIELDS() does not check the size. */
#define F(field, offset) &&offsetof(T, field) == (offset)
#define LAYOUT(type, size, fields)                                                                 \
	SIZE(type, size);                                                                          \
	FIELDS(type, fields)
#define FIELDS(type, fields)                                                                       \
	static inline __attribute__((unused)) void fields_of_##type(void)                          \
	{                                                                                          \
		typedef type T;                                                                    \
		_Static_assert(1 fields, #type);                                                   \
	}                                                                                          \
	struct forward_##type

#endif

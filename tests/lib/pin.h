/* SPDX-License-Identifier: MIT */
/* Layouts, held to at compile time: a failure names the structure or the field. */
#ifndef TESTS_LIB_PIN_H
#define TESTS_LIB_PIN_H

#include <stddef.h>

#define SIZE(type, size)        _Static_assert(sizeof(type) == (size), #type)
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)

#endif

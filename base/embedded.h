/* SPDX-License-Identifier: MIT */
/* Files that are compiled in: base/embed.py writes arrays of them. */
#ifndef BASE_EMBEDDED_H
#define BASE_EMBEDDED_H

#include "base/slice.h"

/* The element of an array; a NULL name ends it. */
struct embedded {
	const char *name; /* of the file, without its suffix */
	struct slice text;
};

#endif

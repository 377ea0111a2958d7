/* SPDX-License-Identifier: MIT */
/* Sentences in columns. */
#ifndef TOOLS_PFM_TEXT_WRAP_H
#define TOOLS_PFM_TEXT_WRAP_H

#include "base/text.h"

/*
 * Appends @sentence, broken at blanks so that no line is longer than @columns. Lines after the
 * first begin with @indent blanks, and the first is taken to begin there. A newline ends it.
 */
void wrap_text(struct text *t, const char *sentence, unsigned indent, unsigned columns);

#endif

/* SPDX-License-Identifier: MIT */
/* Breaks sentences into lines. */
#ifndef TOOLS_PFM_TEXT_WRAP_H
#define TOOLS_PFM_TEXT_WRAP_H

#include "base/text.h"

/*
 * Appends @sentence, broken at blanks so that no line is longer than @columns. Lines after the
 * first begin with @indent blanks; the first is assumed to begin at that column. A newline ends it.
 */
void wrap_text(struct text *t, const char *sentence, unsigned indent, unsigned columns);

#endif

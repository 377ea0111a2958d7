/* SPDX-License-Identifier: MIT */
/* Writes protocol buffer messages, to the extent that profile.proto needs. */
#ifndef TOOLS_PFM_SAMPLES_PROTOBUF_H
#define TOOLS_PFM_SAMPLES_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Appends a field of type int64, uint64 or bool. 0 is the default and is left out. */
void protobuf_number(struct text *t, unsigned field, uint64_t v);
/* Appends a string, even an empty one. */
void protobuf_string(struct text *t, unsigned field, const char *s);
/* Appends a message, and empties it. */
void protobuf_message(struct text *t, unsigned field, struct text *message);
/* Appends a number to @packed, a packed repeated field that protobuf_message() writes. */
void protobuf_pack(struct text *packed, uint64_t v);
/* Appends fields that were written to a text of their own. */
void protobuf_append(struct text *t, const struct text *fields);

#endif

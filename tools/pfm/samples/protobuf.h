/* SPDX-License-Identifier: MIT */
/* Writing of protocol buffer messages, as far as profile.proto needs it. */
#ifndef TOOLS_PFM_SAMPLES_PROTOBUF_H
#define TOOLS_PFM_SAMPLES_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* A field of type int64, uint64 or bool. 0 is the default and is left out. */
void protobuf_number(struct text *t, unsigned field, uint64_t v);
/* A string, also one that is empty. */
void protobuf_string(struct text *t, unsigned field, const char *s);
/* A message, which is emptied. */
void protobuf_message(struct text *t, unsigned field, struct text *message);
/* A packed repeated number: appends one to @packed, which protobuf_message() writes as a field. */
void protobuf_pack(struct text *packed, uint64_t v);
/* Fields that have been written to a text of their own. */
void protobuf_append(struct text *t, const struct text *fields);

#endif

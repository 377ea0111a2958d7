// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/protobuf.h"

#include <string.h>

enum { PROTOBUF_VARINT = 0, PROTOBUF_BYTES = 2 };

/* A byte may be 0, which "%c" appends as well. */
void protobuf_pack(struct text *t, uint64_t v)
{
	while (v >= 0x80) {
		text_printf(t, "%c", (int)(v & 0x7f) | 0x80);
		v >>= 7;
	}
	text_printf(t, "%c", (int)v);
}

static void protobuf_key(struct text *t, unsigned field, unsigned type)
{
	protobuf_pack(t, (uint64_t)field << 3 | type);
}

static void protobuf_copy(struct text *t, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_printf(t, "%c", p[i]);
}

static void protobuf_bytes(struct text *t, unsigned field, const char *p, size_t n)
{
	protobuf_key(t, field, PROTOBUF_BYTES);
	protobuf_pack(t, n);
	protobuf_copy(t, p, n);
}

void protobuf_number(struct text *t, unsigned field, uint64_t v)
{
	if (!v)
		return;
	protobuf_key(t, field, PROTOBUF_VARINT);
	protobuf_pack(t, v);
}

void protobuf_string(struct text *t, unsigned field, const char *s)
{
	protobuf_bytes(t, field, s, strlen(s));
}

void protobuf_message(struct text *t, unsigned field, struct text *message)
{
	protobuf_bytes(t, field, message->p, message->n);
	t->failed = t->failed || message->failed;
	text_clear(message);
}

void protobuf_append(struct text *t, const struct text *fields)
{
	protobuf_copy(t, fields->p, fields->n);
	t->failed = t->failed || fields->failed;
}

// SPDX-License-Identifier: MIT
/*
 * Jitdumps of programs that make code. The input is what follows the head. Each function is within
 * the file, is found by each of its bytes, and its lines can be looked up.
 */
#include "tests/fuzz/fuzz.h"

#include "tools/pfm/samples/jitdump.h"

static char *with_head(const uint8_t *data, size_t size)
{
	const uint32_t head[10] = {0x4A695444, 1, sizeof(head)};
	char *p = malloc(sizeof(head) + size);

	CHECK(p);
	memcpy(p, head, sizeof(head));
	if (size)
		memcpy(p + sizeof(head), data, size);
	return p;
}

static void check_code(const struct jitdump *d, const struct jit_code *code, size_t n)
{
	struct jitdump_lines lines = {NULL};
	const struct jitdump_line *line;

	CHECK(code->size && code->offset + code->size <= n);
	CHECK(code->name + strlen(code->name) + 1 == d->p + code->offset);
	CHECK(jitdump_find(d, code->offset) == code);
	CHECK(jitdump_find(d, code->offset + code->size - 1) == code);
	line = jitdump_line(&lines, code, code->size - 1);
	if (line)
		CHECK(line->offset < code->size && line->file > d->p && line->file < d->p + n);
	free(lines.all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t n = 40 + size;
	struct jitdump d;
	struct err e;

	CHECK(jitdump_parse(&d, with_head(data, size), n, &e) == 0);
	CHECK(!jitdump_find(&d, 0));
	for (uint32_t i = 0; i < d.ncodes; i++)
		check_code(&d, &d.codes[i], n);
	CHECK(d.nplaces >= d.ncodes);
	for (uint32_t i = 0; i < d.nplaces; i++)
		CHECK(d.places[i].code < d.ncodes);
	jitdump_free(&d);
	return 0;
}

// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/code.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/pfm/samples/demangle.h"
#include "tools/pfm/samples/indexed.h"
#include "tools/pfm/text/names.h"
#include "tools/pfm/text/utf8.h"

char *code_name(const char *name, bool demangle_it)
{
	char *own = demangle_it && demangle_is_mangled(name) ? demangle(name) : NULL;

	if (!own)
		own = strdup(name);
	if (own)
		name_clean(own);
	return own;
}

void code_free(struct code *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free(c->all[i].text);
	free(c->all);
}

struct code_insn *code_find(const struct code *c, uint64_t address)
{
	uint32_t low = 0, high = c->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (c->all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < c->high ? &c->all[low - 1] : NULL;
}

#ifdef HAVE_CAPSTONE

#include "tools/pfm/samples/capstone.h"

enum { CODE_NAME = 40 }; /* bytes of the name of a target */

/* What is being disassembled. */
struct code_reader {
	struct code *code;
	struct symbols *symbols; /* NULL: only the function itself is known */
	const char *name;        /* of the function, as it is shown, without symbols */
	bool demangle;
	csh handle;
};

bool code_supported(void)
{
	static int state = -1;

	if (state < 0)
		state = capstone_open();
	return state;
}

/* The function at @address, from malloc, and the offset in it. NULL: it is not known. */
static char *code_function(const struct code_reader *r, uint64_t address, uint64_t *offset)
{
	struct symbol at;

	if (!r->symbols) {
		*offset = address - r->code->low;
		return *offset < r->code->high - r->code->low ? strdup(r->name) : NULL;
	}
	at = symbols_at(r->symbols, address);
	*offset = at.offset;
	return at.name ? code_name(at.name, r->demangle) : NULL;
}

/* Writes the target of a jump or call as FUNCTION+OFFSET. Returns its text; NULL: it has no such
 * target, or is in no function. */
static char *code_target(const struct code_reader *r, const cs_insn *i)
{
	const char *hex = NULL;
	CLEANUP_FREE char *name = NULL;
	uint64_t address, offset;
	char *end, *text = NULL;

	for (const char *at = i->op_str; (at = strstr(at, "0x")) != NULL; at++)
		hex = at;
	if (!hex || i->op_str[0] == '*' ||
		(!capstone.cs_insn_group(r->handle, i, CS_GRP_JUMP) &&
			!capstone.cs_insn_group(r->handle, i, CS_GRP_CALL)))
		return NULL;
	address = strtoull(hex, &end, 16);
	name = *end ? NULL : code_function(r, address, &offset);
	if (!name)
		return NULL;
	if (strlen(name) > CODE_NAME)
		strcpy(name + utf8_cut(name, CODE_NAME - 2), "..");
	if (asprintf(&text, offset ? "%.*s%s+0x%" PRIx64 : "%.*s%s", (int)(hex - i->op_str),
		    i->op_str, name, offset) < 0)
		return NULL;
	return text;
}

static int code_add(const struct code_reader *r, const cs_insn *i)
{
	struct code *c = r->code;
	CLEANUP_FREE char *target = code_target(r, i);
	struct code_insn *all = indexed_room(c->all, c->n, &c->room, sizeof(*all));
	struct code_insn *new;

	if (!all)
		return -ENOMEM;
	c->all = all;
	new = &all[c->n];
	*new = (struct code_insn){.address = i->address};
	if (asprintf(&new->text, i->op_str[0] ? "%-7s %s" : "%s", i->mnemonic,
		    target ? target : i->op_str) < 0)
		return -ENOMEM;
	c->n++;
	return 0;
}

/* Disassembles @size bytes. Bytes that are no instruction become lines of data. */
static int code_read_bytes(struct code_reader *r, const uint8_t *bytes, size_t size)
{
	cs_insn *i = capstone.cs_malloc(r->handle);
	uint64_t address = r->code->low;
	int rc = i ? 0 : -ENOMEM;

	capstone.cs_option(r->handle, CS_OPT_SKIPDATA, CS_OPT_ON);
	while (rc == 0 && capstone.cs_disasm_iter(r->handle, &bytes, &size, &address, i))
		rc = code_add(r, i);
	if (i)
		capstone.cs_free(i, 1);
	return rc;
}

/* Opens capstone for the processor of the file. Programs for x86 are shown as objdump shows them.
 */
static int code_open(struct code_reader *r, unsigned machine, struct err *e)
{
	const struct object *in = r->code->in;
	bool x86 = machine == EM_X86_64 || machine == EM_386;

	if (!x86 && machine != EM_AARCH64)
		return err_set(e, ENOTSUP,
			"%s is for a processor (%u) whose instructions pfm cannot show: try "
			"objdump -d",
			in->path, machine);
	if (capstone.cs_open(x86 ? CS_ARCH_X86 : CS_ARCH_ARM64,
		    machine == EM_X86_64 ? CS_MODE_64
		    : x86                ? CS_MODE_32
					 : CS_MODE_ARM,
		    &r->handle) != CS_ERR_OK)
		return err_set(e, ENOTSUP, "libcapstone was built without the instructions of %s",
			in->path);
	capstone.cs_option(r->handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (x86)
		capstone.cs_option(r->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	return 0;
}

/* Disassembles the bytes of the function. */
static int code_decode(struct code_reader *r, unsigned machine, const uint8_t *bytes, struct err *e)
{
	int rc;

	if (!code_supported())
		return err_set(
			e, ENOSYS, "libcapstone is missing: install libcapstone%d", CS_API_MAJOR);
	if (code_open(r, machine, e) < 0)
		return -e->no;
	rc = code_read_bytes(r, bytes, r->code->high - r->code->low);
	capstone.cs_close(&r->handle);
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the instructions") : 0;
}

int code_read(struct code *c, const struct object *in, struct symbols *s, uint64_t offset,
	bool demangle_it, struct err *e)
{
	struct code_reader r = {.code = c, .symbols = s, .demangle = demangle_it};
	struct symbol at = symbols_find(s, offset);
	const uint8_t *bytes;

	*c = (struct code){.in = in, .low = at.address - at.offset, .high = at.address + at.rest};
	if (!at.name || !at.rest)
		return err_set(
			e, ENOENT, "%s has no symbol there that says where it ends", in->path);
	if (c->high - c->low > CODE_MAX)
		return err_set(e, E2BIG, "it has more than %d bytes: try objdump -d", CODE_MAX);
	bytes = symbols_bytes(s, c->low, c->high - c->low);
	if (!bytes)
		return err_set(e, ENOEXEC, "%s lacks its bytes: the file is damaged", in->path);
	return code_decode(&r, symbols_machine(s), bytes, e);
}

int code_read_stored(struct code *c, const struct object *in, const struct data_code *from,
	const char *name, struct err *e)
{
	struct code_reader r = {.code = c, .name = name};

	*c = (struct code){.in = in, .low = from->address, .high = from->address + from->size};
	return code_decode(&r, from->machine, data_code_bytes(from), e);
}

#else

bool code_supported(void)
{
	return false;
}

int code_read(struct code *c, const struct object *in, struct symbols *s, uint64_t offset,
	bool demangle_it, struct err *e)
{
	(void)s;
	(void)offset;
	(void)demangle_it;
	*c = (struct code){.in = in};
	return err_set(e, ENOSYS, "this pfm was built without capstone (libcapstone-dev)");
}

int code_read_stored(struct code *c, const struct object *in, const struct data_code *from,
	const char *name, struct err *e)
{
	(void)from;
	(void)name;
	return code_read(c, in, NULL, 0, false, e);
}

#endif

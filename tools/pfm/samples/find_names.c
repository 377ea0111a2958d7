// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/find_names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "tools/pfm/samples/bounded.h"
#include "tools/pfm/samples/find_dumps.h"
#include "tools/pfm/samples/kcore.h"
#include "tools/pfm/samples/mapped_file.h"
#include "tools/pfm/samples/recording.h"
#include "tools/pfm/samples/symbols.h"

enum {
	FIND_PLACES = 1000,        /* in a record */
	FIND_STRINGS = 1 << 19,    /* bytes of strings in a record, besides the last one */
	FIND_STRING_MAX = 1 << 16, /* bytes of a string; the rest is cut off */
	FIND_LINE_MAX = 4096,      /* bytes of a line that names code which a process has made */
	FIND_MADE_MAX = 1 << 28,   /* bytes of all these lines */
	FIND_CHECK = 1 << 12,      /* lines from one look at the clock to the next */
	FIND_CODES_MAX = 1 << 24,  /* bytes of all of them */
};

/* Functions with less of the weight of all events lack code. */
static const double find_code_share = 0.001;

/* A sampled place. */
struct find_head {
	const struct location *at;
	struct object *object;
	struct symbol symbol; /* of the kernel */
};

/* A function in code that a process has made: START SIZE NAME, as @text. */
struct find_line {
	uint64_t start;
	uint64_t size;
	const char *name;
	char text[FIND_LINE_MAX];
};

/* Lines that name @n places. A later one replaces earlier ones. */
struct find_lines {
	FILE *in;
	const struct find_head *h;
	size_t n;
	/* Where lines begin in the file, + 1: a tree whose leaves, from number @n on, are the
	 * places. The largest number from a leaf up to node 1 is that of the place's line. */
	uint64_t *at;
	uint64_t present; /* where @line begins, + 1; 0: none was read */
	struct find_line line;
};

/* The code of a function, and its share of the weights, summed over the events. */
struct find_code {
	struct data_code head;
	uint64_t size;
	const uint8_t *bytes; /* NULL: there is no function */
	double share;
};

/* A search, and the file to which it writes. */
struct find_job {
	const struct data_file *f;
	const struct image *live;
	int fd;
};

struct find_string {
	struct hash_node node;
	uint32_t number;
	char text[];
};

struct finder {
	struct recording *r;      /* its places */
	const struct image *live; /* has the open files of objects; NULL: none are open */
	const struct find_dumps *dumps;
	struct data_writer *out;
	struct find_head *heads; /* sorted by object and offset */
	size_t nheads;
	struct kallsyms *kernel;
	struct kcore *kcore; /* NULL: it cannot be read */
	struct err kernel_why;
	struct hash strings;
	uint32_t nstrings;
	struct text pending; /* struct data_strings and the strings that are not written yet */
	uint32_t npending;
	uint32_t nobjects;
	double *shares;      /* of each location, by its number, as in struct find_code */
	uint64_t code_bytes; /* stored */
	uint64_t until;      /* CPU time that the present object may take to, ns */
	struct {
		struct data_places head;
		struct data_place all[FIND_PLACES];
	} places;
};

static int find_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for the names of functions");
}

/* --- Strings and places */

static int find_flush_strings(struct finder *f, struct err *e)
{
	struct data_strings head = {.n = f->npending};
	int rc;

	if (!f->npending)
		return 0;
	if (!text_ok(&f->pending))
		return find_no_memory(e);
	memcpy(f->pending.p, &head, sizeof(head));
	rc = data_put(f->out, DATA_STRINGS, f->pending.p, f->pending.n, NULL, e);
	text_clear(&f->pending);
	f->npending = 0;
	return rc;
}

static int find_add_string(struct finder *f, const char *s, size_t n, uint64_t key, struct err *e)
{
	static const struct data_strings room;
	struct find_string *new = malloc(sizeof(*new) + n + 1);

	if (!new)
		return find_no_memory(e);
	memcpy(new->text, s, n);
	new->text[n] = '\0';
	new->number = f->nstrings++;
	hash_add(&f->strings, &new->node, key);
	if (!f->npending++)
		text_append(&f->pending, (const char *)&room, sizeof(room));
	text_append(&f->pending, new->text, n + 1);
	return f->pending.n < FIND_STRINGS ? 0 : find_flush_strings(f, e);
}

/* Sets @number to that of the string @s; NULL: 0. */
static int find_string(struct finder *f, const char *s, uint32_t *number, struct err *e)
{
	size_t n = s ? strnlen(s, FIND_STRING_MAX) : 0;
	uint64_t key = s ? hash_name(s) : 0;

	*number = 0;
	if (!n)
		return 0;
	for (struct hash_node *h = hash_find(&f->strings, key); h; h = hash_find_next(h)) {
		const struct find_string *known = container_of(h, struct find_string, node);

		*number = known->number;
		if (strncmp(known->text, s, n) == 0 && !known->text[n])
			return 0;
	}
	*number = f->nstrings;
	return find_add_string(f, s, n, key, e);
}

static int find_flush_places(struct finder *f, struct err *e)
{
	size_t size = sizeof(f->places.head) + f->places.head.n * sizeof(f->places.all[0]);

	if (!f->places.head.n)
		return 0;
	if (find_flush_strings(f, e) < 0 ||
		data_put(f->out, DATA_PLACES, &f->places, size, NULL, e) < 0)
		return -e->no;
	f->places.head.n = 0;
	return 0;
}

/* Begins an object, to which the following places belong. */
static int find_begin_object(
	struct finder *f, const struct data_object *object, const char *name, struct err *e)
{
	if (find_flush_places(f, e) < 0 || find_flush_strings(f, e) < 0)
		return -e->no;
	f->places.head.object = f->nobjects++;
	return data_put(f->out, DATA_OBJECT, object, offsetof(struct data_object, name), name, e);
}

static int find_add_place(struct finder *f, struct data_place place, const char *function,
	const struct symbol_line *at, struct err *e)
{
	if (find_string(f, function, &place.function, e) < 0 ||
		find_string(f, at->file, &place.file, e) < 0 ||
		find_string(f, at->file ? at->dir : NULL, &place.dir, e) < 0)
		return -e->no;
	if (place.file)
		place.line = at->line;
	f->places.all[f->places.head.n++] = place;
	return 0;
}

/* --- Objects */

/* Whether the present object has taken its share of the time, a half of the rest. */
static bool find_is_late(const struct finder *f)
{
	return nsec_now(CLOCK_PROCESS_CPUTIME_ID) > f->until;
}

/* Adds the functions of a place, of which @symbol contains the others. */
static int find_add_functions(struct finder *f, const struct find_head *h, struct symbol symbol,
	const struct symbol_frame frames[], unsigned n, struct err *e)
{
	struct data_place place = {.offset = h->at->offset, .address = symbol.address};

	if (f->places.head.n + n > FIND_PLACES && find_flush_places(f, e) < 0)
		return -e->no;
	if (symbol.offset > UINT32_MAX)
		symbol.name = NULL;
	else
		place.function_offset = (uint32_t)symbol.offset;
	for (unsigned i = 0; i < n; i++) {
		place.inlined = i + 1 < n;
		if (find_add_place(f, place, place.inlined ? frames[i].name : symbol.name,
			    &frames[i].at, e) < 0)
			return -e->no;
	}
	return 0;
}

/* Stores the code of a function that has enough samples. */
static int find_put_code(struct finder *f, struct find_code *c, struct err *e)
{
	struct text t = {0};
	int rc = 0;

	if (!c->bytes || !c->size || c->size > DATA_CODE_MAX ||
		c->size > FIND_CODES_MAX - f->code_bytes || c->share < find_code_share)
		return 0;
	f->code_bytes += c->size;
	c->head.object = f->places.head.object;
	c->head.size = (uint32_t)c->size;
	text_append(&t, (const char *)&c->head, sizeof(c->head));
	text_append(&t, (const char *)c->bytes, c->size);
	rc = text_ok(&t) ? data_put(f->out, DATA_CODE, t.p, t.n, NULL, e) : find_no_memory(e);
	text_free(&t);
	return rc;
}

/* Adds the share of the place @at to that of its function @next. @c: the function of the place
 * before it, which is stored if it is another one. */
static int find_code(struct finder *f, struct find_code *c, const struct find_code *next,
	const struct location *at, struct err *e)
{
	if (next->bytes != c->bytes || next->head.offset != c->head.offset) {
		if (find_put_code(f, c, e) < 0)
			return -e->no;
		*c = *next;
	}
	c->share += f->shares[at->number];
	return 0;
}

/* Adds the place @h of a file. @symbols: NULL if the file has none. */
static int find_in_file(
	struct finder *f, const struct find_head *h, struct symbols *symbols, struct err *e)
{
	struct symbol_frame frames[SYMBOL_FRAMES] = {{NULL}};
	struct symbol symbol = {.address = h->at->offset};
	unsigned n = 1;

	if (symbols) {
		symbol = symbols_find(symbols, h->at->offset);
		n = symbols_frames(symbols, symbol.address, frames);
	}
	return find_add_functions(f, h, symbol, frames, n, e);
}

static bool find_same_boot(const struct recording *r)
{
	struct slice then = recording_info(r, "boot_id");
	CLEANUP_FCLOSE FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	char now[64] = "";

	if (!f || !fgets(now, sizeof(now), f))
		return false;
	now[strcspn(now, "\n")] = '\0';
	return slice_is(then, now);
}

/* The open file of @o; -1: it is not open. */
static int find_open(const struct finder *f, const struct object *o)
{
	const struct object *live =
		f->live ? image_find_object(f->live, o->path, o->id, o->id_size) : NULL;

	return live ? live->fd : -1;
}

static struct symbols *find_vdso(const struct finder *f, const struct object *o, struct err *e)
{
	CLEANUP_CLOSE int fd = find_same_boot(f->r) ? mapped_file_open_vdso() : -ESTALE;

	if (fd >= 0)
		return symbols_open(o, fd, e);
	err_set(e, ENOENT, "the [vdso] of the recorded kernel is not here");
	return NULL;
}

/* Writes the object of @n places in the functions of a jitdump. */
static int find_jit(struct finder *f, const struct jitdump *dump, const struct data_object *object,
	const struct find_head *h, size_t n, struct err *e)
{
	struct jitdump_lines lines = {NULL};
	struct find_code last = {.bytes = NULL};
	int rc = find_begin_object(f, object, h->object->path, e);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct jit_code *code = jitdump_find(dump, h[i].at->offset);
		struct symbol symbol = {.address = h[i].at->offset};
		const struct jitdump_line *line = NULL;
		struct symbol_frame frame = {NULL};
		struct find_code its = {.bytes = NULL};

		if (code) {
			its = (struct find_code){
				.head = {.machine = dump->machine,
					.offset = code->offset,
					.address = code->address},
				.size = code->size,
				.bytes = (const uint8_t *)dump->p + code->offset,
			};
			symbol.name = code->name;
			symbol.offset = h[i].at->offset - code->offset;
			symbol.address = code->address + symbol.offset;
			line = jitdump_line(&lines, code, symbol.offset);
		}
		if (line)
			frame.at = (struct symbol_line){.file = line->file, .line = line->line};
		rc = find_add_functions(f, &h[i], symbol, &frame, 1, e);
		if (rc == 0)
			rc = find_code(f, &last, &its, h[i].at, e);
	}
	free(lines.all);
	return rc < 0 ? rc : find_put_code(f, &last, e);
}

/* Stores the code of @n places in the [vdso], which no later report can read. */
static int find_vdso_code(struct finder *f, struct symbols *symbols, const struct find_head *h,
	size_t n, struct err *e)
{
	struct find_code last = {.bytes = NULL};

	for (size_t i = 0; i < n; i++) {
		struct symbol s = symbols_find(symbols, h[i].at->offset);
		struct find_code its = {
			.head = {.machine = symbols_machine(symbols),
				.offset = h[i].at->offset - s.offset,
				.address = s.address - s.offset},
			.size = s.offset + s.rest,
		};

		if (s.name && s.rest)
			its.bytes = symbols_bytes(symbols, its.head.address, its.size);
		if (find_code(f, &last, &its, h[i].at, e) < 0)
			return -e->no;
	}
	return find_put_code(f, &last, e);
}

static int find_note_late(struct finder *f, const struct object *o, struct err *e)
{
	const struct data_lost lost = {.count = 1, .kind = DATA_LOST_NAMES};
	struct err why;

	(void)err_set(&why, ETIMEDOUT,
		"%s took too long: its debug files are large; the rest of its addresses have no "
		"names",
		o->path);
	return data_put(f->out, DATA_LOST, &lost, offsetof(struct data_lost, why), why.text, e);
}

/* Writes the object of @n places, all in one file, and what is found about them. */
static int find_file(struct finder *f, const struct find_head *h, size_t n, struct err *e)
{
	const struct object *o = h->object;
	const struct jitdump *dump = find_dump(f->dumps, o);
	struct data_object object = {.id_size = o->id_size};
	struct symbols *symbols = NULL;
	struct err why = {0};
	bool late = false;
	int rc = 0;

	memcpy(object.id, o->id, sizeof(object.id));
	if (dump)
		return find_jit(f, dump, &object, h, n, e);
	if (o->path[0] == '/')
		symbols = symbols_open(o, find_open(f, o), &why);
	else if (strcmp(o->path, "[vdso]") == 0)
		symbols = find_vdso(f, o, &why);
	else
		err_set(&why, ENOENT, "%s is not a file", o->path);
	if (find_string(f, symbols ? NULL : why.text, &object.why, e) < 0 ||
		find_begin_object(f, &object, o->path, e) < 0)
		rc = -e->no;
	if (symbols && !bounded_as(symbols_owner(symbols)))
		symbols_without_debug_files(symbols);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		late = late || find_is_late(f);
		rc = find_in_file(f, &h[i], late ? NULL : symbols, e);
	}
	if (rc == 0 && symbols && o->path[0] == '[')
		rc = find_vdso_code(f, symbols, h, n, e);
	symbols_close(symbols);
	bounded_as(0);
	return rc == 0 && late ? find_note_late(f, o, e) : rc;
}

/* Reads a line. False: the file has ended. */
static bool find_read_line(FILE *in, struct find_line *line)
{
	size_t length;
	int name = 0;

	if (!fgets(line->text, sizeof(line->text), in))
		return false;
	length = strlen(line->text);
	line->text[length - (length && line->text[length - 1] == '\n')] = '\0';
	if (sscanf(line->text, "%" SCNx64 " %" SCNx64 " %n", &line->start, &line->size, &name) !=
			2 ||
		!line->text[name])
		line->size = 0;
	line->name = line->text + name;
	return true;
}

/* The number of the first place that is not below @offset. */
static size_t find_place_from(const struct find_lines *l, uint64_t offset)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->h[middle].at->offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Gives the places of the present line that line. */
static void find_note_line(struct find_lines *l)
{
	const uint64_t end = l->line.start + l->line.size;
	size_t low = l->n + find_place_from(l, l->line.start);
	size_t high = l->n + (end < l->line.start ? l->n : find_place_from(l, end));

	for (; low < high; low /= 2, high /= 2) {
		if (low % 2)
			l->at[low++] = l->present;
		if (high % 2)
			l->at[--high] = l->present;
	}
}

/* Reads lines START SIZE NAME. The file may be any user's, and as long as that user likes. */
static void find_read_made(const struct finder *f, struct find_lines *l)
{
	for (size_t i = 1; i % FIND_CHECK || !find_is_late(f); i++) {
		l->present = (uint64_t)ftello(l->in) + 1;
		if (l->present > FIND_MADE_MAX || !find_read_line(l->in, &l->line))
			break;
		if (l->line.size)
			find_note_line(l);
	}
	l->present = 0;
}

/* The function at place number @i. Its process may have changed the file since it was read. */
static struct symbol find_made_symbol(struct find_lines *l, size_t i)
{
	struct symbol symbol = {.address = l->h[i].at->offset};
	uint64_t at = 0;

	for (size_t node = l->n + i; l->in && node; node /= 2)
		at = l->at[node] > at ? l->at[node] : at;
	if (!at)
		return symbol;
	if (at != l->present &&
		(fseeko(l->in, (off_t)at - 1, SEEK_SET) < 0 || !find_read_line(l->in, &l->line)))
		l->line.size = 0;
	l->present = at;
	if (symbol.address - l->line.start < l->line.size) {
		symbol.offset = symbol.address - l->line.start;
		symbol.name = l->line.name;
	}
	return symbol;
}

/* Writes the object of @n places in code that a process has made, with the names that it has given.
 */
static int find_made(struct finder *f, const struct find_head *h, size_t n, struct err *e)
{
	const struct object *o = h->object;
	struct data_object object = {.flags = DATA_OBJECT_PROCESS, .pid = o->pid, .life = o->life};
	CLEANUP_FREE uint64_t *at = calloc(2 * n, sizeof(*at));
	CLEANUP_FCLOSE FILE *in = NULL;
	struct find_lines lines = {.h = h, .n = n, .at = at};
	const struct symbol_frame frame = {NULL};
	struct err why = {0};
	int fd = find_open(f, o);

	if (!at)
		return find_no_memory(e);
	lines.in = in = fd >= 0 ? fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 3), "re") : NULL;
	if (in) {
		rewind(in);
		find_read_made(f, &lines);
	} else if (!find_dump_failure(f->dumps, o->pid, &why)) {
		err_set(&why, ENOENT,
			"process %u has made code, and no %s that names it (node has "
			"--perf-basic-prof, Java an agent)",
			o->pid, o->path);
	}
	if (find_string(f, why.no ? why.text : NULL, &object.why, e) < 0 ||
		find_begin_object(f, &object, o->path, e) < 0)
		return -e->no;
	for (size_t i = 0; i < n; i++)
		if (find_add_functions(f, &h[i], find_made_symbol(&lines, i), &frame, 1, e) < 0)
			return -e->no;
	return 0;
}

/* Stores the code of @n places in the kernel, which it changes while it runs. */
static int find_kernel_code(struct finder *f, const struct find_head *h, size_t n, struct err *e)
{
	CLEANUP_FREE uint8_t *bytes = malloc(DATA_CODE_MAX);
	struct find_code last = {.bytes = NULL};

	if (!bytes)
		return find_no_memory(e);
	for (size_t i = 0; f->kcore && i < n; i++) {
		const struct symbol *s = &h[i].symbol;
		struct find_code its = {
			.head = {.machine = kcore_machine(f->kcore),
				.offset = s->address - s->offset,
				.address = s->address - s->offset},
			.size = s->offset + s->rest,
			.bytes = s->name && s->rest ? bytes : NULL,
		};

		if (find_code(f, &last, &its, h[i].at, e) < 0)
			return -e->no;
		if (last.bytes && last.size <= DATA_CODE_MAX &&
			!kcore_read(f->kcore, last.head.address, bytes, last.size))
			last.bytes = NULL;
	}
	return find_put_code(f, &last, e);
}

static int find_kernel(struct finder *f, const struct find_head *h, size_t n, struct err *e)
{
	struct data_object object = {.flags = DATA_OBJECT_KERNEL};
	const struct symbol_frame frame = {NULL};

	if (find_string(f, f->kernel ? NULL : f->kernel_why.text, &object.why, e) < 0 ||
		find_begin_object(f, &object, h->object->path, e) < 0)
		return -e->no;
	for (size_t i = 0; i < n; i++)
		if (find_add_functions(f, &h[i], h[i].symbol, &frame, 1, e) < 0)
			return -e->no;
	return find_kernel_code(f, h, n, e);
}

/* --- Places */

static void find_open_kernel(struct finder *f)
{
	if (f->kernel || f->kernel_why.no)
		return;
	if (find_same_boot(f->r))
		f->kernel = kallsyms_open("/proc/kallsyms", &f->kernel_why);
	else
		err_set(&f->kernel_why, ESTALE,
			"the kernel's functions were recorded before the last boot, or elsewhere");
	if (f->kernel)
		f->kcore = kcore_open("/proc/kcore");
}

/* Adds the place @at of the kernel to the heads. Its symbol tells which module it is in. */
static int find_add_kernel(struct finder *f, const struct location *at)
{
	static const uint8_t id[DATA_BUILD_ID_MAX];
	struct symbol symbol = {.address = at->ip};
	const char *module = NULL;
	struct object *object;

	find_open_kernel(f);
	if (f->kernel)
		symbol = kallsyms_find(f->kernel, at->ip, &module);
	object = image_object(&f->r->image, module ? module : "[kernel]", id, 0);
	f->heads[f->nheads++] = (struct find_head){at, object, symbol};
	return object ? 0 : -ENOMEM;
}

static int find_compare(const void *a, const void *b)
{
	const struct find_head *x = a, *y = b;

	if (x->at->kernel != y->at->kernel)
		return x->at->kernel ? -1 : 1;
	if (x->object != y->object)
		return x->object->number < y->object->number ? -1 : 1;
	return x->at->offset < y->at->offset ? -1 : x->at->offset > y->at->offset;
}

/* Collects the places. A place without an object cannot have a name. */
static int find_collect(struct finder *f, struct err *e)
{
	const struct hash *h = &f->r->locations;

	f->heads = calloc(h->n + 1, sizeof(*f->heads));
	if (!f->heads)
		return find_no_memory(e);
	for (size_t i = 0; i < h->nbuckets; i++)
		for (struct hash_node *n = h->bucket[i]; n; n = n->next) {
			const struct location *at = container_of(n, struct location, node);

			if (at->kernel && !location_state(at->ip) && find_add_kernel(f, at) < 0)
				return find_no_memory(e);
			if (!at->kernel && at->in)
				f->heads[f->nheads++] =
					(struct find_head){.at = at, .object = at->in};
		}
	qsort(f->heads, f->nheads, sizeof(*f->heads), find_compare);
	return 0;
}

/* The number of heads from @h on that are of the same object. */
static size_t find_same_object(const struct finder *f, const struct find_head *h)
{
	const struct find_head *end = f->heads + f->nheads, *at = h;

	while (at < end && at->object == h->object && at->at->kernel == h->at->kernel)
		at++;
	return (size_t)(at - h);
}

static int find_all(struct finder *f, struct err *e)
{
	uint64_t now;

	if (hash_init(&f->strings) < 0)
		return find_no_memory(e);
	if (find_add_string(f, "", 0, hash_name(""), e) < 0 || find_collect(f, e) < 0)
		return -e->no;
	for (size_t i = 0, n; i < f->nheads; i += n) {
		const struct find_head *h = &f->heads[i];

		n = find_same_object(f, h);
		now = nsec_now(CLOCK_PROCESS_CPUTIME_ID);
		f->until = now + (BOUNDED_SECONDS * NSEC_PER_SEC - now) / 2;
		if ((h->at->kernel           ? find_kernel
			    : h->object->pid ? find_made
					     : find_file)(f, h, n, e) < 0)
			return -e->no;
	}
	return find_flush_places(f, e);
}

static void find_free(struct finder *f)
{
	for (size_t i = 0; i < f->strings.nbuckets; i++)
		for (struct hash_node *n = f->strings.bucket[i], *next; n; n = next) {
			next = n->next;
			free(container_of(n, struct find_string, node));
		}
	hash_free(&f->strings);
	text_free(&f->pending);
	kallsyms_close(f->kernel);
	kcore_close(f->kcore);
	free(f->heads);
	free(f->shares);
	free(f);
}

static int find_share(struct finder *f, struct err *e)
{
	const struct recording *r = f->r;

	f->shares = calloc(r->nlocations + 1UL, sizeof(*f->shares));
	if (!f->shares)
		return find_no_memory(e);
	for (unsigned i = 0; i < r->nevents; i++) {
		const struct recorded_event *of = &r->events[i];

		for (size_t k = 0; k < of->nsamples; k++)
			f->shares[recording_first(r, &of->samples[k])->number] +=
				(double)of->samples[k].weight / (double)of->weight;
	}
	return 0;
}

/* Writes the names for @r, which was read by addresses. */
static int find_for(struct recording *r, const struct find_job *job, const struct find_dumps *dumps,
	struct data_writer *out, struct err *e)
{
	struct finder *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return find_no_memory(e);
	f->r = r;
	f->live = job->live;
	f->dumps = dumps;
	f->out = out;
	rc = find_share(f, e);
	if (rc == 0)
		rc = find_all(f, e);
	find_free(f);
	return rc;
}

/* Adds the functions of jitdumps to @records. A search without them is still one. */
static int find_made_functions(struct find_dumps *dumps, const struct find_job *job,
	struct data_file *records, struct data_writer *w, struct err *e)
{
	struct data_lost lost = {.count = 1, .kind = DATA_LOST_NAMES};
	struct err why = {0};

	if (find_dumps_open(dumps, job->live, &why) == 0 &&
		(!dumps->n || find_dumps_map(dumps, records, w, &why) == 0))
		return 0;
	return data_put(w, DATA_LOST, &lost, offsetof(struct data_lost, why), why.text, e);
}

/* Writes the names for the records of a file. */
static int find_here(void *of, struct err *e)
{
	const struct find_job *job = of;
	struct find_dumps dumps = {.n = 0};
	struct data_file records = *job->f;
	struct data_writer w;
	struct recording r;
	struct err why;
	int rc;

	if (data_create_in(&w, job->fd, e) < 0 ||
		(job->live && find_made_functions(&dumps, job, &records, &w, e) < 0) ||
		recording_take(&r, records, RECORDING_PLACES, e) < 0)
		return -e->no;
	rc = find_for(&r, job, &dumps, &w, e);
	if (data_close(&w, &why) < 0 && rc == 0)
		rc = err_copy(e, &why);
	return rc;
}

/* Does find_here() in another process. */
static int find_there(const struct data_file *f, const struct image *live, int fd, struct err *e)
{
	struct find_job job = {f, live, fd};

	return bounded_run(find_here, &job, "the search for names", e);
}

int find_names_into(
	struct data_file *f, const struct image *live, struct data_writer *out, struct err *e)
{
	CLEANUP_CLOSE int fd = memfd_create("names", MFD_CLOEXEC);
	struct err why = {0};
	int rc;

	if (fd < 0)
		return find_no_memory(e);
	rc = find_there(f, live, fd, e);
	data_unload(f);
	if (data_copy(out, fd, &why) == 0)
		return rc;
	*e = why;
	return -e->no;
}

int find_names_append(struct data_file *f, struct err *e)
{
	CLEANUP_CLOSE int fd = memfd_create("names", MFD_CLOEXEC);
	struct err why = {0};
	int rc;

	if (fd < 0)
		return find_no_memory(e);
	rc = find_there(f, NULL, fd, e);
	if (data_append(f, fd, &why) == 0)
		return rc;
	*e = why;
	return -e->no;
}

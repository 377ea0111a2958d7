// SPDX-License-Identifier: MIT
#include "tools/pfm/events/event_terms.h"

#include <errno.h>

#include "base/num.h"

/* A field of an event select, or the extra register. */
struct event_term {
	const char *name;
	uint64_t max;
	unsigned shift;
	bool extra;
};

static const struct event_term event_terms[] = {
	{"event", 0xfff, 0, false},
	{"umask", 0xff, 8, false},
	{"edge", 1, 18, false},
	{"inv", 1, 23, false},
	{"cmask", 0xff, 24, false},
	{"offcore_rsp", UINT64_MAX, 0, true},
	{"ldlat", UINT64_MAX, 0, true},
	{"frontend", UINT64_MAX, 0, true},
};
enum { NTERMS = sizeof(event_terms) / sizeof(event_terms[0]) };

static const struct event_term *event_term_find(struct slice name)
{
	for (unsigned i = 0; i < NTERMS; i++)
		if (slice_is(name, event_terms[i].name))
			return &event_terms[i];
	return NULL;
}

/* Events of AMD have four more bits, at bit 32. */
static int event_term_add(enum arch_encoding encoding, const struct event_term *t, uint64_t v,
	struct event_code *c, struct err *e)
{
	if (t->extra) {
		c->has_extra = true;
		c->extra = v;
	} else if (t->shift || v <= 0xff) {
		c->code |= v << t->shift;
	} else if (encoding == ARCH_AMD) {
		c->code |= (v & 0xff) | (v & 0xf00) << 24;
	} else {
		return err_set(e, ERANGE, "event: an event of this CPU has 8 bits");
	}
	return 0;
}

static int event_term_parse(
	enum arch_encoding encoding, struct slice text, struct event_code *c, struct err *e)
{
	struct slice value = text, name = slice_cut(&value, '=');
	const struct event_term *t = event_term_find(name);
	uint64_t v = 1;

	if (!t)
		return err_set(e, EINVAL,
			"no term '%.*s': the terms are event, umask, cmask, inv, edge, "
			"offcore_rsp, "
			"ldlat and frontend",
			SLICE_ARG(name));
	/* edge and inv default to 1. */
	if ((name.n != text.n || t->max != 1) && num_max(value, t->max, &v, e) < 0)
		return err_prefix(e, "%s", t->name);
	return event_term_add(encoding, t, v, c, e);
}

int event_terms_parse(
	enum arch_encoding encoding, struct slice text, struct event_code *c, struct err *e)
{
	struct slice rest = text, first = slice_cut(&rest, ',');
	int rc;

	if (!event_term_find(slice_cut(&first, '=')))
		return 1;
	*c = (struct event_code){0};
	do
		rc = event_term_parse(encoding, slice_cut(&text, ','), c, e);
	while (rc == 0 && text.n);
	return rc;
}

struct slice event_terms_cut(struct slice *list)
{
	struct slice event = {list->p, 0};
	bool inside = false, terms = false; /* between slashes; after an equals sign there */

	for (; event.n < list->n && (terms || list->p[event.n] != ','); event.n++) {
		char c = list->p[event.n];

		inside = inside != (c == '/');
		terms = inside && (terms || c == '=');
	}
	if (event.n < list->n)
		*list = (struct slice){event.p + event.n + 1, list->n - event.n - 1};
	else
		list->n = 0;
	return event;
}

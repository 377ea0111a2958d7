// SPDX-License-Identifier: MIT
#include "tools/pfm/events/event_code.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "tools/pfm/events/event.h"

enum { CMASK_MAX = 255 };

/* Fails if @again: the modifier was given before. */
static int event_set_once(bool again, struct slice word, struct err *e)
{
	return again ? err_set(e, EINVAL, "the modifier '%.*s' is given twice", SLICE_ARG(word))
		     : 0;
}

static int event_set_cmask(struct slice word, struct event_modifiers *m, struct err *e)
{
	uint64_t v;
	int rc = event_set_once(m->bits >> EVENT_SEL_CMASK, word, e);

	if (rc == 0)
		rc = num_max((struct slice){word.p + 2, word.n - 2}, CMASK_MAX, &v, e);
	if (rc == 0)
		m->bits |= v << EVENT_SEL_CMASK;
	return rc < 0 ? err_prefix(e, "modifier c=N") : 0;
}

static int event_set_letter(struct slice word, char c, struct event_modifiers *m, struct err *e)
{
	uint64_t bit = c == 'e' ? EVENT_SEL_EDGE : c == 'i' ? EVENT_SEL_INVERT : 0;
	unsigned level = c == 'u' ? EVENT_USER : c == 'k' ? EVENT_KERNEL : 0;
	int rc = event_set_once((m->bits & bit) || (m->level & level), word, e);

	m->precise += c == 'p';
	if (m->precise > EVENT_PRECISE_MAX)
		return err_set(
			e, EINVAL, "the modifier p is given more than %d times", EVENT_PRECISE_MAX);
	m->bits |= bit;
	m->level |= level;
	return rc;
}

static bool event_all_letters(struct slice word)
{
	for (size_t i = 0; i < word.n; i++)
		if (!memchr("ukpei", word.p[i], 5))
			return false;
	return word.n;
}

/* Parses a modifier. Returns 1 if @word is none. */
static int event_parse_modifier(struct slice word, struct event_modifiers *m, struct err *e)
{
	int rc = 0;

	if (slice_starts(word, "c="))
		return event_set_cmask(word, m, e);
	if (!event_all_letters(word))
		return 1;
	for (size_t i = 0; rc == 0 && i < word.n; i++)
		rc = event_set_letter(word, word.p[i], m, e);
	return rc;
}

int event_code_modifiers(struct slice *text, struct event_modifiers *m, struct err *e)
{
	int rc = 0;

	*m = (struct event_modifiers){0};
	while (rc == 0) {
		size_t at = text->n;

		while (at && text->p[at - 1] != ':')
			at--;
		if (!at)
			break;
		rc = event_parse_modifier((struct slice){text->p + at, text->n - at}, m, e);
		if (rc == 0)
			text->n = at - 1;
	}
	return rc < 0 ? rc : 0;
}

/* Parses r01c0, as perf does. */
static int event_parse_raw(struct slice word, uint64_t *v, struct err *e)
{
	char hex[24];

	if (word.n > 17)
		return err_set(e, ERANGE, "'%.*s' does not fit into 64 bits", SLICE_ARG(word));
	snprintf(hex, sizeof(hex), "0x%.*s", (int)word.n - 1, word.p + 1);
	return num_u64(slice_of(hex), v, e);
}

static bool event_is_raw(struct slice word)
{
	for (size_t i = 1; i < word.n; i++)
		if (!isxdigit((unsigned char)word.p[i]))
			return false;
	return word.n > 1 && word.p[0] == 'r';
}

int event_code_parse(struct slice text, struct event_code *c, struct err *e)
{
	size_t whole = text.n;
	struct slice word = slice_cut(&text, '+');
	int rc;

	*c = (struct event_code){.has_extra = word.n < whole};
	if (event_is_raw(word))
		rc = event_parse_raw(word, &c->code, e);
	else if (word.n && isdigit((unsigned char)word.p[0]) && !memchr(word.p, '_', word.n))
		rc = num_u64(word, &c->code, e);
	else
		return 1;
	if (rc == 0 && c->has_extra)
		rc = num_u64(text, &c->extra, e);
	return rc;
}

/* As in Linux: the tables intel_*_extra_regs of arch/x86/events/intel/core.c. */
uint32_t event_code_extra_addr(uint64_t code)
{
	switch (code & 0xffff) {
	case 0x01b7: /* OFFCORE_RESPONSE_0 */
	case 0x012a: /* OCR, from Golden Cove on */
		return 0x1a6;
	case 0x01bb: /* OFFCORE_RESPONSE_1 */
	case 0x012b:
		return 0x1a7;
	case 0x01cd: /* MEM_TRANS_RETIRED.LOAD_LATENCY */
		return 0x3f6;
	case 0x01c6: /* FRONTEND_RETIRED */
		return 0x3f7;
	}
	return 0;
}

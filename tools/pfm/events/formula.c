// SPDX-License-Identifier: MIT
/*
 * A formula is a sum of products of numbers, names and parentheses. Names may contain a minus sign,
 * as those of events do, so that a minus sign after a name needs a blank before it.
 */
#include "tools/pfm/events/formula.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

struct formula_parser {
	struct slice rest;
	formula_index_fn *index;
	const void *arg;
	struct formula *f;
	struct err *e;
	unsigned depth; /* nesting of parentheses */
};

static int formula_sum(struct formula_parser *p);

static int formula_push(struct formula_parser *p, struct formula_step step)
{
	if (p->f->n == FORMULA_STEPS)
		return err_set(p->e, EINVAL, "the formula has more than %d parts", FORMULA_STEPS);
	p->f->steps[p->f->n++] = step;
	return 0;
}

/* The next character that is not a blank; '\0' at the end. */
static char formula_next(struct formula_parser *p)
{
	p->rest = slice_trim(p->rest);
	return p->rest.n ? p->rest.p[0] : '\0';
}

static void formula_skip(struct formula_parser *p, size_t n)
{
	p->rest.p += n;
	p->rest.n -= n;
}

static bool formula_in_name(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.:-", c));
}

/* Parses digits and a fraction: no exponent, and a decimal point in any locale. */
static int formula_number(struct formula_parser *p)
{
	struct slice word = p->rest;
	double v = 0, scale = 0;
	size_t n = 0;

	for (; n < word.n && (isdigit((unsigned char)word.p[n]) || word.p[n] == '.'); n++) {
		if (word.p[n] == '.') {
			if (scale != 0)
				break;
			scale = 1;
			continue;
		}
		v = 10 * v + (word.p[n] - '0');
		scale *= 10;
	}
	if (n < word.n && formula_in_name(word.p[n]))
		return err_set(p->e, EINVAL, "'%.*s' begins with a digit, but is not a number",
			SLICE_ARG(word));
	formula_skip(p, n);
	return formula_push(p, (struct formula_step){.kind = FORMULA_NUMBER,
				       .number = scale != 0 ? v / scale : v});
}

static int formula_name(struct formula_parser *p)
{
	struct slice name = {p->rest.p, 0};
	int i;

	while (name.n < p->rest.n && formula_in_name(name.p[name.n]))
		name.n++;
	formula_skip(p, name.n);
	if (slice_is(name, "seconds"))
		return formula_push(p, (struct formula_step){.kind = FORMULA_SECONDS});
	i = p->index(p->arg, name);
	if (i < 0)
		return err_set(p->e, EINVAL,
			"'%.*s' is not an event of the group: put spaces around operators",
			SLICE_ARG(name));
	return formula_push(p, (struct formula_step){.kind = FORMULA_VALUE, .index = (unsigned)i});
}

static int formula_parentheses(struct formula_parser *p)
{
	int rc;

	if (p->depth == FORMULA_DEPTH)
		return err_set(p->e, EINVAL, "more than %d parentheses", FORMULA_DEPTH);
	p->depth++;
	formula_skip(p, 1);
	rc = formula_sum(p);
	p->depth--;
	if (rc < 0)
		return rc;
	if (formula_next(p) != ')')
		return err_set(p->e, EINVAL, "a closing parenthesis is missing");
	formula_skip(p, 1);
	return 0;
}

static int formula_operand(struct formula_parser *p)
{
	char c = formula_next(p);

	if (c == '(')
		return formula_parentheses(p);
	if (isdigit((unsigned char)c))
		return formula_number(p);
	if (isalpha((unsigned char)c) || c == '_')
		return formula_name(p);
	return err_set(p->e, EINVAL, "a number or a name is missing at '%.*s'", SLICE_ARG(p->rest));
}

/* Parses operands joined by @first or @second. */
static int formula_chain(struct formula_parser *p, int (*operand)(struct formula_parser *),
	char first, char second, const enum formula_kind kinds[2])
{
	int rc = operand(p);

	while (rc == 0) {
		char c = formula_next(p);

		if (c != first && c != second)
			break;
		formula_skip(p, 1);
		rc = operand(p);
		if (rc == 0)
			rc = formula_push(p, (struct formula_step){.kind = kinds[c == second]});
	}
	return rc;
}

static int formula_product(struct formula_parser *p)
{
	static const enum formula_kind kinds[] = {FORMULA_MULTIPLY, FORMULA_DIVIDE};

	return formula_chain(p, formula_operand, '*', '/', kinds);
}

static int formula_sum(struct formula_parser *p)
{
	static const enum formula_kind kinds[] = {FORMULA_ADD, FORMULA_SUBTRACT};

	return formula_chain(p, formula_product, '+', '-', kinds);
}

int formula_parse(struct slice text, formula_index_fn *index, const void *arg, struct formula *f,
	struct err *e)
{
	struct formula_parser p = {.rest = text, .index = index, .arg = arg, .f = f, .e = e};
	int rc;

	f->n = 0;
	rc = formula_sum(&p);
	if (rc == 0 && formula_next(&p))
		return err_set(e, EINVAL, "an operator is missing at '%.*s'", SLICE_ARG(p.rest));
	return rc;
}

static double formula_apply(enum formula_kind kind, double a, double b)
{
	switch (kind) {
	case FORMULA_ADD:
		return a + b;
	case FORMULA_SUBTRACT:
		return a - b;
	case FORMULA_MULTIPLY:
		return a * b;
	default:
		return b != 0 ? a / b : NAN;
	}
}

double formula_eval(const struct formula *f, const double *values, double seconds)
{
	double stack[FORMULA_STEPS] = {0};
	unsigned n = 0;

	for (const struct formula_step *s = f->steps; s < f->steps + f->n; s++) {
		if (s->kind == FORMULA_NUMBER) {
			stack[n++] = s->number;
		} else if (s->kind == FORMULA_VALUE) {
			stack[n++] = values[s->index];
		} else if (s->kind == FORMULA_SECONDS) {
			stack[n++] = seconds;
		} else {
			n--;
			stack[n - 1] = formula_apply(s->kind, stack[n - 1], stack[n]);
		}
	}
	return isfinite(stack[0]) ? stack[0] : NAN;
}

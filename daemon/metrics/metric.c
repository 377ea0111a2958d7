// SPDX-License-Identifier: MIT
#include "daemon/metrics/metric.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"

/* Prefixes of the daemon's own names. */
static const char *const metric_reserved[] = {"build", "count", "context", "daemon", "machine"};

static bool metric_name_ok(struct slice s)
{
	if (!s.n || s.n >= METRIC_NAME || s.p[0] < 'a' || s.p[0] > 'z')
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && num_digit(s.p[i], 10) < 0 && s.p[i] != '_')
			return false;
	return true;
}

static bool metric_name_ends(struct slice s, const char *end)
{
	size_t n = strlen(end);

	return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

static int metric_check_name(struct slice s, struct err *e)
{
	struct slice rest = s, first = slice_cut(&rest, '_');

	if (!metric_name_ok(s))
		return err_set(e, EINVAL,
			"'%.*s' is not a metric name: write a lower-case letter, then lower-case "
			"letters, digits and _, at most %d characters",
			SLICE_ARG(s), METRIC_NAME - 1);
	if (metric_name_ends(s, "_total"))
		return err_set(e, EINVAL,
			"'%.*s' ends in _total, which is added later: leave it out", SLICE_ARG(s));
	for (size_t i = 0; i < sizeof(metric_reserved) / sizeof(metric_reserved[0]); i++)
		if (slice_is(first, metric_reserved[i]))
			return err_set(e, EINVAL,
				"names with %s are the daemon's own: choose another name",
				metric_reserved[i]);
	return 0;
}

/* Parses a divisor. It is a power of ten, so that quotients have an exact decimal form. */
static int metric_parse_divisor(struct slice s, unsigned *digits, struct err *e)
{
	uint64_t n = 0, power = 1;
	int rc = num_u64(s, &n, e);

	if (rc < 0)
		return rc;
	for (*digits = 0; power < n && *digits < METRIC_DIGITS; (*digits)++)
		power *= 10;
	return power == n ? 0
			  : err_set(e, EINVAL,
				    "'%.*s' is not a divisor: write 1, 10, 100, ... or 1000000000",
				    SLICE_ARG(s));
}

static int metric_parse_name(struct slice word, struct metric *m, struct err *e)
{
	struct slice rest = word, name = slice_cut(&rest, '/');
	int rc = metric_check_name(name, e);

	m->digits = 0;
	if (rc == 0 && name.n < word.n)
		rc = metric_parse_divisor(rest, &m->digits, e);
	if (rc < 0)
		return rc;
	memcpy(m->name, name.p, name.n);
	m->name[name.n] = '\0';
	return 0;
}

static int metric_parse_help(struct slice s, struct metric *m, struct err *e)
{
	m->help[0] = '\0';
	if (!s.n)
		return 0;
	if (s.n < 2 || s.p[0] != '"' || s.p[s.n - 1] != '"')
		return err_set(e, EINVAL,
			"'%.*s' does not end the line with a description: put it last, in double "
			"quotes",
			SLICE_ARG(s));
	s.p++;
	s.n -= 2;
	if (s.n >= METRIC_HELP)
		return err_set(e, EINVAL, "the description has %zu characters: write at most %d",
			s.n, METRIC_HELP - 1);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < ' ' || s.p[i] > '~' || s.p[i] == '"')
			return err_set(e, EINVAL,
				"the description has a double quote or a character that is not "
				"printable ASCII: leave it out");
	memcpy(m->help, s.p, s.n);
	m->help[s.n] = '\0';
	return 0;
}

static int metric_parse_register(
	struct slice word, const struct pmu *pmu, struct metric *m, struct err *e)
{
	struct slice number = word;
	uint64_t num;
	int rc;

	if (!slice_starts(word, "pmd"))
		return err_set(e, EINVAL,
			"'%.*s' is not a PMD: write '[set=ID] pmdN NAME[/DIVISOR] "
			"[\"DESCRIPTION\"]', or 'threads'",
			SLICE_ARG(word));
	number.p += 3;
	number.n -= 3;
	rc = num_max(number, UINT16_MAX, &num, e);
	if (rc < 0)
		return rc;
	if (pmu_find_pmd(pmu, (unsigned)num) < 0)
		return err_set(e, ENOENT,
			"pmd%u does not exist or is virtual: choose another one of pmu/pmds",
			(unsigned)num);
	m->num = (uint16_t)num;
	return 0;
}

static int metric_parse_set(struct slice *line, uint16_t *set, struct err *e)
{
	struct slice rest = *line, word = slice_word(&rest);
	uint64_t id = 0;
	int rc = 0;

	if (slice_starts(word, "set=")) {
		word.p += 4;
		word.n -= 4;
		rc = num_max(word, UINT16_MAX, &id, e);
		if (rc < 0)
			err_prefix(e, "set");
		*line = rest;
	}
	*set = (uint16_t)id;
	return rc;
}

static int metric_parse_line(
	struct slice line, const struct pmu *pmu, struct metric *m, struct err *e)
{
	int rc = metric_parse_set(&line, &m->set, e);

	if (rc == 0)
		rc = metric_parse_register(slice_word(&line), pmu, m, e);
	if (rc == 0)
		rc = metric_parse_name(slice_word(&line), m, e);
	if (rc == 0)
		rc = metric_parse_help(slice_trim(line), m, e);
	return rc;
}

/* Refuses duplicates: two samples with the same name and labels would contradict each other. */
static int metric_check_other(const struct metric_list *list, struct err *e)
{
	const struct metric *last = &list->metric[list->n];

	for (const struct metric *m = list->metric; m < last; m++)
		if (strcmp(m->name, last->name) == 0)
			return err_set(e, EINVAL, "two counts are named '%s': rename one", m->name);
	return 0;
}

static int metric_parse_next(
	struct slice line, const struct pmu *pmu, struct metric_list *list, struct err *e)
{
	int rc;

	if (slice_is(slice_trim(line), "threads")) {
		list->threads = true;
		return 0;
	}
	if (list->n == METRICS_MAX)
		return err_set(
			e, EINVAL, "the text has more than %d counts: name fewer", METRICS_MAX);
	rc = metric_parse_line(line, pmu, &list->metric[list->n], e);
	if (rc == 0)
		rc = metric_check_other(list, e);
	if (rc == 0)
		list->n++;
	return rc;
}

int metrics_parse(struct slice text, const struct pmu *pmu, struct metric_list *list, struct err *e)
{
	list->threads = false;
	list->n = 0;
	for (unsigned n = 1; text.n; n++)
		if (metric_parse_next(slice_cut(&text, '\n'), pmu, list, e) < 0)
			return err_prefix(e, "line %u", n);
	return 0;
}

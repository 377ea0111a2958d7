// SPDX-License-Identifier: MIT
/*
 * The lines of config/grants, which are also those of the file that keeps them: what is accepted is
 * in range, one grant for each user and CPU, and can be shown and applied again; a damaged file is
 * refused with a sentence.
 */
#include "tests/fuzz/fuzz.h"

#include "daemon/authz/grants.h"

enum { NOW = 1000 };

static void check_table(const struct grants *g)
{
	CHECK(g->n <= GRANTS_MAX);
	for (unsigned i = 0; i < g->n; i++) {
		const struct grant *a = &g->grant[i];
		bool any = false;

		CHECK(a->uid != 0 && a->uid != (uid_t)-1);
		CHECK(!a->expires || (a->expires > NOW && a->expires <= GRANT_EXPIRES_MAX));
		for (unsigned w = 0; w < CPUS_MAX / 64; w++)
			any |= a->cpus.bits[w] != 0;
		CHECK(any);
		for (unsigned j = 0; j < i; j++) {
			const struct grant *b = &g->grant[j];

			if (a->uid != b->uid)
				continue;
			CHECK(a->kernel != b->kernel || a->expires != b->expires);
			for (unsigned w = 0; w < CPUS_MAX / 64; w++)
				CHECK(!(a->cpus.bits[w] & b->cpus.bits[w]));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TEXT_CLEANUP struct text shown = {0}, again = {0}, changes = {0};
	struct grants g = {0}, copy = {0};
	struct err e;
	int rc = grants_apply(&g, slice_of_input(data, size), NOW, &changes, &e);

	if (rc < 0) {
		check_refusal(rc, &e);
		CHECK(e.no == EINVAL || e.no == ERANGE || e.no == ENOSPC);
		grants_free(&g);
		return 0;
	}
	check_table(&g);
	grants_show(&g, &shown);
	CHECK(grants_apply(&copy, slice_of_text(&shown), NOW, NULL, &e) == 0);
	grants_show(&copy, &again);
	CHECK(shown.n == again.n && (!shown.n || memcmp(shown.p, again.p, shown.n) == 0));
	grants_free(&copy);
	/* What was understood of each line has the same effect as the line. */
	CHECK(grants_apply(&copy, slice_of_text(&changes), NOW, NULL, &e) == 0);
	check_table(&copy);
	text_clear(&again);
	grants_show(&copy, &again);
	CHECK(shown.n == again.n && (!shown.n || memcmp(shown.p, again.p, shown.n) == 0));
	grants_free(&copy);
	grants_free(&g);
	return 0;
}

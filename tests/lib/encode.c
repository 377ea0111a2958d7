// SPDX-License-Identifier: MIT
/*
 * Names of events by libpfmfs, as `pfm encode` prints them:
 *   encode MNT               the names of all events, one a line
 *   encode MNT EVENT         pmcN VALUE
 *   encode MNT EVENT EVENT   the lines for regs, then "pmds N N"
 * Without a value, it prints the errno and the sentence, and exits with 1.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perfmonfs/events.h"
#include "tests/lib/check.h"

static int fail(void)
{
	printf("%s %s\n", strerrorname_np(errno), pfm_encode_error());
	return 1;
}

static int encode_one(const char *mount, const char *event)
{
	unsigned pmc;
	uint64_t value;

	if (pfm_encode_event(mount, event, &pmc, &value) < 0)
		return fail();
	IS(*pfm_encode_error(), '\0');
	printf("pmc%u 0x%" PRIx64 "\n", pmc, value);
	return 0;
}

static int encode_all(const char *mount, const char *const events[], unsigned n)
{
	unsigned pmds[PFM_ENCODE_MAX];
	char regs[4096];

	if (pfm_encode_regs(mount, events, n, pmds, regs, sizeof(regs)) < 0)
		return fail();
	/* Exactly enough room is enough; a byte less is not. */
	IS(pfm_encode_regs(mount, events, n, pmds, regs, strlen(regs) + 1), 0);
	printf("%spmds", regs);
	for (unsigned i = 0; i < n; i++)
		printf(" %u", pmds[i]);
	printf("\n");
	IS(pfm_encode_regs(mount, events, n, pmds, regs, strlen(regs)), -1);
	IS(errno, ENOBUFS);
	return 0;
}

/* Each name that is listed has a value, which can be asked for at once. */
static void print_name(void *arg, const char *name, const char *desc)
{
	const char *mount = arg;
	unsigned pmc;
	uint64_t value;

	(void)desc;
	IS(pfm_encode_event(mount, name, &pmc, &value), 0);
	printf("%s\n", name);
}

static int list(const char *mount)
{
	IS(pfm_list_events(NULL, print_name, NULL), -1);
	IS(errno, EINVAL);
	return pfm_list_events(mount, print_name, (void *)(uintptr_t)mount) < 0 ? fail() : 0;
}

int main(int argc, char **argv)
{
	unsigned pmc;
	uint64_t value;

	IS(pfm_encode_event(NULL, "cycles", &pmc, &value), -1);
	IS(errno, EINVAL);
	IS(pfm_encode_regs(argv[1], NULL, 0, NULL, NULL, 0), -1);
	IS(errno, EINVAL);
	IS(pfm_encode_event(argv[1], NULL, &pmc, &value), -1);
	IS(errno, EINVAL);
	IS(pfm_encode_regs(argv[1], (const char *const[]){"cycles", NULL}, 2, NULL, NULL, 0), -1);
	IS(errno, EINVAL);
	if (argc == 2)
		return list(argv[1]);
	return argc == 3 ? encode_one(argv[1], argv[2])
			 : encode_all(argv[1], (const char *const *)&argv[2], (unsigned)argc - 2);
}

// SPDX-License-Identifier: MIT
/*
 * Smoke runs of a fuzzer without libFuzzer: every file of the corpus, then inputs mutated from
 * them. The same seed gives the same inputs. One that makes the fuzzer abort is dumped in the
 * shell's printf notation.
 *
 *   fuzz_NAME [-n INPUTS] [-s SEED] CORPUS_DIR...
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>

#include "base/cleanup.h"
#include "base/num.h"

enum {
	MAX_SIZE = 8192,
	MAX_SEEDS = 64,
	MUTATIONS = 6, /* at most, one upon the other */
};

struct input {
	uint8_t p[MAX_SIZE];
	size_t n;
};

static struct input seeds[MAX_SEEDS];
static unsigned nseeds;
static struct input current;
static uint64_t random_state;

static unsigned below(size_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state % n);
}

/* Replaces @gone bytes at @at by @n of @p, as far as there is room. */
static void replace(struct input *in, size_t at, size_t gone, const void *p, size_t n)
{
	size_t tail = in->n - at - gone;

	if (in->n - gone + n > MAX_SIZE)
		return;
	memmove(in->p + at + n, in->p + at + gone, tail);
	memcpy(in->p + at, p, n);
	in->n = at + n + tail;
}

/* What parsers of numbers, lists and lines stumble over. */
static const char *const tokens[] = {"0", "1", "-", "=", ",", " ", "\t", "\n", "#", "0x", "010",
	"none", "65535", "4294967295", "4294967296", "9223372036854775808", "18446744073709551615",
	"18446744073709551616", "0xffffffffffffffff", "\x7f", "\xff"};

enum { NTOKENS = sizeof(tokens) / sizeof(tokens[0]) };

static void mutate(struct input *in)
{
	const struct input *other = &seeds[below(nseeds)];
	size_t at = below(in->n + 1), n = below(in->n - at + 1), from = below(other->n + 1);
	const char *token = tokens[below(NTOKENS)];
	uint8_t byte = (uint8_t)below(256);

	switch (below(7)) {
	case 0:
		if (at < in->n)
			in->p[at] ^= (uint8_t)(1u << below(8));
		break;
	case 1:
		replace(in, at, at < in->n, &byte, 1);
		break;
	case 2:
		replace(in, at, 0, &byte, 1);
		break;
	case 3:
		replace(in, at, n, "", 0);
		break;
	case 4:
		replace(in, at, 0, token, strlen(token));
		break;
	case 5:
		replace(in, at, n, token, strlen(token));
		break;
	case 6:
		if (below(2))
			n = 0;
		replace(in, at, n, other->p + from, below(other->n - from + 1));
		break;
	}
}

/* From memory of exactly its size, so that AddressSanitizer sees a byte read too many. */
static void run_current(void)
{
	CLEANUP_FREE uint8_t *exact = malloc(current.n ? current.n : 1);

	CHECK(exact);
	memcpy(exact, current.p, current.n);
	LLVMFuzzerTestOneInput(exact, current.n);
}

static void dump_current(int sig)
{
	dprintf(STDERR_FILENO, "reproduce with: printf '");
	for (size_t i = 0; i < current.n; i++)
		dprintf(STDERR_FILENO, "\\%03o", current.p[i]);
	dprintf(STDERR_FILENO, "'\n");
	signal(sig, SIG_DFL);
	raise(sig);
}

static bool load_file(int dir, const char *name)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	struct input *in = &seeds[nseeds];
	ssize_t n = fd < 0 || nseeds == MAX_SEEDS ? -1 : read(fd, in->p, sizeof(in->p));

	if (n < 0)
		return false;
	in->n = (size_t)n;
	nseeds++;
	return true;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_seed(const struct dirent *de)
{
	return de->d_name[0] != '.';
}

/* In the order of names: that of the directory would make the same seed give other inputs. */
static bool load_dir(const char *path)
{
	CLEANUP_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names;
	int n = dir < 0 ? -1 : scandirat(dir, ".", &names, is_seed, by_name);
	bool ok = n > 0;

	for (int i = 0; i < n; i++) {
		ok = ok && load_file(dir, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return ok;
}

static void run_all(uint64_t mutants)
{
	for (unsigned i = 0; i < nseeds; i++) {
		current = seeds[i];
		run_current();
	}
	while (mutants--) {
		current = seeds[below(nseeds)];
		for (unsigned i = 1 + below(MUTATIONS); i; i--)
			mutate(&current);
		run_current();
	}
}

static bool option(const char *arg, uint64_t *v)
{
	struct err e;

	return num_u64(slice_of(arg), v, &e) == 0;
}

int main(int argc, char **argv)
{
	uint64_t mutants = 20000, seed = 1;
	bool ok = true;
	int opt;

	while ((opt = getopt(argc, argv, "n:s:")) != -1)
		ok = ok && opt != '?' && option(optarg, opt == 'n' ? &mutants : &seed);
	for (int i = optind; i < argc; i++)
		ok = ok && load_dir(argv[i]);
	if (!ok || !nseeds || !seed) {
		fprintf(stderr,
			"usage: %s [-n INPUTS] [-s SEED] CORPUS_DIR... (of 1 to %d files)\n",
			argv[0], MAX_SEEDS);
		return 2;
	}
	random_state = seed;
	signal(SIGABRT, dump_current);
	printf("1..1\n# seed %" PRIu64 "\n", seed);
	fflush(stdout);
	run_all(mutants);
	printf("ok 1 - %s %" PRIu64 " inputs\n", program_invocation_short_name, nseeds + mutants);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * smplread [-w] [-b N] CONTEXT SAMPLES RANGES: the tool of a running context with the format
 * "default", whose samples have bodies of N values (0). Takes what is in the buffer at each
 * notification, restarts, and ends when it has SAMPLES of them in functions of RANGES, which has
 * lines "NAME START END". Then prints, all times in ns:
 *
 *	samples N	weight N (overflows)	rounds N	polls N (by -w)		lost N
 *	count PID TID FUNCTION SAMPLES WEIGHT	"kernel" or "-" at other addresses
 *	latency MEDIAN 90% 99% MAX		from the last sample to the end of read
 *	elapsed N				from the first sample to the last
 *
 * What the format promises of its layout is checked; a breach ends it.
 *
 *	-w  it is looked at all the time, too, not only when there is a message
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "perfmonfs/msg.h"
#include "perfmonfs/smpl_dfl.h"

enum { MAX_FUNCTIONS = 16, MAX_ROWS = 1 << 17, MAX_ROUNDS = 1 << 20 };

static struct {
	char name[16];
	uint64_t start, end;
} functions[MAX_FUNCTIONS];
static unsigned nfunctions;

/* From the thread's own number on; those without samples are free. A busy machine runs very many.
 */
static struct row {
	uint32_t pid, tid;
	const char *function;
	uint64_t samples, weight;
} rows[MAX_ROWS];
static unsigned nrows;

static uint64_t samples, known, weight, rounds, polls, first_ns, last_ns;
static uint64_t latency[MAX_ROUNDS];
static size_t entry_size = sizeof(pfm_dfl_smpl_entry_t);

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int open_file(const char *name, int flags)
{
	int fd = open(name, flags);

	if (fd < 0)
		err(1, "%s", name);
	return fd;
}

static void read_ranges(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256];

	if (!f)
		err(1, "%s", path);
	while (nfunctions < MAX_FUNCTIONS && fgets(line, sizeof(line), f))
		if (sscanf(line, "%15s 0x%" SCNx64 " 0x%" SCNx64, functions[nfunctions].name,
			    &functions[nfunctions].start, &functions[nfunctions].end) == 3)
			nfunctions++;
	fclose(f);
}

static const char *function_at(uint64_t ip)
{
	for (unsigned i = 0; i < nfunctions; i++)
		if (ip >= functions[i].start && ip < functions[i].end)
			return functions[i].name;
	return ip >> 63 ? "kernel" : "-";
}

static void add(const pfm_dfl_smpl_entry_t *e)
{
	const char *function = function_at(e->ip);
	unsigned i = e->pid % MAX_ROWS;

	while (rows[i].samples &&
		(rows[i].tid != e->pid || rows[i].pid != e->tgid || rows[i].function != function))
		i = (i + 1) % MAX_ROWS;
	if (!rows[i].samples) {
		if (++nrows == MAX_ROWS)
			errx(1, "more than %u threads", MAX_ROWS);
		rows[i] = (struct row){e->tgid, e->pid, function, 0, 0};
	}
	rows[i].samples++;
	rows[i].weight += e->ovfl_count;
	samples++;
	known += *function != '-' && *function != 'k';
	weight += e->ovfl_count;
}

/* The first @hdr->hdr_count samples, which are whole at any time; returns the last one's time. */
static uint64_t walk(const unsigned char *buf, uint64_t count, uint64_t after, bool take)
{
	pfm_dfl_smpl_entry_t e;

	for (uint64_t i = 0; i < count; i++) {
		memcpy(&e, buf + sizeof(pfm_dfl_smpl_hdr_t) + i * entry_size, sizeof(e));
		if (!e.ovfl_count || e.tstamp < after)
			errx(1,
				"sample %" PRIu64 " of %" PRIu64 ": count %u, time %" PRIu64
				" after %" PRIu64,
				i, count, e.ovfl_count, e.tstamp, after);
		after = e.tstamp;
		if (!take)
			continue;
		if (!first_ns)
			first_ns = e.tstamp;
		add(&e);
	}
	return after;
}

static uint64_t count_of(const unsigned char *buf)
{
	uint64_t n =
		__atomic_load_n(&((const pfm_dfl_smpl_hdr_t *)buf)->hdr_count, __ATOMIC_ACQUIRE);
	uint64_t size = ((const pfm_dfl_smpl_hdr_t *)buf)->hdr_buf_size;

	if (sizeof(pfm_dfl_smpl_hdr_t) + n * entry_size > size)
		errx(1, "%" PRIu64 " samples in %" PRIu64 " bytes", n, size);
	return n;
}

/* Until there is a message, the buffer grows under our eyes. */
static void watch(const unsigned char *buf, int msg)
{
	struct pollfd p = {.fd = msg, .events = POLLIN};
	uint64_t had = 0;

	while (poll(&p, 1, 0) == 0) {
		uint64_t n = count_of(buf);

		if (n < had)
			errx(1, "%" PRIu64 " samples, after %" PRIu64, n, had);
		had = n;
		walk(buf, n, last_ns, false);
		polls++;
	}
}

static void notified(const unsigned char *buf, uint64_t read_ns)
{
	uint64_t n = count_of(buf);
	const pfm_dfl_smpl_hdr_t *hdr = (const void *)buf;

	if (!n || hdr->hdr_cur_offs != sizeof(*hdr) + n * entry_size ||
		hdr->hdr_buf_size - hdr->hdr_cur_offs >= hdr->hdr_min_buf_space)
		errx(1, "notified with %" PRIu64 " samples, up to %" PRIu64, n, hdr->hdr_cur_offs);
	last_ns = walk(buf, n, last_ns, true);
	if (rounds == MAX_ROUNDS)
		errx(1, "too many rounds: take a larger buffer");
	latency[rounds++] = read_ns - last_ns;
}

static int compare(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static void print(const unsigned char *buf)
{
	const pfm_dfl_smpl_hdr_t *hdr = (const void *)buf;

	printf("samples %" PRIu64 "\nweight %" PRIu64 "\nrounds %" PRIu64 "\npolls %" PRIu64
	       "\nlost %" PRIu64 "\n",
		samples, weight, rounds, polls, hdr->hdr_lost);
	for (unsigned i = 0; i < MAX_ROWS; i++)
		if (rows[i].samples)
			printf("count %" PRIu32 " %" PRIu32 " %s %" PRIu64 " %" PRIu64 "\n",
				rows[i].pid, rows[i].tid, rows[i].function, rows[i].samples,
				rows[i].weight);
	qsort(latency, rounds, sizeof(*latency), compare);
	printf("latency %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\nelapsed %" PRIu64 "\n",
		latency[rounds / 2], latency[rounds * 9 / 10], latency[rounds * 99 / 100],
		latency[rounds - 1], last_ns - first_ns);
}

static const unsigned char *map_buffer(void)
{
	int fd = open_file("buffer", O_RDONLY);
	struct stat st;
	unsigned char *p;

	if (fstat(fd, &st) < 0)
		err(1, "buffer");
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		err(1, "buffer");
	if (!pfm_smpl_has_tag(p, PFM_DFL_SMPL_TAG))
		errx(1, "the buffer is not of the format " PFM_DFL_SMPL_NAME);
	return p;
}

int main(int argc, char **argv)
{
	bool watching = false;
	const unsigned char *buf;
	uint64_t wanted, read_ns;
	struct pfm_msg m;
	int c, ctl, msg;

	while ((c = getopt(argc, argv, "wb:")) != -1) {
		watching |= c == 'w';
		if (c == 'b')
			entry_size += strtoul(optarg, NULL, 10) * 8;
	}
	if (argc - optind != 3)
		errx(2, "usage: smplread [-w] [-b N] CONTEXT SAMPLES RANGES");
	read_ranges(argv[optind + 2]);
	wanted = strtoull(argv[optind + 1], NULL, 10);
	if (chdir(argv[optind]) < 0)
		err(1, "%s", argv[optind]);
	ctl = open_file("ctl", O_WRONLY);
	msg = open_file("msg", O_RDONLY);
	buf = map_buffer();
	for (;;) {
		if (watching)
			watch(buf, msg);
		if (read(msg, &m, sizeof(m)) != sizeof(m) || m.type != PFM_MSG_OVFL)
			err(1, "message of type %#x", m.type);
		read_ns = now();
		notified(buf, read_ns);
		if (known >= wanted)
			break;
		if (pwrite(ctl, "restart", 7, 0) < 0)
			err(1, "restart");
	}
	print(buf);
	return 0;
}

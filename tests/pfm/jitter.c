// SPDX-License-Identifier: MIT
/*
 * jitter FOLDER N [UID]: makes functions and describes them in FOLDER/jit-PID.dump: "first" and
 * "second" at one address, one after the other, whose work is as 2 to 1, then "moved" with as much
 * work as "second", half of it at another address. Each loops N times its share. With UID, the file
 * is that user's.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* dec %rdi; jnz; ret */
static const unsigned char loop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};

static FILE *dump;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void put(const void *p, size_t n)
{
	if (n && fwrite(p, n, 1, dump) != 1)
		err(1, "the dump");
}

static void put_record(
	uint32_t type, const void *body, size_t n, const char *name, const void *code)
{
	const struct {
		uint32_t type, size;
		uint64_t time;
	} rec = {type,
		(uint32_t)(sizeof(rec) + n + (name ? strlen(name) + 1 : 0) +
			   (code ? sizeof(loop) : 0)),
		now()};

	put(&rec, sizeof(rec));
	put(body, n);
	if (name)
		put(name, strlen(name) + 1);
	if (code)
		put(code, sizeof(loop));
	fflush(dump);
}

static void load(void *at, uint64_t index, const char *name)
{
	const struct {
		uint64_t address, n, line_address;
		uint32_t line, discriminator;
	} lines = {(uintptr_t)at, 1, (uintptr_t)at, (uint32_t)(10 * index), 0};
	const struct {
		uint32_t pid, tid;
		uint64_t vma, address, size, index;
	} body = {(uint32_t)getpid(), (uint32_t)getpid(), (uintptr_t)at, (uintptr_t)at,
		sizeof(loop), index};

	memcpy(at, loop, sizeof(loop));
	put_record(2, &lines, sizeof(lines), "/nowhere/source.js", NULL);
	put_record(0, &body, sizeof(body), name, loop);
}

static void move(void *from, void *to, uint64_t index)
{
	const struct {
		uint32_t pid, tid;
		uint64_t vma, from, to, size, index;
	} body = {(uint32_t)getpid(), (uint32_t)getpid(), (uintptr_t)to, (uintptr_t)from,
		(uintptr_t)to, sizeof(loop), index};

	memcpy(to, loop, sizeof(loop));
	put_record(1, &body, sizeof(body), NULL, NULL);
}

static void run(void *at, unsigned long times)
{
	((void (*)(unsigned long))(uintptr_t)at)(times);
}

/* Begins the dump, and maps it, by which profilers find it. */
static void begin(const char *folder, const char *uid)
{
	const struct {
		uint32_t magic, version, size, machine, reserved, pid;
		uint64_t time, flags;
	} head = {0x4A695444, 1, sizeof(head), 62, 0, (uint32_t)getpid(), now(), 0};
	char path[4096];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, getpid());
	dump = fopen(path, "w+");
	if (!dump || (uid && fchown(fileno(dump), (uid_t)atoi(uid), 0) < 0))
		err(1, "%s", path);
	put(&head, sizeof(head));
	fflush(dump);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		err(1, "mmap");
}

int main(int argc, char **argv)
{
	const size_t size = 1 << 16;
	char *p = mmap(
		NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long n;

	if (argc < 3 || p == MAP_FAILED)
		errx(2, "usage: jitter FOLDER N [UID]");
	n = strtoul(argv[2], NULL, 10);
	begin(argv[1], argv[3]);
	load(p, 1, "first");
	run(p, 2 * n);
	load(p, 2, "second");
	run(p, n);
	load(p + 256, 3, "moved");
	run(p + 256, n / 2);
	move(p + 256, p + 4096, 3);
	run(p + 4096, n / 2);
	/* A sanitizer's exit handler does not work in a traced process. */
	_exit(fclose(dump) != 0);
}

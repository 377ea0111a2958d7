/* SPDX-License-Identifier: MIT */
/*
 * Shared by the programs that test libperfmonfs. PERFMONFS is the mount; its backend is the
 * simulator. A failure says where and what, and the program ends with 1.
 */
#ifndef TESTS_LIB_CHECK_H
#define TESTS_LIB_CHECK_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* A call that succeeds with 0, or gives @wanted. */
#define OK(call)          check_is(__FILE__, __LINE__, #call, (call), 0)
#define IS(value, wanted) check_is(__FILE__, __LINE__, #value, (long long)(value), (wanted))
/* A call that gives -1, with that errno. */
#define FAILS(call, error) check_fails(__FILE__, __LINE__, #call, (call), error)
/* One that gives a descriptor. */
#define FD(call) check_fd(__FILE__, __LINE__, #call, (call))

void check_is(const char *file, int line, const char *what, long long is, long long wanted);
void check_fails(const char *file, int line, const char *what, long long rc, int error);
int check_fd(const char *file, int line, const char *what, int fd);

#define CLEAR(x) memset(&(x), 0, sizeof(x))
/* As a variable may be that nothing was stored to. */
#define GARBAGE(x) memset(&(x), 0xaa, sizeof(x))
/* No address of anything. */
#define NOWHERE ((void *)16)

/* A mapping that fails with EINVAL. */
#define NO_MAP(size, prot, flags, fd, offset)                                                      \
	do {                                                                                       \
		IS(mmap(NULL, (size), (prot), (flags), (fd), (offset)) == MAP_FAILED, 1);          \
		IS(errno, EINVAL);                                                                 \
	} while (0)

/* Lets model time pass. */
void advance(uint64_t ns);
/* The number in a file below the mount. */
uint64_t number_in(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whether a file below the mount begins with that. */
bool file_says(const char *path, const char *beginning);
/* A file below the mount that has that line. */
#define HAS(wanted, ...) check_has(__FILE__, __LINE__, (wanted), __VA_ARGS__)
void check_has(const char *file, int line, const char *wanted, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Writes that to a file below the mount. */
void write_to(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Opens a file below the mount. */
int open_file(const char *path);
/* Has the caller run on that CPU alone. */
void run_on(int cpu);
/* Causes so many page faults, at user level. */
void fault(int n);
/* The only context there is; its number. */
unsigned long the_context(void);
/* How many contexts there are. */
int contexts(void);
/* Waits until there are none: the kernel may send the last close later. */
void all_gone(void);
/* A child that exits with 0. */
void ends_well(pid_t pid);
/* One of so many that are no contexts: closed, of other things, of the mount. */
enum { BAD_DESCRIPTORS = 6 };
int bad_descriptor(unsigned i);

/* Counts instructions of user level on PMC 0 of the simulated PMU. */
enum { INSTRUCTIONS = 0x4100c0 };

#endif

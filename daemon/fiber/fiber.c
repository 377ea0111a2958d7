// SPDX-License-Identifier: MIT
/*
 * _setjmp() and _longjmp() switch in about 30 ns: swapcontext() would take two system calls, for
 * signal masks that are all alike here. The checks of _FORTIFY_SOURCE take a jump to another stack
 * for an error.
 */
#undef _FORTIFY_SOURCE
#include "daemon/fiber/fiber.h"

#include <errno.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#elif __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define FIBER_TSAN 1
#endif

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* A stack, as sanitizers see it. */
struct fiber_side {
	jmp_buf env;
	const void *stack;
	size_t size;
	/* AddressSanitizer's copy of the frames. */
	void *frames;
	/* ThreadSanitizer's fiber. */
	void *tsan;
};

/* Lies at the upper end of its stack. */
struct fiber {
	void (*fn)(void *arg);
	void *arg;
	bool ended;
	/* For fiber_outside(); NULL: none. */
	void (*outside)(void *arg);
	void *outside_arg;
	/* The start of its memory, which is the guard page. */
	void *memory;
	/* The fiber, and the code that runs it: the session thread's stack or another fiber. */
	struct fiber_side own, outer;
	struct fiber *outer_fiber;
	/* In fibers.kept. */
	struct fiber *next;
};

static _Thread_local struct {
	/* The fiber that runs; NULL: none. */
	struct fiber *current;
	/* Fibers whose function has returned, for other functions. */
	struct fiber *kept;
	unsigned nkept;
} fibers;

/* Before a jump from @from to @to. */
static void fiber_leave(struct fiber_side *from, const struct fiber_side *to)
{
	(void)from, (void)to;
#ifdef FIBER_ASAN
	__sanitizer_start_switch_fiber(&from->frames, to->stack, to->size);
#endif
#ifdef FIBER_TSAN
	__tsan_switch_to_fiber(to->tsan, 0);
#endif
}

/* After a jump from @from to @to. */
static void fiber_arrive(struct fiber_side *from, const struct fiber_side *to)
{
	(void)from, (void)to;
#ifdef FIBER_ASAN
	__sanitizer_finish_switch_fiber(to->frames, &from->stack, &from->size);
#endif
}

/* Returns when something jumps back to @from. */
static void fiber_switch(struct fiber_side *from, struct fiber_side *to)
{
	if (!_setjmp(from->env)) {
		fiber_leave(from, to);
		_longjmp(to->env, 1);
	}
	fiber_arrive(to, from);
}

/* The first function on each stack. It serves one fiber after another. */
static void fiber_main(void)
{
	struct fiber *f = fibers.current;

	fiber_arrive(&f->outer, &f->own);
	for (;;) {
		f->fn(f->arg);
		f->ended = true;
		fiber_switch(&f->own, &f->outer);
	}
}

static void fiber_unmap(struct fiber *f)
{
#ifdef FIBER_TSAN
	__tsan_destroy_fiber(f->own.tsan);
#endif
#ifdef FIBER_ASAN
	__asan_unpoison_memory_region(f->memory, FIBER_BYTES);
#endif
	munmap(f->memory, FIBER_BYTES);
}

static struct fiber *fiber_map(void)
{
	char *memory = mmap(NULL, FIBER_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct fiber *f;

	if (memory == MAP_FAILED)
		return NULL;
	if (mprotect(memory, FIBER_BYTES - FIBER_STACK, PROT_NONE) < 0) {
		munmap(memory, FIBER_BYTES);
		return NULL;
	}
	f = (struct fiber *)(void *)(memory + FIBER_BYTES - sizeof(*f));
	f->memory = memory;
	f->own.stack = memory + FIBER_BYTES - FIBER_STACK;
	f->own.size = FIBER_STACK - sizeof(*f);
#ifdef FIBER_TSAN
	f->own.tsan = __tsan_create_fiber(0);
#endif
	return f;
}

/* Runs @f until it waits or returns. */
static void fiber_resume(struct fiber *f, bool first)
{
	ucontext_t begin;

	f->outer_fiber = fibers.current;
	fibers.current = f;
#ifdef FIBER_TSAN
	f->outer.tsan = __tsan_get_current_fiber();
#endif
	if (!first) {
		fiber_switch(&f->outer, &f->own);
	} else if (!_setjmp(f->outer.env)) {
		getcontext(&begin);
		begin.uc_link = NULL;
		begin.uc_stack.ss_sp = (void *)(uintptr_t)f->own.stack;
		begin.uc_stack.ss_size = f->own.size;
		makecontext(&begin, fiber_main, 0);
		fiber_leave(&f->outer, &f->own);
		setcontext(&begin);
	} else {
		fiber_arrive(&f->own, &f->outer);
	}
	fibers.current = f->outer_fiber;
	while (f->outside) {
		f->outside(f->outside_arg);
		f->outside = NULL;
		fibers.current = f;
		fiber_switch(&f->outer, &f->own);
		fibers.current = f->outer_fiber;
	}
	if (!f->ended)
		return;
	if (fibers.nkept == FIBER_KEPT) {
		fiber_unmap(f);
		return;
	}
	f->next = fibers.kept;
	fibers.kept = f;
	fibers.nkept++;
}

int fiber_start(void (*fn)(void *arg), void *arg, struct err *e)
{
	struct fiber *f = fibers.kept;
	bool first = !f;

	if (first) {
		f = fiber_map();
	} else {
		fibers.kept = f->next;
		fibers.nkept--;
	}
	if (!f)
		return err_set(e, ENOMEM, "no memory for a request that waits: try again later");
	f->fn = fn;
	f->arg = arg;
	f->ended = false;
	fiber_resume(f, first);
	return 0;
}

void fiber_wait(struct fiber_wait *w)
{
	struct fiber *f = fibers.current;

	w->fiber = f;
	while (!w->over)
		fiber_switch(&f->own, &f->outer);
}

void fiber_wake(struct fiber_wait *w)
{
	w->over = true;
	if (w->fiber)
		fiber_resume(w->fiber, false);
}

void fiber_outside(void (*fn)(void *arg), void *arg)
{
	struct fiber *f = fibers.current;

	f->outside = fn;
	f->outside_arg = arg;
	fiber_switch(&f->own, &f->outer);
}

void fiber_free_stacks(void)
{
	while (fibers.kept) {
		struct fiber *f = fibers.kept;

		fibers.kept = f->next;
		fiber_unmap(f);
	}
	fibers.nkept = 0;
}

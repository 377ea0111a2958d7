// SPDX-License-Identifier: MIT
/*
 * Regions of programs. Each thread counts itself with its own context, from its first region until
 * it ends. The counts of regions are in memory shared with pfm. That memory is written before the
 * counts at the begin of a region are read, so it causes no page faults inside the region.
 */
#include "perfmonfs/region.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/lib_i.h"
#include "lib/region_ctx.h"

/* NULL: the program does not run under pfm stat --regions. */
static struct pfm_region_table *region_table;
static int region_table_errno; /* why the table cannot be used, if the program runs under pfm */
static pthread_once_t region_once = PTHREAD_ONCE_INIT;
static pthread_key_t region_key; /* its destructor ends the thread's context */

static __thread struct region_self {
	struct pfm_region_thread *thread; /* NULL: the thread has no regions yet */
	struct region_ctx ctx;
	int failed;   /* errno with which the thread cannot be counted */
	bool warming; /* region_warm() is the caller, whose region has no name */
} region_self;

static uint64_t region_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* --- The end of a thread, and of the process */

/* Checks for lost counts, which RDPMC does not see: another program may have taken the counter. */
static void region_check(struct region_self *self)
{
	uint64_t counts[PFM_REGION_PMDS];
	struct pfm_region_loss loss = {0};

	if (!self->ctx.page || region_ctx_read_checked(&self->ctx, region_table, counts) == 0)
		return;
	region_ctx_loss(&self->ctx, region_table, errno, &loss);
	for (uint32_t i = 0; i < self->thread->used; i++)
		self->thread->regions[i].loss = loss;
}

/* Gives @thread up, so that another thread may take it over. */
static void region_abandon(struct pfm_region_thread *thread)
{
	for (uint32_t i = 0; i < thread->used; i++) {
		thread->regions[i].abandoned += thread->regions[i].open;
		thread->regions[i].open = 0;
	}
	__atomic_store_n(&thread->taken, 0, __ATOMIC_RELEASE);
}

static void region_release(void *arg)
{
	struct region_self *self = arg;

	if (!self->thread)
		return;
	region_check(self);
	region_ctx_close(&self->ctx);
	region_abandon(self->thread);
	self->thread = NULL;
}

/* Ends the context of the thread that calls exit(): exit() does not run that thread's
 * destructors. */
__attribute__((destructor)) static void region_exit(void)
{
	region_release(&region_self);
}

/* Runs in a child, which does not continue its parent's counts and begins without regions. */
static void region_forked(void)
{
	if (region_self.thread)
		region_ctx_close(&region_self.ctx);
	region_self = (struct region_self){0};
}

/* --- The table */

static struct pfm_region_table *region_map(const char *path)
{
	struct pfm_region_table *t;
	int fd = nocancel_open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	nocancel_close(fd);
	if (t == MAP_FAILED)
		return NULL;
	if (t->version == PFM_REGION_VERSION && t->npmds <= PFM_REGION_PMDS)
		return t;
	munmap(t, sizeof(*t));
	errno = EPROTO;
	return NULL;
}

static void region_init(void)
{
	const char *path = secure_getenv(PFM_REGION_ENV);

	if (!path || !*path)
		return;
	region_table = region_map(path);
	if (!region_table)
		region_table_errno = errno;
	else if (pthread_key_create(&region_key, region_release) != 0 ||
		 pthread_atfork(NULL, NULL, region_forked) != 0)
		region_table_errno = ENOMEM;
}

/* --- Threads */

static struct pfm_region_thread *region_take(void)
{
	for (unsigned i = 0; i < PFM_REGION_THREADS; i++) {
		struct pfm_region_thread *thread = &region_table->threads[i];
		uint32_t taken = 0;

		if (__atomic_compare_exchange_n(
			    &thread->taken, &taken, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return thread;
	}
	return NULL;
}

/* Reports a failure. pfm shows only the first one of the program. Returns -1 with its errno. */
static int region_tell(const struct pfm_region_loss *loss)
{
	if (!__atomic_exchange_n(&region_table->failing, 1, __ATOMIC_RELAXED)) {
		memcpy(region_table->failure.sentence, loss->sentence, sizeof(loss->sentence));
		__atomic_store_n(&region_table->failure.no, loss->no, __ATOMIC_RELEASE);
	}
	return lib_fail((int)loss->no);
}

/* Causes all page faults that a region would cause, in its memory and in code. */
static void region_warm(struct region_self *self)
{
	struct pfm_region_thread *thread = self->thread;
	volatile char *at = (volatile char *)thread;
	uint32_t used = thread->used;

	for (size_t i = 0; i < sizeof(*thread); i += 4096)
		at[i] = at[i];
	if (used == PFM_REGION_MAX)
		return;
	self->warming = true;
	for (int i = 0; i < 2; i++)
		if (pfm_region_begin("") == 0)
			pfm_region_end("");
	self->warming = false;
	thread->used = used;
}

static int region_attach(struct region_self *self)
{
	struct pfm_region_loss loss = {
		ENOSPC, "more than 1024 threads are in regions or were killed in one"};
	struct pfm_region_thread *thread = region_take();

	if (thread && region_ctx_open(&self->ctx, region_table, &loss) < 0) {
		__atomic_store_n(&thread->taken, 0, __ATOMIC_RELEASE);
		thread = NULL;
	}
	if (!thread) {
		self->failed = (int)loss.no;
		return region_tell(&loss);
	}
	self->thread = thread;
	pthread_setspecific(region_key, self);
	region_warm(self);
	return 0;
}

/* --- Regions */

static struct pfm_region *region_find(struct pfm_region_thread *thread, const char *name)
{
	for (uint32_t i = 0; i < thread->used; i++)
		if (strcmp(thread->regions[i].name, name) == 0)
			return &thread->regions[i];
	return NULL;
}

static struct pfm_region *region_add(struct pfm_region_thread *thread, const char *name)
{
	static const struct pfm_region_loss full = {ENOSPC, "a thread has more than 64 regions"};
	struct pfm_region *r = &thread->regions[thread->used];

	if (thread->used == PFM_REGION_MAX) {
		region_tell(&full);
		return NULL;
	}
	memset(r, 0, sizeof(*r));
	strcpy(r->name, name);
	__atomic_store_n(&thread->used, thread->used + 1, __ATOMIC_RELEASE);
	return r;
}

static int region_lose(struct pfm_region *r, int no)
{
	if (!r->loss.no)
		region_ctx_loss(&region_self.ctx, region_table, no, &r->loss);
	return lib_fail(EIO);
}

static int region_begin(struct region_self *self, const char *name)
{
	struct pfm_region *r = region_find(self->thread, name);
	int no;

	if (!r)
		r = region_add(self->thread, name);
	if (!r)
		return -1;
	if (r->open)
		return lib_fail(EBUSY);
	r->open = 1;
	no = region_ctx_read(&self->ctx, region_table, r->begin) < 0 ? errno : 0;
	r->begin_ns = region_now();
	return no ? region_lose(r, no) : 0;
}

static int region_end(struct region_self *self, const char *name)
{
	uint64_t counts[PFM_REGION_PMDS], now = region_now();
	int no = region_ctx_read(&self->ctx, region_table, counts) < 0 ? errno : 0;
	struct pfm_region *r = region_find(self->thread, name);

	if (!r || !r->open)
		return lib_fail(EINVAL);
	r->open = 0;
	r->calls++;
	r->time_ns += now - r->begin_ns;
	for (uint32_t i = 0; !no && i < region_table->npmds; i++)
		r->counts[i] += counts[i] - r->begin[i];
	return no ? region_lose(r, no) : 0;
}

static int region_call(const char *name, int (*call)(struct region_self *self, const char *name))
{
	struct region_self *self = &region_self;

	pthread_once(&region_once, region_init);
	if (region_table_errno)
		return lib_fail(region_table_errno);
	if (!region_table)
		return 0;
	if (strlen(name) >= PFM_REGION_NAME)
		return lib_fail(ENAMETOOLONG);
	if (self->failed)
		return lib_fail(self->failed);
	if (!self->thread && region_attach(self) < 0)
		return -1;
	if (!*name && !self->warming)
		return lib_fail(EINVAL);
	return call(self, name);
}

API int pfm_region_begin(const char *name)
{
	return region_call(name, region_begin);
}

API int pfm_region_end(const char *name)
{
	return region_call(name, region_end);
}

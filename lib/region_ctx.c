// SPDX-License-Identifier: MIT
#include "lib/region_ctx.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/lib_i.h"
#include "perfmonfs/ioctl.h"

enum { REGION_PAGE = 4096 };

static int region_ctx_open_file(
	const struct region_ctx *c, const struct pfm_region_table *t, const char *name, int flags)
{
	char path[PFM_REGION_NAME + 64];

	snprintf(path, sizeof(path), "%s/ctx/%llu/%s", t->mount, (unsigned long long)c->number,
		name);
	return nocancel_open(path, flags | O_CLOEXEC);
}

/* The reason for which region_events_read() failed with @no. */
static void region_ctx_own_loss(int no, struct pfm_region_loss *loss)
{
	snprintf(loss->sentence, PFM_REGION_SENTENCE, "%s",
		no == EBADF
			? "the program has closed the descriptors of its regions: close only "
			  "descriptors that the program has opened"
			: "the kernel took the events off the PMU for a while, as other perf "
			  "events or the NMI watchdog (kernel.nmi_watchdog) got a counter: stop "
			  "these and run the program again");
	__atomic_store_n(&loss->no, (uint32_t)no, __ATOMIC_RELEASE);
}

void region_ctx_loss(const struct region_ctx *c, const struct pfm_region_table *t, int no,
	struct pfm_region_loss *loss)
{
	char *s = loss->sentence;
	ssize_t n;
	int fd;

	if (c->own.n) {
		region_ctx_own_loss(no, loss);
		return;
	}
	fd = c->fd < 0 ? -1 : region_ctx_open_file(c, t, "last_error", O_RDONLY);
	n = fd < 0 ? 0 : nocancel_read(fd, s, PFM_REGION_SENTENCE - 1);
	if (fd >= 0)
		nocancel_close(fd);
	s[n > 0 ? n : 0] = '\0';
	s[strcspn(s, "\n")] = '\0';
	if (!*s || strcmp(s, "ok") == 0)
		snprintf(s, PFM_REGION_SENTENCE, "a region: %s", strerrordesc_np(no));
	__atomic_store_n(&loss->no, (uint32_t)no, __ATOMIC_RELEASE);
}

/* --- Open */

static int region_ctx_create(struct region_ctx *c, const struct pfm_region_table *t)
{
	struct pfm_ioc_setup setup = {.flags = t->live ? PFM_IOC_FL_MAP_SETS : 0};
	char path[PFM_REGION_NAME + 8];

	snprintf(path, sizeof(path), "%s/clone", t->mount);
	c->fd = nocancel_open(path, O_RDWR | O_CLOEXEC);
	if (c->fd < 0 || ioctl(c->fd, PFM_IOC_SETUP, &setup) < 0)
		return -1;
	c->number = setup.number;
	return 0;
}

static int region_ctx_program(const struct region_ctx *c, const struct pfm_region_table *t)
{
	int fd = region_ctx_open_file(c, t, "set/0/regs", O_WRONLY);
	ssize_t n = fd < 0 ? -1 : nocancel_write(fd, t->regs, strlen(t->regs));

	if (fd >= 0)
		nocancel_close(fd);
	return n < 0 ? -1 : 0;
}

static int region_ctx_start(const struct region_ctx *c)
{
	struct pfm_ioc_load load = {.target = (uint32_t)gettid()};

	return ioctl(c->fd, PFM_IOC_LOAD, &load) < 0 ? -1 : ioctl(c->fd, PFM_IOC_START);
}

/* The PFM_LIVE_* flags, one of which a PMD must have to be read by RDPMC. */
static uint8_t region_ctx_permit(const struct pfm_region_table *t)
{
	return t->live && pfm_live_permit() == 0 ? PFM_LIVE_RDPMC | PFM_LIVE_MAPPED
						 : PFM_LIVE_RDPMC;
}

/* Finds the PMDs in the page. False: RDPMC cannot read all of them, so the page is useless: its
 * counts are as old as the last poll. */
static bool region_ctx_index(struct region_ctx *c, const struct pfm_region_table *t, uint8_t rdpmc)
{
	for (uint32_t i = 0; i < t->npmds; i++) {
		uint32_t at = 0;

		while (at < PFM_LIVE_PMDS && c->page->pmd[at].num != t->pmds[i])
			at++;
		if (at == PFM_LIVE_PMDS || !(c->page->pmd[at].flags & rdpmc))
			return false;
		c->index[i] = (uint8_t)at;
	}
	return true;
}

static void region_ctx_map(struct region_ctx *c, const struct pfm_region_table *t, uint8_t rdpmc)
{
	struct pfm_ioc_setinfo info = {0};
	void *page;

	if (!t->live || ioctl(c->fd, PFM_IOC_GETINFO_EVTSETS, &info) < 0 || !info.cookie)
		return;
	page = mmap(NULL, REGION_PAGE, PROT_READ, MAP_SHARED, c->fd, (off_t)info.cookie);
	if (page == MAP_FAILED)
		return;
	c->page = page;
	if (region_ctx_index(c, t, rdpmc))
		return;
	munmap(page, REGION_PAGE);
	c->page = NULL;
}

int region_ctx_open(
	struct region_ctx *c, const struct pfm_region_table *t, struct pfm_region_loss *loss)
{
	uint8_t rdpmc;
	int no;

	*c = (struct region_ctx){.fd = -1};
	if (region_events_open(&c->own, t) == 0)
		return 0;
	rdpmc = region_ctx_permit(t); /* called before the context has the registers */
	if (region_ctx_create(c, t) == 0 && region_ctx_program(c, t) == 0 &&
		region_ctx_start(c) == 0) {
		region_ctx_map(c, t, rdpmc);
		return 0;
	}
	no = errno;
	region_ctx_loss(c, t, no, loss);
	region_ctx_close(c);
	return lib_fail(no);
}

void region_ctx_close(struct region_ctx *c)
{
	region_events_close(&c->own);
	if (c->page)
		munmap((void *)(uintptr_t)c->page, REGION_PAGE);
	if (c->fd >= 0)
		nocancel_close(c->fd);
	*c = (struct region_ctx){.fd = -1};
}

/* --- Read */

int region_ctx_read_checked(
	const struct region_ctx *c, const struct pfm_region_table *t, uint64_t counts[])
{
	struct pfm_ioc_pmd pmds[PFM_REGION_PMDS];

	memset(pmds, 0, t->npmds * sizeof(*pmds));
	for (uint32_t i = 0; i < t->npmds; i++)
		pmds[i].num = t->pmds[i];
	if (ioctl(c->fd, PFM_IOC_VECTOR(PFM_IOC_READ_PMDS, t->npmds), pmds) < 0)
		return -1;
	for (uint32_t i = 0; i < t->npmds; i++)
		counts[i] = pmds[i].value;
	return 0;
}

int region_ctx_read(const struct region_ctx *c, const struct pfm_region_table *t, uint64_t counts[])
{
	if (c->own.n)
		return region_events_read(&c->own, counts);
	if (c->page && pfm_live_read_thread(c->page, t->npmds, c->index, counts) == 0)
		return 0;
	return region_ctx_read_checked(c, t, counts); /* this finds the reason */
}

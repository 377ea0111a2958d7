// SPDX-License-Identifier: MIT
/* Opening and closing the msr backend and its CPUs. run.c executes plans. */
#include "backend/msr/msr.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/msr/describe.h"
#include "backend/msr/io_file.h"
#include "backend/msr/msr_i.h"
#include "backend/msr/topology.h"
#include "base/cleanup.h"

int msr_cpu_open(struct backend *be, unsigned cpu, struct backend_cpu **out, struct err *e)
{
	struct msr_backend *mb = msr_of(be);
	const struct msr_type *type;
	struct msr_io *io = mb->io;
	struct backend_cpu *c;
	int handle, rc;

	if (cpu >= io->ops->cpu_limit(io) || !io->ops->cpu_online(io, cpu))
		return err_set(
			e, ENXIO, "CPU %u: ENXIO: it is offline, or there is no such CPU", cpu);
	handle = io->ops->open(io, cpu, e);
	if (handle < 0)
		return handle;
	rc = msr_types_find(&mb->types, io, cpu, handle, &type, e);
	c = rc < 0 ? NULL : calloc(1, sizeof(*c));
	if (!c) {
		io->ops->close(io, handle);
		return rc < 0 ? rc : err_set(e, ENOMEM, "no memory for CPU %u", cpu);
	}
	msr_cpu_init(c, mb, type, cpu, handle);
	rc = msr_cpu_find_thread(c, e);
	if (rc < 0) {
		io->ops->close(io, handle);
		free(c);
		return rc;
	}
	*out = c;
	return 0;
}

void msr_cpu_close(struct backend_cpu *c)
{
	struct msr_io *io = c->mb->io;
	struct err e;

	if (pending_restore_run(c, &e) < 0)
		reserve_report(&e);
	pending_restore_keep(c);
	io->ops->close(io, c->handle);
	free(c);
}

unsigned msr_cpu_limit(struct backend *be)
{
	struct msr_io *io = msr_of(be)->io;

	return io->ops->cpu_limit(io);
}

bool msr_cpu_online(struct backend *be, unsigned cpu)
{
	struct msr_io *io = msr_of(be)->io;

	return io->ops->cpu_online(io, cpu);
}

uint64_t msr_now(struct backend *be)
{
	struct msr_io *io = msr_of(be)->io;

	return io->ops->now(io);
}

const struct pmu *msr_cpu_pmu(struct backend *be, unsigned cpu)
{
	const struct msr_types *t = &msr_of(be)->types;
	const struct msr_type *type = msr_type_of(t, cpu);

	if (!t->shown)
		return be->pmu;
	return type ? &t->shown->of[1U << (type - t->of)] : NULL;
}

int msr_cpu_units(struct backend *be, unsigned cpu, uint32_t unit[PMU_SCOPES], struct err *e)
{
	return topology_of(msr_of(be)->io, cpu, unit, e);
}

void msr_begin(struct backend *be)
{
	pending_restore_begin(msr_of(be));
}

void msr_close(struct backend *be)
{
	struct msr_backend *mb = msr_of(be);

	/* The next daemon restores what is still pending, so the journal stays. */
	journal_close(mb->journal, pending_restore_end(mb));
	pending_restore_free(mb);
	msr_types_free(&mb->types);
	unit_free(&mb->units);
	mb->io->ops->free(mb->io);
	free(mb);
}

static int msr_init(struct msr_backend *mb, const struct backend_conf *conf, struct err *e)
{
	static const struct journal_ops ops = {msr_recover, pending_restore_transfer};
	int rc = msr_types_init(&mb->types, mb->io, conf->pmu, e);

	if (rc < 0)
		return rc;
	mb->be.types = mb->types.shown;
	mb->be.pmu = mb->types.shown ? &mb->types.shown->of[0] : &mb->types.of[0].pmu;
	if (conf->run_dir && mb->io->persistent)
		rc = journal_open(conf->run_dir, conf->dev ? conf->dev : MSR_DEV_DEFAULT, &ops, mb,
			&mb->journal, e);
	return rc < 0 ? rc : msr_probe(mb, e);
}

int msr_backend_new(const struct backend_ops *ops, struct msr_io *io,
	const struct backend_conf *conf, struct backend **out, struct err *e)
{
	struct msr_backend *mb = calloc(1, sizeof(*mb));
	int rc;

	if (!mb) {
		io->ops->free(io);
		return err_set(e, ENOMEM, "no memory for the backend %s", ops->name);
	}
	mb->be.ops = ops;
	mb->io = io;
	pending_restore_init(mb);
	unit_init(&mb->units);
	rc = msr_init(mb, conf, e);
	if (rc < 0) {
		msr_close(&mb->be);
		return rc;
	}
	*out = &mb->be;
	return 0;
}

static int msr_open(const struct backend_conf *conf, struct backend **out, struct err *e)
{
	struct msr_io *io;
	int rc = msr_io_file(conf->dev, &io, e);

	return rc < 0 ? rc : msr_backend_new(&msr_backend_ops, io, conf, out, e);
}

const struct backend_ops msr_backend_ops = {
	.name = "msr",
	.needs_rawio = true,
	.rdpmc = true,
	.open = msr_open,
	.check = msr_check,
	MSR_BACKEND_OPS,
};

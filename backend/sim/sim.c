// SPDX-License-Identifier: MIT
/* The sim backend: the msr backend with the hardware model in place of /dev/cpu. */
#include "backend/sim/sim.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/msr/msr_io.h"
#include "base/nsec.h"
#include "perfmonfs/sim.h"

enum { SIM_CPUS = 4 };

/* Handles are CPU numbers. */
struct sim_io {
	struct msr_io io;
	struct sim_control control;
};

static struct hw *sim_hw_of(struct msr_io *io)
{
	return ((struct sim_io *)io)->control.hw;
}

static int sim_io_open(struct msr_io *io, unsigned cpu, struct err *e)
{
	if (!hw_online(sim_hw_of(io), cpu))
		return err_set(e, ENXIO,
			"CPU %u of the model is offline or does not exist (ENXIO); see sim/offline",
			cpu);
	return (int)cpu;
}

static void sim_io_close(struct msr_io *io, int handle)
{
	(void)io;
	(void)handle;
}

static int sim_io_read(struct msr_io *io, int handle, uint32_t addr, uint64_t *value)
{
	return hw_rdmsr(sim_hw_of(io), (unsigned)handle, addr, value);
}

static int sim_io_write(struct msr_io *io, int handle, uint32_t addr, uint64_t value)
{
	return hw_wrmsr(sim_hw_of(io), (unsigned)handle, addr, value);
}

static int sim_io_cpuid(struct msr_io *io, unsigned cpu, uint32_t leaf, uint32_t subleaf,
	uint32_t out[4], struct err *e)
{
	int rc = hw_cpuid(sim_hw_of(io), cpu, leaf, subleaf, out);

	if (rc < 0)
		return err_set(e, -rc,
			"CPUID on CPU %u of the model: offline (%s); see sim/offline", cpu,
			err_name(-rc));
	return 0;
}

static unsigned sim_io_cpu_limit(struct msr_io *io)
{
	return hw_cpus(sim_hw_of(io));
}

static bool sim_io_cpu_online(struct msr_io *io, unsigned cpu)
{
	return hw_online(sim_hw_of(io), cpu);
}

static uint64_t sim_io_now(struct msr_io *io)
{
	return hw_now(sim_hw_of(io));
}

static void sim_io_free(struct msr_io *io)
{
	hw_free(sim_hw_of(io));
	free(io);
}

static const struct msr_io_ops sim_io_ops = {
	.open = sim_io_open,
	.close = sim_io_close,
	.read = sim_io_read,
	.write = sim_io_write,
	.cpuid = sim_io_cpuid,
	.cpu_limit = sim_io_cpu_limit,
	.cpu_online = sim_io_cpu_online,
	.now = sim_io_now,
	.free = sim_io_free,
};

/* The clock of timers, so that they expire when the model's time has come. */
static uint64_t sim_clock(void)
{
	return nsec_now(CLOCK_MONOTONIC);
}

/* Opens the msr backend on the model. A processor without CPUID gets the description that has its
 * model's name. */
static int sim_open_backend(
	struct sim_io *sim, const struct backend_conf *conf, struct backend **out, struct err *e)
{
	struct backend_conf named = *conf;

	sim->io.ops = &sim_io_ops;
	if (!hw_has_msrs(sim->control.hw)) {
		sim->io.space = PMU_SPACE_IPF;
		if (!named.pmu)
			named.pmu = hw_description(sim->control.hw);
	}
	return msr_backend_new(&sim_backend_ops, &sim->io, &named, out, e);
}

static int sim_open(const struct backend_conf *conf, struct backend **out, struct err *e)
{
	const char *model = conf->model ? conf->model : HW_DEFAULT_MODEL;
	struct sim_io *sim = calloc(1, sizeof(*sim));
	int rc;

	if (!sim)
		return err_set(e, ENOMEM, "no memory for the sim backend (ENOMEM)");
	rc = hw_new(model, conf->cpus ? conf->cpus : SIM_CPUS, &sim->control.hw, e);
	if (rc < 0) {
		free(sim);
		return rc;
	}
	if (conf->real_time)
		hw_set_clock(sim->control.hw, sim_clock);
	rc = sim_open_backend(sim, conf, out, e);
	if (rc < 0)
		return rc;
	(*out)->sim = &sim->control;
	(*out)->scripted = !conf->real_time;
	return 0;
}

const struct backend_ops sim_backend_ops = {
	.name = "sim",
	.simulated = true,
	.needs_rawio = true, /* The same as msr, which it replaces in tests. */
	.model_name = hw_model_name,
	.open = sim_open,
	MSR_BACKEND_OPS,
};

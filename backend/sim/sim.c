// SPDX-License-Identifier: MIT
/* The sim backend: the msr backend, all of it, over the hardware model instead of /dev/cpu. */
#include <errno.h>
#include <stdlib.h>

#include "backend/msr/msr_io.h"
#include "perfmonfs/backend.h"
#include "perfmonfs/sim.h"

#define SIM_DEFAULT_MODEL "intel_v4"
enum { SIM_CPUS = 4 };

/* Handles are CPU numbers: there is nothing to open or close. */
struct sim_io {
	struct msr_io io;
	struct sim_control control;
};

static struct hw *hw_of(struct msr_io *io)
{
	return ((struct sim_io *)io)->control.hw;
}

static int sim_open(struct msr_io *io, unsigned cpu, struct err *e)
{
	if (!hw_online(hw_of(io), cpu))
		return err_set(e, ENXIO,
			"CPU %u of the model is offline or does not exist (ENXIO); see sim/offline",
			cpu);
	return (int)cpu;
}

static void sim_close(struct msr_io *io, int handle)
{
	(void)io;
	(void)handle;
}

static int sim_read(struct msr_io *io, int handle, uint32_t addr, uint64_t *value)
{
	return hw_rdmsr(hw_of(io), (unsigned)handle, addr, value);
}

static int sim_write(struct msr_io *io, int handle, uint32_t addr, uint64_t value)
{
	return hw_wrmsr(hw_of(io), (unsigned)handle, addr, value);
}

static int sim_cpuid(struct msr_io *io, unsigned cpu, uint32_t leaf, uint32_t subleaf,
	uint32_t out[4], struct err *e)
{
	int rc = hw_cpuid(hw_of(io), cpu, leaf, subleaf, out);

	if (rc < 0)
		return err_set(e, -rc,
			"CPUID on CPU %u of the model: offline (%s); see sim/offline", cpu,
			err_name(-rc));
	return 0;
}

static unsigned sim_cpu_limit(struct msr_io *io)
{
	return hw_cpus(hw_of(io));
}

static bool sim_cpu_online(struct msr_io *io, unsigned cpu)
{
	return hw_online(hw_of(io), cpu);
}

static uint64_t sim_now(struct msr_io *io)
{
	return hw_now(hw_of(io));
}

static void sim_free(struct msr_io *io)
{
	hw_free(hw_of(io));
	free(io);
}

static const struct msr_io_ops sim_ops = {
	.open = sim_open,
	.close = sim_close,
	.read = sim_read,
	.write = sim_write,
	.cpuid = sim_cpuid,
	.cpu_limit = sim_cpu_limit,
	.cpu_online = sim_cpu_online,
	.now = sim_now,
	.free = sim_free,
};

int sim_backend_open(const struct backend_conf *conf, struct backend **out, struct err *e)
{
	const char *model = conf->model ? conf->model : SIM_DEFAULT_MODEL;
	struct sim_io *sim = calloc(1, sizeof(*sim));
	int rc;

	if (!sim)
		return err_set(e, ENOMEM, "no memory for the sim backend (ENOMEM)");
	rc = hw_new(model, SIM_CPUS, &sim->control.hw, e);
	if (rc < 0) {
		free(sim);
		return rc;
	}
	sim->io.ops = &sim_ops;
	rc = msr_backend_new("sim", &sim->io, conf, out, e);
	if (!rc)
		(*out)->sim = &sim->control;
	return rc;
}

// SPDX-License-Identifier: MIT
/* Free registers: which CPU has which, their units, and 64 bits over their wraps. */
#include "backend/pmu/detect.h"
#include "backend/pmu/model.h"
#include "base/nsec.h"
#include "daemon/core/reading.h"
#include "perfmonfs/sim.h"
#include "tests/unit/unit.h"

/* A CPU whose CPUID names all features. */
struct cpu {
	const char *vendor;
	unsigned family, model;
	bool hypervisor, no_features;
	uint32_t zero, fault; /* MSRs that read 0, and that cannot be read. */
	uint64_t unit;        /* Of energy. */
	uint64_t hwcr;
};

static int cpu_cpuid(void *arg, uint32_t leaf, uint32_t subleaf, uint32_t out[4], struct err *e)
{
	const struct cpu *c = arg;
	unsigned ext = c->family > 15 ? c->family - 15 : 0;

	(void)e;
	assert_int_equal(subleaf, 0);
	memset(out, 0, 4 * sizeof(out[0]));
	if (leaf == 0) {
		out[0] = 0x16;
		memcpy(&out[1], c->vendor, 4);
		memcpy(&out[3], c->vendor + 4, 4);
		memcpy(&out[2], c->vendor + 8, 4);
	} else if (leaf == 0x80000000) {
		out[0] = 0x80000028;
	} else if (leaf == 1) {
		out[0] = ext << 20 | (c->model >> 4) << 16 | (c->family - ext) << 8 |
			 (c->model & 0xf) << 4;
		out[2] = c->hypervisor ? ECX1_HYPERVISOR : 0;
		out[3] = c->no_features ? 0 : UINT32_MAX;
	} else if (!c->no_features) {
		memset(out, 0xff, 4 * sizeof(out[0]));
	}
	return 0;
}

static int cpu_rdmsr(void *arg, uint32_t addr, uint64_t *value)
{
	const struct cpu *c = arg;

	if (addr == c->fault)
		return -5;
	*value = addr == c->zero                       ? 0
		 : addr == 0x606 || addr == 0xc0010299 ? c->unit
		 : addr == 0xc0010015                  ? c->hwcr
						       : 1;
	return 0;
}

static struct pmu detect(const struct cpu *c)
{
	struct cpu copy = *c;
	struct pmu_cpu cpu = {.cpuid = cpu_cpuid, .rdmsr = cpu_rdmsr, .arg = &copy};
	struct pmu pmu = {0};

	if (!copy.unit)
		copy.unit = 0xa0e03;
	if (!copy.hwcr)
		copy.hwcr = 1ULL << 30;
	pmu_free_detect(&cpu, &pmu);
	return pmu;
}

static const struct pmu_free *find(const struct pmu *pmu, const char *name)
{
	for (unsigned i = 0; i < pmu->nfrees; i++)
		if (strcmp(pmu->frees[i].name, name) == 0)
			return &pmu->frees[i];
	return NULL;
}

static void print_names(const struct pmu *pmu, char *out, size_t room)
{
	size_t n = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < pmu->nfrees; i++)
		n += (size_t)snprintf(out + n, room - n, "%s%s", i ? " " : "", pmu->frees[i].name);
	assert_true(n < room);
}

#define MARGINS "thermal_margin package_thermal_margin "
#define PERF    "tsc mperf aperf "

/* From the manuals' tables of model-specific registers; energy as in Linux's rapl.c. */
static const struct {
	const char *vendor;
	unsigned family, model;
	const char *names;
} machines[] = {
	{"GenuineIntel", 6, 15, PERF MARGINS}, /* Core 2 */
	{"GenuineIntel", 6, 26,                /* Nehalem-EP */
		PERF "smi " MARGINS "core_c3 core_c6 package_c3 package_c6 package_c7"},
	{"GenuineIntel", 6, 42, /* Sandy Bridge */
		PERF "smi " MARGINS "core_c3 core_c6 core_c7 package_c2 package_c3 package_c6 "
		     "package_c7 energy_package energy_cores energy_graphics"},
	{"GenuineIntel", 6, 45, /* Sandy Bridge-EP */
		PERF "smi " MARGINS "core_c3 core_c6 core_c7 package_c2 package_c3 package_c6 "
		     "package_c7 energy_package energy_cores energy_memory"},
	{"GenuineIntel", 6, 55, PERF MARGINS "energy_package energy_cores"}, /* Silvermont */
	{"GenuineIntel", 6, 85,                                              /* Skylake-X */
		PERF "pperf smi " MARGINS
		     "core_c3 core_c6 core_c7 package_c2 package_c3 package_c6 "
		     "package_c7 energy_package energy_cores energy_memory"},
	{"GenuineIntel", 6, 94, /* Skylake */
		PERF "pperf smi " MARGINS
		     "core_c3 core_c6 core_c7 package_c2 package_c3 package_c6 "
		     "package_c7 energy_package energy_cores energy_graphics energy_memory "
		     "energy_platform"},
	{"GenuineIntel", 6, 106, /* Ice Lake-X */
		PERF "pperf smi " MARGINS "core_c6 package_c2 package_c6 energy_package "
		     "energy_cores energy_memory"},
	{"GenuineIntel", 6, 143, /* Sapphire Rapids */
		PERF "pperf smi " MARGINS "core_c6 package_c2 package_c6 energy_package "
		     "energy_memory energy_platform"},
	{"GenuineIntel", 6, 173, /* Granite Rapids */
		PERF "pperf smi " MARGINS "core_c6 package_c2 package_c6"},
	{"GenuineIntel", 6, 175, PERF MARGINS "core_c6 package_c6"},            /* Sierra Forest */
	{"GenuineIntel", 6, 182, PERF MARGINS "core_c6"},                       /* Grand Ridge */
	{"AuthenticAMD", 0x17, 0x31, PERF "irperf energy_core energy_package"}, /* Zen 2 */
	{"HygonGenuine", 0x18, 0, PERF "irperf energy_core energy_package"},
};

TEST(machines)
{
	for (size_t i = 0; i < COUNT(machines); i++) {
		struct pmu pmu = detect(
			&(struct cpu){machines[i].vendor, machines[i].family, machines[i].model});
		char names[512], want[512];

		print_names(&pmu, names, sizeof(names));
		snprintf(want, sizeof(want), "%s", machines[i].names);
		if (want[0] && want[strlen(want) - 1] == ' ')
			want[strlen(want) - 1] = '\0';
		assert_string_equal(names, want);
	}
}

/* Microjoules of 2^30 counts. */
static const struct {
	unsigned family, model;
	const char *name;
	uint64_t unit; /* Of the unit register. */
	uint64_t uj;
} units[] = {
	{6, 42, "energy_package", 0xa1003, 16384000000},        /* 2^-16 J, 15.3 uJ */
	{6, 94, "energy_package", 0xa0e03, 65536000000},        /* 2^-14 J, 61 uJ */
	{6, 94, "energy_memory", 0xa0e03, 65536000000},         /* clients: that of the register */
	{6, 45, "energy_memory", 0xa1003, 16384000000},         /* before Haswell, too */
	{6, 63, "energy_memory", 0xa0e03, 16384000000},         /* Haswell-EP on: 15.3 uJ */
	{6, 79, "energy_memory", 0xa0e03, 16384000000},         /* Broadwell-EP */
	{6, 86, "energy_memory", 0xa0e03, 16384000000},         /* Broadwell-DE */
	{6, 85, "energy_memory", 0xa0e03, 16384000000},         /* Skylake-X */
	{6, 106, "energy_memory", 0xa0e03, 16384000000},        /* Ice Lake-X */
	{6, 108, "energy_memory", 0xa0e03, 16384000000},        /* Ice Lake-D */
	{6, 87, "energy_memory", 0xa0e03, 16384000000},         /* Knights Landing */
	{6, 143, "energy_memory", 0xa0e03, 65536000000},        /* Sapphire Rapids: the register */
	{6, 143, "energy_platform", 0xa0e03, 1073741824000000}, /* 1 J */
	{6, 94, "energy_platform", 0xa0e03, 65536000000},
	{6, 55, "energy_package", 0x00505, 34359738368}, /* Silvermont: 2^5 uJ */
	{0x17, 0x31, "energy_package", 0xa1003, 16384000000},
	{0x19, 0x11, "energy_core", 0xa1003, 16384000000},
};

TEST(units)
{
	for (size_t i = 0; i < COUNT(units); i++) {
		struct pmu pmu = detect(&(struct cpu){
			.vendor = units[i].family == 6 ? "GenuineIntel" : "AuthenticAMD",
			.family = units[i].family,
			.model = units[i].model,
			.unit = units[i].unit,
		});
		const struct pmu_free *reg = find(&pmu, units[i].name);

		assert_non_null(reg);
		assert_int_equal(reading_shown(reg, 1 << 30), units[i].uj);
		assert_string_equal(reading_unit(reg), "uJ");
	}
}

static bool is_one_of(unsigned model, const char *models)
{
	char word[8];

	snprintf(word, sizeof(word), " %u ", model);
	return strstr(models, word);
}

/* Of 2^30 counts of Intel's family 6, with a unit register that says 2^-14 J, or on Atoms 2^14 uJ:
 * volume 4 of the manual, and its datasheets of Xeons for memory. */
static uint64_t expected_uj(unsigned model, const char *name)
{
	if (is_one_of(model, " 55 74 90 93 "))
		return 1ULL << (14 + 30);
	if (strcmp(name, "energy_memory") == 0 && is_one_of(model, " 63 79 85 86 87 106 108 133 "))
		return 16384000000; /* 15.3 uJ */
	if (strcmp(name, "energy_platform") == 0 && is_one_of(model, " 143 207 "))
		return 1073741824000000; /* 1 J */
	return 65536000000;
}

TEST(units_of_all_models)
{
	unsigned registers = 0;

	for (unsigned model = 0; model < 256; model++) {
		struct pmu pmu = detect(
			&(struct cpu){.vendor = "GenuineIntel", .family = 6, .model = model});

		for (unsigned i = 0; i < pmu.nfrees; i++) {
			const struct pmu_free *reg = &pmu.frees[i];

			if (!pmu_unit_is_energy(reg->unit))
				continue;
			registers++;
			if (reading_shown(reg, 1 << 30) != expected_uj(model, reg->name))
				fail_msg("%s of model %u: another unit", reg->name, model);
		}
	}
	assert_int_equal(registers, 190);
}

TEST(absent)
{
	const struct cpu skylake = {.vendor = "GenuineIntel", .family = 6, .model = 94};
	const struct cpu zen = {.vendor = "AuthenticAMD", .family = 0x17, .model = 0x31};
	struct cpu c = skylake;
	struct pmu pmu;
	char names[512];

	c.hypervisor = true; /* what may answer 0 is not asked for */
	pmu = detect(&c);
	print_names(&pmu, names, sizeof(names));
	assert_string_equal(names, "tsc mperf aperf");
	c.fault = 0xe8;
	pmu = detect(&c);
	print_names(&pmu, names, sizeof(names));
	assert_string_equal(names, "tsc mperf");
	c.no_features = true;
	assert_int_equal(detect(&c).nfrees, 0);
	c = skylake;
	c.zero = 0x611;
	pmu = detect(&c);
	assert_null(find(&pmu, "energy_package"));
	assert_non_null(find(&pmu, "energy_cores"));
	c.zero = 0;
	c.fault = 0x606; /* without the unit there is no energy */
	pmu = detect(&c);
	assert_null(find(&pmu, "energy_package"));
	assert_non_null(find(&pmu, "core_c6"));
	c = zen;
	c.hwcr = 1; /* nothing has switched IRPERF on */
	pmu = detect(&c);
	assert_null(find(&pmu, "irperf"));
	assert_non_null(find(&pmu, "energy_core"));
	c.vendor = "CentaurHauls";
	pmu = detect(&c);
	print_names(&pmu, names, sizeof(names));
	assert_string_equal(names, "tsc mperf aperf");
}

static void with_line(char *out, size_t room, struct slice text, const char *line)
{
	assert_true(text.n < room);
	memcpy(out, text.p, text.n);
	snprintf(out + text.n, room - text.n, "\n%s\n", line);
}

/* Registers that are not counters, written as if they were. */
TEST(validation)
{
	static const struct {
		const char *line, *sentence;
	} bad[] = {
		{"free x addr=0x11 width=64 unit=ticks scope=thread", "not known as a register"},
		{"free x addr=0x1a0 width=64 unit=ticks scope=thread", "not known as a register"},
		{"free x addr=0xc1 width=48 unit=events scope=thread", "not known as a register"},
		{"free x addr=0x611 width=32 unit=ticks scope=package", "its unit is not"},
		{"free x addr=0x611 width=33 unit=rapl scope=package", "outside its value"},
		{"free x addr=0x19c width=7 unit=degrees scope=core", "outside its value"},
		{"free x addr=0x10 width=64 shift=1 unit=ticks scope=thread", "do not fit"},
		{"free x addr=0x10 width=0 unit=ticks scope=thread", "1 to 64"},
		{"free x addr=0x10 width=64 unit=joules scope=thread", "joules"},
		{"free x addr=0x10 width=64 unit=ticks", "scope"},
		{"free x addr=0x10 width=64 unit=ticks scope=thread bare", "bare"},
		{"free x addr=0x10 width=64 unit=ticks scope=thread\n"
		 "free y addr=0x10 width=64 unit=ticks scope=thread",
			"above has the same name"},
		{"free x addr=0x10 width=64 unit=ticks scope=thread\n"
		 "free x addr=0xe8 width=64 unit=ticks scope=thread",
			"above has the same name"},
	};
	const struct pmu_model *m = pmu_model_at(0);
	char text[8192];
	struct pmu pmu;

	for (size_t i = 0; i < COUNT(bad); i++) {
		with_line(text, sizeof(text), m->text, bad[i].line);
		assert_true(pmu_parse(slice_of(text), &pmu, &why) < 0);
		if (!strstr(why.text, bad[i].sentence))
			fail_msg("%s: %s", bad[i].line, why.text);
	}
	with_line(text, sizeof(text), m->text,
		"free own addr=0x34 width=32 unit=events scope=thread");
	assert_int_equal(pmu_parse(slice_of(text), &pmu, &why), 0);
	assert_int_equal(pmu.nfrees, 1);
	/* Those of all machines are valid, and can never be written. */
	for (size_t i = 0; i < COUNT(machines); i++) {
		struct pmu found = detect(
			&(struct cpu){machines[i].vendor, machines[i].family, machines[i].model});

		assert_int_equal(pmu_parse(m->text, &pmu, &why), 0);
		memcpy(pmu.frees, found.frees, sizeof(pmu.frees));
		pmu.nfrees = found.nfrees;
		assert_int_equal(pmu_validate(&pmu, &why), 0);
		for (unsigned k = 0; k < pmu.nfrees; k++)
			assert_int_equal(pmu_writable(&pmu, pmu.frees[k].addr), 0);
	}
}

/*
 * A register and what it has really counted. It is taken at random, in half of the tries: the total
 * is right, or told to be unknown, where more than the shortest wrap has passed since then.
 */
static void property(unsigned seed, const struct pmu_free *reg)
{
	uint64_t mask = (1ULL << reg->width) - 1, wrap = pmu_free_wrap_ns(reg), now = 0, total;
	uint64_t truth, wraps = 0, base = 0; /* What had been counted at the beginning. */
	unsigned restarts = 0;
	struct reading r = {0};

	srandom(seed);
	truth = (uint64_t)random() & mask;
	reading_take(&r, reg, truth, now);
	while (wraps < 1000) {
		/* Up to nine tenths of the shortest wrap, at up to the greatest rate. */
		uint64_t ns = wrap / 1000 * (uint64_t)(random() % 900), before = truth;
		double most = (double)ns / (double)wrap * ((double)mask + 1);

		truth += (uint64_t)(most * (double)(random() % 1000) / 1000);
		now += ns;
		wraps += (truth >> reg->width) - (before >> reg->width);
		if (now - r.at >= wrap) {
			assert_false(reading_total(&r, reg, truth & mask, now, &total));
			base = truth - (truth & mask);
			restarts++;
		} else {
			assert_true(reading_total(&r, reg, truth & mask, now, &total));
			assert_int_equal(total, truth - base);
			if (random() % 2)
				continue;
		}
		reading_take(&r, reg, truth & mask, now);
		assert_int_equal(r.total, truth - base);
		assert_int_equal(r.restarts, restarts);
	}
	assert_true(restarts > 0);
}

static const struct pmu_free energy = {
	.name = "energy", .width = 32, .unit = PMU_UNIT_RAPL, .uj = 1000000, .uj_shift = 14};

TEST(property)
{
	const struct pmu_free regs[] = {
		energy,
		{.width = 32, .unit = PMU_UNIT_RAPL_0, .uj = 1000000},
		{.width = 32, .unit = PMU_UNIT_RAPL_ATOM, .uj = 32},
		{.width = 32, .unit = PMU_UNIT_EVENTS},
		{.width = 24, .unit = PMU_UNIT_EVENTS},
	};

	for (unsigned i = 0; i < COUNT(regs); i++)
		property(i, &regs[i]);
}

TEST(loss)
{
	uint64_t wrap = pmu_free_wrap_ns(&energy), total;
	struct reading r = {0};

	/* 2^32 counts of 61 uJ at 2 kW. */
	assert_in_range(wrap, 131 * NSEC_PER_SEC, 132 * NSEC_PER_SEC);
	assert_false(reading_total(&r, &energy, 5, 0, &total));
	reading_take(&r, &energy, 0xfffffff0, 10);
	assert_int_equal(r.restarts, 0);
	assert_true(reading_total(&r, &energy, 0x10, 10 + wrap - 1, &total));
	assert_int_equal(total, 0x100000010);
	/* Another wrap is possible. */
	assert_false(reading_total(&r, &energy, 0x10, 10 + wrap, &total));
	reading_take(&r, &energy, 0x10, 10 + wrap);
	assert_int_equal(r.total, 0x10);
	assert_int_equal(r.restarts, 1);
	/* A reset: 4 kJ in a second. */
	reading_take(&r, &energy, 0x4000000, 20 + wrap + NSEC_PER_SEC * 100);
	assert_int_equal(r.restarts, 1);
	reading_take(&r, &energy, 0, 20 + wrap + NSEC_PER_SEC * 101);
	assert_int_equal(r.restarts, 2);
	assert_int_equal(r.total, 0);
	/* Time that goes back. */
	assert_false(reading_total(&r, &energy, 1, 0, &total));
}

TEST(fields)
{
	const struct pmu_free margin = {
		.shift = 16, .width = 7, .valid = 1U << 31, .unit = PMU_UNIT_DEGREES};
	const struct pmu_free tsc = {.width = 64, .unit = PMU_UNIT_TICKS};
	struct reading r = {0};
	uint64_t v;

	assert_true(reading_field(&margin, 0x88280000, &v));
	assert_int_equal(v, 0x28);
	assert_false(reading_field(&margin, 0x08280000, &v));
	/* Degrees and 64 bits need no earlier reading. */
	assert_true(reading_total(&r, &margin, 40, 0, &v));
	assert_int_equal(v, 40);
	assert_true(reading_total(&r, &tsc, UINT64_MAX, 0, &v));
	assert_int_equal(v, UINT64_MAX);
	assert_true(reading_field(&tsc, UINT64_MAX, &v));
	assert_int_equal(reading_shown(&tsc, v), UINT64_MAX);
	/* Centuries of energy in microjoules fit. */
	assert_int_equal(reading_shown(&energy, 1ULL << 58), 1000000ULL << 44);
}

/* 150 W, to a count or a microsecond; or an SMI each 10 us. */
static void sim_counted(const struct pmu_free *reg, uint64_t counts, uint64_t ns)
{
	uint64_t uj = reading_shown(reg, counts), most = 300 + (reg->uj >> reg->uj_shift);

	if (pmu_unit_is_energy(reg->unit))
		assert_in_range(uj, ns / 1000 * 150 - most, ns / 1000 * 150 + most);
	else
		assert_int_equal(counts, ns / 10000);
}

static int sim_cpuid(void *arg, uint32_t leaf, uint32_t subleaf, uint32_t out[4], struct err *e)
{
	(void)e;
	return hw_cpuid(arg, 0, leaf, subleaf, out);
}

static int sim_rdmsr(void *arg, uint32_t addr, uint64_t *value)
{
	return hw_rdmsr(arg, 0, addr, value);
}

/* A model's registers of energy, or of events: polled at half the shortest wrap, for 1,000 wraps.
 * Its time is too short for those of 1 J. False: it has none. */
static bool sim_wraps(const struct pmu_model *m, unsigned cpu, bool of_energy)
{
	struct pmu_free regs[PMU_MAX_FREES];
	struct reading r[PMU_MAX_FREES] = {0};
	uint64_t first[PMU_MAX_FREES], v, period = UINT64_MAX;
	struct pmu pmu = {0};
	unsigned n = 0;
	struct hw *hw;

	assert_int_equal(hw_new(m->sim.name, 4, &hw, &why), 0);
	pmu_free_detect(&(struct pmu_cpu){.cpuid = sim_cpuid, .rdmsr = sim_rdmsr, .arg = hw}, &pmu);
	for (unsigned i = 0; i < pmu.nfrees; i++)
		if (pmu_free_wrap_ns(&pmu.frees[i]) != UINT64_MAX &&
			pmu.frees[i].unit != PMU_UNIT_RAPL_0 &&
			pmu_unit_is_energy(pmu.frees[i].unit) == of_energy) {
			regs[n++] = pmu.frees[i];
			if (pmu_free_wrap_ns(&pmu.frees[i]) / 2 < period)
				period = pmu_free_wrap_ns(&pmu.frees[i]) / 2;
		}
	for (unsigned long long k = 0; n; k++) {
		bool done = true;

		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(hw_rdmsr(hw, cpu, regs[i].addr, &v), 0);
			reading_take(&r[i], &regs[i], v & UINT32_MAX, hw_now(hw));
			if (k == 0)
				first[i] = r[i].total;
			assert_int_equal(r[i].total & UINT32_MAX, v);
			done = done && (r[i].total >> 32) >= 1000;
		}
		if (done)
			break;
		hw_advance(hw, period);
	}
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(r[i].restarts, 0);
		sim_counted(&regs[i], r[i].total - first[i], hw_now(hw));
	}
	hw_free(hw);
	return n;
}

TEST(sim_wraps)
{
	unsigned of_energy = 0, of_events = 0;
	const struct pmu_model *m;

	for (unsigned i = 0; (m = pmu_model_at(i)); i++) {
		if (!m->sim.name[0] || m->space == PMU_SPACE_IPF)
			continue;
		of_energy += sim_wraps(m, i % 4, true);
		of_events += sim_wraps(m, (i + 1) % 4, false);
	}
	assert_true(of_energy >= 15);
	assert_true(of_events >= 13);
}

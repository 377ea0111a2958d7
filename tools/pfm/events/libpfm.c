// SPDX-License-Identifier: MIT
#include "tools/pfm/events/libpfm.h"

#include <errno.h>
#include <perfmon/pfmlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/library.h"

enum { MAX_CODES = 8 };

#define LIBPFM_FUNCTIONS(F)                                                                        \
	F(struct libpfm, pfm_get_event_attr_info)                                                  \
	F(struct libpfm, pfm_get_event_info)                                                       \
	F(struct libpfm, pfm_get_event_next)                                                       \
	F(struct libpfm, pfm_get_os_event_encoding)                                                \
	F(struct libpfm, pfm_get_pmu_info)                                                         \
	F(struct libpfm, pfm_get_version)                                                          \
	F(struct libpfm, pfm_initialize)                                                           \
	F(struct libpfm, pfm_strerror)

static struct libpfm {
	LIBPFM_FUNCTIONS(LIBRARY_POINTER)
} libpfm;

static bool libpfm_open(void)
{
	static const struct library_function functions[] = {LIBPFM_FUNCTIONS(LIBRARY_FUNCTION)};
	static int state = -1;

	if (state < 0)
		state = library_open("libpfm.so.4", functions,
			sizeof(functions) / sizeof(functions[0]), &libpfm);
	return state;
}

/* Sets an environment variable, or removes it if @value is NULL. Returns the previous value, which
 * the caller frees. */
static char *libpfm_swap(const char *name, const char *value)
{
	const char *old = getenv(name);
	char *copy = old ? strdup(old) : NULL;

	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
	return copy;
}

/*
 * Initializes libpfm4. Events of PMUs that this machine lacks are found, too, if the name has the
 * PMU. "perf" and "perf_raw" are disabled, as their codes are for perf_event_open, not for
 * registers. The environment is restored for the monitored command.
 */
static bool libpfm_ready(void)
{
	static int state = -1;

	if (state < 0 && !libpfm_open())
		state = 0;
	if (state < 0) {
		CLEANUP_FREE char *inactive = libpfm_swap("LIBPFM_ENCODE_INACTIVE", "1");
		CLEANUP_FREE char *disabled = libpfm_swap("LIBPFM_DISABLED_PMUS", "perf,perf_raw");

		state = libpfm.pfm_initialize() == PFM_SUCCESS;
		free(libpfm_swap("LIBPFM_ENCODE_INACTIVE", inactive));
		free(libpfm_swap("LIBPFM_DISABLED_PMUS", disabled));
	}
	return state;
}

const char *libpfm_version(void)
{
	static char version[16];
	int v;

	if (!libpfm_open())
		return NULL;
	v = libpfm.pfm_get_version();
	snprintf(version, sizeof(version), "%d.%d", PFM_MAJ_VERSION(v), PFM_MIN_VERSION(v));
	return version;
}

static bool libpfm_fits(enum arch_encoding encoding, const char *qualified)
{
	bool amd = strncmp(qualified, "amd64", 5) == 0;

	return encoding == ARCH_NONE || amd == (encoding == ARCH_AMD);
}

/*
 * Codes that are wrong in all or some versions of libpfm4. Only counter 0 counts 0x01c0, for PEBS.
 * Other events lack their event number, so that their unit mask would mean a fixed counter, or
 * nothing.
 */
static const struct libpfm_mistake {
	const char *name; /* the text after the PMU's name; with "::" in it, the whole name */
	uint64_t code, right;
} libpfm_mistakes[] = {
	{"INST_RETIRED:ANY", 0x01c0, 0x00c0},
	{"INST_RETIRED:ANY_P", 0x01c0, 0x00c0},
	{"TOPDOWN:BACKEND_BOUND_SLOTS", 0x0200, 0x02a4},
	{"TOPDOWN:BAD_SPEC_SLOTS", 0x0400, 0x04a4},
	{"TOPDOWN:BR_MISPREDICT_SLOTS", 0x0800, 0x08a4},
	{"TOPDOWN:MEMORY_BOUND_SLOTS", 0x1000, 0x10a4},
	{"glm::CPU_CLK_UNHALTED:CORE_P", 0x0000, 0x003c},
	{"glm::CPU_CLK_UNHALTED:REF", 0x0100, 0x013c},
	{"CPU_CLK_UNHALTED:THREAD", 0x023c, 0x0200},
	{"CPU_CLK_UNHALTED:REF_TSC", 0x033c, 0x0300},
};

static void libpfm_correct(const char *qualified, uint64_t *code)
{
	const char *event = strstr(qualified, "::");

	for (unsigned i = 0; event && i < sizeof(libpfm_mistakes) / sizeof(libpfm_mistakes[0]);
		i++) {
		const struct libpfm_mistake *m = &libpfm_mistakes[i];
		const char *name = strstr(m->name, "::") ? qualified : event + 2;

		/* Modifiers follow, as libpfm4 always writes all of them. */
		if (slice_starts(slice_of(name), m->name) && name[strlen(m->name)] == ':' &&
			(*code & 0xffff) == m->code)
			*code ^= m->code ^ m->right;
	}
}

static int libpfm_refuse(int rc, const char *name, struct err *e)
{
	if (rc == PFM_ERR_NOTFOUND)
		return err_set(e, ENOENT, "%s: no such event", name);
	return err_set(e, EINVAL, "%s: libpfm4: %s", name, libpfm.pfm_strerror(rc));
}

static int libpfm_take(enum arch_encoding encoding, const pfm_pmu_encode_arg_t *arg,
	const char *qualified, struct event_code *c, struct err *e)
{
	if (!libpfm_fits(encoding, qualified))
		return err_set(e, EINVAL, "%.100s: an event of another vendor's PMU", qualified);
	if (arg->count < 1 || arg->count > 2 || strncmp(qualified, "netburst", 8) == 0)
		return err_set(e, EOPNOTSUPP,
			"%.100s: it needs registers that perfmonfs does not offer", qualified);
	*c = (struct event_code){.code = arg->codes[0], .has_extra = arg->count == 2};
	if (c->has_extra)
		c->extra = arg->codes[1];
	libpfm_correct(qualified, &c->code);
	c->code &= ~PFM_SEL_STATE;
	return 0;
}

int libpfm_encode(
	enum arch_encoding encoding, struct slice name, struct event_code *c, struct err *e)
{
	CLEANUP_FREE char *qualified = NULL;
	char text[EVENT_NAME + EVENT_SOURCE];
	uint64_t codes[MAX_CODES] = {0};
	pfm_pmu_encode_arg_t arg = {
		.codes = codes, .fstr = &qualified, .size = sizeof(arg), .count = MAX_CODES};
	int rc;

	if (!libpfm_open())
		return err_set(e, ENOENT,
			"%.*s: the machine lacks libpfm4, which has more names: install it",
			SLICE_ARG(name));
	if (name.n >= sizeof(text) || !libpfm_ready())
		return err_set(e, ENOENT, "%.*s: no such event", SLICE_ARG(name));
	snprintf(text, sizeof(text), "%.*s", (int)name.n, name.p);
	rc = libpfm.pfm_get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_NONE, &arg);
	if (rc != PFM_SUCCESS)
		return libpfm_refuse(rc, text, e);
	return libpfm_take(encoding, &arg, qualified ? qualified : "", c, e);
}

/* The PMU of PMU::EVENT; empty if the name has none. */
static struct slice libpfm_pmu_of(struct slice name)
{
	struct slice rest = name, pmu = slice_cut(&rest, ':');

	return rest.n && rest.p[0] == ':' ? pmu : (struct slice){name.p, 0};
}

static bool libpfm_wanted(struct slice pmu, const pfm_pmu_info_t *info)
{
	if (info->type != PFM_PMU_TYPE_CORE)
		return false;
	return pmu.n ? event_name_is(pmu, info->name) : info->is_present;
}

/* Called with an event and its name, PMU::EVENT. */
typedef void libpfm_event_fn(void *arg, const pfm_event_info_t *event, const char *name);

static void libpfm_events_of(const pfm_pmu_info_t *pmu, libpfm_event_fn *each, void *arg)
{
	for (int i = pmu->first_event; i != -1; i = libpfm.pfm_get_event_next(i)) {
		pfm_event_info_t event = {.size = sizeof(event)};
		char name[EVENT_NAME];

		if (libpfm.pfm_get_event_info(i, PFM_OS_NONE, &event) != PFM_SUCCESS)
			continue;
		snprintf(name, sizeof(name), "%s::%s", pmu->name, event.name);
		each(arg, &event, name);
	}
}

static void libpfm_events(struct slice pmu, libpfm_event_fn *each, void *arg)
{
	for (int p = 0; libpfm_ready() && p < PFM_PMU_MAX; p++) {
		pfm_pmu_info_t info = {.size = sizeof(info)};

		if (libpfm.pfm_get_pmu_info((pfm_pmu_t)p, &info) == PFM_SUCCESS &&
			libpfm_wanted(pmu, &info))
			libpfm_events_of(&info, each, arg);
	}
}

/* Calls @each with each unit mask of the event, and returns how many it has. */
static unsigned libpfm_umasks(
	const pfm_event_info_t *event, const char *name, libpfm_each_fn *each, void *arg)
{
	unsigned umasks = 0;

	for (int i = 0; i < event->nattrs; i++) {
		pfm_event_attr_info_t attr = {.size = sizeof(attr)};
		char qualified[2 * EVENT_NAME];

		if (libpfm.pfm_get_event_attr_info(event->idx, i, PFM_OS_NONE, &attr) !=
				PFM_SUCCESS ||
			attr.type != PFM_ATTR_UMASK)
			continue;
		umasks++;
		snprintf(qualified, sizeof(qualified), "%s:%s", name, attr.name);
		each(arg, qualified, attr.desc);
	}
	return umasks;
}

struct libpfm_each {
	libpfm_each_fn *each, *umask;
	void *arg;
};

static void libpfm_pass(void *arg, const pfm_event_info_t *event, const char *name)
{
	const struct libpfm_each *to = arg;

	to->each(to->arg, name, event->desc);
	if (to->umask)
		libpfm_umasks(event, name, to->umask, to->arg);
}

void libpfm_each(struct slice pmu, libpfm_each_fn *each, libpfm_each_fn *umask, void *arg)
{
	libpfm_events(pmu, libpfm_pass, &(struct libpfm_each){each, umask, arg});
}

struct libpfm_of_code {
	libpfm_each_fn *each;
	void *arg;
	enum arch_encoding encoding;
	uint64_t code;
};

static void libpfm_pass_of_code(void *arg, const char *name, const char *desc)
{
	const struct libpfm_of_code *to = arg;
	struct event_code c;
	struct err ignored;

	if (libpfm_encode(to->encoding, slice_of(name), &c, &ignored) == 0 && c.code == to->code)
		to->each(to->arg, name, desc);
}

/* Passes an event once if it has no unit masks, or else with each of them. */
static void libpfm_pass_umasks(void *arg, const pfm_event_info_t *event, const char *name)
{
	if (!libpfm_umasks(event, name, libpfm_pass_of_code, arg))
		libpfm_pass_of_code(arg, name, event->desc);
}

void libpfm_each_of_code(enum arch_encoding encoding, struct slice pmu, uint64_t code,
	libpfm_each_fn *each, void *arg)
{
	struct libpfm_of_code to = {each, arg, encoding, code};

	libpfm_events(pmu, libpfm_pass_umasks, &to);
}

struct libpfm_offers {
	struct slice name;
	struct nearest *near;
};

static void libpfm_offer_one(void *arg, const char *name, const char *desc)
{
	struct libpfm_offers *o = arg;
	const char *bare = strstr(name, "::") + 2;

	(void)desc;
	nearest_offer(o->near, o->name, libpfm_pmu_of(o->name).n ? name : bare);
}

void libpfm_offer(struct slice name, struct nearest *near)
{
	struct libpfm_offers o = {name, near};

	libpfm_each(libpfm_pmu_of(name), libpfm_offer_one, NULL, &o);
}

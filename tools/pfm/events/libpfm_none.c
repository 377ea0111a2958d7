// SPDX-License-Identifier: MIT
/* Replaces libpfm.c if pfm is built without the library. */
#include "tools/pfm/events/libpfm.h"

#include <errno.h>

const char *libpfm_version(void)
{
	return NULL;
}

int libpfm_encode(
	enum arch_encoding encoding, struct slice name, struct event_code *c, struct err *e)
{
	(void)encoding;
	(void)c;
	return err_set(e, ENOENT, "%.*s: pfm was built without libpfm4, which has more names",
		SLICE_ARG(name));
}

void libpfm_offer(struct slice name, struct nearest *near)
{
	(void)name;
	(void)near;
}

void libpfm_each(struct slice pmu, libpfm_each_fn *each, libpfm_each_fn *umask, void *arg)
{
	(void)pmu, (void)each, (void)umask, (void)arg;
}

void libpfm_each_of_code(enum arch_encoding encoding, struct slice pmu, uint64_t code,
	libpfm_each_fn *each, void *arg)
{
	(void)encoding, (void)pmu, (void)code, (void)each, (void)arg;
}

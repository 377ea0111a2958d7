// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/place_options.h"

#include <errno.h>
#include <stddef.h>

static int place_options_set_kind(
	struct place_options *o, enum place_kind kind, const char *list, struct err *e)
{
	if (o->kind != PLACE_COMMAND && o->cgroup && !(list && o->list)) /* perf wants both. */
		return err_set(e, EINVAL, "-G measures a group on all CPUs: leave out -a");
	if (o->kind != PLACE_COMMAND)
		return err_set(e, EINVAL, "give one of -p, -t, -G, -C and -a");
	o->kind = kind;
	o->list = list;
	return 1;
}

int place_options_set(struct place_options *o, int c, const char *arg, struct err *e)
{
	switch (c) {
	case 'm':
		o->mount = arg;
		return 1;
	case 'p':
		return place_options_set_kind(o, PLACE_PROCESS, arg, e);
	case 't':
		return place_options_set_kind(o, PLACE_THREAD, arg, e);
	case 'G':
		o->cgroup = true;
		return place_options_set_kind(o, PLACE_PROCESS, arg, e);
	case 'C':
		return place_options_set_kind(o, PLACE_CPU, arg, e);
	case 'a':
		return place_options_set_kind(o, PLACE_CPU, NULL, e);
	default:
		return 0;
	}
}

int place_options_check(const struct place_options *o, char *const *command, struct err *e)
{
	if (!command && o->kind == PLACE_COMMAND)
		return err_set(e, EINVAL, "give a command, or -p, -t, -G, -C or -a");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* The parts of perfmonfs.json, which describes the interface to bindings: each prints members of
 * its object. */
#ifndef DAEMON_DESCRIBE_H
#define DAEMON_DESCRIBE_H

#include "base/text.h"

/* The structures of the installed headers. */
void describe_structs(struct text *out);

#endif

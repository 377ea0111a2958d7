// SPDX-License-Identifier: MIT
/* daemon/bpf/sched.c with another program: the skeletons have the same names. */
#include "daemon/bpf/sched_shared.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "tests/hiding/hiding.skel.h"
#pragma GCC diagnostic pop

#include "daemon/bpf/sched.c"

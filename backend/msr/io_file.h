/* SPDX-License-Identifier: MIT */
/* The kernel's device files N/msr and N/cpuid, or files that behave like them (msrsim). */
#ifndef BACKEND_MSR_IO_FILE_H
#define BACKEND_MSR_IO_FILE_H

#include "backend/msr/msr_io.h"

#define MSR_DEV_DEFAULT "/dev/cpu"

/* @dir: NULL for the default one. ENOENT and a remedy if there is no msr device in it. */
int msr_io_file(const char *dir, struct msr_io **out, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* Registers behind the device files N/msr and N/cpuid of the kernel or of msrsim. */
#ifndef BACKEND_MSR_IO_FILE_H
#define BACKEND_MSR_IO_FILE_H

#include "backend/msr/msr_io.h"

#define MSR_DEV_DEFAULT "/dev/cpu"

/* @dir: NULL for MSR_DEV_DEFAULT. ENOENT, with a remedy, if it contains no msr device. */
int msr_io_file(const char *dir, struct msr_io **out, struct err *e);

#endif

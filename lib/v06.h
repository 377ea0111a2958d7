/* SPDX-License-Identifier: MIT */
/* Commands of the specification's perfmonctl() that are not in v06.c. */
#ifndef PERFMONFS_LIB_V06_H
#define PERFMONFS_LIB_V06_H

/* Writes, reads, creates, deletes or gets information on @n registers or sets. */
int v06_vector(int fd, int cmd, void *arg, int n);
/* PFM_GETINFO_PMCS and PFM_GETINFO_PMDS. They need no context. */
int v06_getinfo_registers(int fd, int cmd, void *arg, int n);
int v06_set_config(int fd, int cmd, void *arg, int n);
int v06_get_config(int fd, int cmd, void *arg, int n);

#endif

/* SPDX-License-Identifier: MIT */
/* The specification's perfmonctl(): what its files share. */
#ifndef PERFMONFS_LIB_V06_H
#define PERFMONFS_LIB_V06_H

/* A function for each command that takes vectors, or that asks no context. */
int v06_write_pmcs(int fd, void *arg, int n);
int v06_write_pmds(int fd, void *arg, int n);
int v06_read_pmds(int fd, void *arg, int n);
int v06_create_evtsets(int fd, void *arg, int n);
int v06_delete_evtsets(int fd, void *arg, int n);
int v06_getinfo_evtsets(int fd, void *arg, int n);
int v06_getinfo_pmcs(int fd, void *arg, int n);
int v06_getinfo_pmds(int fd, void *arg, int n);
int v06_set_config(int fd, void *arg, int n);
int v06_get_config(int fd, void *arg, int n);

#endif

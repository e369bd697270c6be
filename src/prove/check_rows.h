/* SPDX-License-Identifier: MIT */
/* The checks' rows, one per check_<id>.c, as check.c lists them. */
#ifndef KILN_PROVE_CHECK_ROWS_H
#define KILN_PROVE_CHECK_ROWS_H

#include "prove/check.h"

extern const struct check check_efa_driver;
extern const struct check check_efa_verbs;
extern const struct check check_libfabric;
extern const struct check check_fabric_providers;
extern const struct check check_libfabric_copies;
extern const struct check check_nccl_plugin;
extern const struct check check_nccl_copies;
extern const struct check check_nvidia_driver;
extern const struct check check_gpus;
extern const struct check check_fabric_manager;
extern const struct check check_xids;
extern const struct check check_memlock;
extern const struct check check_shm_size;
extern const struct check check_open_files;
extern const struct check check_hugepages;
extern const struct check check_ptrace;
extern const struct check check_environment;
extern const struct check check_interface;
extern const struct check check_ssh_server;
extern const struct check check_ssh_client;
extern const struct check check_mpi;
extern const struct check check_clock;
extern const struct check check_cpu_governor;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The folder of a cluster on this machine, STATE/clusters/NAME/ (0700):
 *
 *	cluster.json   what was asked for; "complete" once `up` has ended well
 *	hosts          "ADDRESS slots=N" lines
 *	ssh/           id_ed25519 (the user's key), known_hosts, config
 *	lower/K        links to the image's layers, bottom first, so that mount options stay short
 *	nodeI/         ssh_host_ed25519_key, upper/ work/ root/ (overlay), console.log
 */
#ifndef KILN_LAUNCH_CLUSTER_H
#define KILN_LAUNCH_CLUSTER_H

#include "launch/launch.h"

/* Gives STATE/clusters/NAME, which need not be there. */
int cluster_path(const char *name, char **ret, struct err *e);
/* The names under STATE/clusters, sorted: a NULL-ended list. */
int cluster_list(char ***ret, struct err *e);

/* Takes the folder's lock, waiting up to 15 s (-EBUSY: another kiln works on it). create: makes the folder when it is
 * not there (ret_made: it was not); else -ENOENT. Gives a descriptor on the folder; closing it gives the lock back. */
int cluster_lock(const char *name, bool create, int *ret_fd, bool *ret_made, struct err *e);
/* Removes the folder; the lock is held. STATE/clusters goes too when it was the last. */
int cluster_remove(const char *name, struct err *e);

/* cluster.json. load: -ENOENT when the folder is not there; a folder without a readable record is an unfinished cluster
 * with no nodes. */
int cluster_save(const struct launch_cluster *c, struct err *e);
int cluster_load(const char *name, struct launch_cluster **ret, struct err *e);

/* A fresh cluster of that many nodes, with their names, addresses (10.77.0.(10+I)) and places; slots are left 0. */
int cluster_new(const char *name, unsigned nodes, struct launch_cluster **ret, struct err *e);

#endif

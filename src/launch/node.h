/* SPDX-License-Identifier: MIT */
/*
 * One node: processes with their own network, mounts, process numbers, host name and IPC, rooted in an overlay over an
 * image's layers. Its pid 1 runs sshd, reaps orphans, and takes everything in the node along when it ends.
 */
#ifndef KILN_LAUNCH_NODE_H
#define KILN_LAUNCH_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct node_file {
	const char *path; /* absolute, in the node; parents are made */
	mode_t mode;
	bool append;
	const char *text;
	size_t len;
};

struct node_device {
	char path[64]; /* "/dev/null" */
	mode_t mode;
	dev_t number;
};

/* All borrowed until node_start returns. */
struct node_plan {
	const char *name;   /* also its host name */
	const char *folder; /* the cluster's, with lower/0.. as links to the layers */
	unsigned number;    /* 1..: folder/nodeNUMBER has root/ upper/ work/ */
	unsigned layers;
	const struct node_file *files;
	size_t file_count;
	const struct node_device *devices;
	size_t device_count;
};

/* Starts the node in a network namespace: its pid 1 is born there. Gives its pid and a descriptor for node_await. */
int node_start(const struct node_plan *p, int ns_fd, pid_t *ret_pid, int *ret_report_fd, struct err *e);
/* Waits until the node has set itself up and started sshd; takes report_fd. The error is the node's own: what it could
 * not do and why. -ETIMEDOUT after 10 s. */
int node_await(const char *name, int report_fd, struct err *e);

/* What a node's pid 1 says when it cannot set itself up. */
struct node_report {
	int code; /* errno */
	char what[200];
};

/* The life of a node's pid 1, from just after its birth: runs until told to end. Uses no heap and no stdio: the program
 * that it was forked from may have had threads. In node_init.c. */
_Noreturn void node_init_run(const struct node_plan *p, int console_fd, int report_fd);

/* The devices of node `index` of `nodes`: the harmless standard ones, the fabric's, and its share of this machine's GPUs
 * (GPU g of G belongs to node g * nodes / G). Gives the list (free() it), its length and how many are GPUs. dev: where
 * they are looked up, "/dev". In node_devices.c. */
int node_devices_find(const char *dev, unsigned index, unsigned nodes, struct node_device **ret, size_t *ret_count,
		      unsigned *ret_gpus, struct err *e);

#endif

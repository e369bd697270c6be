/* SPDX-License-Identifier: MIT */
/*
 * Clusters of baked nodes. A place to run them (this machine, later EC2) is one row; everything that a row makes can be
 * found again from the cluster's name alone, so `down` needs no state and works after any crash.
 */
#ifndef KILN_LAUNCH_LAUNCH_H
#define KILN_LAUNCH_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/own.h"
#include "base/progress.h"

#define LAUNCH_NODES_MAX 64
#define LAUNCH_NAME_BYTES 32      /* 31 characters and a NUL */
#define LAUNCH_NODE_NAME_BYTES 48 /* NAME-64; room for any unsigned */
#define LAUNCH_ADDRESS_BYTES 46

/* What the user asks for. All borrowed. */
struct launch_spec {
	const char *name;
	const char *image;                 /* path of an OCI layout */
	unsigned nodes;                    /* 1..LAUNCH_NODES_MAX */
	unsigned slots;                    /* ranks per node; 0: the node's GPUs, 1 when it has none */
	struct progress *progress;         /* may be NULL */
	const volatile sig_atomic_t *stop; /* non-zero: give up and remove what is there; may be NULL */
};

enum launch_state {
	LAUNCH_UP,     /* runs, and its sshd answers */
	LAUNCH_SILENT, /* runs, and its sshd does not answer */
	LAUNCH_DOWN,   /* does not run */
};

struct launch_node {
	char name[LAUNCH_NODE_NAME_BYTES];
	char address[LAUNCH_ADDRESS_BYTES];
	char place[64]; /* where it is: the network namespace, the instance */
	unsigned slots;
	pid_t pid; /* its pid 1 as this machine sees it; 0 when it does not run */
	int64_t uptime_ns;
	enum launch_state state;
};

struct launch_cluster {
	char name[LAUNCH_NAME_BYTES];
	char *image; /* the OCI layout's path */
	char digest[DIGEST_HEX_BYTES];
	int64_t created_wall_ns;
	bool complete; /* its `up` ran to the end */
	bool remnants; /* up only: what was left of an earlier cluster of this name was removed first */
	unsigned node_count;
	struct launch_node *nodes;
};

void launch_cluster_free(struct launch_cluster *c);
AUTO_DEFINE(launch_cluster)

struct launch_removed {
	unsigned processes;
	unsigned namespaces;
	unsigned folders;
};

struct launch_ops {
	const char *name; /* as typed after --on */
	const char *help; /* one line */
	/* Makes the cluster and waits until every node answers. On failure, and when stopped (-EINTR), nothing is left.
	 * ERR_INPUT: the name is taken, or the image is none. -EPERM, -EOPNOTSUPP: this machine cannot. */
	int (*up)(const struct launch_spec *s, struct launch_cluster **ret, struct err *e);
	/* The names of the clusters, sorted, also of unfinished ones: a NULL-ended list. */
	int (*list)(char ***ret, struct err *e);
	/* What is recorded of a cluster: its nodes' names, addresses and slots; not whether they run. -ENOENT when there
	 * is no such cluster; an unfinished one may have no nodes. Needs no privilege. */
	int (*load)(const char *name, struct launch_cluster **ret, struct err *e);
	/* Looks: fills pid, uptime and state of each node. -EPERM when not allowed to. */
	int (*look)(struct launch_cluster *c, struct err *e);
	/* Becomes an ssh client on a node; command is NULL-ended and may be empty. Comes back only with an error. */
	int (*ssh)(const struct launch_cluster *c, unsigned node, char *const *command, struct err *e);
	/* Removes everything of that name, whatever is there. A name of which there is nothing is fine. */
	int (*down)(const char *name, struct launch_removed *ret, struct err *e);
};

/* The places, NULL-ended. */
extern const struct launch_ops *const launch_places[];

/* [a-z][a-z0-9-]{0,30}, not ending in "-" and digits (nodes are called so). ERR_INPUT. */
int launch_check_name(const char *name, struct err *e);
/* The place that has a cluster of that name, and what it recorded. ERR_INPUT, with the nearest name, when none has. */
int launch_find(const char *name, const struct launch_ops **ret_place, struct launch_cluster **ret, struct err *e);
/* Which node `text` names: 2, NAME-2, or its address. Gives its index. ERR_INPUT. */
int launch_find_node(const struct launch_cluster *c, const char *text, unsigned *ret, struct err *e);
/* The image that `text` names: a path when it holds a slash, else NAME.oci or NAME under STATE/images, else a path; NULL:
 * the only image under STATE/images. Gives the path (free() it). ERR_INPUT when there is none, or more than one to choose
 * from. */
int launch_find_image(const char *text, char **ret, struct err *e);
/* Open MPI's hostfile: "ADDRESS slots=N" lines. Gives the text (free() it); NULL when out of memory. */
char *launch_hosts_text(const struct launch_cluster *c);

#endif

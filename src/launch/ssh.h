/* SPDX-License-Identifier: MIT */
/*
 * How the machine and the nodes trust each other: one user key per cluster, one host key per node, and every host key
 * known, by name and address, before the first connection. Nobody is ever asked, and nothing is ever taken on trust.
 */
#ifndef KILN_LAUNCH_SSH_H
#define KILN_LAUNCH_SSH_H

#include "launch/launch.h"
#include "launch/node.h"

/* Makes folder/ssh/ and folder/nodeI/ssh_host_ed25519_key for every node, with ssh-keygen. -ENOENT: ssh-keygen is not
 * installed. */
int ssh_make_keys(const struct launch_cluster *c, const char *folder, struct err *e);

/* The files that make a node part of its cluster: keys, known hosts, names, the hosts file, the image's environment. */
struct ssh_files {
	struct node_file *list;
	size_t count;
};
/* env: NAME=value, NULL-ended; may be NULL. Reads what ssh_make_keys made. */
int ssh_files_new(const struct launch_cluster *c, const char *folder, unsigned node, char *const *env,
		  struct ssh_files **ret, struct err *e);
void ssh_files_free(struct ssh_files *f);
AUTO_DEFINE(ssh_files)

/* Waits until the sshd of every node sends its greeting, at most timeout_ms; switch_fd: the namespace to ask from.
 * answered (node_count entries): nodes that are true already are not asked again. Returns how many still do not. */
int ssh_await(const struct launch_cluster *c, int switch_fd, uint32_t timeout_ms, bool *answered, struct err *e);

/* Becomes ssh(1), inside the namespace that switch_fd holds. Comes back only with an error. */
int ssh_become(const struct launch_cluster *c, const char *folder, int switch_fd, unsigned node, char *const *command,
	       struct err *e);

#endif

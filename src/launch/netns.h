/* SPDX-License-Identifier: MIT */
/*
 * Named network namespaces under /run/netns, as ip-netns(8) keeps them. A namespace is named before anything runs in it,
 * so what a killed `up` leaves can always be found.
 * Needs CAP_SYS_ADMIN. Thread rule: the calling thread changes namespace and comes back; one thread at a time.
 */
#ifndef KILN_LAUNCH_NETNS_H
#define KILN_LAUNCH_NETNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Makes and names a namespace; its loopback is up. Gives a descriptor on it and a netlink socket in it.
 * -EEXIST: the name is taken. -EOPNOTSUPP: the kernel has no network namespaces. */
int netns_add(const char *name, int *ret_ns_fd, int *ret_netlink_fd, struct err *e);
/* A descriptor on a named namespace; -ENOENT when there is none or only its empty file. */
int netns_open(const char *name, struct err *e);
/* Moves the thread into a namespace. netns_enter gives, for netns_leave, a descriptor on the one it was in. */
int netns_enter(int ns_fd, int *ret_home_fd, struct err *e);
/* Back home; takes home_fd. That this fails is a broken kernel: aborts. */
void netns_leave(int home_fd);
/* The namespaces of a cluster (its switch "kiln-NAME" and nodes "kiln-NAME-I"): a NULL-ended list. */
int netns_list(const char *cluster, char ***ret, struct err *e);
/* Takes the name away: the namespace goes with its last process. Gone already is fine. When kiln made /run/netns and it
 * is empty again, that goes too. */
int netns_remove(const char *name, struct err *e);
/* The last part of netns_remove, for when an `up` was killed before it had named anything. */
int netns_tidy(struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The few rtnetlink requests that a cluster's network takes. A socket speaks to the network namespace it was opened in,
 * wherever the thread goes later. Every request waits for the kernel's answer.
 * Source: rtnetlink(7), Linux include/uapi/linux/{rtnetlink,if_link,veth}.h.
 */
#ifndef KILN_LAUNCH_NETLINK_H
#define KILN_LAUNCH_NETLINK_H

#include "base/err.h"

/* Opens a socket in the calling thread's network namespace: a descriptor. */
int netlink_open(struct err *e);
/* A bridge without spanning tree, so that ports forward at once. -EOPNOTSUPP: the kernel has none. */
int netlink_add_bridge(int fd, const char *name, struct err *e);
/* A pair: `name` here, as a port of the bridge `bridge`, and `peer` in the namespace that peer_ns_fd holds. -EOPNOTSUPP: the
 * kernel has no veth. */
int netlink_add_veth(int fd, const char *name, const char *bridge, const char *peer, int peer_ns_fd, struct err *e);
/* address: dotted IPv4. */
int netlink_add_address(int fd, const char *name, const char *address, unsigned prefix_bits, struct err *e);
int netlink_set_up(int fd, const char *name, struct err *e);

#endif

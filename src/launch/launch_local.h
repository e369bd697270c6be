/* SPDX-License-Identifier: MIT */
/*
 * A cluster of namespaces on this machine. What it consists of, all of it named after the cluster:
 *
 *	STATE/clusters/NAME/       keys, records, the nodes' upper layers; its lock serialises up and down
 *	/run/netns/kiln-NAME       the switch: bridge br0, 10.77.0.1/24; ssh clients run here
 *	/run/netns/kiln-NAME-I     node I: eth0, 10.77.0.(10+I)/24
 *	processes                  those whose network namespace is one of these
 * A node's mounts are in its own mount namespace and go with it; the machine's own network is never touched.
 */
#ifndef KILN_LAUNCH_LAUNCH_LOCAL_H
#define KILN_LAUNCH_LAUNCH_LOCAL_H

#include "launch/launch.h"

extern const struct launch_ops launch_local;

#endif

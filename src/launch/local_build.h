/* SPDX-License-Identifier: MIT */
/* Builds a local cluster in a folder that is locked and empty, under names that are free. */
#ifndef KILN_LAUNCH_LOCAL_BUILD_H
#define KILN_LAUNCH_LOCAL_BUILD_H

#include "image/oci.h"
#include "launch/launch.h"

/* Ends when every node answers, with c complete and recorded. On failure what was made is left for the caller to
 * remove. -EINTR: s->stop was set. -EOPNOTSUPP: the kernel or the state folder's file system cannot. */
int local_build(struct launch_cluster *c, const struct launch_spec *s, const struct oci_image *image, struct err *e);

#endif

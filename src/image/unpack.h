/* SPDX-License-Identifier: MIT */
/* An OCI layer (gzip or plain tar) as a folder in overlayfs form, its digests counted on the way. */
#ifndef KILN_IMAGE_UNPACK_H
#define KILN_IMAGE_UNPACK_H

#include "base/err.h"
#include "image/pack_stream.h"

/* Unpacks `blob` into the empty folder dir. Nothing in it can reach out of dir: the work is done with dir as root.
 * ret: what was found; the caller compares. ERR_INPUT: damaged, or of a kind that is not known (zstd); -ENOSPC and the
 * like name the entry; -EPERM without root. */
int unpack_layer(const char *blob, const char *dir, struct pack_result *ret, struct err *e);

#endif

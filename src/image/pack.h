/* SPDX-License-Identifier: MIT */
/*
 * A layer's folder as an OCI layer: pax tar, gzip. The same folder gives the same bytes: names sorted, owners as
 * numbers, times no later than the epoch and in whole seconds, hard links by the first name, extended attributes
 * security.capability and user.* only. overlayfs' deletions (character device 0:0) become .wh. files, an opaque folder
 * gets .wh..wh..opq. Source: OCI Image Format Specification 1.0.2, layer.md.
 */
#ifndef KILN_IMAGE_PACK_H
#define KILN_IMAGE_PACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "image/pack_stream.h"

#define PACK_WHITEOUT_PREFIX ".wh."
#define PACK_OPAQUE_NAME ".wh..wh..opq"
#define PACK_OPAQUE_XATTR "trusted.overlay.opaque"

/* Packs what is in dir (not dir itself) to fd; name is for messages. Errors of reading name the file; -EINVAL for what
 * no layer can hold (a name that begins with ".wh."). Sockets are left out. */
int pack_tree(const char *dir, int64_t epoch, int fd, const char *name, struct pack_result *ret, struct err *e);

/* What overlayfs means by these: a deletion; a folder that hides what is below it. */
bool pack_is_whiteout(const struct stat *st);
bool pack_is_opaque(const char *path);

#endif

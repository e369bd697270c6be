/* SPDX-License-Identifier: MIT */
/* A layer blob as the bytes of its tar: inflated when it is gzip, both digests counted. */
#ifndef KILN_IMAGE_UNPACK_STREAM_H
#define KILN_IMAGE_UNPACK_STREAM_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/own.h"
#include "image/pack_stream.h"

struct unpack_stream;

/* Opens the blob; its name is borrowed. -ENOENT and the like; ERR_INPUT: compressed in a way that is not known. */
int unpack_stream_open(const char *blob, struct unpack_stream **ret, struct err *e);
void unpack_stream_free(struct unpack_stream *s);
AUTO_DEFINE(unpack_stream)
/* The next bytes: > 0 with *ret_data (borrowed until the next call), 0 at the end, ERR_INPUT when damaged. */
ssize_t unpack_stream_read(struct unpack_stream *s, const void **ret_data, struct err *e);
/* After the end: what was read. */
void unpack_stream_result(struct unpack_stream *s, struct pack_result *ret);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Where a layer's tar goes: gzip without name and time, both digests (of the tar and of the file) counted on the way.
 * Thread rule: a stream belongs to one thread.
 */
#ifndef KILN_IMAGE_PACK_STREAM_H
#define KILN_IMAGE_PACK_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/own.h"

struct pack_stream;

struct pack_result {
	char diff_id[DIGEST_HEX_BYTES]; /* sha256 of the tar */
	char digest[DIGEST_HEX_BYTES];  /* sha256 of what was written */
	int64_t uncompressed_bytes;
	int64_t bytes;
};

/* Writes to fd (borrowed); name is for messages and borrowed. -ENOMEM. */
int pack_stream_new(int fd, const char *name, struct pack_stream **ret, struct err *e);
void pack_stream_free(struct pack_stream *s);
AUTO_DEFINE(pack_stream)
/* -ENOSPC and the like name the file. */
int pack_stream_write(struct pack_stream *s, const void *data, size_t n, struct err *e);
/* Ends the gzip stream; s can only be freed after it. Errors as pack_stream_write. */
int pack_stream_end(struct pack_stream *s, struct pack_result *ret, struct err *e);

#endif

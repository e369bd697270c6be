/* SPDX-License-Identifier: MIT */
#include "image/unpack_stream.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#define UNPACK_BLOCK_BYTES ((size_t)128 << 10)

struct unpack_stream {
	const char *name;
	int fd;
	bool is_gzip;
	bool member_open; /* inside a gzip member */
	bool at_end;
	z_stream z;
	struct digest *plain;
	struct digest *packed;
	int64_t plain_bytes;
	int64_t packed_bytes;
	unsigned char in[UNPACK_BLOCK_BYTES];
	unsigned char out[UNPACK_BLOCK_BYTES];
};

void unpack_stream_free(struct unpack_stream *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	inflateEnd(&s->z);
	digest_free(s->plain);
	digest_free(s->packed);
	free(s);
}

static int stream_find_kind(struct unpack_stream *s, struct err *e)
{
	unsigned char magic[4] = { 0 };
	ssize_t n = pread(s->fd, magic, sizeof(magic), 0);

	if (n < 0)
		return err_sys(e, "read %s", s->name);
	s->is_gzip = magic[0] == 0x1f && magic[1] == 0x8b;
	if (memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0)
		return err_input(e,
				 "%s is compressed with zstd, kiln reads gzip and plain tar: `skopeo copy "
				 "--dest-compress-format gzip` makes a copy it can use",
				 s->name);
	return 0;
}

int unpack_stream_open(const char *blob, struct unpack_stream **ret, struct err *e)
{
	AUTO(unpack_stream) s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(e, -ENOMEM, "out of memory for unpacking %s", blob);
	s->name = blob;
	s->fd = open(blob, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0)
		return err_sys(e, "open %s", blob);
	s->plain = digest_new();
	s->packed = digest_new();
	if (!s->plain || !s->packed || inflateInit2(&s->z, 15 + 16) != Z_OK)
		return err_set(e, -ENOMEM, "out of memory for unpacking %s", blob);
	int rc = stream_find_kind(s, e);
	if (rc < 0)
		return rc;
	*ret = steal(s);
	return 0;
}

/* Bytes of the blob itself; 0 at its end. */
static ssize_t stream_fill(struct unpack_stream *s, struct err *e)
{
	ssize_t n = read(s->fd, s->in, sizeof(s->in));
	if (n < 0)
		return err_sys(e, "read %s", s->name);
	digest_add(s->packed, s->in, (size_t)n);
	s->packed_bytes += n;
	return n;
}

static ssize_t stream_inflate(struct unpack_stream *s, struct err *e)
{
	s->z.next_out = s->out;
	s->z.avail_out = sizeof(s->out);
	while (s->z.avail_out == sizeof(s->out)) {
		if (s->z.avail_in == 0) {
			ssize_t n = stream_fill(s, e);
			if (n < 0)
				return n;
			if (n == 0 && s->member_open)
				return err_input(e, "%s is cut off: copy or bake the image again", s->name);
			if (n == 0)
				return 0;
			s->z.next_in = s->in;
			s->z.avail_in = (uInt)n;
		}
		s->member_open = true;
		int rc = inflate(&s->z, Z_NO_FLUSH);
		if (rc == Z_STREAM_END) { /* another member may follow */
			inflateReset(&s->z);
			s->member_open = false;
		} else if (rc != Z_OK && rc != Z_BUF_ERROR) {
			return err_input(e, "%s is damaged (%s): copy or bake the image again", s->name,
					 s->z.msg ? s->z.msg : "not gzip");
		}
	}
	return (ssize_t)(sizeof(s->out) - s->z.avail_out);
}

ssize_t unpack_stream_read(struct unpack_stream *s, const void **ret_data, struct err *e)
{
	if (s->at_end)
		return 0;
	ssize_t n = s->is_gzip ? stream_inflate(s, e) : stream_fill(s, e);
	if (n <= 0) {
		s->at_end = true;
		return n;
	}
	*ret_data = s->is_gzip ? s->out : s->in;
	digest_add(s->plain, *ret_data, (size_t)n);
	s->plain_bytes += n;
	return n;
}

void unpack_stream_result(struct unpack_stream *s, struct pack_result *ret)
{
	digest_hex(s->plain, ret->diff_id);
	digest_hex(s->packed, ret->digest);
	ret->uncompressed_bytes = s->plain_bytes;
	ret->bytes = s->packed_bytes;
}

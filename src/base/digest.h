/* SPDX-License-Identifier: MIT */
/* SHA-256, from libcrypto, as lower-case hex. */
#ifndef KILN_BASE_DIGEST_H
#define KILN_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

#define DIGEST_HEX_BYTES 65 /* 64 digits and a NUL */

struct digest; /* a running hash */

/* NULL when out of memory. */
struct digest *digest_new(void);
void digest_free(struct digest *d);
AUTO_DEFINE(digest)
void digest_add(struct digest *d, const void *data, size_t n);
/* A string with its length in front, so that ("ab","c") and ("a","bc") differ. */
void digest_add_field(struct digest *d, const char *s);
/* Ends the hash; d can only be freed after it. */
void digest_hex(struct digest *d, char ret[DIGEST_HEX_BYTES]);

void digest_of(const void *data, size_t n, char ret[DIGEST_HEX_BYTES]);
/* Of a file's bytes. dirfd may be AT_FDCWD. Errors: err_sys with the path in the message. */
int digest_of_file(int dirfd, const char *path, char ret[DIGEST_HEX_BYTES], struct err *e);
/* Of a tree: sorted relative paths, kinds, permission bits, link targets and file contents; no times, no owners.
 * Errors: err_sys with the path in the message. */
int digest_of_tree(const char *path, char ret[DIGEST_HEX_BYTES], struct err *e);

#endif

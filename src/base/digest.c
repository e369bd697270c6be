/* SPDX-License-Identifier: MIT */
#include "base/digest.h"

#include <openssl/evp.h>
#include <string.h>

struct digest {
	EVP_MD_CTX *md;
	int failed; /* libcrypto refused (a FIPS set-up without SHA-256): the hash comes out as all zeros, never as a real one */
};

struct digest *digest_new(void)
{
	AUTO(digest) d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->md = EVP_MD_CTX_new();
	if (!d->md || EVP_DigestInit_ex(d->md, EVP_sha256(), NULL) != 1)
		return NULL;
	return steal(d);
}

void digest_free(struct digest *d)
{
	if (!d)
		return;
	EVP_MD_CTX_free(d->md);
	free(d);
}

void digest_add(struct digest *d, const void *data, size_t n)
{
	if (EVP_DigestUpdate(d->md, data, n) != 1)
		d->failed = 1;
}

void digest_add_field(struct digest *d, const char *s)
{
	unsigned char head[8];
	size_t n = strlen(s);
	for (int i = 0; i < 8; i++)
		head[i] = (unsigned char)((uint64_t)n >> (8 * i));
	digest_add(d, head, sizeof(head));
	digest_add(d, s, n);
}

static void to_hex(const unsigned char *raw, char ret[DIGEST_HEX_BYTES])
{
	for (int i = 0; i < 32; i++) {
		ret[2 * i] = "0123456789abcdef"[raw[i] >> 4];
		ret[2 * i + 1] = "0123456789abcdef"[raw[i] & 15];
	}
	ret[64] = '\0';
}

void digest_hex(struct digest *d, char ret[DIGEST_HEX_BYTES])
{
	unsigned char raw[EVP_MAX_MD_SIZE] = { 0 };
	if (d->failed || EVP_DigestFinal_ex(d->md, raw, NULL) != 1)
		memset(raw, 0, sizeof(raw));
	to_hex(raw, ret);
}

void digest_of(const void *data, size_t n, char ret[DIGEST_HEX_BYTES])
{
	unsigned char raw[EVP_MAX_MD_SIZE] = { 0 };
	if (EVP_Digest(data, n, raw, NULL, EVP_sha256(), NULL) != 1)
		memset(raw, 0, sizeof(raw));
	to_hex(raw, ret);
}

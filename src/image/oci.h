/* SPDX-License-Identifier: MIT */
/*
 * OCI images: an image layout folder (oci-layout, index.json, blobs/sha256), one manifest.
 * Source: OCI Image Format Specification 1.0.2. Accepted by skopeo, umoci (gzip layers only), podman.
 */
#ifndef KILN_IMAGE_OCI_H
#define KILN_IMAGE_OCI_H

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/own.h"
#include "image/layer.h"

struct oci_spec {
	const char *name;         /* "local:latest": the tag is org.opencontainers.image.ref.name */
	const char *architecture; /* "amd64" */
	int64_t epoch;
	char *const *env;                /* NAME=value, NULL-ended */
	char *const *labels;             /* NAME=value, NULL-ended; also the manifest's annotations */
	const struct layer_info *layers; /* bottom first; each in the store */
	size_t layer_count;
};

/* Writes the layout to path (made beside it and renamed over it; an older image there is replaced). Layer blobs are
 * hard-linked from the store where the file system allows, else copied. ret_digest: the manifest's sha256.
 * ERR_INPUT: what stands at path is not an image; -EACCES, -ENOSPC and the like name the path, and nothing is left. */
int oci_write(const char *path, const struct oci_spec *s, char ret_digest[DIGEST_HEX_BYTES], struct err *e);

struct oci_image {
	char digest[DIGEST_HEX_BYTES]; /* the manifest's */
	int64_t bytes;                 /* of all blobs: what a copy of the image moves */
	char *name;                    /* "local:latest"; "" when the image was made without one */
	char **env;                    /* NAME=value, NULL-ended */
	char **labels;                 /* NAME=value, NULL-ended */
	size_t layer_count;
	struct oci_image_layer {
		char digest[DIGEST_HEX_BYTES];
		char diff_id[DIGEST_HEX_BYTES];
		int64_t bytes;
	} * layers;
};

/* ERR_INPUT when something stands at path that is no image: oci_write would refuse to replace it. */
int oci_check_target(const char *path, struct err *e);

/* Reads a layout; ERR_INPUT when it is not one, with what is wrong. Manifest and config are checked against their
 * digests, layer blobs by their size (by their digests when they are unpacked). */
int oci_open(const char *path, struct oci_image **ret, struct err *e);
void oci_image_free(struct oci_image *o);
AUTO_DEFINE(oci_image)
/* Makes every layer of the image present as an overlayfs folder (from the store, else unpacked into it and verified);
 * gives their fs/ paths, bottom first, NULL-ended (AUTO_STRINGS). ERR_INPUT: a blob is damaged or of a kind that is not
 * known (gzip and plain tar are); -ENOSPC and the like name the path. */
int oci_layer_dirs(const char *path, const struct oci_image *o, char ***ret, struct err *e);

#endif

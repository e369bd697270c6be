/* SPDX-License-Identifier: MIT */
/* The three JSON documents of an image: configuration, manifest, index. As bytes: their digests are the image's name. */
#ifndef KILN_IMAGE_OCI_JSON_H
#define KILN_IMAGE_OCI_JSON_H

#include <jansson.h>

#include "image/oci.h"

#define OCI_TYPE_INDEX "application/vnd.oci.image.index.v1+json"
#define OCI_TYPE_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define OCI_TYPE_CONFIG "application/vnd.oci.image.config.v1+json"
#define OCI_TYPE_LAYER "application/vnd.oci.image.layer.v1.tar"
#define OCI_NAME_PREFIX "localhost/" /* what podman and containerd put before a name that has no registry */

/* New references, NULL when out of memory. */
json_t *oci_json_config(const struct oci_spec *s);
json_t *oci_json_manifest(const struct oci_spec *s, const char *config_digest, size_t config_bytes);
json_t *oci_json_index(const struct oci_spec *s, const char *manifest_digest, size_t manifest_bytes);

/* {"NAME": "value"} from NAME=value strings, and back (AUTO_STRINGS; NULL when out of memory). */
json_t *oci_json_map(char *const *pairs);
char **oci_json_pairs(const json_t *map);

#endif

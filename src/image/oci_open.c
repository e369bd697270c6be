/* SPDX-License-Identifier: MIT */
/* Reading an image layout: whoever made it. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/json.h"
#include "image/oci.h"
#include "image/oci_json.h"

#define OCI_JSON_MAX ((size_t)4 << 20)
#define OCI_DIGEST_PREFIX "sha256:"

void oci_image_free(struct oci_image *o)
{
	if (!o)
		return;
	free(o->name);
	own_free_strings(&o->env);
	own_free_strings(&o->labels);
	free(o->layers);
	free(o);
}

/* "sha256:<64 digits>" -> the digits; anything else could lead out of the folder. */
static int digest_parse(const json_t *value, char ret[DIGEST_HEX_BYTES])
{
	const char *text = json_string_value(value);

	if (!text || strncmp(text, OCI_DIGEST_PREFIX, strlen(OCI_DIGEST_PREFIX)) != 0)
		return -EINVAL;
	text += strlen(OCI_DIGEST_PREFIX);
	if (strlen(text) != DIGEST_HEX_BYTES - 1 || strspn(text, "0123456789abcdef") != DIGEST_HEX_BYTES - 1)
		return -EINVAL;
	memcpy(ret, text, DIGEST_HEX_BYTES);
	return 0;
}

/* The JSON document that a descriptor names, checked against its digest. */
static int oci_load_blob(const char *path, const json_t *descriptor, const char *what, json_t **ret,
			 char ret_digest[DIGEST_HEX_BYTES], struct err *e)
{
	char got[DIGEST_HEX_BYTES];
	AUTO_STR text = NULL;
	size_t len = 0;
	if (digest_parse(json_object_get(descriptor, "digest"), ret_digest) < 0)
		return err_input(e, "%s: no usable digest of the %s", path, what);

	AUTO_STR at = str_printf("%s/blobs/sha256/%s", path, ret_digest);
	if (!at)
		return err_set(e, -ENOMEM, "out of memory for a path");
	int rc = fdio_read_file(AT_FDCWD, at, OCI_JSON_MAX, &text, &len, e);
	if (rc < 0)
		return rc == -ENOENT ? err_input(e, "%s: the %s %s is missing: bake it again", path, what, at) : rc;
	digest_of(text, len, got);
	if (strcmp(got, ret_digest) != 0)
		return err_input(e, "%s: the %s does not match its digest %.12s (it is %.12s): bake it again", path,
				 what, ret_digest, got);
	*ret = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	return *ret ? 0 : err_input(e, "%s: the %s is not JSON", path, what);
}

/* The image's manifest descriptor in the index: the first of that type. */
static int oci_find_manifest(const char *path, json_t **ret_index, const json_t **ret, struct err *e)
{
	AUTO_STR text = NULL;
	AUTO_STR at = fdio_join(path, "index.json");
	size_t i;
	json_t *descriptor;

	if (!at)
		return err_set(e, -ENOMEM, "out of memory for a path");
	int rc = fdio_read_file(AT_FDCWD, at, OCI_JSON_MAX, &text, NULL, e);
	if (rc == -ENOENT || rc == -ENOTDIR)
		return err_input(e, "%s is not an OCI image: it has no index.json", path);
	if (rc < 0)
		return rc;
	AUTO_JSON index = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	json_array_foreach (json_object_get(index, "manifests"), i, descriptor) {
		const char *type = json_string_value(json_object_get(descriptor, "mediaType"));
		if (type && strcmp(type, OCI_TYPE_MANIFEST) == 0) {
			*ret = descriptor;
			*ret_index = steal(index);
			return 0;
		}
	}
	return err_input(e, "%s: index.json names no image manifest", path);
}

static int oci_read_name(struct oci_image *o, const json_t *descriptor, struct err *e)
{
	const json_t *annotations = json_object_get(descriptor, "annotations");
	const char *name = json_string_value(json_object_get(annotations, "io.containerd.image.name"));

	if (!name)
		name = json_string_value(json_object_get(annotations, "org.opencontainers.image.ref.name"));
	if (name && strncmp(name, OCI_NAME_PREFIX, strlen(OCI_NAME_PREFIX)) == 0)
		name += strlen(OCI_NAME_PREFIX);
	o->name = strdup(name ? name : "");
	return o->name ? 0 : err_set(e, -ENOMEM, "out of memory for an image's name");
}

static int oci_read_layers(struct oci_image *o, const char *path, const json_t *manifest, const json_t *config,
			   struct err *e)
{
	const json_t *layers = json_object_get(manifest, "layers");
	const json_t *diffs = json_object_get(json_object_get(config, "rootfs"), "diff_ids");
	struct stat st;

	o->layer_count = json_array_size(layers);
	if (o->layer_count == 0 || o->layer_count != json_array_size(diffs))
		return err_input(e, "%s: %zu layers, but %zu diff_ids", path, o->layer_count, json_array_size(diffs));
	o->layers = calloc(o->layer_count, sizeof(*o->layers));
	if (!o->layers)
		return err_set(e, -ENOMEM, "out of memory for %zu layers", o->layer_count);
	for (size_t i = 0; i < o->layer_count; i++) {
		struct oci_image_layer *l = &o->layers[i];
		const json_t *descriptor = json_array_get(layers, i);
		if (digest_parse(json_object_get(descriptor, "digest"), l->digest) < 0 ||
		    digest_parse(json_array_get(diffs, i), l->diff_id) < 0)
			return err_input(e, "%s: layer %zu has no usable digest", path, i);
		l->bytes = json_integer_value(json_object_get(descriptor, "size"));
		AUTO_STR blob = str_printf("%s/blobs/sha256/%s", path, l->digest);
		if (!blob)
			return err_set(e, -ENOMEM, "out of memory for a path");
		if (stat(blob, &st) < 0 || st.st_size != l->bytes)
			return err_input(e, "%s: layer %.12s is missing or cut off: bake it again", path, l->digest);
		o->bytes += l->bytes;
	}
	return 0;
}

static int oci_read_config(struct oci_image *o, const json_t *config, struct err *e)
{
	const json_t *inner = json_object_get(config, "config");
	const json_t *env = json_object_get(inner, "Env");
	const json_t *value;
	size_t i;

	o->env = calloc(json_array_size(env) + 1, sizeof(*o->env));
	o->labels = oci_json_pairs(json_object_get(inner, "Labels"));
	if (!o->env || !o->labels)
		return err_set(e, -ENOMEM, "out of memory for an image's environment");
	json_array_foreach ((json_t *)env, i, value) {
		const char *text = json_string_value(value);
		o->env[i] = strdup(text ? text : "");
		if (!o->env[i])
			return err_set(e, -ENOMEM, "out of memory for an image's environment");
	}
	return 0;
}

int oci_open(const char *path, struct oci_image **ret, struct err *e)
{
	char config_digest[DIGEST_HEX_BYTES];
	const json_t *descriptor = NULL;
	AUTO_JSON index = NULL;
	AUTO_JSON manifest = NULL;
	AUTO_JSON config = NULL;
	AUTO(oci_image) o = calloc(1, sizeof(*o));
	if (!o)
		return err_set(e, -ENOMEM, "out of memory for an image");

	int rc = oci_find_manifest(path, &index, &descriptor, e);
	if (rc == 0)
		rc = oci_load_blob(path, descriptor, "manifest", &manifest, o->digest, e);
	if (rc == 0)
		rc = oci_load_blob(path, json_object_get(manifest, "config"), "config", &config, config_digest, e);
	if (rc == 0)
		rc = oci_read_name(o, descriptor, e);
	if (rc == 0)
		rc = oci_read_config(o, config, e);
	if (rc == 0)
		rc = oci_read_layers(o, path, manifest, config, e);
	if (rc < 0)
		return rc;
	o->bytes += json_integer_value(json_object_get(descriptor, "size")) +
		    json_integer_value(json_object_get(json_object_get(manifest, "config"), "size"));
	*ret = steal(o);
	return 0;
}

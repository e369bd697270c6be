/* SPDX-License-Identifier: MIT */
#include "image/oci.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/json.h"
#include "image/oci_json.h"

#define OCI_LAYOUT_TEXT "{\"imageLayoutVersion\":\"1.0.0\"}"

int oci_check_target(const char *path, struct err *e)
{
	AUTO_STR layout = fdio_join(path, "oci-layout");
	struct stat st;
	if (!layout)
		return err_set(e, -ENOMEM, "out of memory for a path");
	if (lstat(path, &st) == 0 && !fdio_exists(AT_FDCWD, layout))
		return err_input(e, "%s is there and is not an OCI image: choose another --output", path);
	return 0;
}

/* Writes a JSON document as a blob; its digest and size. */
static int oci_add_json(const char *dir, const json_t *json, char ret_digest[DIGEST_HEX_BYTES], size_t *ret_bytes,
			struct err *e)
{
	AUTO_STR text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	if (!text)
		return err_set(e, -ENOMEM, "out of memory for the image's description");
	digest_of(text, strlen(text), ret_digest);
	*ret_bytes = strlen(text);
	AUTO_STR path = str_printf("%s/blobs/sha256/%s", dir, ret_digest);
	return path ? fdio_write_file(AT_FDCWD, path, text, strlen(text), 0644, e)
		    : err_set(e, -ENOMEM, "out of memory for a path");
}

static int oci_add_layer(const char *dir, const struct layer_info *layer, struct err *e)
{
	AUTO_STR from = NULL;
	AUTO_STR to = str_printf("%s/blobs/sha256/%s", dir, layer->digest);
	int rc = layer_path(layer->key, "layer.tgz", &from, e);
	if (rc < 0 || !to)
		return rc < 0 ? rc : err_set(e, -ENOMEM, "out of memory for a path");
	if (link(from, to) == 0 || errno == EEXIST) /* two layers may be the same */
		return 0;
	return fdio_copy_tree(from, to, e);
}

static int oci_write_into(const char *dir, const struct oci_spec *s, char ret_digest[DIGEST_HEX_BYTES], struct err *e)
{
	char config_digest[DIGEST_HEX_BYTES];
	size_t bytes = 0;
	AUTO_STR blobs = fdio_join(dir, "blobs/sha256");
	AUTO_STR layout = fdio_join(dir, "oci-layout");
	AUTO_STR index_path = fdio_join(dir, "index.json");
	if (!blobs || !layout || !index_path)
		return err_set(e, -ENOMEM, "out of memory for a path");

	int rc = fdio_mkdir_p(blobs, 0755, e);
	for (size_t i = 0; i < s->layer_count && rc == 0; i++)
		rc = oci_add_layer(dir, &s->layers[i], e);
	AUTO_JSON config = oci_json_config(s);
	if (rc == 0)
		rc = oci_add_json(dir, config, config_digest, &bytes, e);
	AUTO_JSON manifest = rc == 0 ? oci_json_manifest(s, config_digest, bytes) : NULL;
	if (rc == 0)
		rc = oci_add_json(dir, manifest, ret_digest, &bytes, e);
	AUTO_JSON index = rc == 0 ? oci_json_index(s, ret_digest, bytes) : NULL;
	AUTO_STR index_text = index ? json_dumps(index, JSON_COMPACT) : NULL;
	if (rc == 0 && !index_text)
		rc = err_set(e, -ENOMEM, "out of memory for the image's index");
	if (rc == 0)
		rc = fdio_write_file(AT_FDCWD, index_path, index_text, strlen(index_text), 0644, e);
	if (rc == 0)
		rc = fdio_write_file(AT_FDCWD, layout, OCI_LAYOUT_TEXT, strlen(OCI_LAYOUT_TEXT), 0644, e);
	return rc;
}

/* Puts the folder where the image is to be. Both names swap in one step, so that a reader finds one image or the other. */
static int oci_place(const char *dir, const char *path, struct err *e)
{
	if (rename(dir, path) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return err_sys(e, "rename %s to %s", dir, path);
	if (renameat2(AT_FDCWD, dir, AT_FDCWD, path, RENAME_EXCHANGE) < 0)
		return err_sys(e, "replace %s", path);
	return fdio_remove_tree(dir, e);
}

int oci_write(const char *path, const struct oci_spec *s, char ret_digest[DIGEST_HEX_BYTES], struct err *e)
{
	char digest[DIGEST_HEX_BYTES] = "";
	AUTO_STR dir = str_printf("%s.new-%d", path, (int)getpid());
	if (!dir)
		return err_set(e, -ENOMEM, "out of memory for a path");

	int rc = oci_check_target(path, e);
	if (rc < 0)
		return rc;
	rc = fdio_remove_tree(dir, e);
	if (rc == 0)
		rc = oci_write_into(dir, s, digest, e);
	if (rc == 0)
		rc = oci_place(dir, path, e);
	if (rc < 0) {
		fdio_remove_tree(dir, NULL);
		return err_wrap(e, "write image %s", path);
	}
	memcpy(ret_digest, digest, sizeof(digest));
	return 0;
}

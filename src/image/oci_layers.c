/* SPDX-License-Identifier: MIT */
/* An image's layers as folders: those of the store as they are, others unpacked into it once. */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/state.h"
#include "image/layer.h"
#include "image/oci.h"
#include "image/unpack.h"

static int oci_layer_unpack_into(const char *dir, const char *blob, const struct oci_image_layer *l, struct err *e)
{
	struct pack_result got = { 0 };
	AUTO_STR fs = str_printf("%s/fs", dir);
	if (!fs)
		return err_set(e, -ENOMEM, "out of memory for a path");
	int rc = unpack_layer(blob, fs, &got, e);
	if (rc < 0)
		return rc;
	if (strcmp(got.digest, l->digest) != 0)
		return err_input(e, "%s is damaged: its sha256 is %.12s: copy or bake the image again", blob,
				 got.digest);
	if (strcmp(got.diff_id, l->diff_id) != 0)
		return err_input(e, "%s: its content is %.12s, the image's config says %.12s: the image is damaged",
				 blob, got.diff_id, l->diff_id);

	struct layer_info info = { .component = "unpacked", .uncompressed_bytes = got.uncompressed_bytes };
	memcpy(info.key, l->diff_id, sizeof(info.key)); /* its content is all that is known of it */
	memcpy(info.diff_id, l->diff_id, sizeof(info.diff_id));
	return layer_commit_unpacked(dir, &info, e);
}

/* One process at a time unpacks: a second one would put its own in the place of layers that the first one mounts. */
static int oci_layer_lock(int *ret_fd, struct err *e)
{
	AUTO_STR dir = NULL;
	int rc = state_dir("layers", &dir, e);
	if (rc < 0)
		return rc;
	AUTO_STR path = fdio_join(dir, ".unpack");
	AUTO_FD fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_sys(e, "lock %s", path ? path : dir);
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int oci_layer_dir(const char *path, const struct oci_image_layer *l, char **ret, struct err *e)
{
	AUTO_STR dir = NULL;
	AUTO_STR blob = NULL;
	AUTO_FD lock = -1;

	if (layer_path_by_diff(l->diff_id, ret, NULL) == 0)
		return 0;
	blob = str_printf("%s/blobs/sha256/%s", path, l->digest);
	if (!blob)
		return err_set(e, -ENOMEM, "out of memory for a path");
	int rc = oci_layer_lock(&lock, e);
	if (rc < 0 || layer_path_by_diff(l->diff_id, ret, NULL) == 0) /* another did it meanwhile */
		return rc;
	rc = layer_begin(l->diff_id, &dir, e);
	if (rc < 0)
		return rc;
	rc = oci_layer_unpack_into(dir, blob, l, e);
	if (rc < 0) {
		layer_abandon(dir);
		return rc;
	}
	return layer_path_by_diff(l->diff_id, ret, e);
}

int oci_layer_dirs(const char *path, const struct oci_image *o, char ***ret, struct err *e)
{
	AUTO_STRINGS dirs = calloc(o->layer_count + 1, sizeof(*dirs));
	if (!dirs)
		return err_set(e, -ENOMEM, "out of memory for %zu layers", o->layer_count);
	for (size_t i = 0; i < o->layer_count; i++) {
		int rc = oci_layer_dir(path, &o->layers[i], &dirs[i], e);
		if (rc < 0)
			return rc;
	}
	*ret = steal(dirs);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "image/layer.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/json.h"
#include "base/own.h"
#include "base/state.h"
#include "image/layer_folder.h"
#include "image/pack.h"

#define LAYER_JSON_MAX 65536

int layer_path(const char *key, const char *what, char **ret, struct err *e)
{
	AUTO_STR dir = NULL;
	int rc = state_dir("layers", &dir, e);
	if (rc < 0)
		return rc;
	*ret = what ? str_printf("%s/%s/%s", dir, key, what) : str_printf("%s/%s", dir, key);
	return *ret ? 0 : err_set(e, -ENOMEM, "out of memory for a path");
}

int layer_path_by_diff(const char *diff_id, char **ret, struct err *e)
{
	AUTO_STR dir = NULL;
	AUTO_STR linked = NULL;
	AUTO_STR target = NULL;
	AUTO_STR fs = NULL;
	int rc = state_dir("layers", &dir, e);
	if (rc < 0)
		return rc;
	linked = str_printf("%s/by-diff/%s", dir, diff_id);
	if (!linked)
		return err_set(e, -ENOMEM, "out of memory for a path");
	target = realpath(linked, NULL); /* the folder's own name is shorter and does not depend on the link */
	fs = target ? fdio_join(target, "fs") : NULL;
	if (!fs || !fdio_exists(AT_FDCWD, fs))
		return err_set(e, -ENOENT, "layer %.12s is not in %s", diff_id, dir);
	*ret = steal(fs);
	return 0;
}

static void copy_text(char *to, size_t size, const json_t *from)
{
	const char *text = json_string_value(from);
	snprintf(to, size, "%s", text ? text : "");
}

bool layer_find(const char *key, struct layer_info *ret)
{
	AUTO_STR path = NULL;
	AUTO_STR text = NULL;
	struct layer_info info = { 0 };

	if (layer_path(key, "layer.json", &path, NULL) < 0 ||
	    fdio_read_file(AT_FDCWD, path, LAYER_JSON_MAX, &text, NULL, NULL) < 0)
		return false;
	AUTO_JSON json = json_loads(text, 0, NULL);
	if (json_integer_value(json_object_get(json, "format")) != LAYER_FORMAT)
		return false;
	copy_text(info.key, sizeof(info.key), json_object_get(json, "key"));
	copy_text(info.component, sizeof(info.component), json_object_get(json, "component"));
	copy_text(info.version, sizeof(info.version), json_object_get(json, "version"));
	copy_text(info.diff_id, sizeof(info.diff_id), json_object_get(json, "diff_id"));
	copy_text(info.digest, sizeof(info.digest), json_object_get(json, "digest"));
	info.bytes = json_integer_value(json_object_get(json, "bytes"));
	info.uncompressed_bytes = json_integer_value(json_object_get(json, "uncompressed_bytes"));
	if (strcmp(info.key, key) != 0)
		return false;
	if (ret)
		*ret = info;
	return true;
}

static int layer_write_json(const char *dir, const struct layer_info *info, struct err *e)
{
	AUTO_STR path = fdio_join(dir, "layer.json");
	AUTO_JSON json =
		json_pack("{s:i s:s s:s s:s s:s s:s s:I s:I}", "format", LAYER_FORMAT, "key", info->key, "component",
			  info->component, "version", info->version, "diff_id", info->diff_id, "digest", info->digest,
			  "bytes", (json_int_t)info->bytes, "uncompressed_bytes", (json_int_t)info->uncompressed_bytes);
	AUTO_STR text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
	if (!path || !text)
		return err_set(e, -ENOMEM, "out of memory for a layer's description");
	return fdio_write_file(AT_FDCWD, path, text, strlen(text), 0644, e);
}

int layer_begin(const char *key, char **ret_dir, struct err *e)
{
	return layer_folder_begin(key, ret_dir, e);
}

void layer_remove_left_overs(void)
{
	AUTO_STR dir = NULL;
	if (state_dir("layers", &dir, NULL) == 0)
		layer_folder_remove_dead(dir);
}

void layer_abandon(const char *dir)
{
	if (dir)
		fdio_remove_tree(dir, NULL);
}

/* STATE/layers/by-diff/<diff_id> -> ../<key>, replaced in one step. */
static int layer_link_diff(const struct layer_info *info, struct err *e)
{
	AUTO_STR dir = NULL;
	int rc = state_dir("layers/by-diff", &dir, e);
	if (rc < 0)
		return rc;
	AUTO_STR at = str_printf("%s/%s", dir, info->diff_id);
	AUTO_STR fresh = str_printf("%s/.%s-%d", dir, info->diff_id, (int)getpid());
	AUTO_STR target = str_printf("../%s", info->key);
	if (!at || !fresh || !target)
		return err_set(e, -ENOMEM, "out of memory for a path");
	unlink(fresh);
	if (symlink(target, fresh) < 0 || rename(fresh, at) < 0) {
		rc = err_sys(e, "link %s", at);
		unlink(fresh);
	}
	return rc;
}

/* Writes dir/layer.tgz and fills the digests. Nothing is left of a file that could not be finished. */
static int layer_write_tgz(const char *dir, int64_t epoch, struct layer_info *info, struct err *e)
{
	struct pack_result packed = { 0 };
	AUTO_STR fs = fdio_join(dir, "fs");
	AUTO_STR at = fdio_join(dir, "layer.tgz");
	AUTO_STR part = fdio_join(dir, "layer.tgz.part");
	if (!fs || !at || !part)
		return err_set(e, -ENOMEM, "out of memory for a path");

	AUTO_FD fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_sys(e, "create %s", part);
	int rc = pack_tree(fs, epoch, fd, part, &packed, e);
	if (rc == 0 && (fdatasync(fd) < 0 || rename(part, at) < 0))
		rc = err_sys(e, "write %s", at);
	if (rc < 0) {
		unlink(part);
		return rc;
	}
	memcpy(info->diff_id, packed.diff_id, sizeof(info->diff_id));
	memcpy(info->digest, packed.digest, sizeof(info->digest));
	info->bytes = packed.bytes;
	info->uncompressed_bytes = packed.uncompressed_bytes;
	return 0;
}

static int layer_place(const char *dir, const struct layer_info *info, struct err *e)
{
	AUTO_STR at = NULL;
	int rc = layer_write_json(dir, info, e);
	if (rc == 0)
		rc = layer_path(info->key, NULL, &at, e);
	if (rc == 0)
		rc = layer_folder_keep(dir, at, e);
	return rc == 0 && info->diff_id[0] ? layer_link_diff(info, e) : rc;
}

int layer_commit(const char *dir, const char *key, const char *component, const char *version, int64_t epoch, bool pack,
		 struct layer_info *ret, struct err *e)
{
	struct layer_info info = { 0 };
	snprintf(info.key, sizeof(info.key), "%s", key);
	snprintf(info.component, sizeof(info.component), "%s", component);
	snprintf(info.version, sizeof(info.version), "%s", version);

	int rc = pack ? layer_write_tgz(dir, epoch, &info, e) : 0;
	if (rc == 0)
		rc = layer_place(dir, &info, e);
	if (rc < 0)
		return err_wrap(e, "layer of %s", component);
	if (ret)
		*ret = info;
	return 0;
}

int layer_commit_unpacked(const char *dir, const struct layer_info *info, struct err *e)
{
	return layer_place(dir, info, e);
}

int layer_pack(const char *key, int64_t epoch, struct layer_info *ret, struct err *e)
{
	AUTO_STR dir = NULL;
	AUTO_STR tgz = NULL;
	struct layer_info info;
	struct stat st;
	int rc = layer_path(key, NULL, &dir, e);
	if (rc == 0)
		rc = layer_path(key, "layer.tgz", &tgz, e);
	if (rc < 0)
		return rc;
	if (!layer_find(key, &info))
		return err_set(e, -ENOENT, "layer %.12s is not in the store", key);

	if (info.digest[0] == '\0' || stat(tgz, &st) < 0 || st.st_size != info.bytes) {
		rc = layer_write_tgz(dir, epoch, &info, e);
		if (rc == 0)
			rc = layer_write_json(dir, &info, e);
		if (rc == 0)
			rc = layer_link_diff(&info, e);
	}
	if (rc < 0)
		return err_wrap(e, "layer of %s", info.component);
	if (ret)
		*ret = info;
	return 0;
}

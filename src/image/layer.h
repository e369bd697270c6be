/* SPDX-License-Identifier: MIT */
/*
 * The layer store: STATE/layers/<key>/ holds one built layer.
 *
 *	fs/          what it adds, in overlayfs form (deletions: character device 0:0; opaque: trusted.overlay.opaque=y)
 *	layer.tgz    the same as an OCI layer (gzip, whiteouts as .wh.), byte-for-byte reproducible   (image steps only)
 *	layer.json   {"format","key","component","version","diff_id","digest","bytes","uncompressed_bytes"}
 * A layer is built in STATE/layers/.new-<key>-<pid>/ and renamed into place, so what is there is whole.
 * STATE/layers/by-diff/<diff_id hex> is a link to the layer's folder, so that an image baked here can be placed without
 * unpacking.
 */
#ifndef KILN_IMAGE_LAYER_H
#define KILN_IMAGE_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

/* Of layer.json and of what lies beside it: layers of another format are not found. */
#define LAYER_FORMAT 1

struct layer_info {
	char key[DIGEST_HEX_BYTES];
	char component[128];
	char version[128];
	char diff_id[DIGEST_HEX_BYTES]; /* sha256 of the uncompressed tar; "": not packed (yet) */
	char digest[DIGEST_HEX_BYTES];  /* sha256 of layer.tgz; "": not packed (yet) */
	int64_t bytes;                  /* of layer.tgz */
	int64_t uncompressed_bytes;     /* of the tar */
};

/* True when the store holds the layer, packed or not; ret may be NULL. */
bool layer_find(const char *key, struct layer_info *ret);
/* Gives STATE/layers/<key>/<what>: "fs", "layer.tgz"; NULL: the folder itself. -ENOMEM; an unusable STATE. */
int layer_path(const char *key, const char *what, char **ret, struct err *e);
/* The fs/ folder of a layer known by its diff_id: gives the path, or -ENOENT. */
int layer_path_by_diff(const char *diff_id, char **ret, struct err *e);

/* Begins a new layer: makes its folder with an empty fs/ and work/ (overlay's upperdir and workdir); gives the folder.
 * Left-overs of dead processes are removed first. Errors of making folders name them. */
int layer_begin(const char *key, char **ret_dir, struct err *e);
/* Packs fs/ as layer.tgz (when `pack`), writes layer.json and renames into place; everything else in the folder is
 * removed. epoch clamps times. ret may be NULL. On failure the folder stays: layer_abandon it. */
int layer_commit(const char *dir, const char *key, const char *component, const char *version, int64_t epoch, bool pack,
		 struct layer_info *ret, struct err *e);
/* Removes what layer_begin made for processes that are dead. */
void layer_remove_left_overs(void);
/* Removes what layer_begin made. */
void layer_abandon(const char *dir);
/* Packs a layer that was committed without; does nothing when it is packed already. -ENOENT: no such layer; -ENOSPC and
 * the like name the file, and nothing is left of it. ret may be NULL. */
int layer_pack(const char *key, int64_t epoch, struct layer_info *ret, struct err *e);
/* Commits a folder whose fs/ was unpacked from an image: info tells its digests; no layer.tgz is written. */
int layer_commit_unpacked(const char *dir, const struct layer_info *info, struct err *e);

#endif

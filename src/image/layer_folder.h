/* SPDX-License-Identifier: MIT */
/* The folder in which a layer grows: STATE/layers/.new-<key>-<pid>-<its start>, so that left-overs can be told. */
#ifndef KILN_IMAGE_LAYER_FOLDER_H
#define KILN_IMAGE_LAYER_FOLDER_H

#include "base/err.h"

/* Removes from STATE/layers what dead processes left. */
void layer_folder_remove_dead(const char *layers);

/* As layer_begin. */
int layer_folder_begin(const char *key, char **ret_dir, struct err *e);

/* Removes everything from dir but fs, layer.tgz and layer.json, brings it to disk and renames it to `at`, in whose place
 * an older one may be. Errors name the folder. */
int layer_folder_keep(const char *dir, const char *at, struct err *e);

#endif

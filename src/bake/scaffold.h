/* SPDX-License-Identifier: MIT */
/*
 * What stands under a component while it is installed, and is never part of the image: a lowest layer of its own with
 *
 *	usr/sbin/policy-rc.d            no package may start a daemon
 *	usr/local/sbin/{adduser,...}    system users and groups get a number that follows from their name
 *
 * and apt's settings (bound at /run/kiln/apt). Numbers from names: distributions give the next free one, so two layers
 * built apart would give the same number to different names, and different numbers to the same. So made, a name has the
 * same number in every layer, image and bake, which also keeps owners right on shared storage.
 */
#ifndef KILN_BAKE_SCAFFOLD_H
#define KILN_BAKE_SCAFFOLD_H

#include "base/err.h"

/* Writes dir/scaffold and dir/apt. Errors name the path. */
int scaffold_make(const char *dir, struct err *e);

#endif

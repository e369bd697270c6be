/* SPDX-License-Identifier: MIT */
/*
 * Where kiln keeps things: one folder, $KILN_STATE, else /var/lib/kiln for root, else $XDG_STATE_HOME/kiln or
 * ~/.local/state/kiln. And where kiln's data is: $KILN_DATA, else the source tree it was built in when it runs from the
 * build folder, else PREFIX/share/kiln.
 *
 *	STATE/apt/<os>/       package lists, as last fetched (stack)
 *	STATE/locks/          resolved package sets (stack)
 *	STATE/downloads/      verified files, named by sha256 (bake)
 *	STATE/layers/<key>/   built layers (image)
 *	STATE/images/         baked images by stack name (bake)
 *	STATE/log/            one log per step (bake)
 *	STATE/clusters/<n>/   clusters on this machine (launch)
 */
#ifndef KILN_BASE_STATE_H
#define KILN_BASE_STATE_H

#include "base/err.h"

/* Gives STATE/sub (sub may be NULL), making the folder (0755). */
int state_dir(const char *sub, char **ret, struct err *e);
/* Gives DATA/sub: "components", "stacks", "catalog", "meson.build" (DATA has the shape of kiln's source tree). -ENOSYS when
 * it is not there: kiln is not installed whole, exit 3. */
int state_data(const char *sub, char **ret, struct err *e);

#endif

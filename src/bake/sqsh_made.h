/* SPDX-License-Identifier: MIT */
/* What a squashfs was made of, kept in STATE/images/made, since the file itself has no room for it. */
#ifndef KILN_BAKE_SQSH_MADE_H
#define KILN_BAKE_SQSH_MADE_H

#include "bake/target.h"

/* Notes plan, layers, digest, size and time of the file at in->output; fills ret->bytes. */
int sqsh_made_write(const struct target_input *in, struct target_output *ret, struct err *e);
/* True when the file is the one that was noted, and was made of the same. */
bool sqsh_made_read(const struct target_input *in, struct target_output *ret);

#endif

/* SPDX-License-Identifier: MIT */
/* The verbs' rows, one per cmd_*.c; kiln.c lists them. Each cmd_*.c does: argv -> struct -> one call below -> print. */
#ifndef KILN_KILN_H
#define KILN_KILN_H

#include "base/opt.h"

/* The whole tree, for what is made from it (completion). */
extern const struct verb kiln_root;

extern const struct verb cmd_plan;
extern const struct verb cmd_bake;
extern const struct verb cmd_launch;
extern const struct verb cmd_prove;
extern const struct verb cmd_watch;
extern const struct verb cmd_explain;
extern const struct verb cmd_completion;

#endif

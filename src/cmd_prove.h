/* SPDX-License-Identifier: MIT */
/* The rows under `kiln prove`. */
#ifndef KILN_CMD_PROVE_H
#define KILN_CMD_PROVE_H

#include "kiln.h"

extern const struct verb cmd_prove_node;
extern const struct verb cmd_prove_transfer;
extern const struct verb cmd_prove_all_reduce;
extern const struct verb cmd_prove_report;

#endif

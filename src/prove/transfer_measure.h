/* SPDX-License-Identifier: MIT */
/* Latency and bandwidth of each pair, size by size. */
#ifndef KILN_PROVE_TRANSFER_MEASURE_H
#define KILN_PROVE_TRANSFER_MEASURE_H

#include "prove/transfer.h"

/* Collective. Fills r->sizes on all ranks; calls listener->on_size on rank 0. Errors: request's; the rank set's. */
int transfer_measure(struct team *t, const struct transfer_options *o, const struct transfer_listener *listener,
		     struct transfer_result *r, struct err *e);

#endif

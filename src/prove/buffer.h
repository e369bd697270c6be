/* SPDX-License-Identifier: MIT */
/* Page-aligned memory that the fabric may read and write: registered with an endpoint for as long as it lives. */
#ifndef KILN_PROVE_BUFFER_H
#define KILN_PROVE_BUFFER_H

#include <stddef.h>

#include "fabric/endpoint.h"

struct buffer {
	void *data;
	size_t bytes;
	struct endpoint *endpoint; /* borrowed */
};

/* Zeroed; on huge pages where the kernel has them. Errors: -ENOMEM; endpoint_register's. */
int buffer_init(struct buffer *b, struct endpoint *endpoint, size_t bytes, struct err *e);
void buffer_fini(struct buffer *b);

#define AUTO_BUFFER __attribute__((cleanup(buffer_fini))) struct buffer

#endif

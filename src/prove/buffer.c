/* SPDX-License-Identifier: MIT */
#include "prove/buffer.h"

#include <errno.h>
#include <sys/mman.h>

int buffer_init(struct buffer *b, struct endpoint *endpoint, size_t bytes, struct err *e)
{
	void *data = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int rc;

	*b = (struct buffer){ 0 };
	if (data == MAP_FAILED)
		return err_sys(e, "%zu bytes of memory", bytes);
	madvise(data, bytes ? bytes : 1, MADV_HUGEPAGE);
	rc = endpoint_register(endpoint, data, bytes, e);
	if (rc < 0) {
		munmap(data, bytes ? bytes : 1);
		return rc;
	}
	*b = (struct buffer){ .data = data, .bytes = bytes, .endpoint = endpoint };
	return 0;
}

void buffer_fini(struct buffer *b)
{
	if (!b->data)
		return;
	endpoint_unregister(b->endpoint, b->data);
	munmap(b->data, b->bytes ? b->bytes : 1);
	b->data = NULL;
}

/* SPDX-License-Identifier: MIT */
/* The table that nccl-tests prints (2.17.3 and later), byte for byte where a script may look: rows, column heads, footer. */
#ifndef KILN_PROVE_COLLECTIVE_TABLE_H
#define KILN_PROVE_COLLECTIVE_TABLE_H

#include "base/buf.h"
#include "prove/collective.h"

/* The banner, the ranks, the column heads. */
void collective_table_head(struct buf *to, const struct collective_ops *ops, const struct team *t,
			   const struct collective_options *o);
void collective_table_row(struct buf *to, const struct collective_row *row);
/* least_busbw: what the mean bus bandwidth must reach, in GB/s; 0: unchecked. */
void collective_table_foot(struct buf *to, const struct collective_ops *ops, const struct collective_result *r,
			   double least_busbw);
/* nccl-tests takes a tenth less as good enough. */
bool collective_table_is_fast(const struct collective_result *r, double least_busbw);

#endif

/* SPDX-License-Identifier: MIT */
/* What the agent carries from sources to sinks: an event or a set of metrics, as one line of JSON. */
#ifndef KILN_WATCH_RECORD_H
#define KILN_WATCH_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/own.h"
#include "device/kmsg.h"
#include "device/xid.h"

enum record_kind { RECORD_EVENT, RECORD_METRICS };

#define RECORD_ID_BYTES 128
struct record {
	enum record_kind kind;
	int64_t n; /* place in the spool; 0 before it is there */
	int64_t wall_ns;
	char id[RECORD_ID_BYTES]; /* events: "BOOT_ID:SEQ", unique for ever; metrics: "" */
	char *json;               /* one line without a newline; an event's begins {"kind":"event","id":" */
};

void record_free(struct record *r);
AUTO_DEFINE(record)

/* Where records come from. Borrowed strings. */
struct record_origin {
	const char *host;
	const char *boot_id;
};

/* An Xid, SXid or lost GPU, with its meaning from the catalogue; a code that the catalogue does not know is kept and said
 * to be unknown. NULL: out of memory. */
struct record *record_of_xid(const struct record_origin *o, int64_t wall_ns, const struct kmsg_record *k,
			     const struct xid *x);
/* The kernel overwrote records first..last before they were read. NULL: out of memory. */
struct record *record_of_gap(const struct record_origin *o, int64_t wall_ns, uint64_t first, uint64_t last);
/* NVML did not answer within timeout_ms. NULL: out of memory. */
struct record *record_of_hung_nvml(const struct record_origin *o, int64_t wall_ns, uint32_t timeout_ms);
/* One GPU's or EFA device's values: `about` holds what identifies it ("gpu", "uuid", …, "values") and is borrowed. NULL:
 * out of memory. */
struct record *record_of_metrics(const struct record_origin *o, int64_t wall_ns, bool simulated, const json_t *about);

/* The event as one readable line, safe for a terminal. Gives the text; NULL when out of memory or not an event. */
char *record_readable(const struct record *r);

#endif

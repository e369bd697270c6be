/* SPDX-License-Identifier: MIT */
/*
 * Which of this machine's IPv4 addresses reaches the peers. A node has several (docker0, a management network, lo), and
 * a provider that binds to the first one waits for ever. IPv4 only.
 */
#ifndef KILN_FABRIC_SOURCE_H
#define KILN_FABRIC_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SOURCE_MAX 16
#define SOURCE_TEXT_BYTES 16 /* "255.255.255.255" */

/* Fixed size and no pointers: it is sent to the other ranks as it is. */
struct source_address {
	uint32_t ip; /* host byte order */
	uint32_t prefix_bits;
	char interface[16];
};

struct source_list {
	uint32_t count;
	struct source_address at[SOURCE_MAX];
};

/* The addresses of interfaces that are up, loopback last. */
int source_list(struct source_list *ret, struct err *e);
/* From our addresses picks the one whose subnet holds most of the peers' lists; when no subnet is shared, the one that
 * the routing table gives for a peer. wanted: an interface's name, an address, or a subnet in CIDR form that rules
 * instead; NULL: none. ERR_INPUT: wanted names nothing here, with what there is; -ENETUNREACH: no way to any peer. */
int source_choose(const struct source_list *ours, const struct source_list *peers, size_t peer_count,
		  const char *wanted, struct source_address *ret, struct err *e);
void source_text(const struct source_address *a, char ret[SOURCE_TEXT_BYTES]);
/* "10.77.0.0/24" holds 10.77.0.11? -EINVAL: not an address or subnet. */
int source_parse(const char *text, uint32_t *ret_ip, uint32_t *ret_prefix_bits);

#endif

/* SPDX-License-Identifier: MIT */
/* Ranks that have found one another on the fabric: a rank set, the provider under test and a connected endpoint. */
#ifndef KILN_PROVE_TEAM_H
#define KILN_PROVE_TEAM_H

#include "fabric/endpoint.h"
#include "fabric/request.h"
#include "fabric/source.h"
#include "prove/rank.h"

#define TEAM_ADDRESS_BYTES 64

struct team_options {
	const char *provider;  /* NULL: FI_PROVIDER, else the best there is */
	const char *interface; /* NULL: the one that reaches the peers */
	uint32_t timeout_ms;
	bool is_unpinned; /* leave the ranks where the scheduler puts them */
};

struct team {
	struct rank_set *ranks; /* borrowed */
	struct provider *provider;
	struct endpoint *endpoint;
	char (*addresses)[TEAM_ADDRESS_BYTES]; /* each rank's on the fabric, for people */
	uint32_t operation;                    /* counts operations; part of every tag */
	bool is_oversubscribed;                /* more ranks than processors on this machine */
};

/* A collective call: all ranks succeed, or all get the failure of the lowest rank that failed. borrows ranks until
 * team_free. -ENODEV: no such provider; -EPROTO: the ranks chose different providers. */
int team_open(struct rank_set *ranks, const struct team_options *options, struct team **ret, struct err *e);
void team_free(struct team *t);
AUTO_DEFINE(team)

/* A fresh tag space for one operation: or the step's number (below 2^20) into it. All ranks must call it alike. */
uint32_t team_next_tag(struct team *t);
/* All ranks meet, over the fabric. */
int team_barrier(struct team *t, struct err *e);

#endif

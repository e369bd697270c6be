/* SPDX-License-Identifier: MIT */
/* Runs a body in n forked ranks: rank 0 is the test itself. The body returns 0 or a negative code and may not assert. */
#ifndef KILN_TEST_FORKED_H
#define KILN_TEST_FORKED_H

#include <stdlib.h>
#include <unistd.h>

#include "prove/team.h"

/* 0 when the body gave 0 on all ranks; else rank 0's code, and e says why. */
static inline int forked(uint32_t n, uint32_t timeout_ms, int (*body)(struct rank_set *set, void *arg, struct err *e),
			 void *arg, struct err *e)
{
	const struct rank_options o = { .local_ranks = n, .timeout_ms = timeout_ms };
	struct rank_set *set = NULL;
	struct err mine = { 0 };
	int rc = rank_open(&rank_fork, &o, &set, &mine);

	if (rc == 0)
		rc = body(set, arg, &mine);
	if (rc < 0 && mine.code == 0)
		err_set(&mine, rc, "the body gave %d", rc);
	if (set && rc == 0)
		rc = rank_agree(set, &mine, &mine);
	else if (set)
		rank_abandon(set, &mine);
	if (set && set->rank != 0)
		_exit(rc < 0);
	rank_free(set);
	*e = mine;
	return rc;
}

/* The same with a fabric: TCP on loopback. */
struct teamed {
	int (*body)(struct team *t, void *arg, struct err *e);
	void *arg;
};

static inline int teamed_body(struct rank_set *set, void *arg, struct err *e)
{
	const struct team_options o = { .provider = "tcp", .timeout_ms = set->options.timeout_ms };
	const struct teamed *what = arg;
	AUTO(team) team = NULL;
	int rc = team_open(set, &o, &team, e);

	return rc < 0 ? rc : what->body(team, what->arg, e);
}

static inline int teamed(uint32_t n, uint32_t timeout_ms, int (*body)(struct team *t, void *arg, struct err *e),
			 void *arg, struct err *e)
{
	struct teamed what = { .body = body, .arg = arg };
	return forked(n, timeout_ms, teamed_body, &what, e);
}

#endif

/* SPDX-License-Identifier: MIT */
#include "prove/team.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* What each rank tells of itself before any address exists. */
struct whereabouts {
	struct source_list addresses;
};

struct identity {
	char provider[48];
	uint32_t name_bytes;
	uint8_t name[ENDPOINT_NAME_BYTES];
	char text[TEAM_ADDRESS_BYTES];
};

#define LOOPBACK "127.0.0.1"

/* One processor per rank where there are enough: a rank that wanders gives numbers that wander. Ranks are counted per
 * kernel, not per host name: two namespaces of one machine must not share processor 0. Leaves a narrower choice of the
 * launcher's alone. */
static void pin(const struct rank_set *ranks)
{
	cpu_set_t allowed, one;
	uint32_t seen = 0, want, count;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	count = (uint32_t)CPU_COUNT(&allowed);
	if (count < ranks->local_size || count <= 1)
		return;
	want = ranks->local_rank * (count / ranks->local_size);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || seen++ != want)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

/* Which of our addresses to bind: loopback when nobody is elsewhere. */
static int choose_source(const struct rank_set *ranks, const char *wanted, const struct whereabouts *all,
			 char ret[SOURCE_TEXT_BYTES], struct err *e)
{
	__attribute__((cleanup(own_free))) struct source_list *peers = calloc(ranks->size, sizeof(*peers));
	const struct rank_member *self = &ranks->members[ranks->rank];
	struct source_address chosen;
	size_t n = 0;
	int rc;

	if (!peers)
		return err_set(e, -ENOMEM, "addresses of %u ranks", ranks->size);
	if (!wanted && rank_is_one_host(ranks)) {
		snprintf(ret, SOURCE_TEXT_BYTES, "%s", LOOPBACK);
		return 0;
	}
	for (uint32_t i = 0; i < ranks->size; i++) {
		const struct rank_member *m = &ranks->members[i];
		if (strcmp(m->machine, self->machine) != 0 || m->network != self->network)
			peers[n++] = all[i].addresses;
	}
	rc = source_choose(&all[ranks->rank].addresses, peers, n, wanted, &chosen, e);
	if (rc < 0)
		return rc;
	source_text(&chosen, ret);
	return 0;
}

static int ranks_alive(void *ranks, struct err *e)
{
	return rank_alive(ranks, e);
}

/* Opens provider and endpoint on this rank alone; the caller makes it everyone's verdict. */
static int open_here(struct team *t, const struct team_options *options, struct identity *ret, struct err *e)
{
	struct rank_set *ranks = t->ranks;
	struct whereabouts self = { 0 };
	__attribute__((cleanup(own_free))) struct whereabouts *all = calloc(ranks->size, sizeof(*all));
	char source[SOURCE_TEXT_BYTES];
	struct err why = { 0 };
	size_t name_bytes = 0;
	int rc;

	if (!all)
		return err_set(e, -ENOMEM, "addresses of %u ranks", ranks->size);
	/* The exchange must be reached by all ranks, also by one that cannot list its addresses. */
	rc = source_list(&self.addresses, &why);
	if (rank_exchange(ranks, &self, sizeof(self), all, e) < 0)
		return e ? e->code : -EIO;
	if (rc < 0)
		return err_set(e, rc, "%s", why.msg);
	rc = choose_source(ranks, options->interface, all, source, e);
	if (rc < 0)
		return rc;
	rc = provider_open(options->provider, source, &t->provider, e);
	if (rc < 0)
		return rc;
	struct endpoint_options endpoint = {
		.self = ranks->rank,
		.peers = ranks->size,
		.timeout_ms = options->timeout_ms,
		.yield = t->is_oversubscribed,
		.alive = ranks_alive,
		.arg = ranks,
	};
	rc = endpoint_open(t->provider, &endpoint, &t->endpoint, e);
	if (rc == 0)
		rc = endpoint_name(t->endpoint, ret->name, &name_bytes, e);
	if (rc < 0)
		return rc;
	ret->name_bytes = (uint32_t)name_bytes;
	snprintf(ret->provider, sizeof(ret->provider), "%s", t->provider->name);
	endpoint_name_text(t->endpoint, ret->name, ret->text, sizeof(ret->text));
	return 0;
}

static int insert_all(struct team *t, const struct identity *all, struct err *e)
{
	char label[ENDPOINT_LABEL_BYTES];
	int rc = 0;

	for (uint32_t i = 0; i < t->ranks->size && rc == 0; i++) {
		if (strcmp(all[i].provider, all[0].provider) != 0)
			return err_set(
				e, -EPROTO,
				"rank 0 (%s) chose provider '%s' and rank %u (%s) '%s': name one with --provider, or "
				"mend the node that lacks the better one",
				t->ranks->members[0].host, all[0].provider, i, t->ranks->members[i].host,
				all[i].provider);
		snprintf(label, sizeof(label), "rank %u (%s, %s)", i, t->ranks->members[i].host, all[i].text);
		snprintf(t->addresses[i], sizeof(t->addresses[i]), "%s", all[i].text);
		rc = endpoint_insert(t->endpoint, i, all[i].name, label, e);
	}
	return rc;
}

int team_open(struct rank_set *ranks, const struct team_options *options, struct team **ret, struct err *e)
{
	AUTO(team) t = calloc(1, sizeof(*t));
	struct identity self = { 0 };
	__attribute__((cleanup(own_free))) struct identity *all = calloc(ranks->size, sizeof(*all));
	struct err mine = { 0 };
	cpu_set_t allowed;
	int rc;

	if (!t || !all)
		return err_set(e, -ENOMEM, "team of %u ranks", ranks->size);
	t->ranks = ranks;
	t->addresses = calloc(ranks->size, sizeof(*t->addresses));
	if (!t->addresses)
		return err_set(e, -ENOMEM, "team of %u ranks", ranks->size);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
		t->is_oversubscribed = (uint32_t)CPU_COUNT(&allowed) < ranks->local_size;
	if (!options->is_unpinned)
		pin(ranks);
	open_here(t, options, &self, &mine);
	rc = rank_agree(ranks, &mine, e);
	if (rc < 0)
		return rc;
	rc = rank_exchange(ranks, &self, sizeof(self), all, e);
	if (rc < 0)
		return rc;
	insert_all(t, all, &mine);
	rc = rank_agree(ranks, &mine, e);
	if (rc < 0)
		return rc;
	*ret = steal(t);
	return 0;
}

void team_free(struct team *t)
{
	if (!t)
		return;
	endpoint_free(t->endpoint);
	provider_free(t->provider);
	free(t->addresses);
	free(t);
}

uint32_t team_next_tag(struct team *t)
{
	return t->operation++ << 20;
}

/* Dissemination: in round k a rank tells the one 2^k ahead and hears from the one 2^k behind. */
int team_barrier(struct team *t, struct err *e)
{
	const uint32_t n = t->ranks->size, self = t->ranks->rank;
	const uint32_t tag = team_next_tag(t);
	struct request send, receive;
	char out = 0, in = 0;
	uint32_t round = 0;
	int rc = 0;

	for (uint32_t step = 1; step < n && rc == 0; step *= 2, round++) {
		rc = request_receive(t->endpoint, (self + n - step % n) % n, &in, 1, tag | round, "a barrier", &receive,
				     e);
		if (rc == 0)
			rc = request_send(t->endpoint, (self + step) % n, &out, 1, tag | round, "a barrier", &send, e);
		if (rc == 0)
			rc = request_wait(t->endpoint, &send, e);
		if (rc == 0)
			rc = request_wait(t->endpoint, &receive, e);
	}
	return rc;
}

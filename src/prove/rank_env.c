/* SPDX-License-Identifier: MIT */
/*
 * Under torchrun or a Kubernetes job: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say who we are and where rank 0 is.
 * Rank 0 listens, the others connect, and every exchange is gathered and spread by rank 0 over these connections. A
 * connection that ends means that its rank is dead.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "prove/rank.h"

#define MAGIC 0x6b696c6e72616e6bULL /* "kilnrank": both ends are kiln, of one byte order and one protocol */
#define RANKS_MAX 65536
#define RETRY_MS 20

enum frame_kind { FRAME_DATA = 1, FRAME_ALL = 2, FRAME_ABANDON = 3 };

struct greeting {
	uint64_t magic;
	uint32_t rank;
	uint32_t size;
};

struct frame {
	uint32_t kind;
	uint32_t bytes; /* that follow */
};

struct farewell {
	int32_t exit_status;
	uint32_t rank;
	char message[ERR_MSG_BYTES];
};

struct rank_env_state {
	int *sockets; /* rank 0: one per rank, own is -1; others: [0] is rank 0 */
	uint32_t count;
	char where[128];
};

static bool is_present(void)
{
	return getenv("RANK") && getenv("WORLD_SIZE") && getenv("MASTER_ADDR");
}

static int number(const char *name, uint32_t most, uint32_t *ret, struct err *e)
{
	const char *text = getenv(name);
	char *end;
	unsigned long n = strtoul(text ? text : "", &end, 10);

	if (!text || end == text || *end || n > most)
		return err_input(e, "%s is '%s'; expected a number up to %u", name, text ? text : "", most);
	*ret = (uint32_t)n;
	return 0;
}

/* Waits until fd is ready for events; -ETIMEDOUT. */
static int ready(int fd, short events, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		int64_t left_ms = (deadline - clock_mono_ns()) / 1000000;
		int n = poll(&p, 1, left_ms > 0 ? (int)left_ms : 0);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && clock_mono_ns() >= deadline)
			return -ETIMEDOUT;
	}
}

static int send_all(int fd, const void *data, size_t n, int64_t deadline)
{
	const char *at = data;

	while (n > 0) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent > 0) {
			at += sent;
			n -= (size_t)sent;
		} else if (errno == EAGAIN) {
			int rc = ready(fd, POLLOUT, deadline);
			if (rc < 0)
				return rc;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int receive_all(int fd, void *data, size_t n, int64_t deadline)
{
	char *at = data;

	while (n > 0) {
		ssize_t got = recv(fd, at, n, MSG_DONTWAIT);
		if (got > 0) {
			at += got;
			n -= (size_t)got;
		} else if (got == 0) {
			return -ECONNRESET;
		} else if (errno == EAGAIN) {
			int rc = ready(fd, POLLIN, deadline);
			if (rc < 0)
				return rc;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int lost(struct rank_set *set, uint32_t rank, int rc, struct err *e)
{
	const struct rank_env_state *s = set->state;
	char who[RANK_HOST_BYTES + 32];

	rank_text(set, rank, who, sizeof(who));
	if (rc == -ETIMEDOUT)
		return err_set(e, rc, "%s did not answer within %u ms (rendezvous at %s)", who, set->options.timeout_ms,
			       s->where);
	return err_set(e, rc, "%s is gone: its connection to the rendezvous at %s ended (%s)", who, s->where,
		       strerror(-rc));
}

static int gave_up(struct rank_set *set, const struct farewell *f, struct err *e)
{
	char who[RANK_HOST_BYTES + 32];

	rank_text(set, f->rank, who, sizeof(who));
	if (f->exit_status == EXIT_USAGE)
		return err_input(e, "%s: %.*s", who, ERR_MSG_BYTES - 1, f->message);
	return err_set(e, f->exit_status == EXIT_CANNOT_TELL ? -ENODEV : -ECONNABORTED, "%s: %.*s", who,
		       ERR_MSG_BYTES - 1, f->message);
}

/* Takes one frame of that kind and size from a rank, or its farewell. */
static int take(struct rank_set *set, uint32_t rank, int fd, enum frame_kind kind, void *to, size_t n, int64_t deadline,
		struct err *e)
{
	struct frame f;
	struct farewell bye = { 0 };
	int rc = receive_all(fd, &f, sizeof(f), deadline);

	if (rc == 0 && f.kind == FRAME_ABANDON && f.bytes == sizeof(bye)) {
		rc = receive_all(fd, &bye, sizeof(bye), deadline);
		if (rc == 0)
			return gave_up(set, &bye, e);
	}
	if (rc == 0 && (f.kind != kind || f.bytes != n))
		return err_set(e, -EPROTO, "rank %u is at another step than we are: do all run the same command?",
			       rank);
	if (rc == 0)
		rc = receive_all(fd, to, n, deadline);
	return rc < 0 ? lost(set, rank, rc, e) : 0;
}

static int give(struct rank_set *set, uint32_t rank, int fd, enum frame_kind kind, const void *data, size_t n,
		int64_t deadline, struct err *e)
{
	struct frame f = { .kind = kind, .bytes = (uint32_t)n };
	int rc = send_all(fd, &f, sizeof(f), deadline);

	if (rc == 0)
		rc = send_all(fd, data, n, deadline);
	return rc < 0 ? lost(set, rank, rc, e) : 0;
}

/* A stranger that connects is shown out; ret_rank is set for one of ours. */
static int welcome(struct rank_set *set, int fd, int64_t deadline, struct err *e)
{
	struct rank_env_state *s = set->state;
	struct greeting g;
	int64_t soon = clock_mono_ns() + 2000000000LL;
	int one = 1;

	if (receive_all(fd, &g, sizeof(g), soon < deadline ? soon : deadline) < 0 || g.magic != MAGIC) {
		close(fd);
		return 0;
	}
	if (g.size != set->size || g.rank == 0 || g.rank >= set->size || s->sockets[g.rank] >= 0) {
		close(fd);
		return err_input(e,
				 "a process came as rank %u of %u; this is a set of %u: are RANK and WORLD_SIZE right?",
				 g.rank, g.size, set->size);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	s->sockets[g.rank] = fd;
	return 1;
}

static int gather_all(struct rank_set *set, uint16_t port, int64_t deadline, struct err *e)
{
	struct rank_env_state *s = set->state;
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_any };
	struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	/* Not blocking: one that has left again between poll and accept must not be waited for. */
	AUTO_FD fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int one = 1, zero = 0, rc;
	uint32_t here = 1;

	if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		rc = bind(fd, (struct sockaddr *)&any, sizeof(any));
	} else { /* a kernel without IPv6 */
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		rc = bind(fd, (struct sockaddr *)&any4, sizeof(any4));
	}
	if (rc < 0 || listen(fd, 128) < 0)
		return err_sys(e, "rank 0 listens on port %u (MASTER_PORT)", port);
	while (here < set->size) {
		rc = ready(fd, POLLIN, deadline);
		if (rc == -ETIMEDOUT)
			return err_set(e, rc, "only %u of %u ranks came to %s within %u ms", here, set->size, s->where,
				       set->options.timeout_ms);
		int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (peer < 0)
			continue;
		rc = welcome(set, peer, deadline, e);
		if (rc < 0)
			return rc;
		here += (uint32_t)rc;
	}
	return 0;
}

/* Left to itself the kernel tries for minutes to reach a host that drops packets. */
static int connect_until(int fd, const struct addrinfo *to, int64_t deadline)
{
	int failure = 0;
	socklen_t n = sizeof(failure);
	int rc = connect(fd, to->ai_addr, to->ai_addrlen) < 0 ? -errno : 0;

	if (rc != -EINPROGRESS)
		return rc;
	rc = ready(fd, POLLOUT, deadline);
	if (rc == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &n) < 0)
		rc = -errno;
	return rc < 0 ? rc : -failure;
}

static int connect_once(const char *host, const char *port, int64_t deadline, int *ret)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;
	int rc = getaddrinfo(host, port, &hints, &all);

	if (rc != 0)
		return -EHOSTUNREACH;
	rc = -ECONNREFUSED;
	for (const struct addrinfo *a = all; a && rc < 0; a = a->ai_next) {
		AUTO_FD fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
		if (fd < 0)
			continue;
		rc = connect_until(fd, a, deadline);
		if (rc == 0)
			*ret = steal_fd(&fd);
	}
	freeaddrinfo(all);
	return rc;
}

static int go_to_rank_0(struct rank_set *set, const char *host, const char *port, int64_t deadline, struct err *e)
{
	struct rank_env_state *s = set->state;
	struct greeting g = { .magic = MAGIC, .rank = set->rank, .size = set->size };
	int one = 1;
	int rc;

	while ((rc = connect_once(host, port, deadline, &s->sockets[0])) < 0) {
		if (clock_mono_ns() > deadline)
			return err_set(e, -ETIMEDOUT,
				       "rank 0 was not at %s (MASTER_ADDR, MASTER_PORT) within %u ms: %s", s->where,
				       set->options.timeout_ms, strerror(-rc));
		clock_sleep_ms(RETRY_MS);
	}
	setsockopt(s->sockets[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	rc = send_all(s->sockets[0], &g, sizeof(g), deadline);
	return rc < 0 ? lost(set, 0, rc, e) : 0;
}

static int open_set(struct rank_set *set, struct err *e)
{
	struct rank_env_state *s = set->state;
	const int64_t deadline = clock_mono_ns() + (int64_t)set->options.timeout_ms * 1000000;
	const char *store = getenv("TORCHELASTIC_USE_AGENT_STORE");
	const char *host = getenv("MASTER_ADDR");
	char port_text[16];
	uint32_t port = 29500; /* torch's own default */
	int rc = number("WORLD_SIZE", RANKS_MAX, &set->size, e);

	if (rc == 0)
		rc = number("RANK", RANKS_MAX, &set->rank, e);
	if (rc == 0 && getenv("MASTER_PORT"))
		rc = number("MASTER_PORT", 65534, &port, e);
	if (rc < 0)
		return rc;
	if (set->rank >= set->size)
		return err_input(e, "RANK is %u, but WORLD_SIZE is %u", set->rank, set->size);
	/* torchrun's agent itself holds MASTER_PORT. */
	if (store && strcmp(store, "True") == 0)
		port++;
	snprintf(port_text, sizeof(port_text), "%u", port);
	snprintf(s->where, sizeof(s->where), "%.100s:%u", host, port);
	s->count = set->rank == 0 ? set->size : 1;
	s->sockets = malloc(s->count * sizeof(*s->sockets));
	if (!s->sockets)
		return err_set(e, -ENOMEM, "%u ranks", set->size);
	for (uint32_t i = 0; i < s->count; i++)
		s->sockets[i] = -1;
	return set->rank == 0 ? gather_all(set, (uint16_t)port, deadline, e)
			      : go_to_rank_0(set, host, port_text, deadline, e);
}

/* Rank 0 spreads the farewell of one to the rest. */
static void spread(struct rank_set *set, const struct farewell *bye)
{
	struct rank_env_state *s = set->state;
	struct frame f = { .kind = FRAME_ABANDON, .bytes = sizeof(*bye) };
	int64_t soon = clock_mono_ns() + 1000000000LL;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->sockets[i] >= 0 && send_all(s->sockets[i], &f, sizeof(f), soon) == 0)
			send_all(s->sockets[i], bye, sizeof(*bye), soon);
}

static void abandon(struct rank_set *set, int exit_status, const char *message)
{
	struct farewell bye = { .exit_status = exit_status, .rank = set->rank };

	snprintf(bye.message, sizeof(bye.message), "%s", message);
	spread(set, &bye);
}

static int exchange(struct rank_set *set, const void *mine, size_t n, void *ret, struct err *e)
{
	struct rank_env_state *s = set->state;
	const int64_t deadline = clock_mono_ns() + (int64_t)set->options.timeout_ms * 1000000;
	char *to = ret;
	int rc = 0;

	if (set->rank != 0) {
		rc = give(set, 0, s->sockets[0], FRAME_DATA, mine, n, deadline, e);
		return rc < 0 ? rc : take(set, 0, s->sockets[0], FRAME_ALL, ret, n * set->size, deadline, e);
	}
	memcpy(to, mine, n);
	for (uint32_t i = 1; i < set->size && rc == 0; i++)
		rc = take(set, i, s->sockets[i], FRAME_DATA, to + i * n, n, deadline, e);
	for (uint32_t i = 1; i < set->size && rc == 0; i++)
		rc = give(set, i, s->sockets[i], FRAME_ALL, to, n * set->size, deadline, e);
	return rc;
}

/* A frame of data that waits is a rank that is ahead of us; only an end or a farewell is news. */
static int alive(struct rank_set *set, struct err *e)
{
	struct rank_env_state *s = set->state;
	struct frame f;

	for (uint32_t i = 0; i < s->count; i++) {
		if (s->sockets[i] < 0)
			continue;
		ssize_t n = recv(s->sockets[i], &f, sizeof(f), MSG_PEEK | MSG_DONTWAIT);
		if (n == 0)
			return lost(set, i, -ECONNRESET, e);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return lost(set, i, -errno, e);
		if (n == (ssize_t)sizeof(f) && f.kind == FRAME_ABANDON)
			return take(set, i, s->sockets[i], FRAME_DATA, NULL, 0,
				    clock_mono_ns() + (int64_t)set->options.timeout_ms * 1000000, e);
	}
	return 0;
}

static void close_set(struct rank_set *set)
{
	struct rank_env_state *s = set->state;

	for (uint32_t i = 0; s->sockets && i < s->count; i++)
		if (s->sockets[i] >= 0)
			close(s->sockets[i]);
	free(s->sockets);
}

const struct rank_ops rank_env = {
	.name = "environment",
	.state_size = sizeof(struct rank_env_state),
	.is_present = is_present,
	.open = open_set,
	.exchange = exchange,
	.alive = alive,
	.abandon = abandon,
	.close = close_set,
	.carries_messages = true,
};

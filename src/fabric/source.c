/* SPDX-License-Identifier: MIT */
#include "fabric/source.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"

static uint32_t mask_of(uint32_t prefix_bits)
{
	return prefix_bits == 0 ? 0 : 0xffffffffu << (32 - prefix_bits);
}

static bool is_loopback(uint32_t ip)
{
	return ip >> 24 == 127;
}

static uint32_t ip_of(const struct sockaddr *sa)
{
	return ntohl(((const struct sockaddr_in *)(const void *)sa)->sin_addr.s_addr);
}

static void add_addresses(const struct ifaddrs *all, bool loopback, struct source_list *list)
{
	for (const struct ifaddrs *i = all; i && list->count < SOURCE_MAX; i = i->ifa_next) {
		if (!i->ifa_addr || !i->ifa_netmask || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP))
			continue;
		if (is_loopback(ip_of(i->ifa_addr)) != loopback)
			continue;
		struct source_address *a = &list->at[list->count++];
		a->ip = ip_of(i->ifa_addr);
		a->prefix_bits = (uint32_t)__builtin_popcount(ip_of(i->ifa_netmask));
		snprintf(a->interface, sizeof(a->interface), "%s", i->ifa_name);
	}
}

int source_list(struct source_list *ret, struct err *e)
{
	struct source_list list = { 0 };
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0)
		return err_sys(e, "list the network interfaces");
	add_addresses(all, false, &list);
	add_addresses(all, true, &list);
	freeifaddrs(all);
	*ret = list;
	return 0;
}

void source_text(const struct source_address *a, char ret[SOURCE_TEXT_BYTES])
{
	struct in_addr in = { .s_addr = htonl(a->ip) };
	inet_ntop(AF_INET, &in, ret, SOURCE_TEXT_BYTES);
}

int source_parse(const char *text, uint32_t *ret_ip, uint32_t *ret_prefix_bits)
{
	char address[SOURCE_TEXT_BYTES];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	unsigned long bits = 32;
	struct in_addr in;

	if (n >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, n);
	address[n] = '\0';
	if (slash) {
		char *end;
		bits = strtoul(slash + 1, &end, 10);
		if (end == slash + 1 || *end || bits > 32)
			return -EINVAL;
	}
	if (inet_pton(AF_INET, address, &in) != 1)
		return -EINVAL;
	*ret_ip = ntohl(in.s_addr);
	*ret_prefix_bits = (uint32_t)bits;
	return 0;
}

static int choose_wanted(const struct source_list *ours, const char *wanted, struct source_address *ret, struct err *e)
{
	char have[256] = "";
	size_t used = 0;
	uint32_t ip, bits;
	bool is_address = source_parse(wanted, &ip, &bits) == 0;

	for (uint32_t i = 0; i < ours->count; i++) {
		const struct source_address *a = &ours->at[i];
		char text[SOURCE_TEXT_BYTES];
		if (is_address ? ((a->ip ^ ip) & mask_of(bits)) == 0 : strcmp(a->interface, wanted) == 0) {
			*ret = *a;
			return 0;
		}
		source_text(a, text);
		int n = snprintf(have + used, sizeof(have) - used, "%s%s (%s)", used ? ", " : "", a->interface, text);
		if (n > 0 && (size_t)n < sizeof(have) - used)
			used += (size_t)n;
	}
	return err_input(e, "no interface or address '%s' here that is up; there are: %s", wanted,
			 used ? have : "none");
}

/* How many peers have an address in a's subnet. */
static size_t peers_in_subnet(const struct source_address *a, const struct source_list *peers, size_t peer_count)
{
	size_t found = 0;

	for (size_t p = 0; p < peer_count; p++) {
		bool in = false;
		for (uint32_t i = 0; i < peers[p].count; i++)
			in = in || (peers[p].at[i].ip != a->ip &&
				    ((peers[p].at[i].ip ^ a->ip) & mask_of(a->prefix_bits)) == 0);
		found += in;
	}
	return found;
}

/* The address that the kernel would send from; connecting a datagram socket asks the routing table and sends nothing. */
static int route_source(uint32_t to, uint32_t *ret)
{
	AUTO_FD fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(to) };
	socklen_t n = sizeof(sa);

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	if (getsockname(fd, (struct sockaddr *)&sa, &n) < 0)
		return -errno;
	*ret = ntohl(sa.sin_addr.s_addr);
	return 0;
}

int source_choose(const struct source_list *ours, const struct source_list *peers, size_t peer_count,
		  const char *wanted, struct source_address *ret, struct err *e)
{
	const struct source_address *best = NULL;
	size_t best_count = 0;
	uint32_t ip = 0;

	if (wanted)
		return choose_wanted(ours, wanted, ret, e);
	for (uint32_t i = 0; i < ours->count; i++) {
		size_t n = is_loopback(ours->at[i].ip) ? 0 : peers_in_subnet(&ours->at[i], peers, peer_count);
		if (n > best_count) {
			best = &ours->at[i];
			best_count = n;
		}
	}
	for (size_t p = 0; p < peer_count && !best; p++)
		for (uint32_t i = 0; i < peers[p].count && !best; i++) {
			if (is_loopback(peers[p].at[i].ip) || route_source(peers[p].at[i].ip, &ip) < 0)
				continue;
			for (uint32_t j = 0; j < ours->count; j++)
				if (ours->at[j].ip == ip && !is_loopback(ip))
					best = &ours->at[j];
		}
	if (!best)
		return err_set(e, -ENETUNREACH,
			       "no IPv4 address here reaches a peer; name the interface with --interface");
	*ret = *best;
	return 0;
}

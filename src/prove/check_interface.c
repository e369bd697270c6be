/* SPDX-License-Identifier: MIT */
/* NCCL's bootstrap finds the interface that reaches the other nodes. */
#include <stdio.h>
#include <string.h>

#include "prove/check_env.h"
#include "prove/check_rows.h"

#define MAX_INTERFACES 64

struct interfaces {
	size_t count;
	char name[MAX_INTERFACES][16];
};

/* /proc/net/dev belongs to the network namespace of the reader, as /sys/class/net in a container may not. */
static int list(const struct world *w, struct interfaces *ret, struct err *e)
{
	AUTO_STR text = NULL;
	int r = world_read(w, "/proc/net/dev", &text, e);
	ret->count = 0;
	if (r < 0)
		return r;
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(line, ':');
		if (!colon || ret->count == MAX_INTERFACES)
			continue;
		*colon = '\0';
		snprintf(ret->name[ret->count++], 16, "%.15s", line + strspn(line, " "));
	}
	return 0;
}

/* Up and with an address: it has an IPv4 route, or a global IPv6 address. */
static bool has_address(const struct world *w, const char *name)
{
	AUTO_STR routes = NULL;
	AUTO_STR v6 = NULL;
	char needle[32];
	snprintf(needle, sizeof(needle), "\n%s\t", name);
	if (world_read(w, "/proc/net/route", &routes, NULL) == 0 && strstr(routes, needle))
		return true;
	if (world_read(w, "/proc/net/if_inet6", &v6, NULL) < 0)
		return false;
	char *save = NULL;
	for (char *line = strtok_r(v6, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char scope[3] = "", dev[16] = "";
		if (sscanf(line, "%*s %*s %*s %2s %*s %15s", scope, dev) == 2 && strcmp(dev, name) == 0 &&
		    strcmp(scope, "00") == 0)
			return true;
	}
	return false;
}

/* The interface of the default route; false when there is none. */
static bool default_route(const struct world *w, char ret[16])
{
	AUTO_STR text = NULL;
	if (world_read(w, "/proc/net/route", &text, NULL) < 0)
		return false;
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char to[9], mask[9];
		if (sscanf(line, "%15s %8s %*s %*s %*s %*s %*s %8s", ret, to, mask) == 3 &&
		    strcmp(to, "00000000") == 0 && strcmp(mask, "00000000") == 0)
			return true;
	}
	return false;
}

/* NCCL_SOCKET_IFNAME: a comma list of prefixes; '^' in front excludes them, '=' matches whole names. */
static bool is_chosen(const char *wanted, const char *name)
{
	bool exclude = *wanted == '^';
	wanted += exclude;
	bool exact = *wanted == '=';
	wanted += exact;
	for (const char *at = wanted; *at;) {
		size_t len = strcspn(at, ",");
		const char *word = at + (*at == '=');
		size_t word_len = len - (*at == '=');
		if (word_len && strncmp(word, name, word_len) == 0 && (!exact || name[word_len] == '\0'))
			return !exclude;
		at += len + (at[len] == ',');
	}
	return exclude;
}

static bool starts(const char *name, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
			return true;
	return false;
}

static int judge_setting(const struct check_context *c, const struct check_env_row *row, const struct interfaces *all,
			 struct check_result *ret)
{
	char text[256] = "";
	for (size_t i = 0; i < all->count; i++) {
		if (!is_chosen(row->value, all->name[i]) || !has_address(c->world, all->name[i]))
			continue;
		size_t len = strlen(text);
		snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "", all->name[i]);
	}
	if (*text)
		return check_pass(ret, "NCCL_SOCKET_IFNAME=%s (%s): %s", row->value, row->where, text);
	check_fail(ret, "NCCL_SOCKET_IFNAME=%s (%s) names no interface with an address; there are:", row->value,
		   row->where);
	for (size_t i = 0; i < all->count; i++) {
		size_t len = strlen(ret->evidence);
		snprintf(ret->evidence + len, sizeof(ret->evidence) - len, " %s", all->name[i]);
	}
	return 0;
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	static const char *const passed_over[] = { "lo", "docker", "virbr",
						   NULL }; /* by NCCL itself, since 2.28 virbr too */
	static const char *const virtual_ones[] = { "veth", "cni", "podman", "br-", "flannel", "cali", "tun", NULL };
	struct interfaces all;
	AUTO(check_env) env = NULL;
	char route[16];
	const char *first = NULL;
	int r = list(c->world, &all, e);
	if (r < 0)
		return r;
	r = check_env_load(c->world, &env, e);
	if (r < 0)
		return r;
	const struct check_env_row *row = check_env_find(env, "NCCL_SOCKET_IFNAME");
	if (row && *row->value)
		return judge_setting(c, row, &all, ret);
	for (size_t i = 0; i < all.count && !first; i++)
		if (!starts(all.name[i], passed_over) && has_address(c->world, all.name[i]))
			first = all.name[i];
	if (!first)
		return check_fail(ret, "no interface with an address but lo (/proc/net/dev, /proc/net/route)");
	bool routed = default_route(c->world, route);
	if (starts(first, virtual_ones) && routed && strcmp(route, first) != 0) {
		check_mend(ret, "NCCL_SOCKET_IFNAME==%s in /etc/nccl.conf", route);
		return check_warn(ret, "NCCL would take %s, a virtual one; the default route is on %s", first, route);
	}
	return check_pass(ret, "NCCL takes %s; %s%s", first,
			  routed ? "the default route is on " : "there is no default route", routed ? route : "");
}

const struct check check_interface = {
	.id = "interface",
	.what = "NCCL's bootstrap has an interface that reaches the other nodes",
	.severity = CHECK_FAIL,
	.why = "the job hangs at its start, or stops with \"Bootstrap : no socket interface found\"",
	.mend = "unset NCCL_SOCKET_IFNAME, or name an interface that is there (ip -brief address)",
	.source = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname",
	.run = run,
};

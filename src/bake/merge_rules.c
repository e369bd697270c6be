/* SPDX-License-Identifier: MIT */
#include "bake/merge_rules.h"

#include <fnmatch.h>
#include <string.h>

static const struct merge_rule rules[] = {
	{ .path = "var/lib/dpkg/status", .key_fields = "Package Architecture" },
	{ .path = "var/lib/dpkg/diversions", .lines = 3 },
	{ .path = "var/lib/dpkg/statoverride", .lines = 1, .separator = ' ', .key_field = -1 },
	{ .path = "var/lib/dpkg/triggers/*", .lines = 1 },
	{ .path = "var/lib/apt/extended_states", .key_fields = "Package Architecture" },
	{ .path = "var/cache/debconf/*.dat", .key_fields = "Name", .list_field = "Owners" },
	{ .path = "etc/passwd", .lines = 1, .separator = ':', .number_field = 2 },
	{ .path = "etc/shadow", .lines = 1, .separator = ':' },
	{ .path = "etc/group", .lines = 1, .separator = ':', .number_field = 2, .list_field = "members" },
	{ .path = "etc/gshadow", .lines = 1, .separator = ':', .list_field = "members" },
	{ .path = "etc/subuid", .lines = 1, .separator = ':', .number_field = 1 },
	{ .path = "etc/subgid", .lines = 1, .separator = ':', .number_field = 1 },
	{ .path = "etc/shells", .lines = 1 },
};

const struct merge_rule *merge_rules_find(const char *path)
{
	for (size_t i = 0; i < COUNT_OF(rules); i++)
		if (fnmatch(rules[i].path, path, FNM_PATHNAME) == 0)
			return &rules[i];
	return NULL;
}

bool merge_rules_is_made(const char *path)
{
	return strcmp(path, "etc/ld.so.cache") == 0;
}

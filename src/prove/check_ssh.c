/* SPDX-License-Identifier: MIT */
#include "prove/check_ssh.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"

#define MAX_DEPTH 8 /* OpenSSH's own limit is 16 */

struct walk {
	const struct world *w;
	const char *home;
	const char *base; /* what a relative Include is relative to */
	void (*each)(void *arg, const struct check_ssh_line *l);
	void *arg;
};

static void walk_file(const struct walk *k, const char *path, const char *within, unsigned depth);

/* One pattern of an Include line; only its last component may hold wildcards, as every distribution writes it. */
static void include(const struct walk *k, const char *pattern, const char *within, unsigned depth)
{
	char full[512], path[1024];
	AUTO_STRINGS names = NULL;
	if (*pattern == '/')
		snprintf(full, sizeof(full), "%s", pattern);
	else if (*pattern == '~')
		snprintf(full, sizeof(full), "%s%s", k->home ? k->home : "/root", pattern + 1);
	else
		snprintf(full, sizeof(full), "%s/%s", k->base, pattern);
	char *slash = strrchr(full, '/');
	*slash = '\0';
	if (world_list(k->w, full, &names, NULL) < 0)
		return;
	for (char **n = names; *n; n++) {
		if (fnmatch(slash + 1, *n, FNM_PERIOD) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", full, *n);
		walk_file(k, path, within, depth + 1);
	}
}

static void includes(const struct walk *k, char *patterns, const char *within, unsigned depth)
{
	char *save = NULL;
	for (char *p = strtok_r(patterns, " \t", &save); p; p = strtok_r(NULL, " \t", &save))
		include(k, p, within, depth);
}

/* "Keyword value", "Keyword=value" and quotes; false for blanks and comments. */
static bool split(char *line, char **keyword, char **value)
{
	line += strspn(line, " \t");
	size_t len = strcspn(line, " \t=");
	if (!len || *line == '#')
		return false;
	*keyword = line;
	*value = line + len;
	*value += strspn(*value, " \t=");
	line[len] = '\0';
	size_t end = strlen(*value);
	while (end && strchr(" \t\r", (*value)[end - 1]))
		(*value)[--end] = '\0';
	if (end >= 2 && **value == '"' && (*value)[end - 1] == '"') {
		(*value)[end - 1] = '\0';
		(*value)++;
	}
	return true;
}

static void walk_file(const struct walk *k, const char *path, const char *within, unsigned depth)
{
	AUTO_STR text = NULL;
	char block[256];
	unsigned number = 0;
	if (depth > MAX_DEPTH || world_read(k->w, path, &text, NULL) < 0)
		return;
	for (char *at = text; at;) {
		char *next = strchr(at, '\n');
		char *keyword, *value;
		if (next)
			*next++ = '\0';
		number++;
		bool setting = split(at, &keyword, &value);
		at = next;
		if (!setting)
			continue;
		if (strcasecmp(keyword, "Include") == 0) {
			includes(k, value, within, depth);
		} else if (strcasecmp(keyword, "Match") == 0 || strcasecmp(keyword, "Host") == 0) {
			snprintf(block, sizeof(block), "%s %s", keyword, value);
			within = strcasecmp(block, "Match all") == 0 || strcmp(block, "Host *") == 0 ? NULL : block;
		} else {
			k->each(k->arg, &(struct check_ssh_line){ path, number, keyword, value, within });
		}
	}
}

void check_ssh_walk(const struct world *w, const char *path, const char *home,
		    void (*each)(void *arg, const struct check_ssh_line *l), void *arg)
{
	char base[512];
	snprintf(base, sizeof(base), "%s", path);
	char *slash = strrchr(base, '/');
	if (slash)
		*slash = '\0';
	const struct walk k = { .w = w, .home = home, .base = base, .each = each, .arg = arg };
	walk_file(&k, path, NULL, 0);
}

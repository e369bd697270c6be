/* SPDX-License-Identifier: MIT */
#include "prove/hosts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/fdio.h"

#define MAX_BYTES (1 << 20)

/* Where in the file we are. */
struct place {
	const char *path;
	unsigned line;
};

static int bad(const struct place *at, struct err *e, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int bad(const struct place *at, struct err *e, const char *fmt, ...)
{
	char what[ERR_MSG_BYTES / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_input(e, "%s:%u: %s; expected 'address slots=N'", at->path, at->line, what);
}

static bool is_name(const char *name)
{
	if (!isalnum((unsigned char)*name) && *name != ':' && *name != '[')
		return false;
	return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]%")] == '\0';
}

/* "slots=2": key and number, with blanks allowed around '=', which Open MPI takes too. */
static int parse_setting(const struct place *at, char **rest, struct host *host, struct err *e)
{
	char *key = *rest, *end;
	size_t n = strcspn(key, " \t=");
	char *value = key + n + strspn(key + n, " \t");
	bool is_slots = n == 5 && strncmp(key, "slots", 5) == 0;
	bool is_max = n == 9 && (strncmp(key, "max_slots", 9) == 0 || strncmp(key, "max-slots", 9) == 0);
	unsigned long number;

	if (!is_slots && !is_max)
		return bad(at, e, "'%.*s' is not known here", (int)n, key);
	if (*value != '=')
		return bad(at, e, "'%.*s' has no value", (int)n, key);
	value += 1 + strspn(value + 1, " \t");
	errno = 0;
	number = strtoul(value, &end, 10);
	if (!isdigit((unsigned char)*value) || errno || number == 0 || number > 65536 ||
	    (*end && *end != ' ' && *end != '\t'))
		return bad(at, e, "'%.*s' is not a number of slots from 1 to 65536", (int)strcspn(value, " \t"), value);
	if (is_slots)
		host->slots = (uint32_t)number;
	*rest = end + strspn(end, " \t");
	return 0;
}

static int parse_line(const struct place *at, char *line, struct hosts *h, struct err *e)
{
	struct host host = { .slots = 1 };
	char *comment = strchr(line, '#');
	char *rest;
	size_t n;
	int rc = 0;

	if (comment)
		*comment = '\0';
	line += strspn(line, " \t\r");
	for (n = strlen(line); n > 0 && strchr(" \t\r", line[n - 1]); n--)
		line[n - 1] = '\0';
	if (!*line)
		return 0;
	n = strcspn(line, " \t");
	if (n >= sizeof(host.name))
		return bad(at, e, "the address is longer than %d characters", HOSTS_NAME_BYTES - 1);
	memcpy(host.name, line, n);
	if (!is_name(host.name))
		return bad(at, e, "'%s' is not an address", host.name);
	rest = line + n + strspn(line + n, " \t");
	while (*rest && rc == 0)
		rc = parse_setting(at, &rest, &host, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < h->count; i++)
		if (strcmp(h->at[i].name, host.name) == 0)
			return bad(at, e, "'%s' is named twice", host.name);
	if (h->count == HOSTS_MAX)
		return bad(at, e, "more than %d hosts", HOSTS_MAX);
	h->at[h->count++] = host;
	h->slots += host.slots;
	return 0;
}

int hosts_parse(const char *path, const char *text, struct hosts **ret, struct err *e)
{
	AUTO(hosts) h = calloc(1, sizeof(*h));
	AUTO_STR copy = strdup(text);
	struct place at = { .path = path };
	size_t lines = 1;
	char *next = copy;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	if (h)
		h->at = calloc(lines < HOSTS_MAX ? lines : HOSTS_MAX, sizeof(*h->at));
	if (!h || !copy || !h->at)
		return err_set(e, -ENOMEM, "%s", path);
	while (next) {
		char *line = strsep(&next, "\n");
		at.line++;
		int rc = parse_line(&at, line, h, e);
		if (rc < 0)
			return rc;
	}
	if (h->count == 0)
		return err_input(e, "%s: holds no host; expected lines 'address slots=N'", path);
	*ret = steal(h);
	return 0;
}

int hosts_read(const char *path, struct hosts **ret, struct err *e)
{
	AUTO_STR text = NULL;
	size_t n;
	int rc = fdio_read_file(AT_FDCWD, path, MAX_BYTES, &text, &n, e);

	if (rc == -ENOENT)
		return err_input(e, "%s: there is no such hosts file", path);
	if (rc < 0)
		return rc;
	if (strlen(text) != n)
		return err_input(e, "%s: is not a text file; expected lines 'address slots=N'", path);
	return hosts_parse(path, text, ret, e);
}

void hosts_free(struct hosts *h)
{
	if (!h)
		return;
	free(h->at);
	free(h);
}

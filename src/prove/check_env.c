/* SPDX-License-Identifier: MIT */
#include "prove/check_env.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* More than any sane environment: what is past it is left out. */
#define MAX_ROWS 4096
#define MAX_ENVIRON_BYTES (1 << 20)

void check_env_free(struct check_env *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->count; i++) {
		free(v->rows[i].name);
		free(v->rows[i].value);
		free(v->rows[i].where);
	}
	free(v->rows);
	free(v);
}

const struct check_env_row *check_env_find(const struct check_env *v, const char *name)
{
	for (size_t i = 0; i < v->count; i++)
		if (strcmp(v->rows[i].name, name) == 0)
			return &v->rows[i];
	return NULL;
}

static int add(struct check_env *v, const char *name, size_t name_len, const char *value, size_t value_len,
	       const char *where)
{
	for (size_t i = 0; i < v->count; i++)
		if (strlen(v->rows[i].name) == name_len && memcmp(v->rows[i].name, name, name_len) == 0)
			return 0;
	if (v->count == MAX_ROWS)
		return 0;
	if (v->count % 64 == 0) {
		void *more = realloc(v->rows, (v->count + 64) * sizeof(*v->rows));
		if (!more)
			return -ENOMEM;
		v->rows = more;
	}
	struct check_env_row row = { strndup(name, name_len), strndup(value, value_len), strdup(where) };
	v->rows[v->count++] = row;
	return row.name && row.value && row.where ? 0 : -ENOMEM;
}

/* One NAME=value line, with or without "export " and quotes; anything else is passed over. */
static int add_line(struct check_env *v, const char *line, size_t len, const char *where)
{
	while (len && isspace((unsigned char)*line))
		line++, len--;
	if (len > 7 && strncmp(line, "export ", 7) == 0)
		line += 7, len -= 7;
	size_t name = 0;
	while (name < len && (isalnum((unsigned char)line[name]) || line[name] == '_'))
		name++;
	if (!name || name == len || line[name] != '=')
		return 0;
	const char *value = line + name + 1;
	size_t value_len = len - name - 1;
	while (value_len && isspace((unsigned char)value[value_len - 1]))
		value_len--;
	if (value_len >= 2 && (*value == '"' || *value == '\'') && value[value_len - 1] == *value)
		value++, value_len -= 2;
	return add(v, line, name, value, value_len, where);
}

static int add_file(struct check_env *v, const struct world *w, const char *path)
{
	AUTO_STR text = NULL;
	int r = 0;
	if (world_read(w, path, &text, NULL) < 0)
		return 0;
	for (const char *at = text; r == 0 && *at;) {
		size_t len = strcspn(at, "\n");
		r = add_line(v, at, len, path);
		at += len + (at[len] == '\n');
	}
	return r;
}

/* NUL-separated, so not for world_read. */
static int add_process(struct check_env *v, const struct world *w)
{
	AUTO_FD fd = world_open(w, "/proc/self/environ", O_RDONLY, NULL);
	AUTO_STR all = malloc(MAX_ENVIRON_BYTES + 1);
	size_t len = 0;
	int r = 0;
	if (!all)
		return -ENOMEM;
	for (ssize_t n = 1; fd >= 0 && n > 0 && len<MAX_ENVIRON_BYTES; len += n> 0 ? (size_t)n : 0)
		n = read(fd, all + len, MAX_ENVIRON_BYTES - len);
	all[len] = '\0';
	for (const char *at = all; r == 0 && at < all + len; at += strlen(at) + 1) {
		const char *eq = strchr(at, '=');
		if (eq && eq != at)
			r = add(v, at, (size_t)(eq - at), eq + 1, strlen(eq + 1), "environment");
	}
	return r;
}

static int add_profiles(struct check_env *v, const struct world *w)
{
	AUTO_STRINGS names = NULL;
	int r = 0;
	if (world_list(w, "/etc/profile.d", &names, NULL) < 0)
		return 0;
	for (char **n = names; r == 0 && *n; n++) {
		char path[512];
		size_t len = strlen(*n);
		if (len < 3 || strcmp(*n + len - 3, ".sh") != 0)
			continue;
		snprintf(path, sizeof(path), "/etc/profile.d/%s", *n);
		r = add_file(v, w, path);
	}
	return r;
}

int check_env_load(const struct world *w, struct check_env **ret, struct err *e)
{
	AUTO(check_env) v = calloc(1, sizeof(*v));
	if (!v)
		return err_set(e, -ENOMEM, "environment");
	int r = add_process(v, w);
	if (r == 0)
		r = add_file(v, w, "/etc/environment");
	if (r == 0)
		r = add_profiles(v, w);
	const struct check_env_row *home = check_env_find(v, "HOME");
	if (r == 0 && home && *home->value == '/') {
		char path[512];
		snprintf(path, sizeof(path), "%s/.nccl.conf", home->value);
		r = add_file(v, w, path);
	}
	if (r == 0)
		r = add_file(v, w, "/etc/nccl.conf");
	if (r < 0)
		return err_set(e, r, "environment: out of memory");
	*ret = steal(v);
	return 0;
}

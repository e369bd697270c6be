/* SPDX-License-Identifier: MIT */
#include "bake/merge_paths.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"

void merge_paths_fini(struct merge_paths *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->at[i].path);
	free(p->at);
	*p = (struct merge_paths){ 0 };
}

static int paths_put(struct merge_paths *p, const char *path, size_t side, struct err *e)
{
	if (p->count == p->room) {
		size_t room = p->room ? p->room * 2 : 4096;
		struct merge_path *more = realloc(p->at, room * sizeof(*more));
		if (!more)
			return err_set(e, -ENOMEM, "out of memory for %zu paths", room);
		p->at = more;
		p->room = room;
	}
	char *copy = strdup(path);
	if (!copy)
		return err_set(e, -ENOMEM, "out of memory for paths");
	p->at[p->count++] = (struct merge_path){ copy, side };
	return 0;
}

static int paths_walk(struct merge_paths *p, const char *fs, const char *rel, size_t side, struct err *e)
{
	AUTO_STR at = str_printf("%s/%s", fs, rel);
	AUTO_DIR dir = at ? opendir(at) : NULL;
	int rc = 0;

	if (!dir)
		return err_sys(e, "list %s", at ? at : rel);
	for (struct dirent *d; rc == 0 && (d = readdir(dir));) {
		struct stat st;
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		AUTO_STR sub = str_printf("%s%s%s", rel, *rel ? "/" : "", d->d_name);
		if (!sub)
			return err_set(e, -ENOMEM, "out of memory for a path");
		rc = paths_put(p, sub, side, e);
		AUTO_STR full = str_printf("%s/%s", fs, sub);
		if (rc == 0 && full && lstat(full, &st) == 0 && S_ISDIR(st.st_mode))
			rc = paths_walk(p, fs, sub, side, e);
	}
	return rc;
}

int merge_paths_add(struct merge_paths *p, const char *fs, size_t side, struct err *e)
{
	return paths_walk(p, fs, "", side, e);
}

static int path_compare(const void *a, const void *b)
{
	const struct merge_path *x = a, *y = b;
	int order = strcmp(x->path, y->path);
	return order ? order : x->side < y->side ? -1 : x->side > y->side;
}

void merge_paths_sort(struct merge_paths *p)
{
	qsort(p->at, p->count, sizeof(*p->at), path_compare);
}

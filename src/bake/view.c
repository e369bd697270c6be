/* SPDX-License-Identifier: MIT */
#include "bake/view.h"

#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "image/pack.h"

enum view_answer { VIEW_HERE, VIEW_BELOW, VIEW_GONE };

/* One layer's answer: it has the path, it says nothing (ask below), or it hides what is below. */
static enum view_answer view_ask(const char *dir, const char *path, char **ret_at, struct stat *st)
{
	AUTO_STR at = str_printf("%s/%s", dir, path);
	enum view_answer missing = VIEW_BELOW;
	if (!at)
		return VIEW_GONE;

	for (char *slash = at + strlen(dir);; *slash = '/') {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (lstat(at, st) < 0)
			return missing;
		if (pack_is_whiteout(st))
			return VIEW_GONE;
		if (!slash)
			break;
		if (!S_ISDIR(st->st_mode))
			return VIEW_GONE;
		if (pack_is_opaque(at))
			missing = VIEW_GONE;
	}
	if (ret_at)
		*ret_at = steal(at);
	return VIEW_HERE;
}

bool view_find(const struct view *v, const char *path, char **ret_at, struct stat *ret_st)
{
	struct stat st;

	for (size_t i = v->count; i-- > 0;) {
		enum view_answer answer = view_ask(v->dirs[i], path, ret_at, &st);
		if (answer == VIEW_GONE)
			return false;
		if (answer == VIEW_HERE) {
			if (ret_st)
				*ret_st = st;
			return true;
		}
	}
	return false;
}

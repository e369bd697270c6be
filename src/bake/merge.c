/* SPDX-License-Identifier: MIT */
#include "bake/merge.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bake/merge_paths.h"
#include "bake/merge_rules.h"
#include "bake/merge_text.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/fdio.h"
#include "base/own.h"
#include "image/pack.h"

#define MERGE_FILE_MAX ((size_t)64 << 20)
#define MERGE_SIGN_BYTES 160
#define MERGE_ABSENT "-"

struct merging {
	const struct merge_side *sides;
	size_t side_count;
	const char *fs;
	bool ldconfig;
	struct err *e;
};

/* A path that several sides have: those sides, bottom first. */
struct merge_group {
	const char *path;
	const struct merge_path *members;
	size_t count;
};

static int merge_conflict(const struct merging *m, size_t a, size_t b, const char *what, const char *path)
{
	return err_input(m->e,
			 "components %s and %s both change %s%s/%s: let one of them name the other in the \"needs\" of "
			 "its component.json",
			 m->sides[a].name, m->sides[b].name, what ? what : "", what && *what ? " in " : "", path);
}

/* What something is, as a short text: two that read the same are the same to an image. */
static int merge_sign(const struct merging *m, const char *at, const struct stat *st, char ret[MERGE_SIGN_BYTES])
{
	char digest[DIGEST_HEX_BYTES] = "", target[PATH_MAX];
	unsigned mode = st->st_mode & 07777;

	if (pack_is_whiteout(st)) {
		strcpy(ret, MERGE_ABSENT);
		return 0;
	}
	if (S_ISREG(st->st_mode)) {
		int rc = digest_of_file(AT_FDCWD, at, digest, m->e);
		if (rc < 0)
			return rc;
	} else if (S_ISLNK(st->st_mode)) {
		ssize_t n = readlink(at, target, sizeof(target));
		if (n < 0)
			return err_sys(m->e, "read link %s", at);
		digest_of(target, (size_t)n, digest);
		mode = 0;
	} else if (!S_ISDIR(st->st_mode)) {
		snprintf(digest, sizeof(digest), "%llx", (unsigned long long)st->st_rdev);
	}
	snprintf(ret, MERGE_SIGN_BYTES, "%o %o %u %u %s", st->st_mode & S_IFMT, mode, st->st_uid, st->st_gid, digest);
	return 0;
}

static int merge_sign_member(const struct merging *m, const struct merge_path *member, char ret[MERGE_SIGN_BYTES])
{
	struct stat st;
	AUTO_STR at = fdio_join(m->sides[member->side].fs, member->path);
	if (!at)
		return err_set(m->e, -ENOMEM, "out of memory for a path");
	if (lstat(at, &st) < 0)
		return err_sys(m->e, "look at %s", at);
	return merge_sign(m, at, &st, ret);
}

static int merge_sign_below(const struct merging *m, const struct merge_path *member, char ret[MERGE_SIGN_BYTES])
{
	struct stat st;
	AUTO_STR at = NULL;

	if (view_find(&m->sides[member->side].below, member->path, &at, &st))
		return merge_sign(m, at, &st, ret);
	strcpy(ret, MERGE_ABSENT);
	return 0;
}

/* The folders on the way to a path, as the stack shows them. */
static int merge_make_parents(const struct merging *m, const char *path)
{
	const char *dirs[256];
	struct view whole = { dirs, m->side_count < COUNT_OF(dirs) ? m->side_count : COUNT_OF(dirs) };
	AUTO_STR at = fdio_join(m->fs, path);
	if (!at)
		return err_set(m->e, -ENOMEM, "out of memory for a path");

	for (size_t i = 0; i < whole.count; i++)
		dirs[i] = m->sides[i].fs;
	for (char *slash = at + strlen(m->fs); (slash = strchr(slash + 1, '/'));) {
		struct stat st = { .st_mode = 0755 };
		*slash = '\0';
		if (!fdio_exists(AT_FDCWD, at)) {
			view_find(&whole, at + strlen(m->fs) + 1, NULL, &st);
			if (mkdir(at, 0755) < 0 || lchown(at, st.st_uid, st.st_gid) < 0 ||
			    chmod(at, st.st_mode & 07777) < 0)
				return err_sys(m->e, "make %s", at);
		}
		*slash = '/';
	}
	return 0;
}

/* Puts the version of one side (or a deletion) on top. */
static int merge_put(const struct merging *m, const char *path, const struct merge_side *from)
{
	struct stat st;
	int rc = merge_make_parents(m, path);
	if (rc < 0)
		return rc;
	AUTO_STR to = fdio_join(m->fs, path);
	AUTO_STR at = from ? fdio_join(from->fs, path) : NULL;
	if (!to || (from && !at))
		return err_set(m->e, -ENOMEM, "out of memory for a path");

	if (!from)
		return mknod(to, S_IFCHR, makedev(0, 0)) < 0 ? err_sys(m->e, "mark %s as deleted", to) : 0;
	if (lstat(at, &st) < 0)
		return err_sys(m->e, "look at %s", at);
	if (!S_ISDIR(st.st_mode))
		return fdio_copy_tree(at, to, m->e);
	if ((mkdir(to, 0755) < 0 && errno != EEXIST) || lchown(to, st.st_uid, st.st_gid) < 0 ||
	    chmod(to, st.st_mode & 07777) < 0)
		return err_sys(m->e, "make %s", to);
	return 0;
}

/* A file as a whole: whoever changed it wins, when only one did. */
static int merge_whole(const struct merging *m, const struct merge_group *g)
{
	char now[MERGE_SIGN_BYTES] = MERGE_ABSENT, before[MERGE_SIGN_BYTES], after[MERGE_SIGN_BYTES] = "";
	size_t who = g->members[0].side;

	for (size_t i = 0; i < g->count; i++) {
		int rc = merge_sign_below(m, &g->members[i], before);
		if (rc == 0)
			rc = merge_sign_member(m, &g->members[i], after);
		if (rc < 0)
			return rc;
		if (strcmp(before, after) == 0 || strcmp(now, after) == 0)
			continue;
		if (strcmp(now, before) != 0)
			return merge_conflict(m, who, g->members[i].side, "", g->path);
		strcpy(now, after);
		who = g->members[i].side;
	}
	if (strcmp(now, after) == 0)
		return 0;
	return merge_put(m, g->path, strcmp(now, MERGE_ABSENT) == 0 ? NULL : &m->sides[who]);
}

static int merge_read(const struct merging *m, const struct merge_rule *rule, const char *at, size_t side,
		      struct merge_text **ret)
{
	AUTO_STR text = NULL;
	int rc = at ? fdio_read_file(AT_FDCWD, at, MERGE_FILE_MAX, &text, NULL, m->e) : 0;
	return rc < 0 ? rc : merge_text_new(rule, text, side, ret, m->e);
}

static int merge_apply_member(const struct merging *m, const struct merge_path *member, struct merge_text *now)
{
	AUTO(merge_text) before = NULL;
	AUTO(merge_text) after = NULL;
	AUTO_STR below = NULL;
	AUTO_STR at = fdio_join(m->sides[member->side].fs, member->path);
	struct merge_clash clash = { 0 };
	if (!at)
		return err_set(m->e, -ENOMEM, "out of memory for a path");

	view_find(&m->sides[member->side].below, member->path, &below, NULL);
	int rc = merge_read(m, now->rule, below, member->side, &before);
	if (rc == 0)
		rc = merge_read(m, now->rule, at, member->side, &after);
	if (rc == 0)
		rc = merge_text_apply(now, before, after, &clash, m->e);
	return rc == -EEXIST ? merge_conflict(m, clash.side, member->side, clash.key, member->path) : rc;
}

static int merge_check_numbers(const struct merging *m, const struct merge_text *t, const char *path)
{
	const struct merge_record *a, *b;

	if (!merge_text_same_number(t, &a, &b))
		return 0;
	return err_input(m->e,
			 "components %s and %s both give the same number in /%s, to %s and to %s: let one of them name "
			 "the other in the \"needs\" of its component.json",
			 m->sides[a->side].name, m->sides[b->side].name, path, a->key, b->key);
}

/* A file of records: each side's changes are applied in turn. */
static int merge_records(const struct merging *m, const struct merge_rule *rule, const struct merge_group *g)
{
	AUTO(merge_text) now = NULL;
	AUTO_STR text = NULL;
	AUTO_STR top = NULL;
	const struct merge_side *last = &m->sides[g->members[g->count - 1].side];

	int rc = merge_text_new(rule, NULL, 0, &now, m->e);
	for (size_t i = 0; i < g->count && rc == 0; i++)
		rc = merge_apply_member(m, &g->members[i], now);
	if (rc == 0)
		rc = merge_check_numbers(m, now, g->path);
	if (rc < 0)
		return rc;
	text = merge_text_join(now);
	AUTO_STR at = fdio_join(last->fs, g->path);
	AUTO_STR to = fdio_join(m->fs, g->path);
	if (!text || !at || !to)
		return err_set(m->e, -ENOMEM, "out of memory for joining /%s", g->path);
	rc = fdio_read_file(AT_FDCWD, at, MERGE_FILE_MAX, &top, NULL, m->e);
	if (rc < 0 || strcmp(top, text) == 0)
		return rc;
	rc = merge_put(m, g->path, last); /* for its owner and mode */
	AUTO_FD fd = rc == 0 ? open(to, O_WRONLY | O_TRUNC | O_CLOEXEC) : -1;
	if (rc == 0 && fd < 0)
		rc = err_sys(m->e, "write %s", to);
	return rc < 0 ? rc : fdio_write_all(fd, text, strlen(text), to, m->e);
}

static bool side_stands_on(const struct merge_side *a, const struct merge_side *b)
{
	for (size_t i = 0; i < a->below.count; i++)
		if (strcmp(a->below.dirs[i], b->fs) == 0)
			return true;
	return false;
}

/* A folder that one side replaced or deleted while another, which knows nothing of that, works in it. */
static int merge_check_folder(const struct merging *m, const struct merge_group *g, bool *ret_files)
{
	for (size_t i = 0; i < g->count; i++) {
		struct stat st;
		const struct merge_side *a = &m->sides[g->members[i].side];
		AUTO_STR at = fdio_join(a->fs, g->path);
		if (!at || lstat(at, &st) < 0)
			return err_sys(m->e, "look at %s/%s", a->fs, g->path);
		*ret_files = *ret_files && S_ISREG(st.st_mode);
		if (!pack_is_whiteout(&st) && !(S_ISDIR(st.st_mode) && pack_is_opaque(at)))
			continue;
		for (size_t j = 0; j < g->count; j++) {
			const struct merge_side *b = &m->sides[g->members[j].side];
			AUTO_STR other = fdio_join(b->fs, g->path);
			if (!other || lstat(other, &st) < 0)
				return err_sys(m->e, "look at %s/%s", b->fs, g->path);
			if (i != j && S_ISDIR(st.st_mode) && !side_stands_on(a, b) && !side_stands_on(b, a))
				return merge_conflict(m, g->members[i].side, g->members[j].side, "", g->path);
		}
	}
	return 0;
}

static int merge_one(struct merging *m, const struct merge_group *g)
{
	bool files = true;
	/* In one layer, or in one and in what all stand on: the stack shows the right one by itself. */
	if (g->count < 2 || (g->count == 2 && g->members[0].side == 0))
		return 0;
	if (merge_rules_is_made(g->path)) {
		m->ldconfig = true;
		return 0;
	}
	int rc = merge_check_folder(m, g, &files);
	if (rc < 0)
		return rc;
	const struct merge_rule *rule = files ? merge_rules_find(g->path) : NULL;
	return rule ? merge_records(m, rule, g) : merge_whole(m, g);
}

int merge_layers(const struct merge_side *sides, size_t count, const char *fs, bool *ret_ldconfig, struct err *e)
{
	struct merging m = { .sides = sides, .side_count = count, .fs = fs, .e = e };
	__attribute__((cleanup(merge_paths_fini))) struct merge_paths paths = { 0 };
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = merge_paths_add(&paths, sides[i].fs, i, e);
	if (rc < 0)
		return rc;
	merge_paths_sort(&paths);
	for (size_t i = 0, n; i < paths.count && rc == 0; i += n) {
		for (n = 1; i + n < paths.count && strcmp(paths.at[i].path, paths.at[i + n].path) == 0; n++)
			;
		struct merge_group g = { paths.at[i].path, &paths.at[i], n };
		rc = merge_one(&m, &g);
	}
	if (rc == 0)
		*ret_ldconfig = m.ldconfig;
	return rc;
}

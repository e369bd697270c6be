/* SPDX-License-Identifier: MIT */
/* What a stack of folders shows, against what overlayfs itself shows for the same stack. */
#include "tree.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "bake/view.h"
#include "image/overlay.h"

static const char *const paths[] = { "etc/only-below",  "etc/gone",     "etc/both",
				     "etc/upper",       "opaque/below", "opaque/above",
				     "replaced/inside", "dir-gone/x",   "dir-gone",
				     "missing",         "etc",          "opaque" };

static void make_stack(void)
{
	tree_file("low/etc/only-below", "low", 0644);
	tree_file("low/etc/gone", "low", 0644);
	tree_file("low/etc/both", "low", 0644);
	tree_file("low/opaque/below", "low", 0644);
	tree_file("low/replaced/inside", "low", 0644);
	tree_file("low/dir-gone/x", "low", 0644);
	tree_file("high/etc/both", "high", 0644);
	tree_file("high/etc/upper", "high", 0644);
	tree_file("high/opaque/above", "high", 0644);
	tree_file("high/replaced", "now a file", 0644);
	tree_whiteout("high/etc/gone");
	tree_whiteout("high/dir-gone");
	tree_opaque("high/opaque");
}

/* In a child with its own mounts: exit status 0 when view and overlayfs agree on every path. */
static int compare(const struct view *v, const struct overlay *o, const char *at)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    overlay_mount(o, at) < 0)
		return 100;
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		struct stat real, st;
		AUTO_STR full = str_printf("%s/%s", at, paths[i]);
		AUTO_STR found = NULL;
		bool is_there = lstat(full, &real) == 0;
		if (view_find(v, paths[i], &found, &st) != is_there)
			return (int)i + 1;
		if (is_there && S_ISREG(real.st_mode) && st.st_ino != real.st_ino)
			return (int)i + 50; /* another layer's file */
	}
	return 0;
}

static void it_shows_what_overlayfs_shows(void **state)
{
	(void)state;
	need_root();
	struct err e = { 0 };
	make_stack();
	tree_folder("mnt", 0755);
	AUTO_STR low = tree_path("low");
	AUTO_STR high = tree_path("high");
	AUTO_STR at = tree_path("mnt");
	AUTO_STR links = tree_path("links:with, odd\\name");
	const char *dirs[] = { low, high };
	struct view v = { dirs, 2 };
	struct overlay o;
	if (overlay_init(&o, links, dirs, 2, NULL, NULL, &e) < 0)
		fail_msg("%s", e.msg);
	pid_t pid = fork();
	if (pid == 0)
		_exit(compare(&v, &o, at));
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	overlay_fini(&o);
	if (WEXITSTATUS(status) == 100)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_shows_what_overlayfs_shows, tree_setup, tree_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Independent layers, joined: what has to lie on top, and what cannot be joined. */
#include "tree.h"

#include "bake/merge.h"

#define SIDES_MAX 4

/* Layers "base", "a", "b", "c" in the test's folder; a and b stand on base, c on base and a. */
static char *dirs[SIDES_MAX];
static const char *below_b[1], *below_c[2];
static struct merge_side sides[SIDES_MAX];

static int setup(void **state)
{
	static const char *const names[] = { "base", "a", "b", "c" };
	if (tree_setup(state) < 0)
		return -1;
	for (size_t i = 0; i < SIDES_MAX; i++) {
		tree_folder(names[i], 0755);
		dirs[i] = tree_path(names[i]);
		sides[i] = (struct merge_side){ .name = names[i], .fs = dirs[i] };
	}
	tree_folder("out", 0755);
	below_b[0] = below_c[0] = dirs[0];
	below_c[1] = dirs[1];
	sides[1].below = sides[2].below = (struct view){ below_b, 1 };
	sides[3].below = (struct view){ below_c, 2 };
	return 0;
}

static int teardown(void **state)
{
	for (size_t i = 0; i < SIDES_MAX; i++)
		free(dirs[i]);
	return tree_teardown(state);
}

static bool merge(size_t count)
{
	struct err e = { 0 };
	bool ldconfig = false;
	AUTO_STR out = tree_path("out");
	if (merge_layers(sides, count, out, &ldconfig, &e) < 0)
		fail_msg("%s", e.msg);
	return ldconfig;
}

static void refuse(size_t count, const char *says, const char *also)
{
	struct err e = { 0 };
	bool ldconfig;
	AUTO_STR out = tree_path("out");
	assert_true(merge_layers(sides, count, out, &ldconfig, &e) < 0);
	assert_int_equal(err_exit_code(&e), EXIT_USAGE);
	if (!strstr(e.msg, says) || !strstr(e.msg, also) || !strstr(e.msg, "needs"))
		fail_msg("'%s' does not say '%s' and '%s'", e.msg, says, also);
}

static bool on_top(const char *rel)
{
	AUTO_STR at = str_printf("%s/out/%s", tree_dir, rel);
	struct stat st;
	return lstat(at, &st) == 0;
}

static void everybodys_changes_are_shown(void **state)
{
	(void)state;
	need_root();
	struct stat st;
	tree_file("base/etc/group", "root:x:0:\n", 0640);
	tree_file("a/etc/group", "root:x:0:\na:x:300:\n", 0640);
	tree_file("b/etc/group", "root:x:0:\nb:x:400:\n", 0640);
	tree_file("a/usr/same", "text", 0644);
	tree_file("b/usr/same", "text", 0644);
	assert_false(merge(3));
	AUTO_STR group = tree_read("out/etc/group");
	assert_string_equal(group, "root:x:0:\na:x:300:\nb:x:400:\n");
	AUTO_STR path = tree_path("out/etc/group");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_false(on_top("usr")); /* the same in both: nothing to do */
}

static void one_layer_over_another_needs_nothing(void **state)
{
	(void)state;
	need_root();
	tree_file("base/etc/motd", "base", 0644);
	tree_file("a/etc/motd", "a", 0644);
	sides[2] = sides[3]; /* base, a, c: c was built on a */
	tree_file("c/etc/motd", "c", 0644);
	merge(3);
	assert_false(on_top("etc"));
}

static void who_only_touched_a_file_does_not_win(void **state)
{
	(void)state;
	need_root();
	struct stat st;
	tree_file("base/etc/motd", "base", 0644);
	tree_folder("base/srv", 0755);
	tree_file("a/etc/motd", "a", 0600);
	tree_folder("a/srv", 0700);
	tree_file("b/etc/motd", "base", 0644); /* copied up, not changed */
	tree_folder("b/srv", 0755);
	merge(3);
	AUTO_STR text = tree_read("out/etc/motd");
	assert_string_equal(text, "a");
	AUTO_STR motd = tree_path("out/etc/motd");
	AUTO_STR srv = tree_path("out/srv");
	assert_int_equal(stat(motd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(srv, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void a_deletion_counts_as_a_change(void **state)
{
	(void)state;
	need_root();
	struct stat st;
	tree_file("base/etc/motd", "base", 0644);
	tree_folder("a/etc", 0755);
	tree_whiteout("a/etc/motd");
	tree_file("b/etc/motd", "base", 0644);
	merge(3);
	AUTO_STR motd = tree_path("out/etc/motd");
	assert_int_equal(lstat(motd, &st), 0);
	assert_true(S_ISCHR(st.st_mode) && st.st_rdev == 0);
}

static void the_loaders_cache_is_made_anew(void **state)
{
	(void)state;
	need_root();
	tree_file("base/etc/ld.so.cache", "0", 0644);
	tree_file("a/etc/ld.so.cache", "1", 0644);
	tree_file("b/etc/ld.so.cache", "2", 0644);
	assert_true(merge(3));
}

static void two_changes_to_one_file_are_refused(void **state)
{
	(void)state;
	need_root();
	tree_file("base/etc/motd", "base", 0644);
	tree_file("a/etc/motd", "a", 0644);
	tree_file("b/etc/motd", "b", 0644);
	refuse(3, "components a and b", "/etc/motd");
}

static void two_links_that_differ_are_refused(void **state)
{
	(void)state;
	need_root();
	tree_folder("a/etc/alternatives", 0755);
	tree_folder("b/etc/alternatives", 0755);
	tree_link("a/etc/alternatives/editor", "/bin/ed");
	tree_link("b/etc/alternatives/editor", "/bin/vi");
	refuse(3, "components a and b", "/etc/alternatives/editor");
}

static void the_same_number_for_two_users_is_refused(void **state)
{
	(void)state;
	need_root();
	tree_file("base/etc/passwd", "root:x:0:0::/:/bin/sh\n", 0644);
	tree_file("a/etc/passwd", "root:x:0:0::/:/bin/sh\nalice:x:300:300::/:/x\n", 0644);
	tree_file("b/etc/passwd", "root:x:0:0::/:/bin/sh\nbob:x:300:300::/:/x\n", 0644);
	refuse(3, "components a and b", "alice and to bob");
}

static void a_folder_that_one_replaced_and_another_uses_is_refused(void **state)
{
	(void)state;
	need_root();
	tree_file("base/opt/x/file", "base", 0644);
	tree_file("a/opt/x/new", "a", 0644);
	tree_opaque("a/opt/x");
	tree_file("b/opt/x/more", "b", 0644);
	refuse(3, "components a and b", "/opt/x");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(everybodys_changes_are_shown),
		T(one_layer_over_another_needs_nothing),
		T(who_only_touched_a_file_does_not_win),
		T(a_deletion_counts_as_a_change),
		T(the_loaders_cache_is_made_anew),
		T(two_changes_to_one_file_are_refused),
		T(two_links_that_differ_are_refused),
		T(the_same_number_for_two_users_is_refused),
		T(a_folder_that_one_replaced_and_another_uses_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

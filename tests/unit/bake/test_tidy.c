/* SPDX-License-Identifier: MIT */
/* No secret, identity, log or cache stays in a layer; nothing else is touched. */
#include "tree.h"

#include "bake/tidy.h"
#include "image/pack.h"

static void tidy(size_t below_count, const char *const *below)
{
	struct err e = { 0 };
	struct view v = { below, below_count };
	AUTO_STR fs = tree_path("fs");
	if (tidy_layer(fs, &v, TREE_EPOCH, &e) < 0)
		fail_msg("%s", e.msg);
}

static bool is_there(const char *rel)
{
	AUTO_STR at = tree_path(rel);
	struct stat st;
	return lstat(at, &st) == 0;
}

static void what_an_image_must_not_hold_goes(void **state)
{
	(void)state;
	static const char *const gone[] = {
		"fs/etc/ssh/ssh_host_ed25519_key",
		"fs/etc/ssh/ssh_host_rsa_key.pub",
		"fs/var/cache/apt/pkgcache.bin",
		"fs/var/lib/apt/lists/mirror_Packages",
		"fs/var/log/dpkg.log",
		"fs/var/log/apt/history.log",
		"fs/etc/passwd-",
		"fs/etc/shadow-",
		"fs/etc/.pwd.lock",
		"fs/var/lib/dpkg/status-old",
		"fs/var/cache/debconf/config.dat-old",
		"fs/root/.ssh/id_ed25519",
		"fs/root/.bash_history",
		"fs/var/lib/dbus/machine-id",
		"fs/tmp/x",
		"fs/run/y/z",
		"fs/usr/sbin/policy-rc.d",
		"fs/usr/local/sbin/adduser",
		"fs/etc/resolv.conf",
		"fs/var/cache/ldconfig/aux-cache",
	};
	static const char *const kept[] = {
		"fs/etc/ssh/sshd_config",
		"fs/etc/passwd",
		"fs/etc/shadow",
		"fs/var/lib/dpkg/status",
		"fs/var/lib/dpkg/info/x.list",
		"fs/usr/bin/x",
		"fs/root/.profile",
		"fs/etc/logrotate.d/dpkg.log",
		"fs/opt/tmp/x",
		"fs/var/cache/debconf/config.dat",
	};
	for (size_t i = 0; i < COUNT_OF(gone); i++)
		tree_file(gone[i], "secret", 0600);
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		tree_file(kept[i], "text", 0600);
	/* As systemd writes it; who is not root could not empty that. */
	tree_file("fs/etc/machine-id", "0123456789abcdef\n", geteuid() == 0 ? 0444 : 0644);
	tidy(0, NULL);
	for (size_t i = 0; i < COUNT_OF(gone); i++)
		if (is_there(gone[i]))
			fail_msg("%s is still there", gone[i]);
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		if (!is_there(kept[i]))
			fail_msg("%s is gone", kept[i]);
	AUTO_STR id = tree_read("fs/etc/machine-id");
	assert_string_equal(id, "");
	assert_true(is_there("fs/tmp") && is_there("fs/run"));
}

static void no_time_is_later_than_the_epoch(void **state)
{
	(void)state;
	struct stat st;
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	tree_file("fs/etc/new", "text", 0644);
	tree_file("fs/etc/old", "text", 0644);
	tree_file("fs/etc/ssh/ssh_host_key", "text", 0644); /* its removal changes the folder's time */
	tree_link("fs/etc/link", "/nowhere");
	AUTO_STR path = tree_path("fs/etc/old");
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	tidy(0, NULL);
	static const char *const names[] = { "fs", "fs/etc", "fs/etc/new", "fs/etc/link", "fs/etc/ssh" };
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		AUTO_STR at = tree_path(names[i]);
		assert_int_equal(lstat(at, &st), 0);
		assert_int_equal(st.st_mtim.tv_sec, TREE_EPOCH);
		assert_int_equal(st.st_mtim.tv_nsec, 0);
	}
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1000);
}

static void a_folder_is_opaque_only_when_it_hides_one(void **state)
{
	(void)state;
	need_root();
	AUTO_STR below = tree_path("below");
	const char *dirs[] = { below };
	tree_folder("below/opt/real", 0755);
	tree_file("below/opt/file", "a file", 0644);
	tree_folder("fs/opt/real", 0755);
	tree_folder("fs/opt/fresh", 0755);
	tree_folder("fs/opt/file", 0755);
	tree_opaque("fs/opt/real");
	tree_opaque("fs/opt/fresh");
	tree_opaque("fs/opt/file");
	tidy(1, dirs);
	AUTO_STR real = tree_path("fs/opt/real");
	AUTO_STR fresh = tree_path("fs/opt/fresh");
	AUTO_STR file = tree_path("fs/opt/file");
	assert_true(pack_is_opaque(real));
	assert_false(pack_is_opaque(fresh));
	assert_false(pack_is_opaque(file));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_an_image_must_not_hold_goes, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(no_time_is_later_than_the_epoch, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(a_folder_is_opaque_only_when_it_hides_one, tree_setup, tree_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

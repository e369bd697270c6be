/* SPDX-License-Identifier: MIT */
/* A layer from anywhere as a folder: what was packed comes back, and nothing gets out. */
#include "tree.h"

#include <archive.h>
#include <archive_entry.h>

#include "image/pack.h"
#include "image/unpack.h"

static void pack_to(const char *tree, const char *file, struct pack_result *ret)
{
	struct err e = { 0 };
	AUTO_STR dir = tree_path(tree);
	AUTO_STR out = tree_path(file);
	AUTO_FD fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	if (pack_tree(dir, TREE_EPOCH, fd, out, ret, &e) < 0)
		fail_msg("%s", e.msg);
}

static int unpack_to(const char *file, const char *tree, struct pack_result *ret, struct err *e)
{
	AUTO_STR blob = tree_path(file);
	AUTO_STR dir = tree_path(tree);
	tree_folder(tree, 0755);
	return unpack_layer(blob, dir, ret, e);
}

static void what_was_packed_comes_back(void **state)
{
	(void)state;
	need_root();
	struct pack_result a, b, again;
	struct stat st, other;
	tree_folder("t/etc/new", 0755);
	tree_file("t/bin/su", "program", 04755);
	tree_hard_link("t/bin/sudo", "t/bin/su");
	tree_link("t/lib", "usr/lib");
	tree_file("t/etc/F\xc5\x91tan\xc3\xbas.crt", "utf8", 0640);
	tree_whiteout("t/etc/gone");
	tree_opaque("t/etc/new");
	AUTO_STR owned = tree_path("t/bin/su");
	assert_int_equal(lchown(owned, 12, 34), 0);
	assert_int_equal(chmod(owned, 04755), 0);
	pack_to("t", "t.tgz", &a);
	assert_int_equal(unpack_to("t.tgz", "u", &b, NULL), 0);
	assert_string_equal(a.digest, b.digest);
	assert_string_equal(a.diff_id, b.diff_id);
	assert_int_equal(a.uncompressed_bytes, b.uncompressed_bytes);
	pack_to("u", "u.tgz", &again); /* modes, owners, times, links and marks: all as they were */
	assert_string_equal(a.diff_id, again.diff_id);

	AUTO_STR su = tree_path("u/bin/su");
	AUTO_STR sudo = tree_path("u/bin/sudo");
	assert_int_equal(stat(su, &st), 0);
	assert_int_equal(stat(sudo, &other), 0);
	assert_int_equal(st.st_ino, other.st_ino);
	assert_int_equal(st.st_uid, 12);
	assert_int_equal(st.st_mode & 07777, 04755);
}

static void a_damaged_blob_is_told(void **state)
{
	(void)state;
	need_root();
	struct pack_result r;
	struct err e = { 0 };
	struct stat st;
	tree_file("t/file", "some text that is worth packing, some text that is worth packing", 0644);
	pack_to("t", "t.tgz", &r);
	AUTO_STR blob = tree_path("t.tgz");
	assert_int_equal(stat(blob, &st), 0);
	assert_int_equal(truncate(blob, st.st_size / 2), 0);
	assert_true(unpack_to("t.tgz", "u", &r, &e) < 0);
	assert_int_equal(e.space, ERR_INPUT);
	assert_non_null(strstr(e.msg, "t.tgz"));
	assert_non_null(strstr(e.msg, "cut off"));
	tree_file("z.tzst", "\x28\xb5\x2f\xfd and so on", 0644);
	assert_true(unpack_to("z.tzst", "v", &r, &e) < 0);
	assert_int_equal(e.space, ERR_INPUT);
	assert_non_null(strstr(e.msg, "zstd"));
}

static void add_entry(struct archive *a, const char *name, const char *symlink_to, const char *text)
{
	struct archive_entry *entry = archive_entry_new();
	archive_entry_set_pathname(entry, name);
	archive_entry_set_perm(entry, 0644);
	if (symlink_to) {
		archive_entry_set_filetype(entry, AE_IFLNK);
		archive_entry_set_symlink(entry, symlink_to);
	} else {
		archive_entry_set_filetype(entry, AE_IFREG);
		archive_entry_set_size(entry, (la_int64_t)strlen(text));
	}
	assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
	if (text)
		assert_int_equal(archive_write_data(a, text, strlen(text)), strlen(text));
	archive_entry_free(entry);
}

static void nothing_gets_out_of_the_folder(void **state)
{
	(void)state;
	need_root();
	struct pack_result r;
	AUTO_STR file = tree_path("evil.tar");
	AUTO_STR outside = tree_path("outside");
	AUTO_STR absolute = str_printf("%s/outside/absolute", tree_dir);
	tree_folder("outside", 0755);
	struct archive *a = archive_write_new();
	archive_write_set_format_pax_restricted(a);
	assert_int_equal(archive_write_open_filename(a, file), ARCHIVE_OK);
	add_entry(a, "way", outside, NULL);
	add_entry(a, "way/through-a-link", NULL, "x");
	add_entry(a, absolute, NULL, "x");
	add_entry(a, "way/.wh.gone", NULL, "");
	archive_write_free(a);
	unpack_to("evil.tar", "u", &r, NULL); /* whether it is refused or kept inside does not matter */
	bool any = false;
	static const char *const names[] = { "outside/through-a-link", "outside/absolute", "outside/gone" };
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		AUTO_STR path = tree_path(names[i]);
		any = any || fdio_exists(AT_FDCWD, path);
	}
	assert_false(any);

	a = archive_write_new();
	archive_write_set_format_pax_restricted(a);
	assert_int_equal(archive_write_open_filename(a, file), ARCHIVE_OK);
	add_entry(a, "../outside/dots", NULL, "x");
	archive_write_free(a);
	unpack_to("evil.tar", "v", &r, NULL);
	AUTO_STR dots = tree_path("outside/dots");
	assert_false(fdio_exists(AT_FDCWD, dots));
}

/* overlayfs takes some attributes as orders: those of a layer from elsewhere are dropped, a file's rights are kept. */
static void only_known_attributes_come_in(void **state)
{
	(void)state;
	need_root();
	static const char redirect[] = "/etc", kept[] = "text";
	struct pack_result r;
	char value[16];
	AUTO_STR file = tree_path("x.tar");
	struct archive *a = archive_write_new();
	archive_write_set_format_pax_restricted(a);
	assert_int_equal(archive_write_open_filename(a, file), ARCHIVE_OK);
	struct archive_entry *entry = archive_entry_new();
	archive_entry_set_pathname(entry, "folder");
	archive_entry_set_filetype(entry, AE_IFDIR);
	archive_entry_set_perm(entry, 0755);
	archive_entry_xattr_add_entry(entry, "trusted.overlay.redirect", redirect, strlen(redirect));
	archive_entry_xattr_add_entry(entry, "user.kept", kept, strlen(kept));
	assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
	archive_entry_free(entry);
	archive_write_free(a);
	assert_int_equal(unpack_to("x.tar", "u", &r, NULL), 0);
	AUTO_STR folder = tree_path("u/folder");
	assert_int_equal(lgetxattr(folder, "trusted.overlay.redirect", value, sizeof(value)), -1);
	assert_int_equal(errno, ENODATA);
	ssize_t n = lgetxattr(folder, "user.kept", value, sizeof(value));
	if (n < 0 && errno == ENOTSUP)
		skip(); /* tmpfs before Linux 6.6 */
	assert_int_equal(n, strlen(kept));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_packed_comes_back, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(a_damaged_blob_is_told, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(nothing_gets_out_of_the_folder, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(only_known_attributes_come_in, tree_setup, tree_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

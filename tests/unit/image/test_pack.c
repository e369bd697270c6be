/* SPDX-License-Identifier: MIT */
/* A layer's tar: the same bytes for the same tree, and everything in it that an image needs. */
#include "tree.h"

#include <archive.h>
#include <archive_entry.h>

#include "base/digest.h"
#include "image/pack.h"

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

static void make_tree(const char *root, const char *const *order)
{
	for (; *order; order++) {
		AUTO_STR path = str_printf("%s/%s", root, *order);
		tree_file(path, *order, 0644);
	}
}

/* Entries as "name type size link", one per line, read back by libarchive. */
static char *listing(const char *file)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	AUTO_STR path = tree_path(file);
	AUTO_BUF out;
	buf_init(&out, 1 << 20);
	buf_str(&out, "");
	archive_read_support_filter_gzip(a);
	archive_read_support_format_tar(a);
	assert_int_equal(archive_read_open_filename(a, path, 4096), ARCHIVE_OK);
	/* a name that the C locale cannot spell is only a warning */
	for (int rc; (rc = archive_read_next_header(a, &entry)) == ARCHIVE_OK || rc == ARCHIVE_WARN;) {
		const char *name = archive_entry_pathname(entry);
		const char *link = archive_entry_hardlink(entry);
		const char *target = archive_entry_symlink(entry);
		const char *owner = archive_entry_uname(entry);
		assert_true(!owner || !*owner); /* numbers only */
		assert_true(archive_entry_mtime(entry) <= TREE_EPOCH);
		buf_printf(&out, "%s %c %lld%s%s\n", name ? name : "?",
			   link                                 ? 'h'
			   : target                             ? 'l'
			   : S_ISDIR(archive_entry_mode(entry)) ? 'd'
								: 'f',
			   (long long)archive_entry_size(entry), link || target ? " " : "",
			   link     ? link
			   : target ? target
				    : "");
	}
	archive_read_free(a);
	return buf_steal(&out);
}

static void the_same_tree_gives_the_same_bytes(void **state)
{
	(void)state;
	static const char *const one[] = { "usr/a", "usr/b", "etc/z", "etc/A", NULL };
	static const char *const other[] = { "etc/A", "etc/z", "usr/b", "usr/a", NULL };
	struct pack_result a, b;
	make_tree("one", one);
	make_tree("other", other); /* made in another order, at other times, with other inodes */
	pack_to("one", "one.tgz", &a);
	pack_to("other", "other.tgz", &b);
	assert_string_equal(a.digest, b.digest);
	assert_string_equal(a.diff_id, b.diff_id);

	char digest[DIGEST_HEX_BYTES];
	struct stat st;
	AUTO_STR file = tree_path("one.tgz");
	assert_int_equal(digest_of_file(AT_FDCWD, file, digest, NULL), 0);
	assert_string_equal(digest, a.digest);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_size, a.bytes);

	tree_file("other/usr/b", "changed", 0644);
	pack_to("other", "other.tgz", &b);
	assert_string_not_equal(a.diff_id, b.diff_id);
}

static void times_are_no_later_than_the_epoch(void **state)
{
	(void)state;
	struct pack_result a, b;
	struct timespec old[2] = { { .tv_sec = 5 }, { .tv_sec = 5, .tv_nsec = 999 } };
	tree_file("t/file", "x", 0644);
	pack_to("t", "a.tgz", &a);
	AUTO_STR file = tree_path("t/file");
	struct timespec later[2] = { { .tv_sec = TREE_EPOCH + 9 }, { .tv_sec = TREE_EPOCH + 9 } };
	assert_int_equal(utimensat(AT_FDCWD, file, later, 0), 0);
	pack_to("t", "b.tgz", &b);
	assert_string_equal(a.diff_id, b.diff_id);
	assert_int_equal(utimensat(AT_FDCWD, file, old, 0), 0);
	pack_to("t", "b.tgz", &b);
	assert_string_not_equal(a.diff_id, b.diff_id); /* an older time is kept */
}

static void links_and_names_survive(void **state)
{
	(void)state;
	struct pack_result r;
	tree_file("t/bin/perl", "program", 0755);
	tree_hard_link("t/bin/perl5", "t/bin/perl");
	tree_link("t/lib", "usr/lib");
	tree_file("t/etc/F\xc5\x91tan\xc3\xbas.crt", "utf8", 0644);
	tree_file("t/etc/bad-\xff-name", "latin", 0644);
	pack_to("t", "t.tgz", &r);
	AUTO_STR list = tree_path("t.tgz");
	AUTO_STR tar = str_printf("tar -tzf %s --quoting-style=literal >%s.list", list, list);
	assert_int_equal(system(tar), 0);
	AUTO_STR names = tree_read("t.tgz.list");
	assert_non_null(strstr(names, "etc/F\xc5\x91tan\xc3\xbas.crt\n"));
	assert_non_null(strstr(names, "etc/bad-\xff-name\n"));
	AUTO_STR entries = listing("t.tgz");
	assert_non_null(strstr(entries, "bin/perl f 7\n"));
	assert_non_null(strstr(entries, "bin/perl5 h 0 bin/perl\n"));
	assert_non_null(strstr(entries, "lib l 0 usr/lib\n"));
}

static void deletions_become_whiteouts(void **state)
{
	(void)state;
	need_root();
	struct pack_result r;
	tree_folder("t/etc/new", 0755);
	tree_whiteout("t/etc/gone");
	tree_opaque("t/etc/new");
	tree_file("t/etc/new/only", "x", 0644);
	pack_to("t", "t.tgz", &r);
	AUTO_STR entries = listing("t.tgz");
	assert_string_equal(entries,
			    "etc/ d 0\netc/.wh.gone f 0\netc/new/ d 0\netc/new/.wh..wh..opq f 0\netc/new/only f 1\n");
}

static void capabilities_are_kept_and_other_attributes_are_not(void **state)
{
	(void)state;
	need_root();
	/* cap_net_raw=ep, as setcap writes it (VFS_CAP_REVISION_2 | effective) */
	static const unsigned char capability[20] = { 1, 0, 0, 2, 0, 0x20 };
	struct pack_result r;
	struct archive_entry *entry;
	const char *name;
	const void *value;
	size_t n;
	tree_file("t/ping", "x", 0755);
	AUTO_STR file = tree_path("t/ping");
	assert_int_equal(setxattr(file, "security.capability", capability, sizeof(capability), 0), 0);
	assert_int_equal(setxattr(file, "trusted.overlay.origin", "x", 1, 0), 0);
	pack_to("t", "t.tgz", &r);

	AUTO_STR tgz = tree_path("t.tgz");
	struct archive *a = archive_read_new();
	archive_read_support_filter_gzip(a);
	archive_read_support_format_tar(a);
	assert_int_equal(archive_read_open_filename(a, tgz, 4096), ARCHIVE_OK);
	assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
	assert_int_equal(archive_entry_xattr_reset(entry), 1);
	assert_int_equal(archive_entry_xattr_next(entry, &name, &value, &n), ARCHIVE_OK);
	assert_string_equal(name, "security.capability");
	assert_int_equal(n, sizeof(capability));
	assert_memory_equal(value, capability, n);
	archive_read_free(a);
}

static void a_name_that_means_a_deletion_is_refused(void **state)
{
	(void)state;
	struct pack_result r;
	struct err e = { 0 };
	tree_file("t/.wh.file", "x", 0644);
	AUTO_STR dir = tree_path("t");
	AUTO_FD fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pack_tree(dir, TREE_EPOCH, fd, "out", &r, &e), -EINVAL);
	assert_non_null(strstr(e.msg, ".wh.file"));
}

static void a_full_disk_is_told(void **state)
{
	(void)state;
	struct pack_result r;
	struct err e = { 0 };
	tree_file("t/file", "x", 0644);
	AUTO_STR dir = tree_path("t");
	AUTO_FD fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pack_tree(dir, TREE_EPOCH, fd, "the-output", &r, &e), -ENOSPC);
	assert_non_null(strstr(e.msg, "the-output"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_same_tree_gives_the_same_bytes, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(times_are_no_later_than_the_epoch, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(links_and_names_survive, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(deletions_become_whiteouts, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(capabilities_are_kept_and_other_attributes_are_not, tree_setup,
						tree_teardown),
		cmocka_unit_test_setup_teardown(a_name_that_means_a_deletion_is_refused, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(a_full_disk_is_told, tree_setup, tree_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

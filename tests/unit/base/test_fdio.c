/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/own.h"
#include "scratch.h"

/* Mounts that only this process sees, so that none is left however the test ends. */
static bool own_mounts(void)
{
	return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static unsigned names_in(const char *path)
{
	unsigned n = 0;
	AUTO_DIR dir = opendir(path);
	assert_non_null(dir);
	for (struct dirent *d; (d = readdir(dir));)
		n += d->d_name[0] != '.' || (d->d_name[1] && d->d_name[1] != '.');
	return n;
}

static void has_text(const char *path, const char *want)
{
	AUTO_STR text = NULL;
	size_t len = 99;
	assert_int_equal(fdio_read_file(AT_FDCWD, path, 1000, &text, &len, NULL), 0);
	assert_string_equal(text, want);
	assert_int_equal(len, strlen(want));
}

static void test_read_whole_with_a_cap(void **state)
{
	(void)state;
	struct err e = { 0 };
	char *text = (char *)"untouched";
	put_file("f", "12345");
	has_text(in_scratch("f"), "12345");
	assert_int_equal(fdio_read_file(AT_FDCWD, in_scratch("f"), 4, &text, NULL, &e), -EFBIG);
	assert_non_null(strstr(e.msg, in_scratch("f")));
	assert_int_equal(fdio_read_file(AT_FDCWD, in_scratch("none"), 4, &text, NULL, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "No such file"));
	assert_int_equal(fdio_read_file(AT_FDCWD, scratch, 4, &text, NULL, &e), -EISDIR);
	assert_string_equal(text, "untouched");
	AUTO_STR proc = NULL; /* a file whose size reads as 0 */
	size_t len = 0;
	assert_int_equal(fdio_read_file(AT_FDCWD, "/proc/self/status", 1 << 20, &proc, &len, NULL), 0);
	assert_true(len > 100);
	AUTO_FD dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_STR relative = NULL;
	assert_int_equal(fdio_read_file(dir, "f", 5, &relative, NULL, NULL), 0);
	assert_string_equal(relative, "12345");
}

static void test_write_replaces_and_leaves_nothing_beside(void **state)
{
	(void)state;
	struct stat st;
	const char *path = in_scratch("f");
	assert_int_equal(fdio_write_file(AT_FDCWD, path, "one", 3, 0640, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(fdio_write_file(AT_FDCWD, path, "two!", 4, 0600, NULL), 0);
	has_text(path, "two!");
	AUTO_FD dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fdio_write_file(dir, "f", "three", 5, 0600, NULL), 0);
	has_text(path, "three");
	assert_int_equal(names_in(scratch), 1);
}

static void test_write_that_fails_leaves_the_old(void **state)
{
	(void)state;
	struct err e = { 0 };
	assert_int_equal(fdio_write_file(AT_FDCWD, in_scratch("none/f"), "x", 1, 0600, &e), -ENOENT);
	assert_non_null(strstr(e.msg, in_scratch("none/f")));
	put_folder("d");
	put_file("d/inside", "kept");
	assert_true(fdio_write_file(AT_FDCWD, in_scratch("d"), "x", 1, 0600, &e) < 0); /* the rename fails */
	has_text(in_scratch("d/inside"), "kept");
	assert_int_equal(names_in(scratch), 1);
}

static void test_write_on_a_full_disk(void **state)
{
	(void)state;
	if (!own_mounts())
		skip();
	put_folder("small");
	assert_int_equal(mount("none", in_scratch("small"), "tmpfs", 0, "size=64k"), 0);
	put_file("small/f", "old");
	static char big[200000];
	struct err e = { 0 };
	assert_int_equal(fdio_write_file(AT_FDCWD, in_scratch("small/f"), big, sizeof(big), 0600, &e), -ENOSPC);
	assert_non_null(strstr(e.msg, "No space left on device"));
	assert_non_null(strstr(e.msg, in_scratch("small/f")));
	has_text(in_scratch("small/f"), "old");
	assert_int_equal(names_in(in_scratch("small")), 1);
	assert_int_equal(umount(in_scratch("small")), 0);
}

static void test_write_all_tells_what(void **state)
{
	(void)state;
	AUTO_FD full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct err e = { 0 };
	assert_int_equal(fdio_write_all(full, "x", 1, "the report", &e), -ENOSPC);
	assert_string_equal(e.msg, "cannot write 'the report': No space left on device");
	assert_int_equal(fdio_write_all(full, "", 0, "nothing", &e), 0);
}

static void test_mkdir_p(void **state)
{
	(void)state;
	struct err e = { 0 };
	assert_int_equal(fdio_mkdir_p(in_scratch("a/b//c/"), 0755, &e), 0);
	assert_true(fdio_exists(AT_FDCWD, in_scratch("a/b/c")));
	assert_int_equal(fdio_mkdir_p(in_scratch("a/b/c"), 0755, &e), 0);
	assert_int_equal(fdio_mkdir_p("/", 0755, &e), 0);
	assert_int_equal(fdio_mkdir_p("/proc", 0755, &e), 0);
	put_file("f", "");
	assert_int_equal(fdio_mkdir_p(in_scratch("f/x"), 0755, &e), -ENOTDIR);
	assert_non_null(strstr(e.msg, in_scratch("f")));
	assert_int_equal(symlink("a", in_scratch("l")), 0);
	assert_int_equal(fdio_mkdir_p(in_scratch("l/d"), 0755, &e), 0);
	assert_true(fdio_exists(AT_FDCWD, in_scratch("a/d")));
}

static void test_join(void **state)
{
	(void)state;
	static const char *const rows[][3] = { { "/a", "b", "/a/b" }, { "/a/", "/b", "/a/b" },   { "/", "b", "/b" },
					       { "", "b", "b" },      { "a//", "b/c", "a/b/c" }, { "//", "b", "/b" } };
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_STR path = fdio_join(rows[i][0], rows[i][1]);
		assert_string_equal(path, rows[i][2]);
	}
}

static void test_remove_takes_the_tree_and_not_what_links_name(void **state)
{
	(void)state;
	put_folder("keep");
	put_file("keep/f", "kept");
	put_folder("t/sub/deep");
	put_file("t/sub/deep/f", "");
	assert_int_equal(symlink("../keep", in_scratch("t/to-keep")), 0);
	assert_int_equal(symlink(in_scratch("keep"), in_scratch("t/sub/also")), 0);
	chmod(in_scratch("t/sub/deep"), 0);
	assert_int_equal(fdio_remove_tree(in_scratch("t/"), NULL), 0);
	assert_false(fdio_exists(AT_FDCWD, in_scratch("t")));
	has_text(in_scratch("keep/f"), "kept");

	assert_int_equal(symlink("keep", in_scratch("link")), 0);
	assert_int_equal(fdio_remove_tree(in_scratch("link"), NULL), 0); /* the link, not the folder */
	has_text(in_scratch("keep/f"), "kept");
	assert_int_equal(fdio_remove_tree(in_scratch("keep/f"), NULL), 0);
	assert_int_equal(fdio_remove_tree(in_scratch("never/was"), NULL), 0);
	struct err e = { 0 };
	assert_int_equal(fdio_remove_tree("/", &e), -EINVAL);
	assert_int_equal(fdio_remove_tree("..", &e), -EINVAL);
	assert_int_equal(fdio_remove_tree(in_scratch("keep/.."), &e), -EINVAL);
	assert_int_equal(fdio_remove_tree("", &e), -EINVAL);
	assert_true(fdio_exists(AT_FDCWD, in_scratch("keep")));
}

/* Without root's rights: folders that their owner closed are opened to be emptied. */
static void test_remove_opens_closed_folders(void **state)
{
	(void)state;
	put_folder("t/closed/in");
	put_file("t/closed/in/f", "");
	if (geteuid() == 0) {
		assert_int_equal(chown(scratch, 65534, 65534), 0);
		assert_int_equal(chown(in_scratch("t"), 65534, 65534), 0);
		assert_int_equal(chown(in_scratch("t/closed"), 65534, 65534), 0);
		assert_int_equal(chown(in_scratch("t/closed/in"), 65534, 65534), 0);
	}
	chmod(in_scratch("t/closed/in"), 0500);
	chmod(in_scratch("t/closed"), 0);
	uid_t kept = geteuid();
	if (kept == 0)
		assert_int_equal(seteuid(65534), 0);
	struct err e = { 0 };
	int rc = fdio_remove_tree(in_scratch("t"), &e);
	if (kept == 0)
		assert_int_equal(seteuid(0), 0);
	if (rc < 0)
		fail_msg("%s", e.msg);
	assert_false(fdio_exists(AT_FDCWD, in_scratch("t")));
}

static void remove_stops_at_mount(const char *mounted, const char *from)
{
	struct err e = { 0 };
	assert_int_equal(fdio_remove_tree(in_scratch(from), &e), -EBUSY);
	assert_non_null(strstr(e.msg, in_scratch(mounted)));
	assert_non_null(strstr(e.msg, "unmount"));
}

static void test_remove_does_not_cross_mounts(void **state)
{
	(void)state;
	if (!own_mounts())
		skip();
	put_folder("t/m");
	put_folder("other");
	put_file("other/f", "kept");
	assert_int_equal(mount("none", in_scratch("t/m"), "tmpfs", 0, NULL), 0);
	put_file("t/m/f", "kept");
	remove_stops_at_mount("t/m", "t");
	remove_stops_at_mount("t/m", "t/m"); /* also when the mount is what was named */
	has_text(in_scratch("t/m/f"), "kept");
	assert_int_equal(umount(in_scratch("t/m")), 0);
	/* the same device, which only the mount id tells */
	assert_int_equal(mount(in_scratch("other"), in_scratch("t/m"), NULL, MS_BIND, NULL), 0);
	remove_stops_at_mount("t/m", "t");
	has_text(in_scratch("other/f"), "kept");
	assert_int_equal(umount(in_scratch("t/m")), 0);
	assert_int_equal(fdio_remove_tree(in_scratch("t"), NULL), 0);
}

static void test_copy_keeps_everything(void **state)
{
	(void)state;
	struct stat a, b;
	put_folder("s/sub");
	put_file("s/f", "text");
	put_file("s/sub/empty", "");
	assert_int_equal(link(in_scratch("s/f"), in_scratch("s/sub/f2")), 0);
	assert_int_equal(symlink("/nowhere", in_scratch("s/l")), 0);
	assert_int_equal(mkfifo(in_scratch("s/pipe"), 0600), 0);
	bool tagged = setxattr(in_scratch("s/f"), "user.tag", "v", 1, 0) == 0;
	chmod(in_scratch("s/f"), 04711);
	AUTO_FD fd = open(in_scratch("s/holes"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(pwrite(fd, "end", 3, 8 << 20), 3);
	assert_int_equal(ftruncate(fd, 9 << 20), 0);
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 2000, .tv_nsec = 5 } };
	if (geteuid() == 0)
		assert_int_equal(lchown(in_scratch("s/l"), 12, 34), 0);
	utimensat(AT_FDCWD, in_scratch("s/f"), old, 0);
	utimensat(AT_FDCWD, in_scratch("s/l"), old, AT_SYMLINK_NOFOLLOW);
	chmod(in_scratch("s/sub"), 0500);
	utimensat(AT_FDCWD, in_scratch("s/sub"), old, 0);

	struct err e = { 0 };
	if (fdio_copy_tree(in_scratch("s"), in_scratch("d"), &e) < 0)
		fail_msg("%s", e.msg);
	static const char *const names[] = { "f", "sub", "sub/empty", "sub/f2", "l", "pipe", "holes" };
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		char from[64], to[64];
		snprintf(from, sizeof(from), "s/%s", names[i]);
		snprintf(to, sizeof(to), "d/%s", names[i]);
		assert_int_equal(lstat(in_scratch(from), &a), 0);
		assert_int_equal(lstat(in_scratch(to), &b), 0);
		assert_int_equal(a.st_mode, b.st_mode);
		assert_int_equal(a.st_uid, b.st_uid);
		assert_int_equal(a.st_gid, b.st_gid);
		assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
		assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
		assert_int_equal(a.st_nlink, b.st_nlink);
		if (!S_ISDIR(a.st_mode))
			assert_int_equal(a.st_size, b.st_size);
	}
	has_text(in_scratch("d/sub/f2"), "text");
	AUTO_FD copy = open(in_scratch("d/holes"), O_RDONLY | O_CLOEXEC);
	char end[4] = "";
	assert_int_equal(pread(copy, end, 3, 8 << 20), 3);
	assert_string_equal(end, "end");
	fstat(copy, &b);
	assert_true(b.st_blocks * 512 < 1 << 20); /* the hole is still one */
	char value[2] = "";
	if (tagged)
		assert_int_equal(getxattr(in_scratch("d/f"), "user.tag", value, 1), 1);
	uint64_t bytes = 0;
	assert_int_equal(fdio_tree_bytes(in_scratch("d"), &bytes, NULL), 0);
	assert_int_equal(bytes, (9 << 20) + 4); /* "text" has two names */
}

static void test_copy_that_fails_leaves_nothing(void **state)
{
	(void)state;
	struct err e = { 0 };
	put_folder("s");
	put_folder("there");
	assert_int_equal(fdio_copy_tree(in_scratch("s"), in_scratch("there"), &e), -EEXIST);
	assert_int_equal(fdio_copy_tree(in_scratch("none"), in_scratch("d"), &e), -ENOENT);
	assert_false(fdio_exists(AT_FDCWD, in_scratch("d")));
	if (!own_mounts())
		skip();
	put_folder("small");
	assert_int_equal(mount("none", in_scratch("small"), "tmpfs", 0, "size=64k"), 0);
	AUTO_STR big = calloc(1, 300000);
	memset(big, 'x', 299999);
	put_file("s/big", big);
	assert_int_equal(fdio_copy_tree(in_scratch("s"), in_scratch("small/d"), &e), -ENOSPC);
	assert_non_null(strstr(e.msg, "No space left"));
	assert_int_equal(names_in(in_scratch("small")), 0);
	assert_int_equal(umount(in_scratch("small")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_read_whole_with_a_cap),
		scratch_test(test_write_replaces_and_leaves_nothing_beside),
		scratch_test(test_write_that_fails_leaves_the_old),
		scratch_test(test_write_on_a_full_disk),
		cmocka_unit_test(test_write_all_tells_what),
		scratch_test(test_mkdir_p),
		cmocka_unit_test(test_join),
		scratch_test(test_remove_takes_the_tree_and_not_what_links_name),
		scratch_test(test_remove_opens_closed_folders),
		scratch_test(test_remove_does_not_cross_mounts),
		scratch_test(test_copy_keeps_everything),
		scratch_test(test_copy_that_fails_leaves_nothing),
	};
	return cmocka_run_group_tests_name("base/fdio", tests, NULL, NULL);
}

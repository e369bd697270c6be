/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "scratch.h"

/* FIPS 180-2, appendix B. */
static void test_published_vectors(void **state)
{
	(void)state;
	char hex[DIGEST_HEX_BYTES];
	digest_of("abc", 3, hex);
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	digest_of("", 0, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	AUTO(digest) d = digest_new();
	for (int i = 0; i < 1000000; i += 1000) {
		char part[1000];
		memset(part, 'a', sizeof(part));
		digest_add(d, part, sizeof(part));
	}
	digest_hex(d, hex);
	assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void fields(const char *a, const char *b, char hex[DIGEST_HEX_BYTES])
{
	AUTO(digest) d = digest_new();
	digest_add_field(d, a);
	digest_add_field(d, b);
	digest_hex(d, hex);
}

static void test_fields_do_not_run_together(void **state)
{
	(void)state;
	char one[DIGEST_HEX_BYTES], two[DIGEST_HEX_BYTES];
	fields("ab", "c", one);
	fields("a", "bc", two);
	assert_string_not_equal(one, two);
}

static void test_file_equals_its_bytes(void **state)
{
	(void)state;
	char of_file[DIGEST_HEX_BYTES], of_bytes[DIGEST_HEX_BYTES];
	put_file("f", "hello");
	assert_int_equal(digest_of_file(AT_FDCWD, in_scratch("f"), of_file, NULL), 0);
	digest_of("hello", 5, of_bytes);
	assert_string_equal(of_file, of_bytes);
	struct err e = { 0 };
	strcpy(of_file, "untouched");
	assert_int_equal(digest_of_file(AT_FDCWD, in_scratch("none"), of_file, &e), -ENOENT);
	assert_non_null(strstr(e.msg, in_scratch("none")));
	assert_string_equal(of_file, "untouched");
	assert_int_equal(digest_of_file(AT_FDCWD, scratch, of_file, &e), -EISDIR);
}

static void tree(const char *name)
{
	char path[256];
	put_folder(name);
	snprintf(path, sizeof(path), "%s/sub", name);
	put_folder(path);
	snprintf(path, sizeof(path), "%s/sub/b", name);
	put_file(path, "two");
	snprintf(path, sizeof(path), "%s/a", name);
	put_file(path, "one");
	snprintf(path, sizeof(path), "%s/l", name);
	assert_int_equal(symlink("/nowhere", in_scratch(path)), 0);
}

static void same_tree(const char *what, bool want)
{
	char one[DIGEST_HEX_BYTES], two[DIGEST_HEX_BYTES];
	assert_int_equal(digest_of_tree(in_scratch("t1"), one, NULL), 0);
	assert_int_equal(digest_of_tree(in_scratch("t2"), two, NULL), 0);
	if ((strcmp(one, two) == 0) != want)
		fail_msg("%s: %s", what, want ? "differ" : "are the same");
}

static void test_tree_tells_every_difference_but_time(void **state)
{
	(void)state;
	tree("t1");
	tree("t2");
	struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	utimensat(AT_FDCWD, in_scratch("t2/a"), old, 0);
	same_tree("times", true);
	char one[DIGEST_HEX_BYTES], slash[DIGEST_HEX_BYTES];
	digest_of_tree(in_scratch("t1"), one, NULL);
	digest_of_tree(in_scratch("t1/"), slash, NULL);
	assert_string_equal(one, slash);

	chmod(in_scratch("t2/a"), 0755);
	same_tree("mode", false);
	chmod(in_scratch("t2/a"), 0644);
	chmod(in_scratch("t1/a"), 0644);
	same_tree("mode back", true);
	put_file("t2/sub/b", "twO");
	same_tree("content", false);
	put_file("t2/sub/b", "two");
	unlink(in_scratch("t2/l"));
	assert_int_equal(symlink("/elsewhere", in_scratch("t2/l")), 0);
	same_tree("link target", false);
	unlink(in_scratch("t2/l"));
	put_file("t2/l", "/nowhere");
	same_tree("kind", false);
	unlink(in_scratch("t2/l"));
	assert_int_equal(symlink("/nowhere", in_scratch("t2/l")), 0);
	same_tree("link back", true);
	rename(in_scratch("t2/sub/b"), in_scratch("t2/b"));
	same_tree("place", false);
}

static void test_tree_that_is_not_there(void **state)
{
	(void)state;
	char hex[DIGEST_HEX_BYTES];
	struct err e = { 0 };
	assert_int_equal(digest_of_tree(in_scratch("none"), hex, &e), -ENOENT);
	assert_non_null(strstr(e.msg, in_scratch("none")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_vectors),  cmocka_unit_test(test_fields_do_not_run_together),
		scratch_test(test_file_equals_its_bytes),  scratch_test(test_tree_tells_every_difference_but_time),
		scratch_test(test_tree_that_is_not_there),
	};
	return cmocka_run_group_tests_name("base/digest", tests, NULL, NULL);
}

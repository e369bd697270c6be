/* SPDX-License-Identifier: MIT */
/* Three-way joining of files that are lists of records, by the rules that kiln ships. */
#include "tree.h"

#include "bake/merge_rules.h"

struct side {
	const char *before;
	const char *after;
};

/* Applies the sides' changes in turn; gives the text, or NULL with the clash. */
static char *join(const char *path, const struct side *sides, size_t count, char *ret_key)
{
	AUTO(merge_text) now = NULL;
	const struct merge_rule *rule = merge_rules_find(path);
	assert_non_null(rule);
	assert_int_equal(merge_text_new(rule, NULL, 0, &now, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		AUTO(merge_text) before = NULL;
		AUTO(merge_text) after = NULL;
		struct merge_clash clash;
		assert_int_equal(merge_text_new(rule, sides[i].before, i, &before, NULL), 0);
		assert_int_equal(merge_text_new(rule, sides[i].after, i, &after, NULL), 0);
		int rc = merge_text_apply(now, before, after, &clash, NULL);
		if (rc == -EEXIST) {
			snprintf(ret_key, 64, "%s/%zu", clash.key, clash.side);
			return NULL;
		}
		assert_int_equal(rc, 0);
	}
	const struct merge_record *a, *b;
	if (merge_text_same_number(now, &a, &b)) {
		snprintf(ret_key, 64, "%s=%s", a->key, b->key);
		return NULL;
	}
	return merge_text_join(now);
}

static void joins(const char *path, const struct side *sides, size_t count, const char *want)
{
	char key[64] = "";
	AUTO_STR got = join(path, sides, count, key);
	if (!got)
		fail_msg("%s: clash on %s", path, key);
	assert_string_equal(got, want);
}

static void clashes(const char *path, const struct side *sides, size_t count, const char *want)
{
	char key[64] = "";
	AUTO_STR got = join(path, sides, count, key);
	assert_null(got);
	assert_string_equal(key, want);
}

#define BASE_STATUS "Package: bash\nArchitecture: amd64\nStatus: ok\n\n"
#define A_STATUS "Package: a\nArchitecture: amd64\nVersion: 1\nDescription: x\n more\n\n"
#define B_STATUS "Package: b\nArchitecture: all\nVersion: 2\n\n"

static void packages_of_all_sides_stand_in_the_status(void **state)
{
	(void)state;
	const struct side sides[] = { { NULL, BASE_STATUS },
				      { BASE_STATUS, BASE_STATUS A_STATUS },
				      { BASE_STATUS, B_STATUS BASE_STATUS } };
	joins("var/lib/dpkg/status", sides, 3, BASE_STATUS A_STATUS B_STATUS);
}

static void the_same_package_in_two_layers_is_one(void **state)
{
	(void)state;
	const struct side sides[] = { { NULL, BASE_STATUS },
				      { BASE_STATUS, BASE_STATUS A_STATUS },
				      { BASE_STATUS, BASE_STATUS A_STATUS B_STATUS } };
	joins("var/lib/dpkg/status", sides, 3, BASE_STATUS A_STATUS B_STATUS);
}

static void another_version_of_a_package_is_a_clash(void **state)
{
	(void)state;
	const struct side sides[] = {
		{ NULL, BASE_STATUS },
		{ BASE_STATUS, BASE_STATUS "Package: a\nArchitecture: amd64\nVersion: 1\n\n" },
		{ BASE_STATUS, BASE_STATUS "Package: a\nArchitecture: amd64\nVersion: 2\n\n" },
	};
	clashes("var/lib/dpkg/status", sides, 3, "a amd64/1");
	/* The same package for two architectures is two packages. */
	const struct side arches[] = {
		{ NULL, BASE_STATUS },
		{ BASE_STATUS, BASE_STATUS "Package: a\nArchitecture: amd64\nVersion: 1\n\n" },
		{ BASE_STATUS, BASE_STATUS "Package: a\nArchitecture: arm64\nVersion: 2\n\n" },
	};
	AUTO_STR both = join("var/lib/dpkg/status", arches, 3, NULL);
	assert_non_null(both);
}

static void a_later_change_to_what_one_needed_wins(void **state)
{
	(void)state;
	/* the third was built on the second, which it changes; the fourth knows only the base */
	const struct side sides[] = {
		{ NULL, "root:x:0:\n" },
		{ "root:x:0:\n", "root:x:0:\nrdma:x:300:\n" },
		{ "root:x:0:\nrdma:x:300:\n", "root:x:0:\nrdma:x:300:kiln\n" },
		{ "root:x:0:\n", "root:x:0:\nssh:x:400:\n" },
	};
	joins("etc/group", sides, 4, "root:x:0:\nrdma:x:300:kiln\nssh:x:400:\n");
}

static void members_of_a_group_are_united(void **state)
{
	(void)state;
	const struct side sides[] = { { NULL, "video:x:44:\n" },
				      { "video:x:44:\n", "video:x:44:a,b\n" },
				      { "video:x:44:\n", "video:x:44:b,c\n" } };
	joins("etc/group", sides, 3, "video:x:44:a,b,c\n");
	joins("etc/gshadow", sides, 3, "video:x:44:a,b,c\n");
}

static void a_number_belongs_to_one_name(void **state)
{
	(void)state;
	const struct side sides[] = { { NULL, "root:x:0:0::/root:/bin/sh\n" },
				      { "root:x:0:0::/root:/bin/sh\n", "root:x:0:0::/root:/bin/sh\na:x:100:9::/:/x\n" },
				      { "root:x:0:0::/root:/bin/sh\n",
					"root:x:0:0::/root:/bin/sh\nb:x:100:9::/:/x\n" } };
	clashes("etc/passwd", sides, 3, "a=b");
	const struct side names[] = { { NULL, "r:x:0:0::/:/x\n" },
				      { "r:x:0:0::/:/x\n", "r:x:0:0::/:/x\na:x:100:9::/:/x\n" },
				      { "r:x:0:0::/:/x\n", "r:x:0:0::/:/x\na:x:101:9::/:/x\n" } };
	clashes("etc/passwd", names, 3, "a/1");
}

static void what_one_removed_is_gone_unless_another_changed_it(void **state)
{
	(void)state;
	const struct side sides[] = { { NULL, "/bin/a\n/bin/b\n" },
				      { "/bin/a\n/bin/b\n", "/bin/b\n" },
				      { "/bin/a\n/bin/b\n", "/bin/a\n/bin/b\n/bin/c\n" } };
	joins("etc/shells", sides, 3, "/bin/b\n/bin/c\n");
	const struct side clash[] = { { NULL, "a:x:1:\n" }, { "a:x:1:\n", "a:x:1:m\n" }, { "a:x:1:\n", "" } };
	clashes("etc/group", clash, 3, "a/1");
}

static void owners_of_a_question_are_united(void **state)
{
	(void)state;
	const struct side sides[] = {
		{ NULL, "Name: q\nOwners: base\nValue: v\n\n" },
		{ "Name: q\nOwners: base\nValue: v\n\n", "Name: q\nOwners: base, a\nValue: v\n\n" },
		{ "Name: q\nOwners: base\nValue: v\n\n", "Name: q\nOwners: base, b\nValue: v\n\n" },
	};
	joins("var/cache/debconf/config.dat", sides, 3, "Name: q\nOwners: base, a, b\nValue: v\n\n");
	const struct side other[] = {
		{ NULL, "Name: q\nOwners: base\nValue: v\n\n" },
		{ "Name: q\nOwners: base\nValue: v\n\n", "Name: q\nOwners: base\nValue: 1\n\n" },
		{ "Name: q\nOwners: base\nValue: v\n\n", "Name: q\nOwners: base\nValue: 2\n\n" },
	};
	clashes("var/cache/debconf/config.dat", other, 3, "q/1");
}

static void other_kinds_of_lists(void **state)
{
	(void)state;
	const struct side diversions[] = { { NULL, "" },
					   { "", "/bin/a\n/bin/a.real\npkg\n" },
					   { "", "/bin/b\n/bin/b.real\npkg\n" } };
	joins("var/lib/dpkg/diversions", diversions, 3, "/bin/a\n/bin/a.real\npkg\n/bin/b\n/bin/b.real\npkg\n");
	const struct side overrides[] = { { NULL, "" }, { "", "root x 755 /a\n" }, { "", "root y 755 /b\n" } };
	joins("var/lib/dpkg/statoverride", overrides, 3, "root x 755 /a\nroot y 755 /b\n");
	const struct side same[] = { { NULL, "" }, { "", "root x 755 /a\n" }, { "", "root y 755 /a\n" } };
	clashes("var/lib/dpkg/statoverride", same, 3, "/a/1");
	const struct side triggers[] = { { NULL, "/lib base\n" },
					 { "/lib base\n", "/lib base\n/x a\n" },
					 { "/lib base\n", "/lib base\n/x b\n" } };
	joins("var/lib/dpkg/triggers/File", triggers, 3, "/lib base\n/x a\n/x b\n");
	assert_null(merge_rules_find("etc/motd"));
	assert_null(merge_rules_find("var/lib/dpkg/triggers/deep/File"));
	assert_true(merge_rules_is_made("etc/ld.so.cache"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packages_of_all_sides_stand_in_the_status),
		cmocka_unit_test(the_same_package_in_two_layers_is_one),
		cmocka_unit_test(another_version_of_a_package_is_a_clash),
		cmocka_unit_test(a_later_change_to_what_one_needed_wins),
		cmocka_unit_test(members_of_a_group_are_united),
		cmocka_unit_test(a_number_belongs_to_one_name),
		cmocka_unit_test(what_one_removed_is_gone_unless_another_changed_it),
		cmocka_unit_test(owners_of_a_question_are_united),
		cmocka_unit_test(other_kinds_of_lists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
